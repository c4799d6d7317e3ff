"""Statistics whose unit is the training seed: intervals and permutation tests that refuse with numbers."""

import functools
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
import pandas as pd
import scipy  # its parts are imported when they are asked for: a second that most commands never need

from circuitcore.ground.spelling import unknown

MOST_EXACT = 20_000  # relabellings that are all tried; beyond, RESAMPLES of them are drawn
RESAMPLES = 10_000
DESIGNS = ("unpaired", "paired", "sign")


class SeedsError(ValueError):
    """Too few seeds, or values that are no numbers, for this statistic; the message carries the numbers."""


@dataclass(frozen=True)
class Interval:
    """An estimate over ``n`` seeds with its two-sided confidence bounds, in the unit of the values."""

    low: float
    mean: float
    high: float
    n: int


def mean_interval(values: Iterable[Real], level: Real = 0.95) -> Interval:
    """Mean over seeds with its Student t interval.

    Args:
        values: one number per seed.
        level: confidence level of the two-sided interval.

    Returns:
        Bounds in the unit of the values. Equal values give an interval of width zero: the t interval sees
        only the spread between these seeds, so for shares at 0 or 1 use ``shares.counted``.

    Raises:
        SeedsError: fewer than two seeds, or a value that is not finite.
    """
    numbers = _finite(values, "mean_interval")
    require_level(level)
    n = len(numbers)
    if n < 2:
        raise SeedsError(f"mean_interval needs at least 2 seeds to see any spread; got {n}: {numbers.tolist()}")
    mean = float(numbers.mean())
    half = _t_quantile(float(1 + level) / 2, n - 1) * float(numbers.std(ddof=1)) / math.sqrt(n)
    return Interval(mean - half, mean, mean + half, n)


def prediction_interval(
    values: Iterable[Real], n_new: Integral = 1, level: Real = 0.95, sets: Sequence[Hashable] = ()
) -> Interval:
    """Where the mean of ``n_new`` further seeds is expected, given these: mean -+ t s sqrt(1/n_new + 1/n).

    Where seeds share data sets, the mean is that of the sets' means, and a further seed, of a set of its own, scatters
    by what is between sets and within. With s_m the scatter of the n sets' means, s_w that of seeds within a set, and h
    the mean of 1 / size: mean -+ t sqrt(s_m^2 (1/n_new + 1/n) + (1 - h) s_w^2 / n_new). Sets of one seed give what
    seeds without sets do.

    Args:
        values: one number per seed; their scatter is taken to be normal.
        n_new: further seeds, drawn as these were.
        level: how often the mean of such seeds lies within; with data sets that hold several seeds, at least so often,
            since t counts the sets.
        sets: the data set of each value, by any name; none where seeds share none.

    Returns:
        Bounds in the unit of the values; ``n`` counts what was drawn independently, sets or seeds.

    Raises:
        SeedsError: fewer than two seeds or sets, a value that is not finite, values without a set, or no further
            seed.
    """
    numbers = _finite(values, "prediction_interval")
    require_level(level)
    label = pd.factorize(np.asarray(list(sets)))[0] if len(sets) else np.arange(len(numbers))
    if len(label) != len(numbers):
        raise SeedsError(f"prediction_interval: data sets of {len(label)} seeds, values of {len(numbers)}")
    if (label < 0).any():
        raise SeedsError(
            f"prediction_interval: {(label < 0).sum()} of {len(label)} seeds are of no data set; got {sets}"
        )
    sizes = np.bincount(label)
    n, means = len(sizes), np.bincount(label, numbers) / sizes
    if n < 2 or n_new < 1:
        what = "data sets" if len(sets) else "seeds"
        raise SeedsError(f"prediction_interval needs at least 2 {what}, and 1 further seed; got {n} and {n_new}")
    freedom, squares = len(numbers) - n, float(((numbers - means[label]) ** 2).sum())
    within = (1 - float((1 / sizes).mean())) * squares / freedom if freedom else 0.0
    mean = float(means.mean())
    between = float(means.std(ddof=1)) * math.sqrt(1 / n_new + 1 / n)
    spread = math.hypot(between, math.sqrt(within / n_new))
    half = _t_quantile(float(1 + level) / 2, n - 1) * spread
    return Interval(mean - half, mean, mean + half, n)


def share_interval(successes: Integral, n: Integral, level: Real = 0.95) -> Interval:
    """Share of seeds that succeeded with its Wilson score interval, bounds in [0, 1].

    Raises:
        SeedsError: no seeds, a count outside 0..n, or one that is not whole.

    Source: Wilson 1927, through ``scipy.stats.binomtest``.
    """
    require_level(level)
    if successes != int(successes) or n != int(n):
        raise SeedsError(f"share_interval counts whole seeds; got {successes} of {n}. Parts of seeds: shares.Counted")
    if n < 1 or not 0 <= successes <= n:
        raise SeedsError(f"share_interval needs n >= 1 and 0 <= successes <= n; got {successes} of {n}")
    found = scipy.stats.binomtest(int(successes), int(n)).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(found.low), successes / n, float(found.high), int(n))


@dataclass(frozen=True)
class PermutationTest:
    """Outcome of a two-sided permutation test.

    Attributes:
        effect: difference of means (first minus second), in the unit of the values.
        p_value: two-sided. Exact: share of all relabellings at least as extreme (twice the smaller tail).
            Resampled: the same with the observed labelling counted once more, so that it is never 0.
        method: "exact" when every relabelling was tried, else "resampled".
        n_relabellings: how many were tried.
        smallest_p: the least p value that these numbers of seeds could give.
    """

    effect: float
    p_value: float
    method: Literal["exact", "resampled"]
    n_relabellings: int
    smallest_p: float

    def __str__(self) -> str:
        how = f"{self.method}, {self.n_relabellings} relabellings"
        return f"p = {self.p_value:.3g} ({how}; smallest possible {self.smallest_p:.3g})"


def permutation_test(a: Iterable[Real], b: Iterable[Real], rng_seed: int = 0) -> PermutationTest:
    """Are the means of two arms different? Relabels seeds between arms.

    Args:
        a: one number per seed of the first arm.
        b: one number per seed of the second arm; the seeds need not match.
        rng_seed: seed of the resampling, used only when there are too many relabellings to try all of them.

    Raises:
        SeedsError: fewer than two seeds in an arm, or a value that is not finite.
    """
    a, b = _finite(a, "permutation_test"), _finite(b, "permutation_test")
    if min(len(a), len(b)) < 2:
        raise SeedsError(f"permutation_test needs at least 2 seeds per arm; got {len(a)} and {len(b)}")
    total = math.comb(len(a) + len(b), len(a))
    return _permute(a, b, "independent", total, rng_seed)


def paired_permutation_test(a: Iterable[Real], b: Iterable[Real], rng_seed: int = 0) -> PermutationTest:
    """Do two conditions of the same seeds differ in the mean? Swaps the two values within seeds.

    Args:
        a: one number per seed under the first condition.
        b: the same seeds, in the same order, under the second.
        rng_seed: as in ``permutation_test``.

    Raises:
        SeedsError: unequal lengths, fewer than two seeds, or a value that is not finite.
    """
    a, b = _finite(a, "paired_permutation_test"), _finite(b, "paired_permutation_test")
    if len(a) != len(b) or len(a) < 2:
        raise SeedsError(f"paired_permutation_test needs the same 2 or more seeds twice; got {len(a)} and {len(b)}")
    return _permute(a, b, "samples", 2 ** len(a), rng_seed)


def what_n_can_show(
    n: int, design: Literal["unpaired", "paired", "sign"] = "unpaired", n_other: int | None = None
) -> float:
    """Smallest two-sided p value that an exact test can give with ``n`` seeds per arm.

    Three seeds against three can never show less than 0.1, whatever they are.

    Args:
        n: seeds per arm; for "paired" and "sign" the number of seeds (for "sign": of seeds that decide).
        design: "unpaired" arms, "paired" conditions, or the "sign" test.
        n_other: seeds of the second arm when the arms differ in size (unpaired only).

    Raises:
        SeedsError: an unknown design, a number below 0, or ``n_other`` of a design without a second arm.
    """
    if design not in DESIGNS:
        raise SeedsError(unknown("design", design, DESIGNS))
    if n_other is not None and design != "unpaired":
        raise SeedsError(f"n_other = {n_other} of a {design} design; allowed: none, its arms are the same seeds")
    if n < 0 or (n_other is not None and n_other < 0):
        raise SeedsError(f"numbers of seeds must be >= 0; got {n} and {n_other}")
    if design == "unpaired":
        return min(1.0, 2 / math.comb(n + (n if n_other is None else n_other), n))
    return min(1.0, 2 / 2**n)


def seeds_needed(alpha: Real, design: Literal["unpaired", "paired", "sign"] = "unpaired") -> int:
    """Fewest seeds per arm with which an exact two-sided test can reach p <= ``alpha`` at all."""
    if not 0 < alpha <= 1:
        raise SeedsError(f"alpha must lie in (0, 1]; got {alpha}")
    n = 1
    while what_n_can_show(n, design) > alpha:
        n += 1
    return n


def holm(table: pd.DataFrame, column: str = "p_value") -> pd.DataFrame:
    """The table with ``p_holm``: p values corrected for being this many, by Holm's step-down rule.

    Rows whose p value is missing are not counted and stay missing.

    Raises:
        SeedsError: no such column, or a value outside [0, 1].

    Source: Holm 1979.
    """
    if column not in table:
        raise SeedsError(f"no column {column!r} to correct; columns are {list(table.columns)}")
    given = table[column].to_numpy(dtype=float)
    tested = np.flatnonzero(~np.isnan(given))
    if ((given[tested] < 0) | (given[tested] > 1)).any():
        raise SeedsError(f"p values lie in [0, 1]; got {given.tolist()}")
    rising = tested[np.argsort(given[tested], kind="stable")]
    factors = len(tested) - np.arange(len(tested))
    corrected = np.full(len(given), np.nan)
    corrected[rising] = np.minimum(1.0, np.maximum.accumulate(factors * given[rising]))
    return table.assign(p_holm=corrected)


def _permute(
    a: np.ndarray, b: np.ndarray, kind: Literal["independent", "samples"], total: int, rng_seed: int
) -> PermutationTest:
    exact = total <= MOST_EXACT
    # Rounded on the scale of the data: sums in another order differ in the last bits, and ties must stay ties.
    scale = max(float(np.abs(np.concatenate([a, b])).max()), np.finfo(float).tiny)

    def difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray | np.floating:
        return np.round((x.mean(axis=axis) - y.mean(axis=axis)) / scale, 12)

    found = scipy.stats.permutation_test(
        (a, b),
        difference,
        permutation_type=kind,
        n_resamples=np.inf if exact else RESAMPLES,
        vectorized=True,
        rng=np.random.default_rng(rng_seed),
    )
    return PermutationTest(
        effect=float(a.mean() - b.mean()),
        p_value=float(found.pvalue),
        method="exact" if exact else "resampled",
        n_relabellings=total if exact else RESAMPLES,
        smallest_p=min(1.0, 2 / total) if exact else 2 / (RESAMPLES + 1),
    )


def _finite(values: Iterable[Real], what: str) -> np.ndarray:
    numbers = np.asarray(list(values), dtype=float)
    bad = int((~np.isfinite(numbers)).sum())
    if bad:
        raise SeedsError(f"{what}: {bad} of {len(numbers)} values are not finite: {numbers.tolist()}")
    return numbers


@functools.cache  # a figure asks for the same few a hundred times
def _t_quantile(share: float, freedom: int) -> float:
    return float(scipy.stats.t.ppf(share, freedom))


def require_level(level: Real) -> None:
    """SeedsError for a confidence level outside (0, 1): 95 is not 95 %."""
    if not 0 < level < 1:
        raise SeedsError(f"confidence level must lie between 0 and 1; got {level}")
