"""Claims on what must be trained on, in which order hops are learnt, and how many hops a layer makes.

Written down before any network of an arm was trained, after pilots on a seed that no arm has. The pilots had shown that
a mixture teaches three layers one hop, then two, then three (by step 7,000 of 8,000 with width 48), and not four; that
four hops alone taught nothing, that stages forget, and, of one network, that words of permutations hold several hops
before the query looks at them. Of seed 900 and the published sizes, powers of two taught one hop and two, and four
layers one to three. No network of an arm had been trained when this was last changed. After that one more pilot was
taken apart, three layers of width 48 that answer three hops: its query fetched two hops at once from the words of the
second permutation, in layer 2, and made the third itself. That speaks against KF14 and KF15, which stand as written.

KF4 to KF7 first stood here with other words and other networks, of which none was trained. As they stand now, KF17 with
them, they were written before any network taught in turn was trained but a pilot's, before four hops alone with four
layers, and before any of the further seeds of other arms, whose first five seeds had been published. Lengths of turns
come from the pilot (seed 900, four layers, 3,600 steps a turn): one hop was answered within 400 steps of its turn, two
within 800, three within 1,600, each forgotten in the turns after it; four were answered on half of all queries at the
end.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, best_of
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, STEPS, at_least, at_most, share_of
from retrieval_circuits.composition import readings
from retrieval_circuits.composition.design import (
    ALONE,
    ALONE_DEEP,
    BACKWARDS,
    BY_POWERS,
    FOLLOWED,
    FORWARD,
    FOUR,
    N_LAYERS,
    POWERS,
    STEPS_AN_EPOCH,
    THREE,
    TWO,
    Arm,
)
from retrieval_circuits.composition.published import EXPONENTIAL, POLYNOMIAL
from retrieval_circuits.composition.readings import ANSWERED, MAPS, QUERY

QUERIES, PAIRS = share_of("queries"), share_of("pairs")
IS_ANSWERED = at_least(ANSWERED, "nine of ten; a guess is right in one of four")
IS_GUESSED = at_most(0.3, "five points above a guess")
HALF_WAY = at_most(0.5, "a third of the way from a guess to all: far from answered")
IS_HELD = at_least(0.5, "twice what a wrong prediction gives")
NOT_HELD = at_most(0.35, "ten points above what a wrong prediction gives")


def _at_end(arm: Arm, hops: int, words: str) -> Reading:
    return Reading(f"final accuracy at {words}, {arm},", QUERIES, readings.final_accuracy(arm, hops))


def _held(words: str, *given, **where: str) -> Reading:
    return Reading(words, PAIRS, readings.holds(*given, **where))


def _best(arm: Arm, hops: int, words: str) -> Reading:
    return Reading(f"best accuracy at {words}, {arm},", QUERIES, readings.best_accuracy(arm, hops))


IN_POWERS = Arm(POWERS, N_LAYERS)
DATA = (
    Claim(
        id="KF1",
        says=Says(
            holds="Asked for four hops alone, networks learn nothing: they guess.",
            fails="Asked for four hops alone, networks do better than a guess.",
            whether="whether networks that are asked for four hops alone do better than a guess",
        ),
        reading=_at_end(ALONE, 4, "four hops"),
        bound=IS_GUESSED,
        controls=(Control(reading=_at_end(FOLLOWED, 2, "two hops"), bound=IS_ANSWERED),),
        source="source",
        source_verdict=f"Proved for learners by statistical queries: {EXPONENTIAL}",
    ),
    Claim(
        id="KF2",
        says=Says(
            holds="Where one to four hops are mixed, three hops are learnt more often than not.",
            fails="Where one to four hops are mixed, three hops are mostly not learnt in the steps given.",
            whether="whether three hops are learnt from a mixture more often than not",
        ),
        reading=_at_end(FOLLOWED, 3, "three hops"),
        rule=Share(each=IS_ANSWERED),
        bound=MORE_OFTEN_THAN_NOT,
        source="source",
        source_verdict=f"Proved, for a network and a training of their design: {POLYNOMIAL}",
    ),
    Claim(
        id="KF3",
        says=Says(
            holds="Where one, two and four hops are mixed, networks of three layers learn four.",
            fails="Where one, two and four hops are mixed, networks of three layers do not learn four.",
            whether="whether networks of three layers learn four hops from powers of two",
        ),
        reading=_at_end(IN_POWERS, 4, "four hops"),
        bound=IS_ANSWERED,
        controls=(Control(reading=_at_end(IN_POWERS, 2, "two hops"), bound=IS_ANSWERED),),
        source="source",
        source_verdict="Proved, for a network and a training of their design: layer i makes 2^(i-1) hops",
    ),
)
TURNS = (
    Claim(
        id="KF4",
        says=Says(
            holds="Taught one, two, three, four hops in turn, networks of four layers learn four more often than not.",
            fails="Taught one, two, three, four hops in turn, networks of four layers mostly do not learn four.",
            whether="whether networks taught hop by hop learn four hops more often than not",
        ),
        reading=_at_end(FORWARD, 4, "four hops"),
        rule=Share(each=IS_ANSWERED),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(Control(reading=_at_end(ALONE_DEEP, 4, "four hops"), bound=IS_GUESSED),),
        source="source",
        source_verdict=f"Proved, for a network and a training of their design: {POLYNOMIAL}",
    ),
    Claim(
        id="KF5",
        says=Says(
            holds="Taught one hop, then two, then four, networks of four layers learn four.",
            fails="Taught one hop, then two, then four, networks of four layers do not learn four.",
            whether="whether networks that are taught one hop, then two, then four learn four",
        ),
        reading=_at_end(BY_POWERS, 4, "four hops"),
        bound=IS_ANSWERED,
        controls=(Control(reading=_best(BY_POWERS, 2, "two hops"), bound=IS_ANSWERED),),
        source="source",
        source_verdict="Proved, for a network and a training of their design: layer i makes 2^(i-1) hops",
    ),
    Claim(
        id="KF6",
        says=Says(
            holds="Taught hop by hop, networks answer four hops sooner than from a mixture of as many rows, more often "
            "than not.",
            fails="Taught hop by hop, networks mostly answer four hops no sooner than from a mixture of as many rows.",
            whether="whether four hops are answered sooner hop by hop than from a mixture of as many rows",
        ),
        reading=Reading(
            f"time by which {FORWARD}, answer four hops before {FOUR},", STEPS, readings.sooner(FORWARD, FOUR, 4)
        ),
        rule=Share(each=at_least(2 * STEPS_AN_EPOCH, "two measurements; what is never answered counts as at the end")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(Control(reading=_at_end(FOUR, 2, "two hops"), bound=IS_ANSWERED),),
    ),
    Claim(
        id="KF7",
        says=Says(
            holds="Taught the same rows from four hops down to one, networks never answer four.",
            fails="Taught the same rows from four hops down to one, networks do better than a guess at four.",
            whether="whether networks that are taught four hops first ever answer four",
        ),
        reading=_best(BACKWARDS, 4, "four hops"),
        bound=at_most(0.35, "ten points above a guess: the best of many checkpoints lies above one"),
        controls=(
            Control(reading=_best(FORWARD, 4, "four hops"), bound=at_least(0.5, "twice a guess")),
            Control(reading=_at_end(BACKWARDS, 1, "one hop"), bound=IS_ANSWERED),
        ),
    ),
    Claim(
        id="KF17",
        says=Says(
            holds="Taught in turn, networks forget: at the end one hop is no longer answered.",
            fails="Taught in turn, networks still answer one hop at the end.",
            whether="whether networks that are taught in turn forget one hop",
        ),
        reading=_at_end(FORWARD, 1, "one hop"),
        bound=at_most(0.75, "a quarter of the answers lost"),
        controls=(
            Control(reading=_best(FORWARD, 1, "one hop"), bound=IS_ANSWERED),
            Control(reading=_at_end(FOUR, 1, "one hop"), bound=IS_ANSWERED),
        ),
    ),
)
ORDER = (
    Claim(
        id="KF8",
        says=Says(
            holds="In a mixture one hop is learnt first, and two hops later.",
            fails="In a mixture two hops are learnt as soon as one.",
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
            holds="Three hops are learnt after two.",
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
            whether="whether three layers learn four hops",
        ),
        reading=_at_end(THREE, 4, "four hops"),
        bound=HALF_WAY,
        controls=(Control(reading=_at_end(THREE, 3, "three hops"), bound=IS_ANSWERED),),
    ),
    Claim(
        id="KF11",
        says=Says(
            holds="Two layers do not learn three hops, for which doubling would be enough.",
            fails="Two layers learn three hops, as doubling allows.",
            whether="whether two layers learn three hops",
        ),
        reading=_at_end(TWO, 3, "three hops"),
        bound=HALF_WAY,
        controls=(Control(reading=_at_end(TWO, 2, "two hops"), bound=IS_ANSWERED),),
    ),
    Claim(
        id="KF12",
        says=Says(
            holds="Four layers learn four hops more often than not.",
            fails="Four layers mostly do not learn four hops in the steps given.",
            whether="whether four layers learn four hops more often than not",
        ),
        reading=_at_end(FOUR, 4, "four hops"),
        rule=Share(each=IS_ANSWERED),
        bound=MORE_OFTEN_THAN_NOT,
    ),
)
LAYERS = (
    Claim(
        id="KF13",
        says=Says(
            holds="After one layer the words of the second permutation hold two hops.",
            fails="After one layer the words of the second permutation do not hold two hops.",
            whether="whether words of the second permutation hold two hops after one layer",
        ),
        reading=_held(
            "answers as if the second permutation's words held two hops after layer 1,",
            *(FOLLOWED, MAPS, 3, 1), variable="maps_2", edit="hops_2",
        ),
        bound=IS_HELD,
        controls=(
            Control(
                reading=_held(
                    "the same before layer 1", FOLLOWED, MAPS, 3, 0, variable="maps_2", edit="hops_2"
                ),
                bound=NOT_HELD,
            ),
        ),
    ),
    Claim(
        id="KF14",
        says=Says(
            holds="After two layers the words of the third permutation hold all three hops.",
            fails="After two layers the words of the third permutation do not hold all three hops.",
            whether="whether words of the third permutation hold three hops after two layers",
        ),
        reading=_held(
            "answers as if the third permutation's words held three hops after layer 2,",
            *(FOLLOWED, MAPS, 3, 2), variable="maps_3", edit="hops_3",
        ),
        bound=IS_HELD,
        controls=(
            Control(
                reading=_held(
                    "the same after layer 1", FOLLOWED, MAPS, 3, 1, variable="maps_3", edit="hops_3"
                ),
                bound=NOT_HELD,
            ),
        ),
    ),
    Claim(
        id="KF15",
        says=Says(
            holds="The query itself does not hop: before the last layer it still holds its start.",
            fails="The query has left its start before the last layer.",
            whether="whether the query still holds its start before the last layer",
        ),
        reading=_held(
            "answers from the source row's start, the query's stream replaced after layer 2,",
            FOLLOWED, QUERY, 3, 2, variable="x_0",
        ),
        bound=IS_HELD,
        controls=(
            Control(
                reading=Reading(
                    "larger share of answers from one and from two hops, the query's stream replaced before layer 1,",
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
            holds="After one layer the words of the third permutation are not read as holding hops two and three: none "
            "of them doubles.",
            fails="After one layer the words of the third permutation hold hops two and three, as doubling needs.",
            whether="whether words of the third permutation hold hops two and three after one layer",
        ),
        reading=_held(
            "answers as if the third permutation's words held hops two and three after layer 1,",
            *(FOLLOWED, MAPS, 3, 1), variable="maps_3", edit="hops_2",
        ),
        bound=NOT_HELD,
        controls=(
            Control(
                reading=_held(
                    "answers as if the third permutation's words held their own hop after layer 1,",
                    *(FOLLOWED, MAPS, 3, 1), variable="maps_3", edit="hops_1",
                ),
                bound=IS_HELD,
            ),
        ),
    ),
)  # fmt: skip
CLAIMS = (*DATA, *TURNS, *ORDER, *DEPTH, *LAYERS)
