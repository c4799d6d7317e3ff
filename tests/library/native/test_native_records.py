"""Clean passes in C++ against the same passes in torch: logits everywhere, and every site that can be recorded."""

import pytest
import torch
from native_cases import CHUNK_ROWS, N_POS, config_of, lively_weights, pairwise, rows_of

from circuitcore.models import ModelConfig, forward
from circuitcore.native import RECORDABLE, NativeDecoder, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no native engine here: {why_not()}")

PLAIN = ModelConfig(d_vocab=11, n_ctx=12, d_model=20, d_head=10, d_mlp=21)


def keys_of(config):
    """Every recordable site the decoder has."""
    keys = [f"{site}.{layer}" for site in RECORDABLE if site != "resid_final" for layer in range(config.n_layers)]
    here = [key for key in keys if config.mlp != "none" or not key.startswith("mlp")]
    return [*here, f"resid_final.{config.n_layers - 1}"]


def assert_agree(config, tokens, decoder=None):
    weights, keys = lively_weights(config), keys_of(config)
    decoder = decoder or NativeDecoder(config)
    logits, found = decoder.record(decoder.flat.join(weights), tokens, keys)
    true = forward(config, {name: value.double() for name, value in weights.items()}, exact(tokens), record=keys)
    assert (logits - true.logits).norm() <= 1e-5 * true.logits.norm()
    assert list(found) == keys
    for key in keys:
        assert found[key].shape == true.cache[key].shape
        assert (found[key] - true.cache[key]).norm() <= 1e-5 * true.cache[key].norm(), key


def exact(tokens):
    return tokens.double() if tokens.is_floating_point() else tokens


@pytest.mark.parametrize("seed", range(2))
def test_every_site_of_any_decoder(seed):
    for case in pairwise(seed=seed):
        config = config_of(case)
        assert_agree(config, rows_of(config, (case["size"], N_POS))[0])


@pytest.mark.parametrize("n_pos", [1, 15, 16, 17, CHUNK_ROWS, CHUNK_ROWS + 3])
def test_rows_of_any_length(n_pos):
    config = ModelConfig.from_dict(PLAIN.to_dict() | {"n_ctx": n_pos})
    assert_agree(config, rows_of(config, (3, n_pos))[0])


def test_one_decoder_takes_every_batch():
    decoder = NativeDecoder(PLAIN)
    for size, n_pos in ((50, 9), (3, 12), (1, 1), (7, 5), (50, 9)):
        assert_agree(PLAIN, rows_of(PLAIN, (size, n_pos))[0], decoder)


def test_recording_leaves_the_logits_alone():
    tokens, decoder = rows_of(PLAIN)[0], NativeDecoder(PLAIN)
    weights, keys = decoder.flat.join(lively_weights(PLAIN)), keys_of(PLAIN)
    plain, nothing = decoder.record(weights, tokens, [])
    assert nothing == {}
    # With the MLP's output written down, it is added to the stream in another order: the last bit may differ.
    quiet = [key for key in keys if not key.startswith("mlp_out")]
    assert torch.equal(plain, decoder.record(weights, tokens, quiet)[0])
    all_logits, at_once = decoder.record(weights, tokens, keys)
    assert torch.allclose(plain, all_logits, rtol=1e-5, atol=1e-5)
    for key in quiet:
        if key.endswith(".0"):
            assert torch.allclose(decoder.record(weights, tokens, [key])[1][key], at_once[key], rtol=1e-5, atol=1e-6)


def test_a_site_asked_for_twice_is_written_once():
    tokens, decoder = rows_of(PLAIN)[0], NativeDecoder(PLAIN)
    weights = decoder.flat.join(lively_weights(PLAIN))
    keys = ["z.0", "pattern.1", "resid_final.1"]
    _, once = decoder.record(weights, tokens, keys)
    _, twice = decoder.record(weights, tokens, keys + keys)
    assert list(twice) == keys and all(torch.equal(once[key], twice[key]) for key in keys)


@pytest.mark.parametrize("wanted", [[0], [11], [3, 7], [0, 5, 11]], ids=str)
def test_some_positions_are_recorded_as_all_of_them_are_and_the_others_are_nan(wanted):
    tokens, decoder = rows_of(PLAIN, (30, 12))[0], NativeDecoder(PLAIN)
    weights, at = decoder.flat.join(lively_weights(PLAIN)), torch.zeros(12, dtype=torch.bool)
    at[wanted] = True
    keys = [key for key in keys_of(PLAIN) if not key.startswith("pattern")]
    _, everywhere = decoder.record(weights, tokens, keys, with_logits=False)
    _, some = decoder.record(weights, tokens, keys, with_logits=False, at=at)
    for key in keys:
        assert torch.allclose(some[key][:, at], everywhere[key][:, at], rtol=1e-5, atol=1e-6), key
        assert some[key][:, ~at].isnan().all(), key


@pytest.mark.parametrize(
    ("keys", "with_logits", "wanted"), [(["z.0"], True, [3]), (["pattern.1"], False, [3]), (["z.0"], False, [])]
)
def test_logits_and_patterns_are_recorded_at_all_positions_and_nothing_at_none(keys, with_logits, wanted):
    tokens, decoder, at = rows_of(PLAIN, (3, 12))[0], NativeDecoder(PLAIN), torch.zeros(12, dtype=torch.bool)
    at[wanted] = True
    with pytest.raises(ValueError, match="at all of 12 positions, sites at one at least"):
        decoder.record(decoder.flat.join(lively_weights(PLAIN)), tokens, keys, with_logits=with_logits, at=at)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (torch.zeros(2, 13, dtype=torch.int64), "13 positions.* at most 12"),
        (torch.full((2, 5), 11), r"11\.\.11; the model's vocabulary is 0\.\.10"),
        (torch.full((2, 5), -1), r"-1\.\.-1; the model's vocabulary is 0\.\.10"),
    ],
)
def test_rows_that_do_not_fit_are_refused(tokens, words):
    decoder = NativeDecoder(PLAIN)
    with pytest.raises(ValueError, match=words):
        decoder.record(decoder.flat.join(lively_weights(PLAIN)), tokens, [])
