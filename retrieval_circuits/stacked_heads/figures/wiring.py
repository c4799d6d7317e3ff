"""The tables behind the drawings of circuits: in every network the paths that are left when others are taken away."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.stacked_heads.design import (
    EVERY_FOUR,
    FOLLOWED,
    FRESH,
    FRESH_FOUR,
    FRESH_SCARCE,
    ONE_EACH,
    SCARCE,
    TO_SPARE,
    WITHOUT_THIRD,
    Cell,
    Lesson,
)
from retrieval_circuits.stacked_heads.readings import circuit_paths
from retrieval_circuits.stacked_heads.readings.three import symbols_learnt

AHEAD, HOPS, OTHER = "an answer looks at a later one", "the query looks at an answer", "a key is looked at"
KINDS = pd.CategoricalDtype([HOPS, AHEAD, OTHER])
"""In one order, so that a colour means the same in every drawing."""


def drawn(results: Results, arms: Mapping[Cell | Lesson, str]) -> View:
    """The paths that are left in each network of some arms, of which it says what, those that learnt most first."""
    there = [arm for arm in arms if str(arm) in results.arms] or list(arms)  # the first is then named as missing
    n_steps = max(arm.n_steps for arm in there)
    roles = [f"{part}_{step}" for step in reversed(range(n_steps)) for part in ("key", "value")] + ["queries"]
    kind = pd.CategoricalDtype([_short(role) for role in roles])
    found = []
    for arm in there:
        paths = circuit_paths(results, str(arm))
        every = pd.DataFrame({"init_seed": results.seeds(str(arm))}).merge(paths, how="left", on="init_seed")
        ends = every["site"].astype(object).str.split(">", expand=True).reindex(columns=[0, 1])
        known = every["init_seed"].map(symbols_learnt(arm)(results))
        named = arms[arm] + "seed " + every["init_seed"].astype(str) + ": " + known.astype(str) + " learnt"
        found.append(every.assign(
            panel=named, layers=arm.n_layers, target=ends[0].map(_short), source=ends[1].map(_short),
            series=every["site"].map(_kind), learnt=known, arm=str(arm),
        ))  # fmt: skip
    table = pd.concat(found, ignore_index=True).astype({"source": kind, "target": kind, "series": KINDS})
    table = table.sort_values(["layers", "learnt"], ascending=[True, False], kind="stable")
    note = (
        "Across: k a key, a the answer of its pair, q the query; layers go up. Over each: how many symbols it learnt. "
        "Paths of a position to itself are not drawn; none are left where none came about, or where answers are "
        "lost once attention is set along them"
    )
    columns = ["panel", "layers", "layer", "head", "source", "target", "series", "value", "arm", "init_seed"]
    return View(table[columns], "mean attention, told when a line is pointed at", "64 test rows", note=note)


def _short(role: object) -> object:
    """``a2`` for the second answer, which is value 1; ``k2`` for the key of its pair; ``q`` for the query."""
    if not isinstance(role, str):
        return role
    if role == "queries":
        return "q"
    part, step = role.split("_")
    return f"{'a' if part == 'value' else 'k'}{int(step) + 1}"


def _kind(site: object) -> object:
    if not isinstance(site, str):
        return site
    looks, at = site.split(">")
    if at.startswith("key"):
        return OTHER
    return HOPS if looks == "queries" else AHEAD


CIRCUITS_OF = {
    "circuits_of_two": dict.fromkeys((FOLLOWED, FRESH), ""),
    "circuits_of_three": dict.fromkeys((SCARCE, FRESH_SCARCE), ""),
    "circuits_deeper": {arm: f"{arm.depth}, " for arm in (ONE_EACH, TO_SPARE)},
    "circuits_of_four": {EVERY_FOUR: "", FRESH_FOUR: "", WITHOUT_THIRD: "no third, "},
}
"""Pictures -> their arms, and what is said of each beside the seed."""
WIRING_VIEWS = {name: partial(drawn, arms=arms) for name, arms in CIRCUITS_OF.items()}
