"""The table behind each figure of the chapter, with what its caption must say."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from circuitcore.emergence.seeds import mean_interval
from livingpaper.claims.results import Results
from livingpaper.claims.units import RAISED
from livingpaper.claims.view import View, in_order
from retrieval_circuits.associative_memory.design import (
    ADAM,
    ADAM_SOFTMAX,
    CAPACITY,
    EXPONENT,
    FACTS,
    FEW,
    FEW_ANSWERS,
    FEW_S,
    FEW_SHARED,
    HIDDEN_LAYER,
    HIDDEN_RATES,
    LABELS,
    LARGE_START,
    MANY_S,
    MORE_S,
    NARROW,
    RECALL,
    SHARED,
    SOFTMAX,
    SOURCE_WAY,
    TRAINED,
    TRAINED_LOADS,
    WAYS,
    ZIPF,
)
from retrieval_circuits.associative_memory.measures import OUTPUT_LAYER, WHOLE, Facts
from retrieval_circuits.associative_memory.published import HIDDEN_LINE, LIMIT, LINE, SHARED_LINE, exponents
from retrieval_circuits.associative_memory.readings.hidden import (
    ends,
    intercepts,
    narrow_maps,
    narrow_matrices,
    pairs_of,
)
from retrieval_circuits.associative_memory.readings.memories import (
    counted,
    exact_load,
    guessing,
    loads_of,
    matrices,
    predicted_guess,
    zipf_exponent,
)
from retrieval_circuits.design import BAND

NO_PROMPTS = "stored pairs"
PROMPTS = "prompts drawn anew"
LOAD = "load, N ln N / d²"
LEVELS = {"wide, by theory": LIMIT, "source's line": 1 / LINE}
"""Of the load that the best matrix holds as it gets wide, and of the line that the source draws."""
ENDS = (
    f"Loads tried where a matrix was trained: {TRAINED_LOADS[0]:g} to {TRAINED_LOADS[-1]:.2f}. Open: it ends at or "
    "below the first of them, or at or beyond the last"
)
BY_THEORY = {"errors begin, by theory of wide sums": 1 / 8, "half of the pairs are lost, by the same theory": 1 / 2}
"""What is said of Hebbian sums -> the load from which it is so."""
NAMES = {
    ("adam", 1000.0): "Adam, rate 1,000 (the source's)",
    ("adam", 1.0): "Adam, rate 1",
    ("adam", 0.01): "Adam, rate 0.01",
    ("gd", 3.0): "gradient descent",
}
"""Ways of training -> what a legend calls them."""
BY_NAME = {way.name: way for way in FACTS}
SEVERAL = tuple(
    sorted((SOURCE_WAY, MORE_S, MANY_S, FEW_S, FEW_ANSWERS, LARGE_START), key=lambda name: BY_NAME[name].n_subjects)
)
"""Ways of learning facts that gradient descent on linear attention predicts, by the number of subjects."""


def sums(results: Results) -> View:
    """Recall of Hebbian sums by width and load, beside what noise predicts."""
    rows = results.rows(CAPACITY, rule="hebbian")
    means = rows.groupby(["arm", "d", "load"], observed=True)[["accuracy", "predicted"]].mean().reset_index()
    means = means[np.isclose(np.log2(means["load"]) * 2 % 1, 0, atol=1e-3) | (means["load"] == means["load"].min())]
    panels = {"accuracy": "recalled", "predicted": "predicted from noise"}
    table = means.melt(["arm", "d", "load"], list(panels), "panel").assign(
        row=lambda shown: "load " + shown["load"].map("{:.3g}".format),
        column=lambda shown: "d " + shown["d"].astype(str),
    )
    table = table.assign(panel=table["panel"].map(panels), line=_ends_of(table["load"], BY_THEORY))
    n_seeds = rows["init_seed"].nunique()
    note = f"Mean over {n_seeds} seeds. Load is N ln N / d². Lines: by theory of wide sums errors begin at 1/8, and "
    note += "half of the pairs are lost at 1/2"
    return View(table[["arm", "panel", "row", "column", "value", "line"]], "share of pairs", NO_PROMPTS, note=note)


def _ends_of(loads: pd.Series, levels: Mapping[str, float]) -> list[str | None]:
    """For each load the words of the levels up to which it is the largest there is; None for others.

    A level without loads on both sides of it is left out.
    """
    found = {}
    for words, level in levels.items():
        within = loads <= level * (1 + 1e-3)
        if within.any() and not within.all():
            found.setdefault(loads[within].max(), []).append(words)
    return ["; ".join(found[load]) if load in found else None for load in loads]


def trained_loads(results: Results) -> View:
    """The load at which 99 % recall ends, by width and way of training; the exact one where it was found."""
    trained = [matrices(results, way) for way in WAYS]
    found = [
        _inside(loads_of(rows, "d").rename("value").reset_index()).assign(series=NAMES[way])
        for way, rows in zip(WAYS, trained, strict=True)
    ]
    most = counted(results)
    for column, name in (("most", "any matrix, all pairs"), ("most_by_sum", "Hebbian sum, all pairs")):
        part = most[["d", "init_seed"]].assign(value=exact_load(most[column], most["d"]), series=name, there=True)
        found.append(part)
    table = pd.concat(found, ignore_index=True).assign(arm=TRAINED)
    steps = pd.concat(trained).groupby("d")["steps"].max()
    fewer = {d: f", {n:,} steps" for d, n in steps.items() if n < steps.max()}
    table = table.assign(group=[f"d {d}{fewer.get(d, '')}" for d in table["d"]]).sort_values("d", kind="stable")
    shown = table[["group", "series", "arm", "init_seed", "value", "there"]]
    note = f"Of trained matrices where 99 % recall ends, of the others where all do. {ENDS}"
    return View(shown, LOAD, NO_PROMPTS, BAND, note=note, levels=LEVELS)


def _inside(table: pd.DataFrame) -> pd.DataFrame:
    """The same with ``there``: whether a load lies between the first and the last that were tried."""
    return table.assign(there=table["value"].gt(TRAINED_LOADS[0]) & table["value"].lt(TRAINED_LOADS[-1]))


def by_steps(results: Results) -> View:
    """The same of the widest matrices, by how long they were trained."""
    rows = results.rows(TRAINED)
    rows = rows[rows["d"] == rows["d"].max()]
    width = int(rows["d"].iloc[0])
    table = _inside(loads_of(rows, "optimizer", "rate", "steps").rename("value").reset_index())
    names = [NAMES[way] for way in zip(table["optimizer"].astype(str), table["rate"], strict=True)]
    table = table.assign(series=names, group=table["steps"].map("{:,} steps".format), arm=TRAINED)
    table = in_order(table.sort_values("steps", kind="stable"), "series", NAMES.values())
    table = table.sort_values("steps", kind="stable")
    shown = table[["group", "series", "arm", "init_seed", "value", "there"]]
    return View(shown, LOAD, NO_PROMPTS, BAND, note=f"Width {width}. {ENDS}", levels=LEVELS)


def hidden(results: Results) -> View:
    """Pairs that MLPs recall, by load, channels and units, at the source's rate."""
    rows = results.rows(HIDDEN_LAYER, trained=WHOLE, rate=HIDDEN_RATES[0])
    rows = rows[rows["steps"] == rows["steps"].max()]
    panels = {0: "an output each: N ln N / (m d)", FEW_SHARED: f"{FEW_SHARED} outputs: N / (m d)"}
    rows = rows.assign(
        panel=rows["classes"].map(panels),
        row="load " + rows["load"].map("{:.3g}".format),
        column=[f"d {d}, m {m}" for d, m in rows[["d", "hidden"]].to_numpy()],
    )
    columns = rows["column"].drop_duplicates()
    table = rows.groupby(["arm", "classes", "load", "panel", "row", "column"], observed=True)["accuracy"].mean()
    table = table.rename("value").reset_index().sort_values(["classes", "load"], kind="stable")
    lines, words = {0: 1 / HIDDEN_LINE, FEW_SHARED: 1 / SHARED_LINE}, "99 % ends, by the source's line"
    parts = [part.assign(line=_ends_of(part["load"], {words: lines[n]})) for n, part in table.groupby("classes")]
    table = in_order(pd.concat(parts), "column", columns)
    note = f"Mean over {rows['init_seed'].nunique()} seeds, {int(rows['steps'].max()):,} steps; d channels, m units. "
    note += f"Lines: by the source's lines, 99 % ends at {lines[0]:.2f} and {lines[FEW_SHARED]:.2f}"
    return View(table[["arm", "panel", "row", "column", "value", "line"]], "share of pairs", NO_PROMPTS, note=note)


def beside_matrices(results: Results) -> View:
    """Pairs recalled to 99 % by parameters: MLPs, the same with the output layer trained alone, and matrices."""
    maps = {
        "MLP": ends(results),
        "MLP, three times the rate": ends(results, rate=HIDDEN_RATES[1]),
        "MLP, output layer alone": ends(results, trained=OUTPUT_LAYER),
    }
    found = [
        table.assign(
            series=name,
            parameters=2 * table["product"],
            shape=["" if d == NARROW else f", d {d}" for d in table["d"]],
            arm=HIDDEN_LAYER,
        )
        for name, table in maps.items()
    ]
    matrix = narrow_matrices(results)
    found.append(matrix.assign(series="matrix, Adam, rate 1", parameters=matrix["product"], shape="", arm=TRAINED))
    table = pd.concat(found, ignore_index=True)
    table = table.assign(value=pairs_of(table["load"], table["product"]))
    table = table.sort_values("parameters", kind="stable")
    table = table.assign(group=table["parameters"].map("{:,} parameters".format) + table["shape"])
    note = f"Parameters of an MLP are counted of both layers, 2 m d; d is {NARROW} where nothing is said"
    table = table[["group", "series", "arm", "init_seed", "value"]]
    return View(table, "pairs", NO_PROMPTS, BAND, note=note)


def constants(results: Results) -> View:
    """Loads at which recall ends at the largest size, and where lines through all sizes point, with intervals."""
    found = []
    maps = {f"MLP, d {NARROW}": (narrow_maps, HIDDEN_LAYER), "matrix": (narrow_matrices, TRAINED)}
    for name, (loads, arm) in maps.items():
        table = loads(results)
        values = {"largest size": table[table["product"] == table["product"].max()]["load"]}
        if table["product"].nunique() > 1:
            values |= {f"line in {correction}": intercepts(table, correction) for correction in ("1/√p", "1/ln N")}
        rows = ({"arm": arm, "map": name, "load": what, "N ln N / p": _over_seeds(of)} for what, of in values.items())
        found.extend(rows)
    return View(pd.DataFrame(found), "load", NO_PROMPTS)


def _over_seeds(values: pd.Series) -> str:
    """The mean with its interval, where several seeds have one."""
    if len(values) == 1:
        return f"{values.iloc[0]:.2f}"
    interval = mean_interval(values)
    return f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def shared(results: Results) -> View:
    """Pairs a channel that are recalled without an error where inputs share outputs."""
    rows = results.rows(SHARED)
    names = {"any": "any matrix", "hebbian": "Hebbian sum"}
    table = rows.assign(
        group=rows["classes"].map("{} outputs, ".format) + rows["d"].map("d {}".format),
        series=rows["rule"].astype(str).map(names),
        value=rows["n_pairs"] / rows["d"],
    ).sort_values(["classes", "d"], kind="stable")
    return View(table[["group", "series", "arm", "init_seed", "value"]], "pairs a channel, N / d", NO_PROMPTS, BAND)


def zipf(results: Results) -> View:
    """The power of the width with which errors fall, measured and by theory."""
    names = {"one step": "one gradient step", "cut": "frequent inputs alone"}
    found = []
    for classes, outputs in ((FEW, f"{FEW} outputs"), (0, "an output each")):
        theory = exponents(EXPONENT, shared=classes > 0)
        for rule, name in names.items():
            values = zipf_exponent(rule, classes)(results).rename("value").reset_index()
            group = f"{outputs}: {name} (theory {theory[rule]:.3g})".replace("-", "−")
            found.append(values.assign(group=group, arm=ZIPF))
    table = pd.concat(found, ignore_index=True)
    note = f"A line through logarithms of errors; frequencies fall as z to the power −{EXPONENT:g}"
    return View(table[["group", "arm", "init_seed", "value"]], "power of the width", NO_PROMPTS, BAND, note=note)


def noisy(results: Results) -> View:
    """Recall after one step, by random labels and samples."""
    rows = results.rows(LABELS)
    samples = rows["samples"].map(lambda n: f"{n} sample{'s' * (n > 1)} an input" if n else "all samples there are")
    table = rows.assign(group=rows["noise"].map("{:.0%} random labels".format), series=samples, value=rows["accuracy"])
    table = table.assign(place=rows["samples"].replace(0, 10**9)).sort_values(["noise", "place"], kind="stable")
    return View(table[["group", "series", "arm", "init_seed", "value"]], "share of pairs", NO_PROMPTS, BAND)


LOSSES = {"loss": "whole answer", "relation": "relation's answers", "subject": "place among them"}


def stages(results: Results) -> View:
    """Three losses while facts are learnt, by gradient descent and by Adam, both linear."""
    rows = results.rows(RECALL, way=[SOURCE_WAY, ADAM])
    panels = {SOURCE_WAY: "gradient descent", ADAM: "Adam"}
    way = rows["way"].astype(str)
    every = 4 * int(rows["step"][rows["step"] > 0].min())
    rows = rows[rows["step"] % every == 0].assign(panel=way.map(panels))
    table = rows.melt(["panel", "arm", "init_seed", "step"], list(LOSSES), "series")
    table = in_order(table.assign(series=table["series"].map(LOSSES)), "panel", panels.values())
    note = "ln 32 = 3.47 is where nothing is known, ln 8 = 2.08 where the relation alone is"
    return View(table[["panel", "series", "step", "arm", "init_seed", "value"]], "loss, nats", PROMPTS, BAND, note=note)


def times(results: Results) -> View:
    """How long a model guesses among the relation's answers, measured and predicted."""
    table = guessing(results)
    labels = {name: _of_task(BY_NAME[name]) for name in SEVERAL}
    table = table[table["way"].isin(SEVERAL)].assign(arm=RECALL)
    table = table.assign(way=table["way"].astype(str), group=table["way"].astype(str).map(labels))
    measured = table.assign(series="measured", value=table["guesses"])
    theory = table.assign(series="predicted", value=table["way"].map({way: predicted_guess(way) for way in SEVERAL}))
    both = in_order(pd.concat([measured, theory], ignore_index=True), "group", labels.values())
    usual = BY_NAME[SOURCE_WAY]
    start = f"10{f'{math.log10(usual.start):.0f}'.translate(RAISED)}"
    note = f"S subjects, {usual.n_relations} relations with D answers each, D {usual.n_answers} and start {start} "
    note += f"if not said. A higher rate shortens all. The source's: S {usual.n_subjects}, rate {usual.rate:g}"
    return View(both[["group", "series", "arm", "init_seed", "value"]], "steps", PROMPTS, BAND, note=note)


def _of_task(way: Facts) -> str:
    """What a row calls a way of learning facts: its subjects, what it has otherwise than the source's, its rate."""
    usual, words = BY_NAME[SOURCE_WAY], [f"S {way.n_subjects}"]
    words += [f"D {way.n_answers}"] if way.n_answers != usual.n_answers else []
    words += [f"start {way.start:g}"] if way.start != usual.start else []
    return ", ".join([*words, f"rate {way.rate:g}"])


def phases(results: Results) -> View:
    """The share of the steps until facts are known that are spent guessing, by attention and optimiser."""
    names = {
        SOURCE_WAY: "linear, gradient descent",
        SOFTMAX: "softmax, gradient descent",
        ADAM: "linear, Adam",
        ADAM_SOFTMAX: "softmax, Adam",
    }
    table = guessing(results)
    table = table.assign(group=table["way"].astype(str).map(names), value=table["share"], arm=RECALL)
    table = in_order(table.dropna(subset=["group"]), "group", names.values())
    unit = "steps of guessing, of those until facts are known"
    return View(table[["group", "arm", "init_seed", "value"]], unit, PROMPTS, BAND)


CHAPTER_VIEWS = {
    view.__name__: view
    for view in (
        sums,
        trained_loads,
        by_steps,
        hidden,
        beside_matrices,
        constants,
        shared,
        zipf,
        noisy,
        stages,
        times,
        phases,
    )
}
