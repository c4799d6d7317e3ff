"""What is read off networks on chains of four look-ups: how much later a symbol comes with another not rewarded."""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import WITHOUT_FOURTH, WITHOUT_THIRD, Lesson
from retrieval_circuits.stacked_heads.readings.grid import end_of, learnt_by_end


def doublings_without_third(place: int) -> OfArms:
    """Values of a reading: how often the time to learn x_k doubles with x_4 rewarded in the place of x_3.

    Of init seeds that both arms have, which start alike. What is not learnt stands at the end of its training.
    """

    def values(results: Results) -> pd.Series:
        without_third, without_fourth = (learnt_by_end(results, arm, place) for arm in (WITHOUT_THIRD, WITHOUT_FOURTH))
        return np.log2(without_third / without_fourth).dropna()

    return OfArms((str(WITHOUT_THIRD), str(WITHOUT_FOURTH)), values)


def part_before(place: int, lesson: Lesson) -> OfArms:
    """Values of a reading: which share of training goes by before x_k is learnt; 1 where it is not."""

    def values(results: Results) -> pd.Series:
        return learnt_by_end(results, lesson, place) / end_of(results, lesson)

    return OfArms((str(lesson),), values)
