"""What a claim's quantifier means: numbers of independent draws in, an estimate with interval and p value out.

========== ==================================================== ===========================================
rule        asks                                                 decides by
========== ==================================================== ===========================================
OnAverage  is the mean beyond the bound?                        Student's t interval of the mean
Share      is the share of seeds beyond the bound?              Clopper-Pearson interval of the share
Every      does every seed ("always", "cannot")?                one counterexample refutes; without one, the
                                                                Clopper-Pearson interval of the share
Some       does any seed?                                       one example supports; without one, the interval
EvenOdds   is it as often so as not?                            interval of the share's distance from one half
Forced     does it follow from the definition?                  one counterexample refutes; none supports
Counted    what is counted once, without training?              the number itself
========== ==================================================== ===========================================

Where seeds come within data sets, the data set is the draw: the interval of a mean is that of the data sets' means,
a share counts as many draws as the data sets' scatter leaves (``circuitcore.emergence.shares``).
"""

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

import numpy as np
import pandas as pd
import scipy  # its parts are imported when they are asked for: a second that most commands never need
from pydantic import ConfigDict

from circuitcore.emergence.seeds import mean_interval
from circuitcore.emergence.shares import Counted as CountedShare
from circuitcore.emergence.shares import counted, counted_in_groups
from livingpaper.claims.units import SEEDS, Bound, End, Unit

RECORD = ConfigDict(extra="forbid", ser_json_inf_nan="strings")
"""How what is kept of claims is written to JSON, and read back."""
EVERYWHERE = (-math.inf, math.inf)


class Outcome(StrEnum):
    """What numbers say to a question, before its controls are looked at."""

    YES = "yes"
    NO = "no"
    OPEN = "open"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What was found.

    Attributes:
        effect: point estimate, in the unit of its rule.
        low: lower end of the 95 % interval; -inf where so few draws bound nothing.
        high: upper end.
        p_value: two-sided, against the bound; None where there is no interval, and for a mean of equal draws.
        n: seeds behind it; 0 where no training enters.
        n_sets: data sets that they come from.
        against: seeds beyond the wrong side of what each must reach.
        values: the number of each seed, in the reading's unit. Estimates that differ in them alone are equal.
        sets: the data set of each value, where there are several. As ``values``, they decide no equality.

    Raises:
        ValueError: NaN, an inverted interval, or an effect outside its own interval.
    """

    __pydantic_config__: ClassVar[ConfigDict] = RECORD

    effect: float
    low: End
    high: End
    p_value: float | None
    n: int
    n_sets: int
    against: int
    values: tuple[float, ...] = field(default=(), compare=False, repr=False)
    sets: tuple[int, ...] = field(default=(), compare=False, repr=False)

    @property
    def of_sets(self) -> bool:
        """Whether the unit is the data set: several were drawn."""
        return self.n_sets > 1

    @property
    def n_draws(self) -> int:
        """What was drawn independently: data sets where there are several, else seeds."""
        return self.n_sets if self.of_sets else self.n

    def __post_init__(self):
        if not math.isfinite(self.effect) or math.isnan(self.low) or math.isnan(self.high):
            raise ValueError(f"an estimate needs numbers; got {self.effect} in {(self.low, self.high)}")
        slack = 1e-9 * max(1.0, abs(self.effect))
        if not self.low - slack <= self.effect <= self.high + slack:
            raise ValueError(f"effect {self.effect} lies outside its own interval {(self.low, self.high)}")


@dataclass(frozen=True)
class Rule:
    """A quantifier. ``least``: fewest draws for which it is offered; below, the point stands without an interval."""

    name: ClassVar[str]
    least: ClassVar[int] = 1

    def unit(self, unit: Unit) -> Unit:
        """The unit of the effect, given that of the reading."""
        return unit

    def estimate(self, values: pd.Series | float, bound: Bound, unit: Unit) -> Estimate:
        """Hold numbers of draws against a bound, which is in ``self.unit(unit)``."""
        raise NotImplementedError

    @staticmethod
    def outcome(found: Estimate, bound: Bound) -> Outcome:
        """Yes where the whole interval reaches the bound, no where none of it does."""
        if bound.reached(found.low) and bound.reached(found.high):
            return Outcome.YES
        worst = found.high if bound.direction == "at_least" else found.low
        return Outcome.OPEN if bound.reached(worst) else Outcome.NO


@dataclass(frozen=True)
class OnAverage(Rule):
    """The mean over draws.

    The t interval covers the mean of normal and of uniform values 93 to 97 times of 100 from five draws on; of very
    skewed values less, and then it errs to one side alone: of ten exponential ones it covers 90 and lies too low in
    nearly all others; where most draws lie at an end of what is possible, as nine of ten 0-or-1 draws do, it errs far
    more often (in 59 of 100, of five draws), as it sees hardly any scatter. Of three data sets it takes such means as
    they are; of shares near an end ask how many seeds reach something instead.
    """

    name: ClassVar[str] = "on average"
    least: ClassVar[int] = 5
    least_sets: ClassVar[int] = 3

    def estimate(self, values: pd.Series | float, bound: Bound, unit: Unit) -> Estimate:
        """Mean, t interval cut to what is possible, and the t test's p value.

        Equal draws have no scatter to hold a difference against: their interval is their value, and no p value is said.
        """
        sets = _by_set(values)
        draws = [float(np.mean(part)) for part in sets] if len(sets) > 1 else sets[0]
        least = self.least_sets if len(sets) > 1 else self.least
        equal = np.ptp(draws) == 0  # their mean may miss them by its last bit, and then a bound that they reach
        mean = draws[0] if equal else float(np.mean(draws))
        (low, high), p_value = EVERYWHERE, None
        if len(draws) >= least:
            (low, high), p_value = ((mean, mean), None) if equal else self._around(draws, bound)
            low, high = unit.cut(low, high)
        return Estimate(
            effect=mean, low=min(low, mean), high=max(high, mean), p_value=p_value, n=len(values), n_sets=len(sets),
            against=0, values=tuple(float(value) for value in values), sets=_sets(values),
        )  # fmt: skip

    def _around(self, draws: list[float], bound: Bound) -> tuple[tuple[float, float], float]:
        """The interval around the mean of draws that differ, and the p value of the bound."""
        found = mean_interval(draws)
        return (found.low, found.high), float(scipy.stats.ttest_1samp(draws, bound.value).pvalue)


@dataclass(frozen=True)
class OverPairs(OnAverage):
    """The mean over pairs of draws, of which each draw gives its mean over the pairs that it is in.

    Pairs that share a draw are not independent, nor are such means, so their own scatter is too small: the standard
    error is the jackknife's over draws, which is that of these means times 2 (n - 1) / (n - 2). A number of two draws
    that depends on their order is averaged over both orders first.
    """

    name: ClassVar[str] = "on average over pairs"

    def _around(self, draws: list[float], bound: Bound) -> tuple[tuple[float, float], float]:
        n, mean = len(draws), float(np.mean(draws))
        error = 2 * (n - 1) / (n - 2) * float(np.std(draws, ddof=1)) / math.sqrt(n)
        low, high = scipy.stats.t.interval(0.95, n - 1, loc=mean, scale=error)
        p_value = 2 * scipy.stats.t.sf(abs(mean - bound.value) / error, n - 1)
        return (float(low), float(high)), float(p_value)


@dataclass(frozen=True)
class _OfEach(Rule):
    """Rules on how many seeds reach something; ``each`` None for readings that are shares of a seed's runs already."""

    each: Bound | None = None

    def unit(self, unit: Unit) -> Unit:
        """Percent of seeds."""
        return SEEDS

    def estimate(self, values: pd.Series | float, bound: Bound, unit: Unit) -> Estimate:
        """Share of seeds, Clopper-Pearson interval, exact binomial p value."""
        sets = [[self._reached(value) for value in part] for part in _by_set(values)]
        found = counted_in_groups(sets) if len(sets) > 1 else counted(sets[0])
        reached, interval = [share for part in sets for share in part], found.interval()
        share = Estimate(
            effect=float(np.mean(reached)),
            low=interval.low,
            high=interval.high,
            p_value=found.p_value(bound.value),
            n=len(reached),
            n_sets=len(sets),
            against=sum(share < 1 for share in reached),
            values=tuple(map(float, values)),
            sets=_sets(values),
        )
        return self._as_effect(share, found, bound)

    def _as_effect(self, share: Estimate, found: CountedShare, bound: Bound) -> Estimate:
        """The estimate of the rule's effect from that of the share."""
        return share

    def _reached(self, value: float) -> float:
        return float(value) if self.each is None else float(self.each.reached(value))


@dataclass(frozen=True)
class Share(_OfEach):
    """The share of seeds that reach something: "more often than not", "usually"."""

    name: ClassVar[str] = "share of seeds"


@dataclass(frozen=True)
class Every(_OfEach):
    """Every seed reaches something. Its bound is the least share of seeds that "every" is to mean."""

    name: ClassVar[str] = "every seed"

    @staticmethod
    def outcome(found: Estimate, bound: Bound) -> Outcome:
        """No with one counterexample."""
        return Outcome.NO if found.against else Rule.outcome(found, bound)


@dataclass(frozen=True)
class Some(_OfEach):
    """Some seed reaches something. Its bound is the share of seeds below which that were as good as none."""

    name: ClassVar[str] = "some seed"

    @staticmethod
    def outcome(found: Estimate, bound: Bound) -> Outcome:
        """Yes with one example."""
        return Outcome.YES if found.against < found.n else Rule.outcome(found, bound)


@dataclass(frozen=True)
class EvenOdds(_OfEach):
    """As often as not: how far the share of seeds lies from one half, at most a bound."""

    name: ClassVar[str] = "distance from one half"

    def _as_effect(self, share: Estimate, found: CountedShare, bound: Bound) -> Estimate:
        """The interval of the distance is that of the share, folded at one half."""
        ends = abs(share.low - 0.5), abs(share.high - 0.5)
        away = min(bound.value, 0.5)  # no share lies further from one half
        tails = [found.p_value(0.5 + side * away) for side in (-1, 1)]
        return replace(
            share, effect=abs(share.effect - 0.5), low=0.0 if share.low <= 0.5 <= share.high else min(ends),
            high=max(ends), p_value=max(tails),
        )  # fmt: skip


@dataclass(frozen=True)
class Forced(Rule):
    """What follows from the definition of task and network: measured to check the code, not to learn about networks."""

    name: ClassVar[str] = "forced"

    def estimate(self, values: pd.Series | float, bound: Bound, unit: Unit) -> Estimate:
        """The worst value, without an interval: there is no population to speak about."""
        numbers = [float(value) for value in values]
        worst = min(numbers) if bound.direction == "at_least" else max(numbers)
        against = sum(not bound.reached(value) for value in numbers)
        return Estimate(
            effect=worst, low=worst, high=worst, p_value=None, n=len(numbers), n_sets=1, against=against,
            values=tuple(numbers),
        )  # fmt: skip


@dataclass(frozen=True)
class Counted(Rule):
    """A number that no training enters: a count in a data set."""

    name: ClassVar[str] = "counted"

    def estimate(self, values: pd.Series | float, bound: Bound, unit: Unit) -> Estimate:
        """The number itself."""
        number = float(values)
        return Estimate(effect=number, low=number, high=number, p_value=None, n=0, n_sets=1, against=0)


RULES: dict[str, type[Rule]] = {
    rule.name: rule for rule in (OnAverage, OverPairs, Share, Every, Some, EvenOdds, Forced, Counted)
}

MEANS = (OnAverage.name, OverPairs.name)
"""The rules that ask for a mean; the interval of these sees scatter alone."""


def _sets(values: pd.Series) -> tuple[int, ...]:
    """The data set of each value, by its number; none where there is but one."""
    return tuple(pd.factorize(values.index.get_level_values(0))[0].tolist()) if values.index.nlevels > 1 else ()


def _by_set(values: pd.Series | float) -> list[list[float]]:
    """The numbers of each data set; all in one where seeds alone were drawn."""
    if not isinstance(values, pd.Series):
        raise TypeError(f"this rule takes a number of each draw; got {values!r}, which the rule Counted takes")
    if values.index.nlevels == 1:
        return [values.to_list()]
    return [part.to_list() for _, part in values.groupby(level=0)]


def one_decides(rule: str, found: Estimate) -> bool:
    """Whether a counterexample to "every seed", or an example of "some seed", decides, and no share of seeds does."""
    return (rule == Every.name and found.against > 0) or (rule == Some.name and found.against < found.n)
