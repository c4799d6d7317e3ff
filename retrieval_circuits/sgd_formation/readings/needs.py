"""What of the reads small networks lose without one part, before they read and at the end."""

from typing import Literal

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import JOINED, THROUGH, WITHOUT_KEY
from retrieval_circuits.sgd_formation.readings.known import last_before
from retrieval_circuits.sgd_formation.readings.networks import accuracy_curve

MEAN = "mean"
"""How a part is taken away: replaced by the mean of what it writes at words of the same kind."""
When = Literal["before", "end"]
BEFORE, END = "before", "end"
"""The last checkpoint before a quarter of the reads is right, and the last of all."""


def share_lost(results: Results) -> pd.DataFrame:
    """Share of what is read right that is lost without each part, below 0 where more is read without it.

    A row for each ``init_seed`` and ``step``, a column for each part; missing where nothing is read.
    """
    rows = results.curve("left", THROUGH, edit=MEAN).astype({"site": "str"})
    left = rows.pivot(index=["init_seed", "step"], columns="site", values="value")
    whole = accuracy_curve(THROUGH)(results).set_index(["init_seed", "step"])["value"]
    return 1 - left.div(whole.where(whole > 0), axis=0)


def lost_at(results: Results, when: When) -> pd.DataFrame:
    """The same at one checkpoint of each network that reads a quarter at some checkpoint, by ``init_seed``.

    Without those that read nothing then; before, also without those that read a quarter from the first checkpoint on.
    """
    return _at(share_lost(results), times(results, when)).dropna(how="all")


def joins_at(results: Results, when: When) -> pd.DataFrame:
    """What each head of the first layer joins, of the networks of ``lost_at``: attention from values to their keys."""
    rows = results.rows(JOINED, arm=THROUGH, metric="joins", layer=0).astype({"site": "str"})
    joins = rows.pivot(index=["init_seed", "step"], columns="site", values="value")
    return _at(joins, times(results, when)).loc[lost_at(results, when).index]


def times(results: Results, when: When) -> pd.Series:
    """Step of that checkpoint by ``init_seed``, of the networks that have one."""
    by_seed = accuracy_curve(THROUGH)(results).groupby("init_seed")
    steps = last_before(results, WITHOUT_KEY, THROUGH) if when == BEFORE else by_seed["step"].max()
    return steps[by_seed["value"].max() >= WITHOUT_KEY].dropna().astype(int)


def _at(table: pd.DataFrame, steps: pd.Series) -> pd.DataFrame:
    """Rows of a table by ``init_seed`` and ``step`` at one step of each network."""
    return table.reindex(pd.MultiIndex.from_arrays([steps.index, steps], names=table.index.names)).droplevel("step")


def heads_of(table: pd.DataFrame, layer: str = "L") -> pd.DataFrame:
    """Columns of heads alone, of all layers or of one (``L0``)."""
    return table[[part for part in table.columns if part.startswith(layer) and "H" in part]]


def lost_without(part: str, when: When) -> OfArms:
    """Values of a reading: share of the reads answered right that is lost without a part."""

    @of_arms(THROUGH)
    def values(results: Results) -> pd.Series:
        return lost_at(results, when)[part].dropna()

    return values


def lost_without_dearest(when: When) -> OfArms:
    """Values of a reading: the same without the head that costs most then."""

    @of_arms(THROUGH)
    def values(results: Results) -> pd.Series:
        return heads_of(lost_at(results, when)).max(axis=1).dropna()

    return values


def ahead_before(layer: str) -> OfArms:
    """Values of a reading: how much more is lost before networks read without the head of a layer that costs most at
    the end than without the dearest of its layer's others.
    """

    @of_arms(THROUGH)
    def values(results: Results) -> pd.Series:
        before, end = (heads_of(lost_at(results, when), layer) for when in (BEFORE, END))
        both = before.index.intersection(end.index)
        found = {}
        for seed, winner in end.loc[both].idxmax(axis=1).items():
            found[seed] = before.at[seed, winner] - before.loc[seed].drop(winner).max()
        return pd.Series(found, dtype=float).rename_axis("init_seed")

    return values


def joins_ahead(when: When) -> OfArms:
    """Values of a reading: how much more the first layer's head that costs most at the end joins than any other there.

    In attention, from -1 to 1.
    """

    @of_arms(THROUGH)
    def values(results: Results) -> pd.Series:
        joins, dearest = joins_at(results, when), heads_of(lost_at(results, END), "L0").idxmax(axis=1)
        found = {}
        for seed in joins.index.intersection(dearest.index):
            found[seed] = joins.at[seed, dearest[seed]] - joins.loc[seed].drop(dearest[seed]).max()
        return pd.Series(found, dtype=float).rename_axis("init_seed")

    return values


def dearest_joins(when: When) -> OfArms:
    """Values of a reading: 1 where the first layer's dearest head of that time joins most of its layer then, else 0."""

    @of_arms(THROUGH)
    def values(results: Results) -> pd.Series:
        dearest = heads_of(lost_at(results, when), "L0").idxmax(axis=1)
        return (joins_at(results, when).idxmax(axis=1) == dearest).astype(float)

    return values
