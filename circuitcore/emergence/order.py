"""Which motif came first: orders between birth intervals, seed by seed.

Intervals, not points, are ordered: two births inside the same gap between checkpoints have no order.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from circuitcore.emergence.births import BirthInterval, dates
from circuitcore.ground.spelling import unknown

Order = Literal["before", "after", "undecided"]


class OrderError(ValueError):
    """A births table in which orders cannot be read; the message says what is wrong with it."""


def compare(first: BirthInterval, second: BirthInterval) -> Order:
    """Order of two births: "before" when the first was surely born before the second.

    Intervals are half-open, (after, by]: (0, 5] comes before (5, 10]; (0, 5] and (0, 5] are undecided. A motif never
    born lies beyond its last checkpoint below, hence after everything born by then; two such motifs are undecided, and
    so is everything against a motif that was never measured.
    """
    if _high(first) <= _low(second):
        return "before"
    if _high(second) <= _low(first):
        return "after"
    return "undecided"


def orders(
    births: pd.DataFrame,
    by: Sequence[str] = ("arm", "init_seed"),
    pairs: Iterable[tuple[str, str]] | None = None,
) -> pd.DataFrame:
    """Order of every pair of motifs in every seed.

    Args:
        births: what ``emergence.births.births`` gives: ``motif``, ``after``, ``by`` and the columns in ``by``.
        by: the columns that tell runs apart.
        pairs: pairs of motifs to compare; all of them, in order of appearance, when None.

    Returns:
        One row per run and pair: the ``by`` columns, ``first``, ``second``, ``order``. A run that lacks one of the
        two motifs has no row.

    Raises:
        OrderError: an unknown motif, or a motif with several births in one run (several rules in one table).
    """
    by = list(by)
    motifs = [str(motif) for motif in births["motif"].unique()]
    pairs = list(combinations(motifs, 2)) if pairs is None else list(pairs)
    for motif in (motif for pair in pairs for motif in pair):
        if motif not in motifs:
            raise OrderError(unknown("motif", motif, motifs))
    repeated = births.duplicated([*by, "motif"])
    if repeated.any():
        raise OrderError(
            f"motif {births.loc[repeated, 'motif'].iloc[0]!r} has several births in one run; keep one rule"
        )
    low = births["after"].astype("Float64").fillna(-np.inf).astype(float)
    spans = births[[*by, "motif"]].assign(low=low, high=dates(births).fillna(np.inf))
    found = [_orders_of_pair(spans, by, pair) for pair in pairs]
    columns = [*by, "first", "second", "order"]
    return pd.concat(found, ignore_index=True)[columns] if found else pd.DataFrame(columns=columns)


def _orders_of_pair(spans: pd.DataFrame, by: list[str], pair: tuple[str, str]) -> pd.DataFrame:
    first, second = (spans[spans["motif"] == motif].drop(columns="motif") for motif in pair)
    both = first.merge(second, on=by, suffixes=("_first", "_second"))
    before = both["high_first"] <= both["low_second"]
    after = both["high_second"] <= both["low_first"]
    order = np.select([before, after], ["before", "after"], default="undecided")
    return both[by].assign(first=pair[0], second=pair[1], order=order)


def _low(birth: BirthInterval) -> float:
    return -np.inf if birth.after is None else float(birth.after)


def _high(birth: BirthInterval) -> float:
    return np.inf if birth.by is None else float(birth.by)
