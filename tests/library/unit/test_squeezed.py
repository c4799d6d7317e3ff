"""Weights in fewer bytes: restored to the bit, and nothing else is taken for them."""

import zlib

import numpy as np
import pytest

from circuitcore.training.store import squeezed
from circuitcore.training.store.squeezed import MAX_BYTES, restore, squeeze

NUMBERS = np.random.default_rng(0).normal(size=20_000).astype("f4")


@pytest.mark.parametrize("extra", range(5))
@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS[:1], NUMBERS[:0], np.float32([np.nan, -np.inf, 1e-45, -0.0])])
def test_every_byte_comes_back(numbers, extra):
    data = numbers.tobytes() + b"xyzxy"[:extra]
    assert restore(squeeze(data)) == data


def test_weights_take_less_room_than_a_compressor_leaves_them_as_they_stand():
    data = NUMBERS.tobytes()
    assert len(squeeze(data)) < 0.87 * len(data) < 0.95 * len(zlib.compress(data, 9))


GIVEN = squeeze(NUMBERS.tobytes())
OTHERS = "no compressed bytes, or damaged ones"
DAMAGED = {
    "empty": (b"", "0 bytes, fewer than there ever are"),
    "cut": (GIVEN[:-5], OTHERS),
    "the length alone": (GIVEN[:8], "8 bytes, fewer"),
    "never squeezed": (NUMBERS.tobytes(), "bytes announced; allowed: at most"),
    "too long": ((MAX_BYTES + 1).to_bytes(8, "little") + GIVEN[8:], f"{MAX_BYTES + 1:,} bytes announced"),
    "twice": (GIVEN + GIVEN, OTHERS),
    "shorter than it was": ((len(NUMBERS) * 4 - 4).to_bytes(8, "little") + GIVEN[8:], OTHERS),
    "longer than it was": ((len(NUMBERS) * 4 + 4).to_bytes(8, "little") + GIVEN[8:], OTHERS),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_what_it_did_not_give_is_refused_in_words(what):
    data, told = DAMAGED[what]
    with pytest.raises(ValueError, match=told):
        restore(data)


def test_what_could_not_be_restored_is_not_squeezed(monkeypatch):
    monkeypatch.setattr(squeezed, "MAX_BYTES", 100)
    assert restore(squeeze(bytes(100))) == bytes(100)
    with pytest.raises(ValueError, match="101 bytes of weights; allowed in a pack: at most 100"):
        squeeze(bytes(101))
