"""Combinations of a config's words: the native passes give torch's numbers in all, each engine for all triples."""

import itertools
from typing import get_args

import pytest
import torch
from covers import of_all_triples

from circuitcore.metrics.native_passes import native_run
from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.native import why_not
from circuitcore.tasks.base import Batch
from circuitcore.training import Optimizer
from circuitcore.training.engines import ENGINES

NAMES = ("norm", "norm_position", "positions", "mlp", "bias")
WORDS = {name: get_args(ModelConfig.__annotations__[name]) for name in NAMES}
WORDS |= {"tied": (True, False)}  # how weights begin is torch's everywhere
SIZES = {"d_vocab": 7, "n_ctx": 6, "n_layers": 2, "n_heads": 2, "d_model": 8, "d_mlp": 12}
CONFIGS = [ModelConfig(**SIZES, **dict(zip(WORDS, words, strict=True))) for words in itertools.product(*WORDS.values())]
NEAR = 1e-5
RULE = Optimizer(name="adamw", lr=1e-2, weight_decay=0.1, clip_norm=0.5)


def batch(config):
    """Rows of tokens, targets, and the positions that count."""
    draw = torch.Generator().manual_seed(3)
    tokens, targets = torch.randint(config.d_vocab, (2, 5, config.n_ctx), generator=draw)
    return tokens, targets, torch.rand(5, config.n_ctx, generator=draw) < 0.6


def test_there_are_as_many_models_as_combinations():
    assert len(set(CONFIGS)) == 3 * 2 * 3 * 4 * 3 * 2


@pytest.mark.skipif(bool(why_not()), reason="the native engine cannot be used here; torch takes its place")
def test_native_passes_give_the_logits_of_torch():
    for config in CONFIGS:
        tokens, targets, mask = batch(config)
        weights = {name: value[None] for name, value in init_weights(config, 1).items()}
        rows = Batch(tokens=tokens, targets=targets, loss_mask=mask, roles={"read_out": torch.zeros(5).long()})
        logits, _ = native_run(config, weights, rows, [])
        expected = forward(config, weights, tokens).logits
        assert (logits - expected).abs().max() <= NEAR * expected.abs().max().clamp(min=1), config


@pytest.mark.parametrize("engine", sorted(ENGINES.keys() - {"torch"}))
def test_a_step_of_every_engine_is_a_step_of_torch(engine):
    if engine == "native" and why_not():
        pytest.skip("the native engine cannot be used here; torch takes its place")
    for config in of_all_triples(CONFIGS, WORDS):
        engines = [ENGINES[name](config, RULE, 1) for name in (engine, "torch")]
        gradient, expected = (one.gradient(*batch(config)) for one in engines)
        assert gradient.keys() == expected.keys(), config
        largest = max(value.abs().max() for value in expected.values())
        for name, value in gradient.items():
            assert (value - expected[name]).abs().max() <= NEAR * largest, (config, name)
        (loss, norm), (loss_of_torch, norm_of_torch) = (one.step(*batch(config)) for one in engines)
        assert loss == pytest.approx(loss_of_torch, rel=NEAR, abs=NEAR), config
        assert norm == pytest.approx(norm_of_torch, rel=10 * NEAR, abs=NEAR), config
