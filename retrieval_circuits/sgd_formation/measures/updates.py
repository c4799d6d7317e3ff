"""How long updates are from checkpoint to checkpoint, and which share of them each part has.

Source: nelson960, ``family-update-link``, which takes lengths, of a head also over that of its layer's attention, and
has the tied embedding twice in the whole. Lengths are squared here, so that shares add up, and weights counted once.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from circuitcore.metrics.table import Rows
from circuitcore.models import ModelConfig
from circuitcore.training.during import masks_of

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

AT_ONCE = 25
"""Intervals at a time: the weights of their checkpoints are in memory together, as doubles."""
EMBEDDING = "embed.W_E"


def update_shares(run: "Run", settings: None, progress: Callable[[int], None]) -> pd.DataFrame:
    """The change of all weights between neighbouring checkpoints: a row a number, at the later one.

    Metrics: ``length``, its norm; and ``share``, by part (site ``L1H0``, ``L0MLP``, ``embed.W_E``): the squared length
    of the part's own change over that of the whole, 0 where nothing changes. Of a change in a direction drawn by lot a
    part has its share of the weights: of the small networks' 0.026 a head, 0.204 an MLP, 0.037 the embedding. Norms,
    positions and biases of no head are in no part. Both are kept in float16, to three digits, which makes the table a
    third as large.
    """
    parts, tables, steps = parts_of(run.recipe.model), [], run.steps
    masks, labels = flat_masks(run.recipe.model, parts), [{"site": part} for part in parts]
    for first in range(0, len(steps) - 1, AT_ONCE):
        chosen = steps[first : first + AT_ONCE + 1]
        change = _in_order(run.stack(chosen), 1).double().diff(dim=0)
        rows = Rows(run.run_id, chosen[1:], [*map(run.tokens_seen, chosen[1:])])
        rows.add("length", change.norm(dim=1).half(), change.shape[1])
        rows.add("share", shares_of(change, masks).half(), change.shape[1], labels)
        tables.append(rows.frame())
        progress(len(chosen) - 1)
    progress(1)
    return pd.concat(tables, ignore_index=True)


def parts_of(model: ModelConfig) -> list[str]:
    """Every head, every MLP, and the embedding."""
    layers = range(model.n_layers)
    heads = [f"L{layer}H{head}" for layer in layers for head in range(model.n_heads)]
    return [*heads, *(f"L{layer}MLP" for layer in layers), EMBEDDING]


def flat_masks(model: ModelConfig, parts: list[str]) -> Bool[Tensor, "part weight"]:
    """Whose each weight is, with the weights one after another in the order of their names."""
    nobody = {name: ~mask for name, mask in masks_of(model, ("all",)).items()}
    return torch.stack([_in_order({**nobody, **masks_of(model, (part,))}) for part in parts])


def shares_of(
    change: Float[Tensor, "interval weight"], masks: Bool[Tensor, "part weight"]
) -> Float[Tensor, "interval part"]:
    """What each part has of a change's squared length."""
    squares = change.square()
    whole = squares.sum(1, keepdim=True)
    return squares @ masks.to(squares.dtype).T / whole.masked_fill(whole == 0, 1)


def _in_order(tensors: Mapping[str, Tensor], n_before: int = 0) -> Tensor:
    """All numbers one after another in the order of the tensors' names, behind so many axes that stay."""
    return torch.cat([tensors[name].flatten(n_before) for name in sorted(tensors)], n_before)
