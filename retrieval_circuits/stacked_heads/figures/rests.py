"""Tables of where networks come to rest half-way between the shortcut and an answer, place by place."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.stacked_heads.design import (
    FOUR,
    FRESH,
    FRESH_FOUR,
    FRESH_ONE,
    FRESH_SCARCE,
    LONG_SCARCE,
    ONE,
    ONE_DEEP,
    REWARDED,
    TAUGHT,
    THREE,
    THREE_TAUGHT,
)
from retrieval_circuits.stacked_heads.figures.grid import ERROR, PLACES, SYMBOLS, errors_view
from retrieval_circuits.stacked_heads.readings.grid import Arm
from retrieval_circuits.stacked_heads.readings.rests import final_at_places, rest_of

DEEPER = (
    *(*ONE[1:], *ONE_DEEP, *REWARDED[1:], *TAUGHT, FRESH),
    *(*THREE, *THREE_TAUGHT, FRESH_SCARCE, LONG_SCARCE, *FOUR, FRESH_FOUR),
)
"""Networks of two layers or more that were trained to the end; those with one thing changed were stopped early."""
HALF_WAY = (rest_of(2), rest_of(1))
"""Errors of who follows two or one of four places, and guesses among the others: between an answer and nothing."""
STEP = rest_of(0) - rest_of(1)
"""From one level to the next; and how much more wrong than its best a worst place is where some are not followed."""
SOME, ALIKE = "some places", "all alike, in part"


def places(results: Results) -> View:
    """Final error of one look-up in one layer, by where the pair stands in its block; best place of a network first."""
    series = {ONE[0]: "the first ten", FRESH_ONE: "fresh networks"}
    found = [_ranked(results, arm).assign(series=words) for arm, words in series.items() if str(arm) in results.arms]
    return errors_view(pd.concat(found, ignore_index=True)[["group", "series", "arm", "init_seed", "value"]])


def rests(results: Results) -> View:
    """Symbols of deeper networks that came to rest half-way, nearest to an error of ``HALF_WAY``: a row each."""
    found = []
    for arm in (one for one in DEEPER if str(one) in results.arms):
        places = final_at_places(results, arm).rename(columns=PLACES)
        mean = places.mean(axis=1)
        kept = places[(mean >= HALF_WAY[0] - STEP / 2) & (mean < HALF_WAY[-1] + STEP / 2)]
        for (seed, variable), errors in kept.iterrows():
            found.append({
                "arm": str(arm), "look-ups": arm.n_steps, "layers": arm.n_layers, "seed": str(seed),
                "symbol": SYMBOLS[int(variable.removeprefix("x_"))], "error": f"{errors.mean():.2f}",
                **{place: f"{error:.2f}" for place, error in errors.items()},
                "follows": SOME if errors.max() - errors.min() >= STEP else ALIKE,
            })  # fmt: skip
    table = pd.DataFrame(found or [{"arm": str(ONE[1]), "symbol": "none of these networks rests half-way"}])
    return View(table, ERROR, "test", arms=tuple(dict.fromkeys(table["arm"])))


def _ranked(results: Results, arm: Arm) -> pd.DataFrame:
    """A row for each network, symbol and place: ``group``, the rank of the place in words, and ``value``."""
    table = final_at_places(results, arm).rename(columns=PLACES)
    return table.melt(ignore_index=False, var_name="group", value_name="value").reset_index().assign(arm=str(arm))


VIEWS = {view.__name__: view for view in (places, rests)}
