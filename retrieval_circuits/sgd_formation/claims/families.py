"""Claims on families of sparse features. Declared on 2026-11-28, before the features of any of these were looked at.

What was known then: in the source's own figure, of eight families that it draws, four gain more over all of training
than the one that it goes on with, and one of a single feature gains more than that one on held-out pairs. The claim was
marked as the source's at first; but the source ranks no single features, and it is ours.

It was Refuted, in 0 % [0, 17] of twenty networks, and is void: which features are joined had not been counted when it
was declared, and nineteen networks have no family of several that could have led.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, Unit, at_least, at_most, share_of
from retrieval_circuits.sgd_formation.readings.families import of_families

FAMILIES = (
    Claim(
        id="SF43",
        says=Says(
            holds="Where single features count, too, the family that gains most as reading is learnt has several "
            "features in most networks.",
            fails="Where single features count, too, the family that gains most as reading is learnt does not have "
            "several features in most networks.",
            whether="whether the family that gains most as reading is learnt has several features in most networks, "
            "where single features count, too",
        ),
        reading=Reading(
            "sparse features of the family that gains most while a network learns to read",
            Unit(name="features", digits=1),
            of_families("members"),
        ),
        rule=Share(each=at_least(2, "several")),
        bound=MORE_OFTEN_THAN_NOT,
        void="by the source's rule nineteen of the twenty networks have no family of several features, so that one of "
        "a single feature had to lead in most.",
        controls=(
            Control(
                reading=Reading(
                    "how often it has several where features are dealt by lot to families of the same sizes",
                    share_of("deals"),
                    of_families("several_lead_by_lot"),
                ),
                bound=at_most(0.5, "less often than not: to lead, features must go together"),
            ),
        ),
    ),
)
