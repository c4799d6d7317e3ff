"""Claims on how many neurons reading rests on. Declared on 2026-11-28, before any network's neurons were set aside."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less
from livingpaper.claims.units import at_least, at_most
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_formation.claims.small_networks import GAP, SCORE, TEN_ADDED
from retrieval_circuits.sgd_formation.readings import networks as readings

FIRST_MLP = "L0MLP"
_without = partial(readings.without_neurons, FIRST_MLP)

NEURONS = (
    Claim(
        id="SF38",
        says=Says(
            holds="Without the eight neurons of the first MLP that cost most alone, nine in ten reads are right.",
            fails="Without the eight neurons of the first MLP that cost most alone, fewer than nine in ten reads are "
            "right.",
            whether="whether nine in ten reads are right without the eight neurons of the first MLP that cost most "
            "alone",
        ),
        reading=SCORE("accuracy without them, set to their means,", values=_without("top 8")),
        bound=BEHAVIOUR,
        controls=(
            Control(
                reading=SCORE("accuracy with all of its neurons set to their means", values=_without("all")),
                bound=at_most(0.5, "it is needed as a whole"),
            ),
        ),
        source="source",
        source_verdict="Supported",
        source_stance="elsewhere",
        remark=TEN_ADDED,
    ),
    Claim(
        id="SF39",
        says=Says(
            holds="It matters which neurons of the first MLP: the eight that cost most alone cost five points more "
            "than eight by lot, or more.",
            fails="It hardly matters which neurons of the first MLP: the eight that cost most alone cost less than "
            "five points more than eight by lot.",
            whether="whether the eight neurons of the first MLP that cost most alone cost five points more together "
            "than eight by lot",
        ),
        reading=GAP(
            "accuracy without eight by lot, less that without the eight that cost most,",
            values=Less(_without("drawn 8"), _without("top 8")),
        ),
        bound=at_least(0.05, "five points, the margin that rules have"),
        remark=TEN_ADDED,
    ),
)
