"""Claims on networks that are trained on the words of the source's prompts, written before any of them was trained.

A pilot of one seed that is in no arm was looked at (``design.words``): with these rows and four layers it answered
three look-ups; with more rows four layers answered two and six layers one; on relatives it guessed. Networks of one,
two and three layers with these rows, or of six, were not looked at. Means are asked for and no shares of networks: five
of five would not say that most networks answer.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, best_of
from livingpaper.claims.rules import Every
from livingpaper.claims.units import at_least, at_most, share_of
from retrieval_circuits.stacked_heads.design import EQUATIONS, RELATIVES, Spoken, share_repeated
from retrieval_circuits.stacked_heads.readings import words as readings
from retrieval_circuits.stacked_heads.readings.words import ALIASES_UNREAD, HALFWAY, ONE_UNREAD

QUESTIONS, NETWORKS = share_of("questions"), share_of("networks")
COUNTED = {1: "one look-up", 2: "two look-ups", 3: "three look-ups"}
MIDDLE = "halfway from who knows all links but one, a quarter, to all right"
ANSWERS, DOES_NOT = at_least(HALFWAY, MIDDLE), at_most(HALFWAY, MIDDLE)
REPEATED = f"{100 * share_repeated():.0f} %"
"""Of prompts of one look-up: what those who say that it is answered must say as well."""
ONE_LINK = at_most(0.3, "who knows one link of two is right by chance, a quarter; five points for the draw of prompts")


def _answers(arm: Spoken, count: int) -> Reading:
    return Reading(
        f"questions of {COUNTED[count]}, in equations, that networks of {arm.depth} answer right",
        QUESTIONS,
        readings.answered(arm, count),
    )


def _of_layers(n_layers: int, count: int) -> Reading:
    return _answers(EQUATIONS[n_layers - 1], count)


def _best(count: int) -> Reading:
    return Reading(
        f"questions of {COUNTED[count]}, in equations, that the best of six depths answers right",
        QUESTIONS,
        best_of(*(readings.answered(arm, count) for arm in EQUATIONS)),
    )


def _enough(claim: str, says: Says, n_layers: int, count: int, *, too_few: int) -> Claim:
    """That so many layers answer so many look-ups; fewer must not, and these must answer one."""
    return Claim(
        id=claim,
        says=says,
        reading=_of_layers(n_layers, count),
        bound=ANSWERS,
        controls=(
            Control(reading=_of_layers(too_few, count), bound=DOES_NOT),
            Control(reading=_of_layers(n_layers, 1), bound=ANSWERS, spoils="no"),
        ),
    )


SOME_ANSWER_TWO = Control(reading=_best(2), bound=ANSWERS)
"""If hardly a network answers two look-ups, what one layer does not, and which are answered first, says little."""

DEPTH = (
    Claim(
        id="SH29",
        says=Says(
            holds="In words, too, one layer does not answer one look-up, though "
            f"{REPEATED} of these prompts repeat the lines of a training row.",
            fails="In words, one layer answers one look-up; "
            f"{REPEATED} of these prompts repeat the lines of a training row.",
            whether="whether one layer answers one look-up in words, where "
            f"{REPEATED} of prompts repeat the lines of a training row",
        ),
        reading=_of_layers(1, 1),
        bound=DOES_NOT,
        controls=(Control(reading=_of_layers(2, 1), bound=ANSWERS),),
    ),
    Claim(
        id="SH30",
        says=Says(
            holds="One layer does no better on two look-ups than who knows one of the two links.",
            fails="One layer does better on two look-ups than who knows one of the two links.",
            whether="whether one layer does better on two look-ups than who knows one of the links",
        ),
        reading=_of_layers(1, 2),
        bound=ONE_LINK,
        controls=(SOME_ANSWER_TWO,),
    ),
    _enough(
        "SH31",
        Says(
            holds="Three layers, one more than look-ups, answer two look-ups in words.",
            fails="Three layers, one more than look-ups, do not answer two look-ups in words in the steps they had.",
            whether="whether three layers answer two look-ups in words",
        ),
        n_layers=3,
        count=2,
        too_few=2,
    ),
    _enough(
        "SH32",
        Says(
            holds="Four layers, one more than look-ups, answer three look-ups in words.",
            fails="Four layers, one more than look-ups, do not answer three look-ups in words in the steps they had.",
            whether="whether four layers answer three look-ups in words",
        ),
        n_layers=4,
        count=3,
        too_few=3,
    ),
    _enough(
        "SH33",
        Says(
            holds="With layers to spare, six in all, networks answer three look-ups in words.",
            fails="With layers to spare, six in all, networks do not answer three look-ups in words in the "
            "steps they had.",
            whether="whether six layers answer three look-ups in words",
        ),
        n_layers=6,
        count=3,
        too_few=2,
    ),
    Claim(
        id="SH34",
        says=Says(
            holds="In words, too, fewer look-ups were answered first, in every network of ours that answers several.",
            fails="In words, not in every network of ours that answers several look-ups were fewer answered first.",
            whether="whether fewer look-ups are always answered first in words",
        ),
        reading=Reading(
            "networks, of all depths that answer two look-ups in words, that answered one before two, and two before "
            "three,",
            NETWORKS,
            readings.in_order,
        ),
        rule=Every(each=at_least(1.0, "every one of the seed's networks")),
        bound=at_least(0.45, "about every other seed: five of five cannot say more than 48 %"),
        controls=(SOME_ANSWER_TWO,),
    ),
)
OTHERS = (
    Claim(
        id="SH35",
        says=Says(
            holds="On relatives, no depth gets beyond who leaves one kind of line unread, in the steps that it had.",
            fails="On relatives, some depth gets beyond who leaves one kind of line unread.",
            whether="whether some depth gets beyond who leaves one kind of line unread, on relatives in the steps that "
            "it had",
        ),
        reading=Reading(
            "questions on relatives that the best of six depths answers right",
            QUESTIONS,
            best_of(*(readings.answered(arm, 4) for arm in RELATIVES)),
        ),
        bound=at_most(ONE_UNREAD, "who reads all but the jobs, or all but who lives with whom; guessing: a sixteenth"),
        controls=(Control(reading=_of_layers(6, 1), bound=ANSWERS),),
    ),
    Claim(
        id="SH36",
        says=Says(
            holds="Networks that answer equations do not answer functions, in the same words and longer rows.",
            fails="Networks that answer equations answer functions, of which they have seen none, in the same words "
            "and longer rows.",
            whether="whether networks that answer equations answer functions, in the same words and longer rows",
        ),
        reading=Reading(
            "questions on functions that the best of six depths, trained on equations, answers right",
            QUESTIONS,
            best_of(*(readings.answered(arm, 2, split="F4") for arm in EQUATIONS)),
        ),
        bound=at_most(ALIASES_UNREAD, "who reads all but which function an alias stands for; guessing: a quarter"),
        controls=(Control(reading=_of_layers(6, 1), bound=ANSWERS),),
        remark="It could hardly have come out otherwise: a row of functions is more than twice as long as the longest "
        "row of training.",
    ),
)
WORDS = (*DEPTH, *OTHERS)
