"""Whether a run that was made again is the published one: its weights and rows to the bit, what was measured nearly."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from circuitcore.training.store.digests import table_sha256
from circuitcore.training.store.history import per_epoch
from circuitcore.training.store.run import Run


def equal_runs(new: Sequence[Run], published: Mapping[str, Run]) -> int:
    """How many new runs end in the weights of the published run of the same name, or compute the same tables."""
    return sum(_same_end(run, published[run.run_id]) for run in new if run.run_id in published)


def apart(new: Run, old: Run) -> float:
    """By how much a run's measured numbers are off the published ones: the largest difference, relative above one.

    Infinite where weights are others at any checkpoint, losses at any step, or rows of a table: these are compared to
    the bit. Numbers are not: sums of the same terms in another order, by another version, have other last digits. A
    column that a table has got since it was published is left out.
    """
    if new.ledger.trained and (new.ledger.weights != old.ledger.weights or not _same_history(new, old)):
        return math.inf
    return max((_tables_apart(new, old, key) for key in new.tables), default=0.0)


def makers(runs: Iterable[Run]) -> tuple[str, ...]:
    """Library, torch and vector instructions that some runs were made with, each once."""
    return tuple(sorted({maker for run in runs for maker in run.ledger.made_with}))


def _same_end(new: Run, old: Run) -> bool:
    if new.ledger.trained:
        return new.ledger.last_hash == old.ledger.last_hash
    return all(_same_table(new, old, key) for key in new.tables)


def _same_table(new: Run, old: Run, key: str) -> bool:
    """Whether the published values are there again; a column that a table has got since is left out."""
    tables = _both(new, old, key)
    return tables is not None and _equal(*tables)


def _tables_apart(new: Run, old: Run, key: str) -> float:
    tables = _both(new, old, key)
    if tables is None:
        return math.inf
    if _equal(*tables):
        return 0.0
    numbers = [name for name in tables[0] if is_float_dtype(tables[0][name])]
    words = [name for name in tables[0] if name not in numbers]
    if not _equal(*(table[words] for table in tables)):
        return math.inf
    now, before = (
        table.astype(dict.fromkeys(words, str)).sort_values([*words, *numbers])[numbers].to_numpy(float)
        for table in tables
    )
    other = (now != before) & ~(np.isnan(now) & np.isnan(before))  # infinite ones may be equal, too
    now, before = now[other], before[other]
    if not (np.isfinite(now) & np.isfinite(before)).all():
        return math.inf
    return float((np.abs(now - before) / np.maximum(1, np.abs(before))).max(initial=0))


def _equal(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    return table_sha256(one) == table_sha256(other)


def _both(new: Run, old: Run, key: str) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """A table of both, in the columns of the published one; None where that is absent, or has a column more."""
    now, before = new.table(key), old.table(key)
    if now is None or before is None or not {*before.columns} <= {*now.columns}:
        return None
    return now[[*before.columns]], before


def _same_history(new: Run, old: Run) -> bool:
    now = per_epoch(new.history) if old.ledger.history_thinned else new.history
    return _equal(now, old.history)
