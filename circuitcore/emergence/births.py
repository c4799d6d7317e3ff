"""When a motif of a circuit appears: from score curves to intervals between checkpoints.

A checkpoint grid censors: a score first seen at its threshold at step 40 and last seen below it at step 30 was born
somewhere in (30, 40]. Nothing here picks a point inside that interval.
"""

from collections import defaultdict
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
    found = []
    for metric, rule in rules.items():
        scores = _curves(_rows(table, metric), by, f"metric {metric!r}")
        gates = _gate(table, metric, rule, by)
        found.append(_births_of_metric(scores, gates, rule, by).assign(motif=metric, rule=str(rule)))
    if not found:
        return pd.DataFrame(columns=[*by, "motif", "after", "by", "rule"])
    return pd.concat(found, ignore_index=True)[[*by, "motif", "after", "by", "rule"]]


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


def _rows(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    rows = table[table["metric"] == metric]
    if rows.empty:
        raise BirthError(unknown("metric", metric, table["metric"].unique()))
    return rows


def _one_per_checkpoint(rows: pd.DataFrame, keys: list[str], what: str) -> pd.DataFrame:
    """The rows, once it is sure that each checkpoint of each curve has only one."""
    repeated = rows.duplicated(keys, keep=False)
    if repeated.any():
        sample = rows[repeated]
        for key in keys:
            sample = sample[sample[key] == sample[key].iloc[0]]
        free = [name for name in rows if name != "value" and sample[name].nunique(dropna=False) > 1]
        raise BirthError(
            f"{what} has {len(sample)} rows for one checkpoint of one curve ({', '.join(keys)}); "
            f"select, or tell curves apart, by: {free or 'nothing, the rows are repeated'}"
        )
    return rows


def _curves(rows: pd.DataFrame, by: list[str], what: str) -> pd.DataFrame:
    rows = rows[rows["family"].isin(POOLED)] if "family" in rows else rows
    rows = _one_per_checkpoint(rows, [*by, "step"], what)
    if rows.empty:
        raise BirthError(f"{what} has rows for families only; a birth needs its pooled score (family 'all' or '')")
    return rows[[*by, "step", "value"]]


def _gate(table: pd.DataFrame, metric: str, rule: BirthRule, by: list[str]) -> pd.DataFrame | None:
    """The gate's score of every checkpoint of every curve, or None where the rule has no gate."""
    if rule.gate == "none":
        return None
    if rule.gate == "published":
        source = f"{metric}_worst_base"
        return _curves(_rows(table, source), by, f"metric {source!r}").rename(columns={"value": "gate"})
    rows = _rows(table, metric)
    rows = rows[~rows["family"].isin(POOLED)] if "family" in rows else rows.iloc[:0]
    if rows.empty:
        raise BirthError(f"metric {metric!r} has no rows that name a family, so the named_families gate has no score")
    rows = _one_per_checkpoint(rows, [*by, "step", "family"], f"metric {metric!r}")
    families = rows.groupby(by, dropna=False)["family"].transform("nunique")
    at_checkpoint = rows.assign(families=families).groupby([*by, "step"], dropna=False)
    worst = at_checkpoint.agg(gate=("value", "min"), known=("value", "count"), families=("families", "first"))
    # A family that is missing or NaN may be the worst one: then the minimum is not known.
    return worst["gate"].where(worst["known"] == worst["families"]).reset_index()


def _births_of_metric(scores: pd.DataFrame, gates: pd.DataFrame | None, rule: BirthRule, by: list[str]) -> pd.DataFrame:
    """Births of all curves of one metric. Curves that share a checkpoint grid are judged together."""
    rows = scores.assign(gate=np.nan) if gates is None else scores.merge(gates, on=[*by, "step"], how="left")
    rows = rows.sort_values("step", kind="stable")
    curve = rows.groupby(by, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    order = np.argsort(curve, kind="stable")  # curve after curve, each in the order of its steps
    rows, starts = rows.iloc[order], np.flatnonzero(np.diff(curve[order], prepend=-1))
    curves = rows[by].iloc[starts].reset_index(drop=True)
    steps, values, gated = (
        rows[name].to_numpy(kind) for name, kind in (("step", int), ("value", float), ("gate", float))
    )
    grids = defaultdict(list)
    for number, (start, end) in enumerate(zip(starts, np.append(starts[1:], len(rows)), strict=True)):
        grids[tuple(steps[start:end])].append(number)
    after, first = np.empty(len(curves)), np.empty(len(curves))
    for grid, same in grids.items():
        places = starts[same][:, None] + np.arange(len(grid))
        gate_values = None if gates is None else gated[places]
        after[same], first[same] = find_births(np.array(grid), values[places], gate_values, rule)
    return curves.assign(after=pd.array(after, dtype="Int64"), by=pd.array(first, dtype="Int64"))
