"""The tables behind the figures of the grid and of the theory, with what each caption must say."""

from collections.abc import Mapping

import pandas as pd

from circuitcore.tasks.chains import ChainRetrieval
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import (
    ALONE,
    FLOW,
    FOLLOWED,
    FRESH,
    LAST_ALONE,
    ONE,
    ONE_DEEP,
    REWARDED,
    SIX_ALONE,
    THREE,
    VOCABULARY,
    WIRED,
    Cell,
    Lesson,
)
from retrieval_circuits.stacked_heads.published import LAYERS_USED
from retrieval_circuits.stacked_heads.readings import (
    ATTENDED,
    FIRST,
    JUMP,
    LEARNT,
    PREVIOUS,
    SECOND,
    circuit_rows,
    depth_needed,
    final_attention,
    final_loss,
    final_losses,
)

PLATEAU = ChainRetrieval().plateau
ERROR = "squared error"
LEVELS = {"knows the step alone": PLATEAU, "learnt below": LEARNT}
"""What an error is held against: of who knows the step and not the chain, and the source's threshold."""
PATH = {"a path above": ATTENDED}
"""Mean attention from which a link is a path, as the source has it."""
LINKS = {
    "value to its key": PREVIOUS,
    "query to first answer": FIRST,
    "query to second answer": SECOND,
    "first answer to second": JUMP,
}
"""What a reader calls a link -> its roles."""
SYMBOLS = {1: "first symbol", 2: "second symbol", 3: "third symbol", 4: "fourth symbol", 5: "fifth symbol"}
"""What a reader calls the symbol that so many look-ups lead to."""


def example(results: Results) -> View:
    """One row of the task, block by block: letters are chains, numbers places in them."""
    task = ChainRetrieval(n_steps=2)
    batch = task.split("test")
    found = []
    for block, role in (
        ("pairs of the second step", "key_1"),
        ("pairs of the first step", "key_0"),
        ("queries", "queries"),
    ):
        order = batch.roles[role][0].argsort().tolist()
        place = {"key_1": 1, "key_0": 0, "queries": 0}[role]
        names = [f"{'abcd'[chain]}{place}" for chain in order]
        shown = names if role == "queries" else [f"({name} {name[0]}{place + 1})" for name in names]
        first = int(batch.roles[role][0].min())
        last = int(batch.roles[role][0].max()) + (role != "queries")
        found.append({"block": block, "positions": f"{first} to {last}", "what stands there": "  ".join(shown)})
    return View(pd.DataFrame(found), "one row", "test")


SHOWN = (1, 2, 3, 4, 5, 6, 8, 16, 32, 64, 128)
"""Lengths of chains that the table of layers has rows for."""
COUNTED = {"open": "no mask", "causal": "causal mask", "one_hop": "one look-up a layer"}
"""Who may attend to whom -> the heading of a column."""


DEPTHS = (ONE, REWARDED, THREE)
"""Depths of one, two and three look-ups that have the same seeds."""


def layers_needed(results: Results) -> View:
    """Layers that a chain of look-ups takes, beside the published bound and what trained networks use."""
    rows = results.tables[FLOW]
    rows = rows[rows["depth"].isin(SHOWN)]
    wide = rows.pivot(index="depth", columns="variant", values="layers")[list(COUNTED)].rename(columns=COUNTED)
    wide.insert(0, "the source's bound", rows.groupby("depth")["bound_layers"].first())
    used = {depth: ", ".join(map(str, sorted(set(layers)))) for depth, layers in LAYERS_USED.items()}
    table = wide.reset_index().rename(columns={"depth": "look-ups"}).rename_axis(columns=None)
    table["the source's networks"] = table["look-ups"].map(used).fillna("")
    table["ours, fewest that learnt"] = table["look-ups"].map(fewest_layers(results)).fillna("")
    tried = "; ".join(f"{n} look-ups: {', '.join(map(str, layers))}" for n, layers in _layers_tried(results).items())
    note = (
        "The source's networks, of twelve layers and more: those with a head that is used. Ours: the fewest with which "
        f"each seed learnt the last symbol, of those tried ({tried})"
    )
    return View(table.assign(arm=FLOW), "layers", "no rows", note=note.replace("1 look-ups", "1 look-up"))


def _layers_tried(results: Results) -> dict[int, list[int]]:
    """Look-ups of a chain -> numbers of layers that were trained on it, every step rewarded."""
    tried = ((*ONE, *ONE_DEEP), REWARDED, THREE)
    found = {cells[0].n_steps: [one.n_layers for one in cells if str(one) in results.arms] for cells in tried}
    return {n_steps: layers for n_steps, layers in found.items() if layers}


def fewest_layers(results: Results) -> dict[int, str]:
    """Look-ups of a chain -> with how few layers, of those tried, seeds learnt the last symbol; every step rewarded."""
    found = {}
    for cells in DEPTHS:
        if all(str(cell) in results.arms for cell in cells):
            n_steps, most = cells[0].n_steps, max(cell.n_layers for cell in cells)
            layers = sorted(set(depth_needed(results, *cells)[n_steps]))
            words = [f"{n:.0f}" if n <= most else f"more than {most}" for n in layers]
            found[n_steps] = ", ".join(words)
    return found


def wired(results: Results) -> View:
    """The layer wired by hand: its error and its size."""
    table = results.tables[WIRED].rename(columns=SIZES)
    return View(table[["arm", *SIZES.values()]], "squared error", "test")


def vocabularies(results: Results) -> View:
    """The layer wired for a vocabulary: how many symbols so many neurons follow, and what is right beyond."""
    return View(results.tables[VOCABULARY].rename(columns=FOLLOWS)[["arm", *FOLLOWS.values()]], "share right", "test")


FOLLOWS = {
    "depth": "look-ups", "n_chains": "chains", "n_neurons": "neurons", "largest": "symbols, all chains followed",
    "right": "right", "beyond": "right with twice the symbols", "chance": "by guessing",
}  # fmt: skip
SIZES = {
    "depth": "look-ups", "error": "squared error", "n_heads": "heads", "n_neurons": "neurons", "d_model": "channels",
}  # fmt: skip


def by_depth(results: Results) -> View:
    """Final error of each symbol of a chain, by layers, every step rewarded."""
    table = final_losses(results, *REWARDED)
    layers = {str(cell): cell.depth for cell in REWARDED}
    table = table.assign(group=table["cell"].map(layers), series=table["place"].map(SYMBOLS), arm=table["cell"])
    table = in_order(table.sort_values("place", kind="stable"), "group", layers.values())
    return errors_view(table[["group", "series", "arm", "init_seed", "value"]])


def one_step(results: Results) -> View:
    """Final error of the only answer, by layers."""
    cells = [cell for cell in (*ONE, *ONE_DEEP) if str(cell) in results.arms]
    table = final_losses(results, *cells)
    layers = {str(cell): cell.depth for cell in cells}
    table = in_order(table.assign(group=table["cell"].map(layers), arm=table["cell"]), "group", layers.values())
    return errors_view(table[["group", "arm", "init_seed", "value"]])


def training(results: Results) -> View:
    """Errors of both symbols through training, with just as many layers as look-ups need and with more."""
    shown = [cell for cell in REWARDED if cell.n_layers in (2, 3, 4, 6)]
    return errors_view(curves_of(results, {cell: cell.depth for cell in shown}))


def unrewarded(results: Results) -> View:
    """Error of the last symbol through a longer training in which nothing else is rewarded, by layers."""
    cells = sorted((*ALONE, *LAST_ALONE, SIX_ALONE), key=lambda cell: cell.n_layers)
    return errors_view(curves_of(results, {cell: cell.depth for cell in cells if str(cell) in results.arms}))


def curves_of(results: Results, panels: Mapping[Cell | Lesson, str]) -> pd.DataFrame:
    """Errors of every symbol that is asked for through training, a panel for each arm."""
    found = []
    for cell, words in panels.items():
        rows = results.curve("partial_loss", str(cell))
        found.append(rows.assign(series=rows["variable"].astype(str).map(_symbol), panel=words, arm=str(cell)))
    table = pd.concat(found, ignore_index=True)
    return table[["panel", "series", "step", "arm", "init_seed", "value"]]


def final_paths(results: Results) -> View:
    """Attention along each link at the end of training, one point a seed."""
    found = [
        final_attention(*link)(results).rename("value").reset_index().assign(group=name) for name, link in LINKS.items()
    ]
    table = pd.concat(found, ignore_index=True).assign(arm=str(FOLLOWED))
    note = "Of each network the head with most of it"
    return View(table, "mean attention", _looked(results), BAND, note=note, levels=PATH)


ACCEPTED = 0.05
"""The error that the source accepts where attention is set."""
SET = {
    "none": "the network itself",
    "candidates": "heads look along all candidate paths, else evenly",
    "paths": "heads look along the paths that are left, else evenly",
    "uniform": "every head looks evenly everywhere",
}
"""How the attention of all heads is set -> what a reader calls it."""


def set_attention(results: Results) -> View:
    """Squared error with every head's attention set by role, one point a seed; of fresh networks that learnt both."""
    found = [circuit_rows(results, "circuit_loss").assign(series="the ten followed")]
    if str(FRESH) in results.arms:
        both = pd.concat([final_loss(FRESH, place)(results) for place in (1, 2)], axis=1).max(axis=1) < LEARNT
        fresh = circuit_rows(results, "circuit_loss", str(FRESH))
        found.append(fresh[fresh["init_seed"].map(both)].assign(series="fresh ones that learnt both"))
    rows = pd.concat(found, ignore_index=True)
    table = rows.assign(group=rows["edit"].astype(str).map(SET))
    table = in_order(table, "group", SET.values())[["group", "series", "arm", "init_seed", "value"]]
    note = (
        "A path is a link with mean attention above one half. Paths are taken away while the error stays within "
        f"{ACCEPTED:g} of the network's own, or of that along all candidates where that is more"
    )
    levels = {"knows the step alone": PLATEAU, "one symbol of two lost": PLATEAU / FOLLOWED.n_steps}
    return View(table, ERROR, f"{rows['n'].iloc[0]} queries of the test rows", BAND, note=note, levels=levels)


def in_words(site: str) -> str:
    """``query to value 0`` for ``queries>value_0``."""
    return " to ".join(name.replace("queries", "query").replace("_", " ") for name in site.split(">"))


def _looked(results: Results) -> str:
    return f"{results.curve('attention', str(FOLLOWED))['n'].iloc[0]} queries of the test rows"


def errors_view(table: pd.DataFrame) -> View:
    """The view of squared errors on test rows, one point a seed."""
    return View(table, ERROR, "test", BAND, levels=LEVELS)


def _symbol(variable: str) -> str:
    return SYMBOLS[int(variable.removeprefix("x_"))]


PLACES = {1: "its best place", 2: "second", 3: "third", 4: "its worst place"}

GRID = {
    view.__name__: view
    for view in (
        *(example, by_depth, one_step, training, unrewarded, final_paths),
        *(set_attention, layers_needed, wired, vocabularies),
    )
}
