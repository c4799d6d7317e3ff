"""Claims on inputs that share outputs or are not equally frequent, and on the gradient as a memory."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading, of_experiment
from livingpaper.claims.rules import Forced
from livingpaper.claims.units import NUMBER, Unit, at_least, at_most, share_of
from retrieval_circuits.associative_memory.design import FEW, LABELS, LEMMA
from retrieval_circuits.associative_memory.readings import memories as readings
from retrieval_circuits.associative_memory.readings.memories import NEARLY_ALL

PAIRS = share_of("pairs")
TINY = Unit(digits=12, low=0.0)
POWER = NUMBER

OUTPUTS = (
    Claim(
        id="AM10",
        says=Says(
            holds="Where inputs share two outputs, capacity grows as the number of parameters.",
            fails="Where inputs share two outputs, capacity grows as d to the power {effect}, not as the number of "
            "parameters.",
            whether="whether capacity grows as the number of parameters where inputs share two outputs",
        ),
        reading=Reading(
            "power of d with which the pairs grow that some matrix recalls, two outputs,",
            POWER,
            readings.growth("any", 2),
        ),
        bound=at_least(1.6, "nearer to the number of parameters, 2, than to the width, 1, and clearly so"),
        source="source",
        source_verdict="Stated without this case: capacity is about the number of parameters",
        source_stance="elsewhere",
        remark="With two outputs an answer hangs on one plane, so that Cover's count forces it: it was measured to "
        "check the count at these widths.",
    ),
    Claim(
        id="AM11",
        says=Says(
            holds="With two outputs, no matrix holds many more than two pairs a channel.",
            fails="With two outputs, some matrix holds many more than two pairs a channel.",
            whether="whether a matrix with two outputs holds more than two pairs a channel",
        ),
        reading=Reading("pairs that some matrix recalls, by twice the width,", NUMBER, readings.each_channel(2)),
        bound=at_most(1.2, "Cover's count of a plane's dichotomies, 1, and what a finite width adds"),
        controls=(
            Control(
                reading=Reading("the same with eight outputs", NUMBER, readings.each_channel(8)),
                bound=at_least(1.3, "more outputs must allow more: else the search stops too early"),
            ),
        ),
    ),
    Claim(
        id="AM12",
        says=Says(
            holds="Of inputs by Zipf's law, a matrix of the frequent ones alone errs ever less, as it widens, than one "
            "gradient step.",
            fails="Of inputs by Zipf's law, a matrix of the frequent ones alone has no such advantage.",
            whether="whether storing the frequent inputs alone pays",
        ),
        reading=Reading(
            "power of d in the error of one gradient step less that of the frequent inputs alone, few outputs,",
            POWER,
            Less(readings.zipf_exponent("one step", FEW), readings.zipf_exponent("cut", FEW)),
        ),
        bound=at_least(0.375, "half of the published difference, 3/4"),
        source="source",
        source_verdict="Supported: exponents of a quarter against one",
        remark="Looked at three times, with ten, twenty and a hundred seeds; corrected for three looks it stands.",
    ),
    Claim(
        id="AM13",
        says=Says(
            holds="Memories of frequent inputs alone improve with a higher power of the width where each input has an "
            "output of its own.",
            fails="Memories of frequent inputs alone improve with no higher power of the width where each input has an "
            "output of its own.",
            whether="whether errors fall faster where each input has an output of its own",
        ),
        reading=Reading(
            "power of d in the error of the frequent inputs alone, few outputs, less that with one output an input,",
            POWER,
            Less(readings.zipf_exponent("cut", FEW), readings.zipf_exponent("cut", 0)),
        ),
        bound=at_least(0.75, "three quarters of what noise says, 1"),
    ),
)
GRADIENT = (
    Claim(
        id="AM14",
        says=Says(
            holds="The gradient is the memory that the lemma says, with labels that are not sure and at any weights.",
            fails="The gradient is not what the lemma says.",
            whether="whether the gradient is what the lemma says",
        ),
        reading=Reading(
            "difference between autograd's gradient and the lemma's, by the largest entry,",
            TINY,
            of_experiment(LEMMA, "gap", "max"),
        ),
        rule=Forced(),
        bound=at_most(1e-10, "rounding of 64-bit numbers"),
        source="source",
        source_verdict="Proved",
        source_stance="elsewhere",
    ),
    Claim(
        id="AM15",
        says=Says(
            holds="Random labels cost one gradient step samples, not pairs: with enough of them all are recalled.",
            fails="Random labels cost one gradient step pairs, however many samples it has.",
            whether="whether random labels cost samples alone",
        ),
        reading=Reading(
            "recall after one step, half of the labels random, 64 samples an input,",
            PAIRS,
            of_experiment(LABELS, "accuracy", noise=0.5, samples=64),
        ),
        bound=at_least(NEARLY_ALL, "the source's criterion of capacity"),
        controls=(
            Control(
                reading=Reading(
                    "the same with one sample an input", PAIRS, of_experiment(LABELS, "accuracy", noise=0.5, samples=1)
                ),
                bound=at_most(0.75, "half of the samples are wrong, and one is all there is"),
            ),
        ),
    ),
)
