"""Which weights passes can be made of, and the decoder that makes them."""

import functools
import threading
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


_OF_THREAD = threading.local()


def decoder_of(config: ModelConfig) -> NativeDecoder:
    """The decoder that passes of a model share, in this thread: two would write into the same memory at once."""
    if not hasattr(_OF_THREAD, "decoder"):
        # The memory that it works in is made once a model, not once a pass.
        _OF_THREAD.decoder = functools.lru_cache(maxsize=4)(NativeDecoder)
    return _OF_THREAD.decoder(config)
