"""The tables behind how long networks on fresh rows wait, and what becomes of those that do not read by the end."""

from collections.abc import Sequence

import pandas as pd

from circuitcore.emergence import crossing_times
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_formation.design import FRESH, REPORTED, TRAINED_ON
from retrieval_circuits.sgd_formation.readings.networks import (
    accuracy,
    half_time,
    of_readers,
    reads_at_end,
    total_looks,
)

READS_BY, NOT = "reads by step", "not yet"


def waits(results: Results) -> View:
    """When networks that read had half of their reads right; of all networks where none reads."""
    table = half_time(FRESH)(results).rename("value").reset_index().assign(arm=FRESH)
    return View(of_readers(table, results), "steps", REPORTED[FRESH])


def between(waited: View) -> dict[str, str]:
    """Name in the prose -> the first and the last of ``waits``."""
    steps = waited.published["value"]
    return {"half_first": f"{steps.min():,.0f}", "half_last": f"{steps.max():,.0f}"}


def late(results: Results) -> View:
    """Networks that do not read by the end, then and, of those that are trained on, after as many steps again."""
    arms, reads = [arm for arm in (FRESH, TRAINED_ON) if arm in results.arms], reads_at_end(results)
    on = results.seeds(TRAINED_ON) if TRAINED_ON in arms else ()
    first, curve = results.curve("accuracy", FRESH)["step"].max(), _whole_curve(results, arms)
    by = crossing_times(curve, BEHAVIOUR.value)
    found = []
    for part, arm in enumerate(arms, 1):
        looks = total_looks(results, arm)
        looks = looks[looks["step"] == looks["step"].max()].groupby("init_seed")["value"].max()
        table = pd.DataFrame({
            "right": accuracy(arm)(results), "stays": results.final_values("unmoved", arm), "attention": looks,
            "held-out pairs": accuracy(arm, "heldout_pairs")(results),
        }).map("{:.0%}".format)  # fmt: skip
        table.insert(0, "step", f"{part * first:,}")
        table[READS_BY] = [f"{by[seed]:,.0f}" if by[seed] <= part * first else NOT for seed in table.index]
        found.append(table)
    table = pd.concat(found).rename_axis("init_seed").sort_index(kind="stable")
    table = table[~table.index.map(reads).astype(bool) | table.index.isin(on)].reset_index()
    note = (
        "Shares: of reads, of answers that stay for another key, of the attention of the head that looks most, of "
        "reads of held-out pairs. Who reads has nine in ten right"
    )
    return View(table.assign(arm=FRESH), "as named", REPORTED[FRESH], note=note)


def _whole_curve(results: Results, arms: Sequence[str]) -> pd.DataFrame:
    """Accuracy through both parts of training; steps of the second are counted from where the first ends."""
    found, done = [], 0
    for arm in arms:
        rows = results.curve("accuracy", arm, split=REPORTED[arm], variable="")[["init_seed", "step", "value"]]
        found.append(rows.assign(step=rows["step"] + done))
        done = found[-1]["step"].max()
    return pd.concat(found).drop_duplicates(["init_seed", "step"])


VIEWS = {view.__name__: view for view in (waits, late)}
