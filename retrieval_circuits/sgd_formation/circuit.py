"""The moves of a look-up in a stream, and what tests of each network say of them at each step that is shown.

A value that was read is shown again, so that a later read may look at any place that shows it; all of them are drawn.
"""

from collections.abc import Mapping

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.explorer.moves import Move, Plan, Tested
from livingpaper.figures.circuit import MOVED
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.circuit_parts import KEY, VALUE, by_leader
from retrieval_circuits.sgd_formation.measures.links import COPIES, FINDS, FOUND_BY, JOINED_BY, JOINS, NOTHING

MOVES = (
    Move(name=JOINS, does="joins every value to its key", layer=JOINED_BY, source="keys", target="values", brings=True),
    Move(
        name=FINDS, does="finds the value whose key is asked for", layer=FOUND_BY, source="asked value", target="last"
    ),
    Move(name=COPIES, does="copies that value into the answer", layer=FOUND_BY, looks="asked value"),
)
PLAN = Plan(moves=MOVES, tones={"key": KEY, "query": KEY, "value": VALUE})
CUT = "without that look {effect} of the answers are lost"
METRICS = {JOINS: ("lost", CUT), FINDS: ("moved", MOVED), COPIES: ("moved", MOVED)}
"""Move -> the metric of its test, and what that found, in words."""


def links_of(results: Results, arm: str) -> dict[str, dict[int, dict[str, Tested]]]:
    """Run id -> step -> move -> whose it is in that network, and the share of reads on which its test moves the answer.

    Steps are the run's own: a fork's count from where it leaves.
    """
    rows = results.rows("links", arm=arm)
    rows = rows[rows["site"] != NOTHING].astype({"run_id": "str", "site": "str", "variable": "str", "metric": "str"})
    found: dict[str, dict[int, dict[str, Tested]]] = {}
    for (run, step), at_step in rows.groupby(["run_id", "step"], sort=True):
        found.setdefault(run, {})[int(step)] = {move: tested(move, _shares(at_step, move)) for move in METRICS}
    return found


def _shares(rows: pd.DataFrame, move: str) -> dict[str, float]:
    metric, _ = METRICS[move]
    of_move = rows[(rows["variable"] == move) & (rows["metric"] == metric)]
    return of_move.set_index("site")["value"].astype(float).to_dict()


def tested(move: str, shares: Mapping[str, float]) -> Tested:
    """Whose a move is, by the share of reads on which its test moves the answer, 0 to 1.

    Args:
        move: of ``METRICS``.
        shares: by head alone ("L0H0", ...), and of all heads of its layer ("L0H*").
    """
    alone = {site: share for site, share in shares.items() if not site.endswith("*")}
    (together,) = (share for site, share in shares.items() if site.endswith("*"))
    return by_leader(alone, together, MORE_OFTEN_THAN_NOT, METRICS[move][1])
