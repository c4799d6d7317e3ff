"""The tables behind what the appendix says of the source's deepest network, trained again by its recipe."""

from itertools import combinations

import pandas as pd

from circuitcore.emergence import by_the_end, crossing_times
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, beside
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import DEEPEST
from retrieval_circuits.stacked_heads.figures.grid import SYMBOLS, in_words
from retrieval_circuits.stacked_heads.figures.lessons import NEVER
from retrieval_circuits.stacked_heads.published import DEEPEST as PUBLISHED
from retrieval_circuits.stacked_heads.readings import (
    ATTENDED,
    PREVIOUS,
    circuit_paths,
    circuit_rows,
    end_of,
    falls,
    heads_left,
)
from retrieval_circuits.stacked_heads.readings.lessons import path_attention

ANSWERS = [f"value_{k}" for k in range(4)]
EVENTS = {
    "path: value to its key": (PREVIOUS,),
    **{
        f"path: query to {name} answer": (("queries", answer),)
        for name, answer in zip(("first", "second", "third", "fourth"), ANSWERS, strict=True)
    },
    "path: an answer to a later one": tuple(combinations(ANSWERS, 2)),
}
"""What a reader calls a path -> the links that it may go along."""


def deepest_times(results: Results) -> View:
    """When each path and each symbol appears, one point a network."""
    found = []
    for name, links in EVENTS.items():
        times = crossing_times(path_attention(results, *links, arm=DEEPEST), ATTENDED, strictly=True)
        found.append(times.rename("value").reset_index().assign(group=name))
    for place, symbol in SYMBOLS.items():
        times = falls(results, DEEPEST, place)
        found.append(times.rename("value").reset_index().assign(group=f"error of the {symbol} falls"))
    table = pd.concat(found, ignore_index=True).assign(arm=DEEPEST)
    table = table.assign(**by_the_end(table["value"], end_of(results, DEEPEST)))
    table["series"] = "seed " + table["init_seed"].astype(str)
    note = f"Both thresholds are one half; between checkpoints lines are straight. {NEVER}"
    return View(table, "training step", "test", BAND, note=note)


def deepest_numbers(results: Results) -> View:
    """The source's numbers of its deepest network beside those of ours by its recipe."""
    losses = circuit_rows(results, "circuit_loss", DEEPEST).astype({"edit": str})
    every = tuple(link for links in EVENTS.values() for link in links)
    first = crossing_times(path_attention(results, *every, arm=DEEPEST), ATTENDED, strictly=True)
    ours = {
        "squared error at the end": results.final_values("loss", DEEPEST),
        "squared error with every map replaced": losses[losses["edit"] == "paths"].set_index("init_seed")["value"],
        "heads that are used": heads_left(results, DEEPEST),
        "step at which the first path appears": first,
    }
    return beside(PUBLISHED, ours)


def deepest_circuits(results: Results) -> View:
    """The paths that are left in each, layer by layer, counted from zero; one without a path has an empty cell."""
    paths = circuit_paths(results, DEEPEST).sort_values(["init_seed", "layer", "head", "site"])
    words = "L" + paths["layer"].astype(str) + "H" + paths["head"].astype(str) + " " + paths["site"].map(in_words)
    left = paths.assign(words=words).groupby("init_seed")["words"].agg("; ".join)
    left = left.reindex(pd.Index(results.seeds(DEEPEST), name="init_seed"), fill_value="")
    table = left.rename("paths that are left").reset_index().assign(arm=DEEPEST)
    return View(table[["arm", "init_seed", "paths that are left"]], "paths", "test")


DEEPEST_VIEWS = {view.__name__: view for view in (deepest_times, deepest_numbers, deepest_circuits)}
