"""The table behind each figure of the chapter, with what its caption must say."""

from collections.abc import Iterable

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.bigrams_and_composition.design import (
    CUTS,
    EVERYTHING,
    JOINT,
    LEARNING,
    LETTERS,
    LETTERS_TASK,
    NOISY,
    ONE,
    OTHERS_TO,
    REVERSED,
    SAMPLES,
    STAGES,
    STEP_TRIGGERS,
    STEPS,
    TASK,
    WIDE,
    WITH_ADAM,
    Params,
    experiments,
)
from retrieval_circuits.bigrams_and_composition.measures import ATTENTION, MLP, ORDERS, RIGHT_ANGLES
from retrieval_circuits.bigrams_and_composition.published import NOISE
from retrieval_circuits.bigrams_and_composition.readings import (
    IN_ORDER,
    MEMORIES,
    NEARLY,
    at_most_samples,
    formed,
    last,
    needed,
    of_map,
)
from retrieval_circuits.design import BAND

PROMPTS = "rows drawn anew"
NO_PROMPTS = "stored pairs"
LEARNT = f"{NO_PROMPTS}; accuracy: {PROMPTS}"
GUESS = 1 / (TASK.n_tokens - TASK.n_triggers)
NAMES = {"W_O2": "W_O2, answers", "W_K2": "W_K2, triggers", "W_K1": "W_K1, previous position"}
PANELS = {JOINT: "all at once", WITH_ADAM: "all at once, Adam", STAGES: "in stages", REVERSED: "in reversed stages"}
FEW_PAIRS = f"W_K2 has only {STEP_TRIGGERS} pairs, one per trigger: its shares are multiples of 1/{STEP_TRIGGERS}"
CUT = {
    "none": "full network",
    **{f"{kept:g}": f"MLP, {kept:.0%} of its rank" if kept else "MLP removed" for kept in CUTS},
    "attention": "W_O2 removed",
}


REMOVED = "Parts are removed when this is measured; all networks were trained with them"


def layers(results: Results) -> View:
    """Accuracy at the end, of one layer, as predicted of it, and of two."""
    note = "The prediction is computed from each seed's source alone"
    return _at_the_end(results, LEARNING, (ONE, JOINT, WITH_ADAM), GUESS, note)


def letters(results: Results) -> View:
    """The same on letters."""
    chance = 1 / (LETTERS_TASK.n_tokens - LETTERS_TASK.n_triggers)
    note = "One source for all seeds, and one prediction: pairs of letters in this book"
    return _at_the_end(results, LETTERS, (ONE, JOINT), chance, note)


def _at_the_end(results: Results, experiment: str, ways: tuple[str, ...], chance: float, note: str) -> View:
    """Accuracy at the end, by way of learning; of one layer also what is predicted of it."""
    found = []
    for way in ways:
        rows = last(results.rows(experiment, way=way)).reset_index()
        if way == ONE:
            found.append(rows.assign(group="one layer, predicted", value=rows["predicted"]))
        found.append(rows.assign(group=way, value=rows["accuracy"]))
    table = pd.concat(found, ignore_index=True)[["group", "arm", "init_seed", "value"]]
    return View(table, "share of scored positions", PROMPTS, BAND, chance=chance, note=note)


def elsewhere(results: Results) -> View:
    """The step at which each memory forms: on letters, and where everything is trained."""
    found = []
    for name, rows in (
        ("letters, three matrices trained", results.rows(LETTERS, way=JOINT)),
        ("generated, everything trained", results.rows(EVERYTHING)),
    ):
        for memory in MEMORIES:
            steps = formed(rows, memory).rename("value").reset_index()
            found.append(steps.assign(series=name, group=NAMES[memory], arm=str(rows["arm"].iloc[0])))
    table = in_order(pd.concat(found, ignore_index=True), "group", NAMES.values())
    note = f"First of the measurements, every {TASK.every} steps, at which half of the final share is recalled"
    return View(table[["group", "series", "arm", "init_seed", "value"]], "step", NO_PROMPTS, BAND, note=note)


def widths(results: Results) -> View:
    """What each matrix recalls after three steps with random embeddings, by channels."""
    rows = results.rows(WIDE).sort_values("d", kind="stable")
    rows = rows.assign(group=rows["d"].map("d {:,}".format))
    groups = list(dict.fromkeys(rows["group"]))
    table = rows.melt(["group", "arm", "init_seed"], list(MEMORIES), "series")
    table = in_order(table.assign(series=table["series"].map(NAMES)), "group", groups)
    note = f"{int(rows['samples'].max()):,} rows a step. {FEW_PAIRS}"
    return View(table[["group", "series", "arm", "init_seed", "value"]], "share of pairs", NO_PROMPTS, BAND, note=note)


def rows_and_channels(results: Results) -> View:
    """What three steps store by rows and channels: each matrix, W_O2 as predicted, and the worst of three."""
    rows = of_map(results)
    ordered = rows["order"] == IN_ORDER
    by = ["arm", "samples", "d"]
    columns = {"W_O2": NAMES["W_O2"], "predicted": "W_O2 as predicted", "W_K2": NAMES["W_K2"], "W_K1": NAMES["W_K1"]}
    columns["worst"] = "worst of the three"
    means = rows[ordered].groupby(by, observed=True)[list(columns)].mean()
    others = rows[~ordered].groupby([*by, "init_seed"], observed=True)["worst"].max()
    means["others"] = others.groupby(by, observed=True).mean()
    columns["others"] = "worst, best other order"
    table = means.reset_index().melt(by, list(columns), "panel")
    table = table.assign(
        panel=table["panel"].map(columns),
        row=table["samples"].map("{:,} rows".format),
        column=table["d"].map("{:,}".format).where(table["d"] != RIGHT_ANGLES, "∞"),
        last=table["d"] == RIGHT_ANGLES,
    ).sort_values(["samples", "last", "d"], kind="stable")
    table = in_order(table, "panel", columns.values())
    note = f"Mean over {rows['init_seed'].nunique()} seeds. Columns: channels of random embeddings, ∞ at right angles. "
    note += f"The other orders are six, the best at each place, with up to {OTHERS_TO:,} rows. {FEW_PAIRS}"
    return View(table[["arm", "panel", "row", "column", "value"]], "share of pairs", NO_PROMPTS, note=note)


def on_the_map(by_both: View) -> dict[str, str]:
    """What the text says of ``rows_and_channels``: name -> share.

    ``others_most`` is the largest mean of the other orders' worst matrix, ``in_order`` the mean of the theorem's order
    with as many rows and at right angles.
    """
    table = by_both.published
    others = table[table["panel"] == "worst, best other order"]["value"].max()
    panel, row = table["panel"] == "worst of the three", table["row"] == f"{OTHERS_TO:,} rows"
    ordered = table[panel & row & (table["column"] == "∞")]["value"].iloc[0]
    return {name: f"{share:.0%}".replace("%", " %") for name, share in (("others_most", others), ("in_order", ordered))}


def steps_in_words(params: Params) -> dict[str, str]:
    """The setting of single steps: name -> number."""
    (asked,) = (one.params for one in experiments(params) if one.name == STEPS)
    found = {"triggers": asked.n_triggers, "outputs": asked.n_tokens - asked.n_triggers, "positions": asked.length - 1}
    return {f"steps_{name}": f"{count}" for name, count in found.items()} | {"others_to": f"{OTHERS_TO:,}"}


def memories(results: Results) -> View:
    """What each matrix recalls through training, in four ways of training two layers."""
    rows = results.rows(LEARNING, way=list(PANELS))
    return through_training(rows.assign(panel=rows["way"].astype(str).map(PANELS)), PANELS.values())


def through_training(rows: pd.DataFrame, panels: Iterable[str]) -> View:
    """What each matrix recalls and how often answers are right, measurement by measurement, a panel each."""
    table = rows.melt(["panel", "arm", "init_seed", "step"], [*MEMORIES, "accuracy"], "series")
    table = table.assign(series=table["series"].map({**NAMES, "accuracy": "accuracy of answers"}))
    table = in_order(table, "panel", panels)
    return View(table[["panel", "series", "step", "arm", "init_seed", "value"]], "share", LEARNT, BAND)


def births(results: Results) -> View:
    """The step at which each memory forms, by optimiser."""
    found = []
    for way, name in ((JOINT, "gradient descent"), (WITH_ADAM, "Adam")):
        rows = results.rows(LEARNING, way=way)
        for memory in MEMORIES:
            steps = formed(rows, memory).rename("value").reset_index()
            found.append(steps.assign(series=name, group=NAMES[memory]))
    table = in_order(pd.concat(found, ignore_index=True).assign(arm=LEARNING), "group", NAMES.values())
    note = f"First of the measurements, every {TASK.every} steps, at which half of the final share is recalled"
    return View(table[["group", "series", "arm", "init_seed", "value"]], "step", NO_PROMPTS, BAND, note=note)


def three_steps(results: Results) -> View:
    """What each matrix recalls after three gradient steps, by their order."""
    orders = [", ".join(order) for order in ORDERS]
    rows = at_most_samples(results, orders)
    rows = rows.assign(group=rows["order"].astype(str))
    table = rows.melt(["group", "arm", "init_seed"], list(MEMORIES), "series")
    table = in_order(table.assign(series=table["series"].map(NAMES)), "group", orders)
    note = f"{int(rows['samples'].max()):,} rows a step. The last order is the one that the slide prints. {FEW_PAIRS}"
    return View(table[["group", "series", "arm", "init_seed", "value"]], "share of pairs", NO_PROMPTS, BAND, note=note)


def after_three_steps(results: Results) -> View:
    """Accuracy after the three steps in the order of the theorem."""
    rows = at_most_samples(results, IN_ORDER)
    table = rows[["arm", "init_seed"]].assign(value=rows["accuracy"])
    return View(table, "share of scored positions", PROMPTS)


def published_mean(view: View) -> str:
    """The mean over the published seeds of a share, as prose has it: "42 %"."""
    return f"{view.published['value'].mean():.0%}".replace("%", " %")


def noise_first(results: Results) -> View:
    """Probabilities of the noise token and of the context's answer, in full and without the MLP."""
    panels = {"none": CUT["none"], "0": CUT["0"]}
    rows = results.rows(NOISY, cut=list(panels))
    rows = rows.assign(panel=rows["cut"].astype(str).map(panels))
    series = {"noise": "noise token", "context": "answer of the context"}
    table = rows.melt(["panel", "arm", "init_seed", "step"], list(series), "series")
    table = in_order(table.assign(series=table["series"].map(series)), "panel", panels.values())
    note = f"Rows without noise; in training it takes {NOISE:.0%} of the places after a trigger. {REMOVED}"
    table = table[["panel", "series", "step", "arm", "init_seed", "value"]]
    return View(table, "probability", PROMPTS, BAND, note=note)


def cuts(results: Results) -> View:
    """The share of positions answered from the context, with parts removed."""
    rows = results.rows(NOISY, cut=list(CUT))
    rows = last(rows).reset_index()
    table = rows.assign(group=rows["cut"].astype(str).map(CUT), value=rows["accuracy"])
    table = in_order(table, "group", CUT.values())
    return View(
        table[["group", "arm", "init_seed", "value"]], "share of scored positions", PROMPTS, BAND,
        note=f"Rows without noise. {REMOVED}",
    )  # fmt: skip


def sample_law(results: Results) -> View:
    """Rows that each part needs for the noise token to lead, by vocabulary."""
    found = []
    for part in (MLP, ATTENTION):
        table = needed(results.rows(SAMPLES, part=part))
        found.append(table.assign(series=part, value=table["rows"]))
    table = pd.concat(found, ignore_index=True).sort_values("n_tokens", kind="stable")
    table = table.assign(group=table["n_tokens"].map("{} tokens".format), arm=SAMPLES)
    note = f"The fewest, among powers of two, from which on the noise token leads on {NEARLY:.0%} of rows"
    return View(table[["group", "series", "arm", "init_seed", "value"]], "rows", PROMPTS, BAND, note=note)


ALL = (
    layers,
    letters,
    memories,
    births,
    elsewhere,
    three_steps,
    widths,
    rows_and_channels,
    noise_first,
    cuts,
    sample_law,
)
CHAPTER_VIEWS = {view.__name__: view for view in (*ALL, after_three_steps)}
