"""Three gradient steps in every order, by rows and channels together, at a cost that does not grow with the channels.

All that the network reads lies in the span of 2 (N + T) vectors: tokens, positions, and both as layer 1 writes them. In
coordinates along these, random embeddings of any width act as those at right angles do, but that every gradient is
multiplied by their inner products from both sides. So nothing of the width is ever multiplied with rows.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from retrieval_circuits.bigrams_and_composition.measures import network
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2, ORDER, Frozen
from retrieval_circuits.bigrams_and_composition.measures.noise_of_step import predicted_answers
from retrieval_circuits.bigrams_and_composition.measures.steps import ORDERS, Steps, Walk, accuracy, orthogonal, setting
from retrieval_circuits.bigrams_and_composition.measures.wide import random

RIGHT_ANGLES = 0
"""The width that stands for embeddings at right angles, which is what unlimited width comes to."""
Products = dict[str, tuple[Float[Tensor, "axis axis"], Float[Tensor, "axis axis"]]]
"""Of each matrix, what its gradient is multiplied by from the left and from the right."""


@dataclass(frozen=True, kw_only=True)
class Grid(Steps):
    """The setting of three steps, by rows of a gradient and channels.

    Attributes:
        widths: d of random embeddings; right angles come after them.
        others_to: the most samples with which orders other than the theorem's are followed, as they take three times
            as long as it.
    """

    widths: tuple[int, ...]
    others_to: int


def three_steps_by_both(asked: Grid, seed: int) -> list[dict[str, Any]]:
    """After three steps in each order: R of every matrix, and in-context accuracy on rows drawn anew.

    A row a width (0 at right angles), number of samples and order. ``predicted`` is what noise alone says of W_O2's R
    after its step. Chance of accuracy: one over the possible outputs.
    """
    generator, source, test = setting(asked, seed)
    predicted = predicted_answers(asked, source, (*asked.widths, RIGHT_ANGLES), generator)
    found = []
    for width in (*asked.widths, RIGHT_ANGLES):
        frozen, products = (
            in_coordinates(random(asked.n_tokens, asked.length, width, generator)) if width else at_right_angles(asked)
        )
        for samples in asked.samples:
            walk = Turned(asked, source, frozen, samples, generator, products=products)
            for order in ORDERS if samples <= asked.others_to else (ORDER,):
                weights = walk.after(stepped(order))
                known = {"d": width, "samples": samples, "order": ", ".join(order)}
                recalled = network.probes(frozen, weights, source.triggers, source.others)
                right = accuracy(frozen, weights, test)
                found.append({**known, "accuracy": right, "predicted": predicted[width, samples], **recalled})
    return found


def stepped(order: tuple[str, ...]) -> tuple[str, ...]:
    """The steps of an order that move anything: W_K2 has no gradient while W_O2 is zero, whatever the embeddings."""
    first = order.index(O2)
    return tuple(name for place, name in enumerate(order) if name != K2 or place > first)


def at_right_angles(asked: Steps) -> tuple[Frozen, Products]:
    """Embeddings at right angles, whose inner products change no gradient."""
    frozen = orthogonal(asked.n_tokens, asked.length)
    same = torch.eye(frozen.tokens.shape[1])
    return frozen, {name: (same, same) for name in (K1, K2, O2)}


def in_coordinates(frozen: Frozen) -> tuple[Frozen, Products]:
    """Embeddings along the vectors that they span, and the inner products of these.

    Scores and logits of the frozen tensors given, at weights W, are those of the ones returned, at B W_K B^T (times the
    root of the axes by the channels, as attention divides by its width) and U W_O2 W_V B^T; B has tokens, positions and
    what layer 1 writes of either as rows, U the outputs.
    """
    n_tokens, length = len(frozen.tokens), len(frozen.positions)
    plain = torch.cat([frozen.tokens, frozen.positions])
    spanned = torch.cat([plain, plain @ frozen.remap.T])
    axes = orthogonal(n_tokens, length)
    outputs = axes.outputs.clone()
    outputs[:, : len(spanned)] = frozen.outputs @ spanned.T
    values = spanned @ frozen.values.T
    keys = _padded(spanned @ spanned.T, after=n_tokens)
    written = _padded(frozen.outputs @ frozen.outputs.T, before=len(spanned))
    moved = Frozen(
        tokens=axes.tokens, positions=axes.positions, remap=axes.remap, values=axes.values, outputs=outputs
    )  # fmt: skip
    return moved, {K1: (keys, keys), K2: (keys, keys), O2: (written, _padded(values @ values.T, after=n_tokens))}


def _padded(square: Float[Tensor, "n n"], *, before: int = 0, after: int = 0) -> Float[Tensor, "axis axis"]:
    return torch.nn.functional.pad(square, (before, after, before, after))


class Turned(Walk):
    """Weights after sequences of steps, in coordinates: each gradient is multiplied by inner products."""

    def __init__(self, *given: Any, products: Products):
        super().__init__(*given)
        self.products = products

    def slope(self, before: dict[str, Tensor], name: str) -> Float[Tensor, "axis axis"]:
        """The gradient of one matrix, as it moves scores between the embeddings."""
        left, right = self.products[name]
        return left @ super().slope(before, name) @ right
