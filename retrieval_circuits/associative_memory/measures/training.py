"""How many pairs a matrix that is trained on cross-entropy recalls, by optimiser, rate and steps."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from retrieval_circuits.associative_memory.measures.inequalities import most_of_any, most_of_sum
from retrieval_circuits.associative_memory.measures.sums import pairs_at, unit_vectors

FIRST_DECAY, SECOND_DECAY, TINY = 0.9, 0.999, 1e-8
"""Of Adam, as usual."""


@dataclass(frozen=True, kw_only=True)
class Trained:
    """Which matrices are trained, and for how long.

    Attributes:
        widths: d, each with the loads N ln N / d^2 that are tried.
        loads: rising.
        optimizers: "adam" or "gd" of each way of training.
        rates: of each; Adam's on the mean loss, which it does not notice the scale of, gd's on the sum over pairs.
        looks: steps after which recall is measured, rising; the last one ends training.
        short: (width, steps): where it is at least that wide, looks beyond that many steps are left out.
        exact_to: the widest for which the most pairs that any matrix recalls are found as well.
    """

    widths: tuple[int, ...]
    loads: tuple[float, ...]
    optimizers: tuple[str, ...]
    rates: tuple[float, ...]
    looks: tuple[int, ...]
    short: tuple[int, int]
    exact_to: int

    def __post_init__(self):
        if set(self.optimizers) - {"adam", "gd"} or len(self.rates) != len(self.optimizers):
            raise ValueError(f"optimizers {self.optimizers}, rates {self.rates}; allowed: adam and gd, a rate each")

    def looks_at(self, width: int) -> tuple[int, ...]:
        """The steps after which matrices of a width are looked at."""
        from_width, most = self.short
        return tuple(look for look in self.looks if width < from_width or look <= most)


def trained(asked: Trained, seed: int) -> list[dict[str, Any]]:
    """One pair an output: the share of pairs recalled, by width, load, optimiser, rate and steps.

    ``most`` is the largest N for which some matrix recalls all of the first N of the very same pairs, ``most_by_sum``
    that of their Hebbian sum; 0 where not looked for.
    """
    generator = torch.Generator().manual_seed(seed)
    return [row for width in asked.widths for row in _of_width(asked, width, generator)]


def _of_width(asked: Trained, width: int, generator: torch.Generator) -> list[dict[str, Any]]:
    sizes = [pairs_at(load, width) for load in asked.loads]
    inputs, outputs = (unit_vectors(1, max(sizes), width, generator)[0] for _ in range(2))
    stored = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
    found = train(asked, inputs, outputs, stored)
    pairs = inputs.double(), outputs.double()
    looked = width <= asked.exact_to
    most, by_sum = (most_of_any(*pairs, sizes[-1]), most_of_sum(*pairs)) if looked else (0, 0)
    return [
        {
            "optimizer": optimizer, "rate": rate, "d": width, "load": load, "n_pairs": n_pairs, "steps": steps,
            "accuracy": accuracy[way, place].item(), "most": most, "most_by_sum": by_sum,
        }
        for steps, accuracy in found.items()
        for way, (optimizer, rate) in enumerate(zip(asked.optimizers, asked.rates, strict=True))
        for place, (load, n_pairs) in enumerate(zip(asked.loads, sizes, strict=True))
    ]  # fmt: skip


def train(
    asked: Trained,
    inputs: Float[Tensor, "item width"],
    outputs: Float[Tensor, "item width"],
    stored: Bool[Tensor, "size item"],
) -> dict[int, Float[Tensor, "way size"]]:
    """Steps -> share of the stored pairs recalled, of every way of training and every number of pairs at once.

    Pair i is (inputs[i], outputs[i]); matrix (w, s) starts at 0 and is trained in full batches on the pairs that
    ``stored[s]`` marks, with their outputs as the only classes.
    """
    looks = asked.looks_at(inputs.shape[-1])
    n_ways, (n_sizes, n_items) = len(asked.rates), stored.shape
    rates = torch.tensor(asked.rates)[:, None, None, None]
    by_adam = torch.tensor([name == "adam" for name in asked.optimizers])[:, None, None, None]
    memory = torch.zeros(n_ways, n_sizes, *2 * inputs.shape[-1:])
    first, second = torch.zeros_like(memory), torch.zeros_like(memory)
    absent = torch.zeros(n_sizes, 1, n_items).masked_fill_(~stored[:, None], -torch.inf)
    found = {}
    for step in range(1, looks[-1] + 1):
        gradient = _gradient(memory, inputs, outputs, stored, absent)
        first = FIRST_DECAY * first + (1 - FIRST_DECAY) * gradient
        second = SECOND_DECAY * second + (1 - SECOND_DECAY) * gradient.square()
        scaled = first / (1 - FIRST_DECAY**step) / ((second / (1 - SECOND_DECAY**step)).sqrt() + TINY)
        memory = memory - rates * torch.where(by_adam, scaled, gradient)
        if step in looks:
            best = ((inputs @ memory.mT) @ outputs.T + absent).argmax(-1)
            found[step] = ((best == torch.arange(n_items)) & stored).sum(-1) / stored.sum(-1)
    return found


def _gradient(memory: Tensor, inputs: Tensor, outputs: Tensor, stored: Tensor, absent: Tensor) -> Tensor:
    """Of the cross-entropy, summed over the stored pairs: sum of (p_hat - p)(k|z) u_k e_z^T."""
    wrong = torch.softmax((inputs @ memory.mT) @ outputs.T + absent, dim=-1)
    wrong.diagonal(dim1=-2, dim2=-1).sub_(1.0)
    wrong.mul_(stored[..., None])
    return (wrong @ outputs).mT @ inputs
