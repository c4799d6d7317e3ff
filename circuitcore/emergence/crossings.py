"""When a curve gets to a level: one number, by a straight line between checkpoints, where an interval is not wanted.

A birth says between which two checkpoints something came (``births``). A time of one number can be subtracted from
another and averaged over seeds, at the price of a straight line that nobody measured.
"""

import numpy as np
import pandas as pd


def crossing_times(
    curves: pd.DataFrame, level: pd.Series | float, *, below: bool = False, strictly: bool = False
) -> pd.Series:
    """When each curve first gets to a level.

    Args:
        curves: ``step`` and ``value``, in any order, and the columns that tell curves apart, which may lack a word
            (a metric of no head). A value that is NaN is not measured: the line goes from the last one that is.
        level: in the unit of ``value``; one for all, or by those columns.
        below: get there from above.
        strictly: a value at the level is not there yet.

    Returns:
        Step, by those columns; inf where it never gets there, NaN where nothing was measured.

    Raises:
        ValueError: no column that tells curves apart, a curve without a level of its own, or two values of one curve
            at one step.
    """
    apart = [name for name in curves.columns if name not in ("step", "value")]
    if not apart:
        raise ValueError(f"curves with columns {list(curves.columns)}; allowed: one more at least, such as init_seed")
    repeated = curves[curves.duplicated([*apart, "step"])]
    if len(repeated):
        where = ", ".join(f"{name}={repeated[name].iloc[0]}" for name in [*apart, "step"])
        raise ValueError(f"two values of one curve at one step ({where}); select, or tell curves apart by more columns")
    found = {}
    for names, part in curves.sort_values("step", kind="stable").groupby(apart, observed=True, dropna=False):
        name = names if len(apart) > 1 else names[0]
        if isinstance(level, pd.Series) and name not in level.index:
            raise ValueError(f"no level for the curve {name!r}; there are some for {list(level.index)}")
        wanted = level[name] if isinstance(level, pd.Series) else level
        seen = part[part["value"].notna()]
        found[name] = _crossing(seen["step"].to_numpy(float), seen["value"].to_numpy(), wanted, (below, strictly))
    index = pd.MultiIndex.from_tuples(found, names=apart) if len(apart) > 1 else pd.Index(found, name=apart[0])
    return pd.Series(list(found.values()), index, dtype=float)


def _crossing(steps: np.ndarray, values: np.ndarray, level: float, how: tuple[bool, bool]) -> float:
    below, strictly = how
    past = (level - values) if below else (values - level)
    there = past > 0 if strictly else past >= 0
    if not there.any():
        return np.inf if len(there) else np.nan
    at = int(there.argmax())
    if at == 0:
        return float(steps[0])
    share = (level - values[at - 1]) / (values[at] - values[at - 1])
    return float(steps[at - 1] + share * (steps[at] - steps[at - 1]))


def by_the_end(times: pd.Series, end: pd.Series | float | int) -> dict[str, pd.Series]:
    """Columns of a table of times: ``value``, at most the end of training, and ``there``, whether it came by then."""
    return {"value": times.clip(upper=end), "there": times <= end}
