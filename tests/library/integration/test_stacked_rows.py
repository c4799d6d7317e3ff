"""Stacked models that each read their own rows do what they do alone."""

import pytest
import torch

from circuitcore.models import ModelConfig, forward, init_weights

SIZES = {"d_vocab": 11, "n_ctx": 7, "d_model": 16, "d_mlp": 24}
CONFIGS = {
    "plain": ModelConfig(**SIZES),
    "learned positions, layer norm after": ModelConfig(
        **SIZES, positions="learned", norm="layer", norm_position="post", mlp="gelu", bias="all", tied=False
    ),
    "vectors": ModelConfig(**SIZES, d_in=5, tied=False),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_each_model_reads_its_own_rows(name):
    config, generator = CONFIGS[name], torch.Generator().manual_seed(0)
    models = [{key: w.double() for key, w in init_weights(config, seed).items()} for seed in range(3)]
    stacked = {key: torch.stack([model[key] for model in models]) for key in models[0]}
    if config.d_in:
        rows = torch.randn(3, 4, 7, config.d_in, dtype=torch.float64, generator=generator)
    else:
        rows = torch.randint(config.d_vocab, (3, 4, 7), generator=generator)
    together = forward(config, stacked, rows).logits
    assert together.shape == (3, 4, 7, config.d_vocab)
    for run, model in enumerate(models):
        torch.testing.assert_close(together[run], forward(config, model, rows[run]).logits, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="8 positions"):
        forward(config, stacked, torch.cat([rows, rows[:, :, :1]], 2))


def test_a_token_outside_the_vocabulary_is_refused_not_read_from_the_next_model():
    config = CONFIGS["plain"]
    stacked = {key: torch.stack([w, w]) for key, w in init_weights(config, 0).items()}
    with pytest.raises(IndexError):
        forward(config, stacked, torch.full((2, 1, 3), config.d_vocab))
