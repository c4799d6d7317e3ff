"""Figures of what is forced: read-outs, depths and numbers of heads side by side, and what the page says of them."""

from collections.abc import Callable

import pandas as pd

from livingpaper.claims.reading import at_end
from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.view import View
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.design import BAND
from retrieval_circuits.six_run_matrix.design import CELLS, KEPT_WHOLE, SOURCE_DATA_SET, cell_name, data_set_of
from retrieval_circuits.six_run_matrix.readings import forced, per_seed

SWEPT = "test prompts, each asked for all three keys"
LENGTHS = {"test": "three pairs (trained on)", "train_2_pairs": "two pairs", per_seed.OOD: "four pairs"}
"""Split -> how many pairs its prompts have; the cells are trained on three pairs alone."""
DEEP_AT_ARROW = "arrow, 3 layers, 2 heads each"
COUNTED = {"layer": "best layer", "tied": "tied with the last layer", "guesses": "no head above chance"}
"""Column -> its name in the table of best layers."""
FIRST_LAYER, LATER = "layer 0, its best head", "a later layer, its best head"


def cells(results: Results) -> View:
    """What the read-out, the depth and the number of heads change: accuracy at each length of prompt."""

    def of_cell(arm: str, layers: int) -> dict[str, pd.Series]:
        return {series: per_seed.accuracy(results, arm, split) for split, series in LENGTHS.items()}

    table = _of_cells(results, of_cell)
    note = "A guess among the values of a prompt: 1/2 with two pairs, 1/3 with three, 1/4 with four."
    return View(table, "share of prompts", "held-out prompts", BAND + _seeds_of(table), note=note)


def cells_lost(results: Results) -> View:
    """What layer 0's heads are worth at the read-out of each cell."""

    def of_cell(arm: str, layers: int) -> dict[str, pd.Series]:
        return {"": per_seed.heads_lost(results, arm, "mean@read_out", "L0H*")}

    table = _of_cells(results, of_cell).drop(columns="series")
    return View(table, "accuracy lost without layer 0 at the read-out", SWEPT, BAND + _seeds_of(table))


def cells_routing(results: Results) -> View:
    """How often heads of each cell attend to the right value: the best of layer 0, and of the layers after it."""

    def of_cell(arm: str, layers: int) -> dict[str, pd.Series]:
        sought = {FIRST_LAYER: [0], LATER: list(range(1, layers))}
        return {
            series: per_seed.best_head(results, "routing_value", arm, family=per_seed.SWEEP, layer=among)
            for series, among in sought.items()
            if among
        }

    table = _of_cells(results, of_cell)
    return View(table, "share of prompts", SWEPT, BAND + _seeds_of(table), 1 / 3, _elsewhere(table))


def _of_cells(results: Results, of_cell: Callable[[str, int], dict[str, pd.Series]]) -> pd.DataFrame:
    """``group series init_seed value``: what ``of_cell`` reads, by arm and layers, of every cell that was trained."""
    parts = []
    for read_out, layers, heads in CELLS:
        arm, group = cell_name(read_out, layers, heads), _named(read_out, layers, heads)
        if per_seed.has(results, arm):
            for series, values in of_cell(arm, layers).items():
                read = values.rename("value").reset_index()[["init_seed", "value"]]
                parts.append(read.assign(group=group, series=series))
    return pd.concat(parts, ignore_index=True)


def _seeds_of(table: pd.DataFrame) -> str:
    """How many seeds each row has, for the caption, the commonest number last; "" where all have as many."""
    n = table.groupby("group", sort=False)["init_seed"].nunique()
    if n.nunique() == 1:
        return ""
    usual = int(n.mode()[0])
    rows_of = {int(seeds): list(rows.index) for seeds, rows in n.groupby(n)}
    counts = [f"{seeds} in {_listed(rows_of[seeds])}" for seeds in sorted(set(rows_of) - {usual}, reverse=True)]
    rest = rows_of[usual]
    return f"; seeds: {'; '.join(counts)}; {usual} in {'every other row' if len(rest) > 1 else _listed(rest)}"


def _listed(groups: list[str]) -> str:
    names = [f"'{group}'" for group in groups]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _elsewhere(table: pd.DataFrame) -> str:
    """How many networks of three layers answer at the arrow without a head there that finds the value."""
    deep = table[(table["group"] == DEEP_AT_ARROW) & (table["series"] == LATER)]
    if deep.empty:
        return ""
    blind = int((deep["value"] < MORE_OFTEN_THAN_NOT.value).sum())
    return (
        f"With three layers, no head at the arrow attends to the right value more often than not in {blind} of "
        f"{len(deep)} seeds."
    )


def one_layer_pair(results: Results) -> View:
    """Routing to key or value of the best head, in networks of one layer read out at the query; one number a seed."""
    values = at_end("routing", forced.QUERY_ONE, "max", family=per_seed.SWEEP)(results)
    return View(values.rename("value").reset_index().assign(arm=forced.QUERY_ONE), "share of prompts", SWEPT)


def pair_numbers(pairs: View) -> dict[str, str]:
    """In how many of them a head attends to the matching pair on more than half of the prompts."""
    values = pairs.published["value"]
    return {"one_layer_pair": f"{(values > 0.5).sum()} of {len(values)}"}


def _named(read_out: str, layers: int, heads: int) -> str:
    """What a reader calls a cell."""
    many = f"{layers} layers, {heads} heads each" if layers > 1 else f"1 layer, {heads} heads"
    return f"{read_out}, {many}"


def cell_numbers(cells: View) -> dict[str, str]:
    """What the page prints of ``cells``, by the name under which the page has it."""
    trained, shorter, longer = LENGTHS.values()
    one, two = _named("query", 1, 2), _named("query", 2, 2)
    return {
        "one_layer_at_arrow": _reached(cells, _named("arrow", 1, 2), trained),
        "one_layer_shorter": _reached(cells, one, shorter),
        "one_layer_longer": _reached(cells, one, longer),
        "two_layers_shorter": _reached(cells, two, shorter),
        "two_layers_longer": _reached(cells, two, longer),
    }


def _reached(cells: View, group: str, series: str) -> str:
    """What the networks of a group reach in a series, from the worst to the best."""
    rows = cells.published
    values = rows.loc[(rows["group"] == group) & (rows["series"] == series), "value"]
    if values.empty:
        return "(not measured)"
    ends = dict.fromkeys(f"{100 * value:.0f}" for value in (values.min(), values.max()))
    return f"{' to '.join(ends)} %"


def support_numbers(lost: View) -> dict[str, str]:
    """What the page prints of ``cells_lost``: networks of three layers that do without layer 0 at the arrow.

    Those on the source's data set, and those on data sets of their own.
    """
    rows = lost.published
    rows = rows[rows["group"] == DEEP_AT_ARROW]
    spared, theirs = rows["value"] <= forced.HARDLY_NEEDED, rows["init_seed"].map(data_set_of) == SOURCE_DATA_SET
    parts = {"spared_on_source": spared[theirs], "spared_elsewhere": spared[~theirs]}
    return {name: f"{int(part.sum())} of {len(part)}" for name, part in parts.items()}


def routing_layers(results: Results) -> View:
    """Which layer of three holds the best routing head."""
    parts = [forced.routing_layers(results, arm).assign(arm=arm) for arm in forced.DEEP if per_seed.has(results, arm)]
    if not parts:
        raise SelectionError("no networks of three layers were trained")
    table = pd.concat(parts, ignore_index=True)
    groups = table.groupby(["arm", "layer"], observed=True)
    counts = groups.agg(runs=("tied", "size"), tied=("tied", "sum"), guesses=("guesses", "sum")).reset_index()
    return View(counts.astype({"runs": int, "tied": int, "guesses": int}).rename(columns=COUNTED), "runs", SWEPT)


def tie_numbers(layers: View) -> dict[str, str]:
    """What the page prints of ``routing_layers``: networks in which a lower layer leads, or ties, or no head routes."""
    rows, found = layers.published, {}
    for arm, read in zip(forced.DEEP, ("arrow", "query"), strict=True):
        of_arm = rows[rows["arm"] == arm]
        tied, none = (int(of_arm[COUNTED[name]].sum()) for name in ("tied", "guesses"))
        lower, n = of_arm.loc[of_arm[COUNTED["layer"]] < forced.LAST, "runs"].sum() - tied, of_arm["runs"].sum()
        counts = {f"lower_at_{read}": lower, f"tied_at_{read}": tied, f"no_router_at_{read}": none}
        found |= {name: f"{count} of {n}" for name, count in counts.items()}
    return found


LOOKED = dict(zip(KEPT_WHOLE, ("arrow", "query"), strict=True))
"""Arm -> where its answer is read, for two layers of two heads."""
TOKENS = {0: "the key", 1: "its value", 2: "the separator after it"}
"""Positions past the matching key -> what stands there."""


def looked_at(results: Results) -> View:
    """Where layer 1 looks from the read-out: attention to the three tokens of the matching pair, mean of its heads."""
    shots = results.snapshots
    if shots.empty or not per_seed.has(results, *LOOKED):
        raise SelectionError("no attention was kept of networks read out at the query")
    rows = shots[(shots["kind"] == "pattern") & shots["arm"].isin(list(LOOKED))]
    rows = rows[rows["head"].astype(str).str.startswith("L1")].astype({"run_id": "str"})
    rows = rows[rows["step"] == rows.groupby("run_id")["step"].transform("max")]
    rows = rows[rows["row"] == rows.groupby(["run_id", "prompt"])["row"].transform("max")]
    past = rows["column"] - _matching_key(rows)
    rows = rows.assign(token=past.map(TOKENS), read=rows["arm"].map(LOOKED)).dropna(subset=["token"])
    table = rows.groupby(["read", "token", "init_seed"], observed=True)["value"].mean().reset_index()
    table = table.assign(group="read out at the " + table["read"], series=table["token"])
    order = {token: place for place, token in enumerate(TOKENS.values())}
    table = table.sort_values(["read", "series"], key=lambda column: column.map(order).fillna(0), kind="stable")
    return View(
        table[["group", "series", "init_seed", "value"]], "attention", "two test prompts", BAND + _seeds_of(table)
    )


def _matching_key(rows: pd.DataFrame) -> pd.Series:
    """Column of the key that a prompt asks for: the first column with the word of its queried key."""
    prompt = [rows["run_id"], rows["prompt"], rows["head"]]
    last = rows["column"].groupby(prompt, observed=True).transform("max")
    asked = rows["arm"].map({arm: int(read == "arrow") for arm, read in LOOKED.items()})  # the arrow comes after it
    word = rows["column_label"].astype(str)
    query = word.where(rows["column"] == last - asked).groupby(prompt, observed=True).transform("first")
    return rows["column"].where(word == query).groupby(prompt, observed=True).transform("min")


VIEWS = {
    "cells": cells,
    "cells_lost": cells_lost,
    "cells_routing": cells_routing,
    "routing_layers": routing_layers,
    "looked_at": looked_at,
    "one_layer_pair": one_layer_pair,
}
