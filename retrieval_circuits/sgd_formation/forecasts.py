"""What claims read of sparse features: how well their births can be foretold, and whom updates pull alike."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import FULL

ADDED, TAKEN_AWAY = ("drive", "alignment", "support", "amplification"), "interference"
"""Factors of the source's model of births. Two more are the same for all features here, as they were in the source."""
MODEL, LATER = "the source's model", "later"


def candidates(results: Results, basis: str) -> pd.DataFrame:
    """Features that become useful after the cutoff of their network, with all that was known at it and ``MODEL``.

    Columns ``init_seed site useful_birth``, the factors, ``later``, and the score of the source's model.
    """
    rows = results.rows("features", arm=FULL).astype({"metric": "str", "site": "str", "variable": "str"})
    cutoff = rows[rows["metric"] == "cutoff"].set_index("init_seed")["value"]
    of_basis = rows[(rows["variable"] == basis) & (rows["site"] != "")]
    wide = of_basis.pivot(index=["init_seed", "site"], columns="metric", values="value").reset_index()
    if "useful_birth" not in wide:
        return pd.DataFrame(columns=["init_seed", "site", "useful_birth", *ADDED, TAKEN_AWAY, LATER, MODEL])
    born = wide[wide["useful_birth"] > wide["init_seed"].map(cutoff)].reset_index(drop=True)
    of_network = born.groupby("init_seed")[[*ADDED, TAKEN_AWAY]]
    low, high = of_network.transform("min"), of_network.transform("max")
    scaled = ((born[[*ADDED, TAKEN_AWAY]] - low) / (high - low).where(high > low)).fillna(0)
    return born.assign(**{MODEL: scaled[list(ADDED)].sum(axis=1) - scaled[TAKEN_AWAY]})


def foretold(basis: str, by: str = MODEL) -> OfArms:
    """Values of a reading: rank correlation, over a network's candidates, of a score and of how early they are born.

    1: the higher the score the earlier; 0: by lot. A network in which all are born at once, or none, has no number.
    """

    @of_arms(FULL)
    def values(results: Results) -> pd.Series:
        found = candidates(results, basis)
        of_network = found.groupby("init_seed")[["useful_birth", by]]
        by_seed = {seed: -part.rank().corr().loc["useful_birth", by] for seed, part in of_network}
        return pd.Series(by_seed, dtype="float64").dropna()

    return values


def of_pairs(metric: str, basis: str) -> OfArms:
    """Values of a reading: a mean over pairs of features, network by network (see ``pulls.followed``)."""

    @of_arms(FULL)
    def values(results: Results) -> pd.Series:
        rows = results.rows("features", arm=FULL).astype({"metric": "str", "variable": "str"})
        return rows[(rows["metric"] == metric) & (rows["variable"] == basis)].set_index("init_seed")["value"]

    return values
