"""The most pairs that any matrix recalls: a question of linear inequalities, answered without training anything."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts are imported when they are asked for
import torch

from retrieval_circuits.associative_memory.measures.sums import hebbian, recalled, unit_vectors

SOLVED, IMPOSSIBLE = 0, 2
"""What the solver says of inequalities that some matrix meets, and of those that none does."""


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Where the largest memory is looked for: widths d, and at each the numbers M of outputs that pairs share."""

    widths: tuple[int, ...]
    classes: tuple[int, ...]


def exact(asked: Exact, seed: int) -> list[dict[str, Any]]:
    """The largest N for which the first N pairs of a list are all recalled: by any matrix, and by the Hebbian sum.

    Pair z has output z mod M. Few classes: an output has many inputs.
    """
    generator = torch.Generator().manual_seed(seed)
    found = []
    for width in asked.widths:
        for n_classes in asked.classes:
            most = 4 * width * n_classes
            inputs = unit_vectors(1, most, width, generator)[0].double()
            outputs = unit_vectors(1, n_classes, width, generator)[0].double()
            by_any = most_of_any(inputs, outputs, 2 * width)
            found.append({"rule": "any", "d": width, "classes": n_classes, "n_pairs": by_any})
            by_sum = most_of_sum(inputs, outputs)
            found.append({"rule": "hebbian", "d": width, "classes": n_classes, "n_pairs": by_sum})
    return found


def most_of_any(inputs: torch.Tensor, outputs: torch.Tensor, start: int = 1) -> int:
    """The largest N for which some matrix recalls the first N inputs, the outputs taken in turn. ``[item width]``.

    ``start`` is where the search begins; the answer does not depend on it.
    """
    return _most(lambda n: some_matrix(inputs[:n].numpy(), outputs[:n].numpy()), len(inputs), start)


def most_of_sum(inputs: torch.Tensor, outputs: torch.Tensor) -> int:
    """The same of the Hebbian sum of the first N pairs, which recalls fewer."""
    labels = torch.arange(len(inputs)) % len(outputs)

    def holds(n_pairs: int) -> bool:
        part = inputs[None, :n_pairs], outputs[None, :n_pairs], labels[:n_pairs]
        return bool(recalled(hebbian(*part), *part).all())

    return _most(holds, len(inputs))


def some_matrix(inputs: np.ndarray, outputs: np.ndarray) -> bool:
    """Whether any W gives every input z the largest score u^T W e at output z mod M.

    That is (u_y - u_k)^T W e_z >= 1 for every z, with y its output and k every other one: scale makes any margin 1.

    Args:
        inputs: ``[item d]``.
        outputs: ``[M d]``; linearly independent ones reach any scores, so that d M numbers take the place of d^2.

    Raises:
        RuntimeError: the solver did not decide.
    """
    n_items, n_classes = len(inputs), len(outputs)
    if n_classes <= outputs.shape[1]:
        outputs = np.eye(n_classes)
    right = np.arange(n_items) % n_classes
    ahead = outputs[right][:, None] - outputs[None]  # item, class, output's channel
    rows = np.einsum("zko,ze->zkoe", ahead, inputs)[np.arange(n_classes) != right[:, None]]
    rows = rows.reshape(len(rows), -1)
    size = rows.shape[1]
    for method in ("highs-ipm", "highs-ds"):  # the former is faster, and seldom gives up
        solved = scipy.optimize.linprog(
            np.zeros(size), A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=(None, None), method=method
        )
        if solved.status in (SOLVED, IMPOSSIBLE):
            return solved.status == SOLVED
    raise RuntimeError(f"{n_items} pairs, {n_classes} outputs: {solved.message}")


def _most(holds: Callable[[int], bool], most: int, start: int = 1) -> int:
    """The last n before the first that fails, found by steps that double and then halve; 0 where the first one fails.

    What holds of more pairs holds of fewer where any matrix will do. The Hebbian sum changes with every pair, and may
    recover after a failure: what is found is then one of the places where it fails.
    """
    low, high, step = 0, most + 1, max(1, start // 8)
    at = min(start, most)
    while low < at < high:
        low, high, at = (at, high, min(at + step, most)) if holds(at) else (low, at, max(at - step, 1))
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
