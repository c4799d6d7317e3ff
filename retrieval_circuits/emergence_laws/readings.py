"""What claims and figures read: how long networks wait along an axis, and by which power of it the wait grows."""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.emergence_laws.design import MIDDLE, NARROW, TWINS, WIDE, name_of


def along(results: Results, told: str, axis: str) -> pd.DataFrame:
    """The middle network and those of an axis, over the seeds that have both; columns as of ``waits``."""
    middle, others = results.rows(name_of(told)), results.rows(name_of(told, axis))
    middle = middle[middle["init_seed"].isin(others["init_seed"])]
    return pd.concat([middle, others], ignore_index=True)


def logs(results: Results, told: str, axis: str) -> pd.DataFrame:
    """Natural logarithms of times in steps, a row a seed, a column a value of the axis; one given up has the cap's."""
    table = along(results, told, axis)
    return np.log(table.pivot(index="init_seed", columns=axis, values="time"))


def exponent(told: str, axis: str) -> OfArms:
    """Values of a reading: the power of an axis with which the wait grows, a slope of logarithms for each seed."""

    @of_arms(name_of(told), name_of(told, axis))
    def values(results: Results) -> pd.Series:
        table = logs(results, told, axis)
        x = np.log(table.columns.to_numpy(float))
        x = x - x.mean()
        y = table.to_numpy() - table.to_numpy().mean(1, keepdims=True)
        return pd.Series(y @ x / np.square(x).sum(), table.index)

    return values


def off(told: str, axis: str, law: float) -> OfArms:
    """Values of a reading: how far that power is from a law's, either way."""
    found = exponent(told, axis)
    return OfArms(found.arms, lambda results: (found(results) - law).abs())


def arrived(told: str, axis: str) -> OfArms:
    """Values of a reading: of the networks of an axis and the middle, the share that get there, seed by seed."""

    @of_arms(name_of(told), name_of(told, axis))
    def values(results: Results) -> pd.Series:
        return along(results, told, axis).groupby("init_seed")["there"].mean()

    return values


def just_right(told: str) -> OfArms:
    """Values of a reading: logarithm of the shorter wait at the two ends of the widths by the shortest between."""

    @of_arms(name_of(told), name_of(told, "width"))
    def values(results: Results) -> pd.Series:
        table = logs(results, told, "width")
        return table[[NARROW, WIDE]].min(axis=1) - table.drop(columns=[NARROW, WIDE]).min(axis=1)

    return values


def longer(told: str, axis: str, value: float) -> OfArms:
    """Values of a reading: logarithm of the wait at a value of an axis by that in the middle."""

    @of_arms(name_of(told), name_of(told, axis))
    def values(results: Results) -> pd.Series:
        table = logs(results, told, axis)
        return table[value] - table[getattr(MIDDLE, axis)]

    return values


def apart(told: str) -> OfArms:
    """Values of a reading: logarithm of the longer by the shorter wait of two middle networks of different seeds.

    Seeds in their order, two by two, so that no network counts twice; a last odd one is left out. The index is the
    first seed of each two.
    """

    @of_arms(name_of(told))
    def values(results: Results) -> pd.Series:
        times = np.log(results.rows(name_of(told)).set_index("init_seed")["time"].sort_index())
        first, second = times.iloc[0 : len(times) // 2 * 2 : 2], times.iloc[1::2]
        return pd.Series(np.abs(first.to_numpy() - second.to_numpy()), first.index)

    return values


def by_weights(told: str) -> OfArms:
    """Values of a reading: scatter of log times over initial weights, rows being the same, less that over rows."""

    @of_arms(name_of(told), name_of(told, TWINS))
    def values(results: Results) -> pd.Series:
        table = along(results, told, TWINS)
        table = table.assign(time=np.log(table["time"]))
        spread = [
            table[table[same] == 0].groupby("init_seed")["time"].std(ddof=1) for same in ("other_rows", "other_init")
        ]
        return spread[0] - spread[1]

    return values
