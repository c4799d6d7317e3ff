"""The table behind the figure of what could make networks wait."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import FOLLOWED
from retrieval_circuits.stacked_heads.design.wait import FASTER, FIXED, LESS_NOISE, NO_DECAY
from retrieval_circuits.stacked_heads.readings.wait import wait_of

TRAINED = {
    FOLLOWED: "as the followed",
    NO_DECAY: NO_DECAY.words,
    LESS_NOISE: LESS_NOISE.words,
    FIXED: FIXED.words,
    FASTER: FASTER.words,
}
"""Arms with one starting weights and, but for the rows that a change asks for, one order of data -> their names."""


def waits(results: Results) -> View:
    """When the first symbol is learnt, by what is changed in training; one point a seed."""
    seeds = results.seeds(str(NO_DECAY))
    found = []
    for arm, words in TRAINED.items():
        rows = wait_of(arm)(results).rename("value").reset_index()
        found.append(rows[rows["init_seed"].isin(seeds)].assign(group=words, arm=str(arm)))
    table = in_order(pd.concat(found, ignore_index=True), "group", TRAINED.values())
    note = "Learnt: error below one half; between checkpoints lines are straight. What never is stands at the end"
    return View(table[["group", "arm", "init_seed", "value"]], "training step", "test", BAND, note=note)


WAIT_VIEWS = {view.__name__: view for view in (waits,)}
