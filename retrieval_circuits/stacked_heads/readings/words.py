"""What is read off networks of words: which questions they answer, and since when."""

import numpy as np
import pandas as pd

from circuitcore.emergence import crossing_times
from livingpaper.claims.reading import OfMetric, at_end, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import EQUATIONS, Spoken
from retrieval_circuits.stacked_heads.measures.words import look_ups

ONE_UNREAD = 1 / 4
"""What a reader scores who knows all blocks of lines but one, at the most: of equations, and of relatives."""
HALFWAY = (ONE_UNREAD + 1) / 2
"""Halfway from such a reader to all answers right: above it counts as answered."""
ALIASES_UNREAD = 17 / 32
"""What a reader of functions scores who does not know which function an alias stands for.

Four tables give four digits, each as likely; the most frequent of them is right as often as it occurs, of four.
"""


def answered(arm: Spoken, count: int, split: str = "test") -> OfMetric:
    """Values of a reading: the share of questions of so many look-ups that are answered at the end."""
    return at_end("answered", str(arm), variable=look_ups(count), split=split)


def answered_times(results: Results, *arms: Spoken) -> pd.DataFrame:
    """When questions are first answered: ``arm``, ``init_seed``, ``variable`` (look-ups), ``time``; infinite: never."""
    found = []
    for arm in arms:
        curve = results.curve("answered", str(arm), split="test")[["init_seed", "variable", "step", "value"]]
        curve = curve.astype({"variable": str})
        times = crossing_times(curve, HALFWAY, strictly=True).rename("time").reset_index()
        found.append(times.assign(arm=str(arm)))
    return pd.concat(found, ignore_index=True)


def first_fewer(results: Results) -> pd.Series:
    """Of the networks of equations that answer two look-ups, which answered fewer ones first.

    That is one before two, and two before three; three may never come.

    Returns:
        True or False by ``init_seed`` and ``arm``.
    """
    times = answered_times(results, *EQUATIONS).pivot(index=["init_seed", "arm"], columns="variable", values="time")
    one, two, three = (times[look_ups(count)] for count in (1, 2, 3))
    first = (one < two) & ((two < three) | np.isinf(three))
    return first[np.isfinite(two)]


@of_arms(*map(str, EQUATIONS))
def in_order(results: Results) -> pd.Series:
    """Of the networks of a seed that answer two look-ups, over all depths, the share that answered fewer ones first."""
    return first_fewer(results).groupby("init_seed").mean()
