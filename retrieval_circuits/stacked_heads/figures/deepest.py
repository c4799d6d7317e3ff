"""The tables behind what the appendix says of the source's deep networks, trained again by its recipes."""

from itertools import combinations

import pandas as pd

from circuitcore.emergence import by_the_end, crossing_times
from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.view import View, beside, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.stacked_heads.design import BY_THE_SOURCE, DEEP, DEEPEST
from retrieval_circuits.stacked_heads.figures.grid import ERROR, SYMBOLS, in_words
from retrieval_circuits.stacked_heads.figures.lessons import NEVER
from retrieval_circuits.stacked_heads.published import DEEPEST as PUBLISHED
from retrieval_circuits.stacked_heads.published import TWELVE
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
from retrieval_circuits.stacked_heads.readings.needed import looks


def events(n_steps: int) -> dict[str, tuple[tuple[str, str], ...]]:
    """What a reader calls a path of chains of so many look-ups -> the links that it may go along."""
    answers = [f"value_{k}" for k in range(n_steps)]
    return {
        "path: value to its key": (PREVIOUS,),
        **{
            f"path: query to {name} answer": (("queries", answer),)
            for name, answer in zip(("first", "second", "third", "fourth"), answers, strict=False)
        },
        "path: an answer to a later one": tuple(combinations(answers, 2)),
    }


def deepest_times(results: Results) -> View:
    """When each path and each symbol appears, one point a network."""
    table = pd.concat([_times(results, arm) for arm in _trained(results)], ignore_index=True)
    note = f"Both thresholds are one half; between checkpoints lines are straight. {NEVER}"
    return View(in_order(table, "group", dict.fromkeys(table["group"])), "training step", "test", BAND, note=note)


def _trained(results: Results) -> list[str]:
    """The arms that there are."""
    return [arm for arm in BY_THE_SOURCE if arm in results.arms]


def _words(arm: str) -> str:
    return f"{BY_THE_SOURCE[arm].n_layers} layers"


def _times(results: Results, arm: str) -> pd.DataFrame:
    n_steps, found = BY_THE_SOURCE[arm].n_steps, []
    for name, links in events(n_steps).items():
        times = crossing_times(path_attention(results, *links, arm=arm), ATTENDED, strictly=True)
        found.append(times.rename("value").reset_index().assign(group=name))
    for place in range(1, n_steps + 1):
        times = falls(results, arm, place)
        found.append(times.rename("value").reset_index().assign(group=f"error of the {SYMBOLS[place]} falls"))
    table = pd.concat(found, ignore_index=True).assign(arm=arm)
    table = table.assign(**by_the_end(table["value"], end_of(results, arm)))
    return table.assign(series=f"{_words(arm)}, seed " + table["init_seed"].astype(str))


def deepest_numbers(results: Results) -> View:
    """The source's numbers of its deep networks beside those of ours by its recipes."""
    losses = circuit_rows(results, "circuit_loss", DEEPEST).astype({"edit": str})
    every = tuple(link for links in events(BY_THE_SOURCE[DEEPEST].n_steps).values() for link in links)
    first = crossing_times(path_attention(results, *every, arm=DEEPEST), ATTENDED, strictly=True)
    ours = {
        "squared error at the end": results.final_values("loss", DEEPEST),
        "squared error with every map replaced": losses[losses["edit"] == "paths"].set_index("init_seed")["value"],
        "heads that are used": heads_left(results, DEEPEST),
        "step at which the first path appears": first,
    }
    if DEEP in results.arms:
        of_twelve = (results.final_values("loss", DEEP), heads_left(results, DEEP))
        ours |= dict(zip(TWELVE, of_twelve, strict=True))
    return beside(PUBLISHED | TWELVE, ours)


def deepest_circuits(results: Results) -> View:
    """The paths that are left in each, layer by layer, counted from zero; one without a path has an empty cell."""
    found = []
    for arm in _trained(results):
        paths = circuit_paths(results, arm).sort_values(["init_seed", "layer", "head", "site"])
        words = "L" + paths["layer"].astype(str) + "H" + paths["head"].astype(str) + " " + paths["site"].map(in_words)
        left = paths.assign(words=words).groupby("init_seed")["words"].agg("; ".join)
        left = left.reindex(pd.Index(results.seeds(arm), name="init_seed"), fill_value="")
        found.append(left.rename("paths that are left").reset_index().assign(arm=arm, network=_words(arm)))
    table = pd.concat(found, ignore_index=True)
    return View(table[["arm", "network", "init_seed", "paths that are left"]], "paths", "test")


def needed_in_deep(results: Results) -> View:
    """What each look of the network of twelve layers is worth, attention being free, and whether its circuit has it."""
    if DEEP not in results.arms:
        raise SelectionError("no network of twelve layers is trained: deep_seeds is empty")
    found = []
    table = looks(results, DEEP).sort_values(["init_seed", "layer", "head", "site"])
    for row in table.to_dict("records"):
        errors = {f"error of the {SYMBOLS[int(name[2:])]}": f"{row[name]:.3f}" for name in row if name.startswith("x_")}
        words = f"L{row['layer']}H{row['head']} {in_words(row['site'])}"
        kept = "yes" if row["left"] else "no"
        found.append({"arm": DEEP, "init_seed": row["init_seed"], "look": words, **errors, "in its circuit": kept})
    note = "Squared error with that look forbidden, in all chains, and attention otherwise as the network has it"
    return View(pd.DataFrame(found), ERROR, "test", note=note)


DEEPEST_VIEWS = {view.__name__: view for view in (deepest_times, deepest_numbers, deepest_circuits, needed_in_deep)}
