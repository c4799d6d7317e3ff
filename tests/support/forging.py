"""Runs as a stranger might have made them: files changed, and every hash and seal that vouches for them made anew."""

import json
from functools import partial
from pathlib import Path

from circuitcore.training.store.checkpoint import pack, unpack
from circuitcore.training.store.file_bytes import sha256

LEDGER, RECIPE, HISTORY, TABLE = "ledger.json", "recipe.json", "history.parquet", "tables/scores-v1.parquet"


def ledger_of(folder: Path) -> dict:
    return json.loads((folder / LEDGER).read_text())


def reseal(folder: Path, **changes) -> None:
    """Change fields of the ledger, and seal it again."""
    fields = ledger_of(folder) | changes
    del fields["seal"]
    seal = sha256(json.dumps(fields, sort_keys=True).encode())
    (folder / LEDGER).write_text(spelled(fields | {"seal": seal}))


def spelled(fields: dict) -> str:
    """A ledger's text as the library spells it, whatever the fields hold."""
    line, entries = partial(json.dumps, sort_keys=True), fields["entries"]
    texts = {key: line(value) for key, value in fields.items() if key != "entries"}
    lines = ",\n".join(f"  {line(entry)}" for entry in entries or ())
    texts["entries"] = f"[\n{lines}\n ]" if lines else line(entries)
    body = ",\n".join(f' "{key}": {text}' for key, text in texts.items())
    return f"{{\n{body}\n}}\n"


def reseal_entry(folder: Path, index: int = 0, **changes) -> None:
    """Change one checkpoint's entry in the ledger."""
    entries = ledger_of(folder)["entries"]
    entries[index] |= changes
    reseal(folder, entries=entries)


def rechained(folder: Path, entries: list[dict], recipe_sha256: str) -> list[dict]:
    """The entries with the hashes that their files have now, each the parent of the next."""
    parent = recipe_sha256
    for entry in entries:
        path = folder / entry["file"]
        entry |= {"parent": parent, "sha256": sha256(path.read_bytes()) if path.exists() else entry["sha256"]}
        parent = entry["sha256"]
    return entries


def put_checkpoint(folder: Path, data: bytes, index: int = 1) -> None:
    """Other bytes for a checkpoint, vouched for by the whole chain."""
    fields = ledger_of(folder)
    (folder / fields["entries"][index]["file"]).write_bytes(data)
    reseal(folder, entries=rechained(folder, fields["entries"], fields["recipe_sha256"]))


def change_weights(folder: Path, change, index: int = 1) -> None:
    """Other tensors in a checkpoint: ``change`` takes its tensors and returns those to put there."""
    path = folder / ledger_of(folder)["entries"][index]["file"]
    tensors, identity = unpack(path, path.read_bytes())
    put_checkpoint(folder, pack(change(tensors), identity), index)


def change_header(folder: Path, change, index: int = 1) -> None:
    """Another header for a checkpoint: ``change`` takes its bytes, without the length, and returns others."""
    path = folder / ledger_of(folder)["entries"][index]["file"]
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = change(data[8 : 8 + length])
    put_checkpoint(folder, len(header).to_bytes(8, "little") + header + data[8 + length :], index)


def put_table(folder: Path, data: bytes) -> None:
    (folder / TABLE).write_bytes(data)
    reseal(folder, tables={"scores-v1": sha256(data)})


def put_history(folder: Path, data: bytes) -> None:
    (folder / HISTORY).write_bytes(data)
    reseal(folder, history_sha256=sha256(data))


def change_recipe(folder: Path, **changes) -> Path:
    """A run of another recipe: folder, ledger, chain and the header of each checkpoint say so. Returns its folder.

    The recipe need not be one that this library would make.
    """
    fields = json.loads((folder / RECIPE).read_text()) | changes
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    (folder / RECIPE).write_text(f"{text}\n")
    recipe_sha256 = sha256(text.encode())
    run_id = f"{folder.name.rpartition('-')[0]}-{recipe_sha256[:12]}"
    entries = ledger_of(folder)["entries"]
    for entry in entries:
        path = folder / entry["file"]
        tensors, _ = unpack(path, path.read_bytes())
        path.write_bytes(pack(tensors, {"run_id": run_id, "step": str(entry["step"])}))
    entries = rechained(folder, entries, recipe_sha256)
    reseal(folder, entries=entries, recipe_sha256=recipe_sha256, run_id=run_id)
    return folder.rename(folder.with_name(run_id))
