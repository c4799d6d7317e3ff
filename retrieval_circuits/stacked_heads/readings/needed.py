"""What claims and figures read of ``needed``: looks that networks need, and those that their circuits leave out."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import FOLLOWED, Cell, Lesson
from retrieval_circuits.stacked_heads.measures.circuit import ACCEPTED
from retrieval_circuits.stacked_heads.readings.grid import circuit_paths, where_enough

LOOK = ["init_seed", "layer", "head", "site"]


def looks(results: Results, arm: str) -> pd.DataFrame:
    """Looks of an arm's networks: ``LOOK``, the error of each symbol without it (``x_1``, ...), ``rise`` and ``left``.

    ``rise``: how much more error over all symbols the network makes; ``left``: whether it is left in the circuit.
    """
    rows = results.rows("needed", arm=arm).astype({"metric": "str", "variable": "str", "site": "str"})
    own = rows[rows["metric"] == "error_with_all"].groupby("init_seed")["value"].mean()
    found = rows[rows["metric"] == "error_without"].pivot(index=LOOK, columns="variable", values="value")
    found = found.assign(rise=found.mean(axis=1)).reset_index()
    left = set(circuit_paths(results, arm)[LOOK].itertuples(index=False, name=None))
    return found.assign(
        rise=found["rise"] - found["init_seed"].map(own),
        left=[look in left for look in found[LOOK].itertuples(index=False, name=None)],
    )


def left_out() -> OfArms:
    """Values of a reading: how many looks are left out of the circuit of a followed network that it needs.

    One is needed if the squared error grows by ``ACCEPTED`` or more without it. Of networks alone whose circuit
    answers: with maps set along its paths the error is at most ``ENOUGH`` above the network's own.
    """

    @of_arms(str(FOLLOWED))
    def values(results: Results) -> pd.Series:
        table = looks(results, str(FOLLOWED))
        out = table[(table["rise"] >= ACCEPTED) & ~table["left"]].groupby("init_seed").size()
        return out.reindex(table["init_seed"].unique(), fill_value=0).astype(float)

    return where_enough(FOLLOWED, values)


def unlooked_rise(cell: Cell | Lesson) -> OfArms:
    """Values of a reading: how much more error comes of forbidding a look that a network hardly makes."""

    @of_arms(str(cell))
    def values(results: Results) -> pd.Series:
        return results.rows("needed", arm=str(cell), metric="unlooked_rise").set_index("init_seed")["value"]

    return values


def error_without(cell: Cell | Lesson, link: tuple[str, str], place: int) -> OfArms:
    """Values of a reading: squared error of x_k with one head's look along a link forbidden, of the head it needs most.

    Where no head looks along the link there is nothing to forbid, and the error is the network's own.
    """

    @of_arms(str(cell))
    def values(results: Results) -> pd.Series:
        rows = results.rows("needed", arm=str(cell), variable=f"x_{place}")
        own = rows[rows["metric"] == "error_with_all"].set_index("init_seed")["value"]
        forbidden = rows[(rows["metric"] == "error_without") & (rows["site"] == ">".join(link))]
        return forbidden.groupby("init_seed")["value"].max().reindex(own.index).fillna(own)

    return values
