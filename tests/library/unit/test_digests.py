"""Rows are hashed in the order of their bytes, however fast they are brought into it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from circuitcore.training.store.digests import _sorted_rows, cells_sha256, numbered

ANY = {
    "u1": st.integers(0, 255) | st.sampled_from([0, 3, 4]),
    "<u4": st.integers(0, 2**32 - 1) | st.sampled_from([0, 256, 300]),
    "<i8": st.integers(-(2**63), 2**63 - 1) | st.integers(0, 70_000) | st.sampled_from([0, 1, 256]),
    "<f8": st.sampled_from([0.0, -0.0, 1.0, -1.5, np.nan, np.inf, 1e-300]) | st.floats(allow_nan=False),
}


@st.composite
def tables(draw):
    """One to six fields of up to 40 rows, many of them alike."""
    n_rows = draw(st.integers(1, 40))
    kinds = draw(st.lists(st.sampled_from(list(ANY)), min_size=1, max_size=6))
    return [draw(arrays.arrays(kind, n_rows, elements=ANY[kind], fill=ANY[kind])) for kind in kinds]


def plain(fields):
    """The rows as bytes, sorted one against the other."""
    rows = np.hstack([np.ascontiguousarray(one).view("u1").reshape(len(one), one.itemsize) for one in fields])
    return b"".join(sorted(row.tobytes() for row in rows))


@settings(database=None, deadline=None, derandomize=True, max_examples=200)
@given(tables())
def test_rows_stand_in_the_order_of_their_bytes(fields):
    assert _sorted_rows(fields).tobytes() == plain(fields)


@pytest.mark.parametrize("n_values", [1, 2, 300, 100_000])
def test_many_rows_stand_in_the_order_of_their_bytes(n_values):
    rng = np.random.default_rng(n_values)
    kinds = ["u1", "<i8", "u1", "<f8", "<u4", "<i8"]
    fields = [rng.integers(0, min(n_values, 250 if kind == "u1" else n_values), 3_000).astype(kind) for kind in kinds]
    assert _sorted_rows(fields).tobytes() == plain(fields)


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
def test_numbered_words_have_the_same_hash_whole_and_in_part(dtype):
    words = pd.Series(["b", None, "a", "b", "c", "a"], dtype=dtype).array
    assert isinstance(numbered(words), pd.Categorical)
    for rows in (slice(None), slice(2, 4), slice(1, 2), slice(0, 0)):
        n_rows = len(words[rows])
        assert cells_sha256({"word": numbered(words)[rows]}, n_rows) == cells_sha256({"word": words[rows]}, n_rows)


def test_numbers_stay_as_they_are():
    numbers = pd.Series([3, 1, 2]).array
    assert numbered(numbers) is numbers
