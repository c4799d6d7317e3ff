"""What claims and figures read off the tables: motifs and their births, heads by role, rows that splits share.

Heads are chosen by where they attend at the end of training, never by the score that is then reported: the *carrier*
is the layer-0 head that attends most from the arrow to the query key, the *tagger* the layer-0 head that attends most
from values to their own keys, the *router* the layer-1 head that attends to the matching slot most often.
"""

import functools
from collections.abc import Callable
from typing import Literal

import pandas as pd

from circuitcore.emergence.births import BirthRule, births
from circuitcore.emergence.leaders import leading_head, of_leader
from circuitcore.emergence.order import orders
from circuitcore.emergence.roles import RolesError, SubsetScores, subset_scores
from circuitcore.tasks import make_task
from circuitcore.tasks.leakage import leakage
from livingpaper.claims.reading import OfArms, OfSeeds, at_end, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.symbolic_kv.design import TRAINED
from retrieval_circuits.symbolic_kv.published import PUBLISHED_LEAK

SWEEP = "query_key_sweep"
LONGER = "longer_context"  # another length than the one trained on: a test of extension, not a gate for births
ANSWERS, CARRIES, TAGS = "answers held-out prompts", "layer 0 attends to the query key", "layer 0 tags values with keys"
ROUTES, COPIES, MOVES = "layer 1 routes to the slot", "layer 1 copies the value", "the query moves the answer"
MOTIFS = (ANSWERS, CARRIES, TAGS, ROUTES, COPIES, MOVES)

# The source's thresholds for behaviour and operators; half of the attention for the two attention motifs.
THRESHOLDS = {ANSWERS: 0.9, CARRIES: 0.5, TAGS: 0.5, ROUTES: 0.85, COPIES: 0.85, MOVES: 0.85}
OPERATORS = (ROUTES, COPIES)
PERSISTENCE = 2
BEST_HEADS = {"carrier": ("query_key_mass", 0), "tagger": ("own_key_mass", 0), "router": ("routing", 1)}
N_DRAWS = 20
LEAKS = {
    "duplicates inside train": ("train", "train", "prompt"),
    "val rows literally in train": ("val", "train", "prompt"),
    "test rows literally in train": ("test", "train", "prompt"),
    "rows shared by val and test": ("test", "val", "prompt"),
    "val rows with pairs and query in train": ("val", "train", "question"),
    "test rows with pairs and query in train": ("test", "train", "question"),
    "val rows with pairs in train": ("val", "train", "mapping"),
    "test rows with pairs in train": ("test", "train", "mapping"),
}


@functools.lru_cache(maxsize=8)  # checks and figures ask for the same again and again
def motif_curves(results: Results, arm: str = TRAINED) -> pd.DataFrame:
    """One row per motif, seed, checkpoint and family: ``metric`` is the motif; families serve the gates only."""
    curves = [
        results.curve("accuracy", arm, split="val").assign(metric=ANSWERS),
        _best(results.curve("query_key_mass", arm, layer=0, family=SWEEP)).assign(metric=CARRIES),
        _best(results.curve("own_key_mass", arm, layer=0, family=SWEEP)).assign(metric=TAGS),
        *_operator(results, "routing", ROUTES, arm),
        *_operator(results, "copying", COPIES, arm),
        results.curve("edge_switch", arm, family="query", site="all->L1H*.q").assign(metric=MOVES, family=""),
    ]
    columns = ["arm", "init_seed", "step", "metric", "family", "value"]
    return pd.concat([curve[columns].astype({"metric": str, "family": str}) for curve in curves], ignore_index=True)


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    return leading_head(rows).assign(family="")


def _operator(results: Results, metric: str, motif: str, arm: str) -> list[pd.DataFrame]:
    """Pooled score of the leading layer-1 head at each checkpoint, its score per family and its worst base prompt."""
    rows = results.curve(metric, arm, layer=1)
    rows = rows[rows["family"] != LONGER]
    leaders = leading_head(rows[rows["family"] == "all"])
    worst = results.curve(f"{metric}_worst_base", arm, layer=1)
    return [
        of_leader(rows, leaders).assign(metric=motif),
        of_leader(worst, leaders).assign(metric=f"{motif}_worst_base"),
    ]


@functools.lru_cache(maxsize=8)
def motif_births(results: Results, arm: str = TRAINED) -> pd.DataFrame:
    """Births under our rule: operators gated by the worst named family, every motif held for two checkpoints."""
    rules = {
        motif: BirthRule(threshold, "named_families" if motif in OPERATORS else "none", persistence=PERSISTENCE)
        for motif, threshold in THRESHOLDS.items()
    }
    return births(motif_curves(results, arm), rules)


@functools.lru_cache(maxsize=8)
def births_at_first_crossing(results: Results, gate: str, arm: str = TRAINED) -> pd.DataFrame:
    """Births of answers and operators at the first checkpoint that passes, the operators' through a gate."""
    rules = {
        motif: BirthRule(THRESHOLDS[motif], gate if motif in OPERATORS else "none") for motif in (ANSWERS, *OPERATORS)
    }
    return births(motif_curves(results, arm), rules)


def operator_births_by_gate(results: Results) -> pd.DataFrame:
    """Births of the two operators under the published gate, the gate on named families, and none; first crossing."""
    gates = {"published": "published gate", "named_families": "worst named family", "none": "no gate"}
    found = pd.concat([births_at_first_crossing(results, gate).assign(gate=label) for gate, label in gates.items()])
    return found[found["motif"].isin(OPERATORS)].reset_index(drop=True)


@functools.lru_cache(maxsize=32)
def chosen_heads(results: Results, role: str, arm: str = TRAINED) -> pd.Series:
    """The head that plays a role in each seed at the end of training, indexed by ``init_seed``."""
    metric, layer = BEST_HEADS[role]
    rows = results.at_final(metric, arm, layer=layer, family=SWEEP)
    return leading_head(rows).set_index("init_seed")["site"].astype(str).sort_index()


def by_site(results: Results, metric: str, sites: pd.Series, arm: str = TRAINED, **where) -> pd.Series:
    """Final value per seed at a site that differs between seeds."""
    rows = results.at_final(metric, arm, site=sorted(set(sites)), **where)
    rows = rows[rows["site"].astype(str) == rows["init_seed"].map(sites)]
    return rows.set_index("init_seed")["value"].sort_index()


def query_effects(results: Results, into: str = "q", arm: str = TRAINED) -> pd.Series:
    """Per seed: answers that move when the carrier's write is exchanged in one input of layer 1 (its MLP reacting)."""
    sender = chosen_heads(results, "carrier", arm) + f">MLP->L1H*.{into}"
    return by_site(results, "edge_switch", sender, arm, family="query")


def key_effects(results: Results, into: str = "k", arm: str = TRAINED) -> pd.Series:
    """Per seed: the same for the tagger's write, when keys are exchanged."""
    sender = chosen_heads(results, "tagger", arm) + f">MLP->L1H*.{into}"
    return by_site(results, "edge_switch", sender, arm, family="keys")


def separated(results: Results, site: str, hypothesis: str, control: str = "", arm: str = TRAINED) -> pd.Series:
    """Per seed: answers that follow one hypothesis where key, slot and value point to three different answers."""
    where = {"family": "separating", "site": site, "variable": hypothesis, "edit": control}
    return results.final_values("interchange", arm, **where)


def kept_heads(results: Results) -> dict[int, SubsetScores | None]:
    """Accuracy with every subset of heads kept, the others at their mean everywhere: one object per seed.

    None for a network whose heads together bring nothing to share out, such as an untrained one.
    """
    rows = results.at_final("ablated_accuracy", TRAINED, edit="mean@all")
    found: dict[int, SubsetScores | None] = {}
    for seed, of_seed in rows.groupby("init_seed"):
        try:
            found[int(seed)] = subset_scores(of_seed)
        except RolesError:
            found[int(seed)] = None
    return found


def single_edge(results: Results, into: str) -> pd.Series:
    """Per seed: answers that switch along the edge from the carrier alone into one input of the router alone."""
    pair = chosen_heads(results, "carrier") + "->" + chosen_heads(results, "router")
    return by_site(results, "edge_switch", pair + f".{into}", family="query")


def carrier_replaced(results: Results) -> pd.Series:
    """Per seed: answers that become the other question's where the carrier's write is that of an unrelated prompt."""
    where = {"family": "query_key", "variable": "source_answer", "edit": "random_source"}
    return by_site(results, "interchange", chosen_heads(results, "carrier") + ".z", **where)


def retargeted(results: Results, control: str = "") -> pd.Series:
    """Per seed: answers that follow the query put into the router alone."""
    where = {"family": "query_key", "variable": "source_answer", "edit": control}
    return by_site(results, "interchange", chosen_heads(results, "router") + ".q", **where)


def router_copies(results: Results) -> pd.Series:
    """Per seed: copying of the router."""
    return by_site(results, "copying", chosen_heads(results, "router"), family="all")


def routing_of_router(results: Results) -> pd.Series:
    """Per seed: routing of the router, which is the better of its layer's heads by that very score."""
    return by_site(results, "routing", chosen_heads(results, "router"), family=SWEEP)


def kept_by_pair(results: Results) -> pd.Series:
    """Per seed: the largest share of what all heads bring that a pair keeps, one head from each layer."""
    return _kept(results, lambda score: [(low, high) for low in _of(score, "L0") for high in _of(score, "L1")])


def kept_by_one(results: Results) -> pd.Series:
    """Per seed: the largest share of what all heads bring that a single head keeps."""
    return _kept(results, lambda score: [(head,) for head in score.heads])


def _kept(results: Results, sets: Callable[[SubsetScores], list[tuple[str, ...]]]) -> pd.Series:
    """The best of some sets of heads; 0 where all heads together bring nothing that could be kept."""
    scores = kept_heads(results)
    best = [max(score.share(list(heads)) for heads in sets(score)) if score else 0.0 for score in scores.values()]
    return pd.Series(best, pd.Index(list(scores), name="init_seed"))


def _of(score: SubsetScores, layer: str) -> list[str]:
    return [head for head in score.heads if head.startswith(layer)]


def layer_0_first(results: Results) -> pd.Series:
    """Per seed: 1 where both layer-0 births lie before the routing birth (disjoint birth intervals), else 0."""
    ordered = orders(motif_births(results), pairs=[(CARRIES, ROUTES), (TAGS, ROUTES)])
    return ordered["order"].eq("before").groupby(ordered["init_seed"]).all().astype(float)


def born_at_start(results: Results) -> pd.Series:
    """Per seed: how many of the motifs whose order is asked for are born at step 0."""
    born = motif_births(results)
    born = born[born["motif"].isin([CARRIES, TAGS, ROUTES])]
    return born["by"].eq(0).fillna(value=False).groupby(born["init_seed"]).sum().astype(float)


def room(arm: str) -> OfArms:
    """Values of a reading: test prompts answered wrongly by the trained networks that have the seeds of an arm."""

    @of_arms(TRAINED, arm)
    def values(results: Results) -> pd.Series:
        return 1 - OfSeeds(at_end("accuracy", TRAINED, split="test"), arm)(results)

    return values


def unrest(results: Results, arm: str = TRAINED) -> pd.Series:
    """Per seed: by how much test accuracy moves over the last quarter of training, largest less least."""
    return _range_of_accuracy(results, arm, 0.75, 1.0)


def unrest_at_first(results: Results) -> pd.Series:
    """Per seed: the same over the first half of training."""
    return _range_of_accuracy(results, TRAINED, 0.0, 0.5)


def _range_of_accuracy(results: Results, arm: str, since: float, until: float) -> pd.Series:
    rows = results.curve("accuracy", arm, split="test")
    share = rows["step"] / rows["step"].max()
    values = rows[share.between(since, until)].groupby("init_seed")["value"]
    return values.max() - values.min()


def leaked_questions(results: Results) -> float:
    """Test prompts of the published draw whose pairs and query are in train."""
    return float(leaked_rows(leak_counts("published"), "test rows with pairs and query in train"))


def probe_site(results: Results, variable: str) -> pd.Series:
    """Site whose cross-validated probe of a variable is best in each seed."""
    rows = results.at_final("probe_cv", TRAINED, variable=variable)
    best = rows.loc[rows.groupby("init_seed")["value"].idxmax()]
    return best.set_index("init_seed")["site"].astype(str)


def slot_probe(results: Results, metric: str = "probe") -> pd.Series:
    """Per seed: accuracy of the slot probe at the site chosen by cross-validation."""
    return by_site(results, metric, probe_site(results, "matching_slot"), variable="matching_slot")


def random_slot_probe(results: Results) -> pd.Series:
    """Per seed: the same of a probe trained on random labels."""
    return slot_probe(results, "probe_random_labels")


@functools.lru_cache(maxsize=64)
def leak_counts(sampling: Literal["published", "disjoint"], generator_seed: int = 7) -> pd.DataFrame:
    """Counts of rows already seen, as ``tasks.leakage.leakage`` gives them."""
    return leakage(make_task("symbolic_kv", {"sampling": sampling, "generator_seed": generator_seed}))


def leaked_rows(counts: pd.DataFrame, label: str) -> int:
    """Rows of one kind of leak, by its label in ``LEAKS``."""
    split, against, degree = LEAKS[label]
    chosen = (counts["split"] == split) & (counts["against"] == against) & (counts["degree"] == degree)
    return int(counts.loc[chosen, "n"].iloc[0])


def leak_table() -> pd.DataFrame:
    """One row per kind of leak, source and draw: ``group``, ``series``, ``draw``, ``value`` (rows)."""
    found = []
    for label in LEAKS:
        draws = {("disjoint splits (ours)", 7): leak_counts("disjoint")}
        draws |= {("drawn as published", seed): leak_counts("published", seed) for seed in range(N_DRAWS)}
        for (series, draw), counts in draws.items():
            found.append({"group": label, "series": series, "draw": draw, "value": float(leaked_rows(counts, label))})
        found.append({"group": label, "series": "published files", "draw": 0, "value": float(PUBLISHED_LEAK[label])})
    return pd.DataFrame(found)
