"""The tables behind the figures of chains of three look-ups."""

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from livingpaper.figures.verdict_text import NOT_MEASURED
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import (
    ALL_LENGTHS,
    ENDS,
    FRESH_SCARCE,
    LAST_TWO,
    LONG_SCARCE,
    ONE_EACH,
    SCARCE,
    SHORTEST_FIRST,
    THREE,
    THREE_LAST,
    TO_SPARE,
)
from retrieval_circuits.stacked_heads.figures.grid import PATH, SYMBOLS, curves_of, errors_view
from retrieval_circuits.stacked_heads.readings import (
    LEARNT,
    circuit_rows,
    final_loss,
    final_losses,
    links_left,
)
from retrieval_circuits.stacked_heads.readings.three import AHEAD, looked_along

TAUGHT_WORDS = {
    str(ONE_EACH): "all three",
    str(LAST_TWO): "second and third",
    str(ENDS): "first and third",
    str(THREE_LAST): "third alone",
    str(SHORTEST_FIRST): "third alone, short chains first",
    str(ALL_LENGTHS): "third alone, all lengths",
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
KNOWS, KNOWS_NOT = "third symbol learnt", "not learnt"


def three_by_depth(results: Results) -> View:
    """Final error of each symbol of a chain of three, by layers, every step rewarded."""
    again = {FRESH_SCARCE: "3 layers, fresh seeds", LONG_SCARCE: "3, four times as long"}
    arms = [arm for arm in (*THREE[:2], *again, *THREE[2:]) if str(arm) in results.arms]
    layers = {str(arm): again.get(arm, arm.depth) for arm in arms}
    table = final_losses(results, *arms).sort_values("place", kind="stable")
    table = table.assign(group=table["cell"].map(layers), series=table["place"].map(SYMBOLS), arm=table["cell"])
    return errors_view(in_order(table, "group", layers.values())[["group", "series", "arm", "init_seed", "value"]])


def three_training(results: Results) -> View:
    """Errors of three symbols through training, at each depth."""
    return errors_view(curves_of(results, {cell: cell.depth for cell in THREE}))


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
        learnt = final_loss(arm, 3)(results) < LEARNT
        for name, link in LOOKED.items():
            rows = looked_along(arm, link, before_the_last=link in AHEAD)(results).rename("value").reset_index()
            series = rows["init_seed"].map(learnt).map({True: KNOWS, False: KNOWS_NOT})
            found.append(rows.assign(group=name, series=series, arm=str(arm)))
    networks = pd.concat(found).drop_duplicates(["arm", "init_seed"])["series"].value_counts()
    counts = ", ".join(f"{series} by {networks.get(series, 0)}" for series in (KNOWS, KNOWS_NOT))
    note = f"Networks: {counts}. Of each the head with most of it; of answers, heads before the last layer"
    table = in_order(pd.concat(found, ignore_index=True), "series", (KNOWS, KNOWS_NOT))
    table, rows = in_order(table, "group", LOOKED), "queries of 32 test rows"
    return View(table, "mean attention", rows, BAND, note=note, levels=PATH)


def ends(results: Results) -> View:
    """How each network makes the last look-up: a row for each whose circuit is read.

    Columns: ``value``, whether it learnt the third symbol; of the circuit that is left ``doubles`` (paths from the
    second answer to the third and from the query to the second, none from the query to the third) and ``hops`` (a path
    from the query to the third); ``error`` with maps set along it, and ``without`` its path from answer to answer.
    """
    found = []
    for arm in (one for one in (SCARCE, FRESH_SCARCE, ONE_EACH, TO_SPARE) if str(one) in results.arms):
        errors = final_loss(arm, 3)(results)
        left = links_left(results, str(arm)).reindex(errors.index)
        losses = circuit_rows(results, "circuit_loss", str(arm)).astype({"edit": str})
        without = circuit_rows(results, "loss_without_path", str(arm)).astype({"site": str})
        table = pd.DataFrame({"value": errors < LEARNT})
        table["hops"] = [HOP in of for of in left]
        table["doubles"] = [DOUBLES <= of and HOP not in of for of in left]
        table["error"] = losses[losses["edit"] == "paths"].set_index("init_seed")["value"]
        table["without"] = without[without["site"] == LOOK_AHEAD].groupby("init_seed")["value"].max()
        found.append(table.reset_index().assign(arm=str(arm)))
    return View(pd.concat(found, ignore_index=True), "networks", "64 test rows")


HOP, LOOK_AHEAD = "queries>value_2", "value_1>value_2"
DOUBLES = {LOOK_AHEAD, "queries>value_1"}


def three_numbers(networks: View) -> dict[str, str]:
    """How many networks learnt all three symbols, by depth, and how those of them make the last look-up."""
    table = networks.published
    table = table.assign(**{name: table[name].astype(bool) for name in ("value", "doubles", "hops")})
    of = {name: table[table["arm"] == str(arm)] for name, arm in COUNTED.items()}
    learnt = table[table["value"] & table["arm"].isin([str(SCARCE), str(FRESH_SCARCE)])]
    doubling = learnt[learnt["doubles"]]
    return {
        **{f"n_{name}_learnt": f"{part['value'].sum()} of {len(part)}" for name, part in of.items()},
        "n_doubling": f"{len(doubling)} of {len(learnt)}",
        "doubling_error": _number(doubling["error"].max()),
        "without_ahead": _number(doubling["without"].min()),
        "n_six_hop": f"{of['spare']['hops'].sum()} of {len(of['spare'])}",
    }


COUNTED = {"scarce": SCARCE, "fresh": FRESH_SCARCE, "four": ONE_EACH, "spare": TO_SPARE}


def _number(value: float) -> str:
    return NOT_MEASURED if np.isnan(value) else f"{value:.2f}"


THREE_VIEWS = {view.__name__: view for view in (three_by_depth, three_training, three_taught, three_links, ends)}
