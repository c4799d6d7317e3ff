"""What the streams of a network hold after each layer."""

from collections.abc import Collection
from dataclasses import replace

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.composition.design import FOLLOWED, FOUR, HOPS, KEPT_TWO, LONG_THREE, LONG_TWO, WORDS, Arm
from retrieval_circuits.composition.figures.curves import GUESS, ROWS
from retrieval_circuits.composition.readings import (
    ANSWERED,
    MAPS,
    QUERY,
    exchanged,
    final_accuracy,
    holds,
    seeds_answering,
)
from retrieval_circuits.design import BAND


def held(results: Results) -> View:
    """What streams hold after each layer of the networks with three layers, three hops being asked for."""
    return _held(results, FOLLOWED, 3)


def held_longer(results: Results) -> View:
    """The same of networks of three layers, trained for much longer, four hops being asked for."""
    return _held_where_answered(results, LONG_THREE)


def held_gates(results: Results) -> View:
    """The same of networks of two layers."""
    return _held_where_answered(results, LONG_TWO)


def _held_where_answered(results: Results, arm: Arm) -> View:
    """The view of networks of an arm that answer four hops; of all, where none does."""
    view = _held(results, arm, HOPS, seeds_answering(results, arm, HOPS))
    return replace(view, note=f"Networks that answer four hops; all, where none does. {view.note}")


def share_held(held: View, words_of: int, done: int) -> str:
    """Of such a view: in how many pairs, after one layer, words of a permutation hold so many hops."""
    rows = held.published.astype({"panel": str, "row": str, "column": str})
    here = (rows["panel"] == f"words of permutation {words_of}") & (rows["row"] == _so_many_hops(done))
    return f"{rows[here & (rows['column'] == _after(1))]['value'].mean():.0%}"


def _held(results: Results, arm: Arm, hops: int, seeds: Collection[int] = ()) -> View:
    """The view of ``held``, of networks of some init seeds; of all where none is given."""
    rows = exchanged(results, arm, MAPS, hops)
    done = rows["edit"].astype(str).str.removeprefix("hops_").astype(int)
    panel = rows["variable"].astype(str).str.removeprefix("maps_").map("words of permutation {}".format)
    maps = rows.assign(done=done, panel=panel)
    query = exchanged(results, arm, QUERY, hops)
    query = query.assign(done=query["variable"].astype(str).str.removeprefix("x_").astype(int), panel="the query")
    table = pd.concat([maps, query], ignore_index=True)
    if len(seeds):
        table = table[table["init_seed"].isin(seeds)]
    table = table.groupby(["panel", "done", "after"], sort=True)["value"].mean().reset_index()
    table = table.assign(row=table["done"].map(_so_many_hops), column=table["after"].map(_after))
    panels = [f"words of permutation {hop}" for hop in range(1, hops + 1)] + ["the query"]
    table = in_order(table.sort_values(["done", "after"], kind="stable"), "panel", panels)
    return View(
        table[["panel", "row", "column", "value"]].assign(arm=str(arm)), "share of pairs", ROWS, chance=GUESS,
        note="Means over seeds. Columns: before the first layer, and after so many layers. Of the words of a "
        "permutation the hops are the last that lead to it. No hop: the answer stays; of the query, it goes on from "
        "the other row's start. A wrong prediction comes true in about one pair of four",
    )  # fmt: skip


def _so_many_hops(done: int) -> str:
    return "no hop" if not done else WORDS[done]


def _after(layers: int) -> str:
    return "before" if not layers else f"after {layers}"


HELD_BETWEEN = {
    "second: two hops": (MAPS, "maps_2", {"edit": "hops_2"}),
    "third: hops two and three": (MAPS, "maps_3", {"edit": "hops_2"}),
    "third: changes nothing": (MAPS, "maps_3", {"edit": "hops_0"}),
    "query: the first hop": (QUERY, "x_1", {}),
    "query: its start": (QUERY, "x_0", {}),
}
"""What words of a permutation, or the query, may hold between two layers -> metric, variable, and more columns of
``exchanged``."""


def held_two(results: Results) -> View:
    """What each network of two layers that was taught in turn holds between them, three hops being asked for."""
    found = {
        name: holds(KEPT_TWO, metric, 3, 1, variable=variable, **more)(results)
        for name, (metric, variable, more) in HELD_BETWEEN.items()
    }
    table = pd.concat(found, names=["group", "init_seed"]).rename("value").reset_index().assign(arm=str(KEPT_TWO))
    right = final_accuracy(KEPT_TWO, 3)(results) >= ANSWERED
    table["series"] = table["init_seed"].map(right).map({True: "answers three hops", False: "does not"})
    table = in_order(table.sort_values("series", kind="stable"), "group", HELD_BETWEEN)
    return View(
        table[["group", "series", "arm", "init_seed", "value"]], "share of pairs", ROWS, BAND, chance=GUESS,
        note="Words of the second and of the third permutation, and the query, after the first of two layers",
    )  # fmt: skip


def held_deep(results: Results) -> View:
    """The same of the networks with four layers, nearly all of which answer three hops."""
    return _held(results, FOUR, 3)
