"""Exact statistics of shares of seeds: Clopper-Pearson intervals and binomial p values.

A seed may count in part: of two runs of one seed, one that succeeds makes half a success. Runs of a seed are not
independent, so that two of them count as one.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
import scipy  # its parts are imported when they are asked for: a second that most commands never need

from circuitcore.emergence.seeds import Interval, SeedsError, require_level


@dataclass(frozen=True)
class Counted:
    """Successes among independent draws; neither need be whole.

    Attributes:
        successes: how many succeeded, parts of a draw included.
        n: how many independent draws that is worth.
    """

    successes: Real
    n: Real

    def __post_init__(self):
        if not (self.n > 0 and -1e-9 <= self.successes <= self.n + 1e-9):
            raise SeedsError(f"a share needs n > 0 and 0 <= successes <= n; got {self.successes} of {self.n}")

    @property
    def share(self) -> float:
        """Successes per draw."""
        return min(1.0, max(0.0, self.successes / self.n))

    def interval(self, level: Real = 0.95) -> Interval:
        """Clopper-Pearson interval of the share: at least ``level`` coverage at every n. Source: Clopper, Pearson 1934.

        ``Interval.n`` is rounded down where the draws are worth no whole number.
        """
        require_level(level)
        tail, failures = (1 - level) / 2, self.n - self.successes
        quantile = scipy.stats.beta.ppf
        low = 0.0 if self.successes <= 0 else float(quantile(tail, self.successes, failures + 1))
        high = 1.0 if failures <= 0 else float(quantile(1 - tail, self.successes + 1, failures))
        return Interval(low, self.share, high, math.floor(self.n))

    def p_value(self, bound: Real) -> float:
        """Two-sided p value against a share of ``bound``: twice the smaller exact tail, at most 1.

        It is at most 0.05 exactly where the 95 % interval leaves the bound out.

        Raises:
            SeedsError: a bound outside 0..1.
        """
        if not 0 <= bound <= 1:
            raise SeedsError(f"a share is held against a bound from 0 to 1; got {bound}")
        failures, tail_of = self.n - self.successes, scipy.stats.beta.cdf
        as_many = 1.0 if self.successes <= 0 else float(tail_of(bound, self.successes, failures + 1))
        as_few = 1.0 if failures <= 0 else float(1 - tail_of(bound, self.successes + 1, failures))
        return min(1.0, 2 * min(as_many, as_few))


def counted(values: Iterable[Real]) -> Counted:
    """Successes of independent seeds, a number from 0 to 1 of each.

    Raises:
        SeedsError: no seeds, or a value outside 0..1.
    """
    numbers = _shares(values)
    return Counted(float(numbers.sum()), len(numbers))


def counted_in_groups(groups: Sequence[Iterable[Real]]) -> Counted:
    """The same where seeds come in groups drawn first (data sets): as many draws as the groups' scatter leaves.

    The number of seeds is divided by the design effect, the variance of the share over groups relative to that of as
    many independent seeds, and corrected for the few groups it is estimated from. Where groups do not differ, or differ
    less than independent seeds would, only that correction is left.

    Where all succeed nothing tells how alike the seeds of a group are. If they are wholly alike, the groups are all
    that was drawn, and this counts for too much: groups of 5, 1, 1, 1, 1 then have an interval that covers 93 times of
    100 at the worst share, and twelve of five 63 times, at 0.92.

    Raises:
        SeedsError: fewer than two groups, an empty one, or a value outside 0..1.

    Source: Korn, Graubard 1998.
    """
    parts = [_shares(values) for values in groups]
    share, n = float(np.concatenate(parts).mean()), sum(map(len, parts))
    worth = worth_in_groups(n, len(parts), design_effect(groups))
    return Counted(share * worth, worth)


def design_effect(groups: Sequence[Iterable[Real]]) -> float:
    """How many times fewer independent draws seeds are worth, as those of a group are alike; at least 1.

    Raises:
        SeedsError: fewer than two groups, an empty one, or a value outside 0..1.
    """
    parts = [_shares(values) for values in groups]
    k, n = len(parts), sum(map(len, parts))
    if k < 2:
        raise SeedsError(f"counted_in_groups needs at least 2 groups to see how they differ; got {k}")
    share = float(np.concatenate(parts).mean())
    between = sum((len(part) / n) ** 2 * (part.mean() - share) ** 2 for part in parts) * k / (k - 1)
    alone = share * (1 - share) / n
    return max(1.0, float(between) / alone) if alone else 1.0


def worth_in_groups(n: Real, k: int, effect: Real) -> float:
    """As many independent draws ``n`` seeds of ``k`` groups count, with a design effect estimated from these."""
    quantile = scipy.stats.t.ppf
    return max(float(n / effect * (quantile(0.975, n - 1) / quantile(0.975, k - 1)) ** 2), 1.0)


def _shares(values: Iterable[Real]) -> np.ndarray:
    numbers = np.asarray(list(values), dtype=float)
    if not len(numbers) or not ((numbers >= 0) & (numbers <= 1)).all():
        raise SeedsError(f"shares of seeds need a number from 0 to 1 of each seed; got {numbers.tolist()}")
    return numbers
