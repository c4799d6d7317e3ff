"""Readings: which numbers of which arms a claim, a figure or a page stands on, as values.

A reading gives one number of each independent draw: of each init seed, or of each data set and seed within it. Most are
written with ``at_end``, ``of_experiment`` and the few combinations below; what only one study reads is a function of
results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from circuitcore.ground.spelling import unknown
from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.units import Unit

Values = Callable[[Results], pd.Series]
"""One number of each draw; the index says which: ``init_seed``, or a data set and ``init_seed``."""
SEED_DRAWS = "seeds"
TAKES = {"one": None, "max": "max", "min": "min", "mean": "mean"}


@dataclass(frozen=True)
class Reading:
    """What is measured, in words, and how it is read off results.

    Attributes:
        words: what the number is, as it follows "the": "accuracy on held-out prompts".
        unit: of the number.
        values: reads it; a number alone where no training enters (a count in a data set).
        arms: what must have been run, arms and experiments; those that ``values`` names, if it is one of this module.
        draws: what each number is of, in the plural, where it is no network of its own: "orders of one network".
    """

    words: str
    unit: Unit
    values: Callable[[Results], pd.Series | float | None]
    arms: tuple[str, ...] = ()
    draws: str = SEED_DRAWS

    def __post_init__(self):
        if not self.words.strip():
            raise ValueError("a reading needs words; got an empty string")
        object.__setattr__(self, "arms", self.arms or arms_of(self.values))

    def of(self, results: Results) -> pd.Series | float | None:
        """The numbers, sorted by draw; None where an arm was not run, or nothing is left to read.

        Raises:
            SelectionError: the arms are there, but not what is read.
            ValueError: two numbers of one draw, or one that is not finite.
        """
        if not set(self.arms) <= set(results.arms):
            return None
        found = self.values(results)
        if found is None or not isinstance(found, pd.Series):
            return None if found is None else float(found)
        if found.empty:
            return None
        found = found.astype(float).sort_index()
        if found.index.has_duplicates:
            raise ValueError(f"{self.words}: several numbers of draw {found.index[found.index.duplicated()][0]}")
        if not (finite := np.isfinite(found)).all():
            raise ValueError(f"{self.words}: draw {found.index[~finite][0]} has {found[~finite].iloc[0]}, not a number")
        return found


def arms_of(values: object) -> tuple[str, ...]:
    """The arms that values name, each once."""
    return tuple(dict.fromkeys(getattr(values, "arms", ())))


@dataclass(frozen=True)
class OfArms:
    """What only one study reads: a function of results, and the arms that it needs; made by ``of_arms``."""

    arms: tuple[str, ...]
    function: Values

    def __call__(self, results: Results) -> pd.Series | float | None:
        """The number of each draw."""
        return self.function(results)


def of_arms(*arms: str) -> Callable[[Values], OfArms]:
    """Says of a function of results which arms and experiments it needs."""
    return partial(OfArms, arms)


@dataclass(frozen=True)
class OfMetric:
    """One metric in one arm at one time of training, one number a seed; made by ``at_end``, ``at_start``, ``ever``."""

    metric: str
    arm: str
    when: Literal["end", "start", "ever"]
    take: Literal["one", "max", "min", "mean"]
    where: tuple[tuple[str, Any], ...]

    def __post_init__(self):
        if self.take not in TAKES:
            raise ValueError(f"reading of {self.metric!r}: {unknown('take', self.take, TAKES)}")

    @property
    def arms(self) -> tuple[str, ...]:
        """The arm it reads."""
        return (self.arm,)

    def __call__(self, results: Results) -> pd.Series:
        """The number of each seed."""
        where = dict(self.where)
        if self.when == "end" and self.take == "one":
            return results.final_values(self.metric, self.arm, **where)
        if self.when == "end":
            rows = results.at_final(self.metric, self.arm, **where)
        else:
            rows = results.curve(self.metric, self.arm, **where)
            rows = rows[rows["step"] == 0] if self.when == "start" else rows
        return rows.set_index("init_seed")["value"] if self.take == "one" else _of_seeds(rows, "value", self.take)


def at_end(metric: str, arm: str, take: str = "one", **where) -> OfMetric:
    """The metric at the last checkpoint; of several rows a seed, the largest, the least or the mean."""
    return OfMetric(metric, arm, "end", take, _pairs(where))


def at_start(metric: str, arm: str, take: str = "one", **where) -> OfMetric:
    """The same of the untrained networks."""
    return OfMetric(metric, arm, "start", take, _pairs(where))


def ever(metric: str, arm: str, take: str = "max", **where) -> OfMetric:
    """The largest (or least, or mean) value at any checkpoint."""
    return OfMetric(metric, arm, "ever", take, _pairs(where))


@dataclass(frozen=True)
class OfExperiment:
    """A column of an experiment's table; made by ``of_experiment``."""

    name: str
    column: str
    take: Literal["one", "max", "min", "mean"]
    where: tuple[tuple[str, Any], ...]

    def __post_init__(self):
        if self.take not in TAKES:
            raise ValueError(f"reading of {self.name!r}: {unknown('take', self.take, TAKES)}")

    @property
    def arms(self) -> tuple[str, ...]:
        """The experiment it reads."""
        return (self.name,)

    def __call__(self, results: Results) -> pd.Series | float:
        """The number of each seed; the number alone where nothing is drawn.

        Raises:
            SelectionError: nothing to read, no such column, or several rows where one is to be taken.
        """
        rows = results.rows(self.name, **dict(self.where))
        if self.column not in rows:
            raise SelectionError(unknown("column", self.column, rows.columns))
        drawn = "init_seed" in rows
        if self.take != "one":
            if drawn:
                return _of_seeds(rows, self.column, self.take)
            return rows[self.column].agg(TAKES[self.take], skipna=False)
        if rows["init_seed"].duplicated().any() if drawn else len(rows) > 1:
            raise SelectionError(f"{self.name!r} has several rows{' of a seed' * drawn}; allowed: one, or another take")
        return rows.set_index("init_seed")[self.column] if drawn else rows[self.column].item()


def of_experiment(name: str, column: str = "value", take: str = "one", **where) -> OfExperiment:
    """A column of an experiment's table, one number a seed; of several rows the largest, the least or the mean.

    Where nothing is drawn it is one number alone, for the rule Counted.
    """
    return OfExperiment(name, column, take, _pairs(where))


def _of_seeds(rows: pd.DataFrame, column: str, take: str) -> pd.Series:
    """One number of each seed from its rows; none of a seed of which one is missing, so that ``Reading`` names it."""
    values = rows[column].groupby(rows["init_seed"])
    return values.agg(TAKES[take]).mask(rows[column].isna().groupby(rows["init_seed"]).any())


def _pairs(where: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in where.items())


@dataclass(frozen=True)
class Less:
    """One reading less another, seed by seed: paired, over the seeds that have both."""

    first: Values
    second: Values

    @property
    def arms(self) -> tuple[str, ...]:
        """Those of both."""
        return (*arms_of(self.first), *arms_of(self.second))

    def __call__(self, results: Results) -> pd.Series:
        """The difference of each seed."""
        first, second = self.first(results).align(self.second(results), join="inner")
        return first - second


@dataclass(frozen=True)
class Extreme:
    """The least or the largest of several readings of a seed; made by ``worst_of`` and ``best_of``."""

    parts: tuple[Values, ...]
    take: Literal["min", "max"]

    @property
    def arms(self) -> tuple[str, ...]:
        """Those of all parts."""
        return tuple(arm for part in self.parts for arm in arms_of(part))

    def __call__(self, results: Results) -> pd.Series:
        """The extreme of each seed that has all parts."""
        table = pd.concat([part(results) for part in self.parts], axis=1, join="inner")
        return table.agg(self.take, axis=1, skipna=False)


def worst_of(*parts: Values) -> Extreme:
    """The least of several readings, seed by seed."""
    return Extreme(parts, "min")


def best_of(*parts: Values) -> Extreme:
    """The largest of several readings, seed by seed."""
    return Extreme(parts, "max")


@dataclass(frozen=True)
class OfSeeds:
    """A reading at the seeds of another arm alone, such as the controls' few."""

    values: Values
    arm: str

    @property
    def arms(self) -> tuple[str, ...]:
        """Those read, and the one whose seeds count."""
        return (*arms_of(self.values), self.arm)

    def __call__(self, results: Results) -> pd.Series:
        """The numbers of the seeds that both have."""
        found = self.values(results)
        return found[found.index.isin(results.seeds(self.arm))]


@dataclass(frozen=True)
class OnDataSets:
    """A reading of networks that were trained on several data sets: that of each seed stands in the index first.

    Attributes:
        values: one number of each seed; a number alone, or none, is passed on as it is.
        set_of: init seed -> its data set.
    """

    values: Callable[[Results], pd.Series | float | None]
    set_of: Callable[[int], int]

    @property
    def arms(self) -> tuple[str, ...]:
        """Those read."""
        return arms_of(self.values)

    def __call__(self, results: Results) -> pd.Series | float | None:
        """The numbers, indexed by ``data_set`` and ``init_seed``."""
        found = self.values(results)
        if not isinstance(found, pd.Series):
            return found
        sets = pd.Index([self.set_of(seed) for seed in found.index], name="data_set")
        return found.set_axis(pd.MultiIndex.from_arrays([sets, found.index.rename("init_seed")]))
