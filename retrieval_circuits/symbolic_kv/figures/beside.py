"""Figures of what stands beside: rows that splits share, the networks of torch, the source's numbers."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, beside, on_data_sets
from retrieval_circuits.design import BAND
from retrieval_circuits.symbolic_kv.design import TORCH, TRAINED, data_set_of
from retrieval_circuits.symbolic_kv.figures.words import SPLITS
from retrieval_circuits.symbolic_kv.published import PUBLISHED
from retrieval_circuits.symbolic_kv.readings import (
    N_DRAWS,
    SWEEP,
    by_site,
    chosen_heads,
    key_effects,
    leak_table,
    query_effects,
    retargeted,
    separated,
)


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
        called = {"series": series[arm], "arm": arm}
        parts += [values.reset_index().assign(group=name, **called) for name, values in read.items()]
    table = pd.concat(parts, ignore_index=True)[["group", "series", "arm", "init_seed", "value"]]
    # Torch's networks share one data set.
    return on_data_sets(View(table, "share of prompts", "test prompts", BAND), data_set_of, [TRAINED])


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
    return beside(PUBLISHED, ours)
