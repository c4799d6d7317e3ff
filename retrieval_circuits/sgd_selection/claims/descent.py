"""Claims on networks trained by SGD in place of Adam: whether they read, who wins in them, and what tells it before."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, POINTS, at_least, at_most, share_of
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import DESCENT, SLOWER

NETWORKS_SHARE, CHECKPOINTS = map(share_of, ("networks", "checkpoints"))

# Declared on 2026-11-27, when Adam's networks were known and, of SGD's, one pilot of init seed 99 at the chosen rate,
# which read by step 6,500 and whose winner joined half of the values at the end. Whom it pushes, and who wins from the
# same start by Adam, was not looked at.
DESCENTS = (
    Claim(
        id="SS27",
        says=Says(
            holds=f"By SGD, too, most networks learn the look-up within {SLOWER} times Adam's steps.",
            fails=f"By SGD most networks do not learn the look-up within {SLOWER} times Adam's steps.",
            whether="whether SGD learns the look-up",
        ),
        reading=Reading("share of networks that read as well as asked", NETWORKS_SHARE, readings.learnt(DESCENT)),
        rule=Share(each=at_least(1, "it does")),
        bound=MORE_OFTEN_THAN_NOT,
    ),
    Claim(
        id="SS28",
        says=Says(
            holds="From the same start, on the same rows, SGD and Adam mostly give the same winner.",
            fails="From the same start, on the same rows, SGD and Adam mostly give different winners.",
            whether="whether SGD and Adam give one start the same winner",
        ),
        reading=Reading(
            "whether the winner is that of Adam's network of the same start", NETWORKS_SHARE, readings.shares_winner
        ),
        rule=Share(each=at_least(1, "it is")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(
                reading=Reading(
                    "share of Adam's networks of other starts with the same winner",
                    NETWORKS_SHARE,
                    readings.shares_anothers,
                ),
                bound=at_most(0.5, "chance is a quarter: no head wins wherever training starts"),
            ),
        ),
    ),
    Claim(
        id="SS29",
        says=Says(
            holds="Where SGD trains, the push names the winner oftener than what heads join already.",
            fails="Where SGD trains, too, what heads join already names the winner as often as the push.",
            whether="whether the push names SGD's winner better than the score",
        ),
        reading=Reading(
            "share of checkpoints at which the push names the winner, less that of the score,",
            POINTS,
            Less(readings.ranked_first("push", DESCENT), readings.ranked_first("joins", DESCENT)),
        ),
        bound=at_least(0.1, "ten points, as of Adam's networks"),
    ),
    Claim(
        id="SS30",
        says=Says(
            holds="Where SGD trains, the gradient of one moment tells which head gains most up to the next checkpoint.",
            fails="Where SGD trains, too, the gradient of one moment seldom tells which head gains most next.",
            whether="whether under SGD the head that is pushed most gains most",
        ),
        reading=Reading(
            "share of checkpoints at which the head that is pushed most gains most up to the next",
            CHECKPOINTS,
            readings.selection_law(DESCENT),
        ),
        bound=at_least(0.5, "twice chance, which is a quarter, as of Adam's networks"),
    ),
    Claim(
        id="SS31",
        says=Says(
            holds="At equal loss the head that joins most joins nearly as much by SGD as by Adam.",
            fails="At equal loss the head that joins most joins much less by SGD than by Adam.",
            whether="whether at equal loss SGD's winner joins as much as Adam's",
        ),
        reading=Reading(
            "what the head that joins most joins by SGD, less the same by Adam, at the lowest loss that both reach,",
            POINTS,
            readings.joins_at_equal_loss,
        ),
        bound=at_least(-0.1, "ten points less"),
    ),
)
