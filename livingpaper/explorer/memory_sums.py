"""A matrix that holds pairs, filled in three ways, and what it recalls: the arithmetic of ``static/memory_rules.js``.

Pair ``i`` is an input e_i and an output u_i. Asked with e_i, a matrix W answers with the stored output of the largest
score u^T W e_i. All is float64.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int

Way = Literal["sum", "step", "descent"]
WAYS: tuple[Way, ...] = get_args(Way)
"""Sum of u e^T; one gradient step of cross-entropy from zero, which is the same less the mean output; many steps."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Recall:
    """What a matrix answers.

    Attributes:
        answers: the pair whose output has the largest score, for each pair.
        margins: score of the own output less the largest other one; nan where there is no other.
    """

    answers: Int[np.ndarray, " pair"]
    margins: Float[np.ndarray, " pair"]

    @property
    def is_recalled(self) -> np.ndarray:
        """Whether the own output alone scores highest; one pair alone is recalled."""
        return ~(self.margins <= 0)


def filled(
    way: Way,
    inputs: Float[np.ndarray, "pair width"],
    outputs: Float[np.ndarray, "pair width"],
    *,
    steps: int = 1,
    rate: float = 1.0,
) -> Float[np.ndarray, "width width"]:
    """The matrix that stores these pairs.

    Args:
        way: how.
        inputs: e.
        outputs: u, the only classes.
        steps: of "descent": full batches, cross-entropy summed over pairs, from zero.
        rate: of "descent".

    Raises:
        ValueError: another way.
    """
    if way not in WAYS:
        raise ValueError(f"way {way!r}; allowed: {', '.join(WAYS)}")
    if way == "sum" or not len(inputs):
        return outputs.T @ inputs
    if way == "step":
        return (outputs - outputs.mean(0)).T @ inputs
    memory = np.zeros((outputs.shape[1], inputs.shape[1]))
    for _ in range(steps):
        scores = inputs @ memory.T @ outputs.T
        wrong = np.exp(scores - scores.max(1, keepdims=True))
        wrong /= wrong.sum(1, keepdims=True)
        wrong[np.diag_indices(len(wrong))] -= 1
        memory -= rate * (wrong @ outputs).T @ inputs
    return memory


def recall(
    memory: Float[np.ndarray, "width width"],
    inputs: Float[np.ndarray, "pair width"],
    outputs: Float[np.ndarray, "pair width"],
) -> Recall:
    """What the matrix answers to each pair's input, among the outputs of all."""
    scores = inputs @ memory.T @ outputs.T
    if len(scores) < 2:
        return Recall(answers=np.arange(len(scores)), margins=np.full(len(scores), np.nan))
    rivals = scores.copy()
    np.fill_diagonal(rivals, -np.inf)
    margins = scores.diagonal() - rivals.max(1)
    return Recall(answers=np.where(margins > 0, np.arange(len(scores)), rivals.argmax(1)), margins=margins)
