"""Claims of the chapter as it first was: layers, orders of learning, single steps, noise, samples."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading, of_experiment
from livingpaper.claims.rules import Forced
from livingpaper.claims.units import NUMBER, POINTS, STEPS, Unit, at_least, at_most, share_of
from retrieval_circuits.bigrams_and_composition import readings
from retrieval_circuits.bigrams_and_composition.design import JOINT, NOISY, ONE, REVERSED, STAGES
from retrieval_circuits.bigrams_and_composition.design import STEPS as THREE
from retrieval_circuits.bigrams_and_composition.measures import AS_PRINTED, ATTENTION, K1, K2, MLP, O2, ORDERS

ANSWERS, PAIRS = share_of("scored positions"), share_of("pairs")
APART = Unit(name="points", times=100, digits=1, low=0, high=1)
TINY = Unit(digits=12, low=0.0)
NATS = Unit(name="nats", digits=2)
BALANCE = Unit(digits=2, low=-1, high=1)
PRINTED = ", ".join(AS_PRINTED)
KEYS_FIRST = [", ".join(order) for order in ORDERS if order[0] != O2]

LAYERS = (
    Claim(
        id="BC1",
        says=Says(
            holds="Counting tokens says how often one layer is right, within six points, on average.",
            fails="Counting tokens does not say how often one layer is right, within six points, on average.",
            whether="whether counting tokens says within six points how often one layer is right",
        ),
        reading=Reading("distance of one layer's accuracy from the closed form", APART, readings.off_plateau()),
        bound=at_most(0.06, "counts are not independent, which alone moved simulated rules by 3 to 5 points"),
        controls=(
            Control(
                reading=Reading("two layers' accuracy less the closed form", POINTS, readings.above_plateau()),
                bound=at_least(0.2, "it must not fit a network that looks at what stands before"),
            ),
        ),
    ),
    Claim(
        id="BC2",
        says=Says(
            holds="Two layers complete bigrams of the context far more often than one.",
            fails="One layer completes bigrams of the context nearly as often as two.",
            whether="whether two layers complete bigrams of the context far more often than one",
        ),
        reading=Reading(
            "accuracy of two layers less that of one", POINTS, Less(readings.learnt(JOINT), readings.learnt(ONE))
        ),
        bound=at_least(0.22, "half of the source's difference"),
        controls=(
            Control(
                reading=Reading("accuracy of two layers", ANSWERS, readings.learnt(JOINT)),
                bound=at_least(0.9, "they must have learnt the task"),
            ),
        ),
        source="source",
        source_verdict="Supported: about 55 % against about 99 %",
    ),
)
LEARNT = (
    Claim(
        id="BC3",
        says=Says(
            holds="The memory that writes answers, W_O2, forms before the one that finds them, W_K2.",
            fails="The memory that writes answers, W_O2, does not form before the one that finds them, W_K2.",
            whether="whether W_O2 forms before W_K2",
        ),
        reading=Reading("time from the forming of W_O2 to that of W_K2", STEPS, readings.later_than(O2, K2)),
        bound=at_least(20, "two measurements"),
        source="source",
        source_verdict="Supported in a figure",
    ),
    Claim(
        id="BC4",
        says=Says(
            holds="The memory of the previous position, W_K1, forms last, on average.",
            fails="The memory of the previous position, W_K1, does not form last.",
            whether="whether W_K1 forms last",
        ),
        reading=Reading("time from the forming of W_K2 to that of W_K1", STEPS, readings.later_than(K2, K1)),
        bound=at_least(10, "one measurement"),
        source="source",
        source_verdict="Supported in a figure",
    ),
    Claim(
        id="BC5",
        says=Says(
            holds="On average, Adam learns them in the same order.",
            fails="Adam does not learn them in the same order.",
            whether="whether Adam learns them in the same order",
        ),
        reading=Reading("smaller of the two times between memories, under Adam,", STEPS, readings.least_gap_with_adam),
        bound=at_least(10, "one measurement"),
        remark="A memory has formed when it recalls half of what it recalls in the end. At three quarters of that it "
        "would be Supported, too; at a quarter or nine tenths open.",
    ),
    Claim(
        id="BC6",
        says=Says(
            holds="Trained one after another in that order, the matrices get less far in as many steps.",
            fails="Trained one after another in that order, the matrices get as far in as many steps.",
            whether="whether training in stages is slower",
        ),
        reading=Reading(
            "accuracy of training all at once less that in stages",
            POINTS,
            Less(readings.learnt(JOINT), readings.learnt(STAGES)),
        ),
        bound=at_least(0.1, "what anybody would see in a figure"),
        source="source",
        source_verdict="Stated: joint learning is faster",
    ),
    Claim(
        id="BC7",
        says=Says(
            holds="In as many steps, the reversed order of stages stores hardly any previous positions.",
            fails="The reversed order of stages stores previous positions, too.",
            whether="whether the reversed order of stages stores previous positions",
        ),
        reading=Reading("positions recalled after stages in reverse", PAIRS, readings.learnt(REVERSED, K1)),
        bound=at_most(0.1, "untrained matrices recall one in 48; a tenth is far from the use of a memory"),
        controls=(
            Control(
                reading=Reading("positions recalled after stages in order", PAIRS, readings.learnt(STAGES, K1)),
                bound=at_least(0.2, "as many steps must suffice where the other two memories are there"),
            ),
        ),
    ),
)
THREE_STEPS = (
    Claim(
        id="BC8",
        says=Says(
            holds="One gradient step on each matrix, W_O2 first and W_K1 last, stores most pairs of all three.",
            fails="One gradient step on each matrix, W_O2 first and W_K1 last, does not store most pairs of all three.",
            whether="whether three gradient steps store most pairs of all three memories",
        ),
        reading=Reading("pairs that the worst of three matrices recalls", PAIRS, readings.worst_memory),
        bound=at_least(0.5, "most pairs; chance is 1 in 20, and the theorem's population is a sample here"),
        source="source",
        source_verdict="Proved, informally stated, for the population loss",
        source_stance="elsewhere",
    ),
    Claim(
        id="BC9",
        says=Says(
            holds="No other order of the steps does, nor does W_K1 twice, as the slide prints it.",
            fails="Another order of the steps stores all three memories as well.",
            whether="whether another order of the steps stores all three memories",
        ),
        reading=Reading(
            "pairs that the worst of three matrices recalls, in the best of the other orders,",
            PAIRS,
            readings.best_other_order,
        ),
        bound=at_most(0.25, "half of what the order of the theorem must reach"),
        remark="Four of the five other orders begin with a matrix of keys, which has no gradient then, and the printed "
        "one never steps W_K2: one order alone was open.",
    ),
    Claim(
        id="BC10",
        says=Says(
            holds="While W_O2 is zero there is nothing to learn for either matrix of keys: their gradients are zero.",
            fails="While W_O2 is zero there is a gradient for a matrix of keys.",
            whether="whether keys have a gradient while W_O2 is zero",
        ),
        reading=Reading(
            "largest entry of the gradients of W_K1 and W_K2 at zero weights",
            TINY,
            of_experiment(THREE, "gradient", "max", order=KEYS_FIRST),
        ),
        rule=Forced(),
        bound=at_most(1e-10, "rounding"),
    ),
    Claim(
        id="BC11",
        says=Says(
            holds="W_K1 twice, as the slide prints it, answers worse than the order W_O2, W_K2, W_K1.",
            fails="W_K1 twice, as the slide prints it, answers as well.",
            whether="whether the order as printed answers worse",
        ),
        reading=Reading(
            "accuracy after the theorem's three steps less that as printed",
            POINTS,
            Less(readings.stepped("accuracy"), readings.stepped("accuracy", PRINTED)),
        ),
        bound=at_least(0.1, "what anybody would see in a figure"),
    ),
)
NOISE = (
    Claim(
        id="BC12",
        says=Says(
            holds="A token that often follows the trigger is learnt before the answer of the context.",
            fails="A token that often follows the trigger is not learnt before the answer of the context.",
            whether="whether the frequent pair is learnt before the answer of the context",
        ),
        reading=Reading(
            "time from the noise token's to the context's answer, half of its due each,",
            STEPS,
            readings.context_after_pair,
        ),
        bound=at_least(40, "two measurements"),
        source="source",
        source_verdict="Supported in figures",
    ),
    Claim(
        id="BC13",
        says=Says(
            holds="The late MLP holds that pair: from the trigger alone it makes the noise token the likeliest.",
            fails="The late MLP does not hold that pair.",
            whether="whether the late MLP holds the frequent pair",
        ),
        reading=Reading(
            "lead of the noise token where the trigger goes through the MLP alone", NATS, readings.noisy_end("margin")
        ),
        bound=at_least(0.69, "twice as likely as any other token"),
        controls=(
            Control(
                reading=Reading(
                    "the same before training", NATS, of_experiment(NOISY, "margin", "max", cut="none", step=0)
                ),
                bound=at_most(0.2, "an untrained MLP must not"),
            ),
        ),
        source="source",
        source_verdict="Supported in figures",
    ),
    Claim(
        id="BC14",
        says=Says(
            holds="Without the late MLP, more positions are answered from the context.",
            fails="Removing the late MLP does not bring the context's answer back.",
            whether="whether removing the late MLP brings the context's answer back",
        ),
        reading=Reading(
            "accuracy on rows without noise, MLP removed, less that in full", POINTS, readings.brought_back
        ),
        bound=at_least(0.1, "what anybody would see in a figure"),
        controls=(
            Control(
                reading=Reading("accuracy with W_O2 removed", ANSWERS, readings.noisy_end("accuracy", "attention")),
                bound=at_most(0.1, "the answer must have come from attention"),
            ),
        ),
        source="source",
        source_verdict="Supported in figures, and on a language model",
        remark="Its control could hardly have failed: without W_O2 nothing copies.",
    ),
    Claim(
        id="BC15",
        says=Says(
            holds="Attention learns to look past the noise token to the answer of the context.",
            fails="Attention does not learn to look past the noise token.",
            whether="whether attention learns to look past the noise token",
        ),
        reading=Reading(
            "attention on outputs less that on noise tokens, by their sum,", BALANCE, readings.noisy_end("avoids")
        ),
        bound=at_least(0.33, "twice as much on outputs as on noise, which come equally often"),
        source="source",
        source_verdict="Supported in figures",
    ),
)
SAMPLE_LAWS = (
    Claim(
        id="BC16",
        says=Says(
            holds="An MLP learns the frequent pair from a number of rows that does not grow with the vocabulary.",
            fails="An MLP needs more rows for the frequent pair where the vocabulary is larger.",
            whether="whether an MLP needs more rows where the vocabulary is larger",
        ),
        reading=Reading("power of the vocabulary with which the MLP's rows grow", NUMBER, readings.needed_power(MLP)),
        bound=at_most(0.25, "a quarter of the power that the source has for attention"),
        source="source",
        source_verdict="Proved, informally stated: a number that does not depend on N",
        source_stance="elsewhere",
    ),
    Claim(
        id="BC17",
        says=Says(
            holds="Attention needs rows in proportion to the vocabulary before the frequent token leads, or nearly so.",
            fails="Attention does not need rows in proportion to the vocabulary before the frequent token leads.",
            whether="whether attention needs more rows where the vocabulary is larger",
        ),
        reading=Reading(
            "power of the vocabulary with which attention's rows grow", NUMBER, readings.needed_power(ATTENTION)
        ),
        bound=at_least(0.5, "nearer to the source's power, 1, than to none"),
        source="source",
        source_verdict="Proved, informally stated: a number of the order of N",
        source_stance="elsewhere",
    ),
    Claim(
        id="BC18",
        says=Says(
            holds="The lead that one step gives through attention falls about as one over the vocabulary.",
            fails="The lead that one step gives through attention does not fall as one over the vocabulary.",
            whether="whether the lead through attention falls with the vocabulary",
        ),
        reading=Reading(
            "power of the vocabulary with which attention's lead goes, by the MLP's,", NUMBER, readings.lead_power
        ),
        bound=at_most(-0.5, "nearer to -1, which two random rows have in common, than to none"),
    ),
)
CLAIMS = (*LAYERS, *LEARNT, *THREE_STEPS, *NOISE, *SAMPLE_LAWS)
