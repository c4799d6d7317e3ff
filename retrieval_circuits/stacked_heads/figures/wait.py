"""The table behind the figure of what could make networks wait."""

import pandas as pd

from circuitcore.emergence import by_the_end
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import FOLLOWED
from retrieval_circuits.stacked_heads.design.wait import CHANGES
from retrieval_circuits.stacked_heads.figures.lessons import NEVER
from retrieval_circuits.stacked_heads.readings import LEARNT, end_of, falls
from retrieval_circuits.stacked_heads.readings.wait import AT_SHORTCUT

TRAINED = {FOLLOWED: "as the followed", **{change: change.words for change in CHANGES}}
EVENTS = {"at the shortcut": AT_SHORTCUT, "first symbol learnt": LEARNT}
"""What a reader calls the step at which the error of the first symbol falls below a level."""


def waits(results: Results) -> View:
    """When the shortcut is reached and the first symbol is learnt, by what is changed in training."""
    seeds, found = results.seeds(str(CHANGES[0])), []
    for arm, words in TRAINED.items():
        for event, level in EVENTS.items():
            rows, end = falls(results, arm, 1, level).rename("value").reset_index(), end_of(results, arm)
            rows = rows[rows["init_seed"].isin(seeds)]
            found.append(rows.assign(**by_the_end(rows["value"], end), group=words, series=event, arm=str(arm)))
    table = in_order(pd.concat(found, ignore_index=True), "group", TRAINED.values())
    note = f"Errors below {AT_SHORTCUT:g} and {LEARNT:g}; between checkpoints lines are straight. {NEVER}"
    columns = ["group", "series", "arm", "init_seed", "value", "there"]
    return View(table[columns], "training step", "test", BAND, note=note)


WAIT_VIEWS = {view.__name__: view for view in (waits,)}
