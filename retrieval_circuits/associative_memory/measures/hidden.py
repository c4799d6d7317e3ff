"""How many pairs a map with one hidden layer recalls, trained whole or in its output layer alone."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from retrieval_circuits.associative_memory.measures.sums import pairs_at, unit_vectors
from retrieval_circuits.associative_memory.measures.training import FIRST_DECAY, SECOND_DECAY, TINY

WHOLE, OUTPUT_LAYER = "both layers", "output layer alone"
"""What of a map is trained."""
Layers = tuple[Float[Tensor, "network hidden width"], Float[Tensor, "network hidden width"]]
"""W, whose rows are what units look for, and V, whose rows are what they write."""


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """Maps F(e) = V^T relu(W e) that are trained to give u^T F(e) its largest value at the right output.

    Attributes:
        sizes: (width d, hidden units m) of each.
        loads: N ln N / (m d) that are tried where each input has an output of its own, rising.
        output_loads: the same where the output layer alone is trained.
        shared_loads: N / (m d) where inputs share ``shared`` outputs, in turn.
        shared: outputs there.
        rates: of Adam; the first one alone where the output layer is trained alone, or outputs are shared.
        looks: steps, in full batches, after which recall is measured, rising; the last one ends training.
    """

    sizes: tuple[tuple[int, int], ...]
    loads: tuple[float, ...]
    output_loads: tuple[float, ...]
    shared_loads: tuple[float, ...]
    shared: int
    rates: tuple[float, ...]
    looks: tuple[int, ...]

    def __post_init__(self):
        for name in ("loads", "output_loads", "shared_loads", "looks"):
            values = getattr(self, name)
            if not values or min(values) <= 0 or list(values) != sorted(set(values)):
                raise ValueError(f"{name} {values}; allowed: above 0, rising")


def hidden_layer(asked: Hidden, seed: int) -> list[dict[str, Any]]:
    """The share of pairs recalled, by size, what is trained, outputs (0: one an input), rate, load and steps.

    Maps of one size are trained on the first N pairs of the same list. Chance: one by the number of outputs.
    """
    generator = torch.Generator().manual_seed(seed)
    return [row for size in asked.sizes for row in _of_size(asked, *size, generator)]


def _of_size(asked: Hidden, width: int, hidden: int, generator: torch.Generator) -> Iterator[dict[str, Any]]:
    product = width * hidden
    own, alone = (
        [(load, pairs_at(load, math.sqrt(product))) for load in loads] for loads in (asked.loads, asked.output_loads)
    )
    shared = [(load, round(load * product)) for load in asked.shared_loads]
    most = max(n_pairs for tried in (own, alone, shared) for _, n_pairs in tried)
    inputs, outputs = (unit_vectors(1, most, width, generator)[0] for _ in range(2))
    start = drawn_layers(width, hidden, generator)
    first = asked.rates[:1]
    for trained, classes, rates, tried in (
        (WHOLE, 0, asked.rates, own), (OUTPUT_LAYER, 0, first, alone), (WHOLE, asked.shared, first, shared)
    ):  # fmt: skip
        for load, n_pairs in tried:
            labels = torch.arange(n_pairs) % (classes or n_pairs)
            found = learn(
                (inputs[:n_pairs], outputs[: classes or n_pairs], labels), start, rates, asked.looks,
                hidden_too=trained == WHOLE,
            )  # fmt: skip
            known = {"d": width, "hidden": hidden, "trained": trained, "classes": classes}
            for steps, accuracy in found.items():
                for rate, share in zip(rates, accuracy.tolist(), strict=True):
                    yield {**known, "load": load, "n_pairs": n_pairs, "rate": rate, "steps": steps, "accuracy": share}


def drawn_layers(width: int, hidden: int, generator: torch.Generator) -> Layers:
    """Normal entries: of W with variance 1, so that a unit's input has it too, of V with variance 1/m."""
    looks, writes = (torch.randn(1, hidden, width, generator=generator) for _ in range(2))
    return looks, writes / math.sqrt(hidden)


def learn(
    pairs: tuple[Float[Tensor, "item width"], Float[Tensor, "label width"], Int[Tensor, " item"]],
    start: tuple[Float[Tensor, "1 hidden width"], Float[Tensor, "1 hidden width"]],
    rates: tuple[float, ...],
    looks: tuple[int, ...],
    *,
    hidden_too: bool,
) -> dict[int, Float[Tensor, " network"]]:
    """Steps -> share of pairs recalled, by maps that start alike and are trained by Adam at these rates, all at once.

    Args:
        pairs: inputs, outputs, and the place of each input's among these.
        start: W and V.
        rates: of each map, on the mean cross-entropy of all pairs.
        looks: steps after which recall is measured; the last one ends training.
        hidden_too: whether W is trained as well.
    """
    inputs, outputs, labels = pairs
    rate = torch.tensor(rates)[:, None, None]
    layers = [layer.repeat(len(rates), 1, 1) for layer in start]
    moments = [(torch.zeros_like(layer), torch.zeros_like(layer)) for layer in layers]
    found = {}
    for step in range(1, looks[-1] + 1):
        slopes = gradients(pairs, (layers[0], layers[1]))
        for place in range(2) if hidden_too else (1,):
            first, second = moments[place]
            first.mul_(FIRST_DECAY).add_(slopes[place], alpha=1 - FIRST_DECAY)
            second.mul_(SECOND_DECAY).addcmul_(slopes[place], slopes[place], value=1 - SECOND_DECAY)
            spread = (second / (1 - SECOND_DECAY**step)).sqrt() + TINY
            layers[place] -= rate * (first / (1 - FIRST_DECAY**step)) / spread
        if step in looks:
            scores = (inputs @ layers[0].mT).relu() @ layers[1] @ outputs.T
            found[step] = (scores.argmax(-1) == labels).float().mean(-1)
    return found


def gradients(
    pairs: tuple[Float[Tensor, "item width"], Float[Tensor, "label width"], Int[Tensor, " item"]], layers: Layers
) -> Layers:
    """Of the mean cross-entropy, with respect to W and V; by hand, as that takes half of the time."""
    inputs, outputs, labels = pairs
    looks, writes = layers
    active = (inputs @ looks.mT).relu()
    wrong = torch.softmax(active @ writes @ outputs.T, dim=-1)
    wrong[:, torch.arange(len(labels)), labels] -= 1
    arriving = (wrong / len(labels)) @ outputs
    back = (arriving @ writes.mT).mul_(active > 0)
    return back.mT @ inputs, active.mT @ arriving
