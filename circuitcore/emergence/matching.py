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
    if measure not in MEASURES:
        raise RolesError(unknown("measure", measure, MEASURES))
    a, b = (_directions(profiles, measure) for profiles in (profiles_a, profiles_b))
    layers = np.asarray(layers)
    if a.shape != b.shape or len(layers) != len(a):
        raise RolesError(
            f"profiles of shapes {a.shape} and {b.shape} need one layer per head; got {len(layers)} layers"
        )
    similarity = a @ b.T
    blocks = [np.flatnonzero(layers == layer) for layer in np.unique(layers)]
    relabel = _best(similarity, blocks)
    per_head = similarity[np.arange(len(relabel)), relabel]
    exact = math.factorial(len(a)) <= MOST_EXACT
    shuffled = _best_means(similarity, _shuffles(len(a), rng_seed), blocks)
    within = sum(similarity[np.ix_(block, block)].mean() * len(block) for block in blocks) / len(a)
    # Sums in another order differ in the last bits; equal matches must stay equal. A drawn sample never gives 0.
    reached = int((shuffled >= per_head.mean() - 1e-12).sum())
    return HeadMatch(
        relabel=tuple(int(head) for head in relabel),
        per_head=tuple(float(value) for value in per_head),
        similarity=float(per_head.mean()),
        chance=float(within),
        chance_best=float(shuffled.mean()),
        p_value=reached / len(shuffled) if exact else (reached + 1) / (len(shuffled) + 1),
        method="exact" if exact else "resampled",
        n_shuffles=len(shuffled),
    )


def _directions(
    profiles: Float[np.ndarray, "head metric"], measure: Literal["cosine", "correlation"]
) -> Float[np.ndarray, "head metric"]:
    """Profiles at length 1, so that a dot product is the similarity asked for."""
    if not np.isfinite(profiles).all():
        heads = np.flatnonzero(~np.isfinite(profiles).all(axis=1)).tolist()
        raise RolesError(f"profiles must be finite; heads {heads} are not")
    centred = profiles - profiles.mean(axis=1, keepdims=True) if measure == "correlation" else profiles
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    flat = np.flatnonzero(lengths[:, 0] <= 1e-12 * np.abs(profiles).max(initial=1.0)).tolist()
    if flat:
        raise RolesError(f"the {measure} of heads {flat} is undefined: their profiles have no direction")
    return centred / lengths


def _best(similarity: Float[np.ndarray, "head head"], blocks: list[np.ndarray]) -> np.ndarray:
    """The relabelling within blocks whose summed similarity is largest."""
    relabel = np.arange(len(similarity))
    for block in blocks:
        rows, columns = scipy.optimize.linear_sum_assignment(similarity[np.ix_(block, block)], maximize=True)
        relabel[block[rows]] = block[columns]
    return relabel


def _best_means(
    similarity: Float[np.ndarray, "head head"], orders: Int[np.ndarray, "order head"], blocks: list[np.ndarray]
) -> Float[np.ndarray, " order"]:
    """Mean similarity under the best relabelling within blocks, for each order of the second run's heads.

    Blocks of few heads are relabelled in every way, for all orders at once; others one by one.
    """
    if len(orders) * max(math.factorial(len(block)) for block in blocks) > MOST_AT_ONCE:
        best = [_best(similarity[:, order], blocks) for order in orders]
        return similarity[np.arange(len(similarity)), np.take_along_axis(orders, np.array(best), axis=1)].mean(axis=1)
    picked = np.empty(orders.shape)
    for block in blocks:
        ways = np.array(list(permutations(range(len(block)))))
        found = similarity[block, orders[:, block][:, ways]]  # [order, way, head of the block]
        best = found.sum(axis=-1).argmax(axis=1)
        picked[:, block] = found[np.arange(len(orders)), best]
    return picked.mean(axis=1)


def _shuffles(n: int, rng_seed: int) -> Int[np.ndarray, "order head"]:
    if math.factorial(n) <= MOST_EXACT:
        return np.array(list(permutations(range(n))))
    rng = np.random.default_rng(rng_seed)
    return np.array([rng.permutation(n) for _ in range(RESAMPLES)])
