"""Which head of the first layer the loss pushes: the source's law of selection, head against head.

The source asks which contribution C to a circuit grows, and says: the one whose gradient goes along with that of the
loss, E[dC] = -rate <grad C, grad loss>. Here C is what a head joins: its attention from written values to their keys.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.table import Rows, head_labels
from circuitcore.models import Head, ModelConfig, forward
from retrieval_circuits.sgd_formation.measures.asked import Asked, asked
from retrieval_circuits.sgd_formation.measures.scores import Counts, token_losses

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

EVERY_OTHER = 2
AT_ONCE = 4
"""Checkpoints at a time: a backward pass keeps all that it passes through."""
LAYER = 0
Gradients = Mapping[str, Tensor]
"""Tensor name -> ``[ckpt ...]``."""


def pushes(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """How gradient descent on the loss would move what each head of the first layer joins, at every other checkpoint.

    Metrics, by head (all gradients over all weights, tied ones counted once):

    * ``push``: -<gradient of the loss, gradient of what the head joins>: how fast descent at rate 1 would raise it.
    * ``aligned``: the cosine between -gradient of the loss and the gradient of what the head joins.
    * ``joins``: the head's attention from written values to their keys, on the same rows.

    Metric ``loss``: cross-entropy in nats of every word that is trained on.
    """
    task, tables = run.recipe.make_task(), []
    found, looked = (asked(task, task.reported, n_rows) for n_rows in (counts.n_rows, counts.n_looked))
    chosen, config = run.steps[::EVERY_OTHER], run.recipe.model
    labels = head_labels([Head(LAYER, head) for head in range(config.n_heads)])
    for first in range(0, len(chosen), AT_ONCE):
        steps = chosen[first : first + AT_ONCE]
        weights = {name: value.detach().requires_grad_() for name, value in run.stack(steps).items()}
        loss, downhill = loss_gradient(config, weights, found)
        joins, uphill = joins_gradients(config, weights, looked)
        push = torch.stack([-_dot(downhill, gradient) for gradient in uphill], 1)
        lengths = _dot(downhill, downhill)[:, None] * torch.stack([_dot(one, one) for one in uphill], 1)
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        rows.add("loss", loss, int(found.batch.loss_mask.sum()), split=task.reported)
        for metric, values in {"push": push, "aligned": push / lengths.sqrt(), "joins": joins}.items():
            rows.add(metric, values, len(looked.values), labels, split=task.reported)
        tables.append(rows.frame())
        progress(EVERY_OTHER * len(steps))
    return pd.concat(tables, ignore_index=True)


def loss_gradient(
    config: ModelConfig, weights: Mapping[str, Tensor], found: Asked
) -> tuple[Float[Tensor, " ckpt"], Gradients]:
    """The loss of what is trained on, each word alike, and its gradient, checkpoint by checkpoint."""
    with torch.enable_grad():
        loss = token_losses(forward(config, weights, found.batch.tokens).logits, found).mean(-1)
        return loss.detach(), _gradient(loss, weights)


def joins_gradients(
    config: ModelConfig, weights: Mapping[str, Tensor], looked: Asked
) -> tuple[Float[Tensor, "ckpt head"], list[Gradients]]:
    """What each head of the first layer joins, and the gradient of each."""
    with torch.enable_grad():
        joins = joins_of(config, weights, looked)
        found = [_gradient(joins[:, head], weights) for head in range(config.n_heads)]
    return joins.detach(), found


def joins_of(config: ModelConfig, weights: Mapping[str, Tensor], looked: Asked) -> Float[Tensor, "ckpt head"]:
    """What each head of the first layer joins: its attention from written values to their keys."""
    one_layer, site = dataclasses.replace(config, n_layers=LAYER + 1), f"pattern.{LAYER}"
    row, at = looked.values.unbind(1)
    pattern = forward(one_layer, weights, looked.batch.tokens, record=[site]).cache[site]
    return pattern.movedim(-3, -1)[:, row, at, at - 1].mean(1)


def _gradient(values: Float[Tensor, " ckpt"], weights: Mapping[str, Tensor]) -> Gradients:
    """Of the value of each checkpoint by its own weights: summed, as no value depends on another's."""
    found = torch.autograd.grad(values.sum(), list(weights.values()), retain_graph=True, allow_unused=True)
    return {name: value for name, value in zip(weights, found, strict=True) if value is not None}


def _dot(one: Gradients, other: Gradients) -> Float[Tensor, " ckpt"]:
    """Summed over the weights that both depend on."""
    return sum((one[name] * other[name]).flatten(1).double().sum(1) for name in one.keys() & other.keys())
