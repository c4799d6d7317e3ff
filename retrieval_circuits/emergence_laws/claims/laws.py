"""Claims on laws of waiting, each on both tasks, and on the order of parts in induction heads."""

import math
from collections.abc import Callable
from typing import NamedTuple

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import SEED_DRAWS, Reading, Values
from livingpaper.claims.rules import OnAverage, Rule, Share
from livingpaper.claims.units import (
    DOUBLINGS,
    MORE_OFTEN_THAN_NOT,
    NUMBER,
    STEPS,
    Bound,
    Unit,
    at_least,
    at_most,
    share_of,
)
from livingpaper.claims.verdict import Stance
from retrieval_circuits.emergence_laws import readings
from retrieval_circuits.emergence_laws.design import (
    BATCH,
    CHANNELS,
    CONTEXT,
    FOLLOWED_EVERY,
    HALF,
    HEADS,
    PAIRS,
    REPEATED,
    SEQUENCE,
    SHAPES,
    TIED,
    TIMES,
    TWINS,
)
from retrieval_circuits.emergence_laws.published import ROOT, SQUARE

NETWORKS, QUERIES = (share_of(of) for of in ("networks", "queries"))
NEARLY_ALL = at_least(0.9, "a wait that is cut off at the cap is too short")
ON = {PAIRS: "on pairs", SEQUENCE: "on sequences"}
NAMES = {CONTEXT: "the context's length", BATCH: "the rows a batch", HEADS: "the number of heads",
         CHANNELS: "the channels a head", TIMES: "the times that pairs are told"}  # fmt: skip


class Asked(NamedTuple):
    """One question, put to both tasks: ``{on}`` in its words is the task.

    Attributes:
        holds, fails, whether: the sentences of its verdicts.
        reads: words of the reading.
        values: task -> values of the reading.
        bound, unit, rule: of the claim.
        control: task -> what must hold besides; none where nothing could spoil it.
        said: what the published study concluded; "" for a claim of ours.
        stance: what that is to these networks, as a claim's ``source_stance``.
        draws: what one number of the reading is of, as a reading's ``draws``.
    """

    holds: str
    fails: str
    whether: str
    reads: str
    values: Callable[[str], Values]
    bound: Bound
    unit: Unit = NUMBER
    rule: Rule = OnAverage()
    control: Callable[[str], Control] | None = None
    said: str = ""
    stance: Stance = "claimed"
    draws: str = SEED_DRAWS

    def of(self, identity: str, shape: str) -> Claim:
        """The claim on one task."""
        holds, fails, whether, reads = (
            text.format(on=ON[shape]) for text in (self.holds, self.fails, self.whether, self.reads)
        )
        return Claim(
            id=identity,
            says=Says(holds=holds, fails=fails, whether=whether),
            reading=Reading(reads, self.unit, self.values(shape), draws=self.draws),
            rule=self.rule,
            bound=self.bound,
            controls=() if self.control is None else (self.control(shape),),
            source="source" if self.said else "ours",
            source_verdict=self.said,
            source_stance=self.stance,
        )

    def on_both(self, *ids: str) -> tuple[Claim, ...]:
        """One claim a task."""
        return tuple(self.of(identity, shape) for identity, shape in zip(ids, SHAPES, strict=True))


def arrive(axis: str) -> Callable[[str], Control]:
    """What a law along an axis needs: that hardly a wait is cut off."""

    def control(shape: str) -> Control:
        words = f"networks along this axis that get there, {ON[shape]},"
        return Control(reading=Reading(words, NETWORKS, readings.arrived(shape, axis)), bound=NEARLY_ALL)

    return control


def learnt(shape: str) -> Control:
    """What an order of heads needs: that they came to answer."""
    words = f"final share of queries answered, networks that are followed, {ON[shape]},"
    return Control(
        reading=Reading(words, QUERIES, readings.right_at_end(shape)), bound=at_least(0.9, "they must have learnt it")
    )


def near(axis: str, law: float, room: Bound, words: tuple[str, str], said: str) -> Asked:
    """Whether the exponents of most seeds are nearer to a law's than to the next simple one."""
    grows, goes = words
    return Asked(
        f"The wait {grows} {{on}}.",
        f"Over the sizes tried the wait does not go {goes} {{on}}.",
        f"whether the wait {grows} {{on}}",
        f"distance of the wait's power of {NAMES[axis]} from {law:g}, {{on}},",
        lambda shape: readings.off(shape, axis, law),
        MORE_OFTEN_THAN_NOT,
        rule=Share(each=room),
        control=arrive(axis),
        said=said,
    )


def on_average(axis: str, bound: Bound, words: tuple[str, str, str], said: str = "Supported") -> Asked:
    """Whether the mean exponent along an axis is on one side of a bound; sentences without the task."""
    holds, fails, whether = words
    return Asked(
        f"{holds} {{on}}.",
        f"{fails} {{on}}.",
        f"{whether} {{on}}",
        f"power of {NAMES[axis]} with which the wait goes, {{on}},",
        lambda shape: readings.exponent(shape, axis),
        bound,
        control=arrive(axis),
        said=said,
    )


SQUARED = near(
    CONTEXT,
    SQUARE,
    at_most(0.5, "nearer to two than to one or three"),
    ("grows nearly as the square of the context's length", "with the square of the context's length"),
    "Proved for a simplified model",
)._replace(stance="elsewhere")
IN_TOKENS = on_average(
    CONTEXT,
    at_most(ROOT / 2, "nearer to minus one half than to none"),
    (
        "In longer contexts networks need fewer steps, as the law in tokens has it,",
        "Over the sizes tried networks do not need fewer steps in longer contexts, as the law in tokens has it,",
        "whether networks need fewer steps in longer contexts",
    ),
    "Fitted to language models",
)._replace(stance="elsewhere")
ROOTED = near(
    BATCH,
    ROOT,
    at_most(0.25, "nearer to one half than to none or one"),
    (
        "falls with the rows a batch, by a fitted power nearer to minus one half than to none or minus one,",
        "with the square root of the rows a batch",
    ),
    "Fitted to language models",
)._replace(stance="elsewhere")
AGAIN = Asked(
    "Where half of all rows are repeated, networks wait at least a tenth less long {on}.",
    "Where half of all rows are repeated, networks do not wait a tenth less long {on}.",
    "whether repeated rows shorten the wait by a tenth {on}",
    "wait where half of the rows are repeated, in doublings of that where none are, {on},",
    lambda shape: readings.longer(shape, REPEATED, HALF),
    at_most(math.log2(0.9), "a tenth sooner"),
    DOUBLINGS,
    control=arrive(REPEATED),
    said="Supported",
    stance="by another definition",
)
JUST_RIGHT = Asked(
    "There is a width that is just right {on}: narrower and wider networks wait longer.",
    "No width is just right {on}: the narrowest or the widest networks hardly wait longer.",
    "whether there is a width that is just right {on}",
    "shorter wait of the narrowest and the widest, in doublings of the shortest between, {on},",
    readings.just_right,
    at_least(math.log2(1.25), "a quarter longer; the shortest of four is short by luck, too"),
    DOUBLINGS,
    said="Supported: of its widths the middle ones learn in fewer than 1,000 steps",
    stance="elsewhere",
)
MORE_HEADS = on_average(
    HEADS,
    at_most(math.log2(0.9), "a tenth sooner for every doubling"),
    (
        "More heads shorten the wait by a tenth for every doubling",
        "More heads do not shorten the wait by a tenth for every doubling",
        "whether more heads shorten the wait by a tenth for every doubling",
    ),
)
MORE_CHANNELS = on_average(
    CHANNELS,
    at_least(math.log2(0.9), "less than a tenth sooner for every doubling"),
    (
        "More channels a head do not shorten the wait by a tenth for every doubling",
        "More channels a head shorten the wait",
        "whether more channels a head leave the wait as it is",
    ),
    "Diminishing returns past a smallest number of channels",
)._replace(stance="by another definition")
A_LOTTERY = Asked(
    "In the middle the wait is a lottery {on}: of two seeds one waits a quarter longer, on average.",
    "In the middle the wait is hardly a lottery {on}: two seeds are less than a quarter apart, on average.",
    "whether one of two seeds waits a quarter longer than the other in the middle {on}",
    "longer wait of two seeds, in doublings of the shorter, {on},",
    readings.apart,
    at_least(math.log2(1.25), "a quarter longer"),
    DOUBLINGS,
    said="Supported: the wait is random over seeds",
    stance="elsewhere",
    draws="pairs of seeds",
)
OF_WEIGHTS = Asked(
    "Initial weights scatter the wait by a twentieth more than which rows are drawn does {on}.",
    "Initial weights scatter the wait by less than a twentieth more than which rows are drawn does {on}.",
    "whether initial weights scatter the wait by a twentieth more than which rows are drawn does {on}",
    "scatter of the wait's logarithm over initial weights less that over rows, {on},",
    readings.by_weights,
    at_least(0.05, "a twentieth of the wait"),
    control=arrive(TWINS),
)
WHEN_TIED = Asked(
    "With tied embeddings networks wait at least twice as long {on}.",
    "With tied embeddings networks wait less than twice as long {on}.",
    "whether tied embeddings double the wait {on}",
    "wait with tied embeddings, in doublings of that without, {on},",
    lambda shape: readings.longer(shape, TIED, 1),
    at_least(1, "twice as long; one that is given up has waited longer still"),
    DOUBLINGS,
)
ONE_MEASUREMENT = at_least(FOLLOWED_EVERY, "one measurement: fifty steps")
COPYING_FIRST = Asked(
    "Copying forms before either look {on}, on average.",
    "Copying does not form before both looks {on}, on average.",
    "whether copying forms before either look {on}",
    "time from copying to the earlier of the looks to the value and to the word before, {on},",
    readings.answers_first,
    ONE_MEASUREMENT,
    unit=STEPS,
    control=learnt,
    said="Supported on bigrams, in a figure",
    stance="elsewhere",
)
BEFORE_LAST = Asked(
    "The look to the word before forms last {on}.",
    "The look to the word before does not form fifty steps after that to the value {on}.",
    "whether the look to the word before forms last {on}",
    "time from the look to the value asked for to that to the word before, {on},",
    readings.before_last,
    ONE_MEASUREMENT,
    unit=STEPS,
    control=learnt,
    said="Supported on bigrams, in a figure",
    stance="elsewhere",
)
LAST_BY_LESS = BEFORE_LAST._replace(
    fails="The look to the word before forms last {on}, but by less than fifty steps: {{effect}}, on average.",
    stance="by another definition",
)
TOLD_AGAIN = on_average(
    TIMES,
    at_most(-0.5, "nearer to minus one than to none"),
    (
        "The wait falls at least as the root of how often all pairs are told",
        "The wait does not fall as fast as the root of how often all pairs are told",
        "whether the wait falls at least as the root of how often all pairs are told",
    ),
    said="",
)
LAWS = (
    *SQUARED.on_both("EL1", "EL2"),
    *IN_TOKENS.on_both("EL3", "EL4"),
    *ROOTED.on_both("EL5", "EL6"),
    *AGAIN.on_both("EL7", "EL8"),
    *JUST_RIGHT.on_both("EL9", "EL10"),
    *MORE_HEADS.on_both("EL11", "EL12"),
    *MORE_CHANNELS.on_both("EL13", "EL14"),
    *A_LOTTERY.on_both("EL15", "EL16"),
    *OF_WEIGHTS.on_both("EL17", "EL18"),
    *WHEN_TIED.on_both("EL19", "EL20"),
    *COPYING_FIRST.on_both("EL21", "EL22"),
    BEFORE_LAST.of("EL23", PAIRS),
    LAST_BY_LESS.of("EL24", SEQUENCE),
    TOLD_AGAIN.of("EL25", PAIRS),
)
