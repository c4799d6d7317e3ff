"""What claims and figures read: how long networks wait along an axis, and by which power of it the wait grows."""

import math

import numpy as np
import pandas as pd

from circuitcore.emergence import crossing_times, powers
from livingpaper.claims.reading import OfArms, OfMetric, at_end, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.emergence_laws.design import (
    MIDDLE,
    N_SYMBOLS,
    NARROW,
    TIMES,
    TWINS,
    WIDE,
    WIDEST,
    WIDTH,
    name_of,
)


def along(results: Results, shape: str, *axes: str) -> pd.DataFrame:
    """The middle network and those of some axes, over the seeds that have all; columns as of ``waits``.

    A table that is older than a word of a setting is of networks that have its default.
    """
    tables = [results.rows(name_of(shape)), *(results.rows(name_of(shape, axis)) for axis in axes)]
    common = set.intersection(*(set(table["init_seed"]) for table in tables))
    joined = pd.concat([table[table["init_seed"].isin(common)] for table in tables], ignore_index=True)
    return joined.fillna({TIMES: MIDDLE.times}) if TIMES in joined else joined


def times(results: Results, shape: str, *axes: str) -> pd.DataFrame:
    """Waits in steps, a row a seed, a column a value of what the first axis is called by; one given up has the cap."""
    return along(results, shape, *axes).pivot(index="init_seed", columns=axes[0], values="time")


def exponent(shape: str, axis: str) -> OfArms:
    """Values of a reading: the power of an axis with which the wait grows, of each seed."""

    @of_arms(name_of(shape), name_of(shape, axis))
    def values(results: Results) -> pd.Series:
        return powers(times(results, shape, axis))

    return values


def off(shape: str, axis: str, law: float) -> OfArms:
    """Values of a reading: how far that power is from a law's, either way."""
    found = exponent(shape, axis)
    return OfArms(found.arms, lambda results: (found(results) - law).abs())


def arrived(shape: str, axis: str) -> OfArms:
    """Values of a reading: of the networks of an axis and the middle, the share that get there, seed by seed."""

    @of_arms(name_of(shape), name_of(shape, axis))
    def values(results: Results) -> pd.Series:
        return along(results, shape, axis).groupby("init_seed")["there"].mean()

    return values


def just_right(shape: str) -> OfArms:
    """Values of a reading: doublings from the shortest wait between the ends of the widths to the shorter at an end."""

    @of_arms(name_of(shape), name_of(shape, WIDTH), name_of(shape, WIDEST))
    def values(results: Results) -> pd.Series:
        table = np.log2(times(results, shape, WIDTH, WIDEST))
        return table[[NARROW, WIDE]].min(axis=1) - table.drop(columns=[NARROW, WIDE]).min(axis=1)

    return values


def longer(shape: str, axis: str, value: float | int) -> OfArms:
    """Values of a reading: doublings from the wait in the middle to that at a value of an axis."""

    @of_arms(name_of(shape), name_of(shape, axis))
    def values(results: Results) -> pd.Series:
        table = np.log2(times(results, shape, axis))
        there, middle = (table.columns == at for at in (value, getattr(MIDDLE, axis)))  # a truth is found as 1, too
        return table.loc[:, there].iloc[:, 0] - table.loc[:, middle].iloc[:, 0]

    return values


def apart(shape: str) -> OfArms:
    """Values of a reading: doublings from the shorter to the longer wait of two middle networks of different seeds.

    Seeds in their order, two by two, so that no network counts twice; a last odd one is left out. The index is the
    first seed of each two.
    """

    @of_arms(name_of(shape))
    def values(results: Results) -> pd.Series:
        waited = np.log2(results.rows(name_of(shape)).set_index("init_seed")["time"].sort_index())
        first, second = waited.iloc[0 : len(waited) // 2 * 2 : 2], waited.iloc[1::2]
        return pd.Series(np.abs(first.to_numpy() - second.to_numpy()), first.index)

    return values


def by_weights(shape: str) -> OfArms:
    """Values of a reading: scatter of log times over initial weights, rows being the same, less that over rows."""

    @of_arms(name_of(shape), name_of(shape, TWINS))
    def values(results: Results) -> pd.Series:
        table = along(results, shape, TWINS)
        table = table.assign(time=np.log(table["time"]))
        spread = [
            table[table[same] == 0].groupby("init_seed")["time"].std(ddof=1) for same in ("other_rows", "other_init")
        ]
        return spread[0] - spread[1]

    return values


ANSWER, MATCH, BEFORE = ("copying", "read_out>values", 1), ("mass", "read_out>values", 1), ("mass", "values>keys", 0)
"""What heads come to do: metric and look of the instrument of looks, and the layer whose best head counts."""


def best_heads(results: Results, shape: str, part: tuple[str, str, int]) -> pd.DataFrame:
    """The best head's score through training and by chance: ``init_seed``, ``step``, ``value``, ``chance``."""
    metric, look, layer = part
    rows = results.rows("looks", arm=shape, metric=metric, variable=look)
    rows = rows[rows["site"].astype(str).str.startswith(f"L{layer}H")]
    chance = results.rows("looks", arm=shape, metric=f"{metric}_chance", variable=look)["value"].iloc[0]
    best = rows.groupby(["init_seed", "step"], observed=True)["value"].max()
    return best.reset_index().assign(chance=float(chance))


HALF_WAY = 0.5
"""The part of the way from chance to its own end at which something has formed."""


def formed(results: Results, shape: str, part: tuple[str, str, int], way: float = HALF_WAY) -> pd.Series:
    """When the best head is a part of the way from chance to its own end, by seed; steps."""
    return _on_the_way(best_heads(results, shape, part), way)


def _on_the_way(rows: pd.DataFrame, way: float = HALF_WAY) -> pd.Series:
    """When ``value`` first gets a part of the way from ``chance`` to its own end, by seed; steps."""
    rows, chance = rows.sort_values("step"), rows["chance"].iloc[0]
    level = chance + way * (rows.groupby("init_seed")["value"].last() - chance)
    return crossing_times(rows[["init_seed", "step", "value"]], level)


def answered(results: Results, shape: str) -> pd.Series:
    """When the loss of a network that is followed falls to half of ln N nats, as a wait ends (``measures.waits``).

    By seed; steps, inf where it does not.
    """
    losses = results.curve("loss", shape)[["init_seed", "step", "value"]]
    return crossing_times(losses, math.log(MIDDLE.n_pairs) / 2, below=True)


def answers_first(shape: str, way: float = HALF_WAY) -> OfArms:
    """Values of a reading: steps from when a head copies to when the earlier of both looks forms."""

    @of_arms(shape)
    def values(results: Results) -> pd.Series:
        looks = pd.concat([formed(results, shape, part, way) for part in (MATCH, BEFORE)], axis=1).min(axis=1)
        return looks - formed(results, shape, ANSWER, way)

    return values


def before_last(shape: str, way: float = HALF_WAY) -> OfArms:
    """Values of a reading: steps from when a head looks to the value asked for to when one looks to the word before."""

    @of_arms(shape)
    def values(results: Results) -> pd.Series:
        return formed(results, shape, BEFORE, way) - formed(results, shape, MATCH, way)

    return values


def right_at_end(shape: str) -> OfMetric:
    """Values of a reading: share of queries answered at the end of a network that is followed."""
    return at_end("accuracy", shape)


FINDS, PICKS = ("mass", "read_out>x", 0), ("routing", "read_out>x", 0)
"""What a head of permutation recall comes to do, in the words of ``MATCH``: attend to where the asked x stood; and look
there more than at any other x. The first says little where heads share places, and falls back while recall forms."""
TOLD, RECALL = "told", "recall"


def scored(results: Results, arm: str, metric: str) -> pd.DataFrame:
    """``told`` or ``recall`` of permutation recall through training, with its level of chance."""
    chance = {TOLD: 1 / N_SYMBOLS, RECALL: 1 / (N_SYMBOLS - 1)}
    return results.curve(metric, arm)[["init_seed", "step", "value"]].assign(chance=chance[metric])


def told_first(arm: str, part: tuple[str, str, int]) -> OfArms:
    """Values of a reading: steps from when a y that is seen moves its own logit to when a head looks to the asked x."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        return formed(results, arm, part) - _on_the_way(scored(results, arm, TOLD))

    return values


def recalled_last(arm: str, part: tuple[str, str, int]) -> OfArms:
    """Values of a reading: steps from when a head looks to the asked x to when its y is recalled."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        return _on_the_way(scored(results, arm, RECALL)) - formed(results, arm, part)

    return values


def looks_at_end(arm: str, part: tuple[str, str, int]) -> OfArms:
    """Values of a reading: the best head's score at the end."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        return best_heads(results, arm, part).sort_values("step").groupby("init_seed")["value"].last()

    return values
