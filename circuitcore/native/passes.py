"""Which weights passes can be made of, and the decoder that makes them."""

import functools
from collections.abc import Mapping

import torch
from torch import Tensor

from circuitcore.models.config import ModelConfig
from circuitcore.native.build import why_not
from circuitcore.native.known import unsupported
from circuitcore.native.library import NativeDecoder


def takes(config: ModelConfig, weights: Mapping[str, Tensor]) -> bool:
    """Whether passes can be made: a known model, float32 on the CPU, and code that was compiled."""
    plain = all(value.dtype == torch.float32 and value.device.type == "cpu" for value in weights.values())
    return plain and not why_not() and not unsupported(config)


@functools.lru_cache(maxsize=4)  # the memory it works in is made once a model, not once a pass
def decoder_of(config: ModelConfig) -> NativeDecoder:
    """The decoder that passes of a model share."""
    return NativeDecoder(config)
