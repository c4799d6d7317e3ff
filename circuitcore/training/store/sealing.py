"""The list of what a folder of published runs holds: made from what is there, and compared with it."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from circuitcore.ground.contents import (
    CONTENTS_NAME,
    RECORDS,
    RUN,
    Contents,
    ContentsError,
    json_sha256,
    not_as_listed,
    records_in,
)
from circuitcore.ground.packed import packs
from circuitcore.ground.reading import MAX_JSON_BYTES, inside, is_there
from circuitcore.training.errors import REMEDY, StoreError
from circuitcore.training.store.digests import stored_weights_sha256, table_sha256, training_sha256
from circuitcore.training.store.durable import write_durably
from circuitcore.training.store.file_bytes import read_checked, read_identity, read_json
from circuitcore.training.store.ledger import (
    HISTORY_NAME,
    LEDGER_NAME,
    RECIPE_NAME,
    TABLE_FOLDER,
    Entry,
    Ledger,
    checkpoint_name,
    packed_name,
)
from circuitcore.training.store.packed import HISTORY, PackedRun, files_of, packed_run, packed_runs, run_ids
from circuitcore.training.store.parquet import from_parquet
from circuitcore.training.store.sealed import contents_of

Difference = tuple[Path, str]
"""A file or folder at fault, and a sentence that names it."""


class Part(NamedTuple):
    """Something that a folder of runs holds: where it stands, what reads and hashes it, and whose it is there.

    ``of`` is empty, or names the run in a file that runs share.
    """

    path: Path
    sha256: Callable[[], str]
    of: str = ""


def seal(folder: Path, runs: Iterable[str], records: Iterable[str]) -> Contents:
    """List some runs and records of ``folder`` anew; everything else stays listed as it was.

    Args:
        folder: published runs. Where it has no list yet, all that is there is listed.
        runs: run ids.
        records: names such as ``verdicts/symbolic_kv``.

    Raises:
        StoreError: one of them is damaged or missing.
    """
    before, runs = contents_of(folder), list(runs)
    if before is None:
        return seal_all(folder)
    parts = {name: part for run_id in runs for name, part in run_parts(folder, run_id).items()}
    parts |= {name: _record(folder / f"{name}.json") for name in records}
    return _written(folder, before.replaced(runs, _hashed(parts)))


def take_off(folder: Path, runs: Iterable[str]) -> Contents:
    """List some runs no more: those that publishing has just taken away."""
    return _written(folder, (contents_of(folder) or Contents({})).replaced(runs, {}))


def seal_all(folder: Path) -> Contents:
    """List everything that is in ``folder`` now; StoreError if any of it is damaged in itself."""
    parts = {name: part for run_id in run_ids(folder) for name, part in run_parts(folder, run_id).items()}
    return _written(folder, Contents(_hashed(parts | _records(folder))))


def is_published(folder: Path) -> bool:
    """Whether a folder is one of published runs: it has a list of its contents, or records that ought to have one."""
    return os.path.lexists(folder / CONTENTS_NAME) or any(os.path.isdir(folder / kind) for kind in RECORDS)


def differences(folder: Path) -> Iterator[Difference]:
    """Where a folder of published runs differs from its list.

    A run that is missing, or was never published, is one difference; of the others every part is looked at. Nothing is
    raised: a list that is absent or damaged is the only difference there then is, and what cannot be read is one among
    others. Sentences name files as whoever made them called them; ``places.printable`` makes them fit for a terminal.
    """
    yield from folder_differences(folder)
    for runs in run_batches(folder):
        yield from run_differences(folder, runs)


def folder_differences(folder: Path) -> Iterator[Difference]:
    """As ``differences``, of all but the runs: the list itself, the records, files that belong to no run."""
    yield from _guarded(folder, _folder_differences(folder))


def run_differences(folder: Path, runs: Iterable[str]) -> Iterator[Difference]:
    """As ``differences``, of these runs alone."""
    yield from _guarded(folder, _run_differences(folder, runs))


def run_batches(folder: Path) -> list[list[str]]:
    """Every run that the list of ``folder`` names or that is there; those that share files stand together.

    None at all where the list, or an index of packed runs, is absent or damaged: ``folder_differences`` says so.
    """
    try:
        contents = Contents.of(folder)
        names = sorted(contents.runs.keys() | run_ids(folder)) if contents else []
        places = {run.line.run_id: run.address.parent for run in packed_runs(folder)}
    except (ContentsError, StoreError):
        return []
    batches: dict[Path, list[str]] = {}
    for name in names:
        batches.setdefault(places.get(name, folder), []).append(name)
    return list(batches.values())


def _guarded(path: Path, found: Iterable[Difference]) -> Iterator[Difference]:
    """``found``; an exception on the way is the last of it, and a difference of ``path``."""
    try:
        yield from found
    except Exception as error:
        yield path, str(_as_store_error(path, error))


def _as_store_error(path: Path, error: Exception) -> StoreError:
    """What went wrong with a file; one made to break its reader keeps no other from being looked at."""
    if isinstance(error, StoreError):
        return error
    return StoreError(f"{path}: cannot be read ({type(error).__name__}: {error}). {REMEDY}")


def _folder_differences(folder: Path) -> Iterator[Difference]:
    contents = yield from _listed(folder)
    if contents is not None:
        yield from _guarded(folder, _strays(folder, sorted(contents.runs.keys() | run_ids(folder))))
        wanted = {name: value for name, value in contents.hashes.items() if not name.startswith(f"{RUN}/")}
        yield from _part_differences(folder, wanted, _records(folder))


def _run_differences(folder: Path, runs: Iterable[str]) -> Iterator[Difference]:
    contents = yield from _listed(folder)
    if contents is None:
        return
    wanted, parts = {}, {}
    for name in runs:
        try:
            parts |= _listed_parts(folder, name, contents)
            wanted |= {f"{RUN}/{name}/{part}": value for part, value in contents.runs[name].items()}
        except Exception as error:
            at = folder / name / LEDGER_NAME
            yield at, str(_as_store_error(at, error))
    yield from _part_differences(folder, wanted, parts)


def _listed(folder: Path) -> Generator[Difference, None, Contents | None]:
    """The folder's list; None after a difference that says why there is none."""
    path = folder / CONTENTS_NAME
    try:
        contents = Contents.of(folder)
    except ContentsError as error:
        yield path, str(error)
        return None
    if contents is None:
        yield path, f"{path}: missing, so nothing says what should be here. Restore it (git restore {path})."
    return contents


def _listed_parts(folder: Path, run_id: str, contents: Contents) -> dict[str, Part]:
    """The parts of a run that should be here and is; StoreError otherwise."""
    path = folder / run_id
    if not (is_there(path / LEDGER_NAME) or packed_run(folder, run_id)):
        gone = path / LEDGER_NAME if os.path.isdir(path) else path
        raise StoreError(f"{gone}: missing. {CONTENTS_NAME} lists this run: restore it (git restore {folder}).")
    if run_id not in contents.runs:
        raise StoreError(not_as_listed(path, None))
    return run_parts(folder, run_id)


def _part_differences(folder: Path, wanted: Mapping[str, str], parts: Mapping[str, Part]) -> Iterator[Difference]:
    for name in sorted(wanted.keys() - parts.keys()):
        path = _path_of(folder, name)
        yield path, f"{path}: missing. {CONTENTS_NAME} lists it as {name}: restore it (git restore {path})."
    for (name, part), found in zip(parts.items(), _each(parts.values()), strict=True):
        if isinstance(found, StoreError):
            yield part.path, str(found)
        elif found != wanted.get(name):
            yield part.path, not_as_listed(part.path, wanted.get(name), part.of)


def _strays(folder: Path, runs: Iterable[str]) -> Iterator[Difference]:
    """Files beside the runs and the records."""
    held = packs(folder)
    known = {CONTENTS_NAME, *RECORDS, *runs, *(pack.name for pack in held)}
    found = [path for path in inside(folder) if path.name not in known and not _is_empty(path)]
    found += [path for pack in held for path in _strays_of(pack)]
    found += [path for kind in RECORDS for path in inside(folder / kind) if path.suffix != ".json"]
    for path in sorted(found):
        yield path, not_as_listed(path, None)


def _strays_of(pack: Path) -> Iterator[Path]:
    """What lies in a pack and is no run's."""
    files = files_of(pack)
    folders = {parent for path in files for parent in path.parents}
    for place, inner, names in os.walk(pack):
        found = {Path(place) / name for name in (*inner, *names)}
        yield from found - files - folders
        inner[:] = [name for name in inner if Path(place) / name in folders]


def _is_empty(path: Path) -> bool:
    """Whether a folder holds nothing; False where nobody may look."""
    try:
        return not os.listdir(path)
    except OSError:
        return False


def run_parts(folder: Path, run_id: str) -> dict[str, Part]:
    """The parts of one run by name, packed or in a folder of its own; StoreError if its ledger is damaged or absent."""
    alone = is_there(folder / run_id / LEDGER_NAME)
    packed = None if alone else packed_run(folder, run_id)
    found = _packed_parts(packed) if packed else _folder_parts(folder / run_id)
    return {f"{RUN}/{run_id}/{name}": part for name, part in found.items()}


def _packed_parts(run: PackedRun) -> dict[str, Part]:
    index, keys = run.line.index, {f"table/{key}": key for key in run.ledger.tables}
    found = {
        "recipe": Part(index, lambda: json_sha256(run.line.fields["recipe"]), run.of),
        "training": Part(index, partial(training_sha256, run.ledger), run.of),
    }
    for part, key in (keys | ({HISTORY: HISTORY} if run.ledger.trained else {})).items():
        found[part] = Part(run.path(key), partial(run.table_sha256, key), run.of)
    return found | _weight_parts(run.address, run.ledger)


def _folder_parts(folder: Path) -> dict[str, Part]:
    ledger = Ledger.read(folder)
    history, recipe = folder / HISTORY_NAME, folder / RECIPE_NAME
    found = {
        "recipe": _record(recipe),
        "training": Part(folder / LEDGER_NAME, partial(training_sha256, ledger)),
    }
    if ledger.trained:
        found["history"] = Part(history, partial(_table, history, ledger.history_sha256))
    for key, expected in ledger.tables.items():
        path = folder / TABLE_FOLDER / f"{key}.parquet"
        found[f"table/{key}"] = Part(path, partial(_table, path, expected))
    return found | _weight_parts(folder, ledger)


def _weight_parts(folder: Path, ledger: Ledger) -> dict[str, Part]:
    return {
        f"weights/{entry.step}": Part(folder / entry.file, partial(_weights, folder, entry, ledger.run_id))
        for entry in ledger.entries
        if entry.kept
    }


def _records(folder: Path) -> dict[str, Part]:
    return {name: _record(path) for name, path in records_in(folder).items()}


def _record(path: Path) -> Part:
    return Part(path, partial(read_json, path, MAX_JSON_BYTES, json_sha256))


def _table(path: Path, expected: str | None) -> str:
    return table_sha256(from_parquet(path, read_checked(path, expected)))


def _weights(folder: Path, entry: Entry, run_id: str) -> str:
    path, identity = folder / entry.file, {"run_id": run_id, "step": str(entry.step)}
    with suppress(StoreError, ValueError):
        data = read_checked(path, entry.sha256)
        if read_identity(path, data) == identity:
            return stored_weights_sha256(data)
    # What is wrong with it, whoever reads weights says. Imported here: torch takes seconds, and no other part needs it.
    from circuitcore.training.store.checkpoint import weights_sha256
    from circuitcore.training.store.run import read_checkpoint

    return weights_sha256(read_checkpoint(folder, entry, run_id))


def _path_of(folder: Path, name: str) -> Path:
    """Where a part that is not here should stand."""
    kind, rest = name.split("/", 1)
    if kind != RUN:
        return folder / f"{name}.json"
    run_id, part, *key = rest.split("/")
    if run := packed_run(folder, run_id):
        tables = {"history": run.path(HISTORY)} | ({"table": run.path(key[0])} if part == "table" else {})
        weights = {"weights": run.address / packed_name(int(key[0]))} if part == "weights" else {}
        return (tables | weights).get(part, run.line.index)
    if part == "table":
        return folder / run_id / TABLE_FOLDER / f"{key[0]}.parquet"
    if part == "weights":
        return folder / run_id / checkpoint_name(int(key[0]))
    return folder / run_id / {"recipe": RECIPE_NAME, "training": LEDGER_NAME, "history": HISTORY_NAME}[part]


def _hashed(parts: Mapping[str, Part]) -> dict[str, str]:
    found = dict(zip(parts, _each(parts.values()), strict=True))
    for value in found.values():
        if isinstance(value, StoreError):
            raise value
    return found


def _each(parts: Iterable[Part]) -> list[str | StoreError]:
    """The hashes of parts; of one that cannot be read, why. File after file, so that each that is shared is read once.

    One thread: hashing tables is mostly Python's own work, and two threads took half as long again as one. Whoever has
    more than one core gives batches of runs to processes (``run_batches``).
    """
    parts = list(parts)
    found: dict[int, str | StoreError] = {}
    for place in sorted(range(len(parts)), key=lambda place: parts[place].path):
        try:
            found[place] = parts[place].sha256()
        except Exception as error:
            found[place] = _as_store_error(parts[place].path, error)
    return [found[place] for place in range(len(parts))]


def _written(folder: Path, contents: Contents) -> Contents:
    write_durably(folder / CONTENTS_NAME, contents.to_json().encode())
    return contents
