"""Putting runs of a folder into one of its packs (``store.packed``): many small files become a few."""

import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from circuitcore.ground.contents import RECORDS
from circuitcore.ground.packed import INDEX_NAME, index_of, may_be_pack
from circuitcore.ground.reading import canonical_json, parse_json, read_file
from circuitcore.ground.tables import stacked
from circuitcore.training.errors import StoreError
from circuitcore.training.store.durable import write_durably
from circuitcore.training.store.file_bytes import read_checked, sha256
from circuitcore.training.store.history import is_to_shorten, per_epoch
from circuitcore.training.store.ledger import Entry, packed_name
from circuitcore.training.store.packed import HISTORIES_NAME, HISTORY
from circuitcore.training.store.parquet import to_parquet
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.store.squeezed import squeeze

STAGED = ".staged"
_PACK = re.compile(r"[A-Za-z0-9_-]{1,100}")


Tables = Mapping[str, Mapping[str, pd.DataFrame | None]]  # run id -> key -> table; None takes it out


def pack(
    folder: Path,
    name: str,
    arms: Mapping[str, Iterable[str]],
    more: Tables = MappingProxyType({}),
    fewer: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> Path:
    """Put runs into the pack ``name``, in place of what it held; folders that they had of their own go.

    A run that several arms name is stored with the first of them, one that another pack holds stays there. Every
    value is checked against the run's ledger and the folder's list of contents on the way, and none changes, but for
    histories longer than ``history.LONGEST_WHOLE`` steps, which get one row per epoch.

    Args:
        folder: published runs.
        name: of the pack.
        arms: arm -> ids of its runs.
        more: tables that are added to those that the runs have, as what was measured on packed runs since; None takes
            a table out.
        fewer: id of a run -> steps whose weights it keeps, of those that it has here; the others go.

    Returns:
        The pack's folder.

    Raises:
        StoreError: a name that no pack can have, a run that is missing or damaged, a table whose rows do not say whose
            they are, or a file that cannot be written.
    """
    if name in RECORDS or not _PACK.fullmatch(name) or not may_be_pack(name):
        allowed = f"letters, digits, '_', '-', and neither {' nor '.join(RECORDS)} nor as runs are called"
        raise StoreError(f"a pack called {name!r}; allowed: {allowed}")
    target, staged = folder / name, folder / STAGED / name
    put_back(folder, name)
    shutil.rmtree(staged, ignore_errors=True)
    stored = _stored_here(folder, target, arms)
    history = _write_histories(staged, [run for runs in stored.values() for run in runs if run.ledger.trained])
    lines, alone, kept = [], [], set()
    for arm, found in stored.items():
        runs = [run.only(fewer.get(run.run_id, run.steps)) for run in found]
        tables = {run.run_id: _tables(run, more.get(run.run_id, {})) for run in runs}
        hashes = _write_tables(staged / arm, runs, tables)
        for run in runs:
            for entry in run.ledger.entries:
                if entry.kept:
                    write_durably(staged / arm / run.run_id / packed_name(entry.step), _squeezed(run, entry))
        for run in runs:
            own = {HISTORY: history if run.ledger.trained else None}
            lines.append(_line(arm, run, own | {key: hashes[key] for key in tables[run.run_id]}))
        alone += [run.path for run in runs if not run.packed]
        kept.update(tables)
    if elsewhere := sorted((more.keys() | fewer.keys()) - kept):
        raise StoreError(f"{folder}: {elsewhere[0]} is in another pack: change it with the study of that one.")
    write_durably(staged / INDEX_NAME, _or_store_error(target / INDEX_NAME, index_of, lines))
    _put_in_place(staged, target)
    for path in alone:
        shutil.rmtree(path)
    return target


def _squeezed(run: Run, entry: Entry) -> bytes:
    """A checkpoint's bytes for a pack; those of a packed run as they are, so that another zstd rewrites nothing."""
    path = run.path / entry.file
    data = read_checked(path, entry.sha256)
    return read_file(path) if run.packed else _or_store_error(path, squeeze, data)


def _or_store_error(path: Path, make: Callable[[Any], bytes], given: object) -> bytes:
    try:
        return make(given)
    except ValueError as error:
        raise StoreError(f"{path}: {error}.") from error


def _stored_here(folder: Path, target: Path, arms: Mapping[str, Iterable[str]]) -> dict[str, list[Run]]:
    """The runs of each arm that belong into the pack, by the arm's folder."""
    store, found, seen = RunStore(folder, None), {}, set()
    for arm, name in folder_names(arms).items():
        runs = [store.get(run_id) for run_id in dict.fromkeys(arms[arm]) if run_id not in seen]
        seen.update(run.run_id for run in runs)
        runs = [run for run in runs if not run.packed or run.path.parents[1] == target]
        found |= {name: runs} if runs else {}
    return found


def folder_names(arms: Iterable[str]) -> dict[str, str]:
    """A name for each arm that a folder can have on any disk, and no other arm has."""
    found: dict[str, str] = {}
    for arm in arms:
        plain = re.sub(r"[^a-z0-9]+", "-", arm.lower()).strip("-")[:60].strip("-") or "arm"
        names = (plain, *(f"{plain}-{number}" for number in range(2, len(found) + 3)))
        found[arm] = next(name for name in names if name not in found.values())
    return found


def _tables(run: Run, more: Mapping[str, pd.DataFrame | None]) -> dict[str, Callable[[], pd.DataFrame]]:
    """What reads each table that a run has in the pack, by key in order; they are read file by file, as they share."""
    read = {key: partial(run.table, key) for key in run.tables} | {key: partial(more.get, key) for key in more}
    taken_out = {key for key, table in more.items() if table is None}
    return {key: read[key] for key in sorted(read.keys() - taken_out)}


def _write_tables(
    folder: Path, runs: list[Run], tables: Mapping[str, Mapping[str, Callable[[], pd.DataFrame]]]
) -> dict[str, str]:
    """One file a table, with the rows of all runs. Returns each one's hash by key."""
    found = {}
    for key in sorted({key for of_run in tables.values() for key in of_run}):
        parts = [_own_rows(run, key, tables[run.run_id][key]()) for run in runs if key in tables[run.run_id]]
        table = stacked(parts)
        table.attrs = parts[0].attrs
        data = to_parquet(table)
        write_durably(folder / f"{key}.parquet", data)
        found[key] = sha256(data)
    return found


def _write_histories(folder: Path, runs: list[Run]) -> str | None:
    """One file with the histories of all runs, those of an arm together. Returns its hash; None of no runs."""
    if not runs:
        return None
    data = to_parquet(stacked([_history(run) for run in runs]))
    write_durably(folder / HISTORIES_NAME, data)
    return sha256(data)


def _history(run: Run) -> pd.DataFrame:
    """A run's history as it is shipped, each row saying whose it is."""
    shipped = per_epoch(run.history) if is_to_shorten(run.ledger) else run.history
    return shipped.assign(run_id=pd.Categorical([run.run_id] * len(shipped)))


def _own_rows(run: Run, key: str, table: pd.DataFrame) -> pd.DataFrame:
    """A table that can share a file: each row says whose it is."""
    if key == HISTORY or "run_id" not in table or not (table["run_id"] == run.run_id).all():
        reason = f"needs another name than {HISTORY!r}, and a column 'run_id' that is {run.run_id} in each row"
        raise StoreError(f"{run.path}: table {key!r} {reason}.")
    return table


def _line(arm: str, run: Run, hashes: Mapping[str, str | None]) -> str:
    """What the index says of a run, with the hash of each file that it shares; None for a history it does not have."""
    ledger, recipe = run.ledger, parse_json(run.recipe_json.encode())
    thinned = {"history_thinned": True} if ledger.history_thinned or is_to_shorten(ledger) else {}
    fields = {
        "run_id": run.run_id,
        "arm": arm,
        "recipe": recipe,
        "data_sha256": ledger.data_sha256,
        "made_with": list(ledger.made_with),
        "checkpoints": [[entry.step, entry.sha256, entry.loss] for entry in ledger.entries],
        "kept": [entry.step for entry in ledger.entries if entry.kept],
        HISTORY: hashes[HISTORY],
        "tables": {key: value for key, value in hashes.items() if key != HISTORY},
    }
    return canonical_json(fields | thinned)


def _put_in_place(staged: Path, target: Path) -> None:
    """The new pack for the old one; what was there goes last."""
    if target.exists():
        target.rename(_old(staged))
    staged.rename(target)
    shutil.rmtree(_old(staged), ignore_errors=True)
    with suppress(OSError):  # another study is being packed beside this one
        staged.parent.rmdir()


def put_back(folder: Path, name: str) -> None:
    """Put a pack back that was taken away for a new one, where a kill came before the new one had its place."""
    target, old = folder / name, _old(folder / STAGED / name)
    if old.exists() and not target.exists():
        old.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _old(staged: Path) -> Path:
    return staged.with_name(f"{staged.name}.old")
