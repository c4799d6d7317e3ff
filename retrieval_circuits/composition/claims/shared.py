"""Units, bounds and readings that several claims share."""

from livingpaper.claims.reading import Reading
from livingpaper.claims.units import Unit, at_least, at_most, share_of
from retrieval_circuits.composition import readings
from retrieval_circuits.composition.design import Arm
from retrieval_circuits.composition.readings import ANSWERED, MAPS

QUERIES, PAIRS = share_of("queries"), share_of("pairs")
NUMBER_OF_HOPS = Unit(name="hops", digits=1)
IS_ANSWERED = at_least(ANSWERED, "nine of ten; a guess is right in one of four")
IS_GUESSED = at_most(0.3, "five points above a guess")
HALF_WAY = at_most(0.5, "a third of the way from a guess to all: far from answered")
IS_HELD = at_least(0.5, "twice what a wrong prediction gives")
NOT_HELD = at_most(0.35, "ten points above what a wrong prediction gives")


def final_score(arm: Arm, hops: int, words: str) -> Reading:
    """Accuracy at a number of hops at the end of training."""
    return Reading(f"final accuracy at {words}, {arm},", QUERIES, readings.final_accuracy(arm, hops))


def held(words: str, *given, **where: str) -> Reading:
    """How often the answer is that of what the replaced stream is said to hold; see ``readings.holds``."""
    return Reading(words, PAIRS, readings.holds(*given, **where))


def held_where_answered(words: str, arm: Arm, hops: int, after: int, *, metric: str = MAPS, **where: str) -> Reading:
    """The same of those networks of an arm that answer as many hops as are asked for."""
    return Reading(words, PAIRS, readings.where_answered(readings.holds(arm, metric, hops, after, **where), arm, hops))


def best_score(arm: Arm, hops: int, words: str) -> Reading:
    """The best accuracy at a number of hops at any checkpoint."""
    return Reading(f"best accuracy at {words}, {arm},", QUERIES, readings.best_accuracy(arm, hops))
