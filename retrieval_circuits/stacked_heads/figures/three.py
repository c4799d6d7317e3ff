"""The tables behind the figures of chains of three look-ups."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import (
    ALL_LENGTHS,
    ENDS,
    LAST_TWO,
    ONE_EACH,
    SCARCE,
    SHORTEST_FIRST,
    THREE,
    THREE_LAST,
)
from retrieval_circuits.stacked_heads.figures.grid import ERROR, KNOWS_THE_STEP, PLATEAU, SYMBOLS, curves_of
from retrieval_circuits.stacked_heads.readings import ATTENDED, final_losses
from retrieval_circuits.stacked_heads.readings.three import AHEAD, looked_along

REWARDED = {
    str(ONE_EACH): "all three",
    str(LAST_TWO): "second and third",
    str(ENDS): "first and third",
    str(THREE_LAST): "third",
    str(SHORTEST_FIRST): "third, short chains first",
    str(ALL_LENGTHS): "third, chains of all lengths",
}
"""Arms of four layers -> which symbols are rewarded, and which rows seen."""
LOOKED = {
    "query to first answer": (("queries", "value_0"),),
    "query to second answer": (("queries", "value_1"),),
    "query to third answer": (("queries", "value_2"),),
    "an answer to a later one": AHEAD,
}
"""What a reader calls links -> their roles."""


def three_by_depth(results: Results) -> View:
    """Final error of each symbol of a chain of three, by layers, every step rewarded."""
    layers = {str(cell): cell.depth for cell in THREE}
    table = final_losses(results, *THREE).sort_values("place", kind="stable")
    table = table.assign(group=table["cell"].map(layers), series=table["place"].map(SYMBOLS), arm=table["cell"])
    return _view(in_order(table, "group", layers.values())[["group", "series", "arm", "init_seed", "value"]])


def three_training(results: Results) -> View:
    """Errors of three symbols through training, at each depth."""
    return _view(curves_of(results, THREE))


def three_taught(results: Results) -> View:
    """Final error of the third symbol in four layers, by which symbols are rewarded and which rows seen."""
    table = final_losses(results, ONE_EACH, LAST_TWO, ENDS, THREE_LAST, SHORTEST_FIRST, ALL_LENGTHS)
    table = table[table["place"] == 3]
    table = table.assign(group=table["cell"].map(REWARDED), arm=table["cell"])
    return _view(in_order(table, "group", REWARDED.values())[["group", "arm", "init_seed", "value"]])


def three_links(results: Results) -> View:
    """Attention at the end from query and answers to later answers, in three layers and in four."""
    found = []
    for cell in (SCARCE, ONE_EACH):
        for name, links in LOOKED.items():
            rows = looked_along(cell, *links)(results).rename("value").reset_index()
            found.append(rows.assign(group=name, series=cell.depth, arm=str(cell)))
    note = f"Of each network head and link with most of it. A path, as the source has it: above {ATTENDED:g}"
    return View(pd.concat(found, ignore_index=True), "mean attention", "queries of 32 test rows", BAND, note=note)


def _view(table: pd.DataFrame) -> View:
    return View(table, ERROR, "test", BAND, PLATEAU, KNOWS_THE_STEP)


THREE_VIEWS = {view.__name__: view for view in (three_by_depth, three_training, three_taught, three_links)}
