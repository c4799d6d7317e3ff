"""Checks of what the prompt format, the depth and the number of heads force."""

import pandas as pd

from circuitcore.emergence.leaders import leading_head
from livingpaper.claims.claim import Check, Results, mean_check
from livingpaper.claims.results import with_epochs
from retrieval_circuits.six_run_matrix.design import SHARES, cell_name
from retrieval_circuits.six_run_matrix.readings import per_seed as of

QUERY_ONE, QUERY_TWO = cell_name("query", 1, 2), cell_name("query", 2, 2)
DEEP = (cell_name("arrow", 3, 2), cell_name("query", 3, 2))
EIGHT = cell_name("arrow", 2, 8)
LAST = 2  # of three layers


def one_layer(results: Results) -> Check | None:
    """SR18."""
    if not of.has(results, QUERY_ONE, QUERY_TWO):
        return None
    deep = float(of.accuracy(results, QUERY_TWO).mean())
    return mean_check(of.accuracy(results, QUERY_ONE), **of.at_least(deep, 0.9, "two layers, mean"), within=of.SHARE)


def first_layer_values(results: Results) -> Check | None:
    """SR19."""
    if not of.has(results, QUERY_TWO):
        return None
    lower, upper = (of.best_head(results, "routing_value", QUERY_TWO, layer=layer, family=of.SWEEP) for layer in (0, 1))
    return mean_check(lower, **of.at_least(float(upper.mean()), 0.85, "best layer-1 head, mean"), within=of.SHARE)


def no_support_needed(results: Results) -> Check | None:
    """SR20."""
    if not of.has(results, QUERY_TWO):
        return None
    lost, arrow = (of.heads_lost(results, arm, "mean@read_out", "L0H*") for arm in (QUERY_TWO, "off"))
    return mean_check(
        lost, **of.at_least(float(arrow.mean()), 0.5, "read out at the arrow, mean"), within=of.DIFFERENCE
    )


def last_of_three(results: Results) -> Check | None:
    """SR21."""
    if not of.has(results, *DEEP):
        return None
    leaders = pd.concat([routing_layers(results, arm) for arm in DEEP])
    runs = leaders.assign(last=(leaders["layer"] == LAST).astype(float))
    accuracy = pd.concat([of.accuracy(results, arm) for arm in DEEP])
    return mean_check(
        of.mean_of_runs(runs, "last"),
        **of.at_least(float(accuracy.mean()), 0.9, "test accuracy, mean"),
        within=of.SHARE,
        note=_ties(runs),
    )


def _ties(runs: pd.DataFrame) -> str:
    """How many runs a tie decides, and what the mean were if ties went to the last layer; "" without a tie."""
    tied = runs[runs["tied"]]
    if tied.empty:
        return ""
    otherwise = of.mean_of_runs(runs.assign(last=runs["last"].where(~runs["tied"], 1.0)), "last").mean()
    return (
        f"in {len(tied)} of {len(runs)} runs a head of the last layer ties with the best one, at "
        f"{tied['value'].max():.3f} at most (a guess: {1 / 3:.3f}), and the lower layer gets the run; if the last got "
        f"it, the mean were {otherwise:.2f}"
    )


def routing_layers(results: Results, arm: str) -> pd.DataFrame:
    """The head of any layer that attends to the right value most often, with its ``layer``.

    ``tied``: a head of the last layer does so exactly as often, though the tie counts for a lower one.
    """
    rows = results.at_final("routing_value", arm, family=of.SWEEP)
    last = rows[rows["layer"] == LAST].groupby("init_seed")["value"].max()
    found = leading_head(rows).assign(layer=lambda heads: heads["site"].astype(str).str[1].astype(int))
    return found.assign(tied=(found["layer"] != LAST) & (found["init_seed"].map(last) == found["value"]))


def shared_heads(results: Results) -> Check | None:
    """SR22."""
    if not of.has(results, EIGHT):
        return None
    eight = _largest(of.singles_lost(results, EIGHT))
    end = int(with_epochs(results.at_final("accuracy", EIGHT, split="test"), results)["epoch"].max())
    rows = of.at_epoch(results, end, "joint_ablation_drop", "off", edit="mean@all")
    two = _largest(rows[~rows["site"].astype(str).str.contains("*", regex=False)])
    learnt = float(of.accuracy(results, EIGHT).mean())
    return mean_check((two - eight).dropna(), **of.at_least(learnt, 0.9, "test accuracy, mean"), within=of.DIFFERENCE)


def _largest(rows: pd.DataFrame) -> pd.Series:
    return rows[rows["layer"] == 1].groupby("init_seed")["value"].max()


def pilot(results: Results) -> Check | None:
    """SR23."""
    end = int(with_epochs(results.curve("accuracy", "on", split="val"), results)["epoch"].max())
    rows = of.at_epoch(results, end // SHARES, "accuracy", "on", split="val")
    untrained = of.initial(results, "accuracy", split="val")
    return mean_check(rows.set_index("init_seed")["value"], **of.at_most(untrained, 0.4, "untrained"), within=of.SHARE)


CHECKS = {
    "SR18": one_layer,
    "SR19": first_layer_values,
    "SR20": no_support_needed,
    "SR21": last_of_three,
    "SR22": shared_heads,
    "SR23": pilot,
}
