"""How the updates of training pull at sparse features, and at how many neurons they pull two of them alike.

Source: nelson960, "From Retrieval Motifs To SGD Circuit Selection": its link from circuits to gradients, and its map of
coalitions, which counts the neurons that serve two candidates alike. Two sums of many products whose signs are drawn by
lot have one sign in 1 - angle / 180 degrees of cases; the source asks for no such share.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.models import ModelConfig, forward
from retrieval_circuits.sgd_formation.measures.bases import Basis
from retrieval_circuits.sgd_formation.measures.probe_set import ProbeReads

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run


class Pulls(NamedTuple):
    """What the updates between neighbouring checkpoints do to every feature's mean activation.

    Attributes:
        drive: its gradient at the first of both times the change of weights, by interval.
        cosine: between both, by interval.
        of_neurons: the part of each neuron of the first and the last layer in ``drive`` (its row of weights, its bias
            and its column), summed over the intervals of a window.
        redrawn: the same with the sign of each weight's change drawn by lot.
        angles: for each neuron, scalar products of two features' parts, weight by weight, summed over the window.
    """

    drive: Float[Tensor, "interval feature"]
    cosine: Float[Tensor, "interval feature"]
    of_neurons: Float[Tensor, "feature neuron"]
    redrawn: Float[Tensor, "feature neuron"]
    angles: Float[Tensor, "neuron feature feature"]


def pulls(
    run: "Run", reads: ProbeReads, bases: Mapping[str, Basis], steps: Sequence[int], start: int
) -> dict[str, Pulls]:
    """What the updates between ``steps`` do to the features of each basis; the window is all intervals from ``start``.

    Args:
        run: whose checkpoints.
        reads: over which activations are means.
        bases: by name.
        steps: neighbouring checkpoints.
        start: number of the window's first interval.
    """
    config, by_interval, of_window = run.recipe.model, {name: [] for name in bases}, {name: [] for name in bases}
    layers, generator = sorted({0, config.n_layers - 1}), torch.Generator().manual_seed(0)
    for number, (first, last) in enumerate(pairwise(steps)):
        weights, after = run.weights(first), run.weights(last)
        change = {name: after[name] - value for name, value in weights.items()}
        parts = _of_neurons(change, layers)
        signs = torch.randint(0, 2, parts.shape, generator=generator) * 2 - 1
        for name, gradients in _gradients(config, weights, reads, bases).items():
            by_interval[name].append(_of_interval(gradients, change))
            if number >= start:
                products = torch.stack([_of_neurons(gradient, layers) * parts for gradient in gradients])
                angles = torch.einsum("fnw,gnw->nfg", products, products)
                of_window[name].append((products.sum(2), (products * signs).sum(2), angles))
    return {
        name: Pulls(
            *map(torch.stack, zip(*by_interval[name], strict=True)),
            *(torch.stack(each).double().sum(0) for each in zip(*of_window[name], strict=True)),
        )
        for name in bases
    }


def _gradients(
    config: ModelConfig, weights: Mapping[str, Tensor], reads: ProbeReads, bases: Mapping[str, Basis]
) -> dict[str, list[dict[str, Tensor]]]:
    """Of every feature's mean activation by all weights, one pass back after another.

    All of a basis at once, as autograd can, takes longer: 0.76 s against 0.44 a feature, of the source's network.
    """
    leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
    site = f"resid_post.{config.n_layers - 1}"
    with torch.enable_grad():
        states = forward(config, leaves, reads.tokens, record=(site,)).cache[site][reads.row, reads.at]
        return {
            name: [_gradient(value, leaves) for value in basis.features(states).mean(0)]
            for name, basis in bases.items()
        }


def _gradient(value: Float[Tensor, ""], leaves: Mapping[str, Tensor]) -> dict[str, Tensor]:
    found = torch.autograd.grad(value, list(leaves.values()), retain_graph=True, allow_unused=True)
    return {name: part for name, part in zip(leaves, found, strict=True) if part is not None}


def _of_interval(gradients: Sequence[Mapping[str, Tensor]], change: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """``drive`` and ``cosine`` of one interval; where nothing pulls both are 0."""
    length = sum(value.double().square().sum() for value in change.values()).sqrt()
    drive = torch.stack([_dot(gradient, change) for gradient in gradients])
    own = torch.stack([_dot(gradient, gradient).sqrt() for gradient in gradients])
    return drive, (drive / (own * length)).nan_to_num(0)


def _dot(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> Float[Tensor, ""]:
    return sum((value * other[name]).double().sum() for name, value in one.items())


def _of_neurons(weights: Mapping[str, Tensor], layers: Sequence[int]) -> Float[Tensor, "neuron weight"]:
    """The weights of each neuron of some layers: what it reads by, its bias, what it writes by."""
    found = []
    for layer in layers:
        into, bias, out = (weights[f"blocks.{layer}.mlp.{name}"] for name in ("W_in", "b_in", "W_out"))
        found.append(torch.cat((into.T, bias[:, None], out), 1))
    return torch.cat(found)


def neuron_shares(taken: Pulls) -> dict[str, float]:
    """Over all pairs of features, means: the share of neurons that are pulled alike, and what angles give.

    ``same_sign``: the share of neurons whose parts in two drives, summed over the window, have one sign. ``by_angle``:
    the share by the angles between these parts, neuron by neuron, if each product's sign were drawn by lot.
    ``off_angle``: how far one is from the other, either way; ``redrawn``: how far it is where the signs of the changes
    of weights are drawn by lot, which is no more than chance. A feature at which nothing pulls is in no pair, and
    without a pair nothing is returned.
    """
    alive = taken.of_neurons.abs().amax(1) > 0
    angles = taken.angles[:, alive][:, :, alive]
    lengths = angles.diagonal(dim1=1, dim2=2).clamp(min=0).sqrt()
    cosines = (angles / (lengths[:, :, None] * lengths[:, None])).nan_to_num(0).clamp(-1, 1)
    by_angle = (1 - cosines.arccos() / torch.pi).mean(0)
    pairs = torch.ones_like(by_angle, dtype=torch.bool).triu(1)
    if not pairs.any():
        return {}
    same, redrawn = (_same_sign(parts[alive]) for parts in (taken.of_neurons, taken.redrawn))
    distances = {"off_angle": (same - by_angle).abs(), "redrawn": (redrawn - by_angle).abs()}
    return {
        name: shares[pairs].mean().item()
        for name, shares in {"same_sign": same, "by_angle": by_angle, **distances}.items()
    }


def _same_sign(parts: Float[Tensor, "feature neuron"]) -> Float[Tensor, "feature feature"]:
    signs = parts.sign()
    return (signs @ signs.T / signs.shape[1] + 1) / 2
