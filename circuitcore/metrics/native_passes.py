"""Passes in C++, clean and edited: the numbers of the torch passes, to float32's rounding, several times faster."""

from collections.abc import Iterable, Iterator, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from circuitcore.models import ModelConfig
from circuitcore.models.edits import Resolved
from circuitcore.models.transformer import Weights
from circuitcore.native import RECORDABLE, NativeDecoder, Replace, decoder_of, takes
from circuitcore.tasks.base import Batch


def covers(config: ModelConfig, weights: Weights, interventions: Sequence[Sequence[Resolved]] = ()) -> bool:
    """Whether passes can be made natively: a known model, float32 on the CPU, no edit of patterns or the final norm."""
    inside = all(edit.site.name not in ("resid_final", "pattern") for edits in interventions for edit in edits)
    return inside and takes(config, weights)


def covers_record(config: ModelConfig, weights: Weights, keys: Iterable[str]) -> bool:
    """Whether a clean pass can be made natively that records ``keys``, such as ``"pattern.1"``."""
    names = {key.split(".")[0] for key in keys}
    there = names <= set(RECORDABLE) and not (config.mlp == "none" and names & {"mlp_out", "mlp_post"})
    last = f"resid_final.{config.n_layers - 1}"
    layers = all(key.split(".")[1] in map(str, range(config.n_layers)) for key in keys)
    at_end = all(key == last for key in keys if key.startswith("resid_final"))
    return there and layers and at_end and covers(config, weights)


def native_run(
    config: ModelConfig, weights: Weights, batch: Batch, keys: Sequence[str]
) -> tuple[Float[Tensor, "ckpt batch pos vocab"], dict[str, Tensor]]:
    """Logits of the clean pass, and the recorded sites."""
    decoder = decoder_of(config)
    logits, caches = zip(*(decoder.record(flat, batch.tokens, keys) for flat in _flat(decoder, weights)), strict=True)
    return _stacked(logits, 0), _by_site(caches)


def native_record(
    config: ModelConfig, weights: Weights, batch: Batch, keys: Sequence[str], at: Bool[Tensor, " pos"] | None
) -> dict[str, Tensor]:
    """The recorded sites of the clean pass; ``at`` as in ``NativeDecoder.record``."""
    decoder = decoder_of(config)
    flats = _flat(decoder, weights)
    return _by_site([decoder.record(flat, batch.tokens, keys, with_logits=False, at=at)[1] for flat in flats])


def _by_site(caches: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The sites of several checkpoints, stacked."""
    return {key: _stacked([cache[key] for cache in caches], 0) for key in caches[0]}


def native_passes(
    config: ModelConfig, weights: Weights, batch: Batch, interventions: Sequence[Sequence[Resolved]]
) -> tuple[Float[Tensor, "pass ckpt batch vocab"], Float[Tensor, "pass ckpt batch head key"]]:
    """Logits and the last layer's pattern at the read-out: of the clean pass, then of each intervention.

    Args:
        config: the architecture.
        weights: a stack of checkpoints.
        batch: rows that are run.
        interventions: each its edits; without any, its answers are those of the clean pass.
    """
    decoder, found = decoder_of(config), []
    for ckpt, flat in enumerate(_flat(decoder, weights)):
        edits = [[_replace(config, edit, ckpt) for edit in together] for together in interventions]
        found.append(decoder.answers(flat, batch.tokens, batch.roles["read_out"], edits))
    logits, patterns = zip(*found, strict=True)
    return _stacked(logits, 1), _stacked(patterns, 1)


def _stacked(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """``torch.stack``, without a copy where there is but one tensor."""
    return tensors[0].unsqueeze(axis) if len(tensors) == 1 else torch.stack(tuple(tensors), axis)


def _flat(decoder: NativeDecoder, weights: Weights) -> Iterator[Tensor]:
    """The weights of each checkpoint of a stack, as one vector."""
    for ckpt in range(len(next(iter(weights.values())))):
        yield decoder.flat.join({name: value[ckpt] for name, value in weights.items()})


def _replace(config: ModelConfig, edit: Resolved, ckpt: int) -> Replace:
    site, positions = edit.site, edit.positions.contiguous()
    if edit.keys is not None:
        return Replace(site.name, site.layer, site.head, positions, None, edit.keys.contiguous())
    return Replace(site.name, site.layer, site.head, positions, _values(config, edit, ckpt))


def _values(config: ModelConfig, edit: Resolved, ckpt: int) -> Tensor | None:
    """The replacement at one checkpoint, ``[batch pos d]`` or ``[batch pos head d_head]``; None for zeros."""
    value, rank = edit.value, 4 if edit.n_heads else 3
    if value.dim() == 0 and value == 0:
        return None
    if value.dim() > rank:
        value = value[min(ckpt, len(value) - 1)]
    width = config.d_head if edit.n_heads else config.d_mlp if edit.site.name == "mlp_post" else config.d_model
    # Axes of size 1 become axes of stride 0: nothing is copied but rows whose own numbers do not lie side by side.
    shape = (*edit.positions.shape, *((edit.n_heads,) if edit.n_heads else ()), width)
    value = value.float().expand(shape)
    return value if value.stride(-1) == 1 else value.contiguous()
