"""Claims on which links of the source's prompts small networks look up."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.units import at_least, at_most, share_of
from retrieval_circuits.chain_prompts.design import ALONE, LINES, RELATIVES
from retrieval_circuits.chain_prompts.readings import accuracy

QUESTIONS = share_of("questions")
ANSWERED = at_least(
    0.9, "nine of ten questions: no reader who leaves a link of F1 unread is right on more than a quarter"
)
GUESSED = at_most(0.35, "ten points above a quarter, which every reader gets who leaves a link unread")


def _answered(arm: str, depth: int) -> Reading:
    links = f"{depth} look-up{'s' * (depth > 1)}"
    return Reading(f"questions of {links} answered, {arm},", QUESTIONS, accuracy(arm, depth))


CLAIMS = (
    Claim(
        id="CP1",
        says=Says(
            holds="Small networks trained on the source's equations look up one link.",
            fails="Small networks trained on the source's equations do not look up even one link.",
            whether="whether small networks trained on the source's equations look up one link",
        ),
        reading=_answered(ALONE, 1),
        bound=ANSWERED,
    ),
    Claim(
        id="CP2",
        says=Says(
            holds="Where the answer alone is rewarded, they guess from the second look-up on.",
            fails="Where the answer alone is rewarded, they do not guess at the second look-up.",
            whether="whether they guess at the second look-up where the answer alone is rewarded",
        ),
        reading=_answered(ALONE, 2),
        bound=GUESSED,
        controls=(Control(reading=_answered(ALONE, 1), bound=ANSWERED),),
    ),
    Claim(
        id="CP3",
        says=Says(
            holds="Rewarding every line does not help within as many steps: two look-ups remain a guess.",
            fails="With every line rewarded, two look-ups are no guess.",
            whether="whether two look-ups remain a guess where every line is rewarded",
        ),
        reading=_answered(LINES, 2),
        bound=GUESSED,
        controls=(Control(reading=_answered(LINES, 1), bound=ANSWERED),),
    ),
    Claim(
        id="CP4",
        says=Says(
            holds="Trained on relatives with the answer alone rewarded, they do no better than a guess.",
            fails="Trained on relatives with the answer alone rewarded, they do better than a guess.",
            whether="whether networks trained on relatives do better than a guess",
        ),
        reading=_answered(RELATIVES, 4),
        bound=at_most(0.1, "below the least of the readers who know some links, and near one of sixteen"),
    ),
    Claim(
        id="CP5",
        says=Says(
            holds="Networks that know the words of the equations do not evaluate functions told in the same words.",
            fails="Networks that know the words of the equations answer more questions on functions than a guess.",
            whether="whether networks that know the words of the equations evaluate functions told in them",
        ),
        reading=Reading("questions on functions (F4) answered, F1, every line,", QUESTIONS, accuracy(LINES, 2, "F4")),
        bound=at_most(0.35, "ten points above a quarter, a guess"),
        controls=(Control(reading=_answered(LINES, 1), bound=ANSWERED),),
    ),
)
