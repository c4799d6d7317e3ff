"""Single functions of the C++ at the ends of their ranges, seen through decoders made of little else."""

import math

import pytest
import torch
from native_cases import autograd, errors, lively_weights, rows_of
from torch.nn import functional

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.native import NativeDecoder, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no native engine here: {why_not()}")

SMALL = 2.0**-20  # inputs this small, and weights 1 / SMALL before a nonlinearity: all that comes out is its own
BARE = {"norm": "none", "positions": "none", "tied": False, "bias": "none", "n_layers": 1, "n_heads": 1}
VALUES = torch.cat([torch.linspace(-40, 40, 801), torch.tensor([-1e30, -1e4, -88.1, -1e-30, 1e-30, 88.1, 1e4, 1e15])])


def bare(width, **sizes):
    """A decoder that hands vectors through, and its weights: identities outside, nothing read or written inside."""
    config = ModelConfig(**BARE | {"d_vocab": width, "d_in": width, "n_ctx": 20, "d_model": width, "d_head": 1} | sizes)
    weights = {name: torch.zeros_like(value) for name, value in init_weights(config, 0).items()}
    return config, weights | {"embed.W_in": torch.eye(width), "unembed.W_U": torch.eye(width)}


def answers(config, weights, tokens):
    """Logits and pattern at the last position of each row."""
    decoder = NativeDecoder(config)
    last = torch.full((len(tokens),), tokens.shape[1] - 1)
    logits, pattern = decoder.answers(decoder.flat.join(weights), tokens, last, [])
    return logits[0], pattern[0]


@pytest.mark.parametrize("mlp", ["gelu", "relu", "swiglu"])
def test_a_nonlinearity_over_all_its_range(mlp):
    config, weights = bare(1, mlp=mlp, d_mlp=1)
    weights |= {f"blocks.0.mlp.W_{part}": torch.tensor([[1 / SMALL]]) for part in ("gate", "in")[mlp != "swiglu" :]}
    weights["blocks.0.mlp.W_out"] = torch.ones(1, 1)
    values = VALUES if mlp != "swiglu" else VALUES[VALUES.abs() < 1e10]  # squares beyond that are not float32's
    rows = (SMALL * values)[:, None, None]
    found, _ = answers(config, weights, rows)
    true = forward(config, {name: value.double() for name, value in weights.items()}, rows.double()).logits[:, -1]
    assert torch.allclose(found.double(), true, rtol=2e-6, atol=1e-7)
    assert (found[values > 1] > 0.8).all() and (found[values < -20].abs() <= 2e-5 + SMALL * 1e30).all()


@pytest.mark.parametrize("mlp", ["gelu", "relu", "swiglu"])
def test_the_slope_of_a_nonlinearity_over_all_its_range(mlp):
    config, weights = bare(1, mlp=mlp, d_mlp=1)
    weights |= {f"blocks.0.mlp.W_{part}": torch.tensor([[1 / SMALL]]) for part in ("gate", "in")[mlp != "swiglu" :]}
    weights["blocks.0.mlp.W_out"] = torch.ones(1, 1)
    mask, decoder = torch.ones(1, 1, dtype=torch.bool), NativeDecoder(config)
    for value in VALUES[(VALUES.abs() < 1e10)][::7]:
        row = (SMALL * value).reshape(1, 1, 1)
        output, _ = answers(config, weights, row)
        rows = (row, (output - output.abs().clamp(min=1))[:, None], mask)  # far from the output: its rounding is small
        found = decoder.flat.views(decoder.gradient(decoder.flat.join(weights), *rows)[1])
        true = autograd(config, weights, rows)[1]
        assert torch.allclose(found["embed.W_in"].double(), true["embed.W_in"], rtol=1e-5, atol=1e-9), value


def test_a_pattern_of_huge_and_tiny_scores():
    config, weights = bare(1, mlp="none", d_mlp=0)
    weights |= {f"blocks.0.attn.W_{part}": torch.ones(1, 1, 1) for part in "QK"}
    generator = torch.Generator().manual_seed(0)
    keys = torch.randint(-2000, 2000, (60, 17, 1), generator=generator).float() * torch.tensor([1e-3, 1, 1e9]).repeat(
        20
    ).reshape(60, 1, 1)
    _, pattern = answers(config, weights, keys)
    scores = (keys[:, -1:, 0] * keys[:, :, 0]).double()  # products of float32, rounded once
    assert torch.allclose(pattern[:, 0].double(), scores.softmax(-1), atol=2e-6)
    assert (pattern.sum(-1) - 1).abs().max() < 1e-6


@pytest.mark.parametrize("n_words", [2, 16, 19])
def test_the_loss_of_huge_logits(n_words):
    config, weights = bare(n_words, mlp="none", d_mlp=0)
    tokens, _, mask = rows_of(config)
    targets = torch.arange(mask.numel()).reshape(mask.shape) % n_words
    for scale in (1e-30, 1.0, 30.0, 1e4, 1e30):
        decoder = NativeDecoder(config)
        loss, gradient = decoder.gradient(decoder.flat.join(weights), scale * tokens, targets, mask)
        logits = (scale * tokens).double()
        true = functional.cross_entropy(logits[mask], targets[mask])
        assert loss == pytest.approx(true.item(), rel=1e-6)
        assert gradient.isfinite().all()
        of_loss, of_gradient, where = errors(config, weights, (scale * tokens, targets, mask))
        assert of_gradient < 1e-5, (scale, where)


def test_a_sure_and_right_answer_costs_nothing():
    config, weights = bare(5, mlp="none", d_mlp=0)
    targets = torch.arange(20).reshape(4, 5) % 5
    decoder, mask = NativeDecoder(config), torch.ones(4, 5, dtype=torch.bool)
    right = 1e4 * functional.one_hot(targets, 5).float()
    assert decoder.gradient(decoder.flat.join(weights), right, targets, mask)[0] == 0
    wrong = decoder.gradient(decoder.flat.join(weights), right, (targets + 1) % 5, mask)[0]
    assert wrong == pytest.approx(1e4)


def decoders():
    """Decoders whose widths leave room in their last vectors, where something could hide."""
    words = [("rms", "pre", "relu"), ("layer", "post", "gelu"), ("none", "pre", "swiglu"), ("layer", "pre", "relu")]
    sizes = {"d_vocab": 11, "n_ctx": 9, "d_model": 20, "n_heads": 2, "d_head": 10, "d_mlp": 21, "bias": "all"}
    for norm, place, mlp in words:
        for inputs in ({"tied": True}, {"tied": False, "d_in": 5}):
            yield ModelConfig(**sizes | inputs, norm=norm, norm_position=place, mlp=mlp, positions="learned")


@pytest.mark.parametrize("config", tuple(decoders()), ids=lambda c: f"{c.norm}-{c.norm_position}-{c.mlp}-{c.d_in}")
def test_a_weight_that_is_no_number_shows_in_the_loss(config):
    rows, weights = rows_of(config), lively_weights(config)
    for name, value in weights.items():
        for bad in (math.nan, math.inf):
            spoilt = weights | {name: value.clone()}
            spoilt[name].view(-1)[:: 2 + value.numel() // 50] = bad
            if name == "embed.W_E":
                spoilt[name][rows[0][0, 0]] = bad
            decoder = NativeDecoder(config)
            loss, _ = decoder.gradient(decoder.flat.join(spoilt), *rows)
            true, _ = autograd(config, spoilt, rows)
            assert math.isfinite(loss) == math.isfinite(true), (name, bad)
            assert bad == math.inf or math.isnan(loss), name


@pytest.mark.parametrize("config", tuple(decoders()), ids=lambda c: f"{c.norm}-{c.norm_position}-{c.mlp}-{c.d_in}")
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_decoder_forgets_a_pass_that_failed(config, bad):
    rows, weights = rows_of(config, mask="per row"), lively_weights(config)
    decoder = NativeDecoder(config)
    before = decoder.gradient(decoder.flat.join(weights), *rows)
    asked = (rows[0], torch.arange(7), [])
    answered = decoder.answers(decoder.flat.join(weights), *asked)
    spoilt = {name: torch.full_like(value, bad) for name, value in weights.items()}
    assert not math.isfinite(decoder.gradient(decoder.flat.join(spoilt), *rows)[0])
    decoder.answers(decoder.flat.join(spoilt), *asked)
    again = decoder.answers(decoder.flat.join(weights), *asked)
    assert all(torch.equal(a, b) for a, b in zip(answered, again, strict=True))
    after = decoder.gradient(decoder.flat.join(weights), *rows)
    assert before[0] == after[0] and torch.equal(before[1], after[1])
