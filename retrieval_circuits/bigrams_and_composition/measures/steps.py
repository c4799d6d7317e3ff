"""Three single gradient steps, one on each matrix, from nothing: which orders recover the memories?"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from retrieval_circuits.bigrams_and_composition.measures import network
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2, Frozen
from retrieval_circuits.bigrams_and_composition.measures.source import Sequences, Source, draw, even_source
from retrieval_circuits.bigrams_and_composition.measures.training import Asked, asked_of

AS_PRINTED = (O2, K1, K1)
"""What the slide says: the last matrix twice."""
ORDERS = (*itertools.permutations((O2, K2, K1)), AS_PRINTED)
LARGEST = {O2: 1.0, K2: 20.0, K1: 20.0}
"""The largest score that a matrix gives between the embeddings that its probe takes, after its step.

Logits stay small, so that the next gradients are those at a nearly uniform answer; attention gets sharp.
"""
NOTHING = 1e-12
"""A gradient whose largest score is below this is zero."""
Weights = dict[str, Float[Tensor, "width width"]]
CHUNK = 1024
"""Rows whose gradient is taken at once."""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The simplified setting of the theorem.

    Attributes:
        n_tokens: N; all follow each other equally often.
        n_triggers: K.
        length: T.
        samples: rows of a gradient.
        queries: scored positions that a row gives at most.
        n_test: rows on which accuracy is read.
    """

    n_tokens: int
    n_triggers: int
    length: int
    samples: tuple[int, ...]
    queries: int
    n_test: int


def three_steps(asked: Steps, seed: int) -> list[dict[str, Any]]:
    """After three steps in each order: R of every matrix, and in-context accuracy on rows drawn anew.

    A row an order and number of samples. ``gradient`` is the largest entry of the first step's gradient, by size.
    Chance of accuracy: one over the possible outputs.
    """
    generator, source, test = setting(asked, seed)
    frozen = orthogonal(asked.n_tokens, asked.length)
    found = []
    for samples in asked.samples:
        walk = Walk(asked, source, frozen, samples, generator)
        for order in ORDERS:
            weights = walk.after(order)
            recalled = network.probes(frozen, weights, source.triggers, source.others)
            right = accuracy(frozen, weights, test)
            known = {
                "order": ", ".join(order),
                "samples": samples,
                "accuracy": right,
                "gradient": walk.sizes[order[:1]],
            }
            found.append({**known, **recalled})
    return found


def setting(asked: Steps, seed: int) -> tuple[torch.Generator, Source, Asked]:
    """What every walk of a seed has: its random numbers, the source, and the rows on which accuracy is read."""
    generator = torch.Generator().manual_seed(seed)
    source = even_source(asked.n_tokens, asked.n_triggers)
    test = asked_of(source, draw(source, asked.n_test, asked.length + 1, generator), asked.length, generator)
    return generator, source, test


def orthogonal(n_tokens: int, length: int) -> Frozen:
    """Embeddings, what layer 1 makes of them, and outputs, all at right angles: random ones of unlimited width."""
    first = n_tokens + length
    width = 2 * first + n_tokens
    axes = torch.eye(width)
    return Frozen(
        tokens=axes[:n_tokens], positions=axes[n_tokens:first], remap=axes.roll(first, 0), values=axes,
        outputs=axes[2 * first :],
    )  # fmt: skip


class Walk:
    """Weights after sequences of steps, each gradient taken once, on rows of its own."""

    def __init__(self, asked: Steps, source: Source, frozen: Frozen, samples: int, generator: torch.Generator):
        self.asked, self.source, self.frozen, self.samples = asked, source, frozen, samples
        self.generator = generator
        width = frozen.tokens.shape[1]
        self.known = {(): {name: torch.zeros(width, width) for name in (K1, K2, O2)}}
        self.sizes: dict[tuple[str, ...], float] = {}

    def after(self, order: tuple[str, ...]) -> Weights:
        """The weights after these steps. A step whose gradient is zero changes nothing, and is as if it were not."""
        if order not in self.known:
            before, name = self.after(order[:-1]), order[-1]
            slope = self.slope(before, name)
            self.sizes[order] = slope.abs().max().item()
            moved = largest_score(self.frozen, name, slope)
            step = -slope * (LARGEST[name] / moved) if moved > NOTHING else torch.zeros_like(slope)
            self.known[order] = {**before, name: before[name] + step}
        return self.known[order]

    def slope(self, before: Weights, name: str) -> Float[Tensor, "width width"]:
        """The gradient of one matrix at these weights, on rows drawn for it."""
        rows = draw(self.source, self.samples, self.asked.length + 1, self.generator)
        parts = in_parts(self.source, rows, self.asked.queries, self.generator)
        return gradient(self.frozen, before, name, parts)


def largest_score(frozen: Frozen, name: str, matrix: Float[Tensor, "width width"]) -> float:
    """The largest score, by size, that a matrix gives between the embeddings of its probe."""
    if name == O2:
        scores = frozen.outputs @ matrix @ frozen.values @ frozen.tokens.T
    elif name == K2:
        scores = frozen.tokens @ matrix @ (frozen.tokens @ frozen.remap.T).T / frozen.tokens.shape[1] ** 0.5
    else:
        scores = frozen.positions @ matrix @ frozen.positions.T / frozen.tokens.shape[1] ** 0.5
    return scores.abs().max().item()


def gradient(frozen: Frozen, weights: Weights, name: str, asked: Iterable[Asked]) -> Float[Tensor, "width width"]:
    """Of the mean loss at scored positions, with respect to one matrix; rows come in parts."""
    at = {**weights, name: weights[name].clone().requires_grad_()}
    total, count = torch.zeros_like(weights[name]), 0
    for part in asked:
        logits = network.read(frozen, at, part.inputs, part.where).logits
        loss = torch.nn.functional.cross_entropy(logits[part.real], part.targets[part.real], reduction="sum")
        total += torch.autograd.grad(loss, at[name])[0]
        count += int(part.real.sum())
    return total / max(count, 1)


def in_parts(source: Source, rows: Sequences, queries: int, generator: torch.Generator) -> Iterator[Asked]:
    """Rows with their scored positions, ``CHUNK`` rows at a time."""
    for start in range(0, len(rows.tokens), CHUNK):
        yield asked_of(source, rows[start : start + CHUNK], queries, generator)


@torch.no_grad()
def accuracy(frozen: Frozen, weights: Weights, test: Asked) -> float:
    """Share of scored positions where the trigger's output has the largest logit."""
    right = network.read(frozen, weights, test.inputs, test.where).logits.argmax(-1) == test.targets
    return right[test.real].float().mean().item()
