"""Edited passes in C++: the numbers of the torch passes, to float32's rounding, several times faster."""

import functools
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.models import ModelConfig
from circuitcore.models.edits import Resolved
from circuitcore.models.transformer import Weights
from circuitcore.native import NativeDecoder, Replace, why_not
from circuitcore.tasks.base import Batch


def covers(weights: Weights, interventions: Sequence[Sequence[Resolved]]) -> bool:
    """Whether these passes can be made natively: float32 on the CPU, edits before the final norm, a compiler."""
    plain = all(value.dtype == torch.float32 and value.device.type == "cpu" for value in weights.values())
    inside = all(edit.site.name != "resid_final" for edits in interventions for edit in edits)
    return plain and inside and not why_not()


def native_passes(
    config: ModelConfig, weights: Weights, batch: Batch, interventions: Sequence[Sequence[Resolved]]
) -> tuple[Float[Tensor, "pass ckpt batch vocab"], Float[Tensor, "pass ckpt batch head key"]]:
    """Logits and the last layer's pattern at the read-out: of the clean pass, then of each intervention.

    Args:
        config: the architecture.
        weights: a stack of checkpoints.
        batch: rows that are run.
        interventions: each with at least one edit.
    """
    decoder, found = _decoder(config), []
    for ckpt in range(len(next(iter(weights.values())))):
        flat = decoder.flat.join({name: value[ckpt] for name, value in weights.items()})
        edits = [[_replace(edit, ckpt) for edit in together] for together in interventions]
        found.append(decoder.answers(flat, batch.tokens, batch.roles["read_out"], edits))
    logits, patterns = zip(*found, strict=True)
    return torch.stack(logits, 1), torch.stack(patterns, 1)


@functools.lru_cache(maxsize=4)  # the memory it works in is made once, not for every family of prompts
def _decoder(config: ModelConfig) -> NativeDecoder:
    return NativeDecoder(config)


def _replace(edit: Resolved, ckpt: int) -> Replace:
    site, positions = edit.site, edit.positions.contiguous()
    if edit.keys is not None:
        return Replace(site.name, site.layer, site.head, positions, None, edit.keys.contiguous())
    return Replace(site.name, site.layer, site.head, positions, _values(edit, ckpt))


def _values(edit: Resolved, ckpt: int) -> Tensor | None:
    """The replacement at one checkpoint, ``[batch pos d]`` or ``[batch pos head d_head]``; None for zeros."""
    value, rank = edit.value, 4 if edit.n_heads else 3
    if value.dim() == 0 and value == 0:
        return None
    if value.dim() > rank:
        value = value[min(ckpt, len(value) - 1)]
    # Axes of size 1 become axes of stride 0: nothing is copied but rows whose own numbers do not lie side by side.
    shape = (*edit.positions.shape, *((edit.n_heads,) if edit.n_heads else ()), value.shape[-1])
    value = value.float().expand(shape)
    return value if value.stride(-1) == 1 else value.contiguous()
