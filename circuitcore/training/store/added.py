"""Tables that were measured on a published run since: beside the reader's runs, as nothing is put among published ones.

``ROOT/.added/RUN_ID/KEY.parquet``, and ``tables.json`` with the hash of each. ``publish`` takes them along.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from circuitcore.ground.reading import MAX_JSON_BYTES, canonical_json, inside, is_there, parse_json, read_file
from circuitcore.training.errors import StoreError
from circuitcore.training.store.digests import training_sha256
from circuitcore.training.store.durable import write_durably
from circuitcore.training.store.file_bytes import sha256
from circuitcore.training.store.ledger import TABLE_KEY, Ledger
from circuitcore.training.store.parquet import from_parquet

ADDED_FOLDER = ".added"
LIST_NAME = "tables.json"


@dataclass(frozen=True)
class Added:
    """The tables added to one published run.

    Attributes:
        folder: ``ROOT/.added/RUN_ID``; need not be there.
        ledger: the run's. Tables measured on another training of the recipe do not count: published weights may change.
    """

    folder: Path
    ledger: Ledger

    @property
    def tables(self) -> dict[str, str]:
        """Key -> hash of every table that is there now; StoreError if the list of them is damaged."""
        training, tables = listed_in(self.folder)
        return tables if training == training_sha256(self.ledger) else {}

    def table(self, key: str) -> pd.DataFrame | None:
        """The table kept under ``key``, or None; StoreError if it is absent or damaged though it is listed."""
        expected = self.tables.get(key)
        return None if expected is None else added_table(self.folder / f"{key}.parquet", expected)

    def save(self, key: str, data: bytes) -> None:
        """Keep a table, as Parquet, in place of an earlier one; whoever saves holds the run's lock.

        Raises:
            StoreError: it cannot be written, or the list of tables is damaged.
        """
        path, listed, digest = self.folder / f"{key}.parquet", self.tables, sha256(data)
        if listed.get(key) == digest:
            write_durably(path, data)  # no reader may miss meanwhile what another process has measured as well
            return
        others = {name: value for name, value in listed.items() if name != key}
        self._list(others)  # a kill in between leaves no table, not a false alarm
        write_durably(path, data)
        self._list(others | {key: digest})

    def _list(self, tables: dict[str, str]) -> None:
        fields = {"training": training_sha256(self.ledger), "tables": tables}
        write_durably(self.folder / LIST_NAME, f"{canonical_json(fields)}\n".encode())


def added_folders(root: Path) -> list[Path]:
    """Where tables of single runs were added, in a folder of runs."""
    return [path for path in inside(root / ADDED_FOLDER) if path.is_dir()]


def listed_in(folder: Path) -> tuple[str, dict[str, str]]:
    """Which training the tables in ``ROOT/.added/RUN_ID`` were measured on, and the hash of each by its key.

    Nothing where there is no list. StoreError if it is damaged.
    """
    path = folder / LIST_NAME
    try:
        if not is_there(path):
            return "", {}
        listed = parse_json(read_file(path, MAX_JSON_BYTES))
        training, tables = listed["training"], dict(listed["tables"])
        if strange := [key for key in tables if not re.fullmatch(TABLE_KEY, key)]:
            raise ValueError(f"a table called {strange[0]!r}")
    except OSError as error:
        raise _damaged(path, f"cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, f"damaged, it is no list of tables ({error!r})") from error
    return training, tables


def added_table(path: Path, expected: str) -> pd.DataFrame:
    """The table in a file, which must have the hash that was listed; StoreError if it is absent or damaged."""
    try:
        data = read_file(path)
    except OSError as error:
        raise _damaged(path, f"cannot be read ({error.strerror})") from error
    if sha256(data) != expected:
        raise _damaged(path, f"its bytes do not give the hash that {LIST_NAME} holds")
    return from_parquet(path, data)


def _damaged(path: Path, what: str) -> StoreError:
    return StoreError(f"{path}: {what}. Delete {path.parent}: its tables are measured again.")
