"""What is read off networks on chains of four look-ups: how much later a symbol comes with another not rewarded."""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import EVERY_FOUR, Lesson
from retrieval_circuits.stacked_heads.readings.grid import learnt_by_end


def doublings_until(place: int, lesson: Lesson) -> OfArms:
    """Values of a reading: how often the time to learn x_k doubles, against networks with every symbol rewarded.

    Of init seeds that both have. Times are cut at the end of training, of networks that are trained for longer later.
    """

    def values(results: Results) -> pd.Series:
        plain, other = (learnt_by_end(results, arm, place) for arm in (EVERY_FOUR, lesson))
        return np.log2(other / plain).dropna()

    return OfArms((str(EVERY_FOUR), str(lesson)), values)
