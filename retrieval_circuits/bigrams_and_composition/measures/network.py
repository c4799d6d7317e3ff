"""The simplified model of one or two attention layers: embeddings frozen, queries the identity, few matrices trained.

With frozen embeddings, all that a token or position does to layer 1 stands in small tables, so that nothing of size
batch x position x width is multiplied by a matrix of size width x width there.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

K1, K2, O2 = "W_K1", "W_K2", "W_O2"
ORDER = (O2, K2, K1)
"""The order in which the source says that they are learnt."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Frozen:
    """What is drawn once and never trained.

    Attributes:
        tokens: e, an embedding each.
        positions: p.
        remap: W_O1 W_V1, through which layer 1 writes what it attends to.
        values: W_V2.
        outputs: u, an unembedding each.
    """

    tokens: Float[Tensor, "token width"]
    positions: Float[Tensor, "pos width"]
    remap: Float[Tensor, "width width"]
    values: Float[Tensor, "width width"]
    outputs: Float[Tensor, "token width"]


class Read(NamedTuple):
    """What the network does at the asked positions."""

    logits: Float[Tensor, "row query token"]
    first: Float[Tensor, "row pos key"] | None
    """Pattern of layer 1; None in a network of one layer."""
    second: Float[Tensor, "row query key"]
    """Pattern of the last layer."""
    stream: Float[Tensor, "row query width"]
    """Residual stream after the last attention."""


def draw_frozen(n_tokens: int, length: int, width: int, generator: torch.Generator) -> Frozen:
    """Embeddings from N(0, 1), matrices uniform with variance 1/3d: what the source's code starts with."""
    return Frozen(
        tokens=torch.randn(n_tokens, width, generator=generator),
        positions=torch.randn(length, width, generator=generator),
        remap=uniform(width, width, generator) @ uniform(width, width, generator),
        values=uniform(width, width, generator),
        outputs=uniform(n_tokens, width, generator),
    )


def uniform(n_rows: int, width: int, generator: torch.Generator) -> Float[Tensor, "row width"]:
    """Entries uniform from -1/sqrt(width) to 1/sqrt(width)."""
    return (2 * torch.rand(n_rows, width, generator=generator) - 1) / math.sqrt(width)


def read(
    frozen: Frozen,
    weights: dict[str, Float[Tensor, "width width"]],
    tokens: Int[Tensor, "row pos"],
    queries: Int[Tensor, "row query"],
) -> Read:
    """Run the network on rows, and read it at the asked positions.

    Layer 1 weights key s for query t by x_t^T W_K1 x_s / sqrt(d), and adds W_O1 W_V1 x_s; layer 2 does so with W_K2 and
    W_O2 W_V2; logits are u^T x. Without W_K1 in ``weights`` there is the last layer alone.
    """
    x, first = _embed(frozen, tokens), None
    if K1 in weights:
        first = _first_pattern(frozen, weights[K1], tokens, x)
        x = x + first @ (frozen.tokens @ frozen.remap.T)[tokens] + first @ (frozen.positions @ frozen.remap.T)
    rows = torch.arange(len(tokens))[:, None]
    asked = x[rows, queries]
    scores = (asked @ weights[K2]) @ x.mT / math.sqrt(x.shape[-1])
    later = torch.arange(tokens.shape[1]) > queries[..., None]
    second = scores.masked_fill(later, -torch.inf).softmax(-1)
    stream = asked + (second @ x) @ (weights[O2] @ frozen.values).T
    return Read(logits=stream @ frozen.outputs.T, first=first, second=second, stream=stream)


def _embed(frozen: Frozen, tokens: Int[Tensor, "row pos"]) -> Float[Tensor, "row pos width"]:
    return frozen.tokens[tokens] + frozen.positions[: tokens.shape[1]]


def _first_pattern(
    frozen: Frozen,
    keys: Float[Tensor, "width width"],
    tokens: Int[Tensor, "row pos"],
    x: Float[Tensor, "row pos width"],
) -> Float[Tensor, "row pos key"]:
    """Causal softmax of x_t^T W_K1 x_s / sqrt(d)."""
    length = tokens.shape[1]
    of_query = torch.nn.functional.embedding(tokens, frozen.tokens @ keys) + frozen.positions[:length] @ keys
    scores = of_query @ x.mT / math.sqrt(x.shape[-1])
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(-1)


def probes(
    frozen: Frozen,
    weights: dict[str, Float[Tensor, "width width"]],
    triggers: Int[Tensor, " trigger"],
    probed: Int[Tensor, " output"],
) -> dict[str, float]:
    """R(W, W*) of each trained matrix: the share of its pairs of which the right one scores highest.

    W_O2: own output u_v for value W_V2 e_v, over ``probed`` tokens, among all. W_K2: own remapped token for each
    trigger's query, among all. W_K1: the position before, among all, for each but the first. Chance: one over the
    candidates.
    """
    asked = compared(frozen, weights, triggers, probed)
    return {name: recalled_of(scores, right) for name, (scores, right, _) in asked.items()}


class Compared(NamedTuple):
    """What the probe of one matrix compares."""

    scores: Float[Tensor, "item candidate"]
    right: Int[Tensor, " item"]
    """The candidate that should score highest."""
    items: Int[Tensor, " item"]
    """Tokens or positions that ask."""


def compared(
    frozen: Frozen,
    weights: dict[str, Float[Tensor, "width width"]],
    triggers: Int[Tensor, " trigger"],
    probed: Int[Tensor, " output"],
) -> dict[str, Compared]:
    """The scores behind ``probes``."""
    tokens, positions = frozen.tokens, frozen.positions
    found = {}
    if K1 in weights:
        later = torch.arange(1, len(positions))
        found[K1] = Compared(positions[1:] @ weights[K1] @ positions.T, later - 1, later)
        remapped = tokens @ frozen.remap.T
        found[K2] = Compared(tokens[triggers] @ weights[K2] @ remapped.T, triggers, triggers)
    scores = tokens @ (weights[O2] @ frozen.values).T @ frozen.outputs.T
    found[O2] = Compared(scores[probed], probed, probed)
    return found


def recalled_of(scores: Float[Tensor, "item candidate"], right: Int[Tensor, " item"]) -> float:
    """The share of items whose right candidate alone scores highest: a matrix of zeros, where all tie, recalls none."""
    best = scores.max(dim=1, keepdim=True).values
    alone = (scores == best).sum(1) == 1
    return (alone & (scores.argmax(1) == right)).float().mean().item()
