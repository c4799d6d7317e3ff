"""Claims on the order in which one layer learns facts."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.units import STEPS, Unit, at_least, at_most, share_of
from retrieval_circuits.associative_memory.design import (
    ADAM,
    ADAM_SOFTMAX,
    JUDGED,
    SOFTMAX,
    SOURCE_WAY,
)
from retrieval_circuits.associative_memory.readings import memories as readings
from retrieval_circuits.associative_memory.readings.memories import NEARLY_ALL

PROMPTS, TIME = share_of("prompts"), share_of("training")
RELATIVE = Unit(name="%", of="the predicted time", times=100, low=0.0)
DRAWS = "draws of prompts"
ONE_DRAW = (
    "Facts and start are the same for every seed. Prompts alone are drawn anew, which moves stages by less than the 32 "
    "steps between two measurements: this is one draw of facts."
)
"""Of claims on when facts are learnt."""

FACTS = (
    Claim(
        id="AM16",
        says=Says(
            holds="Trained by gradient descent, a model of facts guesses among the relation's answers before it knows "
            "the subject's.",
            fails="Trained by gradient descent, a model of facts hardly guesses among the relation's answers.",
            whether="whether a model of facts first guesses among the relation's answers",
        ),
        reading=Reading("time within 0.1 nats of a uniform guess", STEPS, readings.guess(SOURCE_WAY), draws=DRAWS),
        remark=ONE_DRAW,
        bound=at_least(1600, "half of the stage that the source drew"),
        controls=(
            Control(
                reading=Reading(
                    "prompts answered rightly at the end", PROMPTS, readings.at_end(SOURCE_WAY, "accuracy"), draws=DRAWS
                ),
                bound=at_least(NEARLY_ALL, "facts must be learnt in the end"),
            ),
        ),
        source="source",
        source_verdict="Supported in a figure: steps 1,800 to 5,000",
    ),
    Claim(
        id="AM17",
        says=Says(
            holds="The growth of two modes predicts how long it guesses.",
            fails="The growth of two modes does not predict how long it guesses.",
            whether="whether the growth of two modes predicts how long it guesses",
        ),
        reading=Reading(
            "error of the predicted time, in the worst of four tasks,",
            RELATIVE,
            readings.worst_prediction(*JUDGED),
            draws=DRAWS,
        ),
        remark=f"{ONE_DRAW} Guessing is counted within a tenth of a nat. Within a fifth or a twentieth of one the "
        "error is below the bound as well; within three hundredths it is 22 %, and this would be Refuted.",
        bound=at_most(0.15, "a seventh: modes are taken to grow alone, and to be small until they are not"),
    ),
    Claim(
        id="AM18",
        says=Says(
            holds="Softmax attention guesses as well, for a good part of training.",
            fails="Softmax attention hardly guesses.",
            whether="whether softmax attention guesses as well",
        ),
        reading=Reading(
            "time of guessing, of the time until facts are known,", TIME, readings.guess(SOFTMAX, "share"), draws=DRAWS
        ),
        remark=ONE_DRAW,
        bound=at_least(0.25, "a quarter of training"),
    ),
    Claim(
        id="AM19",
        says=Says(
            holds="Trained by Adam, a model of facts does not guess first: it learns relation and subject at once.",
            fails="Trained by Adam, a model of facts guesses first, too.",
            whether="whether a model of facts guesses first if it is trained by Adam",
        ),
        reading=Reading(
            "time of guessing under Adam, of the time until facts are known,",
            TIME,
            readings.guess(ADAM, "share"),
            draws=DRAWS,
        ),
        remark=ONE_DRAW,
        bound=at_most(0.05, "a twentieth of training"),
        controls=(
            Control(
                reading=Reading(
                    "prompts answered rightly at the end", PROMPTS, readings.at_end(ADAM, "accuracy"), draws=DRAWS
                ),
                bound=at_least(NEARLY_ALL, "facts must be learnt in the end"),
            ),
            Control(
                reading=Reading(
                    "time of guessing under Adam with softmax attention, of the time until facts are known,",
                    TIME,
                    readings.guess(ADAM_SOFTMAX, "share"),
                    draws=DRAWS,
                ),
                bound=at_most(0.05, "a twentieth of training"),
            ),
        ),
    ),
)
