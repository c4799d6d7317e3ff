"""What of a rise states carry from the network behind it into the one before, and what is lost the other way."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import HALF, LARGE, WINDOWS
from retrieval_circuits.sgd_formation.measures.windows import NOTHING, SAME

REGAINED, LOST = "regained", "lost"
"""What later states give earlier weights, and what earlier states cost later ones."""


def carried(results: Results, arm: str) -> pd.DataFrame:
    """Columns init_seed, way, edit, site, value: what exchanged states carry, by the rise that it is a share of.

    Of networks alone that rise by half of the reads or more. Below 0 where earlier weights read less than without the
    change, or later ones more; above 1 where they read more than the network behind the rise, or less than the one
    before it.
    """
    rows = results.rows(WINDOWS, arm=arm).astype({"site": "str", "edit": "str"})
    rows = rows.drop_duplicates(["init_seed", "step", "edit", "site"])
    is_before = rows["step"] == rows.groupby("init_seed")["step"].transform("min")
    rows = rows.assign(way=is_before.map({True: REGAINED, False: LOST}))
    own = rows[rows["site"] == NOTHING].pivot(index="init_seed", columns="way", values="value")
    own = own.reindex(columns=[REGAINED, LOST]).dropna()
    rise = own[LOST] - own[REGAINED]
    moved = rows[(rows["site"] != NOTHING) & rows["init_seed"].map(rise).ge(HALF)]
    own = own.rename_axis(columns="way").stack().rename("own").reset_index()
    moved = moved.merge(own, on=["init_seed", "way"])
    gained = (moved["value"] - moved["own"]) * moved["way"].map({REGAINED: 1, LOST: -1}).astype(float)
    moved["value"] = gained / moved["init_seed"].map(rise).astype(float)
    return moved[["init_seed", "way", "edit", "site", "value"]]


def by_stage(way: str, site: str, edit: str = SAME, arm: str = LARGE) -> OfArms:
    """Values of a reading: what exchanged states of one stage carry, by the rise."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        rows = carried(results, arm)
        rows = rows[(rows["way"] == way) & (rows["site"] == site) & (rows["edit"] == edit)]
        return rows.set_index("init_seed")["value"]

    return values
