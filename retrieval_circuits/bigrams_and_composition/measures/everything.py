"""The same task where everything is trained: embeddings, positions, attention, MLPs, norms. In which order now?

A decoder of two layers with one head each, so that nobody selects a head. Its matrices are read as memories between the
embeddings that it has learnt, each as the layer that reads it sees it: centred and times the norm's gain.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import forward, init_weights
from circuitcore.training.engines.update import TORCH_RULES
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2, recalled_of
from retrieval_circuits.bigrams_and_composition.measures.source import Source, draw, draw_source
from retrieval_circuits.bigrams_and_composition.measures.training import Asked, asked_of

BETAS, DECAY = (0.9, 0.99), 0.01
"""The source's, of AdamW."""


@dataclass(frozen=True, kw_only=True)
class Generic:
    """The task, and the decoder that learns it.

    Attributes:
        n_tokens: N.
        n_triggers: K, the most frequent tokens.
        length: T, inputs of a row.
        width: d.
        rate: of AdamW.
        batch: rows a step, drawn anew; the loss is of every position.
        steps: of training.
        n_test: rows on which accuracy and attention are read.
        every: steps between two measurements.
    """

    n_tokens: int
    n_triggers: int
    length: int
    width: int
    rate: float
    batch: int
    steps: int
    n_test: int
    every: int

    @property
    def model(self) -> ModelConfig:
        """Two layers of one head and an MLP each, as the source's are but for that number."""
        return ModelConfig(
            d_vocab=self.n_tokens, n_ctx=self.length, n_layers=2, n_heads=1, d_model=self.width, d_mlp=4 * self.width,
            norm="layer", positions="learned", mlp="relu", tied=False,
        )  # fmt: skip


def everything(asked: Generic, seed: int) -> list[dict[str, Any]]:
    """A row a measurement, on rows drawn anew.

    ``accuracy`` is the share of scored positions where the trigger's output has the largest logit (chance: one over the
    possible outputs); ``W_O2``, ``W_K2``, ``W_K1`` the share of pairs recalled (chance: one over the candidates);
    ``previous`` the first layer's mean attention from a scored position's outputs to the trigger before them, and
    ``match`` that of the second from a scored position to what followed its trigger.
    """
    generator = torch.Generator().manual_seed(seed)
    source = draw_source(asked.n_tokens, asked.n_triggers, np.random.default_rng(seed))
    return list(_learn(asked, source, seed, generator))


def _learn(asked: Generic, source: Source, seed: int, generator: torch.Generator) -> Iterator[dict[str, Any]]:
    config = asked.model
    weights = {name: weight.requires_grad_() for name, weight in init_weights(config, seed).items()}
    test = asked_of(source, draw(source, asked.n_test, asked.length + 1, generator), asked.length, generator)
    rule = TORCH_RULES["adamw"](list(weights.values()), lr=asked.rate, betas=BETAS, weight_decay=DECAY)
    for step in range(asked.steps + 1):
        if step % asked.every == 0:
            yield {"step": step, **measured(config, source, weights, test)}
        if step == asked.steps:
            return
        rows = draw(source, asked.batch, asked.length + 1, generator).tokens
        logits = forward(config, weights, rows[:, :-1]).logits
        rule.zero_grad()
        cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).backward()
        rule.step()


@torch.no_grad()
def measured(config: ModelConfig, source: Source, weights: dict[str, Tensor], test: Asked) -> dict[str, float]:
    """What a row of ``everything`` holds, but for the step."""
    output = forward(config, weights, test.inputs, record=("pattern.0", "pattern.1"))
    rows = torch.arange(len(test.inputs))[:, None]
    right = output.logits[rows, test.where].argmax(-1) == test.targets
    after = torch.isin(test.inputs[:, :-1], source.triggers)  # where the next position holds an output
    to_previous = output.cache["pattern.0"][:, 0].diagonal(-1, 1, 2)[after]
    came_before = torch.zeros_like(output.cache["pattern.1"][:, 0], dtype=torch.bool)
    came_before[:, :, 1:] = test.inputs[:, :, None] == test.inputs[:, None, :-1]
    matched = (output.cache["pattern.1"][:, 0] * came_before).sum(-1)[rows, test.where][test.real]
    return {
        "accuracy": right[test.real].float().mean().item(),
        "previous": to_previous.mean().item(),
        "match": matched.mean().item(),
        **memories(weights, source),
    }


def memories(weights: dict[str, Tensor], source: Source) -> dict[str, float]:
    """R of the three memories, between embeddings as the layers see them."""
    tokens, positions = weights["embed.W_E"], weights["pos_embed.W_pos"]
    first = _seen(weights, 0, positions)
    scores = _asked(weights, 0, first[1:]) @ _offered(weights, 0, first).T
    found = {K1: recalled_of(scores, torch.arange(len(positions) - 1))}
    marks = _written(weights, 0, _seen(weights, 0, tokens))
    queries, keys = _seen(weights, 1, tokens)[source.triggers], _seen(weights, 1, marks)
    found[K2] = recalled_of(_asked(weights, 1, queries) @ _offered(weights, 1, keys).T, source.triggers)
    written = _written(weights, 1, _seen(weights, 1, tokens)) * weights["ln_final.w"]
    found[O2] = recalled_of((written @ weights["unembed.W_U"])[source.others], source.others)
    return found


def _seen(weights: dict[str, Tensor], layer: int, x: Float[Tensor, "item width"]) -> Float[Tensor, "item width"]:
    """A part of the stream as attention sees it, but for the norm's scale, which moves no argmax."""
    return (x - x.mean(-1, keepdim=True)) * weights[f"blocks.{layer}.ln1.w"]


def _asked(weights: dict[str, Tensor], layer: int, x: Tensor) -> Float[Tensor, "item head"]:
    return x @ weights[f"blocks.{layer}.attn.W_Q"][0]


def _offered(weights: dict[str, Tensor], layer: int, x: Tensor) -> Float[Tensor, "item head"]:
    return x @ weights[f"blocks.{layer}.attn.W_K"][0]


def _written(weights: dict[str, Tensor], layer: int, x: Tensor) -> Float[Tensor, "item width"]:
    return x @ weights[f"blocks.{layer}.attn.W_V"][0] @ weights[f"blocks.{layer}.attn.W_O"][0]
