"""When a motif of a circuit appears: from score curves to intervals between checkpoints.

A checkpoint grid censors: a score first seen at its threshold at step 40 and last seen below it at step 30 was born
somewhere in (30, 40]. Nothing here picks a point inside that interval.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from circuitcore.ground.spelling import unknown

GATES = ("none", "named_families", "published")
POOLED = ("", "all")  # values of `family` in rows that pool families, or do not know them


class BirthError(ValueError):
    """Curves from which no birth can be read; the message names what is wrong with them."""


@dataclass(frozen=True)
class BirthInterval:
    """A birth in (after, by], in optimizer steps.

    Attributes:
        after: last checkpoint known to be below, before the birth; None when none is known (born at the first
            checkpoint, or never measured).
        by: first checkpoint at or above; None when it was never reached and held: the birth, if any, lies beyond
            ``after``.
    """

    after: int | None
    by: int | None

    @property
    def born(self) -> bool:
        """Whether the motif appeared at all."""
        return self.by is not None

    def __str__(self) -> str:
        if self.by is None:
            return "not measured" if self.after is None else f"not born by step {self.after}"
        return f"by step {self.by}" if self.after is None else f"({self.after}, {self.by}]"


@dataclass(frozen=True)
class BirthRule:
    """What counts as born.

    Attributes:
        threshold: the score must be at or above it, in the score's unit.
        gate: a second condition at the same checkpoint. "none"; "named_families": the worst of the named
            counterfactual families must reach ``gate_threshold``; "published": the worst group of the source's
            code must, where a group is one base prompt with its variants and every longer prompt is a group of its
            own, so that one error there makes the worst group 0.
        gate_threshold: for the gate, in the score's unit.
        persistence: number of consecutive checkpoints, the first included, that must all pass.
    """

    threshold: Real
    gate: Literal["none", "named_families", "published"] = "none"
    gate_threshold: Real = 0.75
    persistence: Integral = 1

    def __post_init__(self):
        if self.gate not in GATES:
            raise BirthError(unknown("gate", str(self.gate), GATES))
        if not isinstance(self.persistence, Integral) or self.persistence < 1:
            raise BirthError(f"persistence counts checkpoints and is at least 1; got {self.persistence}")
        thresholds = (self.threshold, self.gate_threshold)
        if not all(isinstance(one, Real) and np.isfinite(one) for one in thresholds):
            raise BirthError(f"thresholds must be finite numbers; got {thresholds[0]!r} and {thresholds[1]!r}")

    def __str__(self) -> str:
        gate = "no gate" if self.gate == "none" else f"{self.gate} >= {self.gate_threshold:g}"
        held = "" if self.persistence == 1 else f", held for {self.persistence} checkpoints"
        return f">= {self.threshold:g}, {gate}{held}"


def find_birth(
    steps: Iterable[Integral],
    scores: Iterable[Real],
    gates: Iterable[Real] | None = None,
    *,
    rule: BirthRule,
) -> BirthInterval:
    """Birth of one curve.

    Args:
        steps: optimizer step of each checkpoint, rising.
        scores: score at each checkpoint. NaN is not measured: no crossing, and no proof of being below either.
        gates: the gate's score at each checkpoint; needed unless ``rule.gate`` is "none".
        rule: what counts as born.

    Raises:
        BirthError: lengths differ, steps do not rise, or the gate's scores are missing.
    """
    curve = np.asarray(list(scores), dtype=float)[None]
    gate = None if gates is None else np.asarray(list(gates), dtype=float)[None]
    after, by = find_births(np.asarray(list(steps), dtype=np.int64), curve, gate, rule)
    ends = (None if np.isnan(end[0]) else int(end[0]) for end in (after, by))
    return BirthInterval(*ends)


def find_births(
    steps: Int[np.ndarray, " checkpoint"],
    scores: Float[np.ndarray, "curve point"],
    gates: Float[np.ndarray, "curve gate_point"] | None,
    rule: BirthRule,
) -> tuple[Float[np.ndarray, " curve"], Float[np.ndarray, " curve"]]:
    """Births of many curves on one checkpoint grid; arguments as in ``find_birth``, one row per curve.

    Returns:
        ``after`` and ``by`` of each curve in steps, NaN for None.
    """
    passes, fails = _judged(steps, scores, gates, rule)
    n_curves, n_points = passes.shape
    first = np.full(n_curves, n_points)
    if rule.persistence <= n_points:
        held = np.lib.stride_tricks.sliding_window_view(passes, int(rule.persistence), axis=1).all(axis=-1)
        first = np.where(held.any(axis=1), held.argmax(axis=1), n_points)
    grid = np.arange(n_points)
    last_below = np.where(fails & (grid < first[:, None]), grid, -1).max(axis=1, initial=-1)
    # The extra entry at the end stands for "no such checkpoint": index -1 and index n_points both reach it.
    labels = np.append(steps.astype(float), np.nan)
    return labels[last_below], labels[first]


def births(
    table: pd.DataFrame,
    rules: Mapping[str, BirthRule],
    by: Sequence[str] = ("arm", "init_seed"),
) -> pd.DataFrame:
    """Births of whole metrics, one curve per combination of ``by``.

    The curve of a metric is its rows with ``family`` "all" or "". Its gate is read from the same table: the worst of
    the rows that name a family ("named_families"; where one is missing the gate is not measured), or another metric
    that holds the worst group ("published": its own name followed by ``_worst_base``).

    Args:
        table: tidy measurements with ``metric``, ``step``, ``value``, ``family`` and the columns in ``by``.
        rules: metric -> what counts as born. Rename metrics first to treat, say, one head as its own motif.
        by: the columns that tell curves apart.

    Returns:
        One row per curve: the ``by`` columns, ``motif`` (the metric), ``after``, ``by`` (nullable integers, steps)
        and ``rule`` in words.

    Raises:
        BirthError: a metric or gate that is not in the table, or several rows for one checkpoint of one curve.
    """
    by = list(by)
    if not rules:
        return pd.DataFrame(columns=[*by, "motif", "after", "by", "rule"])
    scores, steps, curves = _scores(table, rules, by)
    found = []
    for metric, rule in rules.items():
        values, there = scores[metric].pooled()
        ends = _births_on_grids(steps, values, there, _gate(scores, metric, rule), rule)
        ends = {end: pd.array(at, dtype="Int64") for end, at in zip(("after", "by"), ends, strict=True)}
        found.append(curves[there.any(axis=1)].assign(motif=metric, **ends, rule=str(rule)))
    return pd.concat(found, ignore_index=True)


def dates(births: pd.DataFrame) -> pd.Series:
    """When each birth of a table happened, as a float in the unit of its ``by``; NaN where it never did."""
    return births["by"].astype("Float64").astype(float)


def dated(births: pd.DataFrame) -> pd.DataFrame:
    """The same table with ``there``, whether each birth happened, and ``value``, its date.

    Of a birth that never did it is when it was last known not to have happened; NaN where nothing was measured.
    """
    found = dates(births)
    return births.assign(there=found.notna(), value=found.fillna(births["after"].astype(float)))


def _judged(
    steps: Int[np.ndarray, " checkpoint"],
    scores: Float[np.ndarray, "curve point"],
    gates: Float[np.ndarray, "curve gate_point"] | None,
    rule: BirthRule,
) -> tuple[Bool[np.ndarray, "curve point"], Bool[np.ndarray, "curve point"]]:
    """Which checkpoints are known to pass, and which are known to fail; an unmeasured one is neither."""
    if scores.shape[1] != len(steps):
        raise BirthError(f"{len(steps)} steps but {scores.shape[1]} scores per curve")
    if len(steps) and (np.diff(steps) <= 0).any():
        raise BirthError(f"steps must rise; got {steps.tolist()}")
    passes, fails = scores >= rule.threshold, scores < rule.threshold
    if rule.gate == "none":
        return passes, fails
    if gates is None or gates.shape != scores.shape:
        seen = "none" if gates is None else f"shape {gates.shape}"
        raise BirthError(f"gate {rule.gate!r} needs one gate score per score, shape {scores.shape}; got {seen}")
    return passes & (gates >= rule.gate_threshold), fails | (gates < rule.gate_threshold)


def _worst_base(metric: str) -> str:
    """The metric that holds the worst group of the source's code."""
    return f"{metric}_worst_base"


@dataclass(frozen=True)
class _Scores:
    """One metric on the grid of all curves and steps. The first family is the one that pools all.

    Attributes:
        values: NaN where nothing was measured.
        there: whether there is a row.
    """

    metric: str
    values: Float[np.ndarray, "curve family step"]
    there: Bool[np.ndarray, "curve family step"]

    def pooled(self) -> tuple[Float[np.ndarray, "curve step"], Bool[np.ndarray, "curve step"]]:
        """The scores by which the metric is judged, and where they have a row."""
        if not self.there[:, 0].any():
            told = "has rows for families only; a birth needs its pooled score (family 'all' or '')"
            raise BirthError(f"metric {self.metric!r} {told}")
        return self.values[:, 0], self.there[:, 0]

    def worst_family(self) -> Float[np.ndarray, "curve step"]:
        """The lowest score of a curve's families; NaN where one is missing or NaN, since that may be the lowest."""
        known = self.there[:, 1:].any(axis=2)
        if not known.any():
            told = "has no rows that name a family, so the named_families gate has no score"
            raise BirthError(f"metric {self.metric!r} {told}")
        lowest = np.where(known[:, :, None], self.values[:, 1:], np.inf).min(axis=1)
        return np.where(known.any(axis=1)[:, None], lowest, np.nan)


def _metrics(rules: Mapping[str, BirthRule]) -> list[str]:
    """The metrics that the rules look at."""
    return [*rules, *(_worst_base(metric) for metric, rule in rules.items() if rule.gate == "published")]


def _needed(table: pd.DataFrame, rules: Mapping[str, BirthRule]) -> tuple[pd.DataFrame, Int[np.ndarray, " row"]]:
    """The rows that the rules look at, and each one's family as a number; 0 stands for all."""
    metrics = _metrics(rules)
    rows = table[table["metric"].isin(metrics)]
    known = set(rows["metric"].unique())
    for metric in metrics:
        if metric not in known:
            raise BirthError(unknown("metric", metric, table["metric"].unique()))
    if "family" not in rows:
        return rows, np.zeros(len(rows), dtype=np.int64)
    names = pd.factorize(rows["family"], use_na_sentinel=False)[0]
    family = np.where(rows["family"].isin(POOLED), 0, 1 + names)
    gated = [metric for metric, rule in rules.items() if rule.gate == "named_families"]
    asked = (family == 0) | rows["metric"].isin(gated).to_numpy()
    return rows[asked], family[asked]


def _scores(
    table: pd.DataFrame, rules: Mapping[str, BirthRule], by: list[str]
) -> tuple[dict[str, _Scores], Int[np.ndarray, " step"], pd.DataFrame]:
    """All metrics that the rules look at, on one grid; the grid's steps, and what tells its curves apart.

    Words are compared once for all metrics: comparing them for each was most of what births cost.
    """
    rows, family = _needed(table, rules)
    curve = rows.groupby(by, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    steps, step = np.unique(rows["step"].to_numpy(dtype=np.int64), return_inverse=True)
    _, first = np.unique(curve, return_index=True)
    shape = (len(first), int(family.max(initial=0)) + 1, len(steps))
    cells, value = np.ravel_multi_index((curve, family, step), shape), rows["value"].to_numpy(dtype=float)
    scores = {}
    of_metric = rows.groupby("metric", observed=True).indices
    for metric in _metrics(rules):
        of = of_metric.get(metric, np.array([], dtype=np.int64))
        times = np.bincount(cells[of], minlength=math.prod(shape))
        if (times > 1).any():
            raise BirthError(_told_twice(rows.iloc[of[times[cells[of]] > 1]], by, metric))
        values = np.full(shape, np.nan)
        values.flat[cells[of]] = value[of]
        scores[metric] = _Scores(metric, values, times.reshape(shape) > 0)
    return scores, steps, rows[by].iloc[first].reset_index(drop=True)


def _told_twice(rows: pd.DataFrame, by: list[str], metric: str) -> str:
    """What to say of several rows for one checkpoint of one curve."""
    keys = [*by, "step", *(["family"] if "family" in rows and not rows["family"].isin(POOLED).any() else [])]
    for key in keys:
        rows = rows[rows[key] == rows[key].iloc[0]]
    free = [name for name in rows if name != "value" and rows[name].nunique(dropna=False) > 1]
    return (
        f"metric {metric!r} has {len(rows)} rows for one checkpoint of one curve ({', '.join(keys)}); "
        f"select, or tell curves apart, by: {free or 'nothing, the rows are repeated'}"
    )


def _gate(scores: Mapping[str, _Scores], metric: str, rule: BirthRule) -> Float[np.ndarray, "curve step"] | None:
    """The gate's score of every checkpoint of every curve, or None where the rule has no gate."""
    if rule.gate == "none":
        return None
    return scores[metric].worst_family() if rule.gate == "named_families" else scores[_worst_base(metric)].pooled()[0]


def _births_on_grids(
    steps: Int[np.ndarray, " step"],
    values: Float[np.ndarray, "curve step"],
    there: Bool[np.ndarray, "curve step"],
    gates: Float[np.ndarray, "curve step"] | None,
    rule: BirthRule,
) -> tuple[Float[np.ndarray, " born"], Float[np.ndarray, " born"]]:
    """Births of the curves that have rows, those that share a checkpoint grid together."""
    with_rows = np.flatnonzero(there.any(axis=1))
    grids, of_grid = np.unique(there[with_rows], axis=0, return_inverse=True)
    after, first = np.empty(len(with_rows)), np.empty(len(with_rows))
    for number, grid in enumerate(grids):
        same = of_grid == number
        places = np.ix_(with_rows[same], np.flatnonzero(grid))
        after[same], first[same] = find_births(
            steps[grid], values[places], gates if gates is None else gates[places], rule
        )
    return after, first
