"""Claims on networks in which one head is told from the start where to look."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import Unit, at_least, at_most, share_of
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import GIVEN, GIVEN_TWO, NETWORKS

FREE_STEPS = Unit(name="%", of="steps", times=100, low=0.0)
VALUES, NETWORKS_SHARE = map(share_of, ("values", "networks"))
COME_TO_READ = Reading(
    "share of the networks that have half of their reads right by their last step",
    NETWORKS_SHARE,
    readings.comes_to_read(GIVEN),
)
MENDED = (
    "All was fixed before any of these networks was looked at. Since the results were seen the control on who comes to "
    "read is counted as a share; before, as a mean."
)

# Declared on 2026-11-28, before any of these networks was trained; there was no pilot. Of the free ones all was known.
# A hostile reading mended them while the networks were in training and before any was looked at: two more controls, and
# sentences that say less.
GIVENS = (
    Claim(
        id="SS32",
        says=Says(
            holds="Give networks from the start a head that looks at the word before, and on average they learn the "
            "look-up in less than half the time.",
            fails="Give networks from the start a head that looks at the word before: on average they still take half "
            "the time, or more, to learn the look-up.",
            whether="whether networks that are given such a head learn the look-up in less than half the time",
        ),
        reading=Reading(
            "steps until half of the reads are right, over those of the same start with nothing given,",
            FREE_STEPS,
            readings.share_of_time(GIVEN, NETWORKS),
        ),
        bound=at_most(0.5, "most of the time then goes when that look is given"),
        controls=(
            Control(
                reading=Reading(
                    "the same where the head looks two words back, where no value has its key",
                    FREE_STEPS,
                    readings.share_of_time(GIVEN_TWO, NETWORKS),
                ),
                bound=at_least(0.75, "it is the look one word back that saves time, not a head that is told to look"),
            ),
            Control(
                reading=Reading(
                    "the steps of those told to look one back, over those told to look two back,",
                    FREE_STEPS,
                    readings.share_of_time(GIVEN, GIVEN_TWO),
                ),
                bound=at_most(0.5, "it is not the engine, which is another one than of the free networks"),
            ),
            Control(
                reading=COME_TO_READ,
                rule=Share(),
                bound=at_least(0.9, "one that does not would count as if it did at its last step"),
            ),
        ),
        declared="after",
        remark=MENDED,
    ),
    Claim(
        id="SS33",
        says=Says(
            holds="While one head is given that look, other heads of its layer join few of the values by the end of "
            "their training, on average.",
            fails="While one head is given that look, another of its layer joins more than a quarter of the values, "
            "on average.",
            whether="whether another head joins values while one is given that look",
        ),
        reading=Reading(
            "the most that another head of the layer joins at the end", VALUES, readings.others_join(GIVEN)
        ),
        bound=at_most(0.25, "half of what makes a winner"),
        controls=(
            Control(
                reading=Reading(
                    "the same where the head that is told looks two words back", VALUES, readings.others_join(GIVEN_TWO)
                ),
                bound=at_least(0.5, "another head can come to join while one is told where to look"),
            ),
            Control(
                reading=COME_TO_READ,
                rule=Share(),
                bound=at_least(0.9, "one that does not read may have no head that joins, anyhow"),
            ),
        ),
        declared="after",
        remark=MENDED,
    ),
)
