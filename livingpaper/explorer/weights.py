"""Checkpoints as text that a page can carry and ``static/decoder.js`` reads.

A packed model is plain JSON: ``config`` (the fields in ``KNOWN``), ``dtype``, ``tensors`` (``[name, shape]`` in
the order in which they lie behind each other), and ``checkpoints`` (``at``: a step; ``data``: those numbers, little
endian, in base64). They are float32, so that the page's network is the published one: at 11 significant bits rounding
moves logits by up to 4.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from circuitcore.models.capabilities import Known, require
from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import Weights, weight_shapes

# What ``decoder.js`` computes; nothing else is ever packed for it.
KNOWN: Known = {
    **dict.fromkeys(("d_vocab", "n_ctx", "n_layers", "n_heads", "d_model", "d_head", "d_mlp", "d_in"), ()),
    **dict.fromkeys(("norm_eps", "init"), ()),
    "norm": ("rms", "layer", "none"),
    "norm_position": ("pre", "post"),
    "positions": ("rope", "learned", "none"),
    "mlp": ("swiglu", "gelu", "relu", "none"),
    "tied": (True, False),
    "bias": ("none", "inside", "all"),
}
DTYPE = "float32"


def packed(config: ModelConfig, checkpoints: Mapping[int, Weights]) -> dict[str, Any]:
    """One model at all its checkpoints, in the order of training.

    Args:
        config: the architecture.
        checkpoints: step -> weights as ``init_weights`` names and shapes them.

    Raises:
        UnsupportedError: the page's decoder does not know a word of the config.
        ValueError: no checkpoint, weights that do not fit the config, or a number that is none.
    """
    if not checkpoints:
        raise ValueError("no checkpoint: a page needs at least one")
    require("the page's decoder", KNOWN, config)
    shapes = {name: shape for name, (shape, _) in weight_shapes(config).items()}
    return {
        "config": {name: getattr(config, name) for name in KNOWN} | {"bias": config.to_dict()["bias"]},
        "dtype": DTYPE,
        "tensors": [[name, list(shape)] for name, shape in shapes.items()],
        "checkpoints": [
            {"at": at, "data": _text(_joined(shapes, weights, at))} for at, weights in sorted(checkpoints.items())
        ],
    }


def in_script(data: Any) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element or open a comment."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _joined(shapes: Mapping[str, tuple[int, ...]], weights: Weights, at: int) -> Tensor:
    """All tensors behind each other, ``[n_numbers]``."""
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    wrong = sorted(name for name in found.keys() | shapes.keys() if found.get(name) != shapes.get(name))
    if wrong:
        name = wrong[0]
        raise ValueError(
            f"checkpoint {at}: {len(wrong)} tensors do not fit the config; {name} has shape {found.get(name)}, "
            f"needed is {shapes.get(name)}"
        )
    return torch.cat([weights[name].detach().flatten().cpu() for name in shapes])


def _text(numbers: Tensor) -> str:
    values = numbers.float()
    if not values.isfinite().all():
        worst = numbers.abs().max().item()
        raise ValueError(f"a weight of size {worst:g} is not a number that {DTYPE} can hold")
    return base64.b64encode(values.numpy().astype("<f4").tobytes()).decode()
