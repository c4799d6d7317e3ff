"""What claims read of sparse features: whether births come in a forecast's order, and whom updates pull alike."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import FULL

ADDED, TAKEN_AWAY = ("drive", "alignment", "support", "amplification"), "interference"
"""Factors of the source's model of births. Two more are the same for all features here, as they were in the source."""
MODEL, LATER, SCALE = "model", "later", "scale"
USEFUL, RIGHT = "useful_birth", "right_birth"
FEWEST = 10
"""Candidates that a network must have: of fewer, a rank correlation by lot has a standard deviation above a third."""


def candidates(results: Results, basis: str, birth: str = USEFUL) -> pd.DataFrame:
    """Features that are born after the cutoff of their network, in networks that have enough of them.

    Columns ``init_seed site``, the birth, all that is measured of a feature, and ``model``: the score of the source's
    model, each factor scaled to 0 to 1 over the candidates of a network.
    """
    rows = results.rows("features", arm=FULL).astype({"metric": "str", "site": "str", "variable": "str"})
    of_features = rows[(rows["variable"] == basis) & (rows["site"] != "")]
    wide = of_features.pivot(index=["init_seed", "site"], columns="metric", values="value").reset_index()
    if birth not in wide:
        return pd.DataFrame(columns=["init_seed", "site", birth, *ADDED, TAKEN_AWAY, LATER, SCALE, MODEL])
    born = wide.dropna(subset=birth)
    born = born[born.groupby("init_seed")["site"].transform("size") >= FEWEST].reset_index(drop=True)
    of_network = born.groupby("init_seed")[[*ADDED, TAKEN_AWAY]]
    low, high = of_network.transform("min"), of_network.transform("max")
    scaled = ((born[[*ADDED, TAKEN_AWAY]] - low) / (high - low).where(high > low)).fillna(0)
    return born.assign(**{MODEL: scaled[list(ADDED)].sum(axis=1) - scaled[TAKEN_AWAY]})


def birth_order(basis: str, by: str = MODEL, birth: str = USEFUL) -> OfArms:
    """Values of a reading: rank correlation, over a network's candidates, of a score and of how early they are born.

    0: by lot. 1, the higher the score the earlier, is out of reach where several are born at one checkpoint: they share
    a rank. A network in which all are born at once has no number.
    """

    @of_arms(FULL)
    def values(results: Results) -> pd.Series:
        of_network = candidates(results, basis, birth).groupby("init_seed")[[birth, by]]
        by_seed = {seed: -part.rank().corr().loc[birth, by] for seed, part in of_network}
        return pd.Series(by_seed, dtype="float64").dropna()

    return values


def of_pairs(metric: str, basis: str) -> OfArms:
    """Values of a reading: a mean over pairs of features, network by network (see ``pulls.neuron_shares``)."""

    @of_arms(FULL)
    def values(results: Results) -> pd.Series:
        rows = results.rows("features", arm=FULL).astype({"metric": "str", "variable": "str"})
        return rows[(rows["metric"] == metric) & (rows["variable"] == basis)].set_index("init_seed")["value"]

    return values
