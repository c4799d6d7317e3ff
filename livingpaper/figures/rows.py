"""The rows a picture draws: checked for the columns it needs, rounded, and summarised over seeds."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from circuitcore.emergence.seeds import Interval, mean_interval
from circuitcore.emergence.shares import counted, counted_in_groups
from circuitcore.ground.spelling import close_match
from livingpaper.claims.rules import OnAverage
from livingpaper.claims.view import View

MIN_SEEDS = OnAverage.least
"""Fewest seeds for which an interval is drawn; with fewer the points stand alone."""
MIN_SETS = OnAverage.least_sets
"""The same for data sets, where seeds share them."""
DIGITS = 5
"""Significant digits kept in what a page carries: enough to draw, small enough to load."""
ORIGINS = ("paper", "rerun")


class ColumnsError(ValueError):
    """A view's table cannot be drawn by the picture asked for; names the column and what the table has."""


def rows_of(view: View, needed: Iterable[str], optional: Iterable[str] = ()) -> pd.DataFrame:
    """The columns of ``view.table`` a picture draws, plus ``origin``; numbers rounded to ``DIGITS`` digits.

    Args:
        view: what to draw.
        needed: columns without which the picture means nothing.
        optional: columns taken along when the table has them.

    Returns:
        A new table with a fresh index. ``origin`` is "rerun" where the table does not say, so that a single set of
        runs is drawn in full strength.

    Raises:
        ColumnsError: a needed column is missing, ``value`` is no number, or ``origin`` is neither paper nor rerun.
    """
    table, needed = view.table, list(needed)
    missing = [column for column in needed if column not in table]
    if missing:
        near = close_match(missing[0], [str(column) for column in table.columns])
        guess = f" (is {near!r} meant?)" if near else ""
        raise ColumnsError(
            f"this picture needs column {missing[0]!r}{guess}; it draws {needed}, the table has {list(table.columns)}"
        )
    kept = [*needed, *(column for column in (*optional, "origin") if column in table and column not in needed)]
    rows = table[kept].reset_index(drop=True)
    if "origin" not in rows:
        rows["origin"] = "rerun"
    strange = sorted({str(origin) for origin in rows["origin"]} - set(ORIGINS))
    if strange:
        raise ColumnsError(f"origin must be one of {list(ORIGINS)}, got {strange}")
    if "value" in rows and not pd.api.types.is_numeric_dtype(rows["value"]):
        raise ColumnsError(f"column 'value' must be numbers, got dtype {rows['value'].dtype}")
    return rounded(rows)


def rounded(rows: pd.DataFrame) -> pd.DataFrame:
    """The same table with floats rounded to ``DIGITS`` significant digits."""
    rows = rows.copy()
    for column in rows.select_dtypes("float"):
        values = rows[column].to_numpy(dtype=float, na_value=np.nan, copy=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.abs(values))))
        known = np.isfinite(scale) & np.isfinite(values)
        values[known] = np.round(values[known] * scale[known]) / scale[known]
        rows[column] = values
    return rows


def order_of(rows: pd.DataFrame, column: str) -> list[str]:
    """The distinct values of a column in order of first appearance, as text: how a study says what comes first."""
    return [str(value) for value in rows[column].drop_duplicates()]


def both_origins(rows: pd.DataFrame) -> bool:
    """Whether published runs and the reader's are both in the table, so that they must look different."""
    return rows["origin"].nunique() > 1


def over_seeds(rows: pd.DataFrame, by: list[str], *, intervals: bool) -> pd.DataFrame:
    """Mean of ``value`` over seeds for each group, with its interval where there are enough: as a claim would have it.

    Where the rows say that seeds share data sets, and a group has several, it is the mean over data sets.

    Args:
        rows: has ``value``, ``init_seed``, ``origin`` and the grouping columns; one value per seed and group. Optional:
            ``data_set``, missing where a seed shares none.
        by: grouping columns; ``origin`` is added.
        intervals: whether there are any.

    Returns:
        ``by``, ``origin``, ``mean``, ``low``, ``high``, ``n`` (seeds). ``low`` and ``high`` are a 95 % Student t
        interval of the mean; NaN below ``MIN_SEEDS`` seeds, or ``MIN_SETS`` data sets, or when there is no band.

    Raises:
        ColumnsError: a seed occurs twice in a group: the mean would count it as two.
    """
    by = [*by, "origin"]
    twice = rows.duplicated([*by, "init_seed"])
    if twice.any():
        first = rows.loc[twice].iloc[0]
        where = ", ".join(f"{column}={first[column]}" for column in [*by, "init_seed"])
        raise ColumnsError(f"two values for one seed ({where}); a picture over seeds needs one value per seed")
    rows = rows.dropna(subset=["value"])
    group = rows.groupby(by, sort=False, dropna=False).ngroup().to_numpy()
    keys = rows.loc[~pd.Series(group, rows.index).duplicated(), by].itertuples(index=False, name=None)
    found = []
    for key, (values, sets) in zip(keys, _split(group, rows["value"].astype(float), _sets(rows)), strict=True):
        draws, least = _draws(values, sets)
        low, high = _bounds(draws) if intervals and len(draws) >= least else (float("nan"), float("nan"))
        found.append((*key, draws.mean(), low, high, len(values)))
    return rounded(pd.DataFrame(found, columns=[*by, "mean", "low", "high", "n"]))


def share_over_seeds(rows: pd.DataFrame) -> tuple[Interval, bool]:
    """The share of runs in which something happened, as a claim would have it, and whether its interval is drawn.

    A seed counts with the share of its runs; where the rows say that seeds share data sets, these are what was drawn.

    Args:
        rows: ``init_seed``, ``value`` (1 or 0), optional ``data_set``.

    Returns:
        The share with its 95 % Clopper-Pearson interval; True from ``MIN_SEEDS`` seeds, or ``MIN_SETS`` data sets, on.
    """
    values = rows.groupby("init_seed", sort=False)["value"].mean()
    sets = _sets(rows).groupby(rows["init_seed"], sort=False).first()
    if sets.isna().any() or sets.nunique() < 2:
        return counted(values).interval(), len(values) >= MIN_SEEDS
    groups = [part for _, part in values.groupby(sets)]
    return counted_in_groups(groups).interval(), len(groups) >= MIN_SETS


def _sets(rows: pd.DataFrame) -> pd.Series:
    """The data set of each row's seed; NaN where seeds share none, and where no seed is told."""
    return rows["data_set"].astype(float) if "data_set" in rows else pd.Series(np.nan, rows.index)


def _split(group: np.ndarray, *columns: pd.Series) -> list[tuple[np.ndarray, ...]]:
    """Each column's numbers group by group; groups are numbered from 0."""
    order, n_groups = np.argsort(group, kind="stable"), group.max(initial=-1) + 1
    starts = np.searchsorted(group[order], np.arange(1, n_groups))
    return list(zip(*(np.split(column.to_numpy()[order], starts)[:n_groups] for column in columns), strict=True))


def _draws(values: np.ndarray, sets: np.ndarray) -> tuple[np.ndarray, int]:
    """What was drawn independently, seeds' values or the means of data sets, and the fewest for an interval."""
    different, of_value = np.unique(sets, return_inverse=True)
    if np.isnan(sets).any() or len(different) < 2:
        return values, MIN_SEEDS
    return np.bincount(of_value, values) / np.bincount(of_value), MIN_SETS


def _bounds(values: np.ndarray) -> tuple[float, float]:
    interval = mean_interval(values.tolist())
    return interval.low, interval.high
