"""Do heads keep their roles across seeds? The source's measures with their chance, and matching up to relabelling.

The source compares heads by their index. The index of a head within its layer is arbitrary, and with few heads most
of its measures are high whatever two runs have in common, so each comes with what it would be if the same scores had
fallen on other heads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from circuitcore.emergence.matching import MEASURES, match_pairs
from circuitcore.ground.spelling import unknown

TOP = 3  # heads compared by the source's overlap
MOST_HEADS = 8  # whose orders (8! = 40,320) are all tried
RUN = ("arm", "init_seed")
HEAD = ["layer", "head"]
Marks = Callable[[np.ndarray], np.ndarray]


class AgreementError(ValueError):
    """Profiles that cannot be compared head by head; the message says what is wrong with them."""


def agreement(
    profiles: pd.DataFrame,
    by: Sequence[str] = RUN,
    ties: Sequence[str] = (),
    similarity: Literal["cosine", "correlation"] = "correlation",
) -> pd.DataFrame:
    """Agreement of every pair of runs on which head does what.

    Per metric, as published: ``same_identity`` (1 when the highest head is the same), ``top3_overlap`` (share of the
    three highest heads in common) and ``profile_cosine`` (cosine of the scores of all heads). Over all metrics
    together, given two or more: ``matched``, the mean similarity of the heads' profiles over metrics once heads are
    relabelled within layers to fit best (``match_heads``), which no index can sway.

    Args:
        profiles: one row per run, metric and head, of one checkpoint per run: the ``by`` columns, ``metric``,
            ``layer``, ``head``, ``value``. All runs have the same heads and metrics.
        by: the columns that tell runs apart; all but the last name the arm.
        ties: columns that break ties of ``value`` before the lower layer and head do (the source's: worst base prompt).
        similarity: of two profiles, for ``matched``; "correlation" says nothing with fewer than three metrics.

    Returns:
        One row per pair of runs, metric ("all" for ``matched``) and measure: the ``by`` columns with ``_a`` and
        ``_b``, ``same_arm``, ``metric``, ``measure``, ``value`` (in [0, 1], but cosines and ``matched`` in [-1, 1])
        and two levels of chance, exact means over all ways of handing either run's scores to its heads:
        ``chance_within_layers`` (scores keep their layer; ``matched`` is blind to that) and ``chance_all_heads``.
        ``p_value`` belongs to ``matched``: share of shuffles over all heads that match as well; else missing.

    Raises:
        AgreementError: an unknown similarity, fewer than two runs, a missing, repeated or infinite score (or
            tie-breaker), a profile of zeros, or more heads than can be shuffled in every way.
        RolesError: a head whose profile over metrics has no direction, so that its similarity is undefined.

    Source: the three measures are Alex 2026's; their chance is ours.
    """
    if similarity not in MEASURES:
        raise AgreementError(unknown("similarity", similarity, MEASURES))
    scores = _scores(profiles, list(by), list(ties))
    first, second = (np.array(side) for side in zip(*combinations(range(len(scores.runs)), 2), strict=True))
    pairs = scores.runs.iloc[first].add_suffix("_a").reset_index(drop=True)
    pairs = pairs.join(scores.runs.iloc[second].add_suffix("_b").reset_index(drop=True))
    same = [(pairs[f"{name}_a"] == pairs[f"{name}_b"]).to_numpy() for name in by[:-1]]
    pairs["same_arm"] = np.logical_and.reduce(same) if same else True
    found = []
    for place, metric in enumerate(scores.metrics):
        for measure, (marks, data) in _published(scores.values[place], scores.ranks[place]).items():
            levels = _levels(marks, data, scores.layers, (first, second))
            found.append(pairs.assign(metric=metric, measure=measure, **levels, p_value=np.nan))
    if len(scores.metrics) > 1:
        matches = _matched(scores, (first, second), similarity)
        found.append(pairs.assign(metric="all", measure="matched", **matches))
    return pd.concat(found, ignore_index=True)


@dataclass(frozen=True, eq=False)
class _Scores:
    """Profiles as arrays, heads by layer and index; a higher rank is a better head."""

    runs: pd.DataFrame
    metrics: list[str]
    layers: Int[np.ndarray, " head"]
    values: Float[np.ndarray, "metric run head"]
    ranks: Int[np.ndarray, "metric run head"]


def _scores(profiles: pd.DataFrame, by: list[str], ties: list[str]) -> _Scores:
    repeated = int(profiles.duplicated(["metric", *by, *HEAD]).sum())
    if repeated:
        raise AgreementError(f"{repeated} scores are repeated; give one checkpoint per run, and one family")
    pooled = int(profiles[HEAD].isna().any(axis=1).sum())
    if pooled:
        raise AgreementError(f"{pooled} scores are of no head (no layer or head); give those of heads alone")
    run = profiles.groupby(by, sort=False, observed=True).ngroup()
    head = profiles.groupby(HEAD).ngroup()
    metric, metrics = pd.factorize(profiles["metric"].astype(str))
    # Groups are numbered in the order of their keys: by value, then by what breaks its ties.
    rank = profiles.groupby(["value", *ties], dropna=False).ngroup()
    known = np.isfinite(profiles[["value", *ties]].to_numpy(dtype=float)).all(axis=1)
    shape = (len(metrics), run.max() + 1, head.max() + 1)
    values, ranks = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    values[metric, run, head], ranks[metric, run, head] = profiles["value"].where(known), rank
    unknown = int(np.isnan(values).sum())
    if unknown:
        raise AgreementError(f"{unknown} of {values.size} scores (runs x metrics x heads) are missing or not finite")
    if shape[1] < 2 or shape[2] > MOST_HEADS:
        raise AgreementError(f"needs at least 2 runs and at most {MOST_HEADS} heads; got {shape[1]} and {shape[2]}")
    layers = profiles.assign(place=head).drop_duplicates("place").sort_values("place")["layer"].to_numpy()
    runs = profiles[by].iloc[np.unique(run, return_index=True)[1]].reset_index(drop=True)
    return _Scores(runs, list(metrics), layers.astype(np.int64), values, ranks)


def _published(values: Float[np.ndarray, "run head"], ranks: Int[np.ndarray, "run head"]) -> dict[str, tuple]:
    """Measure -> marks that a run gives its heads, and what they are made from.

    Each published measure is the dot product of two runs' marks.
    """
    if not values.any(axis=1).all():
        raise AgreementError("a run whose scores are all 0 has no cosine with another")
    return {
        "same_identity": (lambda rank: _best(rank, 1), ranks),
        "top3_overlap": (lambda rank: _best(rank, TOP), ranks),
        "profile_cosine": (lambda value: value / np.linalg.norm(value, axis=-1, keepdims=True), values),
    }


def _best(ranks: Int[np.ndarray, "*runs head"], n: int) -> Float[np.ndarray, "*runs head"]:
    """1 / sqrt(n) for the n best heads, ties to the lower layer and head, and 0 for the others."""
    n = min(n, ranks.shape[-1])
    marks = np.zeros(ranks.shape)
    np.put_along_axis(marks, np.argsort(-ranks, axis=-1, kind="stable")[..., :n], n**-0.5, axis=-1)
    return marks


def _levels(
    marks: Marks,
    data: np.ndarray,
    layers: Int[np.ndarray, " head"],
    pairs: tuple[np.ndarray, np.ndarray],
) -> dict[str, np.ndarray]:
    """The measure of every pair, and its mean over all shuffles of both runs.

    The two shuffles are independent, so the mean of the product is the product of the mean marks.
    """
    first, second = pairs
    shuffles = {"chance_within_layers": _within(layers), "chance_all_heads": _within(np.zeros_like(layers))}
    by_level = {"value": marks(data)}
    by_level |= {level: marks(data[:, orders]).mean(axis=1) for level, orders in shuffles.items()}
    return {level: (given[first] * given[second]).sum(axis=-1) for level, given in by_level.items()}


def _within(layers: Int[np.ndarray, " head"]) -> Int[np.ndarray, "order head"]:
    """Every order of the heads that keeps each in its layer."""
    blocks = [np.flatnonzero(layers == layer) for layer in np.unique(layers)]
    orders = np.array([np.concatenate(parts) for parts in product(*(permutations(block) for block in blocks))])
    return orders[:, np.argsort(np.concatenate(blocks))]


def _matched(
    scores: _Scores, pairs: tuple[np.ndarray, np.ndarray], similarity: Literal["cosine", "correlation"]
) -> dict[str, list[float]]:
    """Similarity up to relabelling of every pair; relabelling undoes any shuffle within layers."""
    found = match_pairs(scores.values.transpose(1, 2, 0), pairs, scores.layers.tolist(), similarity)
    return {
        "value": [match.similarity for match in found],
        "chance_within_layers": [match.similarity for match in found],
        "chance_all_heads": [match.chance_best for match in found],
        "p_value": [match.p_value for match in found],
    }
