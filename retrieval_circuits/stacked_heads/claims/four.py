"""Claims on chains of four look-ups: whether rewards where doubling stops are enough, and what one left out costs.

Written before any of their runs, after one pilot network of each of two arms (``design.four``), which suggested both.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.units import at_least, at_most
from retrieval_circuits.stacked_heads.claims.bounds import DOUBLINGS, ERROR, IS_LEARNT, STAYS
from retrieval_circuits.stacked_heads.design import EVERY_FOUR, WITHOUT_FOURTH, WITHOUT_THIRD, Lesson
from retrieval_circuits.stacked_heads.readings import final_loss
from retrieval_circuits.stacked_heads.readings.four import doublings_until


def _error(lesson: Lesson, place: int, symbol: str, rewarded: str) -> Reading:
    return Reading(f"final error of the {symbol} symbol of four, {rewarded},", ERROR, final_loss(lesson, place))


def _doublings(lesson: Lesson, rewarded: str) -> Reading:
    words = f"doublings of the time to the second symbol of four, {rewarded}, against every symbol rewarded,"
    return Reading(words, DOUBLINGS, doublings_until(2, lesson))


EVERY, NO_THIRD, NO_FOURTH = "every symbol rewarded", "all but the third rewarded", "all but the fourth rewarded"
FOUR_LOOK_UPS = (
    Claim(
        id="SH55",
        says=Says(
            holds="With the first, the second and the fourth of four symbols rewarded, where doubling stops, five "
            "layers do not learn the fourth in the steps they had.",
            fails="With the first, the second and the fourth of four symbols rewarded, where doubling stops, five "
            "layers learn the fourth on average, at least in part.",
            whether="whether rewards where doubling stops are enough for five layers to learn a fourth look-up",
        ),
        reading=_error(WITHOUT_THIRD, 4, "fourth", NO_THIRD),
        bound=STAYS,
        controls=(
            Control(reading=_error(EVERY_FOUR, 4, "fourth", f"{EVERY}, half the steps"), bound=IS_LEARNT),
            Control(reading=_error(WITHOUT_THIRD, 2, "second", NO_THIRD), bound=IS_LEARNT),
        ),
    ),
    Claim(
        id="SH56",
        says=Says(
            holds="Of four symbols, the second takes at least twice as many steps where the third is not rewarded.",
            fails="Of four symbols, the second takes less than twice as many steps where the third is not rewarded.",
            whether="whether the second symbol takes twice as many steps where the third is not rewarded",
        ),
        reading=_doublings(WITHOUT_THIRD, NO_THIRD),
        bound=at_least(1, "twice as many steps"),
        controls=(
            Control(reading=_error(EVERY_FOUR, 2, "second", EVERY), bound=IS_LEARNT, spoils="yes"),
            Control(
                reading=_doublings(WITHOUT_FOURTH, NO_FOURTH),
                bound=at_most(1, "twice: with as many symbols, the third among them, it must not take so long"),
                spoils="yes",
            ),
        ),
    ),
)
