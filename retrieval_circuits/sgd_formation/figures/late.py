"""The tables behind how long networks on fresh rows wait, and what becomes of those that do not read by the end."""

from collections.abc import Sequence

import pandas as pd

from circuitcore.emergence import crossing_times
from circuitcore.emergence.seeds import mean_interval
from livingpaper.claims.reading import Less
from livingpaper.claims.results import Results
from livingpaper.claims.units import POINTS, STEPS, Unit, share_of
from livingpaper.claims.view import View
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_formation.design import FRESH, REPORTED, TRAINED_ON
from retrieval_circuits.sgd_formation.readings.known import pair_time
from retrieval_circuits.sgd_formation.readings.networks import (
    accuracy,
    apart,
    cost_of_leader,
    half_time,
    joining_time,
    leaders,
    looking_time,
    margin_share,
    of_readers,
    part_time,
    reads_at_end,
    without_neurons,
)

READS = share_of("reads")

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
        table = pd.DataFrame({
            "right": accuracy(arm)(results), "stays": results.final_values("unmoved", arm),
            "attention": leaders(results, arm).set_index("init_seed")["value"],
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


LOOKING, APART = "from joining to looking", "between half of the attention and half of the accuracy"
ASKED = {
    "reads answered right": (READS, accuracy(FRESH)),
    "the same with one key more": (READS, accuracy(FRESH, "structural_ood")),
    "pairs never trained on, less the same rows with trained ones": (
        POINTS, Less(accuracy(FRESH, "heldout_pairs"), accuracy(FRESH, "heldout_twins")),
    ),
    "from half of trained pairs read to half of others": (
        STEPS, Less(pair_time("heldout_pairs"), pair_time("heldout_twins")),
    ),
    "from a fifth to four fifths of the final accuracy": (STEPS, Less(part_time(FRESH, 0.8), part_time(FRESH, 0.2))),
    APART: (STEPS, apart),
    LOOKING: (STEPS, Less(looking_time(FRESH), joining_time(FRESH))),
    "accuracy lost without the head that looks most": (POINTS, cost_of_leader(FRESH)),
    "reads answered right without eight neurons of the first MLP": (READS, without_neurons("L0MLP", "top 8")),
    "part of the margin that the first MLP writes": (POINTS, margin_share(FRESH, "L0MLP")),
}  # fmt: skip
"""What claims on networks on fresh rows ask -> its unit, and values of a reading."""


def in_readers(results: Results) -> View:
    """What claims ask of all networks on fresh rows, and the same of those alone that read."""
    reads, found = reads_at_end(results), []
    for name, (unit, values) in ASKED.items():
        every = values(results)
        told = {words: _told(unit, every[kept]) for words, kept in {"all": every.index, "that read": reads}.items()}
        found.append({"arm": FRESH, "what": name, **told})
    note = f"Means over {len(reads)} networks and over {reads.sum()}, with 95 % t intervals"
    return View(pd.DataFrame(found), "as named", REPORTED[FRESH], note=note)


def of_readers_alone(asked: View) -> dict[str, str]:
    """Name in the prose -> when parts come, of networks that read: of ``in_readers``."""
    told = asked.published.set_index("what")["that read"]
    return {"readers_looking": told[LOOKING], "readers_apart": told[APART]}


def _told(unit: Unit, values: pd.Series) -> str:
    """A mean and its interval in words; one of fewer than two networks has none."""
    if len(values) < 2:
        return unit.words(float(values.mean())) if len(values) else "none"
    over = mean_interval(values)
    return f"{unit.words(over.mean)} {unit.interval(*unit.cut(over.low, over.high), effect=over.mean)}"


VIEWS = {view.__name__: view for view in (waits, late, in_readers)}
