"""Claims on what makes networks wait for their first look-up. Written before any network of their arms was trained."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.units import Unit, at_least, at_most
from retrieval_circuits.stacked_heads.design.wait import FASTER, FIXED, LESS_NOISE, NO_DECAY
from retrieval_circuits.stacked_heads.readings.wait import wait_left, wait_without

PARTS = Unit(digits=2, low=0.0)
"""Steps until the first symbol is learnt, in those of the same network trained otherwise."""
_left = partial(Reading, unit=PARTS)
MOST_IS_LEFT = at_least(0.5, "half of the wait: what makes most of it leaves less")
CAN_MOVE = Control(
    reading=_left("wait for the first symbol with twice the learning rate, as a share", values=wait_left(FASTER)),
    bound=at_most(0.75, "a quarter less: a wait that nothing moves would make each of these hold"),
    spoils="yes",
)

WAIT = (
    Claim(
        id="SH52",
        says=Says(
            holds="Weight decay does not make most of the wait for the first look-up.",
            fails="Weight decay makes most of the wait for the first look-up.",
            whether="whether weight decay makes most of the wait for the first look-up",
        ),
        reading=_left("wait for the first symbol without weight decay, as a share", values=wait_left(NO_DECAY)),
        bound=MOST_IS_LEFT,
        controls=(CAN_MOVE,),
    ),
    Claim(
        id="SH53",
        says=Says(
            holds="With four times as many rows a batch, at least half of the steps to the first look-up are left.",
            fails="With four times as many rows a batch, less than half of the steps to the first look-up are left.",
            whether="whether four times as many rows a batch leave half of the steps to the first look-up",
        ),
        reading=_left(
            "wait for the first symbol with four times the rows a batch, as a share", values=wait_left(LESS_NOISE)
        ),
        bound=MOST_IS_LEFT,
        controls=(CAN_MOVE,),
    ),
    Claim(
        id="SH54",
        says=Says(
            holds="Seeing the same rows again does not make most of the wait for the first look-up.",
            fails="Seeing the same rows again makes most of the wait for the first look-up.",
            whether="whether seeing the same rows again makes most of the wait for the first look-up",
        ),
        reading=_left(
            "wait for the first symbol with fresh rows, as a share of that with a fixed set", values=wait_without(FIXED)
        ),
        bound=MOST_IS_LEFT,
        controls=(CAN_MOVE,),
    ),
)
