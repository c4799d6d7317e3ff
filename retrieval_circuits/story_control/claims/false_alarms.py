"""Claims on networks that cannot have the circuit: how often it, or a part of it, is reported of them."""

from functools import partial

from livingpaper.claims.claim import Claim, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import at_most, share_of
from retrieval_circuits.story_control import readings
from retrieval_circuits.story_control.claims.shared import BY, able, name
from retrieval_circuits.story_control.design import COULD_FAIL
from retrieval_circuits.story_control.readings import ANY, DEFINITIONS, WHOLE

ERROR = at_most(0.05, "one network of twenty, the usual bound on errors")
KINDS = "shuffled targets, one layer, untrained"
MIXED = (
    "The share and its interval are of a mix, in equal parts, of three kinds of network: all of these births are of "
    "networks of one layer, most of which have one; the other two kinds have none. Not one reports a part that "
    "is not there: networks of one layer do copy. It says how often a part is born without the circuit."
)


def _reported(what: str, entry: str, definitions: str) -> Reading:
    return Reading(
        f"networks with {what}, of the three that a seed has ({KINDS}), {BY[definitions]},",
        share_of("networks"),
        partial(readings.share_reported, definitions=definitions, entry=entry),
        arms=COULD_FAIL,
    )


def _whole(definitions: str) -> Claim:
    by = BY[definitions]
    return Claim(
        id=name("SC5", definitions),
        says=Says(
            holds=f"The battery, {by}, reports the whole circuit in at most one of twenty networks that cannot have "
            "it.",
            fails=f"The battery, {by}, reports the whole circuit in more than one of twenty networks that cannot have "
            "it: in {effect} of them.",
            whether=f"whether the battery, {by}, reports the whole circuit in at most one of twenty networks that "
            "cannot have it",
        ),
        reading=_reported("all four births", WHOLE, definitions),
        rule=Share(),
        bound=ERROR,
        controls=(able(definitions),),
        void="the whole circuit needs nine right answers in ten on held-out prompts, and shuffled targets or no "
        "training leave a network with no more than a guess; one layer, read at the last token, answered a third in "
        "its time.",
    )


def _any(definitions: str) -> Claim:
    by = BY[definitions]
    return Claim(
        id=name("SC6", definitions),
        says=Says(
            holds=f"The battery, {by}, reports single births in at most one of twenty networks that cannot have the "
            "circuit.",
            fails=f"The battery, {by}, reports single births in more than one of twenty networks that cannot have the "
            "circuit: in {effect} of them, three kinds together.",
            whether=f"whether the battery, {by}, reports single births in at most one of twenty networks that cannot "
            "have the circuit",
        ),
        reading=_reported("any of the four births", ANY, definitions),
        rule=Share(),
        bound=ERROR,
        controls=(able(definitions),),
        remark=MIXED,
    )


FALSE_ALARMS = (*map(_whole, DEFINITIONS), *map(_any, DEFINITIONS))
