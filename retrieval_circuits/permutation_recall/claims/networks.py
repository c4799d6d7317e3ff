"""The readings and the control that claims of several topics share: which networks, on which splits."""

from livingpaper.claims.claim import Control
from livingpaper.claims.reading import Reading, Values
from livingpaper.claims.units import Unit, at_least, share_of
from livingpaper.claims.verdict import Spoils
from retrieval_circuits.permutation_recall.readings import parts
from retrieval_circuits.permutation_recall.readings.models import LEARNT, ONE, TWO, on_splits

PROBES, ROWS = share_of("probes"), share_of("rows")
DISTANCE = Unit(name="points", times=100, low=0, high=1)
"""A distance of two shares, which has no sign."""
RECALL = "share of probes answered with the y that was shown"
MODEL_1, MODEL_2 = "d 16, 1 head, no repeats", "d 32, 2 heads, repeats"
STOPPED_1, STOPPED_2 = f"{MODEL_1}, at the source's epoch 20", f"{MODEL_2}, at the source's epoch 50"
AT_END = f"{MODEL_2}, at the end"


def small(words: str, values: Values, unit: Unit = PROBES) -> Reading:
    """What is read off networks like the source's small one."""
    return Reading(words, unit, on_splits(values), arms=(ONE,))


def large(words: str, values: Values, unit: Unit = PROBES) -> Reading:
    """What is read off networks like the source's large one."""
    return Reading(words, unit, on_splits(values), arms=(TWO,))


def they_recall(spoils: Spoils) -> Control:
    """The control of whatever is taken apart: the whole networks recall."""
    return Control(
        reading=large("recall of the same networks, whole, at the end", parts.recall_whole),
        bound=at_least(LEARNT, "nearly all probes: what is not there cannot be taken apart"),
        spoils=spoils,
    )
