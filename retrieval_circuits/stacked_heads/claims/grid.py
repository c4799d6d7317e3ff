"""Claims on how deep a chain of look-ups must be, on what is rewarded, and on the order in which paths appear."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading, Values, of_experiment
from livingpaper.claims.rules import Counted, Every, Share
from livingpaper.claims.units import COUNT, MORE_OFTEN_THAN_NOT, STEPS, Unit, at_least, at_most, share_of
from retrieval_circuits.stacked_heads import readings
from retrieval_circuits.stacked_heads.claims.bounds import ATTENTION, ERROR, ERROR_MORE, IS_LEARNT, LAYERS
from retrieval_circuits.stacked_heads.design import (
    BY_TWO,
    FLOW,
    FOLLOWED,
    LAST_ALONE,
    LONGEST,
    ONE,
    REWARDED,
    STEPS_AN_EPOCH,
    WIRED,
)
from retrieval_circuits.stacked_heads.readings import ATTENDED, FIRST, JUMP, LEARNT, PREVIOUS, SECOND

COUNTED = f"lengths of chains, of one to {LONGEST} look-ups,"
NETWORKS, LENGTHS, CASES = share_of("networks"), share_of("lengths"), share_of("cases")
NOT_LEARNT = at_least(LEARNT, "the source's threshold for learnt, below what knowing the step alone gives, 0.75")
LOSS = partial(Reading, unit=ERROR)


def _path(words: str, unit: Unit, values: Values) -> Reading:
    """What is read off the networks that are followed."""
    return Reading(words, unit, values, arms=(str(FOLLOWED),))


def _second_with(n_layers: int) -> Reading:
    cell = REWARDED[n_layers - 1]
    return LOSS(
        f"final error of the second symbol with {n_layers} layers, every step rewarded,",
        values=readings.final_loss(cell, 2),
    )


DEPTH = (
    Claim(
        id="SH1",
        says=Says(
            holds="One layer does not learn even one look-up.",
            fails="One layer learns one look-up.",
            whether="whether one layer learns one look-up",
        ),
        reading=LOSS("final error of the first symbol with one layer", values=readings.final_loss(ONE[0], 1)),
        bound=NOT_LEARNT,
        controls=(
            Control(
                reading=LOSS("final error of the first symbol with two layers", values=readings.final_loss(ONE[1], 1)),
                bound=IS_LEARNT,
            ),
        ),
    ),
    Claim(
        id="SH2",
        says=Says(
            holds="Two layers do not learn two look-ups in the steps they had.",
            fails="Two layers learn two look-ups.",
            whether="whether two layers learn two look-ups",
        ),
        reading=_second_with(2),
        bound=NOT_LEARNT,
        controls=(Control(reading=_second_with(6), bound=IS_LEARNT),),
    ),
    Claim(
        id="SH3",
        says=Says(
            holds="Three layers, one that joins pairs and one a look-up, learn two look-ups more often than not.",
            fails="Three layers, one that joins pairs and one a look-up, mostly do not learn two look-ups in the steps "
            "they had.",
            whether="whether three layers learn two look-ups more often than not",
        ),
        reading=_second_with(3),
        rule=Share(each=IS_LEARNT),
        bound=MORE_OFTEN_THAN_NOT,
    ),
    Claim(
        id="SH4",
        says=Says(
            holds="A layer to spare is enough: four layers learn two look-ups more often than not.",
            fails="Four layers mostly do not learn two look-ups in the steps they had.",
            whether="whether four layers learn two look-ups more often than not",
        ),
        reading=_second_with(4),
        rule=Share(each=IS_LEARNT),
        bound=MORE_OFTEN_THAN_NOT,
    ),
    Claim(
        id="SH5",
        says=Says(
            holds="The second symbol of a chain takes more layers than the first.",
            fails="The second symbol of a chain takes no more layers than the first.",
            whether="whether the second symbol of a chain takes more layers than the first",
        ),
        reading=Reading(
            "layers with which the second symbol is learnt, less those with which the first is,",
            LAYERS,
            readings.more_layers(2, 1, *REWARDED),
        ),
        bound=at_least(1.0, "one layer: they come whole"),
        source="source",
        source_verdict="Supported in a figure: later symbols need more layers (D = 5, 8 runs a depth)",
    ),
)
REWARDS = (
    Claim(
        id="SH6",
        says=Says(
            holds="In every network that learns both, the first symbol is learnt before the second.",
            fails="Not in every network that learns both is the first symbol learnt before the second.",
            whether="whether the first symbol is always learnt before the second",
        ),
        reading=Reading(
            "networks, of all depths that learnt both, that learnt the first symbol before the second,",
            NETWORKS,
            readings.in_order,
        ),
        rule=Every(each=at_least(1.0, "every one of the seed's networks")),
        bound=at_least(0.5, "no fewer than every other seed: five seeds cannot say more"),
        source="source",
        source_verdict="Supported: 64 of 64 runs (D = 5)",
    ),
    Claim(
        id="SH7",
        says=Says(
            holds="Where only the last symbol is rewarded, four layers do not learn two look-ups in the "
            "steps they had.",
            fails="Four layers learn two look-ups where only the last symbol is rewarded.",
            whether="whether four layers learn two look-ups where only the last symbol is rewarded",
        ),
        reading=LOSS(
            "final error of the second symbol with 4 layers, only the second rewarded,",
            values=readings.final_loss(LAST_ALONE[0], 2),
        ),
        bound=at_least(0.7, "the source's bound; knowing the step alone gives 0.75"),
        controls=(Control(reading=_second_with(4), bound=IS_LEARNT),),
        source="source",
        source_verdict="Supported at D = 3: 64 of 64 runs end above 0.7",
    ),
)
PATHS = (
    Claim(
        id="SH8",
        says=Says(
            holds="The head that joins a pair appears before the head that fetches the first answer.",
            fails="The head that joins a pair does not appear well before the head that fetches the first answer.",
            whether="whether the head that joins a pair appears before the one that fetches the first answer",
        ),
        reading=_path(
            "time at which attention from query to first answer passes one half, less that from value to key,",
            STEPS,
            Less(readings.path_time(FIRST), readings.path_time(PREVIOUS)),
        ),
        bound=at_least(STEPS_AN_EPOCH, "the time between two checkpoints"),
        controls=(
            Control(
                reading=_path(
                    "attention from query to first answer at the end", ATTENTION, readings.final_attention(*FIRST)
                ),
                bound=at_least(ATTENDED, "the source's threshold for a path"),
            ),
        ),
        remark="By single heads; joining is often split over two. With the heads of a layer added up, and as much "
        "asked of them as one head has in all, twice the threshold, it would be open; at the threshold it stays.",
    ),
    Claim(
        id="SH9",
        says=Says(
            holds="The path to the first answer mostly appears within a hundred steps of its symbol.",
            fails="The path to the first answer mostly does not appear within a hundred steps of its symbol.",
            whether="whether the path to the first answer mostly appears within a hundred steps of its symbol",
        ),
        reading=_path(
            "time between the fall of the error of the first symbol and attention from query to first answer passing "
            "one half",
            STEPS,
            readings.path_and_loss,
        ),
        rule=Share(each=at_most(2 * STEPS_AN_EPOCH, "two checkpoints")),
        bound=MORE_OFTEN_THAN_NOT,
    ),
    Claim(
        id="SH10",
        says=Says(
            holds="With a layer to spare, the query mostly hops along the chain: one of its heads looks at the second "
            "answer.",
            fails="With a layer to spare, mostly no head of the query looks at the second answer.",
            whether="whether with a layer to spare mostly some head of the query looks at the second answer",
        ),
        reading=_path("attention from query to second answer at the end", ATTENTION, readings.final_attention(*SECOND)),
        rule=Share(each=at_least(ATTENDED, "the source's threshold for a path")),
        bound=MORE_OFTEN_THAN_NOT,
        source="source",
        source_verdict="Supported: every circuit it drew makes one hop a layer",
    ),
    Claim(
        id="SH11",
        says=Says(
            holds="With a layer to spare, mostly some head looks from the first answer to the second, as doubling "
            "does.",
            fails="With a layer to spare, mostly no head looks from the first answer to the second.",
            whether="whether with a layer to spare mostly some head looks from the first answer to the second",
        ),
        reading=_path("attention from first to second answer at the end", ATTENTION, readings.final_attention(*JUMP)),
        rule=Share(each=at_least(ATTENDED, "the source's threshold for a path")),
        bound=MORE_OFTEN_THAN_NOT,
    ),
)
CIRCUITS = (
    Claim(
        id="SH12",
        says=Says(
            holds="Maps of attention made by role alone can take the place of every head's own.",
            fails="Maps of attention made by role alone cannot take the place of every head's own.",
            whether="whether maps made by role alone can take the place of every head's own",
        ),
        reading=_path(
            "squared error with every head looking along its candidate paths, and evenly elsewhere, less the network's "
            "own,",
            ERROR_MORE,
            readings.cost_of("candidates"),
        ),
        bound=at_most(0.05, "the error that the source accepts"),
        controls=(
            Control(
                reading=_path(
                    "squared error with every head looking evenly everywhere, less the network's own,",
                    ERROR_MORE,
                    readings.cost_of("uniform"),
                ),
                bound=at_least(0.5, "most of what there is to lose: attention must matter"),
            ),
            Control(
                reading=_path("candidate paths in the untrained network", COUNT, readings.paths_at_start),
                bound=at_most(1.0, "a random network has next to none"),
            ),
        ),
        source="source",
        source_verdict="Supported in four networks, whose paths were chosen by hand",
    ),
    Claim(
        id="SH13",
        says=Says(
            holds="With a layer to spare four heads or more are left on average, one more than joining and two "
            "look-ups take.",
            fails="With a layer to spare fewer than four heads are left on average, not one more than joining and two "
            "look-ups take.",
            whether="whether with a layer to spare four heads or more are left on average",
        ),
        reading=_path("heads with a path that is left", COUNT, readings.heads_left),
        bound=at_least(4.0, "one more than needed: one head joins pairs, one makes each look-up"),
        controls=(
            Control(
                reading=_path(
                    "squared error with the paths that are left, less the network's own,",
                    ERROR_MORE,
                    readings.cost_of("paths"),
                ),
                bound=at_most(0.1, "twice the error that the source accepts"),
            ),
        ),
        source="source",
        source_verdict="Supported: three networks use four heads where three would do (D = 3)",
    ),
)
THEORY = (
    Claim(
        id="SH14",
        says=Says(
            holds="As few layers as the source's theorem demands are enough for chains of every length.",
            fails="As few layers as the source's theorem demands are not enough for chains of every length, by its own "
            "assumptions.",
            whether="whether as few layers as the source's theorem demands are enough",
        ),
        reading=Reading(
            f"{COUNTED} for which as few layers are enough, without a mask and with any number of heads,",
            LENGTHS,
            of_experiment(FLOW, "tight", "mean", variant="open"),
        ),
        rule=Counted(),
        bound=at_least(1.0, "every length that was counted"),
        min_seeds=0,
    ),
    Claim(
        id="SH15",
        says=Says(
            holds="By the source's assumptions, a chain behind a causal mask takes two layers, and one more each time "
            "its length doubles.",
            fails="By the source's assumptions, a chain behind a causal mask does not always take two layers and one "
            "more each time its length doubles.",
            whether="whether by the source's assumptions a chain takes two layers and one more each time it doubles",
        ),
        reading=Reading(
            f"{COUNTED} for which simulation and closed form agree, behind a causal mask,",
            LENGTHS,
            of_experiment(FLOW, "agrees", "mean", variant="causal"),
        ),
        rule=Counted(),
        bound=at_least(1.0, "every length that was counted"),
        min_seeds=0,
    ),
    Claim(
        id="SH16",
        says=Says(
            holds="One layer, wired by hand, follows chains for which the theorem demands two layers.",
            fails="One layer, wired by hand, does not follow chains for which the theorem demands two layers.",
            whether="whether one layer can follow chains for which the theorem demands two",
        ),
        reading=Reading(
            "squared error of the wired layer on chains of two and of three look-ups, the larger",
            ERROR,
            of_experiment(WIRED, "error", "max"),
        ),
        rule=Counted(),
        bound=at_most(0.01, "the source's three networks stay below it"),
        min_seeds=0,
    ),
    Claim(
        id="SH28",
        says=Says(
            holds="By the same assumptions, a hop that depends on two symbols takes as many layers as two look-ups in "
            "a row.",
            fails="By the same assumptions, a hop that depends on two symbols does not always take as many layers as "
            "two look-ups in a row.",
            whether="whether a hop that depends on two symbols takes as many layers as two look-ups in a row",
        ),
        reading=Reading(
            "cases, a number of hops and who may attend to whom, in which both take as many layers,",
            CASES,
            of_experiment(BY_TWO, "agrees", "mean"),
        ),
        rule=Counted(),
        bound=at_least(1.0, "every case that was counted"),
        min_seeds=0,
    ),
)
GRID = (*THEORY, *DEPTH, *REWARDS, *PATHS, *CIRCUITS)
