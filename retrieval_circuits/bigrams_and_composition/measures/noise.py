"""A trigger that is often followed by one and the same token: who learns that, the MLP or attention?

Task and measures of Chen, Bruna and Bietti (ICLR 2025), smaller: one trigger, one late MLP without biases.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from retrieval_circuits.bigrams_and_composition.measures import network
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2, Frozen, Read
from retrieval_circuits.bigrams_and_composition.measures.source import Source, draw, draw_source
from retrieval_circuits.bigrams_and_composition.measures.training import (
    Asked,
    Task,
    Weights,
    asked_of,
    loss_of,
    update_rule,
)

IN, OUT = "W_in", "W_out"
WIDER = 4
"""Neurons a channel."""


@dataclass(frozen=True, kw_only=True)
class Noisy(Task):
    """The task, and how it is learnt.

    Attributes:
        share: how often the noise token follows the trigger in training, alpha.
        optimizer: "sgd" or "adam".
        rate: of learning.
        batch: rows a step, drawn anew.
        queries: scored positions that a row gives at most, in training.
        steps: of training.
        kept: shares of the MLP's singular values that are kept when it is truncated.
    """

    share: float
    optimizer: str
    rate: float
    batch: int
    queries: int
    steps: int
    kept: tuple[float, ...]


def noisy(asked: Noisy, seed: int) -> list[dict[str, Any]]:
    """A row a measurement and cut, on rows without noise and, for ``avoids``, on rows with it.

    ``cut`` is "none", "attention" (W_O2 removed), or the share of the MLP's singular values that is kept. ``noise`` and
    ``context`` are mean probabilities of the noise token and of the trigger's output in the row; ``accuracy`` the share
    of positions where the latter has the largest logit. ``margin`` is by how many nats the noise token's logit leads
    when the trigger's embedding goes through the MLP alone; ``avoids`` is layer 2's mass on outputs less that on noise
    tokens after triggers, by their sum.
    """
    chance = np.random.default_rng(seed)
    source = draw_source(asked.n_tokens, asked.n_triggers, chance)
    middle = int(source.frequency.argsort(descending=True, stable=True)[asked.n_tokens // 2])
    source = replace(source, noise=middle, share=asked.share)
    generator = torch.Generator().manual_seed(seed)
    return list(learn(asked, source, generator))


def learn(asked: Noisy, source: Source, generator: torch.Generator) -> Iterator[dict[str, Any]]:
    """Train once; measurements as they come."""
    frozen = network.draw_frozen(asked.n_tokens, asked.length, asked.width, generator)
    weights = {name: network.uniform(asked.width, asked.width, generator) for name in (K1, K2, O2)}
    weights[IN] = network.uniform(WIDER * asked.width, asked.width, generator)
    weights[OUT] = network.uniform(asked.width, WIDER * asked.width, generator)
    clean, mixed = (
        asked_of(law, draw(law, asked.n_test, asked.length + 1, generator), asked.length, generator)
        for law in (replace(source, share=0.0), source)
    )
    rows = draw(source, asked.batch * asked.steps, asked.length + 1, generator)
    rule = update_rule(asked, [matrix.requires_grad_() for matrix in weights.values()])
    for step in range(asked.steps + 1):
        if step % asked.every == 0:
            yield from ({"step": step, **row} for row in _measured(asked, source, frozen, weights, (clean, mixed)))
        if step == asked.steps:
            return
        batch = asked_of(source, rows[step * asked.batch : (step + 1) * asked.batch], asked.queries, generator)
        found = network.read(frozen, weights, batch.inputs, batch.where)
        loss = loss_of(logits(frozen, weights, found), batch)
        rule.zero_grad()
        loss.backward()
        rule.step()


def mlp(weights: Weights, stream: Float[Tensor, "... width"]) -> Float[Tensor, "... width"]:
    """What the late MLP adds: V relu(U x)."""
    return torch.relu(stream @ weights[IN].T) @ weights[OUT].T


def logits(frozen: Frozen, weights: Weights, found: Read) -> Float[Tensor, "row query token"]:
    """With what the MLP adds."""
    return found.logits + mlp(weights, found.stream) @ frozen.outputs.T


def truncated(matrix: Float[Tensor, "out inn"], kept: float) -> Float[Tensor, "out inn"]:
    """The nearest matrix of a share of the singular values, rounded down; zero for none."""
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    rank = math.floor(kept * len(values))
    return (left[:, :rank] * values[:rank]) @ right[:rank]


@torch.no_grad()
def _measured(
    asked: Noisy, source: Source, frozen: Frozen, weights: Weights, tests: tuple[Asked, Asked]
) -> list[dict[str, Any]]:
    clean, mixed = tests
    trigger = frozen.tokens[source.triggers]
    alone = (mlp(weights, trigger) @ frozen.outputs.T)[0]
    rivals = alone.clone()
    rivals[source.noise] = -torch.inf
    common = {
        "margin": (alone[source.noise] - rivals.max()).item(),
        "avoids": _avoids(source, network.read(frozen, weights, mixed.inputs, mixed.where), mixed),
    }
    cuts = {"none": weights, "attention": {**weights, O2: torch.zeros_like(weights[O2])}}
    cuts |= {f"{kept:g}": {**weights, IN: truncated(weights[IN], kept)} for kept in asked.kept}
    found = []
    for cut, left in cuts.items():
        chances = logits(frozen, left, network.read(frozen, left, clean.inputs, clean.where)).softmax(-1)[clean.real]
        own = clean.targets[clean.real]
        row = {
            "cut": cut,
            "noise": chances[:, source.noise].mean().item(),
            "context": chances.gather(1, own[:, None]).mean().item(),
            "accuracy": (chances.argmax(1) == own).float().mean().item(),
        }
        found.append({**row, **common})
    return found


def _avoids(source: Source, found: Read, test: Asked) -> float:
    """(mass on outputs - mass on noise tokens) / their sum, over positions that follow a trigger."""
    after = torch.zeros(test.inputs.shape, dtype=torch.bool)
    after[:, 1:] = torch.isin(test.inputs[:, :-1], source.triggers)
    noise = after & (test.inputs == source.noise)
    mass = found.second[test.real]
    rows = torch.arange(len(test.inputs))[:, None].expand(test.real.shape)[test.real]
    of_noise, of_output = ((mass * part[rows]).sum().item() for part in (noise, after & ~noise))
    return (of_output - of_noise) / max(of_output + of_noise, 1e-30)
