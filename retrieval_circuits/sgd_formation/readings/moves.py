"""What tests of each move of a look-up say of whole layers, of small networks and of the source's."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import LINKS, LINKS_LATER
from retrieval_circuits.sgd_formation.measures.links import (
    COPIES,
    EXCHANGED,
    FINDS,
    FOUND_BY,
    JOINED_BY,
    JOINS,
    NOTHING,
)

MOVED = {JOINS: ("lost", JOINED_BY), FINDS: ("moved", FOUND_BY), COPIES: ("moved", FOUND_BY)}
"""Move -> the metric of its test, and the layer of the heads that are tested together."""


TABLES = (LINKS, LINKS_LATER)
"""By how many layers later than in small networks the moves are looked for."""


def moves(results: Results, arm: str, layers_later: int = 0) -> pd.DataFrame:
    """Share of answers that the test of each move moves at the end, all heads of its layer together: seed by move."""
    rows = results.rows(TABLES[layers_later], arm=arm).astype({"site": "str", "variable": "str", "metric": "str"})
    rows = rows[rows["step"] == rows["step"].max()]
    found = {}
    for move, (metric, layer) in MOVED.items():
        of_move = rows[
            (rows["variable"] == move) & (rows["metric"] == metric) & (rows["site"] == f"L{layer + layers_later}H*")
        ]
        found[move] = of_move.set_index("init_seed")["value"]
    return pd.DataFrame(found)


def moved(arm: str, move: str, layers_later: int = 0) -> OfArms:
    """Values of a reading: share of answers that the test of a move moves."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        return moves(results, arm, layers_later)[move]

    return values


def unmoved(arm: str) -> OfArms:
    """Values of a reading: share of answers that are, without an exchange, what one would make them; the larger one."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        rows = results.rows("links", arm=arm, metric="moved", site=NOTHING, variable=list(EXCHANGED))
        rows = rows[rows["step"] == rows["step"].max()]
        return rows.groupby("init_seed")["value"].max()

    return values
