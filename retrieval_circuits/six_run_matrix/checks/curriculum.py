"""Checks of what the curriculum changes; seeds are paired, since both curricula start from the same weights."""

from functools import partial

import pandas as pd

from livingpaper.claims.claim import Check, mean_check
from livingpaper.claims.results import Results
from retrieval_circuits.six_run_matrix.checks.controls import DIFFERENCE, at_least, at_most
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.readings import per_seed
from retrieval_circuits.six_run_matrix.readings.curriculum import four_pairs, handoff_sums, slot_patch_born


def slot_births(results: Results) -> Check | None:
    """SR10.published."""
    free = slot_patch_born(results, gate=False).mean()
    return mean_check(
        per_seed.paired(slot_patch_born(results)),
        control_passed=bool((free > 0).all()),
        control_value="born without the gate: " + ", ".join(f"{arm} {free[arm]:.2f}" for arm in MATRIX),
        within=DIFFERENCE,
    )


def slot_follows(results: Results) -> Check | None:
    """SR10."""
    table = per_seed.per_curriculum(lambda arm: results.final_values("attention_slot_follows", arm))
    untrained = per_seed.initial(results, "attention_slot_follows")
    return mean_check(per_seed.paired(table), **at_most(untrained, 0.45, "untrained"), within=DIFFERENCE)


def more_handoffs(column: str, results: Results) -> Check | None:
    """SR11.published, SR11."""
    table = handoff_sums(results, column)
    means = table.mean()
    return mean_check(
        per_seed.paired(table),
        control_passed=bool((means > 0).all()),
        control_value=", ".join(f"{arm}: {means[arm]:.1f} in the mean" for arm in MATRIX),
    )


def longer_prompts(results: Results) -> Check | None:
    """SR12."""
    table = four_pairs(results)
    return mean_check(
        per_seed.paired(table), **at_least(float(table.mean().min()), 0.9, "worse mean"), within=DIFFERENCE
    )


def behaviour_delay(results: Results) -> Check | None:
    """SR13."""
    return _delay(per_seed.per_curriculum(lambda arm: per_seed.behaviour_steps(results, arm)), "on")


def mixed_delay(results: Results) -> Check | None:
    """SR14."""
    if not per_seed.has(results, "mixed"):
        return None
    table = pd.DataFrame({arm: per_seed.behaviour_steps(results, arm) for arm in ("off", "mixed")})
    return _delay(table.loc[per_seed.behaviour_steps(results, "mixed").index], "mixed")


def _delay(steps: pd.DataFrame, arm: str) -> Check | None:
    missing = int(steps.isna().to_numpy().sum())
    values = (steps[arm] - steps["off"]).dropna()
    return mean_check(values, control_passed=missing == 0, control_value=f"runs without a birth: {missing}")


CHECKS = {
    "SR10.published": slot_births,
    "SR10": slot_follows,
    "SR11.published": partial(more_handoffs, "file_order"),
    "SR11": partial(more_handoffs, "beyond_noise"),
    "SR12": longer_prompts,
    "SR13": behaviour_delay,
    "SR14": mixed_delay,
}
