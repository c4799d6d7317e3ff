"""The table behind the figure of chains of four look-ups, and what the text says of them."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from livingpaper.figures.verdict_text import NOT_MEASURED
from retrieval_circuits.stacked_heads.design import EVERY_FOUR, FOUR, FRESH_FOUR, WITHOUT_FOURTH, WITHOUT_THIRD
from retrieval_circuits.stacked_heads.figures.grid import SYMBOLS, curves_of, errors_view
from retrieval_circuits.stacked_heads.readings import ATTENDED, LEARNT, final_loss, learning_times
from retrieval_circuits.stacked_heads.readings.four import HOP_TO_LAST, TO_LAST
from retrieval_circuits.stacked_heads.readings.three import looked_along

REWARDED = {
    EVERY_FOUR: "all four rewarded",
    WITHOUT_THIRD: "the third not rewarded",
    WITHOUT_FOURTH: "the fourth not rewarded",
}
"""Arms -> their panels."""


def four_training(results: Results) -> View:
    """Errors of the symbols that are rewarded through training, a panel for each choice of them."""
    return errors_view(in_order(curves_of(results, REWARDED), "series", SYMBOLS.values()))


def four_times(results: Results) -> View:
    """When each network learnt each symbol that it was rewarded for; no value where it did not."""
    table = learning_times(results, *FOUR).rename(columns={"cell": "arm", "time": "value"})
    return View(table.assign(value=table["value"].where(np.isfinite(table["value"]))), "training step", "test")


def four_ends(results: Results) -> View:
    """How each network comes to the fourth symbol: a row for each that was rewarded for it.

    Columns: ``value``, whether it learnt it; attention at the end, of the head with most, ``ahead`` (to the fourth
    answer from where another one stands, the last layer left out) and ``query`` (to it from the query itself).
    """
    found = []
    for lesson in (one for one in (EVERY_FOUR, WITHOUT_THIRD, FRESH_FOUR) if str(one) in results.arms):
        table = pd.DataFrame({"value": final_loss(lesson, 4)(results) < LEARNT})
        table["ahead"] = looked_along(lesson, *TO_LAST, before_the_last=True)(results)
        table["query"] = looked_along(lesson, HOP_TO_LAST)(results)
        found.append(table.reset_index().assign(arm=str(lesson)))
    return View(pd.concat(found, ignore_index=True), "networks", "queries of 32 test rows")


def four_numbers(times: View, ends: View) -> dict[str, str]:
    """Of how many networks which symbols were learnt, and where those look that learnt the fourth, and the others.

    Where they look of the first networks alone, which suggested what is claimed of the fresh ones.
    """
    table, looks = times.published, ends.published
    fourth = table[table["place"] == 4].groupby("arm")["value"].agg(["count", "size"])
    is_fresh = looks["arm"] == str(FRESH_FOUR)
    fresh, looks = looks[is_fresh], looks[~is_fresh]
    fresh_knows, knows = fresh["value"].astype(bool), looks["value"].astype(bool)
    looks_ahead = looks["ahead"] >= ATTENDED
    query = looks["query"][knows].max()
    return {
        **{
            f"n_fourth_{name}": "{} of {}".format(*fourth.loc[str(lesson)])
            for name, lesson in {"every": EVERY_FOUR, "without_third": WITHOUT_THIRD}.items()
        },
        "n_fourth_fresh": f"{fresh_knows.sum()} of {len(fresh)}",
        "n_ahead_fresh": f"{(fresh_knows & (fresh['ahead'] >= ATTENDED)).sum()} of {fresh_knows.sum()}",
        "n_hop_fresh": f"{(fresh_knows & (fresh['query'] >= ATTENDED)).sum()} of {fresh_knows.sum()}",
        "n_ahead_learnt": f"{looks_ahead[knows].sum()} of {knows.sum()}",
        "n_ahead_not": f"{looks_ahead[~knows].sum()} of {(~knows).sum()}",
        "query_at_fourth": NOT_MEASURED if np.isnan(query) else f"{query:.2f}",
    }


FOUR_VIEWS = {view.__name__: view for view in (four_training, four_times, four_ends)}
