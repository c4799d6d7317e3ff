"""Figures of what the seeds show: the curriculum taken apart, roles and features."""

import pandas as pd

from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.six_run_matrix.design import APART, MATRIX
from retrieval_circuits.six_run_matrix.published import SLOT_FEATURES
from retrieval_circuits.six_run_matrix.readings import curriculum, per_seed, roles
from retrieval_circuits.six_run_matrix.readings.births import VARIABLES

SIGNIFICANT = 0.05
AGREEMENTS = {
    "matched": "ours: heads matched within layers", "same_identity": "same head leads",
    "top3_overlap": "overlap of the three best", "profile_cosine": "cosine",
}  # fmt: skip
SHUFFLES = {
    "seeds": "value", "shuffled within layers": "chance_within_layers", "shuffled over both layers": "chance_all_heads",
}  # fmt: skip
"""What the figure of agreement calls it -> its column."""
IN_PROSE = {
    "handoffs, file order": "how often the leading head changes, counted in file order",
    "handoffs beyond noise": "how often it changes by more than noise, counted in time",
    "steps to validation accuracy 0.9": "how long a network takes to answer nine in ten validation prompts",
}
"""Quantities of the table, as a sentence says them."""


def inference(results: Results) -> View:
    """Every comparison of the two curricula with its interval and exact permutation test, in words."""
    found = curriculum.tests(results)
    three = found["p_of_three"].map(_three) + f" ({found['least_of_three'].iloc[0]:.2g} at best)"
    spans = zip(found["difference"], found["low"], found["high"], strict=True)
    table = pd.DataFrame(
        {
            "quantity": found["quantity"], "on": found["on"].map(_three), "off": found["off"].map(_three),
            "difference": [f"{_three(mean)} [{_three(low)}, {_three(high)}]" for mean, low, high in spans],
            "p": found["p_value"].map(_three), "p, Holm": found["p_holm"].map(_three),
            "p of the source's seeds": three,
        }
    )  # fmt: skip
    note = f"Over {int(found['n'].max())} pairs; the seeds of one data set count once."
    return View(table.assign(init_seed=pd.NA), "as named", "as named", note=note)


def differing(tests: View) -> str:
    """Of ``inference``: what differs at 0.05 after Holm's correction, in words."""
    rows = tests.table[pd.to_numeric(tests.table["p, Holm"], errors="coerce") < SIGNIFICANT]
    return "; ".join(IN_PROSE.get(quantity, quantity) for quantity in rows["quantity"].unique()) or "none"


def _three(value: float) -> str:
    """Three significant digits, whole numbers whole."""
    return "–" if pd.isna(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def apart(results: Results) -> View:
    """Steps to validation accuracy 0.90 in every arm that keeps some ingredient of the curriculum."""
    parts, never = [], 0
    for arm in (*MATRIX, *APART):
        if per_seed.has(results, arm):
            steps = per_seed.behaviour_steps(results, arm)
            end = int(results.at_final("accuracy", arm, split="val")["step"].max())
            never += int(steps.isna().sum())
            parts.append(steps.fillna(end).rename("value").reset_index().assign(group=arm, arm=arm))
    note = f"{never} networks never get there and are drawn at the end of their training." if never else ""
    table = pd.concat(parts, ignore_index=True)[["group", "arm", "init_seed", "value"]]
    return View(table, "steps to 90 % validation accuracy", "val", BAND, note=note)


def apart_outcomes(results: Results) -> View:
    """What the arms end in: accuracy on four pairs, and what is lost without layer 0's heads."""
    arms = [arm for arm in (*MATRIX, *APART) if per_seed.has(results, arm)]
    read = {
        "accuracy on four pairs": lambda arm: per_seed.accuracy(results, arm, per_seed.OOD),
        "attention follows the patched query": lambda arm: results.final_values("attention_slot_follows", arm),
    }
    parts = [
        values(arm).rename("value").reset_index().assign(group=arm, arm=arm, series=series)
        for series, values in read.items() for arm in arms
    ]  # fmt: skip
    table = pd.concat(parts, ignore_index=True)
    return View(table[["group", "arm", "series", "init_seed", "value"]], "share of prompts", "four pairs; test", BAND)


def stability(results: Results) -> View:
    """Agreement between seeds under our measure and the source's, with what shuffled heads reach (its figure 10).

    Shuffled within layers, heads keep what the format forces on their layer; over both layers they lose that, too.
    """
    if min(len(results.seeds(arm)) for arm in MATRIX) < 2:
        raise SelectionError("agreement needs two seeds of each curriculum")
    found = roles.agreements(results)
    found = found[found["metric"].isin(["routing", "copying", "all"])]
    parts = []
    found = in_order(found, "measure", AGREEMENTS)
    for (measure, metric, arm), pairs in found.groupby(["measure", "metric", "arm"], sort=False, observed=True):
        group = f"{AGREEMENTS[measure]}{'' if metric == 'all' else ', ' + metric} ({arm})"
        for series, column in SHUFFLES.items():
            values = roles.mean_over_pairs(pairs, pairs[column]).rename("value").reset_index()
            parts.append(values.assign(group=group, series=series, arm=arm))
    table = pd.concat(parts, ignore_index=True)
    note = (
        "Every point is a seed's mean over its pairs with the other seeds of its curriculum. Our measure matches heads "
        "within layers, so that shuffling them there leaves it as it is. Seeds share pairs, so that no interval over "
        "them is drawn"
    )
    return View(table[["group", "arm", "series", "init_seed", "value"]], "agreement", "all six families", note=note)


def leaders(results: Results) -> View:
    """By how much the routing head leads at the end, and how often the operators change heads."""
    parts = []
    for arm in MATRIX:
        for metric in ("routing", "copying"):
            lead = curriculum.final_leaders(results, metric, arm)["lead"]
            parts.append(lead.rename("value").reset_index().assign(group=f"{metric} ({arm})", arm=arm))
    table = pd.concat(parts, ignore_index=True).astype({"value": float})
    margin = curriculum.margin_of_noise(results)
    return View(
        table, "lead of the best head over the next, share of prompts", "all six families", BAND,
        note=f"A lead of {margin:.3f} or less is noise.",
    )  # fmt: skip


def handoffs(results: Results) -> View:
    """Changes of the leading head as the source counts them, in time order, and beyond noise."""
    ways = {"file_order": "file order (as published)", "raw": "time order", "beyond_noise": "beyond noise"}
    counted = curriculum.operator_handoffs(results)
    table = counted.melt(["arm", "init_seed", "motif"], list(ways), "series", "value")
    table = table.assign(
        series=table["series"].map(ways),
        group=table["motif"] + " (" + table["arm"] + ")",
        value=table["value"].astype(float),
    )
    order = {series: place for place, series in enumerate(ways.values())}
    table = table.assign(place=table["series"].map(order)).sort_values(["group", "place"], kind="stable")
    return View(table[["group", "series", "arm", "init_seed", "value"]], "handoffs", "all six families", BAND)


def slot(results: Results) -> View:
    """What can be read at the arrow, and where attention goes when the query is exchanged."""
    parts = []
    for arm in MATRIX:
        for variable, name in VARIABLES.items():
            for metric, series in {
                "probe_chosen": "probe", "probe_chosen_worst_class": "probe, its worst class",
                "probe_chosen_random": "probe, random labels",
            }.items():  # fmt: skip
                values = results.final_values(metric, arm, variable=variable).rename("value").reset_index()
                parts.append(values.assign(group=f"{name}, probed ({arm})", series=series, arm=arm))
        follows = results.final_values("attention_slot_follows", arm).rename("value").reset_index()
        parts.append(follows.assign(group=f"slot, by attention ({arm})", series="attention", arm=arm))
    table = pd.concat(parts, ignore_index=True).sort_values("group", kind="stable")
    note = "Chance: 1/16 for key and value, 1/3 for the slot (line)."
    return View(table[["group", "series", "arm", "init_seed", "value"]], "share right", "test", BAND, 1 / 3, note)


def carried(results: Results) -> View:
    """Where key, slot and value point to three different answers: which one the answer follows, by patched site.

    One number per seed: the mean over its two curricula.
    """
    names = {
        "base_answer": "nothing moved", "query_key": "key", "matching_slot": "slot", "selected_value": "value",
    }  # fmt: skip
    sites = {
        "L0H*.z": "layer 0 heads' writes", "L0.resid_post": "stream after layer 0", "L1H*.q": "layer 1 queries",
        "L1H*.z": "layer 1 heads' writes", "L1.resid_post": "stream after layer 1",
    }  # fmt: skip
    where = {"family": "separating", "edit": "", "site": list(sites)}
    rows = pd.concat([results.at_final("interchange", arm, **where) for arm in MATRIX], ignore_index=True)
    rows = rows.assign(hypothesis=rows["variable"].astype(str).map(names), site=rows["site"].astype(str).map(sites))
    table = rows.groupby(["site", "hypothesis", "init_seed"])["value"].mean().reset_index()
    rest = (1 - table.groupby(["site", "init_seed"])["value"].sum()).rename("value").reset_index()
    table = pd.concat([table, rest.assign(hypothesis="other")], ignore_index=True)
    order = {name: place for place, name in enumerate([*sites.values(), *names.values(), "other"])}
    table = table.assign(at=table["site"].map(order), what=table["hypothesis"].map(order))
    table = table.sort_values(["at", "what", "init_seed"], kind="stable", ignore_index=True)
    return View(
        table[["site", "hypothesis", "init_seed", "value"]], "share of answers", "test prompts",
        note="Means over both curricula",
    )  # fmt: skip


def sparse(results: Results) -> View:
    """Share of active features and explained variance, the source's autoencoders beside converged ones."""
    kinds = {"sae_published": "as published", "sae": "converged"}
    read = {
        "explained_variance": "variance explained", "density": "features active per prompt",
        "decoder_cos_share": "pairs of features that are aligned",
    }  # fmt: skip
    parts = []
    for kind, series in kinds.items():
        sites = roles.site_labels(results, kind)
        sites = sites[~sites["constant"].astype(bool)] if len(sites) else sites
        for column, name in read.items():
            if len(sites):
                values = sites.groupby(["arm", "init_seed"])[column].mean().rename("value").reset_index()
                parts.append(values.assign(group=name + " (" + values["arm"] + ")", series=series))
    if not parts:
        raise SelectionError("no features were measured")
    table = pd.concat(parts, ignore_index=True)[["group", "series", "arm", "init_seed", "value"]]
    note = "Means over the tracked sites that vary between prompts of one length. Aligned: a cosine of 0.2 or more."
    return View(table, "share", "held-out training prompts", BAND, note=note)


def signals(results: Results) -> View:
    """The source's extra signals beside ours: sites and neurons labelled slot, constant sites."""
    rows = []
    for arm in MATRIX:
        for kind, what in {"sae_published": "as published", "sae": "converged"}.items():
            rows.append({"signal": f"sites labelled slot, {what} ({arm})", **_slot_sites(results, kind, arm)})
        rows.append({"signal": f"layers whose top neuron stands for the slot ({arm})", **_slot_neurons(results, arm)})
    return View(pd.DataFrame(rows), "sites", "all six families")


def _slot_sites(results: Results, kind: str, arm: str) -> dict[str, object]:
    sites = roles.site_labels(results, kind)
    sites = sites[sites["arm"] == arm]
    constant, named = sites["constant"].astype(bool), sites["label"].eq("matching_slot")
    n, of_n = SLOT_FEATURES[arm]
    return {
        "source": f"{n} of {of_n}" if kind == "sae_published" else None,
        "ours": f"{int(named.sum())} of {len(sites)}",
        "of which constant": int((named & constant).sum()),
        "varying and beyond the null": int((named & ~constant & sites["beyond"].astype(bool)).sum()),
    }


def _slot_neurons(results: Results, arm: str) -> dict[str, object]:
    neurons = results.features[(results.features["kind"] == "neurons") & (results.features["arm"] == arm)]
    ranked = neurons[neurons["metric"] == "eta2"].sort_values("value")
    top = ranked.groupby(["init_seed", "site"], observed=True).tail(1)
    return {"source": "0 of 6", "ours": f"{int(top['variable'].astype(str).eq('matching_slot').sum())} of {len(top)}"}


VIEWS = {
    "inference": inference,
    "apart": apart,
    "apart_outcomes": apart_outcomes,
    "stability": stability,
    "leaders": leaders,
    "handoffs": handoffs,
    "slot": slot,
    "carried": carried,
    "sparse": sparse,
    "signals": signals,
}
