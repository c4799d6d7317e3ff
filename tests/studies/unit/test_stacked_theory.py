"""What the theorem's tables of the chapter on stacked heads say, against numbers known without them."""

import pytest

from retrieval_circuits.stacked_heads.measures import HeldOut, one_of_two


def test_one_of_two_symbols_is_worth_a_third_of_what_is_missing():
    """Four by four symbols: of four answers a block has, either symbol leaves two. Symbols are of unit variance."""
    found = one_of_two(HeldOut(n_rows=20_000)).set_index("knows")
    assert found["candidates"].to_dict() == {"the block": 4, "left": 2, "right": 2, "both": 1}
    assert found["error"].tolist() == pytest.approx([0.75, 0.5, 0.5, 0.0], abs=0.01)
