"""The table behind each figure of the chapter, with what its caption must say."""

from collections.abc import Callable

import pandas as pd

from circuitcore.tasks import make_task
from livingpaper.claims.results import Results, with_epochs
from livingpaper.claims.units import POINTS
from livingpaper.claims.view import View, in_order, on_data_sets
from livingpaper.figures.circuit import percent
from retrieval_circuits.design import BAND, SHARES
from retrieval_circuits.story_control.design import (
    ARMS,
    CANNOT,
    COULD_FAIL,
    FRESH,
    ONE_LAYER,
    PHRASES,
    PLANTED,
    PROBE_ROWS,
    REPEATS,
    SHUFFLED,
    STORY,
    data_set_of,
)
from retrieval_circuits.story_control.published import PUBLISHED, PUBLISHED_TEXT
from retrieval_circuits.story_control.readings import (
    ANY,
    DEFINITIONS,
    GATE,
    MOTIFS,
    N_BASES,
    OURS,
    PATCH,
    REPORTED,
    THRESHOLDS,
    WHOLE,
    births_in,
    ceilings,
    curves,
    false_positives,
    operator_chances,
    reported,
    text_facts,
)

PAIRS = {"train_2_pairs": "two", "train_3_pairs": "three"}
SPLITS = {"train": "train", "val": "val", "test": "test", "ood": "longer context"}
VARIABLES = {
    "previous_token": "previous word",
    "target_seen_in_context": "target seen before",
    "repeat_distance_bucket": "how far back",
    "target_token": "target",
}
SHORT = {STORY: "story", PLANTED: "repeats", PHRASES: "phrases"}
SWEPT = f"{N_BASES} test rows, each with five lengths of context"
SWEPT_AND_RIGHT = f"{SWEPT}; behaviour: validation rows"
HAS = {arm: f"{arm} (learnable)" for arm in REPEATS}
_CURVE = ["epoch", "series", "arm", "init_seed", "value"]
DEFINED = dict(zip(DEFINITIONS, ("the source's definitions", "our definitions"), strict=True))


def accuracy(results: Results) -> View:
    """The source's figure 1, left: accuracy on every split of the story, a panel each, with its own chance."""
    rows = results.curve("accuracy", STORY, split=list(SPLITS))
    chance, split = make_task("story", {}).chance, rows["split"].astype(str)
    rows = rows.assign(panel=split.map(SPLITS), series="accuracy", chance=split.map(chance))
    table = in_order(_with_epochs(rows, results), "panel", SPLITS.values())
    note = "Chance: always the commonest training word. Longer context: test words after forty. Scales differ"
    return View(table[[*_CURVE, "panel", "chance"]], "accuracy", "each split", BAND, note=note)


def chosen_elsewhere(results: Results) -> View:
    """Accuracy above the commonest word at the epoch that is best on other rows: on test the best of val, and back."""
    found, chance = [], make_task("story", {}).chance
    for by, on in (("val", "test"), ("test", "val")):
        best = _best(results.curve("accuracy", STORY, split=by))
        rows = results.curve("accuracy", STORY, split=on).merge(best[["init_seed", "step"]], on=["init_seed", "step"])
        found.append(rows.assign(value=rows["value"] - chance[on], split=on))
    table = pd.concat(found, ignore_index=True)[["split", "arm", "init_seed", "value"]]
    return View(table, "share of words above the commonest", "val and test")


def chosen_numbers(chosen: View) -> dict[str, str]:
    """What the page prints of it: the means, in points."""
    means = chosen.published.groupby("split")["value"].mean()
    return {f"{on}_elsewhere": POINTS.words(means[on]) for on in ("val", "test")}


def by_heart(results: Results) -> View:
    """Accuracy at the end on the prompts with shuffled targets that a network was trained on, by number of pairs."""
    rows = results.at_final("accuracy", SHUFFLED, split=list(PAIRS))
    table = rows.assign(group=rows["split"].astype(str).map(PAIRS))[["group", "arm", "init_seed", "value"]]
    chance = 1 / len(make_task("textual_kv", {}).answers)
    return on_data_sets(
        View(table, "accuracy", "prompts trained on", BAND, chance, "Chance: any of the values."), data_set_of
    )


def by_heart_numbers(view: View) -> dict[str, str]:
    """What the page prints of it: the mean of each number of pairs, the range over networks of three, and chance."""
    by_pairs = view.published.groupby("group")["value"]
    return {
        **{f"by_heart_{pairs}": percent(value) for pairs, value in by_pairs.mean().items()},
        "by_heart_low": percent(by_pairs.min()["three"]),
        "by_heart_high": percent(by_pairs.max()["three"]),
        "by_chance": percent(float(view.chance or 0)),
    }


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    """The first checkpoint with the highest value of each network."""
    return rows.sort_values(["init_seed", "value", "step"], ascending=[True, False, True]).groupby("init_seed").head(1)


def variables(results: Results) -> View:
    """The source's figure 1, right: what probes read and what patches move, for each variable."""
    metrics = {"probe_published_best": "probe, best site", "faithfulness_published": "patch at that site"}
    units = dict(zip(metrics.values(), ("share read rightly", "share moved"), strict=True))
    found = []
    for metric, panel in metrics.items():
        rows = results.curve(metric, STORY, family="all")
        found.append(rows.assign(panel=panel, series=rows["variable"].astype(str).map(VARIABLES)))
    table = _with_epochs(pd.concat(found, ignore_index=True), results)
    table = in_order(in_order(table, "series", VARIABLES.values()), "panel", metrics.values())
    table = table.assign(unit=table["panel"].map(units))
    return View(table[["panel", "unit", *_CURVE]], ", ".join(units.values()), SWEPT, BAND)


def operators(results: Results) -> View:
    """The source's figure 2, the higher head of each layer: routing, copying, recency, and what its loss costs."""
    metrics = {
        "routing": "routing", "copying": "copying", "recency": "recency", "ablation_drop_published": "ablation drop",
    }  # fmt: skip
    found = []
    for metric, panel in metrics.items():
        rows = results.curve(metric, STORY)
        rows = rows[rows["family"].isin(["", "all"])]
        case = ["arm", "init_seed", "run_id", "step", "layer"]
        found.append(rows.groupby(case, observed=True)["value"].max().reset_index().assign(panel=panel))
    table = _with_epochs(pd.concat(found, ignore_index=True), results)
    table = table.assign(series="layer " + table["layer"].astype(str) + ", its higher head")
    table = in_order(table.sort_values("series", kind="stable"), "panel", metrics.values())
    guessed = operator_chances(make_task("story", {}), N_BASES)
    table = table.assign(chance=table["panel"].map(guessed))
    with_copy = int(results.curve("routing", STORY, family="all")["n"].iloc[0])
    note = (
        f"Routing and copying count the {with_copy} of these rows whose context holds the target. Chance is that of "
        "one head: routing and recency, any position so far; copying, any word"
    )
    return View(table[["panel", "chance", *_CURVE]], "share of rows", SWEPT, BAND, note=note)


def highest(results: Results) -> View:
    """The highest score of each motif and of its gate, at any checkpoint: the story and the positive controls."""
    found = []
    for arm, called in SHORT.items():
        table = curves(results, arm, DEFINITIONS[0])
        score = table[table["family"].isin(["", "all"])]
        for ending, series in {"": "score", "_worst_base": "worst base prompt"}.items():
            rows = score[score["metric"].str.endswith("_worst_base") == bool(ending)]
            motif = rows["metric"].str.removesuffix("_worst_base").str.partition(":")[0]
            top = rows.assign(motif=motif).groupby(["arm", "init_seed", "motif"])["value"].max().reset_index()
            found.append(top.assign(group=f"{called}: " + top["motif"], series=series))
    table = pd.concat(found, ignore_index=True)
    table = in_order(table, "group", [f"{called}: {motif}" for called in SHORT.values() for motif in MOTIFS])
    note = (
        f"Born at {THRESHOLDS[MOTIFS[0]]:g} (behaviour) or {THRESHOLDS[PATCH]:g}, where the worst base prompt reaches "
        f"{GATE:g} at the same checkpoint."
    )
    view = View(
        table[["group", "series", "arm", "init_seed", "value"]], "highest share", SWEPT_AND_RIGHT, BAND, note=note
    )
    return on_data_sets(view, data_set_of, [*REPEATS])


def where(results: Results) -> View:
    """Where the last layer mostly looks in the end, network by network: at the word to be copied, or one past it."""
    found = []
    for arm in REPEATS:
        looks = pd.DataFrame(
            {metric: _last_layers_best(results, metric, arm) for metric in ("routing", "routing_after")}
        )
        at, past = (looks[metric] > 1 / 2 for metric in looks)
        places = {"the word to be copied": at & ~past, "one past it": past & ~at, "both, by a head each": at & past,
                  "neither": ~at & ~past}  # fmt: skip
        for place, holds in places.items():
            rows = holds.astype(int).rename("value").reset_index()
            found.append(rows.assign(group=place, panel=f"planted {SHORT[arm]}", arm=arm, series="networks"))
    note = "A network looks there where one of the last layer's two heads does in more than half of the rows"
    table = pd.concat(found, ignore_index=True)
    view = View(table, "share of networks", "test rows with their whole context", SHARES, note=note)
    return on_data_sets(view, data_set_of)


def _last_layers_best(results: Results, metric: str, arm: str) -> pd.Series:
    rows = results.at_final(metric, arm, family="full")
    return rows[rows["layer"] == rows["layer"].max()].groupby("init_seed")["value"].max()


def rates(results: Results) -> View:
    """Whether any birth, and all four, are reported of each run, by kind of network."""
    runs = pd.concat([reported(results, definitions) for definitions in DEFINITIONS], ignore_index=True)
    runs = runs[runs["motif"].isin([WHOLE, ANY])]
    table = runs.assign(
        group=runs["arm"].replace(HAS), series=runs["definitions"].map(DEFINED), value=runs["born"].astype(float)
    )
    table = table.rename(columns={"motif": "panel"})
    table = in_order(in_order(table, "group", [*CANNOT, *HAS.values()]), "panel", [WHOLE, ANY])
    note = (
        f"Untrained networks have seeds of their own, from {FRESH} on, so that none is the start of a trained one. "
        f"Only planted repeats and phrases leave anything to find. Cards take {', '.join(COULD_FAIL)} together."
    )
    columns = ["panel", "group", "series", "arm", "init_seed", "value"]
    view = View(table[columns], "share of runs reported", "held-out prompts", SHARES, note=note)
    return on_data_sets(view, data_set_of, [arm for arm in ARMS if arm != STORY])


def alarm_numbers(rates: View, motifs: View) -> dict[str, str]:
    """What the page prints of both: networks of one layer with any birth, the others that could fail, by ours; copying.

    Those of the published runs where the reader's stand under them.
    """
    rows = rates.published
    rows = rows[rows["arm"].isin(COULD_FAIL) & (rows["panel"] == ANY) & (rows["series"] == DEFINED[OURS])]
    one = rows["arm"] == ONE_LAYER
    parts = {"any_in_one_layer": rows.loc[one, "value"], "any_elsewhere": rows.loc[~one, "value"]}
    copying = motifs.table.loc[motifs.table["networks"] == ONE_LAYER, "copying"].iloc
    return {
        "copying_by_the_source": copying[0],
        "copying_by_ours": copying[1],
        **{name: f"{int(part.sum())} of {len(part)}" for name, part in parts.items()},
    }


def motifs(results: Results) -> View:
    """In how many runs each birth is reported, in words: one row per control and definition."""
    table = false_positives(results)
    table = table.assign(runs=table["k"].astype(str) + " of " + table["n"].astype(str))
    table = table.assign(under=table["definitions"].map(DEFINED))
    wide = table.pivot(index=["arm", "under"], columns="motif", values="runs").reset_index()
    wide = in_order(wide[wide["arm"].isin(ARMS)], "under", DEFINED.values())
    wide = in_order(wide, "arm", ARMS)[["arm", "under", *REPORTED]]
    return View(wide.rename(columns={"arm": "networks"}).assign(init_seed=pd.NA), "runs", "held-out prompts")


def ceiling(results: Results) -> View:
    """What the rows allow, whatever the network: story and planted repeats."""
    found = []
    for arm, (name, called) in {STORY: ("story", "story"), PLANTED: ("planted_repeats", "planted repeats")}.items():
        table = ceilings(make_task(name, {}), N_BASES, PROBE_ROWS[arm])
        found.append(table.assign(possible=table["possible"].map({True: "yes", False: "no"}), task=called))
    table = pd.concat(found, ignore_index=True).replace({"part": VARIABLES})
    columns = {"task": "task", "motif": "motif", "part": "of", "score": "best score", "gate": "worst base prompt"}
    return View(
        table.rename(columns={**columns, "possible": "can be born"})[[*columns.values(), "can be born"]], "share", SWEPT
    )


def text(results: Results) -> View:
    """The source's story and ours, counted."""
    ours = text_facts(make_task("story", {}), N_BASES, PROBE_ROWS[STORY])
    rows = [{"quantity": name, "source": PUBLISHED_TEXT[name], "ours": value} for name, value in ours.items()]
    return View(pd.DataFrame(rows), "as named", "the story")


def numbers(results: Results) -> View:
    """The source's numbers beside ours, one row a quantity."""
    best, found = _best(results.curve("accuracy", STORY, split="val")), []
    for split, called in SPLITS.items():
        of_split = results.curve("accuracy", STORY, split=split)
        if split != "train":
            at_best = of_split.merge(best[["init_seed", "step"]], on=["init_seed", "step"])
            found.append(at_best.assign(quantity=f"accuracy, {called}, best epoch"))
        found.append(results.at_final("accuracy", STORY, split=split).assign(quantity=f"accuracy, {called}, final"))
    born = births_in(results, STORY, DEFINITIONS[0]).rename("value").reset_index().assign(quantity="births")
    table = pd.concat([*found, born], ignore_index=True)
    table = table.assign(source=table["quantity"].map(PUBLISHED))
    return View(
        in_order(table, "quantity", PUBLISHED)[["quantity", "source", "init_seed", "value"]], "as named", "as named"
    )


def _with_epochs(rows: pd.DataFrame, results: Results) -> pd.DataFrame:
    return with_epochs(rows.assign(arm=rows["arm"].astype(str)), results)


VIEWS: dict[str, Callable[[Results], View]] = {
    "accuracy": accuracy,
    "variables": variables,
    "operators": operators,
    "highest": highest,
    "where": where,
    "chosen_elsewhere": chosen_elsewhere,
    "by_heart": by_heart,
    "rates": rates,
    "motifs": motifs,
    "ceiling": ceiling,
    "text": text,
    "numbers": numbers,
}
