"""Claims on what must be rewarded or shown, on fresh seeds' paths and values, and on the length of context.

Written before any of their runs. What the fresh seeds are asked was suggested by the ten followed networks; no pilot
was run of what is taught. SH22 and SH23 compare networks with each other: their intervals were first those of numbers
taken as independent, and are the jackknife's over networks (``rules.OverPairs``) since.
"""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.rules import OverPairs, Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, NUMBER, STEPS, Unit, at_least, at_most
from retrieval_circuits.stacked_heads.claims.bounds import ADDED, ERROR, IS_LEARNT, STAYS
from retrieval_circuits.stacked_heads.design import FRESH, FRESH_EVERY, LAST, LONGER, MIXED, SHORT_FIRST, Lesson
from retrieval_circuits.stacked_heads.readings import final_loss, learnt_time
from retrieval_circuits.stacked_heads.readings import lessons as readings

FOUND = Unit(digits=1, low=0.0)
"""Paths of a network, averaged over networks."""


def _second(lesson: Lesson, words: str) -> Reading:
    return Reading(f"final error of the second symbol with 3 layers, {words},", ERROR, final_loss(lesson, 2))


NOTHING_SHORTER = Control(reading=_second(LAST, "only the second rewarded"), bound=STAYS)
"""Without shorter chains it must fail, or these do nothing."""

TAUGHT = (
    Claim(
        id="SH17",
        says=Says(
            holds="Three layers do not learn the second look-up from its reward alone, in the steps they had.",
            fails="Three layers learn the second look-up from its reward alone.",
            whether="whether three layers learn the second look-up from its reward alone",
        ),
        reading=_second(LAST, "only the second rewarded"),
        bound=STAYS,
    ),
    Claim(
        id="SH18",
        says=Says(
            holds="Trained on chains of one before chains of two, networks learn two look-ups with nothing else "
            "rewarded on the way.",
            fails="Trained on chains of one before chains of two, networks do not learn two look-ups in the steps they "
            "had.",
            whether="whether training on chains of one first is enough to learn two look-ups",
        ),
        reading=_second(SHORT_FIRST, "only the last symbol rewarded, chains of one first"),
        bound=IS_LEARNT,
        controls=(NOTHING_SHORTER,),
    ),
    Claim(
        id="SH19",
        says=Says(
            holds="Among chains of one, networks learn two look-ups with nothing else rewarded on the way.",
            fails="Among chains of one, networks do not learn two look-ups in the steps they had.",
            whether="whether chains of one among those of two are enough to learn two look-ups",
        ),
        reading=_second(MIXED, "only the last symbol rewarded, half of the rows with chains of one"),
        bound=IS_LEARNT,
        controls=(NOTHING_SHORTER,),
    ),
)
PATHS = (
    Claim(
        id="SH20",
        says=Says(
            holds="In fresh networks the query's path to the first answer is mostly there no later than the path that "
            "joins its pair.",
            fails="In fresh networks the path that joins a pair is mostly there before the query's path to the first "
            "answer.",
            whether="whether the path to the first answer is mostly there no later than the one that joins its pair",
        ),
        reading=Reading(
            "time at which attention from value to key passes one half, less that from query to first answer,",
            STEPS,
            Less(readings.FRESH_PREVIOUS, readings.FRESH_FIRST),
        ),
        rule=Share(each=at_least(0, "no later")),
        bound=MORE_OFTEN_THAN_NOT,
    ),
    Claim(
        id="SH21",
        says=Says(
            holds="The path that joins the first pair is mostly there no later than any path to the second answer.",
            fails="The path that joins the first pair mostly comes after a path to the second answer.",
            whether="whether the path that joins the first pair is mostly there no later than any to the second answer",
        ),
        reading=Reading(
            "time at which attention to the second answer passes one half, from the query or from the first answer, "
            "less that from value to key,",
            STEPS,
            Less(readings.SECOND_LOOK_UP, readings.FRESH_PREVIOUS),
        ),
        rule=Share(each=at_least(0, "no later")),
        bound=MORE_OFTEN_THAN_NOT,
        source="source",
        source_verdict="Supported in one network (D = 4): joining head and first look-up together, then the rest",
        remark=ADDED,
    ),
    Claim(
        id="SH22",
        says=Says(
            holds="When the path to the first answer appears tells when that network's first symbol is learnt.",
            fails="When the path to the first answer appears does not tell when that network's first symbol is learnt.",
            whether="whether the time of the first path tells the time of the first symbol",
        ),
        reading=Reading(
            "of two networks, the distance in time from the path to the first answer of one to the fall of the error "
            "of the first symbol of the other, less that to its own, the mean of both ways round,",
            STEPS,
            readings.nearer_own(readings.FRESH_FIRST, learnt_time(1, FRESH)),
        ),
        rule=OverPairs(),
        bound=at_least(FRESH_EVERY, "the time between two checkpoints"),
        remark="With the networks' numbers taken as independent, as was done first, it was supported. The path that "
        "joins the pair tells it as well, by a hundred and seventy-seven steps: late networks are late in all.",
    ),
    Claim(
        id="SH23",
        says=Says(
            holds="When a path to the second answer appears tells when that network's second symbol is learnt.",
            fails="When a path to the second answer appears does not tell when that network's second symbol is learnt.",
            whether="whether the time of the second path tells the time of the second symbol",
        ),
        reading=Reading(
            "of two networks, the distance in time from the first path to the second answer of one to the fall of the "
            "error of the second symbol of the other, less that to its own, the mean of both ways round,",
            STEPS,
            readings.nearer_own(readings.SECOND_LOOK_UP, learnt_time(2, FRESH)),
        ),
        rule=OverPairs(),
        bound=at_least(FRESH_EVERY, "the time between two checkpoints"),
        remark=f"{ADDED} The path to the first answer, which is another one, tells half as much, by a hundred and "
        "twenty-nine steps.",
    ),
    Claim(
        id="SH24",
        says=Says(
            holds="The time to learn one look-up grows faster than the length of the context, nearer to its square.",
            fails="The time to learn one look-up grows with a lower power of the context's length than one and a half.",
            whether="whether the time to learn one look-up grows nearer to the square of the context's length",
        ),
        reading=Reading("power of the context's length with which the time grows", NUMBER, readings.growth),
        bound=at_least(1.5, "halfway between in proportion and the square"),
        controls=(
            Control(
                reading=Reading(
                    "final error of the first symbol with 12 chains in a row", ERROR, final_loss(LONGER[-1], 1)
                ),
                bound=IS_LEARNT,
                spoils="no",
            ),
        ),
        remark="Seven to eight tenths of this time pass before the shortcut. From there on it grows with a power of "
        "about four tenths, over waits of about one checkpoint.",
    ),
)
_error = partial(Reading, unit=ERROR)
VALUES = (
    Claim(
        id="SH25",
        says=Says(
            holds="With attention set along the paths that are left, the answer mostly follows another symbol put in "
            "where its path ends.",
            fails="With attention set along the paths that are left, the answer mostly does not follow another symbol "
            "put in where its path ends.",
            whether="whether the answer follows another symbol put in where its path ends",
        ),
        reading=_error(
            "squared error against the symbol put in as the value of its pair, the worse of both symbols,",
            values=readings.exchanged("value", "paths", "new"),
        ),
        rule=Share(each=IS_LEARNT),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(
                reading=_error(
                    "squared error against the symbol put in as the next pair's key, where no path should end,",
                    values=readings.exchanged("key", "paths", "new"),
                ),
                bound=at_least(1.0, "nearer to staying, which gives 2, than to following"),
            ),
            Control(
                reading=_error(
                    "squared error of the chains in which nothing was exchanged, the worse of both symbols,",
                    values=readings.exchanged("value", "paths", "others"),
                ),
                rule=Share(each=IS_LEARNT),
                bound=MORE_OFTEN_THAN_NOT,
            ),
        ),
    ),
    Claim(
        id="SH26",
        says=Says(
            holds="In networks that never were trained the reading finds next to no path.",
            fails="In networks that never were trained the reading finds paths.",
            whether="whether the reading finds paths in untrained networks",
        ),
        reading=Reading(
            "candidate paths in an untrained network", FOUND, readings.paths_found("n_candidates", "untrained")
        ),
        bound=at_most(0.5, "less than one path in every other network"),
        controls=(
            Control(
                reading=Reading(
                    "candidate paths in a trained network", FOUND, readings.paths_found("n_candidates", "trained")
                ),
                bound=at_least(3, "as many as two look-ups need: it must find some where there are some"),
            ),
        ),
        remark="It could hardly have come out otherwise: before training heads look too evenly for a path.",
    ),
    Claim(
        id="SH27",
        says=Says(
            holds="In trained networks whose weights are shuffled the reading finds next to no path.",
            fails="In trained networks whose weights are shuffled the reading still finds paths.",
            whether="whether the reading finds paths where the weights are shuffled",
        ),
        reading=Reading(
            "candidate paths in a network whose weights are shuffled",
            FOUND,
            readings.paths_found("n_candidates", "permuted"),
        ),
        bound=at_most(0.5, "less than one path in every other network"),
        remark="It could hardly have come out otherwise: by chance no head follows chains whose places change from row "
        "to row.",
    ),
)
LESSONS = (*TAUGHT, *PATHS, *VALUES)
