"""Inputs that are not equally frequent: what one gradient step stores of them, and what a choice of them would."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from retrieval_circuits.associative_memory.measures.sums import hebbian, one_step, recalled, unit_vectors


@dataclass(frozen=True, kw_only=True)
class Zipf:
    """Frequencies p(z) ~ z^-exponent of N inputs.

    Attributes:
        widths: d.
        exponent: above 1.
        n_items: N.
        classes: M of each variant, pair z having output z mod M; 0 for one output an input.
        n_draws: memories that a seed draws.
    """

    widths: tuple[int, ...]
    exponent: float
    n_items: int
    classes: tuple[int, ...]
    n_draws: int


def zipf(asked: Zipf, seed: int) -> list[dict[str, Any]]:
    """The share of inputs, as often as they come, that are answered wrongly: by width, number of outputs and rule.

    Rules: "one step", the gradient at W = 0, which weights each pair by its frequency; "cut", the Hebbian sum of the
    most frequent inputs alone, as many as give the least error. Chance of the first: 1 - 1/M, about.
    """
    generator = torch.Generator().manual_seed(seed)
    frequency = torch.arange(1, asked.n_items + 1, dtype=torch.float32) ** -asked.exponent
    frequency /= frequency.sum()
    found = []
    for n_classes in asked.classes:
        labels = torch.arange(asked.n_items) % (n_classes or asked.n_items)
        for width in asked.widths:
            inputs = unit_vectors(asked.n_draws, asked.n_items, width, generator)
            outputs = unit_vectors(asked.n_draws, n_classes or asked.n_items, width, generator)
            row = {"classes": n_classes, "d": width}
            weighted = one_step(inputs, outputs, labels, frequency)
            error = 1 - (recalled(weighted, inputs, outputs, labels) * frequency).sum(-1).mean().item()
            kept, least = _best_cut(inputs, outputs, labels, frequency)
            found += [{**row, "rule": "one step", "error": error, "kept": asked.n_items}]
            found += [{**row, "rule": "cut", "error": least, "kept": kept}]
    return found


def _best_cut(
    inputs: Float[Tensor, "draw item width"], outputs: Float[Tensor, "draw label width"], labels: Tensor,
    frequency: Float[Tensor, " item"],
) -> tuple[int, float]:  # fmt: skip
    """How many of the most frequent inputs are best stored, in steps of a quarter octave, and the error that leaves."""
    n_items, width = inputs.shape[1:]
    sizes = [round(width / 4 * 2 ** (step / 4)) for step in range(4 * math.ceil(math.log2(4 * n_items / width)))]
    found = {}
    for size in (size for size in sizes if 1 <= size <= n_items):
        memory = hebbian(inputs[:, :size], outputs, labels[:size])
        right = recalled(memory, inputs[:, :size], outputs, labels[:size])
        lucky = recalled(memory, inputs[:, size:], outputs, labels[size:]) if outputs.shape[1] < n_items else 0.0
        error = 1 - (right * frequency[:size]).sum(-1).mean() - (frequency[size:] * lucky).sum(-1).mean()
        found[size] = error.item()
    best = min(found, key=found.__getitem__)
    return best, found[best]
