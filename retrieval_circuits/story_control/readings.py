"""Which births the battery reports, in every arm alike, and how often it should not have."""

import functools

import pandas as pd

from circuitcore.emergence.births import BirthRule, births
from circuitcore.emergence.leaders import leading_head, of_leader
from circuitcore.emergence.seeds import share_interval
from livingpaper.claims.claim import Results
from retrieval_circuits.six_run_matrix.readings.births import (
    BEHAVIOUR,
    COPYING,
    GATE,
    OPERATORS,
    PERSISTENCE,
    ROUTING,
    of_source_leaders,
)
from retrieval_circuits.story_control.design import CANNOT, COULD_FAIL, PLANTED, UNTRAINED

PATCH = "faithfulness"
PIECES = (BEHAVIOUR, ROUTING, COPYING, PATCH)
"""The four births that the source's claim about its control names."""
THRESHOLDS = {BEHAVIOUR: 0.90, ROUTING: 0.85, COPYING: 0.85, PATCH: 0.85}
ANY, WHOLE = "any of the four", "the whole circuit"
REPORTED = (*PIECES, ANY, WHOLE)
PUBLISHED, OURS = "published", "ours"
DEFINITIONS = (PUBLISHED, OURS)
POOLED = {"could fail": COULD_FAIL, "cannot have it": CANNOT}
"""Name of a pool -> its arms."""
OURS_PATCHED = {"query_key": "q", "selected_value": "z", "target_token": "z"}
"""Variable -> what is patched, in all heads of the last layer, to move the answer by it."""
COLUMNS = ["arm", "init_seed", "step", "metric", "family", "value"]
CASE = ["arm", "init_seed", "step"]


def curves(results: Results, arm: str, definitions: str) -> pd.DataFrame:
    """Scores of one arm at every checkpoint that counts (of untrained networks the first), as ``births`` reads them.

    Rows of ``family`` "all" or "" are scores; named families and ``METRIC_worst_base`` serve the gates. ``metric`` is
    the piece, for faithfulness followed by its variable. The published operator is that of the best head of any layer,
    ours of the last layer alone.
    """
    found = [results.curve("accuracy", arm, split="val").assign(metric=BEHAVIOUR, family="")]
    if definitions == PUBLISHED:
        for metric, piece in OPERATORS.items():
            found += of_source_leaders(results.curve(metric, arm), results.curve(f"{metric}_worst_base", arm), piece)
        for ending in ("", "_worst_base"):
            rows = results.curve(f"faithfulness_published{ending}", arm)
            found.append(rows.assign(metric=_patched(rows) + ending))
    else:
        for metric, piece in OPERATORS.items():
            found.append(_of_last_layer(results.curve(metric, arm), piece))
        rows = results.curve("interchange_chosen", arm, edit="")
        site = rows["site"].astype(str).str.rpartition(".")[2]
        rows = rows[rows["variable"].astype(str).map(OURS_PATCHED) == site]
        found.append(rows.assign(metric=_patched(rows), family=""))
    table = pd.concat([part.astype({"metric": str, "family": str})[COLUMNS] for part in found], ignore_index=True)
    return table[table["step"] == 0] if arm == UNTRAINED else table


def _patched(rows: pd.DataFrame) -> pd.Series:
    return f"{PATCH}: " + rows["variable"].astype(str)


def _of_last_layer(rows: pd.DataFrame, piece: str) -> pd.DataFrame:
    rows = rows[rows["layer"] == rows["layer"].max()]
    return of_leader(rows, leading_head(rows[rows["family"] == "all"])).assign(metric=piece)


def arm_births(results: Results, arm: str, definitions: str) -> pd.DataFrame:
    """Births of one arm; faithfulness by variable.

    Published: first crossing, operators and faithfulness gated by the worst base prompt. Ours: operators gated by the
    worst named family, and every birth held for two checkpoints, where an arm has as many.
    """
    table = curves(results, arm, definitions)
    held = min(PERSISTENCE, table["step"].nunique()) if definitions == OURS else 1
    rules = {}
    for metric in table["metric"].unique():
        piece = metric.partition(":")[0]
        if metric.endswith("_worst_base"):
            continue
        gates = {PUBLISHED: "published"} if piece == PATCH else {PUBLISHED: "published", OURS: "named_families"}
        gate = gates.get(definitions, "none") if piece != BEHAVIOUR else "none"
        rules[metric] = BirthRule(THRESHOLDS[piece], gate, GATE, persistence=held)
    return births(table, rules)


@functools.lru_cache(maxsize=8)  # asked for by nearly every claim and figure
def reported(results: Results, definitions: str) -> pd.DataFrame:
    """What the battery reports of each run: one row per run and entry of ``REPORTED``, with ``born``.

    Faithfulness counts as born with the birth of any of its variables; the whole circuit with all four pieces, whether
    or not their times agree.
    """
    found = []
    for arm in results.arms:
        born = arm_births(results, arm, definitions)
        born = born.assign(piece=born["piece"].str.partition(":")[0], born=born["by"].notna())
        wide = born.groupby(["arm", "init_seed", "piece"])["born"].any().unstack("piece")[list(PIECES)].astype(bool)
        wide = wide.assign(**{ANY: wide[list(PIECES)].any(axis=1), WHOLE: wide[list(PIECES)].all(axis=1)})
        found.append(wide.melt(value_name="born", var_name="piece", ignore_index=False).reset_index())
    return pd.concat(found, ignore_index=True).assign(definitions=definitions)


def false_positives(results: Results) -> pd.DataFrame:
    """How often each birth is reported: in networks that cannot have the circuit, and in those that learnt it.

    Returns:
        One row per ``arm`` (and per pool of arms, see ``POOLED``), ``definitions`` and ``piece`` (an entry of
        ``REPORTED``): ``k`` of ``n`` runs, ``rate``, and its Wilson interval ``low``, ``high``. In the two
        positive controls the rate is one of detection.
    """
    runs = pd.concat([reported(results, definitions) for definitions in DEFINITIONS], ignore_index=True)
    pools = [runs[runs["arm"].isin(arms)].assign(arm=name) for name, arms in POOLED.items()]
    grouped = pd.concat([runs, *pools]).groupby(["arm", "definitions", "piece"], sort=False)["born"]
    table = grouped.agg(k="sum", n="size").reset_index()
    intervals = [share_interval(int(k), int(n)) for k, n in zip(table["k"], table["n"], strict=True)]
    bounds = {
        "rate": [i.mean for i in intervals],
        "low": [i.low for i in intervals],
        "high": [i.high for i in intervals],
    }
    return table.assign(**bounds)


def runs_reported(results: Results, arms: tuple[str, ...], definitions: str, piece: str) -> pd.Series:
    """Whether each run of some arms has this birth."""
    runs = reported(results, definitions)
    return runs.loc[runs["arm"].isin(arms) & (runs["piece"] == piece), "born"]


def detection(results: Results, definitions: str) -> float:
    """Share of networks trained on planted repeats in which the whole circuit is reported."""
    return float(runs_reported(results, (PLANTED,), definitions, WHOLE).mean())
