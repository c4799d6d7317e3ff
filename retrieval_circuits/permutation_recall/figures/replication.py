"""Tables of the source's own figures: loss, steps, posteriors, the split, the probe of recall."""

import pandas as pd

from circuitcore.tasks import make_task
from circuitcore.tasks.permutation_posterior import loss_levels
from livingpaper.claims.results import Results, with_epochs
from livingpaper.claims.view import View, in_order, on_data_sets
from livingpaper.figures.circuit import percent
from retrieval_circuits.design import BAND
from retrieval_circuits.permutation_recall.design import (
    ALL_1,
    ANY_SOURCE,
    BALANCED_1,
    NORMAL,
    ONLY_FIRST,
    OTHER_SPLITS,
    RATIOS,
    REPEATED,
    SOURCE_SPLIT,
    split_of,
)
from retrieval_circuits.permutation_recall.figures.dissection import GUESS
from retrieval_circuits.permutation_recall.published import (
    PUBLISHED_ABLATION,
    PUBLISHED_LAST,
    PUBLISHED_LOSS,
    PUBLISHED_STEPS,
)
from retrieval_circuits.permutation_recall.readings.models import AMONG_SHOWN, ONE, TWO, on_source_split, source_values
from retrieval_circuits.permutation_recall.readings.steps import CEILINGS, STEPS, UNSURE, accuracies, predicted_accuracy

MODELS = {ONE: "small", TWO: "large"}
"""The source's two models, in the words of the text."""
PANELS = {ONE: "small model, trained without repeats", TWO: "large model, trained with repeats"}
KINDS = {ONE: "task 1", TWO: "task 2"}
"""The same, as the source's tables call them."""
LEVELS = {
    NORMAL: ("elimination and recall", "train posterior"),
    REPEATED: (
        *("elimination, blind to repeats", "elimination, repeats detected"),
        *("elimination and recall", "train posterior"),
    ),
}
ROWS = {"normal": "rows without repeat", "repeat": "rows with one"}
METRICS = {
    "step_accuracy": "accuracy",
    "bayes_mae": "mean error",
    "bayes_max_batched": "largest in batch",
    "bayes_max": "largest error",
}
SKILLS = {
    "recall": "the y that was shown (recall)",
    "eliminates": "the y not yet shown",
    "other_shown": "another y that was shown",
}
FIRST_DRAWN = 2
"""The first epochs' loss would squeeze all others."""


def loss(results: Results) -> View:
    """Mean loss of each epoch, ours and the source's, beside what each skill would reach."""
    found = []
    for arm, panel in PANELS.items():
        history = results.history[results.history["arm"].astype(str) == arm]
        ours = history.groupby(["init_seed", "epoch"])["loss"].mean().rename("value").reset_index()
        last = int(ours["epoch"].max())
        theirs = pd.DataFrame(
            {"epoch": range(1, 1 + len(PUBLISHED_LOSS[KINDS[arm]])), "value": PUBLISHED_LOSS[KINDS[arm]]}
        )
        data = NORMAL if arm == ONE else REPEATED
        task, names = make_task("permutation_recall", {"repeat_ratio": RATIOS[data]}), LEVELS[data]
        levels = [
            {"series": level, "epoch": epoch, "value": value}
            for level, value in loss_levels(task).items() if level in names for epoch in (FIRST_DRAWN, last)
        ]  # fmt: skip
        parts = [
            ours.assign(series="ours"),
            theirs[theirs["epoch"] <= last].assign(series="source"),
            pd.DataFrame(levels),
        ]
        found.append(pd.concat(parts, ignore_index=True).assign(panel=panel))
    table = pd.concat(found, ignore_index=True)
    table = table[table["epoch"] >= FIRST_DRAWN]
    table = in_order(table, "series", ["ours", "source", *LEVELS[REPEATED]])
    note = f"Epochs from {FIRST_DRAWN} on. The source stopped after 20 and 50. Straight lines are computed, not fitted."
    view = View(
        table[["panel", "series", "epoch", "init_seed", "value"]], "loss, nats a position", "train", BAND, note=note
    )
    return on_data_sets(view, split_of)


def steps(results: Results) -> View:
    """The source's table beside ours: accuracy and errors at each step, mean over our networks on its split."""
    rows = [_step(results, arm, step, "") for arm in KINDS for step in STEPS]
    rows += [_step(results, TWO, STEPS[-1], family) for family in PUBLISHED_LAST]
    return View(pd.DataFrame(rows).assign(init_seed=pd.NA), "as named", "5,000 held-out rows, the source's split")


def _step(results: Results, arm: str, step: str, family: str) -> dict[str, str]:
    """One line of that table; ``family``: which rows of the last step, "" for all."""
    kind, place = KINDS[arm], STEPS.index(step)
    line = {"model, step": f"{MODELS[arm]}, {place + 1}" + (f", {ROWS[family]}" if family else "")}
    for metric, called in METRICS.items():
        values = source_values(results, metric, arm, split="test", variable=step, family=family)
        ours = on_source_split(values).mean()
        published = PUBLISHED_LAST[family] if family else PUBLISHED_STEPS[kind]
        theirs = published.get(called)
        theirs = theirs[place] if isinstance(theirs, tuple) else theirs
        line |= {f"{called}: source": f"{theirs:.4f}"} if theirs is not None else {}
        line |= {f"{called}: ours": f"{ours:.4f}"}
    return line


def held_out(results: Results) -> View:
    """Accuracy at steps 1 to 4 beside the ceiling: held-out permutations, all of them, and what the split predicts."""
    found = []
    for arm, model in MODELS.items():
        series = {
            f"{model}, held out": accuracies(results, arm),
            f"{model}, all permutations": accuracies(results, arm, "all"),
        }
        for name, wide in series.items():
            long = on_source_split(wide).reset_index().melt(id_vars="init_seed", value_name="value")
            found.append(long.rename(columns={"variable": "step"}).assign(series=name))
    table = pd.concat(found, ignore_index=True)
    for by, name in {"marginal": "predicted, slight memory", "train": "predicted, whole memory"}.items():
        counted = predicted_accuracy(SOURCE_SPLIT, "shuffled", by)
        known = pd.DataFrame({"step": counted.index, "value": counted.to_numpy(), "series": name})
        table = pd.concat([table, known], ignore_index=True)
    ceiling = pd.DataFrame({"step": list(UNSURE), "value": [CEILINGS[step] for step in UNSURE], "series": "ceiling"})
    table = pd.concat([table, ceiling], ignore_index=True)
    wide = table.groupby(["series", "step"], sort=False)["value"].mean().unstack("step")[list(UNSURE)].reset_index()
    order = ["ceiling", "small, held out", "large, held out", "predicted, slight memory", "predicted, whole memory",
             "small, all permutations", "large, all permutations"]  # fmt: skip
    table = in_order(wide, "series", order).rename(columns={"series": "accuracy of"}).assign(init_seed=pd.NA)
    return View(table, "accuracy", "as named")


def splits(results: Results) -> View:
    """Accuracy on held-out permutations of other divisions, steps 1 to 4: the small model."""
    arms = {ONE: "source's rule", OTHER_SPLITS: "other splits", BALANCED_1: "balanced split", ALL_1: "nothing held out"}
    found = []
    for arm, called in arms.items():
        if arm in results.arms:
            long = accuracies(results, arm).reset_index().melt(id_vars="init_seed", var_name="group")
            found.append(long.assign(series=called, arm=arm))
    table = in_order(pd.concat(found, ignore_index=True), "group", UNSURE)
    ceilings = ", ".join(f"{CEILINGS[step]:.2f}" for step in UNSURE)
    view = View(
        table[["group", "series", "arm", "init_seed", "value"]], "accuracy", "held-out permutations", BAND,
        note=f"Ceilings: {ceilings}. Where nothing is held out, rows of all permutations.",
    )  # fmt: skip
    return on_data_sets(view, split_of, [ONE])


def leaning(results: Results) -> View:
    """How far each model leans to the permutations it was trained on, over training, by step."""
    found = []
    for arm, panel in PANELS.items():
        rows = with_epochs(results.curve("leaning", arm, edit="", variable=list(UNSURE)), results)
        found.append(rows.assign(panel=panel, series=rows["variable"].astype(str), arm=arm))
    table = pd.concat(found, ignore_index=True)
    table = in_order(table[table["epoch"] > 0], "series", UNSURE)
    view = View(
        table[["panel", "series", "epoch", "arm", "init_seed", "value"]], "weight of the training set",
        "rows of all permutations", BAND, note="0: all permutations alike; 1: only those trained on are possible.",
    )  # fmt: skip
    return on_data_sets(view, split_of)


def skills(results: Results) -> View:
    """What the large model answers to probes of recall, over training."""
    found = [
        with_epochs(results.curve(metric, TWO, variable=""), results).assign(series=series)
        for metric, series in SKILLS.items()
    ]
    table = in_order(pd.concat(found, ignore_index=True), "series", SKILLS.values())
    columns = ["series", "epoch", "init_seed", "value"]
    rows, note = "probes of held-out permutations", f"{GUESS}."
    return on_data_sets(View(table[columns], "share of answers", rows, BAND, AMONG_SHOWN, note), split_of)


def elimination(results: Results) -> View:
    """How often the large model still eliminates where no x comes twice, over training."""
    rows = with_epochs(results.curve("elimination", TWO, family="normal"), results)
    return View(rows[["epoch", "init_seed", "value"]], "share of last steps", "held-out rows without repeat")


def skill_numbers(loss: View, elimination: View) -> dict[str, str]:
    """What the page prints of the large model's skills.

    The epoch by which the loss has fallen half-way from noticing the repeat to recall: the source's network, and ours,
    the median, first and last. Elimination where no x comes twice: the least mean of any checkpoint after the first
    epoch or later.
    """
    rows = loss.published[loss.published["panel"] == PANELS[TWO]]
    levels = [rows.loc[rows["series"] == name, "value"].mean() for name in LEVELS[REPEATED][1:3]]
    fallen = rows[rows["value"] < sum(levels) / 2]
    ours = fallen[fallen["series"] == "ours"].groupby("init_seed")["epoch"].min()
    theirs = fallen.loc[fallen["series"] == "source", "epoch"].min()
    epochs = {"source": theirs, "median": ours.median(), "first": ours.min(), "last": ours.max()}
    kept = elimination.published.query("epoch >= 1").groupby("epoch")["value"].mean().min()
    return {
        **{f"half_way_{whose}": f"{epoch:.0f}" for whose, epoch in epochs.items()},
        "eliminated_least": percent(float(kept)),
    }


def probes(results: Results) -> View:
    """Recall by slot repeated, on every probe: the source's models, and those of its later notebook."""
    called = {
        ONE: "small, without repeats", TWO: "large, with repeats",
        ANY_SOURCE: "later: repeats of any x", ONLY_FIRST: "later: repeats of x1",
    }  # fmt: skip
    slots = {f"source {slot}": f"repeats x{slot}" for slot in range(1, 5)}
    found = []
    for arm, series in called.items():
        if arm in results.arms:
            rows = results.at_final("recall_all", arm, variable=list(slots))
            found.append(rows.assign(group=rows["variable"].astype(str).map(slots), series=series, arm=arm))
    table = in_order(pd.concat(found, ignore_index=True), "group", slots.values())
    view = View(
        table[["group", "series", "arm", "init_seed", "value"]], "share answered with the y shown",
        "all 11,520 probes of held-out permutations", BAND, AMONG_SHOWN,
        f"{GUESS}. Source: one probe a task; later 200 a slot: {_ablated(ANY_SOURCE)} (any) and "
        f"{_ablated(ONLY_FIRST)} (x1).",
    )  # fmt: skip
    return on_data_sets(view, split_of, [ONE, TWO])


def _ablated(arm: str) -> str:
    """What the source's later notebook has of a model, whole."""
    return ", ".join(f"{share:g}" for share in PUBLISHED_ABLATION[arm]["with"])


VIEWS = {
    "loss": loss,
    "steps": steps,
    "held_out": held_out,
    "splits": splits,
    "leaning": leaning,
    "skills": skills,
    "elimination": elimination,
    "probes": probes,
}
