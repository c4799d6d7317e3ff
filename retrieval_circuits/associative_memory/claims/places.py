"""Claims on where a layer keeps facts, and on what the killing experiment can tell."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading, worst_of
from livingpaper.claims.units import NUMBER, POINTS, at_least, at_most, share_of
from retrieval_circuits.associative_memory.design import (
    BIJECTIONS,
    BIJECTIVE,
    BIJECTIVE_MANY,
    CLEAR,
    FEWER,
    MANY,
    MORE,
)
from retrieval_circuits.associative_memory.measures.transfers import LEARNT, LOUDER, MEMORY
from retrieval_circuits.associative_memory.readings import layers as readings

FACTS = share_of("facts")
NEARLY = 0.95
"""Share of facts that counts as all of them: training stops after a while, and the last ones take longest."""

SIZES = (
    Claim(
        id="AM20",
        says=Says(
            holds="Behind frozen embeddings, attention alone and an MLP alone hold facts at about the same cost "
            "in parameters.",
            fails="Behind frozen embeddings, attention alone and an MLP alone hold facts at different costs in "
            "parameters.",
            whether="whether attention and MLP hold facts at the same cost in parameters",
        ),
        reading=Reading(
            "factor between the parameters that attention and MLP take for three quarters of the facts",
            NUMBER,
            readings.factor_between,
        ),
        bound=at_most(2, "a factor that the size of a head alone can make"),
        controls=(
            Control(
                reading=Reading(
                    "facts recalled by the largest of either, the worse of the two",
                    FACTS,
                    worst_of(*(readings.by_size(part, "frozen", largest=True) for part in readings.PARTS)),
                ),
                bound=at_least(0.85, "sizes that were tried must reach beyond where they are compared"),
                spoils="either",
            ),
        ),
        source="source",
        source_verdict="Proved up to logarithms, and shown in a figure: parameters in either place count alike",
        source_stance="elsewhere",
    ),
    Claim(
        id="AM21",
        says=Says(
            holds="Behind learnt subject embeddings, the smallest attention and the smallest MLP that we tried recall "
            "nearly all facts.",
            fails="Behind learnt subject embeddings, the smallest attention or the smallest MLP that we tried is too "
            "small.",
            whether="whether a small layer suffices where subject embeddings are learnt",
        ),
        reading=Reading(
            "facts recalled by the smallest layer with learnt embeddings, the worse of attention and MLP,",
            FACTS,
            readings.smallest("learnt", "least"),
        ),
        bound=at_least(0.9, "nine facts of ten"),
        controls=(
            Control(
                reading=Reading(
                    "the same with frozen embeddings, the better of the two",
                    FACTS,
                    readings.smallest("frozen", "largest"),
                ),
                bound=at_most(0.6, "a layer that holds most facts by itself would leave embeddings nothing to do"),
            ),
        ),
    ),
    Claim(
        id="AM22",
        says=Says(
            holds="Taking subjects out of the MLP's output costs most facts, even where the MLP was never trained and "
            "stores none.",
            fails="Taking subjects out of the MLP's output does not cost most facts, or spares an MLP that was never "
            "trained.",
            whether="whether removal hits an MLP that stores nothing",
        ),
        reading=Reading(
            "facts lost with the subjects in the MLP's output, the lesser of a trained and an untrained MLP,",
            POINTS,
            worst_of(readings.lost("both", "mlp"), readings.lost("attention", "mlp")),
        ),
        bound=at_least(0.375, "half of all that removal can cost, as a quarter can be guessed"),
        controls=(
            Control(
                reading=Reading(
                    "facts recalled by these layers as they are, the worse of the two",
                    FACTS,
                    worst_of(readings.whole("both"), readings.whole("attention")),
                ),
                bound=at_least(NEARLY, "facts must be learnt, in the second case by attention alone"),
                spoils="either",
            ),
            Control(
                reading=Reading(
                    "facts lost with the subjects in attention's own output, all trained,",
                    POINTS,
                    readings.lost("both", "attention"),
                ),
                bound=at_most(0.1, "else removal costs facts anywhere"),
            ),
        ),
    ),
)
KILLING = (
    Claim(
        id="AM23",
        says=Says(
            holds="A layer that is a memory passes the killing experiment if new subject embeddings are trained: they "
            "alone learn new facts in front of it.",
            fails="A layer that is a memory does not let new subject embeddings learn new facts.",
            whether="whether a memory passes the killing experiment if new embeddings are trained",
        ),
        reading=Reading(
            "new facts learnt by new embeddings in front of a memory of other facts",
            FACTS,
            readings.transfer("new", MEMORY, FEWER),
        ),
        bound=at_least(NEARLY, "all but the last facts to be learnt"),
        controls=(
            Control(
                reading=Reading(
                    "first facts recalled by the memory, embeddings frozen,",
                    FACTS,
                    readings.transfer("first", MEMORY, FEWER),
                ),
                bound=at_least(NEARLY, "it must be a memory of all its facts"),
                spoils="either",
            ),
            Control(
                reading=Reading(
                    "new facts learnt by embeddings in front of a layer that was never trained, made louder,",
                    FACTS,
                    readings.transfer("new", LOUDER, FEWER),
                ),
                bound=at_most(0.9, "embeddings that can do without any trained layer prove nothing of it"),
            ),
        ),
        remark="It is read at the one of four sizes where both controls hold. With four relations an untrained layer "
        "made louder passes, too; with eight and twice the subjects the memory recalls three quarters of its facts.",
    ),
    Claim(
        id="AM24",
        says=Says(
            holds="Without any training, embeddings composed of learnt ones recall more new facts than embeddings "
            "composed for a memory or an untrained layer.",
            fails="Without any training, embeddings composed of learnt ones recall hardly more new facts than "
            "embeddings composed for a memory or an untrained layer.",
            whether="whether composed embeddings tell a selector from a memory",
        ),
        reading=Reading(
            "new facts by embeddings composed of learnt ones, less those of the best other layer,",
            POINTS,
            readings.composed_beyond("composed", CLEAR),
        ),
        bound=at_least(0.15, "a fifth of what there is between a guess and all facts"),
        controls=(
            Control(
                reading=Reading("first facts recalled by the memory", FACTS, readings.transfer("first", MEMORY, CLEAR)),
                bound=at_least(0.9, "a layer that knows few of its facts is no memory to compare with"),
                spoils="either",
            ),
        ),
    ),
    Claim(
        id="AM25",
        says=Says(
            holds="With four relations and many subjects, composed embeddings recall nearly all new facts, if the "
            "layer was trained with learnt ones.",
            fails="Even with four relations and many subjects, composed embeddings miss a good part of new facts.",
            whether="whether composed embeddings recall nearly all new facts",
        ),
        reading=Reading(
            "new facts by composed embeddings, four relations and 128 subjects,",
            FACTS,
            readings.transfer("composed", LEARNT, MANY),
        ),
        bound=at_least(0.9, "nine facts of ten"),
        source="source",
        source_verdict="Supported on bijections, which this is not on: transfers to new ones without training",
        source_stance="elsewhere",
    ),
    Claim(
        id="AM26",
        says=Says(
            holds="With eight relations in as many channels, composed embeddings recall fewer new facts, though "
            "embeddings that are trained learn nearly all.",
            fails="With eight relations in as many channels, composed embeddings recall about as many new facts.",
            whether="whether composed embeddings recall fewer new facts of eight relations",
        ),
        reading=Reading(
            "new facts by composed embeddings, four relations less eight,",
            POINTS,
            Less(readings.transfer("composed", LEARNT, CLEAR), readings.transfer("composed", LEARNT, MORE)),
        ),
        bound=at_least(0.15, "a fifth of what there is between a guess and all facts"),
        controls=(
            Control(
                reading=Reading(
                    "new facts of eight relations learnt by new embeddings",
                    FACTS,
                    readings.transfer("new", LEARNT, MORE),
                ),
                bound=at_least(NEARLY, "embeddings must have room for the facts"),
            ),
        ),
    ),
    Claim(
        id="AM27",
        says=Says(
            holds="Sums of embeddings that were learnt in front of a memory recall fewer new facts than sums of those "
            "in front of a layer that learnt with its embeddings.",
            fails="Sums of embeddings that were learnt in front of a memory recall about as many new facts as sums of "
            "those in front of a layer that learnt with its embeddings.",
            whether="whether a memory reads sums of embeddings that were learnt in front of it",
        ),
        reading=Reading(
            "new facts by sums of embeddings that were trained anew on the first facts, less those of the best other "
            "layer,",
            POINTS,
            readings.composed_beyond("recomposed", CLEAR),
        ),
        bound=at_least(0.15, "a fifth of what there is between a guess and all facts"),
        controls=(
            Control(
                reading=Reading(
                    "first facts learnt anew by embeddings in front of the memory",
                    FACTS,
                    readings.transfer("again", MEMORY, CLEAR),
                ),
                bound=at_least(NEARLY, "embeddings that are summed must know the facts"),
                spoils="either",
            ),
        ),
    ),
)
OF_BIJECTIONS = (
    Claim(
        id="AM33",
        says=Says(
            holds="Of bijections, too, embeddings composed of learnt ones recall more new facts than embeddings "
            "composed for a memory or an untrained layer.",
            fails="Of bijections, embeddings composed of learnt ones recall hardly more new facts than embeddings "
            "composed for a memory or an untrained layer.",
            whether="whether composed embeddings tell a selector from a memory where facts are bijections",
        ),
        reading=Reading(
            "new facts of bijections by embeddings composed of learnt ones, less those of the best other layer,",
            POINTS,
            readings.composed_beyond("composed", BIJECTIVE, BIJECTIONS),
        ),
        bound=at_least(0.15, "as where facts are drawn independently"),
        controls=(
            Control(
                reading=Reading(
                    "first facts of bijections recalled by the memory",
                    FACTS,
                    readings.transfer("first", MEMORY, BIJECTIVE, BIJECTIONS),
                ),
                bound=at_least(0.9, "a layer that knows few of its facts is no memory to compare with"),
                spoils="either",
            ),
        ),
    ),
    Claim(
        id="AM34",
        says=Says(
            holds="Composed in our way, without any training, embeddings recall nearly all facts of new bijections.",
            fails="Composed in our way, without any training, embeddings miss a good part of the facts of new "
            "bijections.",
            whether="whether composed embeddings recall nearly all facts of new bijections",
        ),
        reading=Reading(
            "new facts of bijections by composed embeddings, two relations and 256 subjects,",
            FACTS,
            readings.transfer("composed", LEARNT, BIJECTIVE_MANY, BIJECTIONS),
        ),
        bound=at_least(0.9, "nine facts of ten"),
        controls=(
            Control(
                reading=Reading(
                    "new facts of bijections learnt by new embeddings",
                    FACTS,
                    readings.transfer("new", LEARNT, BIJECTIVE_MANY, BIJECTIONS),
                ),
                bound=at_least(NEARLY, "embeddings must have room for the facts"),
            ),
        ),
        source="source",
        source_verdict="Supported: transfers to new bijections without training",
        source_stance="by another definition",
    ),
)
"""Written last, after a pilot of seed 900 over seven sizes: at these two seven tenths, and the next layer a half."""
PLACES = (*SIZES, *KILLING, *OF_BIJECTIONS)
