"""How many pairs a matrix of sums of outer products holds, drawn anew for every seed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from retrieval_circuits.associative_memory.measures.closed_form import predicted_accuracy


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Which memories are filled.

    Attributes:
        widths: d, channels of embeddings and outputs.
        loads: N ln N / d^2 of the pairs that are stored, rising.
        channels: draws of one seed times width: narrow memories, which hold few pairs, are drawn more often.
    """

    widths: tuple[int, ...]
    loads: tuple[float, ...]
    channels: int = 512

    def __post_init__(self):
        if min(self.widths) < 2 or min(self.loads) <= 0 or list(self.loads) != sorted(set(self.loads)):
            raise ValueError(f"widths {self.widths}, loads {self.loads}; allowed: from 2; above 0, rising")

    def n_draws(self, width: int) -> int:
        """How often a seed draws memories of a width."""
        return max(1, self.channels // width)


def pairs_at(load: float, width: float | int) -> int:
    """The N with N ln N nearest to ``load`` d^2, at least 3."""
    wanted, low, high = load * width**2, 2.0, 2.0 + load * width**2 + width**2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.log(middle) < wanted else (low, middle)
    return max(3, round(low))


def unit_vectors(n_draws: int, n: int, width: int, generator: torch.Generator) -> Float[Tensor, "draw item width"]:
    """Random directions, each of length 1."""
    return torch.nn.functional.normalize(torch.randn(n_draws, n, width, generator=generator), dim=-1)


def hebbian(
    inputs: Float[Tensor, "draw item width"],
    outputs: Float[Tensor, "draw label width"],
    labels: Int[Tensor, " item"],
    weights: Float[Tensor, " item"] | None = None,
) -> Float[Tensor, "draw width width"]:
    """W = sum of q_z u_f(z) e_z^T over pairs; ``weights`` are the q_z, all 1 where none are given."""
    stored = outputs[:, labels]
    return (stored if weights is None else stored * weights[:, None]).mT @ inputs


def one_step(
    inputs: Float[Tensor, "draw item width"],
    outputs: Float[Tensor, "draw label width"],
    labels: Int[Tensor, " item"],
    weights: Float[Tensor, " item"] | None = None,
) -> Float[Tensor, "draw width width"]:
    """Minus the gradient of cross-entropy at W = 0: the sum of q_z (u_f(z) - mean of all u) e_z^T.

    ``weights`` are the frequencies of the inputs. A uniform one cancels in every comparison of scores and may be 1.
    """
    mean = outputs.mean(1, keepdim=True)
    return hebbian(inputs, outputs - mean, labels, weights)


def recalled(
    memory: Float[Tensor, "draw width width"],
    inputs: Float[Tensor, "draw item width"],
    outputs: Float[Tensor, "draw label width"],
    labels: Int[Tensor, " item"],
) -> Float[Tensor, "draw item"]:
    """1 where the right output has the largest score u^T W e, else 0. Chance: one by the number of outputs."""
    scores = (inputs @ memory.mT) @ outputs.mT
    return (scores.argmax(-1) == labels).to(inputs.dtype)


RULES = {"hebbian": hebbian, "one step": one_step}


def capacity(sizes: Sizes, seed: int) -> list[dict[str, Any]]:
    """One pair an output: the share of pairs recalled, and of draws that recall all, by width, load and rule.

    ``predicted`` is the share that the closed form gives.
    """
    generator = torch.Generator().manual_seed(seed)
    return [row for width in sizes.widths for row in _of_width(sizes, width, generator)]


def _of_width(sizes: Sizes, width: int, generator: torch.Generator) -> Iterator[dict[str, Any]]:
    n_draws, most = sizes.n_draws(width), pairs_at(sizes.loads[-1], width)
    inputs, outputs = (unit_vectors(n_draws, most, width, generator) for _ in range(2))
    for load in sizes.loads:
        n_pairs = pairs_at(load, width)
        predicted = predicted_accuracy(width, n_pairs)
        part = inputs[:, :n_pairs], outputs[:, :n_pairs], torch.arange(n_pairs)
        for rule, stored in RULES.items():
            right = recalled(stored(*part), *part)
            found = {"accuracy": right.mean().item(), "perfect": right.amin(-1).mean().item()}
            yield {"rule": rule, "d": width, "load": load, "n_pairs": n_pairs, "predicted": predicted, **found}
