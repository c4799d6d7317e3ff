"""What claims and figures read: births that the battery reports in every arm, and what the rows of a control allow."""

import functools
from collections.abc import Mapping

import pandas as pd
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from circuitcore.emergence.births import BirthRule, births
from circuitcore.emergence.leaders import leading_head, of_leader
from circuitcore.emergence.seeds import share_interval
from circuitcore.metrics.scores.groups import worst_share
from circuitcore.tasks import make_task
from circuitcore.tasks.next_word import NextWord
from circuitcore.tasks.story import words
from livingpaper.claims.reading import ever
from livingpaper.claims.results import Results
from retrieval_circuits.six_run_matrix.readings.births import (
    BEHAVIOUR,
    COPYING,
    GATE,
    OPERATORS,
    PERSISTENCE,
    ROUTING,
    of_source_leaders,
)
from retrieval_circuits.story_control.design import CANNOT, COULD_FAIL, FRESH, PLANTED, PROBE_ROWS, STORY, UNTRAINED

N_BASES = 32
"""Base rows of the source's story; what they could show is a fact about the text, whatever the parameters."""
PATCH = "faithfulness"
PROBE = "probe"
MOTIFS = (BEHAVIOUR, ROUTING, COPYING, PATCH)
"""The four births that the source's claim about its control names."""
THRESHOLDS = {BEHAVIOUR: 0.90, ROUTING: 0.85, COPYING: 0.85, PATCH: 0.85}
ANY, WHOLE = "any of the four", "the whole circuit"
REPORTED = (*MOTIFS, ANY, WHOLE)
PUBLISHED, OURS = "published", "ours"
DEFINITIONS = (PUBLISHED, OURS)
POOLED = {"could fail": COULD_FAIL, "cannot have it": CANNOT}
"""Name of a pool -> its arms."""
OURS_PATCHED = {"query_key": "q", "selected_value": "z", "target_token": "z"}
"""Variable -> what is patched, in all heads of the last layer, to move the answer by it."""
LEARNT = THRESHOLDS[BEHAVIOUR]
"""Held-out rows that a network answers which learnt to retrieve, as a share."""
TASKS = {STORY: "story", PLANTED: "planted_repeats"}
"""Arm whose rows are counted -> its task."""
COLUMNS = ["arm", "init_seed", "step", "metric", "family", "value"]


def curves(results: Results, arm: str, definitions: str) -> pd.DataFrame:
    """Scores of one arm at every checkpoint that counts (of untrained networks the first), as ``births`` reads them.

    Rows of ``family`` "all" or "" are scores; named families and ``METRIC_worst_base`` serve the gates. ``metric`` is
    the motif, for faithfulness followed by its variable. The published operator is that of the best head of any layer,
    ours of the last layer alone.
    """
    found = [results.curve("accuracy", arm, split="val").assign(metric=BEHAVIOUR, family="")]
    if definitions == PUBLISHED:
        for metric, motif in OPERATORS.items():
            found += of_source_leaders(results.curve(metric, arm), results.curve(f"{metric}_worst_base", arm), motif)
        for ending in ("", "_worst_base"):
            rows = results.curve(f"faithfulness_published{ending}", arm)
            found.append(rows.assign(metric=_patched(rows) + ending))
    else:
        for metric, motif in OPERATORS.items():
            found.append(_of_last_layer(results.curve(metric, arm), motif))
        rows = results.curve("interchange_chosen", arm, edit="")
        site = rows["site"].astype(str).str.rpartition(".")[2]
        rows = rows[rows["variable"].astype(str).map(OURS_PATCHED) == site]
        found.append(rows.assign(metric=_patched(rows), family=""))
    table = pd.concat([part.astype({"metric": str, "family": str})[COLUMNS] for part in found], ignore_index=True)
    return table[table["step"] == 0] if arm == UNTRAINED else table


def _patched(rows: pd.DataFrame) -> pd.Series:
    return f"{PATCH}: " + rows["variable"].astype(str)


def _of_last_layer(rows: pd.DataFrame, motif: str) -> pd.DataFrame:
    rows = rows[rows["layer"] == rows["layer"].max()]
    return of_leader(rows, leading_head(rows[rows["family"] == "all"])).assign(metric=motif)


def arm_births(results: Results, arm: str, definitions: str) -> pd.DataFrame:
    """Births of one arm; faithfulness by variable.

    Published: first crossing, operators and faithfulness gated by the worst base prompt. Ours: operators gated by the
    worst named family, and every birth held for two checkpoints, where an arm has as many.
    """
    table = curves(results, arm, definitions)
    held = min(PERSISTENCE, table["step"].nunique()) if definitions == OURS else 1
    rules = {}
    for metric in table["metric"].unique():
        motif = metric.partition(":")[0]
        if metric.endswith("_worst_base"):
            continue
        gates = {PUBLISHED: "published"} if motif == PATCH else {PUBLISHED: "published", OURS: "named_families"}
        gate = gates.get(definitions, "none") if motif != BEHAVIOUR else "none"
        rules[metric] = BirthRule(THRESHOLDS[motif], gate, GATE, persistence=held)
    return births(table, rules)


def born_motifs(results: Results, arm: str, definitions: str) -> pd.DataFrame:
    """The same, a row per network and entry of ``MOTIFS``: faithfulness with the first birth of any variable."""
    table = arm_births(results, arm, definitions)
    table = table.assign(motif=table["motif"].str.partition(":")[0]).sort_values("by", kind="stable")
    return table.drop_duplicates(["arm", "init_seed", "motif"])


@functools.lru_cache(maxsize=8)  # asked for by nearly every claim and figure
def reported(results: Results, definitions: str) -> pd.DataFrame:
    """What the battery reports of each run: one row per run and entry of ``REPORTED``, with ``born``.

    Faithfulness counts as born with the birth of any of its variables; the whole circuit with all four motifs, whether
    or not their times agree.
    """
    found = []
    for arm in results.arms:
        born = born_motifs(results, arm, definitions)
        born = born.assign(born=born["by"].notna())
        wide = born.pivot(index=["arm", "init_seed"], columns="motif", values="born")[list(MOTIFS)].astype(bool)
        wide = wide.assign(**{ANY: wide[list(MOTIFS)].any(axis=1), WHOLE: wide[list(MOTIFS)].all(axis=1)})
        found.append(wide.melt(value_name="born", var_name="motif", ignore_index=False).reset_index())
    return pd.concat(found, ignore_index=True).assign(definitions=definitions)


def false_positives(results: Results) -> pd.DataFrame:
    """How often each birth is reported: in networks that cannot have the circuit, and in those that learnt it.

    Returns:
        One row per ``arm`` (and per pool of arms, see ``POOLED``), ``definitions`` and ``motif`` (an entry of
        ``REPORTED``): ``k`` of ``n`` runs, ``rate``, and its Wilson interval ``low``, ``high``. In the two
        positive controls the rate is one of detection.
    """
    runs = pd.concat([reported(results, definitions) for definitions in DEFINITIONS], ignore_index=True)
    pools = [runs[runs["arm"].isin(arms)].assign(arm=name) for name, arms in POOLED.items()]
    grouped = pd.concat([runs, *pools]).groupby(["arm", "definitions", "motif"], sort=False)["born"]
    table = grouped.agg(k="sum", n="size").reset_index()
    intervals = [share_interval(int(k), int(n)) for k, n in zip(table["k"], table["n"], strict=True)]
    bounds = {
        "rate": [i.mean for i in intervals],
        "low": [i.low for i in intervals],
        "high": [i.high for i in intervals],
    }
    return table.assign(**bounds)


def births_in(results: Results, arm: str, definitions: str) -> pd.Series:
    """Per seed: how many of the four motifs are born in its network of one arm."""
    runs = reported(results, definitions)
    runs = runs[(runs["arm"] == arm) & runs["motif"].isin(MOTIFS)]
    return runs.groupby("init_seed")["born"].sum().astype(float)


def births_where_learnt(results: Results, definitions: str) -> pd.Series:
    """The same of planted repeats, in the networks alone that answer them; empty where none does."""
    learnt = results.final_values("accuracy", PLANTED, split="test") >= LEARNT
    return births_in(results, PLANTED, definitions)[learnt]


def share_reported(results: Results, definitions: str, entry: str) -> pd.Series:
    """Per seed: of how many of its networks in ``COULD_FAIL`` an entry of ``REPORTED`` is reported, as a share.

    The untrained network of a seed has that seed plus ``FRESH``.
    """
    runs = reported(results, definitions)
    runs = runs[runs["arm"].isin(COULD_FAIL) & (runs["motif"] == entry)]
    seed = runs["init_seed"] - FRESH * (runs["arm"] == UNTRAINED)
    return runs["born"].groupby(seed).mean().astype(float)


def above_commonest_word(results: Results) -> pd.Series:
    """Per seed: validation accuracy on the story at its best checkpoint, less that of the commonest word."""
    return ever("accuracy", STORY, split="val")(results) - make_task("story", {}).chance["val"]


def births_possible(results: Results, arm: str) -> float:
    """How many of the four motifs could be born in any network on the rows of an arm; its runs do not enter."""
    return float(_possible(arm))


@functools.cache
def _possible(arm: str) -> int:
    return possible_births(ceilings(make_task(TASKS[arm], {}), N_BASES, PROBE_ROWS[arm]))


def ceilings(task: NextWord, n_bases: int, n_probe: int) -> pd.DataFrame:
    """The best score, and the best worst base prompt, that any network could have, under the source's definitions.

    A network is granted every word that it was trained on or that stands in the prompt, and no other; a probe every
    class that it was fitted on.

    Args:
        task: the story, or planted repeats.
        n_bases: base rows.
        n_probe: training rows that probes are fitted on.

    Returns:
        One row per ``motif`` and ``part`` (the variable, or ""): ``score``, ``gate`` (the worst base prompt's; missing
        for behaviour) and ``possible``: whether both can reach what the source asks for. Probes are none of the four
        motifs; the source dates them, too.
    """
    sweeps = list(task.families(n_bases).values())
    bases = torch.cat([batch.base for batch in sweeps])
    trained, val = task.split("train"), task.split("val")
    learnt = torch.cat([trained.tokens.unique(), trained.answers.unique()])
    found = [{"motif": BEHAVIOUR, "part": "", "score": _share(_known(val.answers, learnt, val.tokens))}]
    copied = torch.cat([batch.roles["last_copy"] > 0 for batch in sweeps])
    every_base = bool(torch.isin(bases, bases[copied]).all())  # one without a copy counts as 0
    found += [{"motif": motif, "part": "", "score": 1.0, "gate": float(every_base)} for motif in (ROUTING, COPYING)]
    for pairs in task.interchanges(n_bases):
        prompts = torch.cat([pairs.base.tokens, pairs.source.tokens], 1)
        known = _known(pairs.expected["source_answer"], learnt, prompts)
        found.append({"motif": PATCH, "part": pairs.name, **_score_and_gate(known, pairs.base.base)})
    for variable in task.variables:
        classes = torch.cat([batch.variables[variable] for batch in sweeps])
        known = torch.isin(classes, trained.variables[variable][:n_probe])
        found.append({"motif": PROBE, "part": variable, **_score_and_gate(known, bases)})
    table = pd.DataFrame(found)
    needed = table["motif"].map(THRESHOLDS | {PROBE: THRESHOLDS[PATCH]})
    return table.assign(possible=(table["score"] >= needed) & (table["gate"].isna() | (table["gate"] >= GATE)))


def possible_births(table: pd.DataFrame) -> int:
    """How many of the four motifs could be born; faithfulness could if that of any variable could."""
    return int(table[table["motif"].isin(MOTIFS)].groupby("motif")["possible"].any().sum())


def operator_chances(task: NextWord, n_bases: int) -> Mapping[str, float]:
    """What a head reaches in routing, copying and recency that looks at any position so far, or raises any word.

    Args:
        task: the story, or planted repeats.
        n_bases: base rows.
    """
    sweeps = list(task.families(n_bases).values())
    looked_at = torch.cat([batch.roles["read_out"] + 1 for batch in sweeps]).double()
    copied = torch.cat([batch.roles["last_copy"] > 0 for batch in sweeps])
    return {
        "routing": float((1 / looked_at[copied]).mean()),
        "copying": 1 / len(task.vocab),
        "recency": float((1 / looked_at).mean()),
    }


def text_facts(task: NextWord, n_bases: int, n_probe: int) -> Mapping[str, int | float | str]:
    """What is counted on the story, under the names of ``PUBLISHED_TEXT``."""
    splits = {name: task.split(name) for name in ("train", "val", "test")}
    trained = splits["train"].answers
    lead = torch.cat([splits["train"].tokens[0, 1:], trained])  # the words of the first context are never wanted
    base = task.bases(n_bases)
    fitted = splits["train"].rows(slice(0, n_probe)).variables
    unfitted = ~torch.isin(base.variables["previous_token"], fitted["previous_token"])
    unfitted |= ~torch.isin(base.variables["target_token"], fitted["target_token"])
    lacking = int((base.roles["last_copy"] == 0).sum())
    return {
        "tokens": len(words()),
        "types": len(set(words())),
        "val targets never in train": _share(~torch.isin(splits["val"].answers, lead)),
        "test targets never in train": _share(~torch.isin(splits["test"].answers, lead)),
        "val, always the commonest word": task.chance["val"],
        "test, always the commonest word": task.chance["test"],
        "base rows without an earlier copy": f"{lacking} of {n_bases}",
        "base rows with a word that the probe never saw": f"{int(unfitted.sum())} of {n_bases}",
    }


def _known(
    wanted: Int[Tensor, " row"], learnt: Int[Tensor, " word"], prompts: Int[Tensor, "row pos"]
) -> Bool[Tensor, " row"]:
    """Whether each wanted word was trained on or stands in its prompt."""
    return torch.isin(wanted, learnt) | (prompts == wanted[:, None]).any(1)


def _score_and_gate(known: Bool[Tensor, " row"], bases: Int[Tensor, " row"]) -> dict[str, float]:
    return {"score": _share(known), "gate": float(worst_share(known.double(), bases))}


def _share(hits: Bool[Tensor, " row"]) -> float:
    return float(hits.double().mean())
