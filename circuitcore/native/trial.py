"""A fresh library's first task: autograd's loss and gradients on one small decoder."""

import ctypes

import torch
from torch.nn import functional

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.native.library import NativeDecoder

TOLERANCE = 1e-4  # relative to the largest entry; float32 differs by 1e-6, a miscompiled kernel by everything


def differs_from_autograd(library: ctypes.CDLL) -> str:
    """What ``library`` gets wrong, in a few words; empty if nothing."""
    config = ModelConfig(d_vocab=11, n_ctx=9, d_model=24, n_heads=2, d_head=10, d_mlp=20, tied=False, bias="all")
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 11, (7, 9), generator=generator)
    targets = torch.randint(0, 11, (7, 9), generator=generator)
    mask = torch.rand((7, 9), generator=generator) < 0.4
    weights = {name: value.requires_grad_() for name, value in init_weights(config, 0).items()}
    with torch.enable_grad():
        wanted = functional.cross_entropy(forward(config, weights, tokens).logits[mask], targets[mask])
        wanted.backward()
    decoder = NativeDecoder(config, library)
    loss, gradient = decoder.gradient(decoder.flat.join(weights), tokens, targets, mask)
    if not abs(loss - wanted.item()) < TOLERANCE * wanted.item():
        return f"loss {loss} for {wanted.item()}"
    for name, found in decoder.flat.views(gradient).items():
        true = weights[name].grad
        if not (found - true).abs().max() <= TOLERANCE * true.abs().max():
            return f"the gradient of {name}"
    return ""
