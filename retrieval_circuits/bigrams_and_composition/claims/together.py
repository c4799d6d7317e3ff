"""Claims on three single steps by rows and channels together, added last, before their own seeds; pilots: 900, 901."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, best_of
from livingpaper.claims.units import at_least, at_most
from retrieval_circuits.bigrams_and_composition import readings
from retrieval_circuits.bigrams_and_composition.claims.first import APART, PAIRS
from retrieval_circuits.bigrams_and_composition.design import OTHERS_TO
from retrieval_circuits.bigrams_and_composition.measures import K1, O2

CLAIMS = (
    Claim(
        id="BC26",
        says=Says(
            holds="Noise alone predicts what the first step stores in W_O2, on average over rows and channels.",
            fails="Noise alone does not predict what the first step stores in W_O2, on average over rows and channels.",
            whether="whether noise alone predicts what the first step stores in W_O2, on average over rows and "
            "channels",
        ),
        reading=Reading(
            "distance of the share that W_O2 recalls from the closed form, the mean over the map,",
            APART,
            readings.off_noise(O2),
        ),
        bound=at_most(0.1, "two of the eighteen outputs; a draw of so many strays by half of that on average"),
        controls=(
            Control(
                reading=Reading("the same distance of what W_K1 recalls", APART, readings.off_noise(K1)),
                bound=at_least(0.3, "it must not fit a matrix of which it knows nothing"),
            ),
        ),
    ),
    Claim(
        id="BC27",
        says=Says(
            holds=f"With up to {OTHERS_TO:,} rows no other order stores most pairs of all three anywhere on this map.",
            fails=f"With up to {OTHERS_TO:,} rows another order stores most pairs of all three somewhere on this map.",
            whether=f"whether with up to {OTHERS_TO:,} rows another order stores most pairs of all three somewhere on "
            "the map",
        ),
        reading=Reading(
            f"pairs that the worst of three matrices recalls, in the best of the other orders and of the sizes up to "
            f"{OTHERS_TO:,} rows,",
            PAIRS,
            readings.best_on_map(*readings.OTHERS),
        ),
        bound=at_most(0.5, "most pairs, as is asked of the order of the theorem"),
        controls=(
            Control(
                reading=Reading("the same of the order of the theorem", PAIRS, readings.best_on_map(readings.IN_ORDER)),
                bound=at_least(0.5, "it must store most somewhere"),
            ),
        ),
    ),
    Claim(
        id="BC28",
        says=Says(
            holds="For previous positions rows cannot replace channels, nor channels rows: with the fewest of either, "
            "W_K1 recalls few.",
            fails="With the fewest rows or the fewest channels W_K1 recalls more than a few positions.",
            whether="whether rows can replace channels, or channels rows",
        ),
        reading=Reading(
            "positions that W_K1 recalls with most rows and fewest channels, or fewest rows and right angles, "
            "whichever are more,",
            PAIRS,
            best_of(readings.previous_at("most", "fewest"), readings.previous_at("fewest", "right angles")),
        ),
        bound=at_most(0.4, "less than the least that the control must reach, by two of nineteen positions"),
        controls=(
            Control(
                reading=Reading(
                    "positions recalled with most rows and right angles",
                    PAIRS,
                    readings.previous_at("most", "right angles"),
                ),
                bound=at_least(0.5, "both together must do"),
            ),
        ),
    ),
)
