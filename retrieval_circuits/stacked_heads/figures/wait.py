"""The table behind the figure of what could make networks wait."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import FOLLOWED
from retrieval_circuits.stacked_heads.design.wait import CHANGES
from retrieval_circuits.stacked_heads.readings import LEARNT, end_of
from retrieval_circuits.stacked_heads.readings.wait import AT_SHORTCUT, until

TRAINED = {FOLLOWED: "nothing changed", **{change: change.words for change in CHANGES}}


def waits(results: Results) -> View:
    """How many steps lie between the shortcut and the first symbol, by what is changed in training."""
    seeds, longest, found = results.seeds(str(CHANGES[0])), end_of(results, FOLLOWED), []
    for arm, words in TRAINED.items():
        end = end_of(results, arm)
        group = words if end == longest else f"{words}, {end:,} steps"
        learnt, waited = until(results, arm, end)
        rows = pd.DataFrame({"value": waited, "there": learnt < end}).rename_axis("init_seed").reset_index()
        found.append(rows[rows["init_seed"].isin(seeds)].assign(group=group, arm=str(arm)))
    table = pd.concat(found, ignore_index=True)
    note = (
        f"From where the error of the first symbol falls below {AT_SHORTCUT:g} (the shortcut) to where it falls below "
    )
    note += (
        f"{LEARNT:g} (learnt), read on straight lines between checkpoints. Rows that name steps were trained for so "
    )
    note += f"many, the others for {longest:,}"
    columns = ["group", "arm", "init_seed", "value", "there"]
    return View(
        table[columns], "steps from the shortcut to the first symbol", "test", BAND,
        note=f"{note}. Open: not learnt by the end of training. Who never comes to the shortcut waits from the start",
    )  # fmt: skip


WAIT_VIEWS = {view.__name__: view for view in (waits,)}
