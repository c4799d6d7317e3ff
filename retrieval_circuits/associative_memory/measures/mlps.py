"""How many pairs two layers with ReLU between them recall when they are trained, by width and hidden units."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from retrieval_circuits.associative_memory.measures.sums import pairs_at, unit_vectors


@dataclass(frozen=True, kw_only=True)
class Mlps:
    """Which MLPs are trained, and for how long.

    Attributes:
        sizes: (d, m), channels and hidden units.
        loads: N ln N / (m d) that are tried, rising.
        rate: of Adam, falling to 0 along a line.
        steps: full batches.
    """

    sizes: tuple[tuple[int, int], ...]
    loads: tuple[float, ...]
    rate: float
    steps: int


def mlps(asked: Mlps, seed: int) -> list[dict[str, Any]]:
    """One pair an output: the share of pairs that V relu(W e) recalls, by width, hidden units and load. Chance: 1/N."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for width, hidden in asked.sizes:
        sizes = [pairs_at(load, math.sqrt(width * hidden)) for load in asked.loads]
        inputs, outputs = (unit_vectors(1, max(sizes), width, generator)[0] for _ in range(2))
        stored = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
        shares = train_mlps(asked, hidden, inputs, outputs, stored, generator)
        found += [
            {"d": width, "m": hidden, "load": load, "n_pairs": n_pairs, "accuracy": share}
            for load, n_pairs, share in zip(asked.loads, sizes, shares.tolist(), strict=True)
        ]
    return found


def train_mlps(  # noqa: PLR0913 - sizes, data, and chance
    asked: Mlps,
    hidden: int,
    inputs: Float[Tensor, "item width"],
    outputs: Float[Tensor, "item width"],
    stored: Bool[Tensor, "size item"],
    generator: torch.Generator,
) -> Float[Tensor, " size"]:
    """The share of the stored pairs recalled, of an MLP for every number of pairs, all trained at once.

    All start from the same weights, normal, scaled by what each sum runs over. ``stored[s]`` marks the pairs of MLP s,
    whose outputs are its only classes.
    """
    (n_sizes, n_items), width = stored.shape, inputs.shape[1]
    read = torch.randn(1, width, hidden, generator=generator) / math.sqrt(width)
    write = torch.randn(1, hidden, width, generator=generator) / math.sqrt(hidden)
    weights = [weight.repeat(n_sizes, 1, 1).requires_grad_() for weight in (read, write)]
    absent = torch.zeros(n_sizes, 1, n_items).masked_fill_(~stored[:, None], -torch.inf)
    adam = torch.optim.Adam(weights, lr=asked.rate, fused=True)
    own = torch.arange(n_items)
    for step in range(asked.steps):
        adam.param_groups[0]["lr"] = asked.rate * (1 - step / asked.steps)
        scores = (inputs @ weights[0]).relu() @ weights[1] @ outputs.T
        right = scores.diagonal(dim1=1, dim2=2)
        loss = ((scores + absent).logsumexp(-1) - right)[stored].sum()
        adam.zero_grad()
        loss.backward()
        adam.step()
    with torch.no_grad():
        scores = (inputs @ weights[0]).relu() @ weights[1] @ outputs.T + absent
        return ((scores.argmax(-1) == own) & stored).sum(-1) / stored.sum(-1)
