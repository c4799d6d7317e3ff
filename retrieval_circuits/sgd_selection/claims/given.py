"""Claims on networks in which one head is told from the start where to look."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.units import Unit, at_least, at_most, share_of
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import GIVEN, GIVEN_TWO

FREE_STEPS = Unit(name="%", of="steps", times=100, low=0.0)
VALUES, NETWORKS_SHARE = map(share_of, ("values", "networks"))

# Declared on 2026-11-28, before any of these networks was trained; there was no pilot. Of the free ones all was known.
GIVENS = (
    Claim(
        id="SS32",
        says=Says(
            holds="Give a network from the start a head that looks at the word before, and it learns the look-up in "
            "less than half the time.",
            fails="Give a network from the start a head that looks at the word before: it still takes half the time, "
            "or more, to learn the look-up.",
            whether="whether a network that is given such a head learns the look-up in less than half the time",
        ),
        reading=Reading(
            "steps until half of the reads are right, over those of the same start with nothing given,",
            FREE_STEPS,
            readings.share_of_time(GIVEN),
        ),
        bound=at_most(0.5, "the wait for a head that joins is then the longer part"),
        controls=(
            Control(
                reading=Reading(
                    "the same where the head looks two words back, which joins nothing",
                    FREE_STEPS,
                    readings.share_of_time(GIVEN_TWO),
                ),
                bound=at_least(0.75, "it is the look at the key that saves time, not a head that is told to look"),
            ),
            Control(
                reading=Reading(
                    "share of the networks that come to it in the half of the steps that they have",
                    NETWORKS_SHARE,
                    readings.comes_to_read(GIVEN),
                ),
                bound=at_least(0.9, "one that does not would count as if it did at its last step"),
            ),
        ),
    ),
    Claim(
        id="SS33",
        says=Says(
            holds="While that head is given, no other of its layer comes to join.",
            fails="While that head is given, another of its layer comes to join all the same.",
            whether="whether another head comes to join while one is given",
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
        ),
    ),
)
