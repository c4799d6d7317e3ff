"""Claims on what makes networks wait for their first look-up. Written before any network of their arms was trained.

A hostile reading came before the first of them, too: it made these claims measure from the shortcut on, where they had
counted from the start, which takes as long again; compare in doublings, where they had averaged ratios; and have a
control that repeated rows can make networks wait. No threshold but the controls' moved.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.units import DOUBLINGS, Bound, at_least, at_most
from retrieval_circuits.stacked_heads.design.wait import FASTER, FIXED, LESS_NOISE, NO_DECAY, TINY, Change
from retrieval_circuits.stacked_heads.readings.wait import more_doublings

HALF_IS_LEFT = at_least(-1, "half of the wait: what makes most of it leaves less")


def _more(words: str, change: Change) -> Reading:
    return Reading(f"doublings of the wait at the shortcut {words},", DOUBLINGS, more_doublings(change))


def _moves(words: str, change: Change, bound: Bound) -> Control:
    return Control(reading=_more(words, change), bound=bound, spoils="yes")


CAN_SHRINK = _moves("with three times the learning rate", FASTER, at_most(-1, "half: as little must be possible"))
CAN_GROW = _moves("with a set of 256 rows", TINY, at_least(1, "twice: repeated rows must be able to do it"))

WAIT = (
    Claim(
        id="SH52",
        says=Says(
            holds="Without weight decay, networks keep to the shortcut at least half as long.",
            fails="Without weight decay, networks keep to the shortcut less than half as long.",
            whether="whether weight decay keeps networks at the shortcut",
        ),
        reading=_more("without weight decay", NO_DECAY),
        bound=HALF_IS_LEFT,
        controls=(CAN_SHRINK,),
    ),
    Claim(
        id="SH53",
        says=Says(
            holds="With four times as many rows a batch, networks keep to the shortcut for half as many steps or more.",
            fails="With four times as many rows a batch, networks leave the shortcut in less than half as many steps.",
            whether="whether four times as many rows a batch leave half of the steps at the shortcut",
        ),
        reading=_more("with four times as many rows a batch", LESS_NOISE),
        bound=HALF_IS_LEFT,
        controls=(CAN_SHRINK,),
    ),
    Claim(
        id="SH54",
        says=Says(
            holds="With a fixed set of 16,384 rows, networks keep to the shortcut at most twice as long as with fresh "
            "rows.",
            fails="With a fixed set of 16,384 rows, networks keep to the shortcut more than twice as long as with "
            "fresh rows, or never leave it.",
            whether="whether a fixed set of 16,384 rows keeps networks at the shortcut more than twice as long",
        ),
        reading=_more("with a fixed set of 16,384 rows", FIXED),
        bound=at_most(1, "twice: what makes most of a wait at least doubles it"),
        controls=(CAN_GROW,),
    ),
)
