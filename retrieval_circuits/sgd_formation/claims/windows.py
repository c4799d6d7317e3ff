"""Claims on what carries the rise of the look-up in the source's network on our stream, stage by stage.

Written when all was known of these five networks but this: no state had been exchanged between checkpoints of any, and
there was no pilot. The source patches later states into an earlier checkpoint, finds that those behind the last layer
carry most, and has no control.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.units import Unit, at_least, at_most
from retrieval_circuits.sgd_formation.measures.windows import BY_LOT, OTHER_ROWS
from retrieval_circuits.sgd_formation.readings.windows import LOST, REGAINED, by_stage

RISE = Unit(name="%", of="the rise", times=100)
FIRST, LAST = "L0.resid_post", "L2.resid_post"
"""Stages: behind the first layer, and behind the last."""
HALF_OF_IT, NOT_CHANGE_AT_ALL = "half of the rise", "it is not that states change at all"


def _by_others(edit: str, words: str, why: str) -> Control:
    reading = Reading(f"of the rise, what earlier weights regain by {words}", RISE, by_stage(REGAINED, LAST, edit))
    return Control(reading=reading, bound=at_most(0.1, why))


WHAT_CARRIES = (
    Claim(
        id="SF52",
        says=Says(
            holds="On our stream the source's network before the rise reads out the states that it has behind its last "
            "layer after the rise, nearly as well as it does then.",
            fails="On our stream the source's network before the rise does not read out the states that it has behind "
            "its last layer after the rise nearly as well as it does then.",
            whether="whether the source's network before the rise can read out the states that it has behind its last "
            "layer after the rise",
        ),
        reading=Reading(
            "of the rise, what earlier weights regain by later states behind the last layer",
            RISE,
            by_stage(REGAINED, LAST),
        ),
        bound=at_least(0.9, "nearly all of it; who patches these states has run the later network"),
        controls=(
            _by_others(OTHER_ROWS, "those of other rows", "it is this row's states that carry it"),
            _by_others(BY_LOT, "a change as large, drawn by lot", NOT_CHANGE_AT_ALL),
        ),
        remark="Only the last norm and the unembedding are left to differ there. Neither control could have failed.",
    ),
    Claim(
        id="SF53",
        says=Says(
            holds="What the first layer of the source's network comes to write is of little use to what follows it "
            "before the rise: given the later network's states behind it, earlier weights regain less than half.",
            fails="What reads the first layer of the source's network is there before the rise: given the later "
            "network's states behind that layer, earlier weights regain half or more.",
            whether="whether the later layers of the source's network can use what the first one comes to write before "
            "the rise",
        ),
        reading=Reading(
            "of the rise, what earlier weights regain by later states behind the first layer",
            RISE,
            by_stage(REGAINED, FIRST),
        ),
        bound=at_most(0.5, HALF_OF_IT),
        controls=(
            Control(
                reading=Reading("the same behind the last layer", RISE, by_stage(REGAINED, LAST)),
                bound=at_least(0.5, "states that are put in can bring the rise"),
            ),
        ),
    ),
    Claim(
        id="SF54",
        says=Says(
            holds="The rise needs what the first layer of the source's network comes to write: given the earlier "
            "network's states behind it, later weights lose half of the rise or more.",
            fails="The later layers of the source's network make most of the rise from what the first one wrote before "
            "it: given the earlier network's states behind that layer, later weights lose less than half.",
            whether="whether the rise needs what the first layer of the source's network comes to write",
        ),
        reading=Reading(
            "of the rise, what later weights lose by earlier states behind the first layer",
            RISE,
            by_stage(LOST, FIRST),
        ),
        bound=at_least(0.5, HALF_OF_IT),
        controls=(
            Control(
                reading=Reading(
                    "of the rise, what later weights lose by a change as large, drawn by lot",
                    RISE,
                    by_stage(LOST, FIRST, BY_LOT),
                ),
                bound=at_most(0.5, NOT_CHANGE_AT_ALL),
            ),
        ),
        remark="Less what a change as large, drawn by lot, costs, it is 51 % [27, 74], and open; in one start that "
        "change alone costs more than half.",
    ),
)
