"""Rows of the source's minimal formulation, written for tests that need no task: blocks of pairs, then queries."""

import torch


def chain_rows(n_rows, n_chains=4, depth=2, n_symbol=4, seed=0):
    """Inputs ``[row, N (2 D + 1), 2 K]`` and the answers x_D ``[row, N, K]``; symbols are standard normal."""
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.randn(n_rows, n_chains, depth + 1, n_symbol, generator=generator, dtype=torch.float64)

    def order():
        return torch.rand(n_rows, n_chains, generator=generator).argsort(1)[..., None, None]

    blocks = [symbols[:, :, k : k + 2].take_along_dim(order(), 1).flatten(1, 2) for k in range(depth - 1, -1, -1)]
    asked = symbols.take_along_dim(order(), 1)
    words = torch.cat([*blocks, asked[:, :, 0]], 1)
    return torch.cat([words, position_codes(words.shape[1], n_symbol).expand(n_rows, -1, -1)], -1), asked[:, :, -1]


def position_codes(n_positions, n_code=4):
    """``[cos t, sin t, cos .01 t, sin .01 t]`` for four dimensions."""
    rates = 10_000.0 ** (-torch.arange(0, n_code, 2, dtype=torch.float64) / n_code)
    angles = torch.arange(n_positions, dtype=torch.float64)[:, None] * rates
    return torch.stack([angles.cos(), angles.sin()], -1).flatten(1)


def chain_tokens(n_rows, vocabulary, n_chains=2, depth=2, seed=0):
    """The same rows of tokens from a vocabulary, all different within a row; and the answers ``[row, N]``."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(n_rows, vocabulary, generator=generator).argsort(1)[:, : n_chains * (depth + 1)]
    chains = drawn.view(n_rows, n_chains, depth + 1)

    def order():
        return torch.rand(n_rows, n_chains, generator=generator).argsort(1)[..., None]

    blocks = [chains[:, :, k : k + 2].take_along_dim(order(), 1).flatten(1) for k in range(depth - 1, -1, -1)]
    asked = chains.take_along_dim(order(), 1)
    return torch.cat([*blocks, asked[:, :, 0]], 1), asked[:, :, -1]
