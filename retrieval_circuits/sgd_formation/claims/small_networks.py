"""Claims on what forms when a network learns to read streams, and on whether it looks at the key at all."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading, Values
from livingpaper.claims.rules import Forced, Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, POINTS, STEPS, Unit, at_least, at_most, share_of
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_formation.design import EVERY, FRESH, SOURCE
from retrieval_circuits.sgd_formation.published import TRAINING_LOSS
from retrieval_circuits.sgd_formation.readings import networks as readings

READS = share_of("reads")
PART = Unit(name="%", of="margins", times=100)
NATS = Unit(name="nats", digits=3, low=0)
DATA_SETS = "data sets"
SCORE = partial(Reading, unit=READS)
GAP = partial(Reading, unit=POINTS)
WINDOW = 2 * EVERY
TWO_CHECKPOINTS = f"two checkpoints, {WINDOW} steps"
TEN_ADDED = "Ten of the networks were added after a look at the other ten; the interval is that of a single look."
LONGER_AND_TEN_ADDED = f"Training was made longer after a first look. {TEN_ADDED}"
"""Remarks on claims on networks on fresh rows: what was changed between declaring and judging them."""


def when(words: str, values: Values) -> Reading:
    """A number of steps."""
    return Reading(words, STEPS, values)


BENCHMARK = (
    Claim(
        id="SF1",
        says=Says(
            holds="On the source's stream a rule that does not look at the key is right far more often than a guess.",
            fails="On the source's stream no rule that does not look at the key is far above a guess.",
            whether="whether a rule without the key pays on the source's stream",
        ),
        reading=GAP(
            "accuracy of the best rule on its test split, less a guess's,",
            values=readings.best_rule_above,
            draws=DATA_SETS,
        ),
        bound=at_least(0.2, "four times what our stream allows"),
    ),
    Claim(
        id="SF2",
        says=Says(
            holds="Such a rule passes the source's own limit for heuristics.",
            fails="No such rule passes the source's own limit for heuristics.",
            whether="whether a rule passes the source's own limit",
        ),
        reading=SCORE(
            "accuracy of the best rule on its test split", values=readings.best_rule("test_iid"), draws=DATA_SETS
        ),
        bound=at_least(0.4, "the source makes no benchmark on which one of its three heuristics has more"),
        source="source",
        source_verdict="Refuted",
    ),
    Claim(
        id="SF3",
        says=Says(
            holds="On held-out pairs it passes that limit, too: a high score there need not be a look-up.",
            fails="On held-out pairs it does not pass that limit.",
            whether="whether the rule passes that limit on held-out pairs, too",
        ),
        reading=SCORE(
            "accuracy of the best rule on held-out pairs", values=readings.best_rule("heldout_pairs"), draws=DATA_SETS
        ),
        bound=at_least(0.4, "the source's limit"),
    ),
    Claim(
        id="SF4",
        says=Says(
            holds="On our stream no rule of the family is more than five points above a guess.",
            fails="On our stream a rule of the family is more than five points above a guess.",
            whether="whether a rule pays on our stream",
        ),
        reading=GAP(
            "accuracy of the best rule on any split of ours, less a guess's,",
            values=readings.our_worst_rule,
            draws=DATA_SETS,
        ),
        rule=Forced(),
        bound=at_most(0.05, "no rows are made beyond it"),
    ),
    Claim(
        id="SF5",
        says=Says(
            holds="Where the source tests more keys, many answers stand where none was ever trained.",
            fails="Where the source tests more keys, nearly all answers stand where some were trained.",
            whether="whether more keys are tested at positions that were trained",
        ),
        reading=SCORE(
            "share of reads at positions without a read in training", values=readings.untrained, draws=DATA_SETS
        ),
        bound=at_least(0.1, "a tenth: enough to spoil a comparison"),
    ),
    Claim(
        id="SF6",
        says=Says(
            holds="At step 5,500 the source's loss on its training rows is below what anybody can have on new ones.",
            fails="At step 5,500 the source's loss on its training rows is one that can be had on new ones, too.",
            whether="whether the source's training loss can be had on new rows",
        ),
        reading=Reading("least loss on new rows of the source's stream", NATS, readings.floor, draws=DATA_SETS),
        bound=at_least(TRAINING_LOSS, "the loss that the source traced on its training rows, in nats a token"),
    ),
)

LOOKS_ON_OURS = Control(
    reading=SCORE("the same share on our stream", values=readings.unmoved_at_half(FRESH)),
    bound=at_most(0.25, "the measure sees networks that do look"),
)
NO_PHASE_ON_OURS = Control(
    reading=when("the same steps on our stream", Less(readings.following_time(FRESH), readings.half_time(FRESH))),
    bound=at_most(200, "four checkpoints: where no rule does without the key there is no such phase"),
)
"""What claims on any network on the source's stream are held against."""

LOOKING = (
    Claim(
        id="SF7",
        says=Says(
            holds="When small networks on the source's stream answer half of the reads, most of their answers ignore "
            "the key: in rows of three keys they stay when another key is asked for.",
            fails="When small networks on the source's stream answer half of the reads, most of their answers do not "
            "ignore the key: in rows of three keys they change when another key is asked for.",
            whether="whether most answers of small networks ignore the key when half of the reads are right",
        ),
        reading=SCORE(
            "share of answers that stay when another key is asked for, once half of the reads are right,",
            values=readings.unmoved_at_half(SOURCE),
        ),
        bound=at_least(0.5, "more often than not"),
        controls=(LOOKS_ON_OURS,),
    ),
    Claim(
        id="SF19",
        says=Says(
            holds="On the source's stream the key decides half of small networks' answers five hundred steps or more "
            "after half of the reads are right.",
            fails="On the source's stream the key decides half of small networks' answers less than five hundred steps "
            "after half of the reads are right.",
            whether="whether on the source's stream the key decides small networks' answers five hundred steps after "
            "half of the reads",
        ),
        reading=when(
            "steps from half of the reads right to half of the answers that follow another key,",
            Less(readings.following_time(SOURCE), readings.half_time(SOURCE)),
        ),
        bound=at_least(500, "a sixth of the steps first given on our stream: a phase of its own"),
        controls=(NO_PHASE_ON_OURS,),
        remark="It said that networks look the key up, until the result was read again: one of the five comes to use "
        "the key without a head that looks at the value.",
    ),
    Claim(
        id="SF8",
        says=Says(
            holds="On our stream the same small networks learn to look the key up.",
            fails="On our stream the same small networks do not learn to look the key up in the steps they had.",
            whether="whether small networks learn the look-up on our stream",
        ),
        reading=SCORE("accuracy on test reads of our stream", values=readings.accuracy(FRESH)),
        bound=BEHAVIOUR,
        remark=LONGER_AND_TEN_ADDED,
    ),
    Claim(
        id="SF9",
        says=Says(
            holds="Asked for another key, they give that key's value.",
            fails="Asked for another key, they do not give that key's value.",
            whether="whether networks follow another key to its value",
        ),
        reading=SCORE(
            "share of answers that follow the key to its value", values=readings.after_swap(FRESH, "follows")
        ),
        bound=at_least(0.8, "nearly as often as they are right"),
        remark=LONGER_AND_TEN_ADDED,
    ),
)

ORDER = (
    Claim(
        id="SF20",
        says=Says(
            holds="Where no rule does without the key, the look-up appears in one transition.",
            fails="Where no rule does without the key, too, the look-up appears bit by bit.",
            whether="whether the look-up appears within three hundred steps",
        ),
        reading=when(
            "steps from a fifth of the final accuracy to four fifths of it, on our stream,",
            Less(readings.part_time(FRESH, 0.8), readings.part_time(FRESH, 0.2)),
        ),
        bound=at_most(300, "a tenth of the steps first given"),
        controls=(
            Control(
                reading=when(
                    "the same steps on the source's stream",
                    Less(readings.part_time(SOURCE, 0.8), readings.part_time(SOURCE, 0.2)),
                ),
                bound=at_least(300, "the measure sees a formation in stages"),
            ),
        ),
        remark=LONGER_AND_TEN_ADDED,
    ),
    Claim(
        id="SF13",
        says=Says(
            holds="What was written last is learnt first: reads of the last write come before reads of older ones.",
            fails="Reads of the last write are not learnt before reads of older ones.",
            whether="whether reads of the last write are learnt first",
        ),
        reading=when(
            "steps by which reads across the longest lag come later than reads of the last write,",
            Less(readings.learning_time(FRESH, readings.LONGEST), readings.learning_time(FRESH, readings.SHORTEST)),
        ),
        bound=at_least(WINDOW, TWO_CHECKPOINTS),
        remark=LONGER_AND_TEN_ADDED,
    ),
    Claim(
        id="SF14",
        says=Says(
            holds="Attention to the value that is asked for and right answers appear together.",
            fails="Attention to the value that is asked for and right answers do not appear together.",
            whether="whether attention and answers appear together",
        ),
        reading=when("steps between half of the attention and half of the accuracy,", readings.apart),
        bound=at_most(WINDOW, TWO_CHECKPOINTS),
        source="source",
        source_verdict="Supported",
        source_stance="elsewhere",
        remark=LONGER_AND_TEN_ADDED,
    ),
    Claim(
        id="SF15",
        says=Says(
            holds="The head that joins values to keys comes a hundred steps or more before the one that looks them up.",
            fails="The head that joins each value to its key does not come a hundred steps before the head that looks "
            "the key up.",
            whether="whether the joining head comes a hundred steps before the head that looks the key up",
        ),
        reading=when(
            "steps by which attention to the value asked for comes after values look at their keys,",
            Less(readings.looking_time(FRESH), readings.joining_time(FRESH)),
        ),
        bound=at_least(WINDOW, TWO_CHECKPOINTS),
        remark=LONGER_AND_TEN_ADDED,
    ),
)

PARTS = (
    Claim(
        id="SF16",
        says=Says(
            holds="Without the head that looks most at the value asked for, networks lose thirty points or more, on "
            "average.",
            fails="Without the head that looks most at the value asked for, networks lose less than thirty points, on "
            "average.",
            whether="whether networks lose thirty points or more without the head that looks most at the value asked "
            "for",
        ),
        reading=GAP(
            "accuracy that removing the head that looks most at the value asked for costs",
            values=readings.cost_of_leader(FRESH),
        ),
        bound=at_least(0.3, "well above what one of the others costs; in the source it costs 50 points"),
        controls=(
            Control(
                reading=GAP(
                    "accuracy that removing another head of its layer costs", values=readings.cost_of_others(FRESH)
                ),
                bound=at_most(0.15, "half of the bound: the cost is this head's, not any head's"),
            ),
        ),
        source="source",
        source_verdict="Supported",
        source_stance="elsewhere",
        remark=LONGER_AND_TEN_ADDED,
    ),
    Claim(
        id="SF17",
        says=Says(
            holds="Removing the first MLP costs more than removing the head that looks the key up.",
            fails="Removing the first MLP costs no more than removing the head that looks the key up.",
            whether="whether the first MLP matters more than the look-up's head",
        ),
        reading=GAP(
            "accuracy that the first MLP's removal costs, less the head's,",
            values=Less(readings.cost_of_part(FRESH, "L0MLP"), readings.cost_of_leader(FRESH)),
        ),
        bound=at_least(0.1, "ten points; in the source the difference is 23"),
        source="source",
        source_verdict="Supported",
        source_stance="elsewhere",
        remark=LONGER_AND_TEN_ADDED,
    ),
    Claim(
        id="SF21",
        says=Says(
            holds="Writing the answer and being needed for it differ: the first MLP writes next to none of the margin.",
            fails="The first MLP writes a share of the margin itself.",
            whether="whether the first MLP writes the answer itself",
        ),
        reading=Reading("share of the margin that the first MLP writes", PART, readings.margin_share(FRESH, "L0MLP")),
        bound=at_most(0.1, "a tenth; there are fifteen parts besides embeddings and biases"),
        controls=(
            Control(
                reading=Reading(
                    "share that the head that looks the key up writes", PART, readings.margin_share(FRESH, "leader")
                ),
                bound=at_least(0.1, "the measure sees a part that does write"),
            ),
        ),
        source="source",
        source_verdict="Supported",
        source_stance="elsewhere",
        remark=LONGER_AND_TEN_ADDED,
    ),
    Claim(
        id="SF18",
        says=Says(
            holds="Where the look-up happens is settled: more often than not, the head is in the last layer.",
            fails="The head that looks the key up is mostly not in the last layer.",
            whether="whether the look-up happens in the last layer",
        ),
        reading=Reading(
            "layer of the head that looks most at the value asked for,", readings.LAYER, readings.layer_of(FRESH)
        ),
        rule=Share(each=at_least(2, "the last of three, counted from 0")),
        bound=MORE_OFTEN_THAN_NOT,
        source="source",
        source_verdict="Supported",
        source_stance="elsewhere",
        remark=LONGER_AND_TEN_ADDED,
    ),
)
