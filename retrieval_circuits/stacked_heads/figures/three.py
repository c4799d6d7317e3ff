"""The tables behind the figures of chains of three look-ups."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import (
    ALL_LENGTHS,
    ENDS,
    FRESH_SCARCE,
    LAST_TWO,
    ONE_EACH,
    SCARCE,
    SHORTEST_FIRST,
    THREE,
    THREE_LAST,
)
from retrieval_circuits.stacked_heads.figures.grid import SYMBOLS, curves_of, errors_view
from retrieval_circuits.stacked_heads.readings import ATTENDED, LEARNT, circuit_paths, final_losses
from retrieval_circuits.stacked_heads.readings.three import AHEAD, looked_along

TAUGHT_WORDS = {
    str(ONE_EACH): "all three",
    str(LAST_TWO): "second and third",
    str(ENDS): "first and third",
    str(THREE_LAST): "third",
    str(SHORTEST_FIRST): "third, short chains first",
    str(ALL_LENGTHS): "third, chains of all lengths",
}
"""Arms of four layers -> which symbols are rewarded, and which rows seen."""
LOOKED = {
    "query to first answer": ("queries", "value_0"),
    "query to second answer": ("queries", "value_1"),
    "query to third answer": ("queries", "value_2"),
    "first answer to second": AHEAD[0],
    "second answer to third": AHEAD[-1],
}
"""What a reader calls a link -> its roles."""


def three_by_depth(results: Results) -> View:
    """Final error of each symbol of a chain of three, by layers, every step rewarded."""
    arms = [arm for arm in (*THREE[:2], FRESH_SCARCE, *THREE[2:]) if str(arm) in results.arms]
    layers = {str(arm): "3 layers, fresh seeds" if arm == FRESH_SCARCE else arm.depth for arm in arms}
    table = final_losses(results, *arms).sort_values("place", kind="stable")
    table = table.assign(group=table["cell"].map(layers), series=table["place"].map(SYMBOLS), arm=table["cell"])
    return errors_view(in_order(table, "group", layers.values())[["group", "series", "arm", "init_seed", "value"]])


def three_training(results: Results) -> View:
    """Errors of three symbols through training, at each depth."""
    return errors_view(curves_of(results, THREE))


def three_taught(results: Results) -> View:
    """Final error of the third symbol in four layers, by which symbols are rewarded and which rows seen."""
    table = final_losses(results, ONE_EACH, LAST_TWO, ENDS, THREE_LAST, SHORTEST_FIRST, ALL_LENGTHS)
    table = table[table["place"] == 3]
    table = table.assign(group=table["cell"].map(TAUGHT_WORDS), arm=table["cell"])
    return errors_view(in_order(table, "group", TAUGHT_WORDS.values())[["group", "arm", "init_seed", "value"]])


def three_links(results: Results) -> View:
    """Attention at the end along five links in networks of three layers, with the third symbol learnt and not."""
    found = []
    for arm in (one for one in (SCARCE, FRESH_SCARCE) if str(one) in results.arms):
        learnt = final_losses(results, arm).query("place == 3").set_index("init_seed")["value"] < LEARNT
        for name, link in LOOKED.items():
            rows = looked_along(arm, link, before_the_last=link in AHEAD)(results).rename("value").reset_index()
            series = rows["init_seed"].map(learnt).map({True: "third symbol learnt", False: "not learnt"})
            found.append(rows.assign(group=name, series=series, arm=str(arm)))
    note = (
        f"Of each network the head with most of it; of answers, heads before the last layer. A path: above {ATTENDED:g}"
    )
    table = in_order(pd.concat(found, ignore_index=True), "series", ("third symbol learnt", "not learnt"))
    return View(in_order(table, "group", LOOKED), "mean attention", "queries of 32 test rows", BAND, note=note)


def doubling(results: Results) -> View:
    """Of each network of three layers whether it learnt all three symbols (``value``), and ``doubles``: what is left.

    A circuit doubles where a path leads from the second answer to the third, one from the query to the second, and none
    from the query to the third.
    """
    found = []
    for arm in (one for one in (SCARCE, FRESH_SCARCE) if str(one) in results.arms):
        errors = final_losses(results, arm).query("place == 3").set_index("init_seed")["value"]
        sites = circuit_paths(results, str(arm)).groupby("init_seed")["site"].agg(set)
        left = sites.reindex(errors.index).map(lambda of: of if isinstance(of, set) else set())
        doubles = [DOUBLES <= of and not HOPS & of for of in left]
        found.append((errors < LEARNT).rename("value").reset_index().assign(doubles=doubles, arm=str(arm)))
    return View(pd.concat(found, ignore_index=True), "networks", "64 test rows")


DOUBLES, HOPS = {"value_1>value_2", "queries>value_1"}, {"queries>value_2"}


def three_numbers(networks: View) -> dict[str, str]:
    """How many of the first networks of three layers learnt all three symbols; how many of all that did double."""
    table = networks.published.astype({"value": bool, "doubles": bool})
    first, learnt = table[table["arm"] == str(SCARCE)], table[table["value"]]
    return {
        "n_scarce_learnt": f"{first['value'].sum()} of {len(first)}",
        "n_doubling": f"{learnt['doubles'].sum()} of {len(learnt)}",
    }


THREE_VIEWS = {view.__name__: view for view in (three_by_depth, three_training, three_taught, three_links, doubling)}
