"""Tables of where networks come to rest half-way between the shortcut and an answer, place by place."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import (
    FOUR,
    FRESH,
    FRESH_FOUR,
    FRESH_ONE,
    FRESH_SCARCE,
    LONG_SCARCE,
    ONE,
    REWARDED,
    TAUGHT,
    THREE,
    THREE_TAUGHT,
)
from retrieval_circuits.stacked_heads.figures.grid import ERROR, PLACES, errors_view
from retrieval_circuits.stacked_heads.readings.grid import Arm
from retrieval_circuits.stacked_heads.readings.rests import N_PLACES, final_at_places, rest_of

DEEPER = (*ONE[1:], *REWARDED[1:], *TAUGHT, FRESH, *THREE, *THREE_TAUGHT, FRESH_SCARCE, LONG_SCARCE, *FOUR, FRESH_FOUR)
"""Networks of two layers or more that were trained to the end; those with one thing changed were stopped early."""
LEVELS = {f"follows {m} of {N_PLACES} places": rest_of(m) for m in range(1, N_PLACES - 1)}
"""Errors between following nothing and following all, of one that guesses among the places that it does not follow."""
STEP = rest_of(0) - rest_of(1)
"""From one level to the next; and how much more wrong than its best a worst place is where some are not followed."""
UNEVEN, EVEN = "some places followed", "all places alike"
NOTE = "A symbol of a network each: those whose error is nearest to one of these levels"


def places(results: Results) -> View:
    """Final error of one look-up in one layer, by where the pair stands in its block; best place of a network first."""
    series = {ONE[0]: "the first ten", FRESH_ONE: "fresh networks"}
    found = [_ranked(results, arm).assign(series=words) for arm, words in series.items() if str(arm) in results.arms]
    return errors_view(pd.concat(found, ignore_index=True)[["group", "series", "arm", "init_seed", "value"]])


def rests(results: Results) -> View:
    """The same of deeper networks and symbols that came to rest half-way: nearest to an error of ``LEVELS``."""
    found = []
    for arm in (one for one in DEEPER if str(one) in results.arms):
        rows = _ranked(results, arm)
        by = rows.groupby(["init_seed", "variable"])["value"]
        half_way = (by.transform("mean") >= STEP / 2) & (by.transform("mean") < rest_of(0) - STEP / 2)
        uneven = by.transform("max") - by.transform("min") >= STEP
        found.append(rows.assign(series=np.where(uneven, UNEVEN, EVEN))[half_way])
    table = in_order(pd.concat(found, ignore_index=True), "group", PLACES.values())
    columns = ["group", "series", "arm", "init_seed", "variable", "value"]
    return View(table[columns], ERROR, "test", BAND, note=NOTE, levels=LEVELS)


def _ranked(results: Results, arm: Arm) -> pd.DataFrame:
    """A row for each network, symbol and place: ``group``, the rank of the place in words, and ``value``."""
    table = final_at_places(results, arm).rename(columns=PLACES)
    return table.melt(ignore_index=False, var_name="group", value_name="value").reset_index().assign(arm=str(arm))


VIEWS = {view.__name__: view for view in (places, rests)}
