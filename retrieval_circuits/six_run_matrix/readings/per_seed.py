"""Numbers per seed that several claims and figures read: one series each, indexed by ``init_seed``."""

from collections.abc import Callable, Iterable

import pandas as pd

from circuitcore.emergence.births import BirthRule, births, dates
from circuitcore.emergence.leaders import leading_head
from livingpaper.claims.reading import Extreme, Less, at_end, at_start, best_of, worst_of
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.six_run_matrix.design import MATRIX, SHARES, data_set_of
from retrieval_circuits.six_run_matrix.readings.births import BEHAVIOUR

OOD = "test_ood_4_pairs"
SWEEP = "query_key_sweep"


def has(results: Results, *arms: str) -> bool:
    """Whether all of these arms were measured."""
    return set(arms) <= set(results.arms)


def per_curriculum(of_arm: Callable[[str], pd.Series]) -> pd.DataFrame:
    """One column for each curriculum of the matrix, one row per seed."""
    return pd.DataFrame({arm: of_arm(arm) for arm in MATRIX})


def independent(table: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    """Of what is indexed by seed, the mean of each data set, or of each seed where there is one data set."""
    of_sets = table.groupby(data_set_of).mean()
    return of_sets if len(of_sets) > 1 else table


def paired(table: pd.DataFrame) -> pd.Series:
    """With the curriculum less without, for the seeds that have both."""
    return (table["on"] - table["off"]).dropna()


def worse_run(metric: str, take: str = "one", **where) -> Extreme:
    """The metric at the end, in the worse of a seed's two runs; arguments as in ``reading.at_end``."""
    return worst_of(*(at_end(metric, arm, take, **where) for arm in MATRIX))


def better_run(metric: str, take: str = "one", **where) -> Extreme:
    """The same in the better of the two."""
    return best_of(*(at_end(metric, arm, take, **where) for arm in MATRIX))


def untrained(metric: str, take: str = "one", **where) -> Extreme:
    """The same before training; the two runs of a seed start from the same weights."""
    return best_of(*(at_start(metric, arm, take, **where) for arm in MATRIX))


def curriculum_less_none(metric: str, **where) -> Less:
    """The metric at the end with the curriculum, less without it."""
    return Less(at_end(metric, "on", **where), at_end(metric, "off", **where))


def mean_of_runs(of_arm: Callable[[str], pd.Series], arms: Iterable[str] = tuple(MATRIX)) -> pd.Series:
    """Mean over the runs of each seed; of what is 1 or 0 in each run, the seed's share of runs."""
    return pd.DataFrame({arm: of_arm(arm).astype(float) for arm in arms}).mean(axis=1).dropna()


def accuracy(results: Results, arm: str, split: str = "test") -> pd.Series:
    """Accuracy on a split at the end."""
    return results.final_values("accuracy", arm, split=split)


def best_head(results: Results, metric: str, arm: str, **where) -> pd.Series:
    """The highest value of any head at the end."""
    return results.at_final(metric, arm, **where).groupby("init_seed")["value"].max()


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
    return of_single_heads(results.at_final("joint_ablation_drop", arm, edit=edit))


def of_single_heads(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows whose site is one head, not a layer of them."""
    return rows[~rows["site"].astype(str).str.contains("*", regex=False)]


def top_loss(results: Results, arm: str) -> pd.DataFrame:
    """The head whose write, set to zero at the arrow, costs most, with its lead over the best of the other layer."""
    rows = results.at_final("ablation_drop_published", arm)
    top = leading_head(rows).merge(rows[["init_seed", "site", "layer"]].astype({"site": str}), on=["init_seed", "site"])
    best = rows.groupby(["init_seed", "layer"])["value"].max().unstack("layer")
    return top.assign(lead_over_layer=top["init_seed"].map(best[0] - best[1]))


def lead_in_layer_0(results: Results) -> pd.Series:
    """Lead over the best layer-1 head of the head whose loss costs most, over a seed's runs in which layer 0 has it.

    0 for every seed where no run of any has it there.
    """
    leads = [top_loss(results, arm).set_index("init_seed") for arm in MATRIX]
    found = pd.concat(leads)["lead_over_layer"].astype(float)
    in_first = found[pd.concat(leads)["layer"] == 0]
    return in_first.groupby("init_seed").mean() if len(in_first) else 0.0 * found.groupby("init_seed").mean()


def least_loss(results: Results) -> pd.Series:
    """Accuracy lost with the head that matters least at its mean everywhere, mean over a seed's runs."""
    return mean_of_runs(lambda arm: singles_lost(results, arm).groupby("init_seed")["value"].min())


def behaviour_steps(results: Results, arm: str) -> pd.Series:
    """Optimizer steps to validation accuracy 0.90; missing where it is never reached."""
    rows = results.curve("accuracy", arm, split="val").assign(metric=BEHAVIOUR, family="")
    found = births(rows.astype({"family": str}), {BEHAVIOUR: BirthRule(0.90)})
    return dates(found.set_index("init_seed"))


def behaviour_delay(results: Results, arm: str) -> pd.Series:
    """Optimizer steps to validation accuracy 0.90 in an arm less without the curriculum, where both get there."""
    return (behaviour_steps(results, arm) - behaviour_steps(results, "off")).dropna()


def never_answers(results: Results, arm: str) -> pd.Series:
    """How many of a seed's runs, in an arm and without the curriculum, never reach validation accuracy 0.90."""
    both = pd.concat([behaviour_steps(results, name) for name in ("off", arm)], axis=1, join="inner")
    return both.isna().sum(axis=1)


def after_first_stage(results: Results) -> pd.Series:
    """Validation accuracy at the end of the curriculum's first stage."""
    end = int(with_epochs(results.curve("accuracy", "on", split="val"), results)["epoch"].max())
    return at_epoch(results, end // SHARES, "accuracy", "on", split="val").set_index("init_seed")["value"]
