"""What the theorem's tables of the chapter on stacked heads say, against numbers known without them."""

import pytest

from retrieval_circuits.stacked_heads.measures import HeldOut, Vocabulary, one_layer_vocabulary, one_of_two


def test_one_of_two_symbols_is_worth_a_third_of_what_is_missing():
    """Four by four symbols: of four answers a block has, either symbol leaves two. Symbols are of unit variance."""
    found = one_of_two(HeldOut(n_rows=20_000)).set_index("knows")
    assert found["candidates"].to_dict() == {"the block": 4, "left": 2, "right": 2, "both": 1}
    assert found["error"].tolist() == pytest.approx([0.75, 0.5, 0.5, 0.0], abs=0.01)


def test_so_many_neurons_follow_a_vocabulary_whole_and_no_larger_one():
    """Three neurons a choice of different symbols: V (V - 1) pairs, V (V - 1) (V - 2) triples."""
    asked = Vocabulary(shapes=((1, 4), (2, 2)), neurons=(64, 512), n_rows=200)
    found = one_layer_vocabulary(asked).set_index(["depth", "n_neurons"])
    assert found["largest"].to_dict() == {(1, 512): 13, (2, 512): 6}, "with 64 not even the symbols of one row"
    assert 3 * 13 * 12 <= 512 < 3 * 14 * 13 and 3 * 6 * 5 * 4 <= 512 < 3 * 7 * 6 * 5
    assert (found["right"] == 1).all() and (found["beyond"] < 0.5).all() and (found["beyond"] > found["chance"]).all()
