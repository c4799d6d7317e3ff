"""What is read off networks on chains of four look-ups: when symbols come, and which paths are left at the end."""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import WITHOUT_FOURTH, WITHOUT_THIRD, Lesson
from retrieval_circuits.stacked_heads.readings.grid import (
    end_of,
    learnt_by_end,
    links_left,
)

LAST = "value_3"
TO_LAST = tuple((f"value_{k}", LAST) for k in range(3))
"""Links from where an earlier answer stands to the fourth."""
HOP_TO_LAST = ("queries", LAST)
HOP = ">".join(HOP_TO_LAST)


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


def comes_ahead(lesson: Lesson) -> OfArms:
    """Values of a reading: 1 where a path to the fourth answer from an earlier one is left, and none from the query."""

    def values(results: Results) -> pd.Series:
        ahead = {">".join(link) for link in TO_LAST}
        return links_left(results, str(lesson)).map(lambda left: float(bool(left & ahead) and HOP not in left))

    return OfArms((str(lesson),), values)


def hop_was_tried(lesson: Lesson) -> OfArms:
    """Values of a reading: 1 where a path from the query to the fourth answer was among the candidates."""

    def values(results: Results) -> pd.Series:
        return links_left(results, str(lesson), "candidate_path").map(lambda tried: float(HOP in tried))

    return OfArms((str(lesson),), values)
