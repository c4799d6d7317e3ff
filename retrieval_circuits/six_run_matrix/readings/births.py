"""The motifs whose births the source dates, as curves over training, under its definitions and under ours."""

import functools

import pandas as pd

from circuitcore.emergence.births import BirthRule, births
from circuitcore.emergence.leaders import of_leader
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.six_run_matrix.design import MATRIX, source_epochs

BEHAVIOUR, ROUTING, COPYING = "behaviour", "routing", "copying"
VARIABLES = {"query_key": "query key", "matching_slot": "slot", "selected_value": "value"}
PROBES = {variable: f"{name}, probe" for variable, name in VARIABLES.items()}
PATCHES = {variable: f"{name}, patch" for variable, name in VARIABLES.items()}
OPERATORS = {"routing": ROUTING, "copying": COPYING}
MOTIFS = (BEHAVIOUR, COPYING, ROUTING, *PROBES.values(), *PATCHES.values())
SHOWN = (BEHAVIOUR, COPYING, ROUTING, PATCHES["matching_slot"])
"""The four births that the source's figure shows."""
THRESHOLDS = {motif: 0.90 if motif == BEHAVIOUR else 0.85 for motif in MOTIFS}
GATE, PERSISTENCE = 0.75, 2
RUN = ["arm", "init_seed"]
CASE = [*RUN, "step"]
COLUMNS = ["arm", "init_seed", "step", "epoch", "metric", "family", "value"]


@functools.lru_cache(maxsize=4)
def published_curves(results: Results) -> pd.DataFrame:
    """The nine scores of the source at every checkpoint of the matrix.

    Rows of ``family`` "all" or "" are scores; named families serve our gate; the metric ``MOTIF_worst_base`` is the
    source's gate. An operator's score is that of the best head of any layer at that checkpoint, ties broken as the
    source breaks them.
    """
    curves = [_of(results, "accuracy", BEHAVIOUR, split="val")]
    for metric, motif in OPERATORS.items():
        curves += _operator(results, metric, motif)
    for variable in VARIABLES:
        curves += [
            _of(results, "probe_published_best", PROBES[variable], variable=variable),
            _of(results, "probe_published_best_worst_base", f"{PROBES[variable]}_worst_base", variable=variable),
            _of(results, "faithfulness_published", PATCHES[variable], variable=variable),
            _of(results, "faithfulness_published_worst_base", f"{PATCHES[variable]}_worst_base", variable=variable),
        ]
    return _joined(curves, results)


@functools.lru_cache(maxsize=4)  # asked for again with every threshold and gate
def published_on_grid(results: Results) -> pd.DataFrame:
    """``published_curves`` at the checkpoints that the source's rule would have saved."""
    return on_source_grid(published_curves(results))


@functools.lru_cache(maxsize=4)
def corrected_curves(results: Results) -> pd.DataFrame:
    """The same nine under our definitions, at every checkpoint of the matrix.

    Operators: heads above the first layer only. Probes: with an intercept, site chosen by cross-validation, scored on
    prompts of the trained length. Patches: queries (key), attention under patched queries (slot) and writes (value) of
    the last layer, on prompts where key, slot and value point to three different answers.
    """
    curves = [_of(results, "accuracy", BEHAVIOUR, split="val")]
    for metric, motif in OPERATORS.items():
        curves += _operator(results, metric, motif, layer=1)
    curves += [_of(results, "probe_chosen", PROBES[variable], variable=variable) for variable in VARIABLES]
    queries, writes = {"site": "L1H*.q", "edit": ""}, {"site": "L1H*.z", "edit": ""}
    curves += [
        _of(results, "interchange_chosen", PATCHES["query_key"], variable="query_key", **queries),
        _of(results, "attention_slot_follows", PATCHES["matching_slot"]),
        _of(results, "interchange_chosen", PATCHES["selected_value"], variable="selected_value", **writes),
    ]
    return _joined([curve.replace({"family": {"separating": ""}}) for curve in curves], results)


def _of(results: Results, metric: str, motif: str, **where) -> pd.DataFrame:
    rows = in_matrix(results, metric, **where)
    return rows.assign(metric=motif, family=rows["family"].astype(str))


def in_matrix(results: Results, metric: str, **where) -> pd.DataFrame:
    """Rows of one metric in both curricula; arguments as in ``Results.curve``."""
    return pd.concat([results.curve(metric, arm, **where) for arm in MATRIX], ignore_index=True)


def _operator(results: Results, metric: str, motif: str, **where) -> list[pd.DataFrame]:
    rows, worst = in_matrix(results, metric, **where), in_matrix(results, f"{metric}_worst_base", **where)
    return of_source_leaders(rows, worst, motif)


def of_source_leaders(rows: pd.DataFrame, worst: pd.DataFrame, motif: str) -> list[pd.DataFrame]:
    """Score of the source's candidate at each checkpoint, its score per family, and its worst base prompt."""
    leaders = source_leaders(rows[rows["family"] == "all"], worst)
    return [
        of_leader(rows, leaders).assign(metric=motif),
        of_leader(worst, leaders).assign(metric=f"{motif}_worst_base"),
    ]


def source_leaders(scores: pd.DataFrame, worst: pd.DataFrame) -> pd.DataFrame:
    """The source's candidate at each checkpoint: best score, then best worst base prompt, then lower layer and head."""
    both = scores.merge(worst[[*CASE, "site", "value"]], on=[*CASE, "site"], suffixes=("", "_worst"))
    order = [*CASE, "value", "value_worst", "layer", "head"]
    ranked = both.sort_values(order, ascending=[not name.startswith("value") for name in order])
    return ranked.groupby(CASE, observed=True).head(1)[[*CASE, "site", "value"]]


def _joined(curves: list[pd.DataFrame], results: Results) -> pd.DataFrame:
    rows = with_epochs(pd.concat(curves, ignore_index=True).astype({"metric": str, "family": str}), results)
    return rows[COLUMNS]


def on_source_grid(curves: pd.DataFrame) -> pd.DataFrame:
    """The checkpoints that the source's rule would have saved: its plan, and every new best validation accuracy."""
    behaviour = curves[curves["metric"] == BEHAVIOUR].sort_values(CASE)
    planned = set(source_epochs(int(curves["epoch"].max())))
    kept = behaviour[behaviour["epoch"].isin(planned) | new_best(behaviour)][CASE]
    return curves.merge(kept, on=CASE)


def new_best(rows: pd.DataFrame) -> pd.Series:
    """Whether a run has never had this high a ``value`` before; its rows must stand in the order of training."""
    best = rows.groupby(RUN, observed=True)["value"].cummax()
    return best > best.groupby([rows[name] for name in RUN], observed=True).shift(fill_value=-1.0)


def published_rules(threshold: float | None = None, *, gate: bool = True) -> dict[str, BirthRule]:
    """What the source counts as born, motif by motif.

    Args:
        threshold: in place of the source's thresholds.
        gate: whether its gate applies (never to behaviour).
    """
    return {
        motif: BirthRule(threshold or least, "published" if gate and motif != BEHAVIOUR else "none", GATE)
        for motif, least in THRESHOLDS.items()
    }


def corrected_rules() -> dict[str, BirthRule]:
    """What we count as born: operators gated by the worst named family, all held for some checkpoints."""
    return {
        motif: BirthRule(
            least, "named_families" if motif in OPERATORS.values() else "none", GATE, persistence=PERSISTENCE
        )
        for motif, least in THRESHOLDS.items()
    }


@functools.lru_cache(maxsize=32)  # checks and figures ask for the same few rules again and again
def published_births(results: Results, threshold: float | None = None, *, gate: bool = True) -> pd.DataFrame:
    """Births as the source dates them, in epochs: first checkpoint of its grid to reach score and gate.

    Args:
        results: what was measured.
        threshold: in place of the source's thresholds.
        gate: whether its gate applies (never to behaviour).
    """
    return births(in_epochs(published_on_grid(results)), published_rules(threshold, gate=gate))


@functools.lru_cache(maxsize=4)
def corrected_births(results: Results) -> pd.DataFrame:
    """Births under our definitions, in epochs."""
    return births(in_epochs(corrected_curves(results)), corrected_rules())


def in_epochs(curves: pd.DataFrame) -> pd.DataFrame:
    """Curves whose ``step`` counts epochs, so that births are dated in them."""
    return curves.assign(step=curves["epoch"]).drop(columns="epoch")
