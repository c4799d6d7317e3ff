"""Weights in fewer bytes: restored to the bit, and nothing else is taken for them."""

import zlib

import numpy as np
import pytest

from circuitcore.training.store.squeezed import MAX_BYTES, restore, squeeze

NUMBERS = np.random.default_rng(0).normal(size=20_000).astype("f4")


@pytest.mark.parametrize("extra", range(5))
@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS[:1], NUMBERS[:0], np.float32([np.nan, -np.inf, 1e-45, -0.0])])
def test_every_byte_comes_back(numbers, extra):
    data = numbers.tobytes() + b"xyzxy"[:extra]
    assert restore(squeeze(data)) == data and squeeze(data) == squeeze(data)


def test_weights_take_less_room_than_a_compressor_leaves_them_as_they_stand():
    data = NUMBERS.tobytes()
    assert len(squeeze(data)) < 0.87 * len(data) < 0.95 * len(zlib.compress(data, 9))


GIVEN = squeeze(NUMBERS.tobytes())
DAMAGED = {
    "empty": b"",
    "cut": GIVEN[:-5],
    "the length alone": GIVEN[:8],
    "never squeezed": NUMBERS.tobytes(),
    "too long": (MAX_BYTES + 1).to_bytes(8, "little") + GIVEN[8:],
    "twice": GIVEN + GIVEN,
    "shorter than it was": (len(NUMBERS) * 4 - 4).to_bytes(8, "little") + GIVEN[8:],
    "longer than it was": (len(NUMBERS) * 4 + 4).to_bytes(8, "little") + GIVEN[8:],
}


@pytest.mark.parametrize("what", DAMAGED)
def test_what_it_did_not_give_is_refused_in_words(what):
    with pytest.raises(ValueError, match="bytes"):
        restore(DAMAGED[what])
