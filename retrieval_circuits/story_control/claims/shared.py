"""What the chapter's claims share: the four births, the two sets of definitions, and the control of silence."""

from functools import partial

from livingpaper.claims.claim import Control
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import Unit, at_least
from retrieval_circuits.story_control import readings
from retrieval_circuits.story_control.design import PHRASES, PLANTED, STORY
from retrieval_circuits.story_control.readings import MOTIFS, OURS, PUBLISHED

BIRTHS = Unit(name=f"of {len(MOTIFS)}", low=0.0, high=float(len(MOTIFS)))
"""How many of the four motifs are born."""
THE_WHOLE = at_least(len(MOTIFS), "the whole circuit is all four births")
TRAINED_ON = {STORY: "the story", PLANTED: "planted repeats", PHRASES: "planted phrases"}
"""Arm -> what its networks are trained on, in a sentence."""
BY = {PUBLISHED: "by the source's definitions", OURS: "by our definitions"}


def name(claim: str, definitions: str) -> str:
    """The id of a claim under one of the two sets of definitions."""
    return f"{claim}.published" if definitions == PUBLISHED else claim


def births(arm: str, definitions: str) -> Reading:
    """How many of the four motifs are born in the network that a seed has in an arm."""
    return Reading(
        f"births in networks trained on {TRAINED_ON[arm]}, {BY[definitions]},",
        BIRTHS,
        partial(readings.births_in, arm=arm, definitions=definitions),
        arms=(arm,),
    )


def able(definitions: str) -> Control:
    """That these definitions report a circuit where there is one: the silence of those that never do says nothing."""
    return Control(
        reading=Reading(
            f"births in networks that learnt planted repeats, {BY[definitions]},",
            BIRTHS,
            partial(readings.births_where_learnt, definitions=definitions),
            arms=(PLANTED,),
        ),
        rule=Share(each=THE_WHOLE),
        bound=at_least(0.5, "half of the networks that have it"),
        spoils="yes",
    )
