"""The table behind the figure of chains of four look-ups, and what the text says of them."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from livingpaper.figures.verdict_text import NOT_MEASURED
from retrieval_circuits.stacked_heads.design import EVERY_FOUR, FOUR, WITHOUT_FOURTH, WITHOUT_THIRD
from retrieval_circuits.stacked_heads.figures.grid import SYMBOLS, errors_view
from retrieval_circuits.stacked_heads.readings import falls

REWARDED = {
    EVERY_FOUR: "all four rewarded",
    WITHOUT_THIRD: "the third not rewarded",
    WITHOUT_FOURTH: "the fourth not rewarded",
}
"""Arms -> their panels."""


def four_training(results: Results) -> View:
    """Errors of the symbols that are rewarded through training, a panel for each choice of them."""
    found = []
    for lesson, words in REWARDED.items():
        rows = results.curve("partial_loss", str(lesson))
        place = rows["variable"].astype(str).str.removeprefix("x_").astype(int)
        found.append(rows.assign(series=place.map(SYMBOLS), panel=words, arm=str(lesson)))
    table = in_order(pd.concat(found, ignore_index=True), "series", SYMBOLS.values())
    return errors_view(table[["panel", "series", "step", "arm", "init_seed", "value"]])


def four_times(results: Results) -> View:
    """When each network learnt each symbol that it was rewarded for; no value where it did not."""
    found = [
        falls(results, lesson, place).rename("value").reset_index().assign(arm=str(lesson), place=place)
        for lesson in FOUR
        for place in lesson.targets or SYMBOLS
    ]
    table = pd.concat(found, ignore_index=True)
    return View(table.assign(value=table["value"].where(np.isfinite(table["value"]))), "training step", "test")


def four_numbers(times: View) -> dict[str, str]:
    """Of how many networks which symbols were learnt at any time, and when the last of them was."""
    table = times.published

    def learnt(lesson: object, place: int) -> pd.Series:
        return table[(table["arm"] == str(lesson)) & (table["place"] == place)]["value"]

    def count(values: pd.Series) -> str:
        return f"{values.notna().sum()} of {len(values)}"

    every, second = (learnt(EVERY_FOUR, 4), learnt(WITHOUT_THIRD, 2))
    return {
        "n_every_four": count(every),
        "last_of_four": NOT_MEASURED if every.isna().all() else f"{every.max():,.0f}",
        "n_fourth_without_third": count(learnt(WITHOUT_THIRD, 4)),
        "n_second_without_third": count(second),
    }


FOUR_VIEWS = {view.__name__: view for view in (four_training, four_times)}
