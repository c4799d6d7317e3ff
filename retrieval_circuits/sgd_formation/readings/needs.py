"""What of the reads small networks lose without one part, before they read and at the end."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import REPORTED, THROUGH, WITHOUT_KEY

MEAN = "mean"
"""How a part is taken away: replaced by the mean of what it writes at words of the same kind."""
BEFORE, END = "before", "end"
"""The last checkpoint before a quarter of the reads is right, and the last of all."""


def lost(results: Results, edit: str = MEAN) -> pd.DataFrame:
    """Share of what is read right that is lost without each part, below 0 where more is read without it.

    A row for each ``init_seed`` and ``step``, a column for each part; missing where nothing is read.
    """
    rows = results.curve("left", THROUGH, edit=edit).astype({"site": "str"})
    left = rows.pivot(index=["init_seed", "step"], columns="site", values="value")
    whole = right(results).set_index(["init_seed", "step"])["value"]
    return 1 - left.div(whole.where(whole > 0), axis=0)


def right(results: Results) -> pd.DataFrame:
    """Share of reads that each network answers right, checkpoint by checkpoint."""
    return results.curve("accuracy", THROUGH, split=REPORTED[THROUGH])


def lost_at(results: Results, when: str, edit: str = MEAN) -> pd.DataFrame:
    """The same at one checkpoint of each network that reads a quarter at some checkpoint, by ``init_seed``."""
    whole = right(results)
    early = whole["value"] < WITHOUT_KEY
    of_network = early.groupby(whole["init_seed"])
    comes_to_read, not_yet = ~of_network.transform("all"), of_network.cummin()
    rows = whole[comes_to_read & not_yet] if when == BEFORE else whole[comes_to_read]
    steps, found = rows.groupby("init_seed")["step"].max(), lost(results, edit)
    return found.reindex(pd.MultiIndex.from_arrays([steps.index, steps], names=found.index.names)).droplevel("step")


def heads_of(table: pd.DataFrame, layer: str = "L") -> pd.DataFrame:
    """Columns of heads alone, of all layers or of one (``L0``)."""
    return table[[part for part in table.columns if part.startswith(layer) and "H" in part]]


def lost_without(part: str, when: str) -> OfArms:
    """Values of a reading: share of the reads answered right that is lost without a part."""

    @of_arms(THROUGH)
    def values(results: Results) -> pd.Series:
        return lost_at(results, when)[part].dropna()

    return values


def lost_without_dearest(when: str) -> OfArms:
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
        before, end = (heads_of(lost_at(results, when), layer).dropna() for when in (BEFORE, END))
        both = before.index.intersection(end.index)
        found = {}
        for seed, winner in end.loc[both].idxmax(axis=1).items():
            found[seed] = before.at[seed, winner] - before.loc[seed].drop(winner).max()
        return pd.Series(found, dtype=float).rename_axis("init_seed")

    return values
