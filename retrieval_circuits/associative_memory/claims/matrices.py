"""Claims on how many pairs a matrix holds: as a sum, after one step, trained."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.units import NUMBER, Unit, at_least, at_most, share_of
from retrieval_circuits.associative_memory.design import BEST, EXACT_TO, SOURCES
from retrieval_circuits.associative_memory.published import LIMIT, LINE
from retrieval_circuits.associative_memory.readings import memories as readings
from retrieval_circuits.associative_memory.readings.memories import NEARLY_ALL

PAIRS = share_of("pairs")
APART = Unit(name="points", times=100, digits=1, low=0, high=1)
LOAD = Unit(digits=2, low=0.0)
TIMES = Unit(digits=1, low=0.0)
NEXT_LOAD = 0.08
"""The distance of two loads that were tried, where the source's line ends."""
HELD = partial(Reading, unit=LOAD)

SUMS = (
    Claim(
        id="AM1",
        says=Says(
            holds="In the two widest matrices independent noise predicts what a sum of outer products recalls, at "
            "every load.",
            fails="In the two widest matrices independent noise does not predict what a sum of outer products recalls.",
            whether="whether in the two widest matrices independent noise predicts what a sum recalls",
        ),
        reading=Reading(
            "difference between recall and closed form, at the worst load of the two widest sums,",
            APART,
            readings.largest_miss,
        ),
        bound=at_most(0.05, "less than half of what one step in load changes where recall falls fastest"),
    ),
    Claim(
        id="AM2",
        says=Says(
            holds="After one gradient step nearly all pairs are recalled, up to a load of one eighth.",
            fails="After one gradient step not nearly all pairs are recalled, even at a load of one eighth.",
            whether="whether one gradient step stores nearly all pairs",
        ),
        reading=Reading(
            "recall of the widest memory after one step, at a load of 1/8,", PAIRS, readings.step_at(0.126)
        ),
        bound=at_least(NEARLY_ALL, "the source's criterion of capacity"),
        controls=(
            Control(
                reading=Reading("recall after one step at four times the typical load", PAIRS, readings.step_at(2.0)),
                bound=at_most(0.2, "a memory that is full forgets: else the test is too easy"),
            ),
        ),
        source="source",
        source_verdict="Supported: near-perfect accuracy, no limit named",
    ),
    Claim(
        id="AM3",
        says=Says(
            holds="In the two widest matrices one gradient step stores what the Hebbian sum does, within two points.",
            fails="In the two widest matrices one gradient step and the Hebbian sum do not store the same.",
            whether="whether one gradient step stores what the Hebbian sum does",
        ),
        reading=Reading(
            "difference in recall between one step and the sum, at the worst load of the two widest,",
            APART,
            readings.step_and_sum,
        ),
        bound=at_most(0.02, "two pairs of a hundred: nobody would choose one of them for it"),
    ),
)
TRAINING = (
    Claim(
        id="AM4",
        says=Says(
            holds="With the source's optimiser, rate and steps, a matrix of width 16 stops recalling 99 % at the load "
            "of the source's line.",
            fails="With the source's optimiser, rate and steps, a matrix of width 16 recalls 99 % past the load of the "
            "source's line: up to {effect}.",
            whether="whether recall in a matrix of width 16 ends at the load of the source's line",
        ),
        reading=HELD(
            "load at which 99 % recall ends, with the source's optimiser, rate and steps,",
            values=readings.trained_load(SOURCES, longest=True),
        ),
        bound=at_most(round(1 / LINE + NEXT_LOAD, 3), "the source's line, 0.769, and one step in load"),
        controls=(
            Control(
                reading=HELD(
                    "load at which 99 % recall ends, in the same matrices,",
                    values=readings.trained_load(SOURCES, longest=True),
                ),
                bound=at_least(round(1 / LINE - NEXT_LOAD, 3), "the source's line less one step in load"),
            ),
        ),
        source="source",
        source_verdict="A line drawn through its results, d = 8 to 256; no width by itself",
        source_stance="by another definition",
        remark="It is the mean of the matrices' own ends. Their mean recall ends nearer to the line, at 0.86.",
    ),
    Claim(
        id="AM5",
        says=Says(
            holds="At rate 1 the widest matrices store more than at the source's rate, in as many steps.",
            fails="At rate 1 the widest matrices store no more than at the source's rate.",
            whether="whether at rate 1 the widest matrices store more than at the source's rate",
        ),
        reading=HELD(
            "load at which 99 % recall ends in the widest matrices, at rate 1 less that at rate 1,000,",
            unit=NUMBER,
            values=Less(readings.trained_load(BEST, longest=False), readings.trained_load(SOURCES, longest=False)),
        ),
        bound=at_least(NEXT_LOAD, "one step in load"),
    ),
    Claim(
        id="AM6",
        says=Says(
            holds="At rate 1 even the widest matrices that we trained hold more pairs than the published line says.",
            fails="At rate 1 the widest matrices that we trained hold no more pairs than the published line says.",
            whether="whether matrices trained at rate 1 hold more pairs than the published line says",
        ),
        reading=HELD(
            "load at which 99 % recall ends, in the widest matrices at rate 1,",
            values=readings.trained_load(BEST, longest=False),
        ),
        bound=at_least(round(1 / LINE + NEXT_LOAD, 3), "the source's line, 0.769, and one step in load"),
    ),
    Claim(
        id="AM7",
        says=Says(
            holds=f"At width {EXACT_TO}, training at rate 1 recalls all pairs nearly up to the load where no matrix "
            "can.",
            fails=f"At width {EXACT_TO}, training at rate 1 leaves room: some matrix recalls all of more pairs.",
            whether=f"whether training at rate 1 fills a matrix of width {EXACT_TO}",
        ),
        reading=HELD(
            "largest load at which training recalls all pairs, by the largest at which any matrix does,",
            values=readings.reached(BEST),
        ),
        bound=at_least(0.9, "less than a step and a half in load is lost"),
        controls=(
            Control(
                reading=HELD("the same after training at rate 0.01", values=readings.reached(("adam", 0.01))),
                bound=at_most(0.95, "training that is too slow must show as such"),
            ),
        ),
    ),
    Claim(
        id="AM8",
        says=Says(
            holds="Narrow matrices hold more than theory's limit for wide ones.",
            fails="Narrow matrices hold no more than theory's limit for wide ones.",
            whether="whether narrow matrices hold more than theory's limit",
        ),
        reading=HELD("load up to which some matrix recalls all pairs", values=readings.best_load),
        bound=at_least(1.5 * LIMIT, "half as much again as the limit: corrections in 1/ln N that are seen"),
    ),
    Claim(
        id="AM9",
        says=Says(
            holds=f"At width {EXACT_TO} the best matrix recalls on average at least four times as many pairs without "
            "an error as their sum.",
            fails=f"At width {EXACT_TO} the best matrix recalls on average less than four times as many pairs without "
            "an error as their sum.",
            whether="whether the best matrix recalls far more pairs without an error than their sum",
        ),
        reading=Reading("pairs that the best matrix recalls, by those of the sum,", TIMES, readings.best_and_sum),
        bound=at_least(4.0, "what theory says of wide ones: a load of 1/2 against 1/8"),
    ),
)
