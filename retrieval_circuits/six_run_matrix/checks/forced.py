"""Checks of what the prompt format, the depth and the number of heads force."""

import pandas as pd

from livingpaper.claims.claim import Check, mean_check
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.six_run_matrix.checks.controls import DIFFERENCE, SHARE, at_least, at_most
from retrieval_circuits.six_run_matrix.design import SHARES
from retrieval_circuits.six_run_matrix.readings import per_seed
from retrieval_circuits.six_run_matrix.readings.forced import DEEP, EIGHT, LAST, QUERY_ONE, QUERY_TWO, routing_layers


def one_layer(results: Results) -> Check | None:
    """SR18."""
    if not per_seed.has(results, QUERY_ONE, QUERY_TWO):
        return None
    deep = float(per_seed.accuracy(results, QUERY_TWO).mean())
    return mean_check(per_seed.accuracy(results, QUERY_ONE), **at_least(deep, 0.9, "two layers, mean"), within=SHARE)


def first_layer_values(results: Results) -> Check | None:
    """SR19."""
    if not per_seed.has(results, QUERY_TWO):
        return None
    lower, upper = (
        per_seed.best_head(results, "routing_value", QUERY_TWO, layer=layer, family=per_seed.SWEEP) for layer in (0, 1)
    )
    return mean_check(lower, **at_least(float(upper.mean()), 0.85, "best layer-1 head, mean"), within=SHARE)


def no_support_needed(results: Results) -> Check | None:
    """SR20."""
    if not per_seed.has(results, QUERY_TWO):
        return None
    lost, arrow = (per_seed.heads_lost(results, arm, "mean@read_out", "L0H*") for arm in (QUERY_TWO, "off"))
    return mean_check(lost, **at_least(float(arrow.mean()), 0.5, "read out at the arrow, mean"), within=DIFFERENCE)


def last_of_three(results: Results) -> Check | None:
    """SR21."""
    if not per_seed.has(results, *DEEP):
        return None
    leaders = pd.concat([routing_layers(results, arm) for arm in DEEP])
    runs = leaders.assign(last=(leaders["layer"] == LAST).astype(float))
    accuracy = pd.concat([per_seed.accuracy(results, arm) for arm in DEEP])
    return mean_check(
        per_seed.mean_of_runs(runs, "last"),
        **at_least(float(accuracy.mean()), 0.9, "test accuracy, mean"),
        within=SHARE,
        note=_ties(runs),
    )


def _ties(runs: pd.DataFrame) -> str:
    """How many runs a tie decides, and what the mean were if ties went to the last layer; "" without a tie."""
    tied = runs[runs["tied"]]
    if tied.empty:
        return ""
    otherwise = per_seed.mean_of_runs(runs.assign(last=runs["last"].where(~runs["tied"], 1.0)), "last").mean()
    return (
        f"in {len(tied)} of {len(runs)} runs a head of the last layer ties with the best one, at "
        f"{tied['value'].max():.3f} at most (a guess: {1 / 3:.3f}), and the lower layer gets the run; if the last got "
        f"it, the mean were {otherwise:.2f}"
    )


def shared_heads(results: Results) -> Check | None:
    """SR22."""
    if not per_seed.has(results, EIGHT):
        return None
    eight = _largest(per_seed.singles_lost(results, EIGHT))
    end = int(with_epochs(results.at_final("accuracy", EIGHT, split="test"), results)["epoch"].max())
    rows = per_seed.at_epoch(results, end, "joint_ablation_drop", "off", edit="mean@all")
    two = _largest(rows[~rows["site"].astype(str).str.contains("*", regex=False)])
    learnt = float(per_seed.accuracy(results, EIGHT).mean())
    return mean_check((two - eight).dropna(), **at_least(learnt, 0.9, "test accuracy, mean"), within=DIFFERENCE)


def _largest(rows: pd.DataFrame) -> pd.Series:
    return rows[rows["layer"] == 1].groupby("init_seed")["value"].max()


def pilot(results: Results) -> Check | None:
    """SR23."""
    end = int(with_epochs(results.curve("accuracy", "on", split="val"), results)["epoch"].max())
    rows = per_seed.at_epoch(results, end // SHARES, "accuracy", "on", split="val")
    untrained = per_seed.initial(results, "accuracy", split="val")
    return mean_check(rows.set_index("init_seed")["value"], **at_most(untrained, 0.4, "untrained"), within=SHARE)


CHECKS = {
    "SR18": one_layer,
    "SR19": first_layer_values,
    "SR20": no_support_needed,
    "SR21": last_of_three,
    "SR22": shared_heads,
    "SR23": pilot,
}
