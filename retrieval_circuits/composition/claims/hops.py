"""Claims on the order of hops, on how many a depth answers, and on what its layers hold."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, best_of
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, STEPS, at_least
from retrieval_circuits.composition import readings
from retrieval_circuits.composition.claims.shared import (
    HALF_WAY,
    IS_ANSWERED,
    IS_HELD,
    NOT_HELD,
    PAIRS,
    final_score,
    held,
)
from retrieval_circuits.composition.design import FOLLOWED, FOUR, STEPS_AN_EPOCH, THREE, TWO
from retrieval_circuits.composition.readings import MAPS, QUERY

ORDER = (
    Claim(
        id="KF8",
        says=Says(
            holds="In a mixture networks of three layers answer one hop first, and two hops at least "
            f"{2 * STEPS_AN_EPOCH} steps later, on average.",
            fails="In a mixture networks of three layers answer two hops {effect} after one, on average.",
            whether="whether one hop is learnt before two",
        ),
        reading=Reading(
            "time from when one hop is answered to when two are,", STEPS, readings.time_between(FOLLOWED, 1, 2)
        ),
        bound=at_least(2 * STEPS_AN_EPOCH, "two measurements"),
    ),
    Claim(
        id="KF9",
        says=Says(
            holds="Three hops are learnt after two, or not by the end.",
            fails="Three hops are learnt as soon as two.",
            whether="whether three hops are learnt after two",
        ),
        reading=Reading(
            "time from when two hops are answered to when three are,", STEPS, readings.time_between(FOLLOWED, 2, 3)
        ),
        bound=at_least(2 * STEPS_AN_EPOCH, "two measurements"),
        source="source",
        source_verdict="Stated otherwise: one, two, four hops, layer by layer",
    ),
)
DEPTH = (
    Claim(
        id="KF10",
        says=Says(
            holds="Three layers do not learn four hops, for which doubling would be enough.",
            fails="Three layers learn four hops, as doubling allows.",
            whether="whether three layers get no more than half of four hops right, on average, where they answer "
            "three",
        ),
        reading=final_score(THREE, 4, "four hops"),
        bound=HALF_WAY,
        controls=(Control(reading=final_score(THREE, 3, "three hops"), bound=IS_ANSWERED),),
    ),
    Claim(
        id="KF11",
        says=Says(
            holds="Two layers do not learn three hops, for which doubling would be enough.",
            fails="Two layers learn three hops, as doubling allows.",
            whether="whether two layers get no more than half of three hops right, on average",
        ),
        reading=final_score(TWO, 3, "three hops"),
        bound=HALF_WAY,
        controls=(Control(reading=final_score(TWO, 2, "two hops"), bound=IS_ANSWERED),),
    ),
    Claim(
        id="KF12",
        says=Says(
            holds="From a mixture four layers learn four hops more often than not.",
            fails="From a mixture four layers mostly do not learn four hops in the steps given.",
            whether="whether from a mixture four layers learn four hops more often than not",
        ),
        reading=final_score(FOUR, 4, "four hops"),
        rule=Share(each=IS_ANSWERED),
        bound=MORE_OFTEN_THAN_NOT,
    ),
)
LAYERS = (
    Claim(
        id="KF13",
        says=Says(
            holds="After one layer the words of the second permutation hold two hops, on average.",
            fails="After one layer the words of the second permutation do not hold two hops, on average.",
            whether="whether words of the second permutation hold two hops after one layer",
        ),
        reading=held(
            "answers as if the second permutation's words held two hops after one layer,",
            *(FOLLOWED, MAPS, 3, 1), variable="maps_2", edit="hops_2",
        ),
        bound=IS_HELD,
        controls=(
            Control(
                reading=held(
                    "the same before the first layer", FOLLOWED, MAPS, 3, 0, variable="maps_2", edit="hops_2"
                ),
                bound=NOT_HELD,
            ),
        ),
    ),
    Claim(
        id="KF14",
        says=Says(
            holds="After two layers the words of the third permutation hold all three hops.",
            fails="After two layers the words of the third permutation are mostly not read as holding all three hops.",
            whether="whether words of the third permutation hold three hops after two layers",
        ),
        reading=held(
            "answers as if the third permutation's words held three hops after two layers,",
            *(FOLLOWED, MAPS, 3, 2), variable="maps_3", edit="hops_3",
        ),
        bound=IS_HELD,
        controls=(
            Control(
                reading=held(
                    "the same after one layer", FOLLOWED, MAPS, 3, 1, variable="maps_3", edit="hops_3"
                ),
                bound=NOT_HELD,
            ),
        ),
    ),
    Claim(
        id="KF15",
        says=Says(
            holds="The query itself does not hop: before the last layer it still holds its start.",
            fails="On average the query's stream is not read as its start before the last layer.",
            whether="whether the query still holds its start before the last layer",
        ),
        reading=held(
            "answers from the source row's start, the query's stream replaced after two layers,",
            FOLLOWED, QUERY, 3, 2, variable="x_0",
        ),
        bound=IS_HELD,
        controls=(
            Control(
                reading=Reading(
                    "larger share of answers from one and from two hops, the query's stream replaced before the first "
                    "layer,",
                    PAIRS,
                    best_of(
                        readings.holds(FOLLOWED, QUERY, 3, 0, variable="x_1"),
                        readings.holds(FOLLOWED, QUERY, 3, 0, variable="x_2"),
                    ),
                ),
                bound=NOT_HELD,
            ),
        ),
    ),
    Claim(
        id="KF16",
        says=Says(
            holds="After one layer the words of the third permutation are not read as holding hops two and three, on "
            "average, as doubling would need.",
            fails="After one layer the words of the third permutation hold hops two and three, as doubling needs.",
            whether="whether words of the third permutation hold hops two and three after one layer",
        ),
        reading=held(
            "answers as if the third permutation's words held hops two and three after one layer,",
            *(FOLLOWED, MAPS, 3, 1), variable="maps_3", edit="hops_2",
        ),
        bound=NOT_HELD,
        controls=(
            Control(
                reading=held(
                    "answers as if the third permutation's words held their own hop after one layer,",
                    *(FOLLOWED, MAPS, 3, 1), variable="maps_3", edit="hops_1",
                ),
                bound=IS_HELD,
            ),
        ),
    ),
)  # fmt: skip
