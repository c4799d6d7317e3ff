"""The table behind what becomes of networks that do not read by the end."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import FRESH, REPORTED, TRAINED_ON
from retrieval_circuits.sgd_formation.readings.networks import HALF, Timed, accuracy, total_looks

RIGHT_AT_END, HALF_BY = "right", "half right by step"
"""Columns of ``addresses``."""
RIGHT, STAYS, LOOKS, HELD_OUT = "right", "stays", "attention", "held-out pairs"
HELD_OUT_LATER = "held-out pairs, at the end"
BY = {"half right": HALF, "nine in ten right": BEHAVIOUR.value}
NOT = "never"


def late(results: Results) -> View:
    """Network by network: what it has after the steps first given, and what becomes of it in as many again."""
    if TRAINED_ON not in results.arms:
        return View(pd.DataFrame({"arm": [], "init_seed": []}), "as named", REPORTED[TRAINED_ON])
    curve = results.curve("accuracy", TRAINED_ON, split=REPORTED[TRAINED_ON], variable="")
    first, last = int(curve["step"].min()), int(curve["step"].max())
    looks = total_looks(results, TRAINED_ON)
    table = pd.DataFrame({
        RIGHT: _at(curve, first),
        STAYS: _at(results.curve("unmoved", TRAINED_ON), first),
        LOOKS: _at(looks.groupby(["init_seed", "step"], as_index=False)["value"].max(), first),
        HELD_OUT: accuracy(FRESH, "heldout_pairs")(results),
        **{name: _when(results, level) for name, level in BY.items()},
        HELD_OUT_LATER: accuracy(TRAINED_ON, "heldout_pairs")(results),
    })  # fmt: skip
    table = table.loc[sorted(results.seeds(TRAINED_ON))].round(2)
    note = f"Shares at step {first:,} but the last, at step {last:,}; in between the step by which so many are right"
    return View(
        table.rename_axis("init_seed").reset_index().assign(arm=TRAINED_ON), "as named", REPORTED[TRAINED_ON], BAND,
        note=note,
    )  # fmt: skip


def _at(curve: pd.DataFrame, step: int) -> pd.Series:
    return curve[curve["step"] == step].set_index("init_seed")["value"]


def _when(results: Results, level: float) -> pd.Series:
    """When a network trained on has so many reads right, in words."""
    timed = Timed(TRAINED_ON, lambda all_of: all_of.curve("accuracy", TRAINED_ON, split=REPORTED[TRAINED_ON],
                                                          variable=""), level)  # fmt: skip
    return timed.reached(results).map(lambda step: f"{step:,.0f}" if step < float("inf") else NOT)


def waits(networks: View) -> dict[str, str]:
    """Name in the prose -> between which steps networks that read, or all if none does, come to half of their reads.

    ``networks`` is the view ``addresses``.
    """
    rows = networks.published
    reads = rows[RIGHT_AT_END] >= BEHAVIOUR.value
    halves = rows.loc[reads if reads.any() else ~reads, HALF_BY]
    return {"half_first": f"{halves.min():,}", "half_last": f"{halves.max():,}"}


VIEWS = {view.__name__: view for view in (late,)}
