"""Claims on mixtures that are trained much longer: whether one hop a layer was a matter of time."""

from dataclasses import replace

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share, Some
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, at_least
from retrieval_circuits.composition.claims.shared import (
    IS_ANSWERED,
    IS_HELD,
    NOT_HELD,
    final_score,
    held_where_answered,
)
from retrieval_circuits.composition.design import (
    FRESH_TWO,
    IN_WORDS,
    LONG_FOUR,
    LONG_THREE,
    LONG_TWO,
    MUCH_LONGER,
    N_HEADS,
    WORDS,
    Arm,
)
from retrieval_circuits.composition.published import DOUBLES, POLYNOMIAL
from retrieval_circuits.composition.readings import QUERY

SO_LONG = f"trained {IN_WORDS[MUCH_LONGER]} times as long"


def _hold_two(words: str, after: int, hop: int) -> Reading:
    """Whether the words of a permutation hold two hops, in networks of three layers that answer four."""
    return held_where_answered(words, LONG_THREE, 4, after, variable=f"maps_{hop}", edit="hops_2")


LAYERS = {2: "two", 3: "three", 4: "four"}
HEADS = {2: " of two wide heads", N_HEADS: "", 8: " of eight narrow heads"}


def learn(claim_id: str, arm: Arm, hops: int) -> Claim:
    """From a mixture, trained for much longer, networks of an arm learn a number of hops more often than not."""
    layers, more, before = LAYERS[arm.n_layers], hops > arm.n_layers, hops - 1
    named = f"layers{HEADS[arm.n_heads]}"
    learn, passing = f"{named} learn {WORDS[hops]} more often than not", ": more than one a layer" if more else ""
    return Claim(
        id=claim_id,
        says=Says(
            holds=f"From a mixture, {SO_LONG}, networks of {layers} {learn}{passing}.",
            fails=f"From a mixture, even {SO_LONG}, networks of {layers} {named} mostly do not learn {WORDS[hops]}.",
            whether=f"whether {layers} {learn} where they are {SO_LONG}",
        ),
        reading=final_score(arm, hops, WORDS[hops]),
        rule=Share(each=IS_ANSWERED),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(Control(reading=final_score(arm, before, WORDS[before]), bound=IS_ANSWERED, spoils="no"),),
        source="source",
        source_verdict=DOUBLES if more else f"Proved, for a network and a training of their design: {POLYNOMIAL}",
        source_stance="elsewhere",
    )


LONGER = (
    learn("KF25", LONG_FOUR, 4),
    replace(
        learn("KF26", LONG_THREE, 4),
        remark="Looked at twice: twelve networks had left it open by little, and ten were added for that reason. "
        "Corrected for two looks it stands.",
    ),
    learn("KF27", LONG_TWO, 3),
    Claim(
        id="KF28",
        says=Says(
            holds=f"In networks of three layers that, {SO_LONG}, answer four hops, the words of the second permutation "
            "hold two hops after one layer, on average.",
            fails=f"In networks of three layers that, {SO_LONG}, answer four hops, the words of the second permutation "
            "do not hold two hops after one layer, on average.",
            whether=f"whether in three layers that, {SO_LONG}, answer four hops words of the second permutation hold "
            "two hops after one layer",
        ),
        reading=_hold_two("answers as if the second permutation's words held two hops after one layer,", 1, 2),
        bound=IS_HELD,
        controls=(
            Control(
                reading=_hold_two("the same before the first layer", 0, 2),
                bound=NOT_HELD,
            ),
        ),
    ),
    Claim(
        id="KF29",
        says=Says(
            holds=f"In networks of three layers that, {SO_LONG}, answer four hops, the words of the fourth permutation "
            "hold hops three and four after one layer, as doubling has it, on average.",
            fails=f"In networks of three layers that, {SO_LONG}, answer four hops, the words of the fourth permutation "
            "are mostly not read as holding hops three and four after one layer.",
            whether=f"whether in three layers that, {SO_LONG}, answer four hops words of the fourth permutation hold "
            "hops three and four after one layer",
        ),
        reading=_hold_two(
            "answers as if the fourth permutation's words held hops three and four after one layer,", 1, 4
        ),
        bound=IS_HELD,
        controls=(
            Control(
                reading=_hold_two("the same before the first layer", 0, 4),
                bound=NOT_HELD,
            ),
        ),
        remark="Looked at twice: ten networks were added to twelve, as these had left KF26 open.",
    ),
    Claim(
        id="KF30",
        says=Says(
            holds=f"From a mixture, {SO_LONG}, some networks of two layers learn four hops, one more than our "
            "construction by doubling makes.",
            fails=f"From a mixture, even {SO_LONG}, fewer than every third network of two layers learn four hops.",
            whether=f"whether any network of two layers learns four hops where it is {SO_LONG}",
        ),
        reading=final_score(FRESH_TWO, 4, "four hops"),
        rule=Some(each=IS_ANSWERED),
        bound=at_least(1 / 3, "every third: none of ten would leave room for as many as 31 %"),
    ),
    Claim(
        id="KF31",
        says=Says(
            holds=f"In networks of two layers that, {SO_LONG}, answer three hops, the words of the third permutation "
            "hold hops two and three after one layer, on average: they double, and the query makes the first hop.",
            fails=f"In networks of two layers that, {SO_LONG}, answer three hops, the words of the third permutation "
            "are mostly not read as holding hops two and three after one layer.",
            whether=f"whether in two layers that, {SO_LONG}, answer three hops words of the third permutation hold "
            "hops two and three after one layer",
        ),
        reading=held_where_answered(
            "answers as if the third permutation's words held hops two and three after one layer,",
            FRESH_TWO, 3, 1, variable="maps_3", edit="hops_2",
        ),
        bound=IS_HELD,
        controls=(
            Control(
                reading=held_where_answered(
                    "the same before the first layer", FRESH_TWO, 3, 0, variable="maps_3", edit="hops_2"
                ),
                bound=NOT_HELD,
            ),
            Control(
                reading=held_where_answered(
                    "answers as if the query stood after one hop, after one layer,", FRESH_TWO, 3, 1,
                    metric=QUERY, variable="x_1",
                ),
                bound=IS_HELD,
            ),
        ),
    ),
)  # fmt: skip
