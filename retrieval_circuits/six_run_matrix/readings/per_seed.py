"""Numbers per seed that several checks and figures read: one series each, indexed by ``init_seed``."""

from collections.abc import Callable

import pandas as pd

from circuitcore.emergence.births import BirthRule, births
from circuitcore.emergence.leaders import leading_head
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.readings.births import BEHAVIOUR, in_matrix

OOD = "test_ood_4_pairs"
SWEEP = "query_key_sweep"


def has(results: Results, *arms: str) -> bool:
    """Whether all of these arms were measured."""
    return set(arms) <= set(results.arms)


def per_curriculum(of_arm: Callable[[str], pd.Series]) -> pd.DataFrame:
    """One column for each curriculum of the matrix, one row per seed."""
    return pd.DataFrame({arm: of_arm(arm) for arm in MATRIX})


def paired(table: pd.DataFrame) -> pd.Series:
    """With the curriculum less without, for the seeds that have both."""
    return (table["on"] - table["off"]).dropna()


def mean_of_runs(births_or_runs: pd.DataFrame, column: str) -> pd.Series:
    """Mean over the runs of each seed."""
    return births_or_runs.dropna(subset=[column]).groupby("init_seed")[column].mean().astype(float)


def accuracy(results: Results, arm: str, split: str = "test") -> pd.Series:
    """Accuracy on a split at the end."""
    return results.final_values("accuracy", arm, split=split)


def best_head(results: Results, metric: str, arm: str, **where) -> pd.Series:
    """The highest value of any head at the end."""
    return results.at_final(metric, arm, **where).groupby("init_seed")["value"].max()


def initial(results: Results, metric: str, **where) -> pd.Series:
    """Values of the untrained networks of the matrix, all rows that match."""
    rows = in_matrix(results, metric, **where)
    return rows[rows["step"] == 0]["value"]


def at_epoch(results: Results, epoch: int, metric: str, arm: str, **where) -> pd.DataFrame:
    """Rows of one metric after an epoch, at the last checkpoint not later."""
    rows = with_epochs(results.curve(metric, arm, **where), results)
    rows = rows[rows["epoch"] <= epoch]
    return rows[rows["epoch"] == rows.groupby("init_seed")["epoch"].transform("max")]


def heads_lost(results: Results, arm: str, edit: str, site: str) -> pd.Series:
    """Accuracy lost at the end with the heads called ``site`` removed."""
    return results.final_values("joint_ablation_drop", arm, edit=edit, site=site)


def singles_lost(results: Results, arm: str, edit: str = "mean@all") -> pd.DataFrame:
    """Accuracy lost at the end with each single head removed: rows with ``init_seed``, ``layer``, ``head``."""
    rows = results.at_final("joint_ablation_drop", arm, edit=edit)
    return rows[~rows["site"].astype(str).str.contains("*", regex=False)]


def top_loss(results: Results, arm: str) -> pd.DataFrame:
    """The head whose write, set to zero at the arrow, costs most, with its lead over the best of the other layer."""
    rows = results.at_final("ablation_drop_published", arm)
    top = leading_head(rows).merge(rows[["init_seed", "site", "layer"]].astype({"site": str}), on=["init_seed", "site"])
    best = rows.groupby(["init_seed", "layer"])["value"].max().unstack("layer")
    return top.assign(lead_over_layer=top["init_seed"].map(best[0] - best[1]))


def behaviour_steps(results: Results, arm: str) -> pd.Series:
    """Optimizer steps to validation accuracy 0.90; missing where it is never reached."""
    rows = results.curve("accuracy", arm, split="val").assign(metric=BEHAVIOUR, family="")
    found = births(rows.astype({"family": str}), {BEHAVIOUR: BirthRule(0.90)})
    return found.set_index("init_seed")["by"].astype("Float64").astype(float)
