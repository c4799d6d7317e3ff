"""The table behind each figure of the chapter, with what its caption must say."""

import pandas as pd

from circuitcore.models import Head
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import (
    DRAWN,
    FIXED,
    FRESH,
    FULL,
    LARGE,
    REPORTED,
    SOURCE,
)
from retrieval_circuits.sgd_formation.figures.around import BY_ITS_OWN_TIME, READING, around_half
from retrieval_circuits.sgd_formation.figures.streams import GUESS, SPLITS, guesses_of
from retrieval_circuits.sgd_formation.measures.links import JOINED_BY
from retrieval_circuits.sgd_formation.published import ACCURACY, REMOVED
from retrieval_circuits.sgd_formation.readings.networks import (
    LONGEST,
    SHORTEST,
    joiner_sites,
    joining_time,
    leader_sites,
    learning_time,
    looking_time,
    of_readers,
    reads_at_end,
    removal_costs,
    total_looks,
)

TRAINED = (SOURCE, FIXED, FRESH)
SHARE = "share of reads"


def learning(results: Results) -> View:
    """How reading gets better, and how often the answer stays when another key is asked for, arm by arm."""
    found, guesses = [], guesses_of(results)
    for arm in (*TRAINED, FULL, LARGE):
        if arm in results.arms:
            curves = {
                "answered right": results.curve("accuracy", arm, split=REPORTED[arm], variable=""),
                "stays when another key is asked for": results.curve("unmoved", arm),
            }
            found += [rows.assign(series=name, panel=arm, chance=guesses[arm]) for name, rows in curves.items()]
    table = pd.concat(found, ignore_index=True)[["panel", "series", "step", "arm", "init_seed", "value", "chance"]]
    last = table.loc[table["arm"] != FULL, "step"].max()
    note = (
        "Who does not look at the key gives the same answer to any key. On the source's stream what stays is of rows "
        f"of three keys alone. Chance, of reads answered right: {GUESS}. Shown till step {last:,}"
    )
    return View(table[table["step"] <= last], SHARE, "test rows of each stream", BAND, note=note)


def after_swap(results: Results) -> View:
    """What is answered when another key is asked for: its value, or the same as before."""
    parts = {"its value": ("swapped", "follows"), "the same answer": ("unmoved", "")}
    found = [
        results.at_final(metric, arm, variable=variable).assign(group=arm, series=name)
        for arm in TRAINED
        for name, (metric, variable) in parts.items()
    ]
    table = in_order(pd.concat(found, ignore_index=True), "group", TRAINED)
    return View(table[["group", "series", "arm", "init_seed", "value"]], SHARE, "the last read of test rows", BAND)


def reach(results: Results) -> View:
    """Accuracy at the end by split, where rows are fresh and where they are fixed; the source's beside it."""
    found = []
    for arm in (FRESH, FIXED):
        rows = results.at_final("accuracy", arm, split=list(SPLITS), variable="")
        found.append(rows.assign(group=rows["split"].astype(str).map(SPLITS), series=arm))
    table = in_order(pd.concat(found, ignore_index=True), "group", SPLITS.values())
    source = ", ".join(f"{name} {100 * ACCURACY[split]:.0f} %" for split, name in SPLITS.items() if split in ACCURACY)
    note = (
        f"Fresh rows never come back, so their first row is new rows, too. The source's network on its stream: {source}"
    )
    return View(
        table[["group", "series", "arm", "init_seed", "value"]],
        "share of reads answered right",
        "",
        BAND,
        note=note,
    )


LAGS = (0, 3, 6, 9)
"""Lags that the figure shows, of all from 0 to 9."""


def by_lag(results: Results) -> View:
    """How reading gets better by how many writes lie between, where rows are always fresh, from half of all reads on.

    Times are whole checkpoints; a network is shown as far as all are. Of networks that read; of all where none does.
    """
    rows = around_half(results.curve("accuracy", FRESH, split=REPORTED[FRESH]), results)
    words = rows["variable"].astype(str)
    shown = words.isin([f"lag {lag}" for lag in LAGS])
    table = rows[shown].assign(series=words.str.replace("lag ", "") + " writes in between")
    return View(
        table[["series", "step", "axis", "arm", "init_seed", "value"]], "share of reads answered right",
        REPORTED[FRESH], BAND, note=BY_ITS_OWN_TIME,
    )  # fmt: skip


TIMES = {
    "reads look at the value asked for": looking_time(FRESH),
    "reads of the last write are right": learning_time(FRESH, SHORTEST),
    "reads across the longest lag are right": learning_time(FRESH, LONGEST),
    "all reads are right": learning_time(FRESH),
}
"""What comes with values that look at their keys -> values of a reading of when it is half the way to its end."""


def times(results: Results) -> View:
    """How long after values look at their keys each other event is half the way to its end, one point a seed.

    Of networks that read; of all where none does.
    """
    joined = joining_time(FRESH)(results)
    found = [(values(results) - joined).rename("value").reset_index().assign(group=name)
             for name, values in TIMES.items()]  # fmt: skip
    table = of_readers(pd.concat(found, ignore_index=True).assign(arm=FRESH), results)
    note = f"Each {READING}. An event's time: half the way to its value then, of the head that leads. Below 0: before"
    return View(table, "steps after joining: values look at their keys", REPORTED[FRESH], BAND, note=note)


LOOKER, JOINER = "the head that looks the key up", "the head that joins values to keys"


def removed(results: Results) -> View:
    """What each part's removal costs; of heads, those that lead in looking and in joining are told apart."""
    costs = removal_costs(results, FRESH)
    layer, is_mlp = costs["site"].str[1:2], costs["site"].str.endswith("MLP")
    names = ("MLP of layer " + layer).where(is_mlp, "other heads of layer " + layer)
    joiners, lookers = joiner_sites(results, FRESH), leader_sites(results, FRESH)
    for name, sites in {JOINER: joiners, LOOKER: lookers}.items():
        names = names.where(costs["site"] != costs["init_seed"].map(sites), name)
    table = costs.assign(group=names, arm=FRESH).groupby(["group", "arm", "init_seed"], as_index=False)["value"].mean()
    order = (JOINER, LOOKER, *(f"{part} of layer {i}" for part in ("other heads", "MLP") for i in range(3)))
    source = ", ".join(f"{part} {100 * cost:.0f}" for part, cost in REMOVED.items())
    both = ", ".join(str(seed) for seed in joiners.index[joiners == lookers.reindex(joiners.index)])
    one = f" Where one head does both (seed {both}) it stands as the one that looks." if both else ""
    note = f"Parts are set to zero, one at a time; other heads on average.{one} The source's points: {source}"
    return View(in_order(table, "group", order), "accuracy lost", REPORTED[FRESH], BAND, note=note)


def addresses(results: Results) -> View:
    """The head that looks most at the value asked for, network by network, and the others of its layer beside it."""
    costs = removal_costs(results, FRESH).pivot(index="init_seed", columns="site", values="value")
    looks = total_looks(results, FRESH)
    looks = looks[looks["step"] == looks["step"].max()].sort_values("value").set_index("init_seed")["value"]
    found = []
    for seed, site in leader_sites(results, FRESH).items():
        second, most = looks[seed].iloc[-2:]
        others = costs.loc[seed].drop(site).filter(regex=f"^{site[:2]}H")
        found.append({
            "arm": FRESH, "init_seed": seed, "head": site, "its attention": f"{most:.2f}",
            "the second most": f"{second:.2f}", "its removal costs": f"{costs.loc[seed, site]:.0%}",
            "dearest other of its layer": f"{others.max():.0%} ({others.idxmax()})",
        })  # fmt: skip
    return View(pd.DataFrame(found), "attention to the value asked for; accuracy lost", REPORTED[FRESH])


KINDS = {
    "the value asked for": ("support", "answered"),
    "older values of its key": ("stale",),
    "current values of other keys": ("current",),
}
"""What reads look at -> the kinds of positions that count as it."""


def looking(results: Results) -> View:
    """Attention from reads to three kinds of values at the end, of the head that has most of each."""
    found = []
    for arm in (SOURCE, FRESH):
        rows = results.at_final("attention", arm)
        for name, kinds in KINDS.items():
            of_kind = rows[rows["site"].isin(kinds)]
            sums = of_kind.groupby(["init_seed", "layer", "head"])["value"].sum()
            most = sums.groupby("init_seed").max().reset_index()
            found.append(most.assign(group=name, series=arm, arm=arm))
    note = "The value asked for: where it was written, or where an earlier read shows it"
    return View(pd.concat(found, ignore_index=True), "mean attention", "test rows of each stream", BAND, note=note)


def margins(results: Results) -> View:
    """What each part writes of the margin at the end, on our stream, in networks that read and in others."""
    rows = results.rows("margin_parts", arm=FRESH).astype({"site": "str"})
    parts = rows[rows["metric"] == "margin_part"]
    reads = parts["init_seed"].map(reads_at_end(results))
    shown = parts.assign(group=parts["site"], series=reads.map({True: "networks that read", False: "others"}))
    table = shown[["group", "series", "arm", "init_seed", "value"]]
    note = "Parts and biases sum to the margin. Networks that read answer nine of ten"
    return View(table, "logits of the margin", REPORTED[FRESH], BAND, note=note)


def removed_ways(results: Results) -> View:
    """How much more each part's removal costs when it is set to zero than when it is set to its mean."""
    key = ["arm", "init_seed", "site"]
    zero, mean = (removal_costs(results, FRESH, how).astype({"arm": str})[[*key, "value"]] for how in ("zero", "mean"))
    table = zero.merge(mean, on=key, suffixes=("", "_at_mean"), validate="one_to_one")
    table = table.assign(group=table["site"], value=table["value"] - table["value_at_mean"])
    note = "The mean is over words of the same kind. Right of 0: zero costs more"
    unit = "accuracy lost at zero, less that at the mean"
    return View(table[["group", "arm", "init_seed", "value"]], unit, REPORTED[FRESH], note=note)


def singular_values(results: Results) -> View:
    """The circuits of the drawn network's first layer in numbers, beside those of the same weights shuffled."""
    rows = results.rows("spectra", arm=DRAWN).astype({"metric": "str", "variable": "str", "edit": "str"})
    rows, found = rows[rows["layer"] == JOINED_BY], []
    for (step, circuit, head), part in rows.groupby(["step", "variable", "head"], sort=False):
        own, lot = (part[part["edit"] == edit].set_index("metric")["value"] for edit in ("none", "shuffled"))
        turned = part[part["metric"] == "direction"]["value"].iloc[0]
        found.append({
            "arm": DRAWN, "step": f"{step:,}", "head": str(Head(JOINED_BY, int(head))), "circuit": circuit,
            "largest": f"{own['largest']:.2f}", "shuffled": f"{lot['largest']:.2f}",
            "effective rank": f"{own['effective_rank']:.1f}", "its, shuffled": f"{lot['effective_rank']:.1f}",
            "first direction, by the last": f"{turned:.2f}",
        })  # fmt: skip
    return View(pd.DataFrame(found), "as named", "weights alone")


HAVE = {
    "key": "the same key", "value": "the same value", "lag": "as many writes in between",
    "split": "a pair trained on, or held out", "right": "a right answer, or a wrong one",
}  # fmt: skip
"""What two reads may have in common -> in words."""


def gradients_alike(results: Results) -> View:
    """How alike the gradients of two reads of the drawn network are, by what they have in common."""
    rows = results.rows("geometry", arm=DRAWN).astype({"metric": "str", "variable": "str"})
    wide = rows.pivot(index=["step", "variable"], columns="metric", values="value")
    found = [
        {
            "arm": DRAWN, "step": f"{step:,}", "in common": HAVE[name], "alike": f"{part['alike']:z.3f}",
            "without it": f"{part['unlike']:z.3f}", "difference": f"{part['alike'] - part['unlike']:z.3f}",
            "by lot at most": f"{part['by_lot']:z.3f}",
        }
        for (step, name), part in wide.iterrows()
    ]  # fmt: skip
    return View(
        pd.DataFrame(found), "cosine", f"{rows['n'].max()} reads", note="By lot: all but 2.5 % of shuffled labels"
    )


VIEWS = {
    view.__name__: view
    for view in (
        *(learning, after_swap, looking, reach, by_lag, times, removed, addresses),
        *(margins, removed_ways, singular_values, gradients_alike),
    )
}
