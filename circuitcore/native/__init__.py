"""The decoder in C++: compiled on first use for this processor, the numbers of the torch path, several times faster.

``source/`` holds the code, ``build`` compiles and caches it, ``library`` calls it. Nothing here knows of training runs
or metrics: it takes flat weights and gives losses, gradients and logits.
"""

from circuitcore.native.build import why_not
from circuitcore.native.flat import FlatWeights
from circuitcore.native.known import unsupported
from circuitcore.native.library import (
    RECORDABLE,
    NativeDecoder,
    Replace,
    Training,
    UpdateRule,
    peak_gflops,
)
from circuitcore.native.passes import decoder_of, takes

__all__ = [
    "RECORDABLE",
    "FlatWeights",
    "NativeDecoder",
    "Replace",
    "Training",
    "UpdateRule",
    "decoder_of",
    "peak_gflops",
    "takes",
    "unsupported",
    "why_not",
]
