"""The table behind each figure of the chapter, with what its caption must say."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from circuitcore.emergence.births import dates
from circuitcore.emergence.roles import circuits
from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.view import View, in_order
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.design import BAND
from retrieval_circuits.symbolic_kv.design import ARMS, TORCH, TRAINED
from retrieval_circuits.symbolic_kv.published import PUBLISHED
from retrieval_circuits.symbolic_kv.readings import (
    MOTIFS,
    N_DRAWS,
    SWEEP,
    by_site,
    chosen_heads,
    key_effects,
    leak_table,
    motif_births,
    operator_births_by_gate,
    probe_site,
    query_effects,
    retargeted,
    separated,
)

SPLITS = {"train": "train", "val": "val", "test": "test", "ood": "four pairs"}
IN_CONTEXT = 1 / 3
ROWS_SWEPT = "test prompts, each asked for all three keys"
HOW = {"zero@all": "zero", "mean@all": "mean", "resample@all": "resample"}
"""How removed heads are replaced, at every position."""
ROLES = {"L0": ("carrier", ("L0\u00a0carrier", "L0\u00a0other")), "L1": ("router", ("L1\u00a0router", "L1\u00a0other"))}
"""Layer -> the role its heads are told apart by, and what they are called (one word each where names are listed)."""
VARIABLES = {"query_key": "query key", "matching_slot": "slot", "selected_value": "value"}


def training(results: Results) -> View:
    """Accuracy on each split at every checkpoint."""
    rows = results.curve("accuracy", TRAINED, split=list(SPLITS))
    table = rows.assign(series=rows["split"].astype(str).map(SPLITS))[["step", "series", "init_seed", "value"]]
    table = in_order(table, "series", SPLITS.values())
    return View(table, "accuracy", "train, val, test, four pairs", BAND, IN_CONTEXT, "Chance with four pairs: 1/4.")


def arms(results: Results) -> View:
    """Final test accuracy of every arm, and of the untrained network."""
    first = results.curve("accuracy", TRAINED, split="test")
    groups = [first[first["step"] == 0].assign(group="untrained")]
    for arm in results.arms:
        groups.append(results.at_final("accuracy", arm, split="test").assign(group=ARMS[arm]))
        if arm == "shuffled targets":
            train = results.at_final("accuracy", arm, split="train")
            groups.append(train.assign(group=f"{ARMS[arm]}, on train"))
    table = pd.concat(groups, ignore_index=True)[["group", "init_seed", "value"]]
    return View(table, "accuracy", "test (unless said)", BAND, IN_CONTEXT, _one_layer_on_the_way(results))


def _one_layer_on_the_way(results: Results) -> str:
    """What networks of one layer answer of new prompts at half of training, and at the end."""
    if "one layer" not in results.arms:
        return ""
    rows = results.curve("accuracy", "one layer", split="test")
    at_half = rows[rows["step"] == rows["step"].drop_duplicates().median()]["value"].mean()
    at_end = rows[rows["step"] == rows["step"].max()]["value"].mean()
    return f"One layer at half of training, in the mean: {at_half:.2f}; at the end: {at_end:.2f}."


def births(results: Results) -> View:
    """In how many networks each motif is born by each checkpoint."""
    born, steps = motif_births(results), sorted(results.curve("accuracy", TRAINED)["step"].unique())
    shares = [
        # A birth that never happens is missing, which a mean would leave out.
        pd.DataFrame({"step": steps, "value": [float((by <= step).mean()) for step in steps], "series": motif})
        for motif, by in born["by"].astype("float64").groupby(born["motif"], sort=False)
    ]
    table = pd.concat(shares, ignore_index=True).assign(init_seed=np.nan, panel="networks of two layers")
    table = in_order(table, "series", MOTIFS)
    never = born[born["by"].isna()].groupby("motif").size()
    note = "Never born: " + "; ".join(f"{motif}, in {never.get(motif, 0)}" for motif in MOTIFS) + "."
    return View(
        table[["panel", "step", "series", "init_seed", "value"]],
        "share of networks in which it is born",
        "validation prompts and " + ROWS_SWEPT,
        note=f"{len(results.seeds(TRAINED))} networks. {note}",
    )


def gates(results: Results) -> View:
    """First checkpoint at which the two operators pass, under three gates."""
    born = operator_births_by_gate(results)
    born = born.assign(value=dates(born)).dropna(subset=["value"])
    if born.empty:
        raise SelectionError("routing and copying are born in no seed under any gate")
    table = born.rename(columns={"motif": "group", "gate": "series"})[["group", "series", "init_seed", "value"]]
    return View(
        table,
        "training step of the birth",
        "the counterfactual families of the trained length (published gate: all six)",
        BAND,
        note=_never(born, results),
    )


def _never(born: pd.DataFrame, results: Results) -> str:
    """How many births are missing, and which seeds are missing with all of theirs."""
    seeds = results.seeds(TRAINED)
    possible = 3 * 2 * len(seeds)
    if len(born) == possible:
        return ""
    without = ", ".join(str(seed) for seed in seeds if seed not in set(born["init_seed"]))
    whose = f", among them all of seed{'s' * (',' in without)} {without}" if without else ""
    return f"{possible - len(born)} of {possible} births never happen and are not drawn{whose}."


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


def engines(results: Results) -> View:
    """What the claims read, of the networks on twelve data sets and of those that torch trained on the first one."""
    series = {TRAINED: "twelve data sets", TORCH: "one data set, by torch, half as long"}
    parts = []
    for arm in (arm for arm in series if arm in results.arms):
        read = {
            "accuracy, test": results.final_values("accuracy", arm, split="test"),
            "accuracy, four pairs": results.final_values("accuracy", arm, split="ood"),
            "carrier, into layer 1's queries": query_effects(results, arm=arm),
            "tagger, into layer 1's keys": key_effects(results, arm=arm),
            "layer 1's queries carry the key": separated(results, "L1H*.q", "query_key", arm=arm),
            "layer 1 writes the value": separated(results, "L1H*.z", "selected_value", arm=arm),
        }
        parts += [values.reset_index().assign(group=name, series=series[arm]) for name, values in read.items()]
    table = pd.concat(parts, ignore_index=True)[["group", "series", "init_seed", "value"]]
    return View(table, "share of prompts", "test prompts", BAND)


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
    return View(
        table[["site", "hypothesis", "init_seed", "value"]], "share of answers", "test prompts", BAND, note=note
    )


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
    return View(table, "accuracy", ROWS_SWEPT, BAND, IN_CONTEXT, note)


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
    sizes = found.groupby("series")["n_heads"].agg(
        lambda sizes: "/".join(f"{int(size)}" for size in sorted(set(sizes)))
    )
    note = "Heads in the set: " + ", ".join(f"{size} ({series})" for series, size in sizes.items()) + "."
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
    note = "Chance: 1/8 for key and value, 1/3 for the slot (line)."
    return View(table, "share right", "test prompts", BAND, IN_CONTEXT, note)


def pattern(results: Results) -> View:
    """Attention of every head on the first test prompt, over training, in the first seed."""
    rows = _first_seed(results, "pattern")
    rows = rows[rows["prompt"] == 0].rename(columns={"row": "query", "column": "key", "row_label": "query_token"})
    table = rows.rename(columns={"column_label": "key_token"})
    columns = ["step", "head", "query", "key", "query_token", "key_token", "init_seed", "value"]
    return View(table[columns], "attention", "the first test prompt")


def maps(results: Results) -> View:
    """QK (measured) and OV (from the weights) maps of every head in the first seed."""
    rows = pd.concat([_first_seed(results, kind) for kind in ("QK", "OV")], ignore_index=True)
    units = {"QK": "score, less its row mean", "OV": "logit"}
    table = rows.rename(columns={"kind": "circuit"}).drop(columns=["row", "column"])
    table = table.rename(columns={"row_label": "row", "column_label": "column"}).assign(unit=rows["kind"].map(units))
    return View(table[["circuit", "head", "row", "column", "unit", "init_seed", "value"]], "logit", "test prompts")


def _first_seed(results: Results, kind: str) -> pd.DataFrame:
    shots = results.snapshots
    trained = shots[(shots["arm"] == TORCH) & (shots["kind"] == kind)]
    return trained[trained["init_seed"] == trained["init_seed"].min()]


def leakage(results: Results) -> View:
    """Rows that two splits share: ours, drawn as published, and the published files."""
    table = leak_table()
    return View(table, "rows", "5000 train, 500 val, 500 test rows", note=f"{N_DRAWS} draws by the published rule.")


def numbers(results: Results) -> View:
    """The source's numbers beside ours, one row a quantity."""
    roles = {role: chosen_heads(results, role) for role in ("carrier", "router")}
    ours = {
        f"accuracy, {name}": results.final_values("accuracy", TRAINED, split=split) for split, name in SPLITS.items()
    }
    ours |= {f"margin, {name}": results.final_values("margin", TRAINED, split=split) for split, name in SPLITS.items()}
    for variable, name in {
        "query_key": "query key",
        "matching_slot": "matching slot",
        "selected_value": "selected value",
    }.items():
        probes = results.at_final("probe_published", TRAINED, variable=variable)
        ours[f"probe, {name}"] = probes.groupby("init_seed")["value"].max()
    single = roles["carrier"] + "->" + roles["router"]
    ours["patch, layer-0 head into layer-1 head"] = by_site(results, "edge_switch", single + ".q", family="query")
    ours["patch, query of one layer-1 head"] = retargeted(results)
    into_values = "all->" + roles["router"] + ".v"
    ours["patch, value input of one layer-1 head"] = by_site(results, "edge_switch", into_values, family="query")
    ours["program score, best variant"] = by_site(results, "program_agreement", roles["router"], family=SWEEP)
    rows = [
        {"quantity": quantity, "source": PUBLISHED[quantity], "init_seed": seed, "value": value}
        for quantity, values in ours.items() for seed, value in values.items()
    ]  # fmt: skip
    return View(pd.DataFrame(rows), "as named", "as named")


VIEWS: dict[str, Callable[[Results], View]] = {
    "training": training,
    "arms": arms,
    "births": births,
    "gates": gates,
    "edges": edges,
    "chain": chain,
    "engines": engines,
    "interchange": interchange,
    "subsets": subsets,
    "circuit": circuit,
    "attribution": attribution,
    "slot": slot,
    "pattern": pattern,
    "maps": maps,
    "leakage": leakage,
    "numbers": numbers,
}
