"""What is packed for a page is what the page's decoder computes."""

import pytest
from younger import SMALL, Younger, assert_knows_all

from circuitcore.models import init_weights
from circuitcore.models.capabilities import UnsupportedError
from livingpaper.explorer.weights import KNOWN, packed


def test_every_field_and_word_there_is_today_is_known():
    assert_knows_all(KNOWN)


def test_a_younger_word_is_refused_by_name_and_its_default_is_not():
    plain, gated = Younger(**SMALL), Younger(**SMALL, gate="output")
    config = packed(plain, {0: init_weights(plain, 0)})["config"]
    assert config.keys() == KNOWN.keys() and config["d_model"] == 8
    said = "the page's decoder does not know gate = 'output' .it knows no gate."
    with pytest.raises(UnsupportedError, match=said):
        packed(gated, {0: init_weights(gated, 0)})
