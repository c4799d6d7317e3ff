"""Claims on which networks recall: the source's two models, the sizes between them, data with and without repeats."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, Values, at_end
from livingpaper.claims.rules import Every, Share
from livingpaper.claims.units import DOUBLINGS, Unit, at_least, at_most, share_of
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.permutation_recall.claims.networks import (
    AT_END,
    PROBES,
    RECALL,
    ROWS,
    STOPPED_1,
    STOPPED_2,
    large,
    small,
)
from retrieval_circuits.permutation_recall.design import NORMAL, REPEATED, TASK_2, Cell
from retrieval_circuits.permutation_recall.readings import parts, sizes
from retrieval_circuits.permutation_recall.readings.models import (
    BORN,
    LEARNT,
    ONE,
    TWO,
    on_splits,
    recall_on_source_split,
    source_values,
)

SMALL_REPEATED = str(Cell(16, 1, 32, REPEATED))
ONE_HEAD = str(sizes.WIDE_ONE_HEAD)
SHARE_OF_SIZES = share_of("sizes")
ALL_WITH = tuple(map(str, sizes.cells_of(REPEATED)))
WITHOUT, WITH = (tuple(map(str, sizes.cells_of(data, crossed=False))) for data in (NORMAL, REPEATED))
ELIMINATES = partial(source_values, metric="elimination", family="normal")
LARGE_RECALL = partial(source_values, metric="recall", arm=TWO, variable="")
WITHOUT_REPEATS_LARGE = str(TASK_2._replace(data=NORMAL))
FORGETS = at_most(BORN, "recall is said to be there when more than half of the probes are answered with that y")


def _of_sizes(words: str, values: Values, unit: Unit = PROBES, arms: tuple[str, ...] = WITH) -> Reading:
    """What is read off several sizes of a seed."""
    return Reading(words, unit, on_splits(values), arms=arms)


def _recall_of(arm: str, words: str) -> Reading:
    return Reading(words, PROBES, on_splits(at_end("recall", arm, variable="")))


SIZES = (
    Claim(
        id="PR1",
        says=Says(
            holds="The small model, trained without repeats, eliminates and does not recall.",
            fails="The small model, trained without repeats, recalls: on {effect} of probes.",
            whether="whether the small model, trained without repeats, eliminates and does not recall",
        ),
        reading=small(f"{RECALL} ({STOPPED_1})", partial(source_values, metric="recall", arm=ONE, variable="")),
        bound=at_most(0.05, "one probe in twenty; a guess among the y shown scores 1/4"),
        controls=(
            Control(
                reading=small(
                    "share of last steps without repeat that the same networks answer rightly",
                    partial(ELIMINATES, arm=ONE),
                    ROWS,
                ),
                bound=at_least(0.99, "they eliminate, as the claim says: all but one row in a hundred"),
                spoils="yes",
            ),
        ),
        source="source",
        source_verdict="Supported: one probe of one network",
    ),
    Claim(
        id="PR2",
        says=Says(
            holds="The large model, trained with repeats, recalls.",
            fails="The large model, trained with repeats, recalls on less than 99 % of probes: on {effect}.",
            whether="whether the large model, trained with repeats, recalls on at least 99 % of probes",
        ),
        reading=large(f"{RECALL} ({STOPPED_2})", LARGE_RECALL),
        bound=at_least(0.99, "the source's 100 %, less one probe in a hundred"),
        controls=(
            Control(
                reading=large(
                    "share of last steps without repeat that the same networks answer rightly",
                    partial(ELIMINATES, arm=TWO),
                    ROWS,
                ),
                bound=at_least(0.99, "they have learnt the other half of the task: all but one row in a hundred"),
                spoils="no",
            ),
        ),
        source="source",
        source_verdict="Supported: 100 % in one network",
    ),
    Claim(
        id="PR25",
        says=Says(
            holds="On the split that the source used, the large model, trained with repeats, recalls.",
            fails="On the split that the source used, too, the large model recalls on less than 99 % of probes: on "
            "{effect}.",
            whether="whether on the split that the source used the large model recalls on at least 99 % of probes",
        ),
        declared="after",
        remark="Declared after the result over three splits had been seen, which counts all of these networks.",
        reading=large(f"{RECALL} ({STOPPED_2}), of the networks on the source's split", recall_on_source_split),
        bound=at_least(0.99, "the bound of the claim over all splits, one probe in a hundred"),
        controls=(
            Control(
                reading=large(
                    "share of last steps without repeat that the large models answer rightly, all splits",
                    partial(ELIMINATES, arm=TWO),
                    ROWS,
                ),
                bound=at_least(0.99, "they have learnt the other half of the task: all but one row in a hundred"),
                spoils="no",
            ),
        ),
        source="source",
        source_verdict="Supported: 100 % in one network",
    ),
    Claim(
        id="PR26",
        says=Says(
            holds="The large model, trained with repeats, recalls on nearly all probes, whatever the split.",
            fails="The large model, trained with repeats, recalls on {effect} of probes over all splits.",
            whether="whether the large model, trained with repeats, recalls on nearly all probes, whatever the split",
        ),
        declared="after",
        remark="A looser bound beside one in a hundred, declared after three splits had left that undecided and before "
        "nine more were drawn; the networks of those three are counted here, too.",
        reading=large(f"{RECALL} ({STOPPED_2})", LARGE_RECALL),
        bound=at_least(
            0.95,
            "nearly all; declared on 2026-11-24, beside 0.99, which three splits had left undecided, and before nine "
            "more were drawn",
        ),
        controls=(
            Control(
                reading=_recall_of(WITHOUT_REPEATS_LARGE, "recall of the same size, trained without repeats"),
                bound=FORGETS,
            ),
        ),
        source="source",
        source_verdict="Supported: 100 % in one network",
    ),
    Claim(
        id="PR3",
        says=Says(
            holds="Without repeats in training no size recalls.",
            fails="Without repeats in training some size recalls in {against} of {n} seeds.",
            whether="whether without repeats in training no size ever recalls",
        ),
        reading=_of_sizes(
            "a largest recall at the end over all sizes, trained without repeats, of",
            partial(sizes.recall_of_best_size, data=NORMAL),
            arms=WITHOUT,
        ),
        rule=Every(each=FORGETS),
        bound=at_least(0.95, "all but one seed in twenty"),
        controls=(
            Control(
                reading=_of_sizes(
                    "share of the same sizes that recall more than half of the probes when trained with repeats",
                    partial(sizes.sizes_that_recall, data=REPEATED),
                    SHARE_OF_SIZES,
                ),
                bound=at_least(0.5, "more than half of the networks, so that it is the data that is missing"),
                spoils="yes",
            ),
        ),
    ),
    Claim(
        id="PR4",
        says=Says(
            holds="A model of width 16 with one head cannot recall.",
            fails="A model of width 16 with one head can recall: {against} of {n} networks trained with repeats do.",
            whether="whether a model of width 16 with one head can recall",
        ),
        reading=_recall_of(SMALL_REPEATED, "a recall at the end (d 16, 1 head, repeats) of"),
        rule=Every(each=FORGETS),
        bound=at_least(0.8, "all but one network in five, the sharpest that 20 networks can show"),
        controls=(
            Control(
                reading=_recall_of(TWO, "a recall at the end (d 32, 2 heads, repeats) of"),
                rule=Share(each=at_least(BORN, "half of the probes")),
                bound=at_least(0.8, "nearly all: the same training brings recall where the size is the source's"),
                spoils="yes",
            ),
        ),
        source="source",
        source_verdict="Supported, by a model trained without repeats",
    ),
    Claim(
        id="PR5",
        says=Says(
            holds="One head of width 32 recalls only in part.",
            fails="One head of width 32 recalls nearly everything: on {effect} of probes.",
            whether="whether one head of width 32 recalls only in part",
        ),
        reading=_recall_of(ONE_HEAD, f"{RECALL} (d 32, 1 head, repeats, at the end)"),
        bound=at_most(LEARNT, "more is nearly all"),
        controls=(
            Control(
                reading=large(f"{RECALL} ({AT_END})", parts.recall_whole),
                bound=at_least(0.95, "with a second head hardly a probe is missed"),
                spoils="yes",
            ),
        ),
        source="source",
        source_verdict="Stated, without a number",
    ),
    Claim(
        id="PR6",
        says=Says(
            holds="How soon recall comes depends on width more than on the number of heads.",
            fails="The time to recall does not depend on width more than on the number of heads: the difference is "
            "{effect}.",
            whether="whether the time to recall depends on width more than on the number of heads",
        ),
        declared="after",
        remark="Its reading changed after networks had been measured: it crosses the FFN with width and heads, where "
        "the FFN grew with the width before. The bound did not move, and it was undecided before, too.",
        reading=_of_sizes(
            "time to recall (never: the end of training): what width 32 saves against 16, less what two heads save "
            "against one, each with both FFNs",
            sizes.width_less_heads,
            DOUBLINGS,
            ALL_WITH,
        ),
        bound=at_least(0.5, "half a doubling: 1.4 times as long"),
        controls=(
            Control(
                reading=_of_sizes(
                    "share of the four sizes in which recall comes", sizes.sizes_in_which_recall_came, SHARE_OF_SIZES
                ),
                bound=MORE_OFTEN_THAN_NOT,
                spoils="no",
            ),
        ),
    ),
)
