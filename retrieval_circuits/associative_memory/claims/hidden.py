"""Claims on maps with a hidden layer, added last, before their own seeds; pilot: seed 900."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.units import NUMBER, Unit, at_least, at_most
from retrieval_circuits.associative_memory.claims.matrices import LOAD
from retrieval_circuits.associative_memory.design import FEW_SHARED, HIDDEN_RATES, HIDDEN_SIZES, NARROW
from retrieval_circuits.associative_memory.measures import OUTPUT_LAYER, WHOLE
from retrieval_circuits.associative_memory.published import HIDDEN_LINE, SHARED_LINE
from retrieval_circuits.associative_memory.readings import hidden as readings

STEP = 1.09
"""The ratio of two loads that were tried, about the source's line."""
WIDEST = max(size for size in HIDDEN_SIZES if size[0] == NARROW)
TIMES = Unit(digits=2, low=0.0)
LINE, SHARED = 1 / HIDDEN_LINE, 1 / SHARED_LINE
HELD = partial(Reading, unit=LOAD)

HIDDEN = (
    Claim(
        id="AM28",
        says=Says(
            holds="An MLP trained at the source's rate for a sixteenth of its steps stops recalling 99 % at the load "
            "of the source's line.",
            fails="An MLP trained at the source's rate for a sixteenth of its steps recalls 99 % past the load of the "
            "source's line: up to {effect}.",
            whether="whether an MLP trained for a sixteenth of the source's steps stops recalling at the load of its "
            "line",
        ),
        reading=HELD(
            "load at which 99 % recall ends, of the MLP with most units, at the source's rate,",
            values=readings.ends_at(WIDEST),
        ),
        bound=at_most(round(LINE * STEP, 2), "the source's line, 2.86, and one step in load"),
        controls=(
            Control(
                reading=HELD("the same load", values=readings.ends_at(WIDEST)),
                bound=at_least(round(LINE / STEP, 2), "the source's line less one step in load"),
            ),
            Control(
                reading=HELD("the same at three times the rate", values=readings.ends_at(WIDEST, rate=HIDDEN_RATES[1])),
                bound=at_most(round(LINE * STEP, 2), "the rate must not be what ends it"),
            ),
        ),
        source="source",
        source_verdict="A line drawn through its results, d = 8 to 90, sixteen times our steps",
        source_stance="by another definition",
        remark="It may be where training stops: after a quarter of these steps recall ended at a load of 2.11. Whether "
        "with more steps it ends past the line is not known.",
    ),
    Claim(
        id="AM29",
        says=Says(
            holds="What an MLP holds, as N ln N, grows in proportion to its units.",
            fails="What an MLP holds, as N ln N, does not grow in proportion to its units.",
            whether="whether what an MLP holds grows in proportion to its units",
        ),
        reading=Reading("power of the units with which N ln N grows", NUMBER, readings.power(0)),
        bound=at_least(0.85, "nearer to proportion than a fifth less, over a factor of four in units"),
        controls=(
            Control(
                reading=Reading("the same power", NUMBER, readings.power(0)),
                bound=at_most(1.15, "nor faster than in proportion"),
            ),
        ),
        source="source",
        source_verdict="A line drawn through its results",
    ),
    Claim(
        id="AM30",
        says=Says(
            holds=f"Where inputs share {FEW_SHARED} outputs, too, what an MLP holds grows nearly in proportion to its "
            "units.",
            fails=f"Where inputs share {FEW_SHARED} outputs, what an MLP holds does not grow nearly in proportion to "
            "its units.",
            whether="whether shared outputs let what an MLP holds grow nearly in proportion to its units",
        ),
        reading=Reading("power of the units with which N grows, shared outputs,", NUMBER, readings.power(FEW_SHARED)),
        bound=at_least(0.85, "as with an output each"),
        controls=(
            Control(
                reading=Reading("the same power", NUMBER, readings.power(FEW_SHARED)),
                bound=at_most(1.15, "nor faster than in proportion"),
            ),
            Control(
                reading=HELD(
                    "pairs by channels and units, N / (m d), of the MLP with most units,",
                    values=readings.ends_at(WIDEST, classes=FEW_SHARED),
                ),
                bound=at_least(0.7, "the source's 0.83 less a sixth, for a sixteenth of its steps"),
            ),
        ),
        source="source",
        source_verdict=f"A line drawn through its results: {SHARED:.2f} pairs by channels and units",
    ),
    Claim(
        id="AM31",
        says=Says(
            holds="With as many parameters, an MLP holds more pairs than a matrix.",
            fails="With as many parameters, an MLP holds no more pairs than a matrix.",
            whether="whether an MLP holds more pairs than a matrix with as many parameters",
        ),
        reading=Reading(
            "pairs that the smallest MLP recalls to 99 %, by those of a trained matrix of as many parameters,",
            TIMES,
            readings.beside_matrix(WHOLE),
        ),
        bound=at_least(1.15, "more than a step in load, and a quarter of what the source's two lines differ by"),
        controls=(
            Control(
                reading=Reading(
                    "the same of an MLP whose output layer alone is trained",
                    TIMES,
                    readings.beside_matrix(OUTPUT_LAYER),
                ),
                bound=at_most(1.0, "what is not trained stores nothing"),
            ),
        ),
    ),
    Claim(
        id="AM32",
        says=Says(
            holds="Trained in its output layer alone, an MLP holds less than half of that load.",
            fails="Trained in its output layer alone, an MLP holds half of that load or more.",
            whether="whether an MLP holds less than half where its output layer alone is trained",
        ),
        reading=Reading(
            "load at which 99 % recall ends with the output layer trained alone, by that with both,",
            TIMES,
            readings.alone_by_whole(WIDEST),
        ),
        bound=at_most(0.5, "half of the parameters"),
        controls=(
            Control(
                reading=HELD(
                    "load at which 99 % recall ends with the output layer alone",
                    values=readings.ends_at(WIDEST, trained=OUTPUT_LAYER),
                ),
                bound=at_least(0.5, "it must have learnt some of the pairs"),
            ),
        ),
        remark="A part of what is lost is for want of training: with four times the steps, recall at a load of one "
        "rose from 58 to 91 %.",
    ),
)
