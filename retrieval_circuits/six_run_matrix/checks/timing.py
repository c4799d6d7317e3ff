"""Checks of when pieces are born: how far apart, in which order, and what the gate has to do with it."""

from functools import partial

import numpy as np
import pandas as pd

from circuitcore.emergence import spread
from circuitcore.emergence.order import orders
from circuitcore.tasks import make_task
from circuitcore.tasks.textual_kv import LONGER, TRAIN
from livingpaper.claims.claim import Check, Results, mean_check, share_check
from livingpaper.claims.results import with_epochs
from retrieval_circuits.six_run_matrix.readings import per_seed as of
from retrieval_circuits.six_run_matrix.readings.births import (
    BEHAVIOUR,
    COPYING,
    OPERATORS,
    PIECES,
    PROBES,
    ROUTING,
    RUN,
    SHOWN,
    corrected_births,
    published_births,
)

ROBUST = (0.80, 0.85, 0.90)


def wide(born: pd.DataFrame, pieces=PIECES) -> pd.DataFrame:
    """Epoch of each birth, one row per run and one column per piece; NaN where it never happens."""
    epochs = born.assign(by=born["by"].astype("Float64").astype(float)).set_index([*RUN, "piece"])["by"]
    return epochs.unstack("piece").reindex(columns=list(pieces))


def spreads(born: pd.DataFrame) -> pd.DataFrame:
    """Epochs from the first to the last of the four shown births of each run, and how many are born."""
    return spread.spreads(born, SHOWN, RUN)


def births_apart(born_under, results: Results) -> Check | None:
    """SR5.published, SR5."""
    born = born_under(results)
    most = float((spreads(born)["born"] >= 3).mean())
    per_seed = spread.spread_per_seed(born, SHOWN, RUN)
    return mean_check(per_seed, **of.at_least(most, of.MOST, "share of runs with three births"))


def gate_shift(results: Results) -> pd.DataFrame:
    """Per run: epochs by which the gate postpones the two operators, and their range over thresholds.

    A birth that never happens counts as one at the end of training, so a postponement is never overstated.
    """
    end = int(with_epochs(results.curve("accuracy", "off", split="val"), results)["epoch"].max())
    operators = list(OPERATORS.values())

    def dated(**how) -> pd.DataFrame:
        born = published_births(results, **how)
        born = born[born["piece"].isin(operators)]
        return born.set_index([*RUN, "piece"])["by"].astype("Float64").astype(float).fillna(end)

    over = pd.concat([dated(threshold=threshold) for threshold in ROBUST], axis=1)
    table = pd.DataFrame({"postponed": dated() - dated(gate=False), "range": over.max(axis=1) - over.min(axis=1)})
    return table.groupby(RUN, observed=True).mean().reset_index()


def gate_decides(results: Results) -> Check | None:
    """SR6."""
    found = gate_shift(results)
    free = published_births(results, gate=False)
    born = float(free[free["piece"].isin(OPERATORS.values())]["by"].notna().mean())
    shift = found.assign(value=found["postponed"] - found["range"])
    return mean_check(of.mean_of_runs(shift, "value"), **of.at_least(born, of.MOST, "share born without the gate"))


def copying_first(born_under, results: Results) -> Check | None:
    """SR7.published, SR7."""
    born = born_under(results)
    found = orders(born, by=RUN, pairs=[(COPYING, ROUTING)])
    decided = found[found["order"] != "undecided"].assign(first=lambda rows: (rows["order"] == "before").astype(float))
    note = f"{len(found) - len(decided)} of {len(found)} runs do not decide."
    return mean_check(
        of.mean_of_runs(decided, "first"), **_unborn(born, (COPYING, ROUTING)), note=note, within=of.SHARE
    )


def order_names(born: pd.DataFrame) -> pd.Series:
    """The order of behaviour, copying and routing in each run, in words: ``a < b = c``."""
    return wide(born, (BEHAVIOUR, COPYING, ROUTING)).fillna(np.inf).apply(_order_name, axis=1)


def _order_name(epochs: pd.Series) -> str:
    text = ""
    ranked = epochs.sort_values(kind="stable")
    for place, (piece, epoch) in enumerate(ranked.items()):
        text += ("" if not place else " = " if epoch == ranked.iloc[place - 1] else " < ") + str(piece)
    return text


def no_fixed_order(born_under, results: Results) -> Check | None:
    """SR8.published, SR8."""
    born = born_under(results)
    names = order_names(born)
    counts = names.value_counts()
    note = f"{len(counts)} orders in {len(names)} runs; commonest: {counts.index[0]}."
    return share_check(int(counts.iloc[0]), len(names), **_unborn(born, (BEHAVIOUR, COPYING, ROUTING)), note=note)


def _unborn(born: pd.DataFrame, pieces: tuple[str, ...]) -> dict[str, object]:
    early = int((born[born["piece"].isin(pieces)]["by"] == 0).sum())
    return {"control_passed": early == 0, "control_value": f"births at initialisation: {early}"}


def slot_probe_published(results: Results) -> Check | None:
    """SR9.published. Its control fails: no probe can answer prompts whose slot it was never shown."""
    born = published_births(results)
    born = born[born["piece"] == PROBES["matching_slot"]].assign(value=lambda rows: rows["by"].notna().astype(float))
    task = make_task("textual_kv", {})
    unseen = set(task.split(LONGER).variables["matching_slot"].tolist()) - set(
        task.split(TRAIN).variables["matching_slot"].tolist()
    )
    value = f"slots that the gate asks for and the probe was never fitted on: {len(unseen)}"
    return mean_check(of.mean_of_runs(born, "value"), control_passed=not unseen, control_value=value, within=of.SHARE)


def slot_probe(results: Results) -> Check | None:
    """SR9."""
    slot, key = (
        of.per_curriculum(lambda arm, name=name: results.final_values("probe_chosen", arm, variable=name))
        for name in ("matching_slot", "query_key")
    )
    return mean_check(
        slot.max(axis=1), **of.at_least(float(key.stack().mean()), 0.85, "query key, mean"), within=of.SHARE
    )


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
