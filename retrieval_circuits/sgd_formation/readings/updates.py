"""Which share of each update goes to the heads that reads come to need, and whether it goes with what is gained."""

from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_formation.design import SHARES, THROUGH, WITHOUT_KEY
from retrieval_circuits.sgd_formation.readings.known import last_before
from retrieval_circuits.sgd_formation.readings.needs import END, heads_of, lost_at
from retrieval_circuits.sgd_formation.readings.networks import accuracy_curve

Whose = Literal["the dearest", "the others"]
DEAREST, THE_OTHERS = "the dearest", "the others"
"""The head of a layer that costs most at the end, and the mean of the layer's others."""
Phase = Literal["until then", "rise"]
UNTIL_THEN, RISE = "until then", "rise"
"""Intervals up to the last checkpoint before a quarter of the reads is right; and from it to the first checkpoint with
nine in ten, or to the last of all."""
TIES = 1e-12
"""Correlations that differ by less are equal: sums in another order differ in the last bits."""


def shares(results: Results) -> pd.DataFrame:
    """Each part's share of the update that ends at a step: rows by ``init_seed`` and ``step``, a column each part."""
    rows = results.rows(SHARES, arm=THROUGH, metric="share").astype({"site": "str"})
    return rows.pivot(index=["init_seed", "step"], columns="site", values="value")


def gains(results: Results) -> pd.Series:
    """How much more is read right at a step than at the checkpoint before it, by ``init_seed`` and ``step``."""
    wide = accuracy_curve(THROUGH)(results).pivot(index="init_seed", columns="step", values="value")
    return wide.sort_index(axis=1).diff(axis=1).iloc[:, 1:].stack()


def of_dearest(table: pd.DataFrame, results: Results, layer: str, whose: Whose) -> pd.Series:
    """Of columns by part, that of a layer's dearest head at the end, or the mean of the layer's others.

    Of networks in the table that come to read a quarter; the others have no head that reads need.
    """
    dearest, found = heads_of(lost_at(results, END), layer).idxmax(axis=1), []
    for seed, head in dearest[dearest.index.isin(table.index.unique("init_seed"))].items():
        heads = heads_of(table.loc[[seed]], layer)
        found.append(heads[head] if whose == DEAREST else heads.drop(columns=head).mean(axis=1))
    return pd.concat(found) if found else pd.Series(dtype=float, index=table.index[:0])


def lead(layer: str, phase: Phase) -> OfArms:
    """Values of a reading: the mean share of a layer's dearest head over that of its others, less 1, in a phase.

    Without networks in which the phase has no interval.
    """

    @of_arms(THROUGH)
    def values(results: Results) -> pd.Series:
        table = shares(results)
        table = table[_is_in(table.index, results, phase)]
        head, others = (
            of_dearest(table, results, layer, whose).groupby("init_seed").mean() for whose in (DEAREST, THE_OTHERS)
        )
        return (head / others - 1).dropna()

    return values


def _is_in(intervals: pd.MultiIndex, results: Results, phase: Phase) -> np.ndarray:
    seeds, steps = intervals.get_level_values("init_seed"), intervals.get_level_values("step")
    begins = seeds.map(last_before(results, WITHOUT_KEY, THROUGH))
    if phase == UNTIL_THEN:
        return np.asarray(steps <= begins)
    curve = accuracy_curve(THROUGH)(results)
    nine_tenths = curve[curve["value"] >= BEHAVIOUR.value].groupby("init_seed")["step"].min()
    ends = nine_tenths.reindex(curve["init_seed"].unique()).fillna(curve["step"].max())
    return np.asarray((steps > begins) & (steps <= seeds.map(ends)))


def with_gains(layer: str, whose: Whose, *, in_layer: bool = False) -> OfArms:
    """Values of a reading: correlation, over all intervals, of a share of the update with what is gained.

    Args:
        layer: of the heads, ``L0``.
        whose: of which.
        in_layer: as the source has it, of a head's length over that of its layer's heads together.
    """

    @of_arms(THROUGH)
    def values(results: Results) -> pd.Series:
        table = shares(results)
        if in_layer:
            heads = heads_of(table, layer)
            table = heads.div(heads.sum(axis=1), axis=0) ** 0.5
        both = pd.DataFrame({"share": of_dearest(table, results, layer, whose), "gain": gains(results)}).dropna()
        found = {seed: of_one["share"].corr(of_one["gain"]) for seed, of_one in both.groupby("init_seed")}
        return pd.Series(found, dtype=float).rename_axis("init_seed").dropna()

    return values


@of_arms(THROUGH)
def as_large_by_shifting(results: Results) -> pd.Series:
    """Values of a reading: share of shifts in time at which some part's share goes with the gains as closely as now.

    Gains are shifted against updates by every number of intervals, around the end; that of none is one of them.
    """
    table, gained, found = shares(results), gains(results), {}
    if not table.index.isin(gained.dropna().index).all():
        raise ValueError("update_shares has intervals for which no share of reads answered right is known at both ends")
    for seed in lost_at(results, END).index:
        parts = table.loc[seed]
        largest = largest_by_shift(parts.to_numpy(), gained.loc[seed].loc[parts.index].to_numpy())
        found[seed] = float((largest >= largest[0] - TIES).mean())
    return pd.Series(found, dtype=float).rename_axis("init_seed")


def largest_by_shift(
    parts: Float[np.ndarray, "interval part"], gained: Float[np.ndarray, " interval"]
) -> Float[np.ndarray, " shift"]:
    """The largest correlation of any part with the gains, either way, by how far these are shifted; of flat ones 0."""
    n = len(gained)
    turned = gained[(np.arange(n)[None] - np.arange(n)[:, None]) % n]  # [shift interval]
    return np.abs(_standard(turned) @ _standard(parts.T).T).max(axis=1) / n


def _standard(rows: Float[np.ndarray, "row interval"]) -> Float[np.ndarray, "row interval"]:
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=spread > TIES)
