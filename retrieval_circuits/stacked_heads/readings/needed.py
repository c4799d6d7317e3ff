"""What claims and figures read of ``needed``: looks that networks need, and those that their circuits leave out."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import FOLLOWED
from retrieval_circuits.stacked_heads.readings.grid import circuit_paths, cost_of

COSTS = 0.05
"""How much more error makes a look needed: what the source accepts while it takes paths away."""
LOOK = ["init_seed", "layer", "head", "site"]


def looks(results: Results, arm: str) -> pd.DataFrame:
    """Looks of an arm's networks: ``LOOK``, the error of each symbol without it (``x_1``, ...), ``rise`` and ``left``.

    ``rise``: how much more error over all symbols the network makes; ``left``: whether it is left in the circuit.
    """
    rows = results.rows("needed", arm=arm).astype({"metric": "str", "variable": "str", "site": "str"})
    own = rows[rows["metric"] == "error_with_all"].groupby("init_seed")["value"].mean()
    found = rows[rows["metric"] == "error_without"].pivot(index=LOOK, columns="variable", values="value")
    found = found.assign(rise=found.mean(axis=1)).reset_index()
    left = circuit_paths(results, arm)[LOOK].apply(tuple, axis=1).to_list()
    return found.assign(
        rise=found["rise"] - found["init_seed"].map(own), left=found[LOOK].apply(tuple, axis=1).isin(left)
    )


def left_out() -> OfArms:
    """Values of a reading: how many needed looks the circuit of a followed network leaves out.

    A network that answers worse with its maps set along these paths has no circuit, and no number.
    """

    @of_arms(str(FOLLOWED))
    def values(results: Results) -> pd.Series:
        table = looks(results, str(FOLLOWED))
        out = table[(table["rise"] >= COSTS) & ~table["left"]].groupby("init_seed").size()
        cost = cost_of("paths")(results)
        return out.reindex(cost[cost <= 2 * COSTS].index, fill_value=0).astype(float)

    return values


def unlooked_rise() -> OfArms:
    """Values of a reading: how much more error comes of forbidding a look that a followed network hardly makes."""

    @of_arms(str(FOLLOWED))
    def values(results: Results) -> pd.Series:
        return results.rows("needed", arm=str(FOLLOWED), metric="unlooked_rise").set_index("init_seed")["value"]

    return values
