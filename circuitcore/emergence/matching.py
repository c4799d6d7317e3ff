"""The same role in two runs: heads matched within layers by what they do, with the level that chance reaches.

A head's index inside its layer is arbitrary. What can be compared is its profile: its scores on several metrics.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from numbers import Integral
from typing import Literal

import numpy as np
import scipy
from jaxtyping import Float, Int

from circuitcore.emergence.roles import RolesError
from circuitcore.ground.spelling import unknown

MEASURES = ("cosine", "correlation")
MOST_EXACT = 20_000  # orders of heads that are all tried; beyond, RESAMPLES of them are drawn
RESAMPLES = 10_000
MOST_AT_ONCE = 250_000  # orders by ways of relabelling a block that are looked at together


@dataclass(frozen=True)
class HeadMatch:
    """The best relabelling of one run's heads to fit another's, and what chance gives.

    Attributes:
        relabel: head i of the first run goes with head ``relabel[i]`` of the second, always in the same layer.
        per_head: similarity of each matched pair, in [-1, 1].
        similarity: their mean.
        chance: mean similarity over all relabellings within layers: what matching by index gives on average.
        chance_best: mean of the best similarity when the second run's heads are first shuffled over all layers: what
            picking the best relabelling gives when heads keep their profiles but lose their layers.
        p_value: share of those shuffles that match at least as well. It cannot fall below the share of shuffles that
            move no head to another layer.
        method: "exact" when all shuffles were tried, else "resampled".
        n_shuffles: how many were tried.
    """

    relabel: tuple[int, ...]
    per_head: tuple[float, ...]
    similarity: float
    chance: float
    chance_best: float
    p_value: float
    method: Literal["exact", "resampled"]
    n_shuffles: int


def match_heads(
    profiles_a: Float[np.ndarray, "head metric"],
    profiles_b: Float[np.ndarray, "other_head other_metric"],
    layers: Sequence[Integral],
    measure: Literal["cosine", "correlation"] = "correlation",
    rng_seed: int = 0,
) -> HeadMatch:
    """Match the heads of two runs within layers.

    Args:
        profiles_a: scores of every head of the first run on several metrics.
        profiles_b: the same heads and metrics of the second run.
        layers: the layer of each head, the same in both runs.
        measure: "cosine" of the profiles, or their "correlation" over metrics. Scores are mostly positive, so the
            cosine of unrelated heads is near 1: read it against ``chance``, never against 0.
        rng_seed: seed of the resampling, used only when there are too many shuffles to try all of them.

    Raises:
        RolesError: an unknown measure, shapes differ, a value is not finite, or a profile has no direction (all zero;
            for "correlation" all equal), which makes its similarity undefined.
    """
    shapes = np.shape(profiles_a), np.shape(profiles_b)
    if shapes[0] != shapes[1]:
        raise RolesError(f"profiles of two runs have one shape; got {shapes[0]} and {shapes[1]}")
    pair = np.array([0]), np.array([1])
    return match_pairs(np.stack([profiles_a, profiles_b]), pair, layers, measure, rng_seed)[0]


def match_pairs(
    profiles: Float[np.ndarray, "run head metric"],
    pairs: tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]],
    layers: Sequence[Integral],
    measure: Literal["cosine", "correlation"] = "correlation",
    rng_seed: int = 0,
) -> list[HeadMatch]:
    """``match_heads`` of many pairs of runs, all held to the same shuffles.

    Args:
        profiles: scores of every head of every run on several metrics.
        pairs: which run is the first of each pair, and which the second.
        layers: the layer of each head, the same in all runs.
        measure: as for ``match_heads``.
        rng_seed: as for ``match_heads``.

    Raises:
        RolesError: as ``match_heads``, for any of the runs.
    """
    if measure not in MEASURES:
        raise RolesError(unknown("measure", measure, MEASURES))
    if len(layers) != profiles.shape[1]:
        raise RolesError(f"profiles of {profiles.shape[1]} heads need one layer per head; got {len(layers)} layers")
    directions, layers = _directions(profiles, measure), np.asarray(layers)
    blocks = [np.flatnonzero(layers == layer) for layer in np.unique(layers)]
    shuffles = _shuffles(len(layers), rng_seed)
    at_once, found = max(1, MOST_AT_ONCE // (len(shuffles) * _most_ways(blocks))), []
    for start in range(0, len(pairs[0]), at_once):
        first, second = (directions[side[start : start + at_once]] for side in pairs)
        found += _matches(first @ second.swapaxes(1, 2), shuffles, blocks)
    return found


def _matches(
    similarity: Float[np.ndarray, "pair head head"], shuffles: Int[np.ndarray, "order head"], blocks: list[np.ndarray]
) -> list[HeadMatch]:
    """The match of each pair whose heads are so similar."""
    n_heads, n_shuffles = similarity.shape[1], len(shuffles)
    relabel = _best(similarity, blocks)
    per_head = np.take_along_axis(similarity, relabel[:, :, None], axis=2)[:, :, 0]
    means, shuffled = per_head.mean(axis=1), _best_means(similarity, shuffles, blocks)
    flat = similarity.reshape(len(similarity), -1)
    inside = (np.take(flat, (block[:, None] * n_heads + block).ravel(), axis=1) for block in blocks)
    within = sum(one.mean(axis=1) * len(block) for one, block in zip(inside, blocks, strict=True)) / n_heads
    # Sums in another order differ in the last bits; equal matches must stay equal. A drawn sample never gives 0.
    reached = (shuffled >= means[:, None] - 1e-12).sum(axis=1)
    exact = math.factorial(n_heads) <= MOST_EXACT
    p_values = reached / n_shuffles if exact else (reached + 1) / (n_shuffles + 1)
    method, columns = "exact" if exact else "resampled", (means, within, shuffled.mean(axis=1), p_values)
    return [
        HeadMatch(tuple(heads), tuple(values), *levels, method, n_shuffles)
        for heads, values, *levels in zip(
            relabel.tolist(), per_head.tolist(), *(c.tolist() for c in columns), strict=True
        )
    ]


def _directions(
    profiles: Float[np.ndarray, "run head metric"], measure: Literal["cosine", "correlation"]
) -> Float[np.ndarray, "run head metric"]:
    """Profiles at length 1, so that a dot product is the similarity asked for."""
    if not np.isfinite(profiles).all():
        heads = np.flatnonzero(~np.isfinite(profiles).all(axis=(0, 2))).tolist()
        raise RolesError(f"profiles must be finite; heads {heads} are not")
    centred = profiles - profiles.mean(axis=2, keepdims=True) if measure == "correlation" else profiles
    lengths = np.linalg.norm(centred, axis=2, keepdims=True)
    none = 1e-12 * np.abs(profiles).max(axis=(1, 2), keepdims=True, initial=1.0)
    flat = np.flatnonzero((lengths <= none).any(axis=(0, 2))).tolist()
    if flat:
        raise RolesError(f"the {measure} of heads {flat} is undefined: their profiles have no direction")
    return centred / lengths


def _best(similarity: Float[np.ndarray, "pair head head"], blocks: list[np.ndarray]) -> Int[np.ndarray, "pair head"]:
    """For each pair the relabelling within blocks whose summed similarity is largest."""
    relabel = np.tile(np.arange(similarity.shape[1]), (len(similarity), 1))
    for block in blocks:
        inside = similarity[:, block[:, None], block]
        for place, one in enumerate(inside):  # scipy assigns one pair's heads at a time
            rows, columns = scipy.optimize.linear_sum_assignment(one, maximize=True)
            relabel[place, block[rows]] = block[columns]
    return relabel


def _best_means(
    similarity: Float[np.ndarray, "pair head head"], orders: Int[np.ndarray, "order head"], blocks: list[np.ndarray]
) -> Float[np.ndarray, "pair order"]:
    """Mean similarity under the best relabelling within blocks, for each order of the second run's heads.

    Blocks of few heads are relabelled in every way, for all pairs and orders at once; others one by one.
    """
    n_pairs, n_heads, _ = similarity.shape
    if len(orders) * _most_ways(blocks) > MOST_AT_ONCE:
        best = np.array([_best(one[:, orders].swapaxes(0, 1), blocks) for one in similarity])
        places = np.take_along_axis(np.broadcast_to(orders, best.shape), best, axis=2)
        return np.take_along_axis(similarity, places.swapaxes(1, 2), axis=2).mean(axis=1)
    picked = np.empty((n_pairs, *orders.shape))
    for block in blocks:
        ways = np.array(list(permutations(range(len(block)))))
        places = block * n_heads + orders[:, block][:, ways]  # [order, way, head of the block]
        found = similarity.reshape(n_pairs, -1)[:, places]
        best = found.sum(axis=-1).argmax(axis=2)
        picked[:, :, block] = np.take_along_axis(found, best[:, :, None, None], axis=2)[:, :, 0]
    return picked.mean(axis=2)


def _most_ways(blocks: list[np.ndarray]) -> int:
    """In how many ways the largest block can be relabelled."""
    return max(math.factorial(len(block)) for block in blocks)


def _shuffles(n: int, rng_seed: int) -> Int[np.ndarray, "order head"]:
    if math.factorial(n) <= MOST_EXACT:
        return np.array(list(permutations(range(n))))
    rng = np.random.default_rng(rng_seed)
    return np.array([rng.permutation(n) for _ in range(RESAMPLES)])
