"""Claims on what the prompt format, the depth and the number of heads force."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, at_end, at_start
from livingpaper.claims.rules import Every, Share
from livingpaper.claims.units import POINTS, PROMPTS, RUNS, at_least, at_most
from retrieval_circuits.bounds import BEHAVIOUR, MORE_OFTEN_THAN_NOT, OPERATOR
from retrieval_circuits.six_run_matrix.claims.shared import ABOVE_GUESS, CHECKS_THE_CODE, GUESS, NEARLY_EVERY
from retrieval_circuits.six_run_matrix.readings import forced, per_seed
from retrieval_circuits.six_run_matrix.readings.forced import DEEP, EIGHT, HARDLY_NEEDED, QUERY_ONE, QUERY_TWO

SEEN_AT_THE_VALUE = (
    "It sees attention to the value alone. By what its heads are worth at the read-out, the last layer comes before "
    "the middle one in six of ten networks at the arrow and in none at the query, and this claim would be open; that "
    "was found in review."
)
TRAINED_ON = (
    "Its networks were first judged after 45 epochs and then trained on to 150, with these verdicts seen; claim and "
    "bound stayed."
)
FIRST_LAYER = {"edit": "mean@read_out", "site": "L0H*"}


def _behind(whose: str, layer: int) -> Reading:
    """Routing by a score that sees the separator, too; declared after SR19's control had missed its bound."""
    return Reading(
        f"routing by the {whose} read out at the queried key, to the value and the separator behind it",
        PROMPTS,
        partial(forced.routing_behind, layer=layer),
        arms=(QUERY_TWO,),
    )


ANSWERED = Control(
    reading=Reading(
        "test accuracy with three layers, mean over both read-outs",
        PROMPTS,
        lambda results: per_seed.mean_of_runs(lambda arm: per_seed.accuracy(results, arm), arms=DEEP),
        arms=DEEP,
    ),
    bound=BEHAVIOUR,
    spoils="either",
)


FORCED = (
    Claim(
        id="SR18",
        says=Says(
            holds="Depth is forced by the format, not by the arrow: read out at the query, one layer still guesses.",
            fails="Depth is not forced by the format: read out at the query, one layer answers {effect} of held-out "
            "prompts of the length trained on.",
            whether="whether one layer read out at the query still guesses, so that the format forces depth",
        ),
        reading=Reading(
            "test accuracy of one-layer networks read out at the queried key",
            PROMPTS,
            at_end("accuracy", QUERY_ONE, split="test"),
        ),
        bound=at_most(0.5, "well above a guess among the values in the prompt, 1/3"),
        controls=(
            Control(
                reading=Reading(
                    "test accuracy of two-layer networks of the same seeds",
                    PROMPTS,
                    at_end("accuracy", QUERY_TWO, split="test"),
                ),
                bound=BEHAVIOUR,
            ),
        ),
        remark=TRAINED_ON,
    ),
    Claim(
        id="SR19",
        says=Says(
            holds="Retrieval in the second layer is forced: in two layers no layer-0 head attends to the right value, "
            "wherever the answer is read.",
            fails="Retrieval in the second layer is not forced: in {against} of {n} seeds, read out at the query, a "
            "layer-0 head attends to the right value more often than by accident.",
            whether="whether a layer-0 head attends to the right value where the answer is read at the query",
        ),
        reading=Reading(
            "routing to the value by the best layer-0 head of a network read out at the queried key",
            PROMPTS,
            at_end("routing_value", QUERY_TWO, "max", layer=0, family=per_seed.SWEEP),
        ),
        rule=Every(each=ABOVE_GUESS),
        bound=NEARLY_EVERY,
        controls=(
            Control(
                reading=Reading(
                    "routing of the best layer-1 head of the same networks to the value",
                    PROMPTS,
                    at_end("routing_value", QUERY_TWO, "max", layer=1, family=per_seed.SWEEP),
                ),
                bound=OPERATOR,
            ),
        ),
        source="source",
        source_verdict="Left open: architecture or preference",
        source_stance="left open",
        remark=TRAINED_ON,
    ),
    Claim(
        id="SR25",
        says=Says(
            holds="Read out at the query, no layer-0 head looks at the right value or behind it: of two layers the "
            "second retrieves.",
            fails="Retrieval in the second layer is not forced: in {against} of {n} seeds, read out at the query, a "
            "layer-0 head looks at the right value or behind it more often than by accident.",
            whether="whether a layer-0 head looks at the right value or behind it, the answer being read at the query",
        ),
        reading=_behind("best layer-0 head of a network", layer=0),
        rule=Every(each=ABOVE_GUESS),
        bound=at_least(
            NEARLY_EVERY.value, "one seed in five may be a slip; declared after SR19's control had missed its bound"
        ),
        controls=(Control(reading=_behind("best layer-1 head of the same networks,", layer=1), bound=OPERATOR),),
        source="source",
        source_verdict="Left open: architecture or preference",
        source_stance="left open",
    ),
    Claim(
        id="SR20",
        says=Says(
            holds="Read out at the query, networks of two layers and two heads do not need layer 0's heads there.",
            fails="Read out at the query, networks of two layers and two heads need layer 0's heads there: they are "
            "worth {effect} of accuracy.",
            whether="whether layer 0's heads are needed at the read-out where the answer is read at the query",
        ),
        reading=Reading(
            "accuracy lost, read out at the queried key, with layer 0's heads at their mean there",
            POINTS,
            at_end("joint_ablation_drop", QUERY_TWO, **FIRST_LAYER),
        ),
        bound=at_most(HARDLY_NEEDED, "one prompt in five"),
        controls=(
            Control(
                reading=Reading(
                    "accuracy lost, read out at the arrow, with layer 0's heads at their mean there",
                    POINTS,
                    at_end("joint_ablation_drop", "off", **FIRST_LAYER),
                ),
                bound=at_least(0.5, "half of the prompts: where the heads are needed it must show"),
            ),
        ),
        source="source",
        source_verdict="Left open: architecture or preference",
        source_stance="left open",
        remark=TRAINED_ON,
    ),
    Claim(
        id="SR21",
        says=Says(
            holds="With a layer to spare the last layer still retrieves: of three layers, the best routing head is "
            "usually in the last.",
            fails="With a layer to spare, the best routing head of three layers is not usually in the last one; a tie "
            "counts for a lower one.",
            whether="whether the last of three layers usually holds the best routing head",
        ),
        reading=Reading(
            "runs, over both read-outs, whose best routing head of three layers is in the last",
            RUNS,
            forced.in_last_layer,
            arms=DEEP,
        ),
        rule=Share(),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(ANSWERED,),
        source="source",
        source_verdict="Left open: architecture or preference",
        source_stance="left open",
        remark=f"{TRAINED_ON} {SEEN_AT_THE_VALUE}",
    ),
    Claim(
        id="SR26",
        says=Says(
            holds="Where a head of three layers routes at all, the best one is usually in the last layer.",
            fails="Where a head of three layers routes at all, the best one is not usually in the last layer; a tie "
            "counts for a lower one.",
            whether="whether the best routing head of three layers is usually in the last, where one routes at all",
        ),
        reading=Reading(
            "runs, over both read-outs, whose best routing head of three layers is in the last, of those where it "
            "routes more often than by accident",
            RUNS,
            partial(forced.in_last_layer, guesses="left out"),
            arms=DEEP,
        ),
        rule=Share(),
        bound=at_least(
            MORE_OFTEN_THAN_NOT.value,
            "more often than not; declared on 2026-11-25, after ties at a guess had been seen to count in SR21",
        ),
        controls=(ANSWERED,),
        source="source",
        source_verdict="Left open: architecture or preference",
        source_stance="left open",
        declared="after",
        remark="It was declared after ties of networks in which no head routes had been seen to count for a lower "
        "layer. The four that it leaves out at the arrow look up in the last layer, by what its heads are worth there.",
    ),
    Claim(
        id="SR22",
        says=Says(
            holds="More heads share the look-up: the largest loss by one layer-1 head falls from two heads to eight.",
            fails="More heads do not share the look-up: the largest loss by one layer-1 head does not fall noticeably "
            "from two heads to eight.",
            whether="whether more heads share the look-up, so that the largest loss by one layer-1 head falls",
        ),
        reading=Reading(
            "difference, two heads less eight, in the largest accuracy loss by a layer-1 head at its mean everywhere",
            POINTS,
            forced.shared_by_eight,
            arms=("off", EIGHT),
        ),
        bound=at_least(0.1, "one prompt in ten"),
        controls=(
            Control(
                reading=Reading("test accuracy with eight heads", PROMPTS, at_end("accuracy", EIGHT, split="test")),
                bound=BEHAVIOUR,
            ),
        ),
        remark=TRAINED_ON,
    ),
    Claim(
        id="SR23",
        says=Says(
            holds="The pilot is typical: after thirty epochs on two pairs, three pairs are answered too.",
            fails="The pilot is not typical: after thirty epochs on two pairs, {effect} of three-pair prompts are "
            "answered.",
            whether="whether the pilot is typical, with three pairs answered after thirty epochs on two",
        ),
        reading=Reading(
            "validation accuracy (three pairs, never trained) at the end of the first stage",
            PROMPTS,
            per_seed.after_first_stage,
            arms=("on",),
        ),
        bound=BEHAVIOUR,
        controls=(
            Control(
                reading=Reading(
                    "validation accuracy of the untrained networks", PROMPTS, at_start("accuracy", "on", split="val")
                ),
                bound=GUESS,
            ),
        ),
        source="source",
        source_verdict="Shown: 0.939 (one seed)",
        remark=CHECKS_THE_CODE,
    ),
)
