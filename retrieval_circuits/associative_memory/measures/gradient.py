"""The gradient of cross-entropy as a memory: the lemma held against autograd, and labels that are noisy."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from retrieval_circuits.associative_memory.measures.sums import recalled, unit_vectors


@dataclass(frozen=True, kw_only=True)
class Lemma:
    """Sizes at which the lemma is checked: width d, inputs N, outputs K, in float64."""

    width: int
    n_inputs: int
    n_outputs: int


@dataclass(frozen=True, kw_only=True)
class Noise:
    """One gradient step on samples whose labels are sometimes drawn at random.

    Attributes:
        width: d.
        n_pairs: N, each with an output of its own.
        shares: of samples whose label is drawn from all outputs.
        samples: of each input; 0 for the population itself.
        n_draws: memories that a seed draws.
    """

    width: int
    n_pairs: int
    shares: tuple[float, ...]
    samples: tuple[int, ...]
    n_draws: int


def as_memory(
    memory: Float[Tensor, "out inn"],
    inputs: Float[Tensor, "item inn"],
    outputs: Float[Tensor, "label out"],
    joint: Float[Tensor, "item label"],
) -> Float[Tensor, "out inn"]:
    """The lemma's right side: sum over k of E_z[(p_hat(k|z) - p(k|z)) u_k e_z^T], with p(z, k) in ``joint``."""
    predicted = torch.softmax(inputs @ memory.T @ outputs.T, dim=-1)
    wrong = predicted * joint.sum(-1, keepdim=True) - joint
    return (wrong @ outputs).T @ inputs


def cross_entropy(
    memory: Float[Tensor, "out inn"],
    inputs: Float[Tensor, "item inn"],
    outputs: Float[Tensor, "label out"],
    joint: Float[Tensor, "item label"],
) -> Float[Tensor, ""]:
    """E over (z, y) of -log p_hat(y|z), in nats."""
    return -(joint * torch.log_softmax(inputs @ memory.T @ outputs.T, dim=-1)).sum()


def lemma(asked: Lemma, seed: int) -> list[dict[str, Any]]:
    """The largest difference between autograd's gradient and the lemma's, by the largest entry of the gradient.

    At W = 0 and at a random W; p(z, y) is random, so that no label is sure.
    """
    generator = torch.Generator().manual_seed(seed)
    inputs = unit_vectors(1, asked.n_inputs, asked.width, generator)[0].double()
    outputs = unit_vectors(1, asked.n_outputs, asked.width, generator)[0].double()
    joint = torch.rand(asked.n_inputs, asked.n_outputs, generator=generator).double().square()
    joint /= joint.sum()
    found = []
    for at, scale in (("zero", 0.0), ("random", 1.0)):
        memory = scale * torch.randn(asked.width, asked.width, generator=generator).double()
        memory.requires_grad_()
        (wanted,) = torch.autograd.grad(cross_entropy(memory, inputs, outputs, joint), memory)
        gap = (as_memory(memory.detach(), inputs, outputs, joint) - wanted).abs().max() / wanted.abs().max()
        found.append({"at": at, "gap": gap.item()})
    return found


def label_noise(asked: Noise, seed: int) -> list[dict[str, Any]]:
    """The share of pairs recalled after one step from W = 0, by share of random labels and samples of each input.

    Accuracy is of the true pairs. Chance: 1/N.
    """
    generator = torch.Generator().manual_seed(seed)
    n = asked.n_pairs
    inputs, outputs = (unit_vectors(asked.n_draws, n, asked.width, generator) for _ in range(2))
    labels, found = torch.arange(n), []
    for share in asked.shares:
        law = (1 - share) * torch.eye(n) + share / n
        for samples in asked.samples:
            seen = _counts(law, samples, asked.n_draws, generator) / samples if samples else law
            memory = (outputs - outputs.mean(1, keepdim=True)).mT @ seen.mT @ inputs
            accuracy = recalled(memory, inputs, outputs, labels).mean().item()
            found.append({"noise": share, "samples": samples, "accuracy": accuracy})
    return found


def _counts(
    law: Float[Tensor, "item label"], samples: int, n_draws: int, generator: torch.Generator
) -> Float[Tensor, "draw item label"]:
    """How often each label was drawn for each input."""
    drawn = torch.multinomial(law, n_draws * samples, replacement=True, generator=generator)
    drawn = drawn.view(len(law), n_draws, samples).movedim(0, 1)
    return torch.zeros(n_draws, *law.shape).scatter_add_(2, drawn, torch.ones(drawn.shape))
