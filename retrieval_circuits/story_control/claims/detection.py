"""Claims on networks that retrieve: whether the circuit is reported where it can be learnt."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, at_end
from livingpaper.claims.rules import Every, Share
from livingpaper.claims.units import at_least, share_of
from retrieval_circuits.story_control.claims.shared import BY, THE_WHOLE, TRAINED_ON, births, name
from retrieval_circuits.story_control.design import PHRASES, PLANTED
from retrieval_circuits.story_control.readings import DEFINITIONS, LEARNT

FOUND = at_least(0.8, "what so few networks can show, with room for one that is missed")


def _learnt(arm: str) -> Control:
    """Every one of the networks, as was declared: one that did not learn has nothing to be found, and counts as missed.

    The whole circuit includes behaviour, so that networks that answer nothing can only make the share too low.
    """
    return Control(
        reading=Reading(
            f"accuracy on held-out rows of {TRAINED_ON[arm]}", share_of("rows"), at_end("accuracy", arm, split="test")
        ),
        rule=Every(each=at_least(LEARNT, "the source's threshold for behaviour")),
        bound=at_least(0.8, "as large a share as is to be reported"),
        spoils="no",
    )


def _reported(claim: str, arm: str, says: Says, definitions: str) -> Claim:
    return Claim(
        id=name(claim, definitions),
        says=says,
        reading=births(arm, definitions),
        rule=Share(each=THE_WHOLE),
        bound=FOUND,
        controls=(_learnt(arm),),
    )


def _repeats(definitions: str) -> Claim:
    by = BY[definitions]
    says = Says(
        holds=f"{by.capitalize()} the battery reports the whole circuit of planted repeats.",
        fails=f"{by.capitalize()} the battery does not report the whole circuit of planted repeats reliably: it "
        "does in {reached} of {n} networks.",
        whether=f"whether the battery reports the whole circuit of planted repeats {by}",
    )
    return _reported("SC4", PLANTED, says, definitions)


def _phrases(definitions: str) -> Claim:
    by = BY[definitions]
    says = Says(
        holds=f"{by.capitalize()} the battery reports retrieval of phrases of eight words, too.",
        fails=f"{by.capitalize()} the battery does not report retrieval of phrases of eight words reliably: it does in "
        "{reached} of {n} networks.",
        whether=f"whether retrieval is reported {by} where phrases of eight words come twice",
    )
    return _reported("SC7", PHRASES, says, definitions)


OF_REPEATS = tuple(map(_repeats, DEFINITIONS))
OF_PHRASES = tuple(map(_phrases, DEFINITIONS))
