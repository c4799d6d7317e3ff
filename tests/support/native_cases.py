"""Decoders and batches to try the C++ on, and autograd in float64 beside it."""

import itertools
import random
import re

import torch
from torch.nn import functional

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.native import NativeDecoder
from circuitcore.native.build import SOURCE

CHUNK_ROWS = int(re.search(r"CHUNK_ROWS = (\d+)", (SOURCE / "decoder.hpp").read_text())[1])
N_POS = 9

# Every pair of values of two of these meets in some case of ``pairwise``.
AXES = {
    "norm": ("rms", "layer", "none"),
    "norm_eps": (1e-6, 1e-5, 1e-2),
    "norm_position": ("pre", "post"),
    "positions": ("rope", "learned", "none"),
    "mlp": ("swiglu", "gelu", "relu", "none"),
    "inputs": ("tied", "untied", "vectors"),
    "bias": ("none", "inside", "all"),
    "d_head": (8, 10, 16, 24, 32),
    "d_model": (20, 32, 48),
    "n_heads": (1, 2, 3, 4),
    "n_layers": (1, 2, 3),
    "targets": ("ids", "vectors"),
    "mask": ("last", "all", "middle", "random", "per row", "one row"),
    "size": (1, 7, 2 * CHUNK_ROWS // N_POS + 3),
}


def pairwise(axes=AXES, seed=0):
    """Cases, each a value per axis, so few that every pair of values still meets (greedy: the best of some tries)."""
    draw, names = random.Random(seed), list(axes)
    open_pairs = {pair for two in itertools.combinations(names, 2) for pair in _pairs_of(two, axes)}
    cases = []
    while open_pairs:
        tries = []
        for _ in range(60):
            (first, a), (second, b) = min(open_pairs) if not tries else draw.choice(sorted(open_pairs))
            tries.append({name: draw.choice(values) for name, values in axes.items()} | {first: a, second: b})
        best = max(tries, key=lambda case: len(open_pairs & pairs_in(case)))
        cases.append(best)
        open_pairs -= pairs_in(best)
    return cases


def pairs_in(case):
    """The pairs of (axis, value) that meet in a case."""
    return set(itertools.combinations(case.items(), 2))


def _pairs_of(two, axes):
    first, second = two
    return (((first, a), (second, b)) for a, b in itertools.product(axes[first], axes[second]))


def config_of(case, **changes):
    """The decoder of a case."""
    words = {name: case[name] for name in ("norm", "norm_eps", "norm_position", "positions", "mlp", "bias")}
    sizes = {name: case[name] for name in ("d_head", "d_model", "n_heads", "n_layers")}
    inputs = {"tied": case["inputs"] == "tied", "d_in": 5 if case["inputs"] == "vectors" else 0}
    return ModelConfig(**{"d_vocab": 11, "n_ctx": N_POS + 2, "d_mlp": 21} | words | sizes | inputs | changes)


def mask_of(kind, size, n_pos, generator):
    """Which positions of ``[size n_pos]`` are scored."""
    mask = torch.zeros(size, n_pos, dtype=torch.bool)
    if kind == "last":
        mask[:, -1] = True
    elif kind == "all":
        mask[:] = True
    elif kind == "middle":
        mask[:, n_pos // 3] = True
    elif kind == "one row":
        mask[size // 2, : n_pos // 2 + 1] = True
    elif kind == "random":
        mask = torch.rand(size, n_pos, generator=generator) < 0.4
        mask[0, 0] = True
    else:  # a different count in every row, none in some
        mask = torch.arange(n_pos) < torch.arange(size)[:, None] % (n_pos + 1)
        mask[-1, n_pos // 2] = True
    return mask


def rows_of(config, shape=(7, N_POS), *, mask="all", targets="ids", seed=1):
    """A random batch of ``shape`` (rows, positions): tokens (or vectors), targets (or vectors), mask."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(width):
        if width:
            return torch.randn(*shape, width, generator=generator)
        return torch.randint(config.d_vocab, shape, generator=generator)

    wanted = drawn(config.d_vocab if targets == "vectors" else 0)
    return drawn(config.d_in), wanted, mask_of(mask, *shape, generator)


def lively_weights(config, seed=3):
    """Initial weights whose gains, shifts and biases have moved: at 1 and 0 they hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: value + 0.1 * torch.randn(value.shape, generator=generator)
        for name, value in init_weights(config, seed).items()
    }


def autograd(config, weights, rows, dtype=torch.float64):
    """Loss and gradients by name, by torch in ``dtype``."""
    tokens, targets, mask = (x.to(dtype) if x.is_floating_point() else x for x in rows)
    leaves = {name: value.to(dtype).requires_grad_() for name, value in weights.items()}
    logits = forward(config, leaves, tokens).logits[mask]
    rule = functional.mse_loss if targets.is_floating_point() else functional.cross_entropy
    loss = rule(logits, targets[mask])
    loss.backward()
    return loss.item(), {name: value.grad for name, value in leaves.items()}


def errors(config, weights, rows, decoder=None):
    """How far the C++ is from autograd in float64: of the loss, and of the worst gradient, both relative.

    A gradient is measured against its own norm, or a thousandth of the whole gradient's where that is larger: some are
    zero but for rounding, such as that of key biases without rotary positions.
    """
    true_loss, true = autograd(config, weights, rows)
    decoder = decoder or NativeDecoder(config)
    loss, flat = decoder.gradient(decoder.flat.join(weights), *rows)
    floor = 1e-3 * torch.stack([value.norm() for value in true.values()]).norm()
    of_gradients = {
        name: ((found.double() - true[name]).norm() / true[name].norm().clamp(min=floor)).item()
        for name, found in decoder.flat.views(flat).items()
    }
    worst = max(of_gradients, key=lambda name: of_gradients[name] if of_gradients[name] >= 0 else float("inf"))
    return abs(loss - true_loss) / abs(true_loss), of_gradients[worst], worst
