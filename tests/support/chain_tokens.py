"""Rows of the chain task in tokens from a small vocabulary, for networks wired by hand."""

import torch


def chain_tokens(n_rows, vocabulary, n_chains=2, depth=2, seed=0):
    """Rows as ``ChainRetrieval`` lays them out, of different tokens each; and the answers ``[row, N]``."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(n_rows, vocabulary, generator=generator).argsort(1)[:, : n_chains * (depth + 1)]
    chains = drawn.view(n_rows, n_chains, depth + 1)

    def order():
        return torch.rand(n_rows, n_chains, generator=generator).argsort(1)[..., None]

    blocks = [chains[:, :, k : k + 2].take_along_dim(order(), 1).flatten(1) for k in range(depth - 1, -1, -1)]
    asked = chains.take_along_dim(order(), 1)
    return torch.cat([*blocks, asked[:, :, 0]], 1), asked[:, :, -1]
