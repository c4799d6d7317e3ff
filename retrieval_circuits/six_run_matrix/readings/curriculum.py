"""What the two curricula are compared in; seeds are paired, since both start from the same weights."""

import functools
from functools import partial

import pandas as pd

from circuitcore.emergence.handoffs import handoffs, noise_margin, source_order_handoffs
from circuitcore.emergence.leaders import leading_head, of_leader
from circuitcore.emergence.seeds import (
    SeedsError,
    holm,
    mean_interval,
    paired_permutation_test,
    permutation_test,
    what_n_can_show,
)
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.bounds import OPERATOR
from retrieval_circuits.six_run_matrix.design import source_epochs
from retrieval_circuits.six_run_matrix.readings import per_seed
from retrieval_circuits.six_run_matrix.readings.births import (
    BEHAVIOUR,
    OPERATORS,
    PATCHES,
    RUN,
    in_matrix,
    new_best,
    published_births,
    published_on_grid,
    source_leaders,
)


def margin_of_noise(results: Results) -> float:
    """Least lead of one head over another that is no noise, given how many base prompts the sweeps are made from."""
    swept = results.at_final("routing", "off", family=per_seed.SWEEP)
    return noise_margin(int(swept["n"].max()) // 3)  # each base is asked for its three keys


def slot_patch_born(results: Results, *, gate: bool = True) -> pd.DataFrame:
    """Whether the slot's patch is born, one column per curriculum (1.0 or 0.0)."""
    born = published_births(results, gate=gate)
    rows = born[born["motif"] == PATCHES["matching_slot"]].assign(value=lambda found: found["by"].notna().astype(float))
    return rows.pivot(index="init_seed", columns="arm", values="value")


@functools.lru_cache(maxsize=4)
def operator_handoffs(results: Results) -> pd.DataFrame:
    """Handoffs of each run and operator: ``file_order`` (the source's walk), ``raw`` and ``beyond_noise`` in time."""
    margin, found = margin_of_noise(results), []
    grid = published_on_grid(results)
    saved = grid[grid["metric"] == BEHAVIOUR]
    planned = source_epochs(int(saved["epoch"].max()))
    best = _best_epochs(saved)
    for metric, motif in OPERATORS.items():
        rows = with_epochs(in_matrix(results, metric, family="all"), results)
        counted = handoffs(rows, margin).assign(motif=motif)
        chosen = of_leader(rows, source_leaders(rows, in_matrix(results, f"{metric}_worst_base")))
        walked = source_order_handoffs(chosen.assign(step=chosen["epoch"]), best=best, scheduled=planned)
        found.append(counted.merge(walked, on=RUN))
    return pd.concat(found, ignore_index=True)


def more_slot_births(results: Results) -> pd.Series:
    """Whether the slot's patch is born with the curriculum, less whether it is without: 1, 0 or -1."""
    return per_seed.paired(slot_patch_born(results))


def slot_born_without_gate(results: Results, arm: str) -> pd.Series:
    """1 where the slot's patch is born in one curriculum without the gate, else 0."""
    return slot_patch_born(results, gate=False)[arm].dropna()


def more_handoffs(results: Results, column: str) -> pd.Series:
    """Handoffs of both operators with the curriculum less without it."""
    return per_seed.paired(handoff_sums(results, column))


def handoffs_of(results: Results, column: str, arm: str) -> pd.Series:
    """Handoffs of both operators in one curriculum."""
    return handoff_sums(results, column)[arm].dropna()


def leads_clearly(results: Results) -> pd.Series:
    """Share of a seed's runs in which one head leads in routing by more than noise."""
    return per_seed.mean_of_runs(lambda arm: 1 - final_leaders(results, "routing", arm)["tied"])


def routes(results: Results) -> pd.Series:
    """Share of a seed's runs in which some layer-1 head routes as often as the source asks of an operator."""
    return per_seed.mean_of_runs(
        lambda arm: per_seed.best_head(results, "routing", arm, layer=1, family="all") >= OPERATOR.value
    )


def final_leaders(results: Results, metric: str, arm: str) -> pd.DataFrame:
    """The head that leads an operator at the end of each seed: ``site``, ``value``, ``lead``, and ``tied``."""
    heads = leading_head(results.at_final(metric, arm, family="all")).set_index("init_seed")
    return heads.assign(tied=heads["lead"] <= margin_of_noise(results))


def _best_epochs(saved: pd.DataFrame) -> dict[tuple[str, int], tuple[int, ...]]:
    """Run -> epochs at which validation accuracy is better than ever before."""
    rows = saved.sort_values([*RUN, "epoch"])
    new = rows[new_best(rows) & (rows["epoch"] > 0)]
    return {run: tuple(part["epoch"]) for run, part in new.groupby(RUN, observed=True)}


def handoff_sums(results: Results, column: str) -> pd.DataFrame:
    """Handoffs of both operators together, one column per curriculum."""
    counts = operator_handoffs(results).groupby(RUN, observed=True)[column].sum().astype(float)
    return counts.unstack("arm")


def four_pairs(results: Results) -> pd.DataFrame:
    """Accuracy on four pairs at the end, one column per curriculum."""
    return per_seed.per_curriculum(lambda arm: per_seed.accuracy(results, arm, per_seed.OOD))


def largest_in_first(results: Results) -> pd.DataFrame:
    """Whether the head whose loss costs most is in layer 0, one column per curriculum."""
    return per_seed.per_curriculum(
        lambda arm: (per_seed.top_loss(results, arm).set_index("init_seed")["layer"] == 0).astype(float)
    )


COMPARED = {
    "accuracy on four pairs": four_pairs,
    "slot patch born (published gate)": slot_patch_born,
    "handoffs, file order": partial(handoff_sums, column="file_order"),
    "handoffs beyond noise": partial(handoff_sums, column="beyond_noise"),
    "largest single loss in layer 0": largest_in_first,
    "steps to validation accuracy 0.9": lambda results: per_seed.per_curriculum(
        lambda arm: per_seed.behaviour_steps(results, arm)
    ),
}
"""What the source compares between its curricula."""


def tests(results: Results) -> pd.DataFrame:
    """Each comparison of the two curricula: means, difference with its interval, exact permutation p, Holm's p.

    Ours is paired: the two runs of a seed start from the same weights and see the same data, and the curricula are
    exchanged within each data set, as the means of its seeds; within each seed where there is one data set. The last
    columns take the source's three seeds as it could have taken them at best, as two independent groups: the p value
    that ours of the same seeds give, and the least that any three against three can give.
    """
    rows = [{"quantity": quantity, **_compared(made(results).dropna())} for quantity, made in COMPARED.items()]
    return holm(pd.DataFrame(rows))


def _compared(table: pd.DataFrame) -> dict[str, object]:
    first = table[table.index < 3]
    table = per_seed.independent(table)
    found: dict[str, object] = {"on": table["on"].mean(), "off": table["off"].mean(), "n": len(table)}
    try:
        difference = mean_interval(per_seed.paired(table))
        p_value = paired_permutation_test(table["on"], table["off"]).p_value
        found |= {"difference": difference.mean, "low": difference.low, "high": difference.high, "p_value": p_value}
        found["p_of_three"] = permutation_test(first["on"], first["off"]).p_value
    except SeedsError:
        found |= dict.fromkeys(("difference", "low", "high", "p_value", "p_of_three"), float("nan"))
    return {**found, "least_of_three": what_n_can_show(3)}
