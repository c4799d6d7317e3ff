"""The table behind each figure of the chapter, with what its caption must say."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.chain_prompts.design import ALONE, LINES, READERS, RELATIVES
from retrieval_circuits.chain_prompts.readings import KIND, by_depth
from retrieval_circuits.design import BAND

SHARE = "share of questions"
TEST = "test prompts"


def depths(results: Results) -> View:
    """Questions answered at the end, by look-ups, for both ways of rewarding equations."""
    table = by_depth(results, ALONE, LINES).sort_values("depth", kind="stable")
    table = table.assign(group=table["depth"].astype(str), series=table["arm"].astype(str))
    table = in_order(table, "group", [str(depth) for depth in sorted(set(table["depth"]))])
    note = "A quarter is what every reader gets who leaves a link unread"
    return View(table[["group", "series", "arm", "init_seed", "value"]], SHARE, TEST, BAND, chance=0.25, note=note)


def training(results: Results) -> View:
    """Questions answered through training, a panel an arm, a line a number of look-ups."""
    found = []
    for arm in (ALONE, LINES, RELATIVES):
        rows = results.curve("accuracy", arm, family=KIND[arm])
        found.append(rows.assign(panel=arm, arm=arm, series=rows["variable"].astype(str).str.replace("depth", "D =")))
    table = pd.concat(found, ignore_index=True)[["panel", "series", "step", "arm", "init_seed", "value"]]
    return View(table, SHARE, TEST, BAND)


def readers(results: Results) -> View:
    """How often readers are right who leave one part of a prompt unread."""
    table = results.tables[READERS]
    wide = table.assign(accuracy=table["accuracy"].round(2), guess=table["guess"].round(4))
    return View(wide[["arm", "formulation", "unread", "accuracy", "guess"]], SHARE, "no rows")


def functions(results: Results) -> View:
    """Questions on functions that networks answer which know their words from equations."""
    found = [results.at_final("accuracy", arm, family="F4").assign(group=arm, arm=arm) for arm in (ALONE, LINES)]
    table = pd.concat(found, ignore_index=True)[["group", "arm", "init_seed", "value"]]
    return View(table, SHARE, "test prompts of F4", BAND, chance=0.25)


VIEWS = {view.__name__: view for view in (depths, training, readers, functions)}
