"""Claims on laws of waiting, each on both tasks; written after pilots (see ``design``)."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, NUMBER, STEPS, Bound, at_least, at_most, share_of
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
    TIED,
    TWINS,
)
from retrieval_circuits.emergence_laws.published import ROOT, SQUARE

NETWORKS, QUERIES = share_of("networks"), share_of("queries")
NEARLY_ALL = at_least(0.9, "a wait that is cut off at the cap is too short")
ON = {PAIRS: "on pairs", SEQUENCE: "on sequences"}
NAMES = {CONTEXT: "the context's length", BATCH: "the rows a batch", HEADS: "the number of heads",
         CHANNELS: "the channels a head"}  # fmt: skip


class Law(NamedTuple):
    """A law of waiting: the power of an axis, and how near to it an exponent must be."""

    axis: str
    power: float
    near: Bound
    grows: str
    goes: str
    said: str


SQUARED = Law(
    CONTEXT, SQUARE, at_most(0.5, "nearer to two than to one or three"),
    "grows nearly as the square of the context's length", "with the square of the context's length",
    "Proved for a simplified model",
)  # fmt: skip
ROOTED = Law(
    BATCH, ROOT, at_most(0.25, "nearer to one half than to none or one"),
    "falls nearly as the square root of the rows a batch", "with the square root of the rows a batch",
    "Fitted to language models",
)  # fmt: skip


class Trend(NamedTuple):
    """What happens to the wait along an axis, on average; sentences without the task."""

    axis: str
    bound: Bound
    holds: str
    fails: str
    whether: str
    said: str = "Supported"


IN_TOKENS = Trend(
    CONTEXT, at_most(ROOT / 2, "nearer to minus one half than to none"),
    "In longer contexts networks need fewer steps, as the law in tokens has it,",
    "In longer contexts networks do not need fewer steps, as the law in tokens would have it,",
    "whether networks need fewer steps in longer contexts", "Fitted to language models",
)  # fmt: skip
MORE_HEADS = Trend(
    HEADS, at_most(math.log2(0.9), "a tenth sooner for every doubling"),
    "More heads shorten the wait", "More heads do not shorten the wait by a tenth for every doubling",
    "whether more heads shorten the wait",
)  # fmt: skip
MORE_CHANNELS = Trend(
    CHANNELS, at_least(math.log2(0.9), "less than a tenth sooner for every doubling"),
    "More channels a head do not shorten the wait by a tenth for every doubling",
    "More channels a head shorten the wait", "whether more channels a head leave the wait as it is",
    "Diminishing returns past a smallest number of channels",
)  # fmt: skip


def arrive(shape: str, axis: str) -> Control:
    """What every law needs: that hardly a wait is cut off."""
    words = f"networks along this axis that get there, {ON[shape]},"
    return Control(reading=Reading(words, NETWORKS, readings.arrived(shape, axis)), bound=NEARLY_ALL)


def near(law: Law, identity: str, shape: str) -> Claim:
    """A law's exponent: those of most seeds are nearer to it than to the next simple one."""
    return Claim(
        id=identity,
        says=Says(
            holds=f"The wait {law.grows} {ON[shape]}.",
            fails=f"Over the sizes tried the wait does not go {law.goes} {ON[shape]}.",
            whether=f"whether the wait {law.grows} {ON[shape]}",
        ),
        reading=Reading(
            f"distance of the wait's power of {NAMES[law.axis]} from {law.power:g}, {ON[shape]},",
            NUMBER,
            readings.off(shape, law.axis, law.power),
        ),
        rule=Share(each=law.near),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(arrive(shape, law.axis),),
        source="source",
        source_verdict=law.said,
    )


def on_average(trend: Trend, identity: str, shape: str) -> Claim:
    """The mean exponent along an axis, on one side of a bound."""
    return Claim(
        id=identity,
        says=Says(
            holds=f"{trend.holds} {ON[shape]}.", fails=f"{trend.fails} {ON[shape]}.",
            whether=f"{trend.whether} {ON[shape]}",
        ),
        reading=Reading(
            f"power of {NAMES[trend.axis]} with which the wait goes, {ON[shape]},", NUMBER,
            readings.exponent(shape, trend.axis),
        ),
        bound=trend.bound,
        controls=(arrive(shape, trend.axis),),
        source="source",
        source_verdict=trend.said,
    )  # fmt: skip


def _just_right(identity: str, shape: str) -> Claim:
    return Claim(
        id=identity,
        says=Says(
            holds=f"There is a width that is just right {ON[shape]}: narrower and wider networks wait longer.",
            fails=f"No width is just right {ON[shape]}: the narrowest or the widest networks hardly wait longer.",
            whether=f"whether there is a width that is just right {ON[shape]}",
        ),
        reading=Reading(
            f"logarithm of the shorter wait of the narrowest and the widest by the shortest between, {ON[shape]},",
            NUMBER,
            readings.just_right(shape),
        ),
        bound=at_least(math.log(1.25), "a quarter longer; the shortest of four is short by luck, too"),
        source="source",
        source_verdict="Supported: of its widths the middle ones learn in fewer than 1,000 steps",
    )


def _repeated(identity: str, shape: str) -> Claim:
    return Claim(
        id=identity,
        says=Says(
            holds=f"Where half of all rows are repeated, networks wait at least a tenth less long {ON[shape]}.",
            fails=f"Where half of all rows are repeated, networks do not wait a tenth less long {ON[shape]}.",
            whether=f"whether repeated rows shorten the wait by a tenth {ON[shape]}",
        ),
        reading=Reading(
            f"logarithm of the wait where half of the rows are repeated by that where none are, {ON[shape]},",
            NUMBER,
            readings.longer(shape, REPEATED, HALF),
        ),
        bound=at_most(math.log(0.9), "a tenth sooner"),
        controls=(arrive(shape, REPEATED),),
        source="source",
        source_verdict="Supported",
    )


def _apart(identity: str, shape: str) -> Claim:
    return Claim(
        id=identity,
        says=Says(
            holds=f"In the middle the wait is a lottery {ON[shape]}: of two seeds one waits a quarter longer.",
            fails=f"In the middle the wait is hardly a lottery {ON[shape]}: seeds are less than a quarter apart.",
            whether=f"whether one of two seeds waits a quarter longer than the other in the middle {ON[shape]}",
        ),
        reading=Reading(
            f"logarithm of the longer by the shorter wait of two seeds, {ON[shape]},", NUMBER, readings.apart(shape)
        ),
        bound=at_least(math.log(1.25), "a quarter longer"),
        source="source",
        source_verdict="Supported: the wait is random over seeds",
    )


def _by_weights(identity: str, shape: str) -> Claim:
    return Claim(
        id=identity,
        says=Says(
            holds=f"Initial weights decide more about the wait than which rows are drawn {ON[shape]}.",
            fails=f"Initial weights decide no more about the wait than which rows are drawn {ON[shape]}.",
            whether=f"whether initial weights decide more about the wait than which rows are drawn {ON[shape]}",
        ),
        reading=Reading(
            f"scatter of the wait's logarithm over initial weights less that over rows, {ON[shape]},",
            NUMBER,
            readings.by_weights(shape),
        ),
        bound=at_least(0.05, "a twentieth of the wait"),
        controls=(arrive(shape, TWINS),),
    )


def _tied(identity: str, shape: str) -> Claim:
    return Claim(
        id=identity,
        says=Says(
            holds=f"With tied embeddings networks wait at least twice as long {ON[shape]}.",
            fails=f"With tied embeddings networks wait less than twice as long {ON[shape]}.",
            whether=f"whether tied embeddings double the wait {ON[shape]}",
        ),
        reading=Reading(
            f"logarithm of the wait with tied embeddings by that without, {ON[shape]},",
            NUMBER,
            readings.longer(shape, TIED, 1),
        ),
        bound=at_least(math.log(2), "twice as long; one that is given up has waited longer still"),
    )


def _learnt(shape: str) -> Control:
    words = f"final share of queries answered, networks that are followed, {ON[shape]},"
    return Control(
        reading=Reading(words, QUERIES, readings.right_at_end(shape)), bound=at_least(0.9, "they must have learnt it")
    )


def _answers_first(identity: str, shape: str) -> Claim:
    return Claim(
        id=identity,
        says=Says(
            holds=f"Copying forms before either look {ON[shape]}.",
            fails=f"Copying does not form before both looks {ON[shape]}.",
            whether=f"whether copying forms before either look {ON[shape]}",
        ),
        reading=Reading(
            f"time from copying to the earlier of the looks to the value and to the word before, {ON[shape]},", STEPS,
            readings.answers_first(shape),
        ),
        bound=at_least(FOLLOWED_EVERY, "one measurement: fifty steps"),
        controls=(_learnt(shape),),
        source="source",
        source_verdict="Supported on bigrams, in a figure",
    )  # fmt: skip


def _before_last(identity: str, shape: str) -> Claim:
    return Claim(
        id=identity,
        says=Says(
            holds=f"The look to the word before forms last {ON[shape]}.",
            fails=f"The look to the word before does not form fifty steps after that to the value {ON[shape]}.",
            whether=f"whether the look to the word before forms last {ON[shape]}",
        ),
        reading=Reading(
            f"time from the look to the value asked for to that to the word before, {ON[shape]},", STEPS,
            readings.before_last(shape),
        ),
        bound=at_least(FOLLOWED_EVERY, "one measurement: fifty steps"),
        controls=(_learnt(shape),),
        source="source",
        source_verdict="Supported on bigrams, in a figure",
    )  # fmt: skip


def on_both(make: Callable[[str, str], Claim], *ids: str) -> tuple[Claim, ...]:
    """One claim a task."""
    return tuple(make(identity, shape) for identity, shape in zip(ids, (PAIRS, SEQUENCE), strict=True))


LENGTHS = (*on_both(partial(near, SQUARED), "EL1", "EL2"), *on_both(partial(on_average, IN_TOKENS), "EL3", "EL4"))
ROWS = (*on_both(partial(near, ROOTED), "EL5", "EL6"), *on_both(_repeated, "EL7", "EL8"))
SIZES = (
    *on_both(_just_right, "EL9", "EL10"),
    *on_both(partial(on_average, MORE_HEADS), "EL11", "EL12"),
    *on_both(partial(on_average, MORE_CHANNELS), "EL13", "EL14"),
)
CHANCES = (*on_both(_apart, "EL15", "EL16"), *on_both(_by_weights, "EL17", "EL18"), *on_both(_tied, "EL19", "EL20"))
ORDER = (*on_both(_answers_first, "EL21", "EL22"), *on_both(_before_last, "EL23", "EL24"))
CLAIMS = (*LENGTHS, *ROWS, *SIZES, *CHANCES, *ORDER)
