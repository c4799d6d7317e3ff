"""What the prompt format, the depth and the number of heads force: the cells, and which layer routes."""

import pandas as pd

from circuitcore.emergence.leaders import leading_head
from livingpaper.claims.results import Results
from retrieval_circuits.six_run_matrix.design import cell_name
from retrieval_circuits.six_run_matrix.readings import per_seed

QUERY_ONE, QUERY_TWO = cell_name("query", 1, 2), cell_name("query", 2, 2)
DEEP = (cell_name("arrow", 3, 2), cell_name("query", 3, 2))
EIGHT = cell_name("arrow", 2, 8)
LAST = 2  # of three layers


def routing_layers(results: Results, arm: str) -> pd.DataFrame:
    """The head of any layer that attends to the right value most often, with its ``layer``.

    ``tied``: a head of the last layer does so exactly as often, though the tie counts for a lower one.
    """
    rows = results.at_final("routing_value", arm, family=per_seed.SWEEP)
    last = rows[rows["layer"] == LAST].groupby("init_seed")["value"].max()
    found = leading_head(rows).assign(layer=lambda heads: heads["site"].astype(str).str[1].astype(int))
    return found.assign(tied=(found["layer"] != LAST) & (found["init_seed"].map(last) == found["value"]))
