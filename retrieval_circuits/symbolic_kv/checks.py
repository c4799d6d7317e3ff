"""The check of each claim: results in, effect over seeds and control out.

Heads are chosen by where they attend, never by the score that is then reported (``readings``). The one exception is
KV9, which reports the routing of the better of two heads and says so.
"""

from collections.abc import Callable

import pandas as pd

from circuitcore.emergence.order import orders
from circuitcore.emergence.roles import SubsetScores
from livingpaper.claims.claim import Check, Results, mean_check, share_check
from retrieval_circuits.symbolic_kv.readings import (
    CARRIES,
    ROUTES,
    SWEEP,
    TAGS,
    TRAINED,
    by_site,
    chosen_heads,
    kept_heads,
    key_effects,
    leak_counts,
    leaked_rows,
    motif_births,
    motif_curves,
    probe_site,
    query_effects,
    separated,
)

SUFFICES = 0.9
SHARE, DIFFERENCE = (0, 1), (-1, 1)


def _has(results: Results, *arms: str) -> bool:
    return set(arms) <= set(results.arms)


def _initial(results: Results, metric: str, **where) -> pd.DataFrame:
    rows = results.curve(metric, TRAINED, **where)
    return rows[rows["step"] == 0]


def _limited(values: pd.Series, control: pd.Series, bound: float, what: str, within=SHARE) -> Check | None:
    """Mean over seeds; the control passes when no seed exceeds its bound."""
    worst = float(control.max())
    return mean_check(
        values, control_passed=worst <= bound, control_value=f"{what}: at most {worst:.3f}", within=within
    )


def _reached(values: pd.Series, control: pd.Series, bound: float, what: str) -> Check | None:
    """Mean of a share over seeds; the control passes when every seed reaches its bound."""
    worst = float(control.min())
    return mean_check(
        values, control_passed=worst >= bound, control_value=f"{what}: at least {worst:.3f}", within=SHARE
    )


def leaky_test(results: Results) -> Check | None:
    """KV1.published."""
    if not _has(results, "leaky data"):
        return None
    untrained = _initial(results, "accuracy", split="test")["value"]
    return _limited(results.final_values("accuracy", "leaky data", split="test"), untrained, 0.4, "untrained")


def in_context(results: Results) -> Check | None:
    """KV1."""
    if not _has(results, "shuffled targets"):
        return None
    shuffled = results.final_values("accuracy", "shuffled targets", family=SWEEP)
    return _limited(results.final_values("accuracy", TRAINED, split="test"), shuffled, 0.4, "shuffled targets")


def single_edge(results: Results) -> Check | None:
    """KV2.published."""
    pair = chosen_heads(results, "carrier") + "->" + chosen_heads(results, "router")
    into = {name: by_site(results, "edge_switch", pair + f".{name}", family="query") for name in "qk"}
    return _limited(into["q"], into["k"], 0.1, "into the key")


def query_edge(results: Results) -> Check | None:
    """KV2."""
    return _limited(query_effects(results), query_effects(results, into="k"), 0.1, "into the keys")


def key_edge(results: Results) -> Check | None:
    """KV5."""
    return _limited(key_effects(results), key_effects(results, into="q"), 0.1, "into the queries")


def single_query(results: Results) -> Check | None:
    """KV3.published."""
    site = chosen_heads(results, "router") + ".q"
    where = {"family": "query_key", "variable": "source_answer"}
    found = by_site(results, "interchange", site, edit="", **where)
    return _limited(
        found, by_site(results, "interchange", site, edit="random_source", **where), 0.45, "unrelated prompt"
    )


def _separated(results: Results, site: str, hypothesis: str, bound: float) -> Check | None:
    unrelated = separated(results, site, hypothesis, "random_source")
    return _limited(separated(results, site, hypothesis), unrelated, bound, "unrelated prompt")


def queries_carry_key(results: Results) -> Check | None:
    """KV3."""
    return _separated(results, "L1H*.q", "query_key", 0.45)


def writes_carry_value(results: Results) -> Check | None:
    """KV4."""
    return _separated(results, "L1H*.z", "selected_value", 0.3)


def router_copies(results: Results) -> Check | None:
    """KV4.published."""
    untrained = _initial(results, "copying", layer=1, family="all")["value"]
    copying = by_site(results, "copying", chosen_heads(results, "router"), family="all")
    passed = bool(untrained.max() < 0.85)
    return mean_check(
        copying, control_passed=passed, control_value=f"untrained: at most {untrained.max():.3f}", within=SHARE
    )


def one_head_per_layer(results: Results) -> Check | None:
    """KV6. A network in which no head brings anything has no pair that suffices."""
    scores = kept_heads(results)
    known = [score for score in scores.values() if score is not None]
    enough = sum(max(score.share(pair) for pair in _pairs(score)) >= SUFFICES for score in known)
    single = max((score.share([head]) for score in known for head in score.heads), default=0.0)
    return share_check(
        enough, len(scores), control_passed=single < 0.5, control_value=f"best single head keeps {single:.3f}"
    )


def _pairs(score: SubsetScores) -> list[tuple[str, str]]:
    """Every pair of heads, one from each layer."""
    lower, upper = ([head for head in score.heads if head.startswith(layer)] for layer in ("L0", "L1"))
    return [(low, high) for low in lower for high in upper]


def layer_0_choice(results: Results) -> Check | None:
    """KV7."""
    layer_0 = results.curve("choice_follows_query", TRAINED, layer=0).groupby("init_seed")["value"].max()
    layer_1 = results.at_final("choice_follows_query", TRAINED, layer=1).groupby("init_seed")["value"].max()
    return _reached(layer_0, layer_1, 0.5, "layer 1, final")


def one_layer(results: Results) -> Check | None:
    """KV8. Not checked where no seed was trained with both depths."""
    if not _has(results, "one layer"):
        return None
    shallow = results.final_values("accuracy", "one layer", split="test")
    deep = results.final_values("accuracy", TRAINED, split="test")
    deep = deep[deep.index.intersection(shallow.index)]
    if deep.empty:
        return None
    return _reached(shallow, deep, 0.9, "two layers")


def slot_probe_published(results: Results) -> Check | None:
    """KV9.published."""
    best = {
        name: results.at_final("probe_published", TRAINED, variable=name).groupby("init_seed")["value"].max()
        for name in ("matching_slot", "query_key")
    }
    return _reached(best["matching_slot"], best["query_key"], 0.85, "query key")


def slot_in_attention(results: Results) -> Check | None:
    """KV9."""
    site = probe_site(results, "matching_slot")
    probed, random = (
        by_site(results, metric, site, variable="matching_slot") for metric in ("probe", "probe_random_labels")
    )
    routing = by_site(results, "routing", chosen_heads(results, "router"), family=SWEEP)
    return _limited(routing - probed, random, 0.45, "random labels", within=DIFFERENCE)


def layer_0_first(results: Results) -> Check | None:
    """KV10."""
    ordered = orders(motif_births(results), pairs=[(CARRIES, ROUTES), (TAGS, ROUTES)])
    before = ordered["order"].eq("before").groupby(ordered["init_seed"]).all()
    curves = motif_curves(results)
    at_start = curves[
        (curves["step"] == 0) & curves["metric"].isin([CARRIES, TAGS]) & curves["family"].isin(["", "all"])
    ]
    highest = float(at_start["value"].max())
    return share_check(
        int(before.sum()), len(before), control_passed=highest < 0.5, control_value=f"at initialisation: {highest:.3f}"
    )


def leak_effect(results: Results) -> Check | None:
    """KV11."""
    if not _has(results, "leaky data"):
        return None
    leaky = results.final_values("accuracy", "leaky data", split="test")
    clean = results.final_values("accuracy", TRAINED, split="test")
    both = leaky.index.intersection(clean.index)
    counted = leaked_rows(leak_counts("published"), "test rows with pairs and query in train")
    return mean_check(
        leaky[both] - clean[both],
        control_passed=counted >= 1,
        control_value=f"{counted} leaked test prompts of 500",
        within=DIFFERENCE,
    )


def four_pairs(results: Results) -> Check | None:
    """KV12."""
    if not _has(results, "shuffled targets"):
        return None
    shuffled = results.final_values("accuracy", "shuffled targets", family="longer_context")
    return _limited(results.final_values("accuracy", TRAINED, split="ood"), shuffled, 0.4, "shuffled targets")


CHECKS: dict[str, Callable[[Results], Check | None]] = {
    "KV1.published": leaky_test,
    "KV1": in_context,
    "KV2.published": single_edge,
    "KV2": query_edge,
    "KV3.published": single_query,
    "KV3": queries_carry_key,
    "KV4.published": router_copies,
    "KV4": writes_carry_value,
    "KV5": key_edge,
    "KV6": one_head_per_layer,
    "KV7": layer_0_choice,
    "KV8": one_layer,
    "KV9.published": slot_probe_published,
    "KV9": slot_in_attention,
    "KV10": layer_0_first,
    "KV11": leak_effect,
    "KV12": four_pairs,
}
