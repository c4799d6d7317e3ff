"""What several claims of the matrix share: readings of both curricula, and bounds that hold for many."""

from livingpaper.claims.reading import Reading, Values
from livingpaper.claims.units import PROMPTS, Unit, at_least, at_most
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.readings.forced import GUESS_AT_MOST

GUESS = at_most(0.4, "a guess among the values of the prompt scores 1/3")
ABOVE_GUESS = at_most(GUESS_AT_MOST, "a little above a guess, 1/3")
NINE_OF_TEN = at_least(0.9, "nine runs of ten")
NEARLY_EVERY = at_least(0.8, "one seed in five may be a slip of the measurement")
CHECKS_THE_CODE = (
    "The claim's control could hardly fail, as untrained networks answer no prompt right: it checks the code."
)
"""The remark of a claim whose control is the accuracy of untrained networks."""
NONE_AT_ALL = at_least(0.1, "not even one seed in ten is as good as none")


def both(words: str, values: Values, unit: Unit = PROMPTS) -> Reading:
    """What is read off both curricula."""
    return Reading(words, unit, values, arms=tuple(MATRIX))
