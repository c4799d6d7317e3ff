"""The loss that a ledger records of each checkpoint, which whoever has its weights can compute again."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from circuitcore.models import ModelConfig, forward
from circuitcore.native import decoder_of, takes
from circuitcore.training.engines.engine import masked_loss, one_thread
from circuitcore.training.recipe import Recipe
from circuitcore.training.schedule import Rows, rows_by_length

PROBE_ROWS = 256  # enough to tell two checkpoints apart


def probe_rows(recipe: Recipe) -> Rows:
    """The rows every checkpoint's recorded loss is computed on: the first 256 of the first split trained on."""
    first = recipe.stages[0].splits[0]
    return rows_by_length(recipe.make_task(), [first])[0].pick(slice(0, PROBE_ROWS))


def probe_loss(recipe: Recipe, weights: dict[str, Tensor]) -> float:
    """Mean loss of ``weights`` on ``probe_rows``: cross-entropy in nats, or the squared error of vectors.

    What the native engine trained is passed through it here, too, where it can be: to float32's rounding what torch
    gives, sooner. In a short training on long rows torch's passes took a third of the time.
    """
    rows = probe_rows(recipe)
    with one_thread(), torch.no_grad():
        native = recipe.engine == "native" and takes(recipe.model, weights)
        logits = (_native if native else _by_torch)(recipe.model, weights, rows.tokens)
        return masked_loss(logits, rows.targets, rows.loss_mask).item()


def _native(
    config: ModelConfig, weights: dict[str, Tensor], tokens: Shaped[Tensor, "batch pos *d_in"]
) -> Float[Tensor, "batch pos d_vocab"]:
    decoder = decoder_of(config)
    return decoder.record(decoder.flat.join(weights), tokens, ())[0]


def _by_torch(
    config: ModelConfig, weights: dict[str, Tensor], tokens: Shaped[Tensor, "batch pos *d_in"]
) -> Float[Tensor, "batch pos d_vocab"]:
    return forward(config, weights, tokens).logits
