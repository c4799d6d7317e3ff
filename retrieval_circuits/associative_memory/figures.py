"""The table behind each figure of the chapter, with what its caption must say."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.associative_memory.design import (
    ADAM,
    ADAM_SOFTMAX,
    BEST,
    CAPACITY,
    FACTS,
    FEW,
    FEW_ANSWERS,
    LABELS,
    LOADS,
    MORE_S,
    RECALL,
    SHARED,
    SOFTMAX,
    SOURCE_WAY,
    SOURCES,
    TRAINED,
    TRAINED_LOADS,
    WAYS,
    ZIPF,
)
from retrieval_circuits.associative_memory.measures.recall import NEAR
from retrieval_circuits.associative_memory.published import ENDS, FIT, LIMIT, exponents
from retrieval_circuits.associative_memory.readings import (
    counted,
    exact_load,
    growth,
    guessing,
    loads_of,
    matrices,
    predicted_guess,
    zipf_exponent,
)
from retrieval_circuits.design import BAND

SHOWN_LOADS = tuple(load for load in LOADS if round(load * 2**4, 3) in (1, 2, 4, 8, 16, 32))
"""Loads that the map has columns for: doublings."""
DRAWN_EVERY = 128
"""Steps between two points of a curve: a quarter of what was measured."""
NUMBERS = {"hebbian": "the sum", "one step": "one gradient step"}
TRAINED_AS = {SOURCES: "Adam, rate 1,000 (the source's)", BEST: "Adam, rate 1", ("gd", 3.0): "gradient descent, rate 3"}
TRAINED_AS |= {way: f"{way[0].title()}, rate {way[1]:g}" for way in WAYS if way not in TRAINED_AS}
LOAD = "load, N ln N / d squared"


def sums(results: Results) -> View:
    """Recall by width and load: of the sum, after one gradient step, and as the closed form has it."""
    rows = results.rows(CAPACITY)
    rows = rows[rows["load"].isin(SHOWN_LOADS)]
    each = rows.groupby(["rule", "d", "load"], observed=True)[["accuracy", "predicted"]].mean().reset_index()
    found = [
        each[each["rule"] == rule].assign(panel=name, value=lambda part: part["accuracy"])
        for rule, name in NUMBERS.items()
    ]
    closed = each[each["rule"] == "hebbian"]
    found.append(closed.assign(panel="the closed form", value=closed["predicted"]))
    table = pd.concat(found, ignore_index=True)
    table = table.assign(row="d = " + table["d"].astype(str), column=table["load"].map("{:.3g}".format))
    note = f"Columns: {LOAD}. Each number is a mean over {len(results.seeds(CAPACITY))} seeds"
    table = table[["panel", "row", "column", "value"]].assign(arm=CAPACITY)
    return View(table, "share of pairs recalled", "all pairs", note=note)


def trained(results: Results) -> View:
    """The load at which matrices stop recalling 99 %, by way of training and width."""
    found = []
    for way, name in TRAINED_AS.items():
        loads = loads_of(matrices(results, way), "d").rename("value").reset_index()
        found.append(loads.assign(group=name, series="d = " + loads["d"].astype(str)))
    table = pd.concat(found, ignore_index=True)
    table = table[["group", "series", "init_seed", "value"]].assign(arm=TRAINED)
    most = f"Tried: {TRAINED_LOADS[0]:.2f} to {TRAINED_LOADS[-1]:.2f}"
    note = f"The source's fit: {1 / FIT:.3g}; the limit for wide matrices: {LIMIT:g}. {most}"
    return View(table, LOAD, "where 99 % recall ends", BAND, note=note)


def best(results: Results) -> View:
    """The load up to which all pairs are recalled: by some matrix, and by the sum."""
    rows = counted(results)
    names = {"most": "the best matrix", "most_by_sum": "the sum"}
    found = [
        rows.assign(value=exact_load(rows[column], rows["d"]), series=name, group="d = " + rows["d"].astype(str))
        for column, name in names.items()
    ]
    table = pd.concat(found, ignore_index=True)[["group", "series", "init_seed", "value"]].assign(arm=TRAINED)
    note = f"Theory's limits for wide matrices: {LIMIT:g} for the best, {LIMIT / 4:g} for the sum"
    return View(table, LOAD, "up to which all pairs are recalled", BAND, note=note)


def shared(results: Results) -> View:
    """The power of the width with which capacity grows where inputs share outputs."""
    found = [
        growth(rule, classes)(results).rename("value").reset_index().assign(group=f"{classes} outputs", series=name)
        for classes in (2, 4, 8)
        for rule, name in (("any", "the best matrix"), ("hebbian", "the sum"))
    ]
    table = pd.concat(found, ignore_index=True).assign(arm=SHARED)
    note = "1: capacity grows as the width; 2: as the number of parameters"
    return View(table, "power of the width", "pairs recalled without an error", BAND, note=note)


def frequent(results: Results) -> View:
    """The power of the width with which errors fall where inputs come by Zipf's law, beside the predicted ones."""
    outputs = {FEW: f"{FEW} outputs", 0: "an output each"}
    names = {"one step": "one gradient step", "cut": "the frequent inputs alone"}
    found = [
        zipf_exponent(rule, classes)(results).rename("value").reset_index().assign(group=name, series=outputs[classes])
        for classes in outputs
        for rule, name in names.items()
    ]
    few, own = (exponents(2.0, shared=shared) for shared in (True, False))
    said = [f"{name} {few[rule]:g} and {own[rule]:g}" for rule, name in names.items()]
    note = f"Predicted, with {FEW} outputs and with an output each: {'; '.join(said)}"
    table = pd.concat(found, ignore_index=True).assign(arm=ZIPF)
    return View(table, "power of the width", "error by frequency", BAND, note=note)


def labels(results: Results) -> View:
    """Recall after one gradient step on samples whose labels are partly random."""
    rows = results.rows(LABELS)
    rows = rows[rows["samples"] > 0].sort_values(["samples", "noise"])
    named = {0.0: "labels right", 0.5: "half at random", 0.8: "four of five at random"}
    table = rows.assign(
        group=rows["samples"].map(lambda n: f"{n} sample{'s' if n > 1 else ''} of each input"),
        series=rows["noise"].map(named),
        value=rows["accuracy"],
    )
    table = table[["group", "series", "init_seed", "value"]].assign(arm=LABELS)
    return View(table, "share of pairs recalled", "all pairs", BAND)


PARTS = {
    "loss": "the answer",
    "relation": "the relation's answers",
    "from_guess": "distance from a guess among them",
}
"""What a measurement is called in the figure."""


def facts(results: Results) -> View:
    """Losses while facts are learnt, in four of the ways."""
    rows = results.rows(RECALL)
    rows = rows[rows["step"] % DRAWN_EVERY == 0]
    found = [
        rows[rows["way"] == way].assign(panel=name, series=part, value=lambda table, column=column: table[column])
        for way, name in (
            (SOURCE_WAY, "linear, gradient descent (the source's)"),
            (SOFTMAX, SOFTMAX),
            (ADAM, ADAM),
            (ADAM_SOFTMAX, ADAM_SOFTMAX),
        )
        for column, part in PARTS.items()
    ]
    table = pd.concat(found, ignore_index=True)[["panel", "series", "step", "init_seed", "value"]].assign(arm=RECALL)
    note = f"The source's stages end at steps {ENDS['nothing']:,} and {ENDS['guessing']:,}"
    return View(table, "nats", "fresh prompts", BAND, note=note)


def guesses(results: Results) -> View:
    """How much of the time until facts are known is spent guessing among the relation's answers."""
    table = guessing(results)
    order = [way.name for way in FACTS]
    table = in_order(table.assign(group=table["way"].astype(str), value=table["share"]), "group", order)
    said = [f"{way} {predicted_guess(way):,.0f}" for way in (SOURCE_WAY, MORE_S, FEW_ANSWERS)]
    note = f"Guessing: within {NEAR:g} nats of a uniform guess. Steps that two modes predict: {', '.join(said)}"
    unit = "share of the time until facts are known"
    return View(table[["group", "init_seed", "value"]].assign(arm=RECALL), unit, "fresh prompts", BAND, note=note)


def ways(results: Results) -> View:
    """How facts are learnt, way by way."""
    found = [
        {
            "way": way.name, "subjects": way.n_subjects, "relations": way.n_relations,
            "answers a relation": way.n_answers, "attention": way.attention,
            "rule": "Adam" if way.optimizer == "adam" else "gradient descent", "rate": f"{way.rate:g}",
        }
        for way in FACTS
    ]  # fmt: skip
    return View(pd.DataFrame(found), "settings", "no rows")


VIEWS = {
    "sums": sums,
    "trained": trained,
    "best": best,
    "shared": shared,
    "frequent": frequent,
    "labels": labels,
    "facts": facts,
    "guesses": guesses,
    "ways": ways,
}
