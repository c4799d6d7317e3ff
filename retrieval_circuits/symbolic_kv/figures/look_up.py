"""Figures on the circuit: edges, exchanges, subsets of heads, what each part writes, probes, maps."""

import pandas as pd

from circuitcore.emergence.roles import circuits
from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.view import View, in_order
from retrieval_circuits.bounds import IN_CONTEXT, MORE_OFTEN_THAN_NOT
from retrieval_circuits.design import BAND
from retrieval_circuits.symbolic_kv.design import TORCH, TRAINED
from retrieval_circuits.symbolic_kv.figures.words import AMONG_ALL, GUESSES, ROWS_SWEPT
from retrieval_circuits.symbolic_kv.readings import (
    SWEEP,
    by_site,
    chosen_heads,
    key_effects,
    probe_site,
    query_effects,
    separated,
)

HOW = {"zero@all": "zero", "mean@all": "mean", "resample@all": "resample"}
"""How removed heads are replaced, at every position."""
ROLES = {"L0": ("carrier", ("L0\u00a0carrier", "L0\u00a0other")), "L1": ("router", ("L1\u00a0router", "L1\u00a0other"))}
"""Layer -> the role its heads are told apart by, and what they are called (one word each where names are listed)."""
VARIABLES = {"query_key": "query key", "matching_slot": "slot", "selected_value": "value"}


def edges(results: Results) -> View:
    """Path patching: share of answers that switch, for each sender, receiving input and counterfactual."""
    rows = results.at_final("edge_switch", TRAINED)
    ends = rows["site"].astype(str).str.split("->L1H\\*.", expand=True, regex=True)
    rows = rows.assign(sender=ends[0], input=ends[1]).dropna(subset=["input"])
    fixed = {"embed": "embedding", "L0H*": "both heads", "L0MLP": "MLP", "all": "all of these"}
    parts = [rows[rows["sender"] == name].assign(sender=label) for name, label in fixed.items()]
    for role in ("carrier", "tagger"):  # one head may play both roles; its edge then stands in both rows
        own = rows["init_seed"].map(chosen_heads(results, role))
        parts.append(rows[rows["sender"] == own].assign(sender=role))
    inputs = {"q": "queries", "k": "keys", "v": "values"}
    asked = {"query": "another query", "keys": "keys exchanged", "values": "values exchanged"}
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(receiver=table["input"].map(inputs), counterfactual=table["family"].astype(str).map(asked))
    for column, order in {
        "receiver": inputs.values(),
        "sender": ("embedding", "carrier", "tagger", "both heads", "MLP", "all of these"),
        "counterfactual": asked.values(),
    }.items():
        table = in_order(table, column, order)
    columns = ["sender", "receiver", "counterfactual", "init_seed", "value"]
    note = "A network that guesses among the values of the prompt would score 1/3 in every cell."
    return View(table[columns], "share of answers that switch", "test prompts", note=note)


def one_head(results: Results) -> View:
    """Whether carrier and tagger are one head: 1 for a network in which they are, else 0."""
    same = chosen_heads(results, "carrier") == chosen_heads(results, "tagger")
    table = same.astype(float).rename("value").reset_index()
    return View(table, "networks in which one head is both", ROWS_SWEPT)


def edge_numbers(edges: View, one_head: View) -> dict[str, str]:
    """What the page prints of both views, of the published runs where the reader's stand under them.

    How often the carrier moves the answer through all queries of layer 1 with the MLP held still; in how many networks
    it is the tagger, too.
    """
    rows, same = edges.published, one_head.published["value"]
    into_queries = (rows["receiver"] == "queries") & (rows["counterfactual"] == "another query")
    direct = rows.loc[into_queries & (rows["sender"] == "carrier"), "value"].mean()
    return {"carrier_direct": f"{100 * direct:.0f} %", "one_head": f"{same.sum():.0f} of {len(same)}"}


def chain(results: Results) -> View:
    """Every link of the chain in every seed, and in how many seeds all of them move the answer."""
    links = {
        "carrier's write, into layer 1's queries": query_effects(results),
        "layer 1's queries": separated(results, "L1H*.q", "query_key"),
        "tagger's write, into layer 1's keys": key_effects(results),
        "layer 1's writes": separated(results, "L1H*.z", "selected_value"),
    }
    table = pd.concat([values.reset_index().assign(group=link) for link, values in links.items()], ignore_index=True)
    moved = table.groupby("init_seed")["value"].min() >= MORE_OFTEN_THAN_NOT.value
    note = f"Every link moves the answer more often than not in {int(moved.sum())} of {len(moved)} seeds."
    return View(table[["group", "init_seed", "value"]], "share of answers that move", "test prompts", BAND, note=note)


def interchange(results: Results) -> View:
    """Where key, slot and value point to three different answers: which one the answer follows, by patched site."""
    names = {
        "base_answer": "nothing moved", "query_key": "key", "matching_slot": "slot", "selected_value": "value",
    }  # fmt: skip
    sites = {
        "L0H*.z": "layer 0 heads' writes", "L0.mlp_out": "layer 0 MLP's write", "L0.resid_post": "stream after layer 0",
        "L1H*.q": "layer 1 queries", "L1H*.k": "layer 1 keys (at values)", "L1H*.v": "layer 1 values (at values)",
        "L1H*.z": "layer 1 heads' writes", "L1.resid_post": "stream after layer 1",
    }  # fmt: skip
    rows = results.at_final("interchange", TRAINED, family="separating", edit="", site=list(sites))
    table = rows.assign(hypothesis=rows["variable"].astype(str).map(names), site=rows["site"].astype(str).map(sites))
    rest = 1 - table.groupby(["site", "init_seed"])["value"].sum()
    table = pd.concat([table, rest.reset_index().assign(hypothesis="other")], ignore_index=True)
    table = in_order(in_order(table, "hypothesis", [*names.values(), "other"]), "site", sites.values())
    note = (
        "Layer 1's keys decide nothing here: a perfect look-up splits evenly among key, slot and nothing moved. Its "
        "values, exchanged alone, give the source prompt's value in the prompt's own slot, which is counted as other."
    )
    return View(table[["site", "hypothesis", "init_seed", "value"]], "share of answers", "test prompts", note=note)


def subsets(results: Results) -> View:
    """Accuracy with every subset of heads kept, by how the others are removed (at every position)."""
    rows = results.at_final("ablated_accuracy", TRAINED, edit=list(HOW))
    rows = rows[~rows["site"].astype(str).str.contains("MLP")]
    heads = sorted({head for site in rows["site"].astype(str) for head in site.split("+")} - {"none"})
    leaders = _leaders(results)
    kept = [
        _kept(site, seed, heads, leaders)
        for site, seed in zip(rows["site"].astype(str), rows["init_seed"], strict=True)
    ]
    table = rows.assign(kept=kept, how=rows["edit"].astype(str).map(HOW))[["kept", "how", "init_seed", "value"]]
    note = "Heads are named by role in each seed: the carrier and the router are those of the text."
    return View(table, "accuracy", ROWS_SWEPT, BAND, note=note, levels=GUESSES)


def _leaders(results: Results) -> dict[str, pd.Series]:
    """Layer -> the head that plays its role in each seed."""
    return {layer: chosen_heads(results, role) for layer, (role, _) in ROLES.items()}


def _kept(ablated: str, seed: int, heads: list[str], leaders: dict[str, pd.Series]) -> str:
    """Names of the heads left on, by role within their layer so that seeds can share a row."""
    left = {_called(head, seed, leaders) for head in heads if head not in ablated.split("+")}
    return " ".join(name for _, names in ROLES.values() for name in names if name in left)


def _called(head: str, seed: int, leaders: dict[str, pd.Series]) -> str:
    """What a head is called in its seed."""
    _, (leader, other) = ROLES[head[:2]]
    return leader if head == leaders[head[:2]][seed] else other


def circuit(results: Results) -> View:
    """Faithfulness, completeness and minimality of the smallest sufficient set of heads, by how others are removed."""
    rows = results.at_final("ablated_accuracy", TRAINED, edit=list(HOW))
    found = circuits(rows.astype({"edit": str, "site": str}), by=("init_seed", "edit"))
    found = found.assign(series=found["edit"].map(HOW))
    names = {
        "faithfulness": "faithfulness: kept alone", "completeness": "completeness: left when it is removed",
        "minimality": "minimality: least loss without one member",
    }  # fmt: skip
    wide = found.rename(columns=names)
    table = wide.melt(["init_seed", "series"], list(names.values()), "group", "value").dropna(subset=["value"])
    if table.empty:
        raise SelectionError("in no seed do the heads together bring anything that a circuit could keep")
    sizes = found.groupby("series")["n_heads"].agg(["min", "max"]).astype(int)
    told = (f"{low} to {high} ({series})" for series, (low, high) in zip(sizes.index, sizes.to_numpy(), strict=True))
    note = f"Heads in the set: {', '.join(told)}."
    table = table.astype({"value": float})[["group", "series", "init_seed", "value"]]
    return View(table, "share of what all heads bring", ROWS_SWEPT, BAND, note=note)


def attribution(results: Results) -> View:
    """Direct logit attribution: each part's share of the answer's lead over the other values."""
    rows = results.at_final("attribution", TRAINED)
    leaders = _leaders(results)
    names = {"embed": "embedding", "L0MLP": "L0 MLP", "L1MLP": "L1 MLP"}
    component = [
        names.get(site) or _called(site, seed, leaders)
        for site, seed in zip(rows["site"].astype(str), rows["init_seed"], strict=True)
    ]
    order = ["embedding", *ROLES["L0"][1], "L0 MLP", *ROLES["L1"][1], "L1 MLP"]
    table = in_order(rows.assign(component=component), "component", order)[["component", "init_seed", "value"]]
    return View(table, "logit, answer less the mean of the other values", ROWS_SWEPT, BAND)


def slot(results: Results) -> View:
    """What probes read at the arrow against what attention chooses."""
    groups = []
    for variable, label in VARIABLES.items():
        best = probe_site(results, variable)
        for metric, series in {"probe": "probe", "probe_random_labels": "probe, random labels"}.items():
            found = by_site(results, metric, best, variable=variable).reset_index()
            groups.append(found.assign(group=f"{label}, probed at the arrow", series=series))
    routing = by_site(results, "routing", chosen_heads(results, "router"), family=SWEEP).reset_index()
    groups.append(routing.assign(group="slot, chosen by the router's attention", series="attention"))
    table = pd.concat(groups, ignore_index=True)[["group", "series", "init_seed", "value"]]
    levels = {"a guess of key or value": AMONG_ALL, "a guess of the slot": IN_CONTEXT}
    return View(table, "share right", "test prompts", BAND, levels=levels)


def pattern(results: Results) -> View:
    """Attention of every head on the first test prompt, over training, in the first seed."""
    rows = _first_seed(results, "pattern")
    rows = rows[rows["prompt"] == 0].rename(columns={"row": "query", "column": "key", "row_label": "query_token"})
    table = rows.rename(columns={"column_label": "key_token"})
    columns = ["step", "head", "query", "key", "query_token", "key_token", "init_seed", "value"]
    return View(table[columns], "attention", "the first test prompt", note=BY_TORCH)


def maps(results: Results) -> View:
    """QK (measured) and OV (from the weights) maps of every head in the first seed."""
    rows = pd.concat([_first_seed(results, kind) for kind in ("QK", "OV")], ignore_index=True)
    units = {"QK": "score, less its row mean", "OV": "logit"}
    down, across = {"QK": "key asked for", "OV": "value attended"}, {"QK": "key of the value", "OV": "value written"}
    table = rows.rename(columns={"kind": "circuit"}).drop(columns=["row", "column"])
    table = table.rename(columns={"row_label": "row", "column_label": "column"})
    said = {"unit": units, "down": down, "across": across}
    table = table.assign(**{name: rows["kind"].map(words) for name, words in said.items()})
    return View(
        table[["circuit", "head", "row", "column", *said, "init_seed", "value"]],
        "score less its row's mean (QK), logit (OV)",
        "test prompts (QK), no prompt (OV)",
        note=BY_TORCH,
    )


BY_TORCH = "One of the networks that torch trained; claims count others"


def _first_seed(results: Results, kind: str) -> pd.DataFrame:
    shots = results.snapshots
    trained = shots[(shots["arm"] == TORCH) & (shots["kind"] == kind)]
    return trained[trained["init_seed"] == trained["init_seed"].min()]
