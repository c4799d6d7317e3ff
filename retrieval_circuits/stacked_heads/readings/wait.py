"""How long networks keep to the shortcut before they learn the first look-up, and how training changes that.

From the start to the shortcut they learn something else, and no change of that is meant here.
"""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import FOLLOWED, Cell
from retrieval_circuits.stacked_heads.design.wait import LOOKED_EVERY, Change
from retrieval_circuits.stacked_heads.readings.grid import LEARNT, end_of, falls

AT_SHORTCUT = 0.8125
"""Squared error halfway from the mean of all eight values of a row, 1 - 1/8, to that of the step's four, 1 - 1/4."""


def more_doublings(change: Change) -> OfArms:
    """Values of a reading: how often the wait doubles with a change, against the followed network of the same start.

    The wait is from the shortcut to x_1 learnt, up to the end of the shorter of both trainings; a network that is not
    at the shortcut by then has waited all the time. Seeds of which neither network has learnt x_1 by then show nothing.
    """

    def values(results: Results) -> pd.Series:
        arms = (FOLLOWED, change)
        end = min(end_of(results, arm) for arm in arms)
        learnt, waits = zip(*(until(results, arm, end) for arm in arms), strict=True)
        both = learnt[0].index.intersection(learnt[1].index)
        told = both[(learnt[0][both] < end) | (learnt[1][both] < end)]
        return np.log2(waits[1][told] / waits[0][told])

    return OfArms((str(FOLLOWED), str(change)), values)


def until(results: Results, arm: Cell | Change, end: int) -> tuple[pd.Series, pd.Series]:
    """When x_1 is learnt, at most ``end``, and how long after the shortcut that is, at least one checkpoint.

    Of a network that is not at the shortcut by then: how long after the start.
    """
    start, learnt = (falls(results, arm, 1, level) for level in (AT_SHORTCUT, LEARNT))
    learnt = learnt.clip(upper=end)
    return learnt, (learnt - start.where(start < end, 0)).clip(lower=LOOKED_EVERY)
