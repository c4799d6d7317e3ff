"""Batches that do not fit, and those that only look odd."""

import math

import pytest
import torch
from native_cases import lively_weights, rows_of

from circuitcore.models import ModelConfig, init_weights
from circuitcore.native import NativeDecoder, Training, UpdateRule, inputs, why_not
from circuitcore.training import Optimizer, TorchEngine
from circuitcore.training.engines.native_engine import NativeEngine

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no native engine here: {why_not()}")

WORDS = ModelConfig(d_vocab=11, n_ctx=9, d_model=20, d_head=10, d_mlp=21)
VECTORS = ModelConfig(d_vocab=11, n_ctx=9, d_model=20, d_head=10, d_mlp=21, d_in=5, tied=False)
RULE = UpdateRule("adam", 1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, clip_norm=0.0)


def changed(tensor, value, at=(2, 3)):
    tensor = tensor.clone()
    tensor[at] = value
    return tensor


def bad_batches():
    tokens, targets, mask = rows_of(WORDS, (4, 9))
    vectors = rows_of(VECTORS, (4, 9), targets="vectors")
    longer = rows_of(ModelConfig.from_dict(WORDS.to_dict() | {"n_ctx": 10}), (4, 10))
    yield WORDS, longer, "10 positions.* at most 9"
    yield WORDS, (tokens[:, :8], targets, mask), r"tokens have shape \(4, 8\).*\(4, 9\)"
    yield WORDS, (tokens, targets[:3], mask), r"targets have shape \(3, 9\).*\(4, 9\)"
    yield WORDS, (vectors[0], targets, mask), r"tokens have shape \(4, 9, 5\).*\(4, 9\)"
    yield VECTORS, (tokens, targets, mask), r"tokens have shape \(4, 9\).*\(4, 9, 5\)"
    yield VECTORS, (vectors[0], vectors[1][..., :10], mask), r"targets have shape \(4, 9, 10\).*\(4, 9, 11\)"
    for wrong in (11, -1, 2**40):
        yield WORDS, (changed(tokens, wrong), targets, mask), r"outside 0\.\.10"
        yield WORDS, (tokens, changed(targets, wrong), mask), r"outside 0\.\.10"
        yield VECTORS, (vectors[0], changed(targets, wrong), mask), r"outside 0\.\.10"


@pytest.mark.parametrize(("config", "rows", "words"), tuple(bad_batches()))
def test_a_batch_that_does_not_fit_is_refused_and_changes_nothing(config, rows, words):
    decoder = NativeDecoder(config)
    state = Training(decoder.flat.join(init_weights(config, 0)))
    before = state.parameters.clone()
    with pytest.raises(ValueError, match=words):
        decoder.step(state, RULE, *rows)
    assert state.steps == 0 and torch.equal(state.parameters, before) and not state.moments.any()


def others(config=WORDS):
    """Weights that are not those of the model, and what is said of them."""
    plain = init_weights(config, 0)
    yield {name: value for name, value in plain.items() if name != "ln_final.w"}, "missing: ln_final.w"
    yield plain | {"unembed.b_V": torch.zeros(3)}, "left over: unembed.b_V"
    yield (
        init_weights(ModelConfig.from_dict(config.to_dict() | {"n_layers": 1}), 0),
        "missing: blocks.1.attn.W_K",
    )
    yield plain | {"embed.W_E": torch.zeros(12, 20)}, r"embed.W_E has shape \(12, 20\); this model's is \(11, 20\)"


@pytest.mark.parametrize(("weights", "words"), tuple(others()))
def test_weights_of_another_model_are_refused_before_memory_is_read(weights, words):
    with pytest.raises(ValueError, match=words):
        NativeDecoder(WORDS).flat.join(weights)


@pytest.mark.parametrize("cut", [lambda flat: flat[:-1], lambda flat: flat.double(), lambda flat: flat.repeat(2)])
def test_a_vector_that_is_not_the_weights_of_the_model_is_refused(cut):
    decoder, rows = NativeDecoder(WORDS), rows_of(WORDS, (4, 9))
    whole, rule = decoder.flat.join(init_weights(WORDS, 0)), RULE._replace(name="sgd")
    last, words = torch.full((4,), 8), "this model reads .* of torch.float32"
    for tried in (
        lambda flat: decoder.gradient(flat, *rows),
        lambda flat: decoder.step(Training(flat, 0), rule, *rows),
        lambda flat: decoder.answers(flat, rows[0], last, []),
        lambda flat: decoder.record(flat, rows[0], []),
    ):
        tried(whole)
        with pytest.raises(ValueError, match=words):
            tried(cut(whole))
    with pytest.raises(ValueError, match=words):  # Adam has two moments
        decoder.step(Training(whole, 1), RULE, *rows)


def test_rows_and_read_outs_of_other_shapes_are_refused():
    vectors = NativeDecoder(VECTORS)
    flat = vectors.flat.join(init_weights(VECTORS, 0))
    with pytest.raises(ValueError, match=r"read-outs of shape \(3,\); 4 rows have one each"):
        inputs.places(torch.zeros(3, dtype=torch.int64), 4, 9)
    with pytest.raises(ValueError, match=r"tokens of shape \(4, 9, 4\); this model reads vectors \[batch pos 5\]"):
        vectors.record(flat, torch.zeros(4, 9, 4), [])
    with pytest.raises(ValueError, match=r"tokens of shape \(4, 9\); this model reads vectors"):
        vectors.record(flat, torch.zeros(4, 9), [])


@pytest.mark.parametrize("outside", [-100, 11, -(2**40)])
def test_targets_that_are_not_scored_may_be_anything(outside):
    tokens, targets, mask = rows_of(WORDS, (4, 9), mask="random")
    decoder = NativeDecoder(WORDS)
    weights = decoder.flat.join(lively_weights(WORDS))
    wanted = decoder.gradient(weights, tokens, targets, mask)
    found = decoder.gradient(weights, tokens, targets.masked_fill(~mask, outside), mask)
    assert wanted[0] == found[0] and torch.equal(wanted[1], found[1])


@pytest.mark.parametrize("config", [WORDS, VECTORS], ids=["words", "vectors"])
@pytest.mark.parametrize("targets", ["ids", "vectors"])
def test_how_a_tensor_lies_in_memory_does_not_matter(config, targets):
    rows = rows_of(config, (4, 9), mask="random", targets=targets)
    decoder = NativeDecoder(config)
    weights = decoder.flat.join(lively_weights(config))
    loss, gradient = decoder.gradient(weights, *rows)
    turned = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in rows]
    apart = [torch.stack((x, x), -1)[..., 0] for x in rows]
    other_type = [x.double() if x.is_floating_point() else x if x.dtype == torch.bool else x.int() for x in rows]
    assert not any(x.is_contiguous() for x in (*turned, *apart))
    for same in (turned, apart, other_type):
        found = decoder.gradient(weights, *same)
        assert found[0] == loss and torch.equal(found[1], gradient)


@pytest.mark.parametrize("targets", ["ids", "vectors"])
def test_a_batch_without_any_loss_is_as_in_torch(targets):
    tokens, wanted, mask = rows_of(WORDS, (4, 9), targets=targets)
    rule = Optimizer(name="adamw", lr=1e-2, weight_decay=0.1, clip_norm=1.0)
    engines = TorchEngine(WORDS, rule, 0), NativeEngine(WORDS, rule, 0)
    for engine in engines:
        engine.step(tokens, wanted, mask)
        stats = engine.step(tokens, wanted, torch.zeros_like(mask))
        assert math.isnan(stats.loss) and stats.grad_norm == 0
    theirs, ours = (engine.weights() for engine in engines)
    for name in theirs:
        assert torch.allclose(theirs[name], ours[name], rtol=1e-4, atol=1e-6), name
