"""Statistics whose unit is the training seed: intervals and permutation tests that refuse with numbers."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy import stats


class SeedsError(ValueError):
    """Too few seeds, or values that are no numbers, for this statistic; the message carries the numbers."""


@dataclass(frozen=True)
class Interval:
    """An estimate over ``n`` seeds with its two-sided confidence bounds, in the unit of the values."""

    low: float
    mean: float
    high: float
    n: int


def mean_interval(values: Iterable[Real], level: float = 0.95) -> Interval:
    """Mean over seeds with its Student t interval.

    Args:
        values: one number per seed.
        level: confidence level of the two-sided interval.

    Returns:
        Bounds in the unit of the values. Equal values give an interval of width zero: the t interval sees
        only the spread between these seeds, so for shares at 0 or 1 use ``share_interval``.

    Raises:
        SeedsError: fewer than two seeds, or a value that is not finite.
    """
    numbers = _finite(values, "mean_interval")
    _level(level)
    n = len(numbers)
    if n < 2:
        raise SeedsError(
            f"mean_interval needs at least 2 seeds to see any spread; got {n}: {numbers.tolist()}"
        )
    mean = float(numbers.mean())
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * float(numbers.std(ddof=1)) / math.sqrt(n)
    return Interval(mean - half, mean, mean + half, n)


def share_interval(successes: Integral, n: Integral, level: float = 0.95) -> Interval:
    """Share of seeds that succeeded with its Wilson score interval, bounds in [0, 1].

    Raises:
        SeedsError: no seeds, or a count outside 0..n.

    Source: Wilson 1927, through ``scipy.stats.binomtest``.
    """
    _level(level)
    if n < 1 or not 0 <= successes <= n:
        raise SeedsError(f"share_interval needs n >= 1 and 0 <= successes <= n; got {successes} of {n}")
    found = stats.binomtest(int(successes), int(n)).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(found.low), successes / n, float(found.high), int(n))


def _finite(values: Iterable[Real], what: str) -> np.ndarray:
    numbers = np.asarray(list(values), dtype=float)
    bad = int((~np.isfinite(numbers)).sum())
    if bad:
        raise SeedsError(f"{what}: {bad} of {len(numbers)} values are not finite: {numbers.tolist()}")
    return numbers


def _level(level: float) -> None:
    if not 0 < level < 1:
        raise SeedsError(f"confidence level must lie between 0 and 1; got {level}")
