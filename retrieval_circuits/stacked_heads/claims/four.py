"""Claims on chains of four look-ups: whether rewards for what doubling comes by do, and what the third one does.

Written before any of their runs, after one pilot network of each of two arms (``design.four``), which suggested both. A
hostile reading came while they were in training, before anything was measured: SH56 had held networks with three
symbols rewarded against some with four; it compares two that have three since then. Controls were added, and six seeds
in place of four, of which no verdict can come.

SH57 and SH58 ask fresh networks what those had suggested, and were written before any of these was trained.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Every, Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, at_least, at_most, share_of
from retrieval_circuits.stacked_heads.claims.bounds import DOUBLINGS, ERROR, ERROR_MORE, IS_LEARNT, STAYS
from retrieval_circuits.stacked_heads.design import EVERY_FOUR, FRESH_FOUR, WITHOUT_FOURTH, WITHOUT_THIRD, Lesson
from retrieval_circuits.stacked_heads.readings import LEARNT, cost_of, final_loss
from retrieval_circuits.stacked_heads.readings.four import (
    TO_LAST,
    comes_ahead,
    doublings_without_third,
    part_before,
    where_learnt,
)
from retrieval_circuits.stacked_heads.readings.three import learnt_with

EVERY, NO_THIRD, NO_FOURTH = "every one rewarded", "the third not rewarded", "the fourth not rewarded"


def _error(lesson: Lesson, place: int, symbol: str, rewarded: str) -> Reading:
    return Reading(f"final error of the {symbol} symbol of four, {rewarded},", ERROR, final_loss(lesson, place))


def _later(place: int, symbol: str) -> Reading:
    words = f"doublings of the time to the {symbol} symbol, the fourth rewarded in place of the third,"
    return Reading(words, DOUBLINGS, doublings_without_third(place))


REWARDS = (
    Claim(
        id="SH55",
        says=Says(
            holds="With the first, second and fourth of four symbols rewarded, those that doubling comes by, five "
            "layers do not learn the fourth on average in the steps they had.",
            fails="With the first, second and fourth of four symbols rewarded, those that doubling comes by, the error "
            "of the fourth falls on average below what keeping to the shortcut leaves.",
            whether="whether rewards for the symbols that doubling comes by leave the fourth at the shortcut",
        ),
        reading=_error(WITHOUT_THIRD, 4, "fourth", NO_THIRD),
        bound=STAYS,
        controls=(
            Control(reading=_error(EVERY_FOUR, 4, "fourth", f"{EVERY}, half the steps"), bound=IS_LEARNT),
            Control(
                reading=Reading(
                    "share of training before the second symbol is learnt, the third not rewarded,",
                    share_of("training"),
                    part_before(2, WITHOUT_THIRD),
                ),
                bound=at_most(0.75, "a quarter of it must be left for the fourth"),
            ),
        ),
    ),
    Claim(
        id="SH56",
        says=Says(
            holds="Of four symbols, the second takes at least twice as many steps, on average, where the fourth is "
            "rewarded in place of the third.",
            fails="Of four symbols, the second takes less than twice as many steps, on average, where the fourth is "
            "rewarded in place of the third.",
            whether="whether the second symbol takes twice as long with the fourth rewarded in place of the third",
        ),
        reading=_later(2, "second"),
        bound=at_least(1, "twice as many steps"),
        controls=(
            Control(
                reading=_error(WITHOUT_FOURTH, 2, "second", NO_FOURTH),
                rule=Every(each=IS_LEARNT),
                bound=at_least(0.5, "no fewer than every other seed: six seeds cannot say much more"),
                spoils="either",
            ),
            Control(
                reading=_later(1, "first"),
                bound=at_most(1, "twice: the second must not be late because the first is"),
                spoils="yes",
            ),
        ),
    ),
)
FRESH_ERROR = _error(FRESH_FOUR, 4, "fourth", "fresh seeds")
NETWORKS = share_of("networks")
LEARNERS = "networks of 5 layers, fresh seeds, that have learnt the fourth symbol"
ON_FRESH = (
    Claim(
        id="SH57",
        says=Says(
            holds="In five layers, enough to hop along four look-ups, having learnt the fourth and a head that looks "
            "ahead to it mostly go together.",
            fails="In five layers, enough to hop along four look-ups, having learnt the fourth and a head that looks "
            "ahead to it mostly do not go together.",
            whether="whether in five layers having learnt the fourth look-up goes together with looking ahead",
        ),
        reading=Reading(
            "networks of 5 layers, fresh seeds, that have learnt the fourth symbol and look from an earlier answer to "
            "the fourth, or neither,",
            NETWORKS,
            learnt_with(FRESH_FOUR, *TO_LAST),
        ),
        rule=Share(each=at_least(1.0, "both or neither")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=tuple(
            Control(
                reading=FRESH_ERROR,
                rule=Share(each=each),
                bound=at_least(0.05, "of twelve networks three: both kinds must be there, and not by one alone"),
                spoils="either",
            )
            for each in (IS_LEARNT, at_least(LEARNT, "not learnt, by the source's threshold"))
        ),
    ),
    Claim(
        id="SH58",
        says=Says(
            holds="What is left of five layers that learn four look-ups mostly comes to the fourth answer from an "
            "earlier one, and not from the query.",
            fails="What is left of five layers that learn four look-ups mostly does not come to the fourth answer from "
            "an earlier one alone.",
            whether="whether what is left of five layers comes to the fourth answer from an earlier one alone",
        ),
        reading=Reading(
            f"{LEARNERS}, with a path left to the fourth answer from an earlier one and none from the query,",
            NETWORKS,
            where_learnt(FRESH_FOUR, comes_ahead(FRESH_FOUR)),
        ),
        rule=Share(each=at_least(1.0, "the one and not the other")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(
                reading=Reading(
                    f"squared error with the paths that are left, less the network's own, of {LEARNERS},",
                    ERROR_MORE,
                    where_learnt(FRESH_FOUR, cost_of("paths", FRESH_FOUR)),
                ),
                bound=at_most(0.1, "twice the error that the source accepts"),
                spoils="either",
            ),
        ),
    ),
)
FOUR_LOOK_UPS = (*REWARDS, *ON_FRESH)
