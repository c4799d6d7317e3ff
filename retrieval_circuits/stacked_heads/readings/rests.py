"""Where networks come to rest between knowing nothing of a chain and following it: place by place of the block."""

import pandas as pd

from circuitcore.tasks.chains import ChainRetrieval
from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.readings.grid import Arm, final_losses

N_PLACES = ChainRetrieval().n_chains
"""Places of a block, one for each chain."""
FOLLOWED_BELOW = 0.25
"""Error at a place below which a network follows what stands there: half of what a guess between two others costs."""


def rest_of(n_followed: int, n_places: int = N_PLACES) -> float:
    """Error of a network that follows some places, and guesses, where a pair stands at none, among the others.

    Such a guess is the mean of the symbols at the m places that are left; it is off by 1 - 1/m, numbers having
    variance 1. All places: 0; none: what knowing the step alone gives.
    """
    left = n_places - n_followed
    return left / n_places * (1 - 1 / left) if left else 0.0


def rest_among_all(n_followed: int, n_places: int = N_PLACES) -> float:
    """The same of a network that guesses among all places, those that it follows included."""
    return (1 - n_followed / n_places) * (1 - 1 / n_places)


def final_at_places(results: Results, arm: Arm) -> pd.DataFrame:
    """Error at each place at the end, best place of a network and symbol first.

    A row for each ``init_seed`` and ``variable`` (x_k), a column for each rank from 1.
    """
    rows = results.at_final("loss_at_place", str(arm)).astype({"variable": str})
    rows = rows.assign(rank=rows.groupby(["init_seed", "variable"])["value"].rank(method="first").astype(int))
    return rows.pivot(index=["init_seed", "variable"], columns="rank", values="value")


def spread(arm: Arm, place: int = 1) -> OfArms:
    """Values of a reading: error at a network's worst place of a block, less that at its best; of x_k, k ``place``."""

    @of_arms(str(arm))
    def values(results: Results) -> pd.Series:
        places = final_at_places(results, arm).xs(f"x_{place}", level="variable")
        return places.max(axis=1) - places.min(axis=1)

    return values


def nearer_to_the_rest(arm: Arm) -> OfArms:
    """Values of a reading: the distance of the error of the first symbol from a guess among all places, less that
    from one among those that are not followed.
    """

    @of_arms(str(arm))
    def values(results: Results) -> pd.Series:
        places = final_at_places(results, arm).xs("x_1", level="variable")
        error, followed = places.mean(axis=1), (places < FOLLOWED_BELOW).sum(axis=1)
        return (error - followed.map(rest_among_all)).abs() - (error - followed.map(rest_of)).abs()

    return values


def least_error(place: int, *cells: Arm) -> OfArms:
    """Values of a reading: the smallest final error of x_k over several depths, of seeds with a network of each."""
    return _over_depths("min", place, *cells)


def most_error(place: int, *cells: Arm) -> OfArms:
    """Values of a reading: the largest final error of x_k over several depths, of seeds with a network of each."""
    return _over_depths("max", place, *cells)


def _over_depths(how: str, place: int, *cells: Arm) -> OfArms:
    @of_arms(*map(str, cells))
    def values(results: Results) -> pd.Series:
        losses = final_losses(results, *cells)
        wide = losses[losses["place"] == place].pivot(index="init_seed", columns="cell", values="value")
        return wide.dropna().agg(how, axis=1)

    return values
