"""The decoder in the terms of TransformerLens 3: arguments of its config, and its tensors. Imports none of it.

Most names are the same on both sides. What differs: TransformerLens always has biases (here: zeros where a model has
none), an unembedding of its own (the embedding transposed, where it is tied) and, without RoPE, a table of positions
(zeros, where a model has none).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import ROPE_BASE, weight_shapes

_NORMS = {"layer": "LN", "rms": "RMS", "none": None}
_ACTIVATIONS = {"swiglu": "silu", "gelu": "gelu", "relu": "relu", "none": None}


def hooked_config(config: ModelConfig) -> dict[str, Any]:
    """Arguments of ``HookedTransformerConfig`` for the same decoder, as JSON literals.

    Raises:
        ValueError: names every word of ``config`` that ``HookedTransformer`` has no equal of, and why.
    """
    problems = _inexpressible(config)
    if problems:
        raise ValueError(f"TransformerLens' HookedTransformer cannot express this model: {'; '.join(problems)}")
    attention_only, rope = config.mlp == "none", config.positions == "rope"
    turned = {"rotary_dim": config.d_head, "rotary_base": ROPE_BASE, "rotary_adjacent_pairs": True}
    return {
        "n_layers": config.n_layers,
        "d_model": config.d_model,
        "n_ctx": config.n_ctx,
        "d_head": config.d_head,
        "n_heads": config.n_heads,
        "d_mlp": None if attention_only else config.d_mlp,
        "d_vocab": config.d_vocab,
        "act_fn": _ACTIVATIONS[config.mlp],
        "gated_mlp": config.mlp == "swiglu",
        "attn_only": attention_only,
        "normalization_type": _NORMS[config.norm],
        "eps": config.norm_eps,
        "positional_embedding_type": "rotary" if rope else "standard",
        **(turned if rope else {}),
        "default_prepend_bos": False,  # the prompts of the tasks have their own
    }


def hooked_weights(config: ModelConfig, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The value of every parameter of the ``HookedTransformer`` made from ``hooked_config``, by its name there.

    Args:
        config: one that ``hooked_config`` takes.
        weights: of one checkpoint, as ``init_weights`` names them; they keep their precision.
    """
    table = weights["embed.W_E"]
    positions = "rope" if config.positions == "rope" else "learned"
    full = dataclasses.replace(config, tied=False, bias="all", positions=positions)
    made = {name: torch.zeros(shape, dtype=table.dtype) for name, (shape, _) in weight_shapes(full).items()}
    if config.tied:
        made["unembed.W_U"] = table.T.contiguous()
    return {name: weights.get(name, value) for name, value in made.items() if not name.endswith(".b_gate")}


def _inexpressible(config: ModelConfig) -> list[str]:
    """Each word of a config that ``HookedTransformer`` has no equal of, with the reason."""
    problems = []
    if config.d_in:
        problems.append(f"d_in={config.d_in}: it embeds token ids, and this model reads vectors")
    if config.norm_position == "post" and config.norm != "none":
        problems.append(
            "norm_position='post': it normalises what a layer reads from the residual stream, and this model the "
            "stream itself"
        )
    if config.mlp == "swiglu" and config.bias != "none":
        problems.append(
            f"mlp='swiglu' with bias={config.bias!r}: its gate has no bias, and it adds b_in after the gate"
        )
    return problems
