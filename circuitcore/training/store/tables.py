"""Tables of many runs, read by the file: runs of an arm share one, and are not taken apart to be put together again."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd

from circuitcore.training.errors import StoreError
from circuitcore.training.store.packed import HISTORY, rows_of
from circuitcore.training.store.run import Run


def tables_of(runs: Sequence[Run], key: str) -> tuple[list[pd.DataFrame], list[int]]:
    """The tables of runs in their order, one for runs that stand together in a file; and how many rows each run has.

    Each run's rows are held to all that ``Run.table`` and ``Run.history`` hold them to.

    Args:
        runs: finished runs.
        key: of their tables, or ``HISTORY``.

    Returns:
        Tables to be read and not changed, as others are given the same; rows by run.

    Raises:
        StoreError: as ``Run.table``; also where a run has no table of that name.
    """
    tables, n_rows = [], []
    for path, of_file in groupby(runs, lambda run: _shared_file(run, key)):
        together = list(of_file)
        if path is None:
            alone = [_table(run, key) for run in together]
            tables += alone
            n_rows += map(len, alone)
            continue
        for run in together:
            run.require_rows(key)
        table, rows_each = rows_of([run.packed for run in together], key)
        tables.append(table)
        n_rows += rows_each
    return tables, n_rows


def _shared_file(run: Run, key: str) -> Path | None:
    """The file in which its rows stand beside those of other runs; None for a run that has them alone."""
    shares = run.packed is not None and (key == HISTORY or key in run.ledger.tables)
    return run.packed.path(key) if shares else None


def _table(run: Run, key: str) -> pd.DataFrame:
    table = run.history if key == HISTORY else run.table(key)
    if table is None:
        raise StoreError(
            f"{run.path}: has no table {key!r}. What is measured has changed since this run was published: measure and "
            "publish the runs again."
        )
    return table
