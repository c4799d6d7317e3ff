"""The table behind the figure of what could make networks wait."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import FOLLOWED
from retrieval_circuits.stacked_heads.design.wait import CHANGES
from retrieval_circuits.stacked_heads.readings import LEARNT, end_of
from retrieval_circuits.stacked_heads.readings.wait import AT_SHORTCUT, until

TRAINED = {FOLLOWED: "as the followed", **{change: change.words for change in CHANGES}}


def waits(results: Results) -> View:
    """How many steps lie between the shortcut and the first symbol, by what is changed in training."""
    seeds, found = results.seeds(str(CHANGES[0])), []
    for arm, words in TRAINED.items():
        end = end_of(results, arm)
        learnt, waited = until(results, arm, end)
        rows = pd.DataFrame({"value": waited, "there": learnt < end}).rename_axis("init_seed").reset_index()
        found.append(rows[rows["init_seed"].isin(seeds)].assign(group=words, arm=str(arm)))
    table = in_order(pd.concat(found, ignore_index=True), "group", TRAINED.values())
    note = f"Errors of the first symbol below {AT_SHORTCUT:g} and {LEARNT:g}; between checkpoints lines are straight"
    columns = ["group", "arm", "init_seed", "value", "there"]
    return View(
        table[columns], "steps from the shortcut to the first symbol", "test", BAND,
        note=f"{note}. Open: not learnt by the end of training. Who never comes to the shortcut waits from the start",
    )  # fmt: skip


WAIT_VIEWS = {view.__name__: view for view in (waits,)}
