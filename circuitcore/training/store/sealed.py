"""What is read of published runs, checked against the list of their contents; nothing of ours is put among them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from circuitcore.ground.contents import CONTENTS_NAME, Contents, ContentsError, json_sha256, not_as_listed
from circuitcore.ground.reading import MAX_JSON_BYTES, is_there, parse_json, read_file
from circuitcore.training.errors import StoreError
from circuitcore.training.store.digests import training_sha256
from circuitcore.training.store.ledger import LEDGER_NAME, Ledger
from circuitcore.training.store.packed import PackedRun


def contents_of(folder: Path) -> Contents | None:
    """The folder's list of contents; None where it has none. StoreError if the list is damaged."""
    try:
        return Contents.of(folder)
    except ContentsError as error:
        raise StoreError(str(error)) from error


def sealed_parts(
    folder: Path, run_id: str, ledger: Ledger | None, packed: PackedRun | None = None
) -> Mapping[str, str] | None:
    """What the list of ``folder`` says of a run that is about to be read from there: part -> hash.

    Args:
        folder: holds runs.
        run_id: which.
        ledger: the run's, as read from there; None if it is not there.
        packed: where the ledger is from, if the run is packed.

    Returns:
        None where the folder has no list; nothing where neither folder nor list has the run.

    Raises:
        StoreError: the run is missing, was never published, was trained otherwise, or has other tables or weights.
    """
    contents = contents_of(folder)
    if contents is None:
        return None
    path, listed = folder / run_id / LEDGER_NAME, contents.runs.get(run_id, {})
    if ledger is None and listed:
        raise StoreError(
            f"{path.parent}: missing. {CONTENTS_NAME} lists this run, so it is not trained again: restore it (git "
            f"restore {folder})."
        )
    if ledger and (listed.get("training") != training_sha256(ledger) or _stored(ledger) != _stored_of(listed)):
        path, of = (packed.line.index, packed.of) if packed else (path, "")
        raise StoreError(not_as_listed(path, listed.get("training"), of))
    return listed


def require_as_sealed(sealed: Mapping[str, str] | None, part: str, path: Path, found: str, of: str = "") -> None:
    """StoreError unless ``found`` is the hash that ``sealed_parts`` gave for a part, read from ``path`` (of a run)."""
    if sealed is not None and sealed.get(part) != found:
        raise StoreError(not_as_listed(path, sealed.get(part), of))


def read_record(folder: Path, name: str) -> Any:
    """The value of a JSON record of ``folder``, such as ``verdicts/symbolic_kv``; None where there is none.

    Raises:
        StoreError: it cannot be read or is no JSON, it is another one than the folder's list names, or the list names
            one that is gone.
    """
    path, contents = folder / f"{name}.json", contents_of(folder)
    listed = contents and contents.hashes.get(name)
    try:
        if not is_there(path):
            if listed:
                raise StoreError(f"{path}: missing. {CONTENTS_NAME} lists it: restore it (git restore {path}).")
            return None
        value = parse_json(read_file(path, MAX_JSON_BYTES))
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror}). Restore it (git restore {path}).") from error
    except ValueError as error:
        raise StoreError(f"{path} is not JSON ({error}). Restore it (git restore {path}).") from error
    if contents and json_sha256(value) != listed:
        raise StoreError(not_as_listed(path, listed))
    return value


def refuse_sealed(folder: Path, what: str) -> None:
    """StoreError if ``folder`` has a list of contents: only ``publish`` changes what is published."""
    if contents_of(folder) is not None:
        raise StoreError(
            f"{folder}: {what} is not put there: it holds published runs ({CONTENTS_NAME}), which only python -m "
            "livingpaper.commands.publish changes. Use a folder of your own, and --no-published to do without them."
        )


def _stored(ledger: Ledger) -> set[str]:
    """The tables and weights that a ledger says are here, as parts."""
    kept = (f"weights/{entry.step}" for entry in ledger.entries if entry.kept)
    return {*(f"table/{key}" for key in ledger.tables), *kept}


def _stored_of(listed: Mapping[str, str]) -> set[str]:
    return {part for part in listed if part.startswith(("table/", "weights/"))}
