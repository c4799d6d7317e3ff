"""Claims on where networks stay: at the shortcut, whatever their depth, or half-way, at some places of a block.

Written before any network of their arms was trained. That ten networks of four layers, rewarded for the last symbol
alone, had all stayed at the shortcut was known; so were the errors by place of the first ten networks of one layer,
which suggested SH63 and SH64. Six layers were planned for SH62, too, and left out for want of time, before any of its
networks was looked at. SH65 asks of these, and was written when SH62 was judged and before any of them was trained.
SH66 and SH67 ask of one look-up with layers to spare, at the depths that were trained last, and were written before
any of these networks was trained; networks of two layers, and those of the control of SH66, had been judged.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, STEPS, at_least, at_most
from retrieval_circuits.stacked_heads.claims.bounds import ERROR, ERROR_MORE, IS_LEARNT, STAYS
from retrieval_circuits.stacked_heads.design import (
    ALONE,
    FRESH_ONE,
    LAST_ALONE,
    ONE,
    ONE_DEEP,
    REWARDED,
    SIX_ALONE,
    STEPS_AN_EPOCH,
)
from retrieval_circuits.stacked_heads.readings import final_loss, learnt_time
from retrieval_circuits.stacked_heads.readings.rests import least_error, most_error, nearer_to_the_rest, spread

UNEVEN = at_least(0.25, "half of what a guess between two places costs")

RESTS = (
    Claim(
        id="SH62",
        says=Says(
            holds="Where only the last symbol is rewarded, no depth of one to five layers learns two look-ups in the "
            "steps it had.",
            fails="Where only the last symbol is rewarded, some depth of one to five layers learns two look-ups.",
            whether="whether some depth of one to five layers learns two look-ups where only the last symbol is "
            "rewarded",
        ),
        reading=Reading(
            "final error of the second symbol at the best of five depths, only the second rewarded,",
            ERROR,
            least_error(2, *ALONE, *LAST_ALONE),
        ),
        bound=STAYS,
        controls=(
            Control(
                reading=Reading(
                    "final error of the second symbol with 5 layers, every step rewarded,",
                    ERROR,
                    final_loss(REWARDED[-2], 2),
                ),
                bound=IS_LEARNT,
            ),
        ),
    ),
    Claim(
        id="SH65",
        says=Says(
            holds="Where only the last symbol is rewarded, six layers do not learn two look-ups, either, in the steps "
            "they had.",
            fails="Where only the last symbol is rewarded, six layers can learn two look-ups.",
            whether="whether six layers learn two look-ups where only the last symbol is rewarded",
        ),
        reading=Reading(
            "final error of the second symbol with 6 layers, only the second rewarded,",
            ERROR,
            final_loss(SIX_ALONE, 2),
        ),
        bound=STAYS,
        controls=(
            Control(
                reading=Reading(
                    "final error of the second symbol with 6 layers, every step rewarded,",
                    ERROR,
                    final_loss(REWARDED[-1], 2),
                ),
                bound=IS_LEARNT,
            ),
        ),
    ),
    Claim(
        id="SH66",
        says=Says(
            holds="Layers to spare do not keep one look-up from being learnt: four, five and six layers learn it.",
            fails="Some depth of four to six layers does not learn one look-up.",
            whether="whether four, five and six layers all learn one look-up",
        ),
        reading=Reading(
            "final error of the first symbol at the worst of four, five and six layers",
            ERROR,
            most_error(1, *ONE_DEEP),
        ),
        bound=IS_LEARNT,
        controls=(
            Control(
                reading=Reading(
                    "final error of the second of two symbols with 6 layers, only the second rewarded,",
                    ERROR,
                    final_loss(SIX_ALONE, 2),
                ),
                bound=STAYS,
            ),
        ),
        remark="The control could not have failed: its networks had been judged before.",
    ),
    Claim(
        id="SH67",
        says=Says(
            holds="Six layers learn one look-up at most fifty steps later than two.",
            fails="Six layers learn one look-up more than fifty steps later than two.",
            whether="whether six layers learn one look-up at most fifty steps later than two",
        ),
        reading=Reading(
            "time at which six layers learn the symbol of one look-up, less that at which two do,",
            STEPS,
            Less(learnt_time(1, ONE_DEEP[-1]), learnt_time(1, ONE[1])),
        ),
        bound=at_most(STEPS_AN_EPOCH, "the time between two checkpoints"),
        remark="The bound is nearly a third of the time that two layers take. The sentence said no later before the "
        "result; reading and bound are as they were.",
    ),
    Claim(
        id="SH63",
        says=Says(
            holds="One layer is left far more wrong at some places of a block than at others.",
            fails="One layer is left about as wrong at all places of a block.",
            whether="whether one layer is left far more wrong at some places of a block than at others",
        ),
        reading=Reading(
            "squared error of fresh networks of one layer at their worst place, less that at their best,",
            ERROR_MORE,
            spread(FRESH_ONE),
        ),
        bound=UNEVEN,
        controls=(
            Control(
                reading=Reading("the same of networks of two layers", ERROR_MORE, spread(ONE[1])),
                bound=at_most(0.1, "those follow all places: the test must be able to say no"),
            ),
            Control(
                reading=Reading(
                    "the same of the second symbol in networks of one layer that are rewarded for it alone, and "
                    "stay at the shortcut,",
                    ERROR_MORE,
                    spread(ALONE[0], 2),
                ),
                bound=at_most(0.1, "who errs more need not err by place"),
            ),
        ),
        declared="after",
        remark="The second control was added after the result. Neither can well fail: errors are small in one, and who "
        "knows the step alone errs alike at all places.",
    ),
    Claim(
        id="SH64",
        says=Says(
            holds="Where one layer does not follow, most networks guess among the places that they do not follow.",
            fails="Where one layer does not follow, most networks guess worse than among the places that they do not "
            "follow.",
            whether="whether one layer, where it does not follow, guesses among the places that it does not follow",
        ),
        reading=Reading(
            "distance of the error of fresh networks of one layer from that of a guess among all places, less its "
            "distance from that of a guess among the places that are not followed,",
            ERROR_MORE,
            nearer_to_the_rest(FRESH_ONE),
        ),
        rule=Share(each=at_least(0, "nearer to the guess among those that are left")),
        bound=MORE_OFTEN_THAN_NOT,
    ),
)
