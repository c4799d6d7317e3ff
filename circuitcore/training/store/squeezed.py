"""Bytes of weights in fewer bytes, and back to the bit: how packs keep them.

The four bytes of a number are taken apart, all first ones together and so on, before they are compressed by zstd: those
with signs and exponents are much alike. That takes a seventh off; the rest is chance. How many bytes there were stands
before, in eight bytes, the lowest first.
"""

import numpy as np
import pyarrow

MAX_BYTES = 2**30
_LEVEL = 19
_LENGTH = 8  # bytes that say how many there were


def squeeze(data: bytes) -> bytes:
    """``data`` in fewer bytes; equal data give equal bytes under one version of pyarrow.

    Raises:
        ValueError: more than ``restore`` would give back.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"{len(data):,} bytes of weights; allowed in a pack: at most {MAX_BYTES:,}")
    whole = len(data) // 4 * 4
    apart = np.frombuffer(data[:whole], np.uint8).reshape(-1, 4).T.tobytes() + data[whole:]
    return len(data).to_bytes(_LENGTH, "little") + _codec().compress(apart, asbytes=True)


def restore(data: bytes) -> bytes:
    """What ``squeeze`` was given.

    Raises:
        ValueError: says why these are not bytes that it gave.
    """
    if len(data) <= _LENGTH:
        raise ValueError(f"{len(data)} bytes, fewer than there ever are")
    length = int.from_bytes(data[:_LENGTH], "little")
    if length > MAX_BYTES:
        raise ValueError(f"{length:,} bytes announced; allowed: at most {MAX_BYTES:,}")
    try:
        apart = _codec().decompress(data[_LENGTH:], length, asbytes=True)
    except (OSError, pyarrow.ArrowException) as error:
        raise ValueError(f"no compressed bytes, or damaged ones: {error}") from error
    whole = length // 4 * 4
    return np.frombuffer(apart[:whole], np.uint8).reshape(4, -1).T.tobytes() + apart[whole:]


def _codec() -> pyarrow.Codec:
    return pyarrow.Codec("zstd", _LEVEL)
