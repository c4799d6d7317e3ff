"""Checks of when motifs are born: how far apart, in which order, and what the gate has to do with it."""

from functools import partial

import pandas as pd

from circuitcore.emergence import spread
from circuitcore.emergence.order import orders
from circuitcore.tasks import make_task
from circuitcore.tasks.textual_kv import LONGER, TRAIN
from livingpaper.claims.claim import Check, mean_check, share_check
from livingpaper.claims.results import Results
from retrieval_circuits.six_run_matrix.checks.controls import MOST, SHARE, at_least
from retrieval_circuits.six_run_matrix.readings import per_seed
from retrieval_circuits.six_run_matrix.readings.births import (
    BEHAVIOUR,
    COPYING,
    OPERATORS,
    PROBES,
    ROUTING,
    RUN,
    SHOWN,
    corrected_births,
    published_births,
)
from retrieval_circuits.six_run_matrix.readings.timing import gate_shift, order_names, spreads


def births_apart(born_under, results: Results) -> Check | None:
    """SR5.published, SR5."""
    born = born_under(results)
    most = float((spreads(born)["born"] >= 3).mean())
    apart = spread.spread_per_seed(born, SHOWN, RUN)
    return mean_check(apart, **at_least(most, MOST, "share of runs with three births"))


def gate_decides(results: Results) -> Check | None:
    """SR6."""
    found = gate_shift(results)
    free = published_births(results, gate=False)
    born = float(free[free["motif"].isin(OPERATORS.values())]["by"].notna().mean())
    shift = found.assign(value=found["postponed"] - found["range"])
    return mean_check(per_seed.mean_of_runs(shift, "value"), **at_least(born, MOST, "share born without the gate"))


def copying_first(born_under, results: Results) -> Check | None:
    """SR7.published, SR7."""
    born = born_under(results)
    found = orders(born, by=RUN, pairs=[(COPYING, ROUTING)])
    decided = found[found["order"] != "undecided"].assign(first=lambda rows: (rows["order"] == "before").astype(float))
    note = f"{len(found) - len(decided)} of {len(found)} runs do not decide."
    return mean_check(
        per_seed.mean_of_runs(decided, "first"), **_unborn(born, (COPYING, ROUTING)), note=note, within=SHARE
    )


def no_fixed_order(born_under, results: Results) -> Check | None:
    """SR8.published, SR8."""
    born = born_under(results)
    names = order_names(born)
    counts = names.value_counts()
    note = f"{len(counts)} orders in {len(names)} runs; commonest: {counts.index[0]}."
    return share_check(int(counts.iloc[0]), len(names), **_unborn(born, (BEHAVIOUR, COPYING, ROUTING)), note=note)


def _unborn(born: pd.DataFrame, motifs: tuple[str, ...]) -> dict[str, object]:
    early = int((born[born["motif"].isin(motifs)]["by"] == 0).sum())
    return {"control_passed": early == 0, "control_value": f"births at initialisation: {early}"}


def slot_probe_published(results: Results) -> Check | None:
    """SR9.published. Its control fails: no probe can answer prompts whose slot it was never shown."""
    born = published_births(results)
    born = born[born["motif"] == PROBES["matching_slot"]].assign(value=lambda rows: rows["by"].notna().astype(float))
    task = make_task("textual_kv", {})
    unseen = set(task.split(LONGER).variables["matching_slot"].tolist()) - set(
        task.split(TRAIN).variables["matching_slot"].tolist()
    )
    value = f"slots that the gate asks for and the probe was never fitted on: {len(unseen)}"
    return mean_check(
        per_seed.mean_of_runs(born, "value"), control_passed=not unseen, control_value=value, within=SHARE
    )


def slot_probe(results: Results) -> Check | None:
    """SR9."""
    slot, key = (
        per_seed.per_curriculum(lambda arm, name=name: results.final_values("probe_chosen", arm, variable=name))
        for name in ("matching_slot", "query_key")
    )
    return mean_check(slot.max(axis=1), **at_least(float(key.stack().mean()), 0.85, "query key, mean"), within=SHARE)


CHECKS = {
    "SR5.published": partial(births_apart, published_births),
    "SR5": partial(births_apart, corrected_births),
    "SR6": gate_decides,
    "SR7.published": partial(copying_first, published_births),
    "SR7": partial(copying_first, corrected_births),
    "SR8.published": partial(no_fixed_order, published_births),
    "SR8": partial(no_fixed_order, corrected_births),
    "SR9.published": slot_probe_published,
    "SR9": slot_probe,
}
