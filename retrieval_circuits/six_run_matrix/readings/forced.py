"""What the prompt format, the depth and the number of heads force: the cells, and which layer routes."""

from typing import Literal

import pandas as pd

from circuitcore.emergence.leaders import leading_head
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.six_run_matrix.design import AT_THE_QUERY, cell_name
from retrieval_circuits.six_run_matrix.readings import per_seed

QUERY_ONE, QUERY_TWO = cell_name("query", 1, 2), cell_name(*AT_THE_QUERY)
DEEP = (cell_name("arrow", 3, 2), cell_name("query", 3, 2))
EIGHT = cell_name("arrow", 2, 8)
LAST = 2  # of three layers
GUESS_AT_MOST = 0.45
"""Prompts on which a head attends to the right value that does so by accident, a little above a guess, 1/3."""
HARDLY_NEEDED = 0.2
"""Accuracy lost at most without heads that are not needed: one prompt in five."""


def routing_layers(results: Results, arm: str) -> pd.DataFrame:
    """The head of any layer that attends to the right value most often, with its ``layer``.

    ``tied``: a head of the last layer does so exactly as often, though the tie counts for a lower one. ``guesses``: it
    does so no more often than by accident.
    """
    rows = results.at_final("routing_value", arm, family=per_seed.SWEEP)
    last = rows[rows["layer"] == LAST].groupby("init_seed")["value"].max()
    found = leading_head(rows).assign(layer=lambda heads: heads["site"].astype(str).str[1].astype(int))
    tied = (found["layer"] != LAST) & (found["init_seed"].map(last) == found["value"])
    return found.assign(tied=tied, guesses=found["value"] <= GUESS_AT_MOST)


def routing_behind(results: Results, layer: int) -> pd.Series:
    """Of networks read out at the query: routing by a layer's best head to the pair's value or the separator after it.

    Share of test prompts on which these two positions of the right pair have more of the head's attention than those of
    any other pair.
    """
    rows = results.rows("looks", arm=QUERY_TWO, metric="routing", variable="routing_behind", layer=layer)
    return rows.groupby("init_seed")["value"].max()


def in_last_layer(results: Results, *, guesses: Literal["counted", "left out"] = "counted") -> pd.Series:
    """Share of a seed's networks of three layers whose best routing head is in the last; a tie counts for the lower.

    Args:
        results: of both read-outs.
        guesses: whether networks count in which the best head routes no more often than by accident.
    """

    def of_arm(arm: str) -> pd.Series:
        found = routing_layers(results, arm).set_index("init_seed")
        return found.loc[~found["guesses"] | (guesses == "counted"), "layer"] == LAST

    return per_seed.mean_of_runs(of_arm, arms=DEEP)


def shared_by_eight(results: Results) -> pd.Series:
    """Largest loss by one layer-1 head of two less that of eight, after as many epochs."""
    end = int(with_epochs(results.at_final("accuracy", EIGHT, split="test"), results)["epoch"].max())
    rows = per_seed.at_epoch(results, end, "joint_ablation_drop", "off", edit="mean@all")
    two, eight = (
        _largest(of_heads) for of_heads in (rows, results.at_final("joint_ablation_drop", EIGHT, edit="mean@all"))
    )
    return (two - eight).dropna()


def _largest(rows: pd.DataFrame) -> pd.Series:
    """The largest loss by a single layer-1 head in each seed."""
    return per_seed.of_single_heads(rows[rows["layer"] == 1]).groupby("init_seed")["value"].max()
