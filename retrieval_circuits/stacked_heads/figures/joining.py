"""How far pairs are joined when the query looks at its first answer, in the followed networks."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from livingpaper.figures.verdict_text import NOT_MEASURED
from retrieval_circuits.stacked_heads.design import FOLLOWED
from retrieval_circuits.stacked_heads.readings import ATTENDED, FIRST, PREVIOUS, end_of, path_time


def joining(results: Results) -> View:
    """What joins the first pair at the step at which attention from query to first answer passes one half.

    Columns: ``value``, how many steps later attention from value to key passes one half (negative: earlier); at that
    step, on a straight line between checkpoints, ``most``, the attention of the head with most of it from value to key,
    and ``second``, the most of another head of its layer. Missing where the query's path never comes.
    """
    times, end = path_time(FIRST)(results), end_of(results, FOLLOWED)
    rows = results.curve("attention", str(FOLLOWED), site=">".join(PREVIOUS))
    found = []
    for seed, time in times.items():
        wide = rows[rows["init_seed"] == seed].pivot(index="step", columns=["layer", "head"], values="value")
        then = wide.apply(lambda curve, at=time: np.interp(at, curve.index, curve))
        second = then[then.idxmax()[0]].nlargest(2).iloc[-1]
        found.append({"init_seed": seed, "most": then.max(), "second": second})
    table = pd.DataFrame(found).set_index("init_seed")
    table["value"] = path_time(PREVIOUS)(results) - times
    table = table.where(times < end)
    return View(table.reset_index().assign(arm=str(FOLLOWED)), "training steps", "queries of 32 test rows")


def joining_numbers(view: View) -> dict[str, str]:
    """In how many networks the query's path is there first, and how far their pairs are joined by then."""
    table = view.published
    first = table[table["value"] > 0]
    found = {
        "n_query_first": f"{len(first)} of {len(table)}",
        "joined_most": NOT_MEASURED,
        "n_joined_by_two": NOT_MEASURED,
    }
    if first.empty:
        return found
    low, high = first["most"].min(), first["most"].max()
    shared = (first["second"] > ATTENDED / 2).sum()
    return found | {
        "joined_most": f"{100 * low:.0f} to {100 * high:.0f} %",
        "n_joined_by_two": f"{shared} of {len(first)}",
    }


JOINING_VIEWS = {"joining": joining}
