"""The tables behind the figures of what was taught beside the grid, and of the fresh seeds."""

import pandas as pd

from circuitcore.emergence.shares import counted
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import FOLLOWED, FRESH, LAST, MIXED, REWARDED, SHORT_FIRST
from retrieval_circuits.stacked_heads.figures.grid import ERROR, LEVELS, LINKS, SYMBOLS, errors_view
from retrieval_circuits.stacked_heads.readings import JUMP, SECOND, end_of, final_losses, learnt_time, path_time
from retrieval_circuits.stacked_heads.readings.lessons import (
    fresh_time,
    learning_by_length,
)

LESSONS = {
    str(REWARDED[2]): "both symbols rewarded",
    str(LAST): "only the last rewarded",
    str(SHORT_FIRST): "only the last, chains of one first",
    str(MIXED): "only the last, chains of one among them",
}
"""What three layers are taught -> what a reader calls it."""


def taught(results: Results) -> View:
    """Final error of the second symbol in three layers, by what is rewarded and which rows are seen."""
    table = final_losses(results, REWARDED[2], LAST, SHORT_FIRST, MIXED)
    table = table[table["place"] == 2]
    table = table.assign(group=table["cell"].map(LESSONS), arm=table["cell"])
    table = in_order(table, "group", LESSONS.values())[["group", "arm", "init_seed", "value"]]
    return View(table, f"{ERROR} of the second symbol", "test", BAND, levels=LEVELS)


def taught_training(results: Results) -> View:
    """Error of the second symbol through training in three layers, by what is taught."""
    found = []
    for arm, words in LESSONS.items():
        rows = results.curve("partial_loss", arm, variable="x_2")
        found.append(rows.assign(panel=words, series=SYMBOLS[2], arm=arm))
    return errors_view(pd.concat(found, ignore_index=True))


def times(results: Results) -> View:
    """When each path and each symbol appears, one point a seed, in the followed and in the fresh networks."""
    found, both = [], ((FOLLOWED, path_time), (FRESH, fresh_time))
    for arm, path_of in (one for one in both if str(one[0]) in results.arms):
        events = {f"path: {name}": path_of(link) for name, link in LINKS.items()}
        events[EITHER] = path_of(SECOND, JUMP)
        for place in range(1, FOLLOWED.n_steps + 1):
            events[f"error of the {SYMBOLS[place]} falls"] = learnt_time(place, arm)
        for name, values in events.items():
            rows = values(results).rename("value").reset_index()
            rows["there"] = rows["value"] < end_of(results, arm)
            found.append(rows.assign(group=name, series=SERIES[str(arm)], arm=str(arm)))
    halves = "Both thresholds are one half; between checkpoints lines are straight"
    note = f"{halves}. {NEVER}; fresh ones are trained half as long"
    return View(pd.concat(found, ignore_index=True), "training step", "queries of 32 test rows", BAND, note=note)


EITHER = "path: to the second answer, whichever is first"
NEVER = "Open: not by the end of training, where it stands"


SERIES = {str(FOLLOWED): "the ten followed", str(FRESH): "the fresh ones"}


def by_length(results: Results) -> View:
    """When one look-up is learnt in two layers, by the positions of a row."""
    table = learning_by_length(results).sort_values("length", kind="stable")
    ends = table["arm"].map({arm: end_of(results, arm) for arm in table["arm"].unique()})
    table = table.assign(group=table["length"].astype(str) + " positions", there=table["value"] < ends)
    note = "Learnt: error below one half. In each row every chain is asked for, so that longer rows have more queries"
    note += "" if table["there"].all() else f". {NEVER}"
    shown = table[["group", "arm", "init_seed", "value", "there"]]
    return View(shown, "training step", "test", BAND, note=note)


EXCHANGES = {
    ("value", "new"): "pair's value exchanged: against the new symbol",
    ("value", "others"): "pair's value exchanged: the other chains",
    ("key", "new"): "next pair's key exchanged: against the new symbol",
    ("key", "old"): "next pair's key exchanged: against the old symbol",
}
"""What is exchanged, and against what the answer is held -> what a reader calls it."""
FREE = {"none": "attention free", "paths": "attention set along the paths left"}


def exchanges(results: Results) -> View:
    """Squared error after a symbol is exchanged at one position, attention free and set, the worse of both symbols."""
    rows = results.tables["exchanges"].astype({"site": str, "edit": str, "family": str})
    rows = rows.assign(where=rows["site"].str.partition("_")[0])
    worst = rows.groupby(["arm", "init_seed", "where", "edit", "family"], observed=True, as_index=False)["value"].max()
    names = [EXCHANGES.get(key) for key in zip(worst["where"], worst["family"], strict=True)]
    table = worst.assign(group=names, series=worst["edit"].map(FREE)).dropna(subset="group")
    table = in_order(table, "group", EXCHANGES.values())
    levels = {"answers that symbol": 0.0, "answers another": 2.0}
    return View(table[["group", "series", "arm", "init_seed", "value"]], ERROR, "64 test rows", BAND, levels=levels)


NETWORKS = {"trained": "trained", "untrained": "never trained", "permuted": "trained, weights shuffled"}


def found_paths(results: Results) -> View:
    """Paths that the reading finds in trained networks and in two kinds that have no circuit."""
    rows = results.tables["false_paths"].astype({"edit": str, "metric": str})
    rows = rows[rows["metric"] == "n_candidates"]
    table = in_order(rows.assign(group=rows["edit"].map(NETWORKS)), "group", NETWORKS.values())
    note = "A path: mean attention above one half between two roles of a chain"
    return View(table[["group", "arm", "init_seed", "value"]], "candidate paths", "64 test rows", BAND, note=note)


def found_in_words(view: View) -> dict[str, str]:
    """In how many networks without a circuit a path is found, by kind, and how many may have one: numbers of prose."""
    rows = view.published
    found = {
        kind: counted(rows.loc[rows["group"] == NETWORKS[kind], "value"] > 0) for kind in ("untrained", "permuted")
    }
    return {
        f"found_{kind}": f"{one.successes:.0f} of {one.n} (up to {100 * one.interval().high:.0f} % by the interval)"
        for kind, one in found.items()
    }


LESSON_VIEWS = {view.__name__: view for view in (taught, taught_training, times, by_length, exchanges, found_paths)}
