"""Checks of what the curriculum changes; seeds are paired, since both curricula start from the same weights."""

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
from livingpaper.claims.claim import Check, Results, mean_check
from livingpaper.claims.results import with_epochs
from retrieval_circuits.six_run_matrix.design import MATRIX, source_epochs
from retrieval_circuits.six_run_matrix.readings import per_seed as of
from retrieval_circuits.six_run_matrix.readings.births import (
    BEHAVIOUR,
    OPERATORS,
    PATCHES,
    RUN,
    in_matrix,
    new_best,
    on_source_grid,
    published_births,
    published_curves,
    source_leaders,
)


def margin_of_noise(results: Results) -> float:
    """Least lead of one head over another that is no noise, given how many base prompts the sweeps are made from."""
    swept = results.at_final("routing", "off", family=of.SWEEP)
    return noise_margin(int(swept["n"].max()) // 3)  # each base is asked for its three keys


def slot_patch_born(results: Results, *, gate: bool = True) -> pd.DataFrame:
    """Whether the slot's patch is born, one column per curriculum (1.0 or 0.0)."""
    born = published_births(results, gate=gate)
    rows = born[born["piece"] == PATCHES["matching_slot"]].assign(value=lambda found: found["by"].notna().astype(float))
    return rows.pivot(index="init_seed", columns="arm", values="value")


def slot_births(results: Results) -> Check | None:
    """SR10.published."""
    free = slot_patch_born(results, gate=False).mean()
    return mean_check(
        of.paired(slot_patch_born(results)),
        control_passed=bool((free > 0).all()),
        control_value="born without the gate: " + ", ".join(f"{arm} {free[arm]:.2f}" for arm in MATRIX),
        within=of.DIFFERENCE,
    )


def slot_follows(results: Results) -> Check | None:
    """SR10."""
    table = of.per_curriculum(lambda arm: results.final_values("attention_slot_follows", arm))
    untrained = of.initial(results, "attention_slot_follows")
    return mean_check(of.paired(table), **of.at_most(untrained, 0.45, "untrained"), within=of.DIFFERENCE)


@functools.lru_cache(maxsize=4)
def operator_handoffs(results: Results) -> pd.DataFrame:
    """Handoffs of each run and operator: ``file_order`` (the source's walk), ``raw`` and ``beyond_noise`` in time."""
    margin, found = margin_of_noise(results), []
    grid = on_source_grid(published_curves(results))
    saved = grid[grid["metric"] == BEHAVIOUR]
    planned = source_epochs(int(saved["epoch"].max()))
    best = _best_epochs(saved)
    for metric, piece in OPERATORS.items():
        rows = with_epochs(in_matrix(results, metric, family="all"), results)
        counted = handoffs(rows, margin).assign(piece=piece)
        chosen = of_leader(rows, source_leaders(rows, in_matrix(results, f"{metric}_worst_base")))
        walked = source_order_handoffs(chosen.assign(step=chosen["epoch"]), best=best, scheduled=planned)
        found.append(counted.merge(walked, on=RUN))
    return pd.concat(found, ignore_index=True)


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


def more_handoffs(column: str, results: Results) -> Check | None:
    """SR11.published, SR11."""
    table = handoff_sums(results, column)
    means = table.mean()
    return mean_check(
        of.paired(table),
        control_passed=bool((means > 0).all()),
        control_value=", ".join(f"{arm}: {means[arm]:.1f} in the mean" for arm in MATRIX),
    )


def four_pairs(results: Results) -> pd.DataFrame:
    """Accuracy on four pairs at the end, one column per curriculum."""
    return of.per_curriculum(lambda arm: of.accuracy(results, arm, of.OOD))


def longer_prompts(results: Results) -> Check | None:
    """SR12."""
    table = four_pairs(results)
    return mean_check(
        of.paired(table), **of.at_least(float(table.mean().min()), 0.9, "worse mean"), within=of.DIFFERENCE
    )


def behaviour_delay(results: Results) -> Check | None:
    """SR13."""
    return _delay(of.per_curriculum(lambda arm: of.behaviour_steps(results, arm)), "on")


def mixed_delay(results: Results) -> Check | None:
    """SR14."""
    if not of.has(results, "mixed"):
        return None
    table = pd.DataFrame({arm: of.behaviour_steps(results, arm) for arm in ("off", "mixed")})
    return _delay(table.loc[of.behaviour_steps(results, "mixed").index], "mixed")


def _delay(steps: pd.DataFrame, arm: str) -> Check | None:
    missing = int(steps.isna().to_numpy().sum())
    values = (steps[arm] - steps["off"]).dropna()
    return mean_check(values, control_passed=missing == 0, control_value=f"runs without a birth: {missing}")


def largest_in_first(results: Results) -> pd.DataFrame:
    """Whether the head whose loss costs most is in layer 0, one column per curriculum."""
    return of.per_curriculum(lambda arm: (of.top_loss(results, arm).set_index("init_seed")["layer"] == 0).astype(float))


COMPARED = {
    "accuracy on four pairs": four_pairs,
    "slot patch born (published gate)": slot_patch_born,
    "handoffs, file order": partial(handoff_sums, column="file_order"),
    "handoffs beyond noise": partial(handoff_sums, column="beyond_noise"),
    "largest single loss in layer 0": largest_in_first,
    "steps to validation accuracy 0.9": lambda results: of.per_curriculum(lambda arm: of.behaviour_steps(results, arm)),
}
"""What the source compares between its curricula."""


def tests(results: Results) -> pd.DataFrame:
    """Each comparison of the two curricula: means, difference with its interval, exact permutation p, Holm's p.

    Ours is paired: the curricula are exchanged within each seed, whose two runs start from the same weights. The last
    columns take the source's three seeds as it could have taken them at best, as two independent groups: the p value
    that ours of the same seeds give, and the least that any three against three can give.
    """
    rows = [{"quantity": quantity, **_compared(made(results).dropna())} for quantity, made in COMPARED.items()]
    return holm(pd.DataFrame(rows))


def _compared(table: pd.DataFrame) -> dict[str, object]:
    first = table[table.index < 3]
    found: dict[str, object] = {"on": table["on"].mean(), "off": table["off"].mean(), "n": len(table)}
    try:
        difference = mean_interval(of.paired(table))
        p_value = paired_permutation_test(table["on"], table["off"]).p_value
        found |= {"difference": difference.mean, "low": difference.low, "high": difference.high, "p_value": p_value}
        found["p_of_three"] = permutation_test(first["on"], first["off"]).p_value
    except SeedsError:
        found |= dict.fromkeys(("difference", "low", "high", "p_value", "p_of_three"), float("nan"))
    return {**found, "least_of_three": what_n_can_show(3)}


CHECKS = {
    "SR10.published": slot_births,
    "SR10": slot_follows,
    "SR11.published": partial(more_handoffs, "file_order"),
    "SR11": partial(more_handoffs, "beyond_noise"),
    "SR12": longer_prompts,
    "SR13": behaviour_delay,
    "SR14": mixed_delay,
}
