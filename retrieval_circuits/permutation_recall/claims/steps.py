"""Claims on the steps before recall: how often they are right, how sure the last one is, what comes before the drop."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.units import POINTS, Unit, at_least, at_most
from retrieval_circuits.permutation_recall.claims.networks import (
    DISTANCE,
    MODEL_2,
    ROWS,
    STOPPED_1,
    large,
    small,
    they_recall,
)
from retrieval_circuits.permutation_recall.design import BALANCED_1
from retrieval_circuits.permutation_recall.readings import sizes, steps
from retrieval_circuits.permutation_recall.readings.models import ONE, source_values

PROBABILITY = Unit(digits=3, low=0, high=1)
OF_LAST = {"arm": ONE, "split": "test", "variable": steps.STEPS[-1], "family": ""}
LAST_STEP_RIGHT = Control(
    reading=small(
        "share of rows whose last step the same networks answer rightly",
        partial(source_values, metric="step_accuracy", **OF_LAST),
        ROWS,
    ),
    bound=at_least(0.99, "elimination is learnt: all but one row in a hundred"),
    spoils="no",
)


def _largest_error(words: str, metric: str, how: str = "") -> dict:
    """The claim on the error of the last step, under one definition of the largest; ``how`` ends its sentences."""
    return {
        "says": Says(
            holds=f"At the last step the largest error of the small model{how} is at most 0.002, the mean of networks.",
            fails=f"At the last step the largest error of the small model{how} is more than 0.002, the mean of "
            "networks.",
            whether=f"whether at the last step the largest error of the small model{how} is at most 0.002, the mean of "
            "networks",
        ),
        "reading": small(words, partial(source_values, metric=metric, **OF_LAST), PROBABILITY),
        "bound": at_most(0.002, "what 0.998 leaves"),
        "controls": (LAST_STEP_RIGHT,),
        "source": "source",
        "source_verdict": "Supported: 0.0013 in one network",
    }


STEPS = (
    Claim(
        id="PR7",
        says=Says(
            holds="At steps 1 to 4 the small model is right as often as an even guess among the y that are left.",
            fails="At steps 1 to 4 the small model is right less often than an even guess among the y left, by "
            "{effect}.",
            whether="whether at steps 1 to 4 the small model is right as often as an even guess among the y left",
        ),
        reading=small(
            f"1/5, 1/4, 1/3, 1/2 less the accuracy on held-out permutations, mean of the four steps ({STOPPED_1})",
            steps.shortfall,
            POINTS,
        ),
        bound=at_most(0.02, "a tenth of the lowest of the four, 1/5"),
        controls=(LAST_STEP_RIGHT,),
        remark="A null hypothesis of ours. The source reports about 10 % at step 1, less than an even guess has, and "
        "calls it expected.",
    ),
    Claim(
        id="PR8",
        says=Says(
            holds="On one split in which every pair is held out equally often, step 1 of the small model recovers.",
            fails="Where every pair is held out equally often, step 1 of the small model does not recover.",
            whether="whether step 1 of the small model recovers where every pair is held out equally often",
        ),
        reading=Reading(
            f"accuracy at step 1 on held-out permutations of a balanced split ({STOPPED_1})",
            ROWS,
            partial(steps.first_step, arm=BALANCED_1),
            arms=(BALANCED_1,),
        ),
        remark="There is one balanced split, so that the interval is over the networks trained on it, not over splits.",
        bound=at_least(0.15, "midway between the source's 0.1 and an even guess, 1/5"),
        controls=(
            Control(
                reading=Reading(
                    "the same on the source's split",
                    ROWS,
                    steps.first_step_on_source_split,
                    arms=(ONE,),
                ),
                bound=at_most(0.13, "well below an even guess, 1/5: there is something to recover from"),
                spoils="either",
            ),
        ),
    ),
    Claim(
        id="PR9",
        says=Says(
            holds="The counts of the split predict how often each step is right.",
            fails="The counts of the split do not predict how often each step is right: they miss by {effect}.",
            whether="whether the counts of the split predict how often each step is right",
        ),
        reading=small(
            "distance of the accuracy at steps 1 to 4 from that of saying, of the y that are left, the one trained on "
            f"most often with this x, mean of the four steps ({STOPPED_1})",
            steps.missed_by_counts,
            DISTANCE,
        ),
        bound=at_most(0.03, "less than a third of what step 1 lacks of an even guess in the source's network"),
        controls=(
            Control(
                reading=small(
                    "distance of the same accuracies from 1/5, 1/4, 1/3, 1/2",
                    steps.missed_by_ceilings,
                    DISTANCE,
                ),
                bound=at_least(0.05, "an even guess must miss, or there is nothing to predict"),
                spoils="yes",
            ),
        ),
    ),
    Claim(
        id="PR10.published",
        **_largest_error(
            f"largest error of a probability at step 5, averaged over batches of 256 ({STOPPED_1})",
            "bayes_max_batched",
            ", averaged over batches",
        ),
    ),
    Claim(
        id="PR10",
        **_largest_error(f"largest error of a probability at step 5 in 5,000 rows ({STOPPED_1})", "bayes_max"),
    ),
    Claim(
        id="PR11",
        says=Says(
            holds="Before a network can recall, it already avoids the y not yet shown.",
            fails="Just before a network recalls it still gives the y not yet shown, on {effect} of probes.",
            whether="whether a network avoids the y not yet shown before it can recall",
        ),
        reading=large(
            f"share of probes answered with the y not yet shown ({MODEL_2}, last checkpoint before recall comes)",
            sizes.eliminates_before_recall,
        ),
        bound=at_most(0.25, "one probe in four; a network that notices no repeat gives it always"),
        controls=(they_recall("either"),),
    ),
)
