"""Claims on chains of four look-ups: whether rewards for what doubling comes by do, and what the third one does.

Written before any of their runs, after one pilot network of each of two arms (``design.four``), which suggested both. A
hostile reading came while they were in training, before anything was measured: SH56 had held networks with three
symbols rewarded against some with four; it compares two that have three since then. Controls were added, and six seeds
in place of four, of which no verdict can come.

SH57 and SH58 ask fresh networks what those had suggested, and were written before any of these was trained. A hostile
reading mended both while they were trained, before anything was measured: who has not come to the fourth symbol looks
at it from nowhere, so networks that had not learnt it made most of what SH57 counted; SH58 counted circuits that do not
answer, and hops that had merely been taken away. Seeds went from twelve to sixteen then, and that is final.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Every, Share
from livingpaper.claims.units import DOUBLINGS, MORE_OFTEN_THAN_NOT, at_least, at_most, share_of
from retrieval_circuits.stacked_heads.claims.bounds import (
    ATTENTION,
    ERROR,
    ERROR_MORE,
    IS_LEARNT,
    IS_LOOKED_ALONG,
    STAYS,
)
from retrieval_circuits.stacked_heads.design import EVERY_FOUR, FRESH_FOUR, WITHOUT_FOURTH, WITHOUT_THIRD, Lesson
from retrieval_circuits.stacked_heads.readings import ENOUGH, cost_of, final_loss, where, where_enough
from retrieval_circuits.stacked_heads.readings.four import (
    TO_LAST,
    comes_ahead,
    doublings_without_third,
    hop_was_tried,
    part_before,
)
from retrieval_circuits.stacked_heads.readings.three import looked_along

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
NETWORKS = share_of("networks")
LOOKS_AHEAD = looked_along(FRESH_FOUR, *TO_LAST, before_the_last=True)
THESE = "networks of five layers, fresh seeds,"


def _attention(of_which: str, *, learnt: bool) -> Reading:
    return Reading(
        f"attention at the end from an earlier answer to the fourth, of link and head with most of it, the last layer "
        f"left out, {THESE} {of_which},",
        ATTENTION,
        where(FRESH_FOUR, LOOKS_AHEAD, learnt=learnt),
    )


ON_FRESH = (
    Claim(
        id="SH57",
        says=Says(
            holds="With five layers, as many as one look-up a layer takes, most networks that learn the fourth of four "
            "look-ups look at it from where an earlier answer stands.",
            fails="With five layers, as many as one look-up a layer takes, most networks that learn the fourth of four "
            "look-ups look at it from no earlier answer.",
            whether="whether five layers that learn four look-ups look ahead to the fourth",
        ),
        reading=_attention("that have learnt the fourth symbol", learnt=True),
        rule=Share(each=IS_LOOKED_ALONG),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(
                reading=_attention("that have not learnt it", learnt=False),
                rule=Share(each=IS_LOOKED_ALONG),
                bound=at_most(0.5, "else to look ahead tells nothing of having learnt it"),
                spoils="yes",
            ),
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
            f"{THESE} that have learnt the fourth symbol and do nearly as well with the paths that are left, with one "
            "to the fourth answer from an earlier one and none from the query,",
            NETWORKS,
            where_enough(FRESH_FOUR, where(FRESH_FOUR, comes_ahead(FRESH_FOUR))),
        ),
        rule=Share(each=at_least(1.0, "the one and not the other")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(
                reading=Reading(
                    f"squared error with the paths that are left, less the network's own, {THESE} that have learnt the "
                    "fourth symbol,",
                    ERROR_MORE,
                    where(FRESH_FOUR, cost_of("paths", FRESH_FOUR)),
                ),
                rule=Share(each=at_most(ENOUGH, "twice the error that the source accepts")),
                bound=at_least(0.75, "those that are read must be most"),
                spoils="either",
            ),
            Control(
                reading=Reading(
                    f"{THESE} that have learnt the fourth symbol and of which a path from the query to it was tried,",
                    NETWORKS,
                    where(FRESH_FOUR, hop_was_tried(FRESH_FOUR)),
                ),
                rule=Share(each=at_least(1.0, "it was")),
                bound=at_most(0.5, "paths are taken away one by one, and of two that do the same either may stay"),
                spoils="yes",
            ),
        ),
    ),
)
FOUR_LOOK_UPS = (*REWARDS, *ON_FRESH)
