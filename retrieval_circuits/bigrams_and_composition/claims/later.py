"""Claims added later, before their own seeds: letters, a decoder of which all is trained, single steps by width.

Pilots: seed 900 of each, 901 of the decoder and of the widths.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.units import POINTS, STEPS, at_least, at_most
from retrieval_circuits.bigrams_and_composition import readings
from retrieval_circuits.bigrams_and_composition.claims.first import ANSWERS, APART
from retrieval_circuits.bigrams_and_composition.design import JOINT, LETTERS, ONE

ON_LETTERS = (
    Claim(
        id="BC19",
        says=Says(
            holds="On the letters of this book, too, counting says how often one layer is right, within six points.",
            fails="On the letters of this book counting does not say how often one layer is right, within six points.",
            whether="whether counting says within six points how often one layer is right on the letters of this book",
        ),
        reading=Reading(
            "distance of one layer's accuracy from the closed form, on letters", APART, readings.off_plateau(LETTERS)
        ),
        bound=at_most(0.06, "that of generated sources: counts are not independent"),
        remark="One text, one prediction: ten seeds test it once.",
        controls=(
            Control(
                reading=Reading(
                    "two layers' accuracy less the closed form, on letters", POINTS, readings.above_plateau(LETTERS)
                ),
                bound=at_least(0.2, "it must not fit a network that looks at what stands before"),
            ),
        ),
    ),
    Claim(
        id="BC20",
        says=Says(
            holds="On letters, too, two layers are right far more often than one.",
            fails="On letters one layer is right nearly as often as two.",
            whether="whether two layers are right far more often than one on letters",
        ),
        reading=Reading(
            "accuracy of two layers less that of one, on letters",
            POINTS,
            Less(readings.learnt(JOINT, task=LETTERS), readings.learnt(ONE, task=LETTERS)),
        ),
        bound=at_least(0.22, "half of the source's difference, which is on letters of a corpus"),
        controls=(
            Control(
                reading=Reading("accuracy of two layers, on letters", ANSWERS, readings.learnt(JOINT, task=LETTERS)),
                bound=at_least(0.9, "they must have learnt the task"),
            ),
        ),
        source="source",
        source_verdict="Supported: about 55 % against about 99 %",
    ),
    Claim(
        id="BC21",
        says=Says(
            holds="On letters, too, the three memories form in the same order, on average.",
            fails="On letters the three memories do not form in the same order.",
            whether="whether the three memories form in the same order on letters",
        ),
        reading=Reading("smaller of the two times between memories, on letters,", STEPS, readings.least_gap_on_letters),
        bound=at_least(10, "one measurement"),
        source="source",
        source_verdict="Supported in a figure",
    ),
)
GENERIC = (
    Claim(
        id="BC22",
        says=Says(
            holds="Where everything is trained, W_O2 forms first, too, on average.",
            fails="Where everything is trained, W_O2 does not form first, on average.",
            whether="whether W_O2 forms first, on average, where everything is trained",
        ),
        reading=Reading(
            "time from the forming of W_O2 to that of the earlier matrix of keys, everything trained,",
            STEPS,
            readings.answers_first,
        ),
        bound=at_least(20, "two measurements"),
        controls=(
            Control(
                reading=Reading("accuracy at the end, everything trained", ANSWERS, readings.generic_end),
                bound=at_least(0.9, "it must have learnt the task"),
            ),
        ),
    ),
    Claim(
        id="BC23",
        says=Says(
            holds="Where everything is trained, W_K1 forms last, too, on average.",
            fails="Where everything is trained, W_K1 does not form last.",
            whether="whether W_K1 forms ten steps after W_K2 or later, on average, where everything is trained",
        ),
        reading=Reading(
            "time from the forming of W_K2 to that of W_K1, everything trained,", STEPS, readings.previous_last
        ),
        bound=at_least(10, "one measurement"),
        remark="A memory has formed when it recalls half of what it recalls in the end. Dated when it recalls half of "
        "all pairs, this would be Supported.",
    ),
)
WIDTHS = (
    Claim(
        id="BC24",
        says=Says(
            holds="In the fewest channels three steps store far more of the pairs of W_O2 than of either matrix of "
            "keys.",
            fails="In the fewest channels three steps store about as much of W_O2 as of a matrix of keys.",
            whether="whether three steps in the fewest channels store more of W_O2 than of the matrices of keys",
        ),
        reading=Reading(
            "pairs that W_O2 recalls less those of the better matrix of keys, in the fewest channels,",
            POINTS,
            readings.answers_in_few_channels,
        ),
        bound=at_least(0.25, "a quarter of all pairs"),
    ),
    Claim(
        id="BC25",
        says=Says(
            holds="With random embeddings W_K1 recalls more positions after three steps in the most channels than in "
            "the fewest.",
            fails="With random embeddings W_K1 recalls hardly more positions in the most channels than in the fewest.",
            whether="whether W_K1 recalls more positions in the most channels than in the fewest",
        ),
        reading=Reading(
            "positions that W_K1 recalls in the most channels less those in the fewest",
            POINTS,
            readings.previous_by_width,
        ),
        bound=at_least(0.2, "four of nineteen positions, from eight times the channels"),
    ),
)
CLAIMS = (*ON_LETTERS, *GENERIC, *WIDTHS)
