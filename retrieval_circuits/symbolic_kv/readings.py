"""The pieces of the circuit as curves over training, and when each is born."""

import functools

import pandas as pd

from circuitcore.emergence.births import BirthRule, births
from circuitcore.emergence.leaders import leading_head, of_leader
from livingpaper.claims.claim import Results

SWEEP = "query_key_sweep"
LONGER = "longer_context"  # another length than the one trained on: a test of extension, not a gate for births
ANSWERS, CARRIES, TAGS = "answers held-out prompts", "layer 0 attends to the query key", "layer 0 tags values with keys"
ROUTES, COPIES, MOVES = "layer 1 routes to the slot", "layer 1 copies the value", "the query moves the answer"
PIECES = (ANSWERS, CARRIES, TAGS, ROUTES, COPIES, MOVES)

# The source's thresholds for behaviour and operators; half of the attention for the two attention pieces.
THRESHOLDS = {ANSWERS: 0.9, CARRIES: 0.5, TAGS: 0.5, ROUTES: 0.85, COPIES: 0.85, MOVES: 0.85}
OPERATORS = (ROUTES, COPIES)
PERSISTENCE = 2


@functools.lru_cache(maxsize=4)  # checks and figures ask for the same again and again
def piece_curves(results: Results) -> pd.DataFrame:
    """One row per piece, seed, checkpoint and family: ``metric`` is the piece; families serve the gates only."""
    curves = [
        results.curve("accuracy", "trained", split="val").assign(metric=ANSWERS),
        _best(results.curve("query_key_mass", "trained", layer=0, family=SWEEP)).assign(metric=CARRIES),
        _best(results.curve("own_key_mass", "trained", layer=0, family=SWEEP)).assign(metric=TAGS),
        *_operator(results, "routing", ROUTES),
        *_operator(results, "copying", COPIES),
        results.curve("edge_switch", "trained", family="query", site="all->L1H*.q").assign(metric=MOVES, family=""),
    ]
    columns = ["arm", "init_seed", "step", "metric", "family", "value"]
    return pd.concat([curve[columns].astype({"metric": str, "family": str}) for curve in curves], ignore_index=True)


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    return leading_head(rows).assign(family="")


def _operator(results: Results, metric: str, piece: str) -> list[pd.DataFrame]:
    """Pooled score of the leading layer-1 head at each checkpoint, its score per family and its worst base prompt."""
    rows = results.curve(metric, "trained", layer=1)
    rows = rows[rows["family"] != LONGER]
    leaders = leading_head(rows[rows["family"] == "all"])
    worst = results.curve(f"{metric}_worst_base", "trained", layer=1)
    return [
        of_leader(rows, leaders).assign(metric=piece),
        of_leader(worst, leaders).assign(metric=f"{piece}_worst_base"),
    ]


@functools.lru_cache(maxsize=4)
def piece_births(results: Results) -> pd.DataFrame:
    """Births under our rule: operators gated by the worst named family, every piece held for two checkpoints."""
    rules = {
        piece: BirthRule(threshold, "named_families" if piece in OPERATORS else "none", persistence=PERSISTENCE)
        for piece, threshold in THRESHOLDS.items()
    }
    return births(piece_curves(results), rules)


def operator_births_by_gate(results: Results) -> pd.DataFrame:
    """Births of the two operators under the published gate, the gate on named families, and none; first crossing."""
    curves = piece_curves(results)
    gates = {"published": "published gate", "named_families": "worst named family", "none": "no gate"}
    found = [
        births(curves, {piece: BirthRule(THRESHOLDS[piece], gate) for piece in OPERATORS}).assign(gate=label)
        for gate, label in gates.items()
    ]
    return pd.concat(found, ignore_index=True)
