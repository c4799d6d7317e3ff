"""The table behind the figure of networks one head of which is told where to look."""

import pandas as pd

from circuitcore.emergence import by_the_end
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_selection.design import GIVEN, GIVEN_TWO, NETWORKS, PARTS
from retrieval_circuits.sgd_selection.figures.chapter import ROWS
from retrieval_circuits.sgd_selection.readings import half_read, half_right

TOLD_TO_LOOK = {"one word back": GIVEN, "two words back": GIVEN_TWO}


def given(results: Results) -> View:
    """When half of the reads are right, in percent of the steps that the free network of the same seed takes."""
    found, free = [], half_right(results, NETWORKS)
    for name, arm in TOLD_TO_LOOK.items():
        times = half_read(arm).reached(results)
        times = times[times.index.isin(free.index)]
        of_free, end = free.reindex(times.index), int(results.curve("accuracy", arm)["step"].max())
        columns = by_the_end(100 * times / of_free, 100 * end / of_free)
        found.append(pd.DataFrame(columns).rename_axis("init_seed").reset_index().assign(group=name, arm=arm))
    table = pd.concat(found, ignore_index=True)
    levels = {"half the time": 50.0, "the same time": 100.0}
    steps = " and ".join(f"{100 * part:.0f} %" for part in PARTS.values())
    note = f"An open mark: not by its last step; they have {steps} of the free ones' steps, in this order"
    unit = "steps until half of the reads are right, % of the free network's"
    return View(table, unit, ROWS, BAND, note=note, levels=levels, arms=(NETWORKS, GIVEN, GIVEN_TWO))


GIVENS = {view.__name__: view for view in (given,)}
