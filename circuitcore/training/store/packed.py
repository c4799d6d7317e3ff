"""Published runs packed: those of an arm share one file a table, those of a study their histories and what they are.

``PACK/runs.jsonl.zst`` has one line a run: its recipe, its chain of checkpoints, and the hash of each file it shares.
``PACK/histories.parquet`` holds the histories of all runs, which are short, and ``PACK/ARM/KEY.parquet`` the rows of
all runs of an arm, told apart by ``run_id``; ``PACK/ARM/RUN_ID/`` the weights that are kept, squeezed. Each file is
held to its hash before it is read, so that a damaged one is missed by all who share it, and each run's rows to the list
of contents, which is one of values: packing runs moves no line of it.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray

from circuitcore.ground import packed as ground
from circuitcore.ground.contents import ContentsError
from circuitcore.ground.packed import INDEX_NAME, Line
from circuitcore.ground.reading import canonical_json
from circuitcore.training.errors import REMEDY, StoreError
from circuitcore.training.store.digests import cells_of, cells_sha256, numbered
from circuitcore.training.store.file_bytes import read_checked, sha256
from circuitcore.training.store.ledger import Ledger, packed_name
from circuitcore.training.store.parquet import from_parquet

HISTORY = "history"
HISTORIES_NAME = "histories.parquet"  # not as a run calls its own: ``places`` takes a folder that has that for a run's
RUN_ID = "run_id"  # the column that says whose a row is
_PLAIN = ("data_sha256", "made_with", "history_thinned")  # fields of a ledger that a line has as they are
_REST = ("recipe", "checkpoints", "kept", HISTORY, "tables")


@dataclass(frozen=True)
class PackedRun:
    """What a pack holds of one run.

    Attributes:
        line: the run's, of the index.
    """

    line: Line

    @property
    def address(self) -> Path:
        """``PACK/ARM/RUN_ID``; its weights lie there."""
        return self.line.address

    @cached_property
    def ledger(self) -> Ledger:
        """The run's ledger; its hashes of history and tables are those of the files that it shares.

        Raises:
            StoreError: the line is no run's, or its checkpoints do not form one chain.
        """
        where = f"{self.line.index}{self.of}"
        try:
            fields = _ledger_fields(self.line)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{where}: damaged ({error!r}). {REMEDY}") from error
        return Ledger.of(fields, where)

    @property
    def recipe_json(self) -> str:
        """The canonical JSON of its recipe."""
        return canonical_json(self.line.fields["recipe"])

    def path(self, key: str) -> Path:
        """The file that has its rows of one table, or of its history."""
        arm = self.address.parent
        return arm.parent / HISTORIES_NAME if key == HISTORY else arm / f"{key}.parquet"

    @property
    def of(self) -> str:
        """What a sentence adds to the name of a file that this run shares."""
        return f", run {self.line.run_id}"

    def table(self, key: str) -> pd.DataFrame:
        """Its rows of one table.

        Raises:
            StoreError: the file is absent or damaged, or has no row of this run.
        """
        shared, places = self._rows(key)
        return shared.table.take(places).reset_index(drop=True)

    def table_sha256(self, key: str) -> str:
        """The hash of ``table(key)``, of ``history`` if the key is that, without the table; errors as either's."""
        shared, places = self._rows(key)
        # The rows of a run stand together, and a slice copies none of them.
        alone = len(places) and places[-1] - places[0] == len(places) - 1
        rows = slice(places[0], places[-1] + 1) if alone else places
        cells = {name: column[rows] for name, column in shared.cells.items() if key != HISTORY or name != RUN_ID}
        return cells_sha256(cells, len(places))

    @property
    def history(self) -> pd.DataFrame:
        """Its history, as ``Run.history``; StoreError as ``table``."""
        return self.table(HISTORY).drop(columns=RUN_ID)

    @property
    def history_shape(self) -> tuple[int, tuple[str, ...]]:
        """Rows and columns of its history; StoreError as ``table``."""
        shared, places = self._rows(HISTORY)
        return len(places), tuple(name for name in shared.cells if name != RUN_ID)

    def _rows(self, key: str) -> tuple["_Shared", np.ndarray]:
        """The file that has its rows of a table, and their places in it, increasing; StoreError as ``table``."""
        path, ledger = self.path(key), self.ledger
        shared = _shared(path, ledger.history_sha256 if key == HISTORY else ledger.tables[key])
        if self.line.run_id not in shared.places:
            raise StoreError(f"{path}{self.of}: none of its rows are there. {REMEDY}")
        return shared, shared.places[self.line.run_id]


def rows_of(runs: Sequence[PackedRun], key: str) -> tuple[pd.DataFrame, list[int]]:
    """The rows that runs have in the file they share, under each other, and how many each has; not to be changed.

    Args:
        runs: at least one; all of one pack, and of one arm unless their histories are asked for.
        key: of a table, or ``HISTORY``, of which nothing then says whose a row is.

    Raises:
        StoreError: as ``PackedRun.table``.
        ValueError: runs of several files.
    """
    if len(files := {run.path(key) for run in runs}) != 1:
        raise ValueError(f"rows of {key} stand in {len(files)} files; one must have those of all runs")
    found = [run._rows(key) for run in runs]
    shared, places = found[0][0], np.concatenate([places for _, places in found])
    table = shared.table
    if len(places) != len(table) or (np.diff(places) != 1).any():  # else nothing is left out, and nothing moves
        table = table.take(places).reset_index(drop=True)
    return table.drop(columns=RUN_ID) if key == HISTORY else table, [len(places) for _, places in found]


def packed_run(folder: Path, run_id: str) -> PackedRun | None:
    """The run of that name in any pack of ``folder``; None where there is none. StoreError: a damaged index."""
    line = _told(ground.packed, folder, run_id)
    return None if line is None else _of_line(line)


@functools.lru_cache(maxsize=1024)  # a chapter's runs are asked for as published and as the reader's: one ledger serves
def _of_line(line: Line) -> PackedRun:
    return PackedRun(line)


def packed_at(address: Path) -> PackedRun | None:
    """The packed run at an address; None for what is none. StoreError: a damaged index."""
    line = _told(ground.packed_at, address)
    return None if line is None else PackedRun(line)


def packed_runs(folder: Path) -> list[PackedRun]:
    """Every run in the packs of ``folder``. StoreError: a damaged index."""
    return [PackedRun(line) for line in _told(lambda: list(ground.all_packed(folder)))]


def run_ids(folder: Path) -> set[str]:
    """Names of all runs in ``folder``, in folders of their own and packed. StoreError: a damaged index."""
    return _told(ground.run_ids, folder)


def read_pack(pack: Path) -> list[PackedRun]:
    """Every run of one pack. StoreError: a damaged index."""
    return [PackedRun(line) for line in _told(ground.read_index, pack).values()]


def files_of(pack: Path) -> set[Path]:
    """Every file that the runs of a pack are made of."""
    found = {pack / INDEX_NAME}
    for run in read_pack(pack):
        found |= {run.path(key) for key in (*run.ledger.tables, *([HISTORY] if run.ledger.trained else ()))}
        found |= {run.address / entry.file for entry in run.ledger.entries if entry.kept}
    return found


def _told(read, *given):
    try:
        return read(*given)
    except ContentsError as error:
        raise StoreError(str(error)) from error


def _ledger_fields(line: Line) -> dict[str, Any]:
    """A line as the fields of a ledger; what is repeated in each entry is filled in."""
    fields = line.fields
    if others := fields.keys() - {*_PLAIN, *_REST}:
        raise ValueError(f"unknown: {', '.join(sorted(others))[:80]}")
    recipe_sha256, kept = sha256(canonical_json(fields["recipe"]).encode()), set(fields["kept"])
    entries, parent = [], recipe_sha256
    for step, digest, loss in fields["checkpoints"]:
        named = {"step": step, "file": packed_name(step), "sha256": digest, "parent": parent, "loss": loss}
        entries.append(named | {"kept": step in kept})
        parent = digest
    if strange := kept - {entry["step"] for entry in entries}:
        raise ValueError(f"weights are kept of steps {sorted(strange)[:5]}, at which there is no checkpoint")
    plain = {name: fields[name] for name in _PLAIN if name in fields}
    hashes = {"recipe_sha256": recipe_sha256, "history_sha256": fields[HISTORY], "tables": fields["tables"]}
    return {"run_id": line.run_id, "entries": entries, "finished": True, **plain, **hashes}


@dataclass(frozen=True)
class _Shared:
    """A file that runs share: its table, the cells of each column in their order, the places of each run's rows."""

    table: pd.DataFrame
    cells: Mapping[str, ExtensionArray]
    places: Mapping[str, np.ndarray]


def _shared(path: Path, expected: str) -> _Shared:
    try:
        state = path.stat()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror}). {REMEDY}") from error
    return _read_shared(path, expected, state.st_ino, state.st_mtime_ns, state.st_size)


@functools.lru_cache(maxsize=8)  # arms are read one by one: a few tables each, and one file of histories
def _read_shared(path: Path, expected: str, *marks: int) -> _Shared:
    table = from_parquet(path, read_checked(path, expected))
    if RUN_ID not in table:
        raise StoreError(f"{path}: damaged, no column says whose its rows are. {REMEDY}")
    cells = {name: numbered(column) for name, column in cells_of(table).items()}
    return _Shared(table, cells, table.groupby(RUN_ID, observed=True, sort=False).indices)
