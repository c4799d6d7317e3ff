"""One layer, with embeddings, attention and an MLP that can each be learnt or frozen, and facts for it to know.

A prompt is a subject and a relation; the last position asks, always in the same way, so that a head's query and keys
are one direction of scores. Attention has no residual around it; the MLP has one. Relations share their answers, so
that adding what a subject and what a relation say cannot do: something must select.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from circuitcore.training.engines.update import TORCH_RULES

RATE = 0.01
"""Of Adam, falling to 0 along a line."""
SUBJECTS, RELATIONS, ANSWERS = "subjects", "relations", "answers"
ATTENTION, MLP = ("scores", "values", "outputs"), ("read", "bias", "write")
"""Names of weights. Answers' directions are never learnt."""

Weights = dict[str, Tensor]
"""Name -> tensor; the first axis is the network's."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Sizes of the task and of the layer.

    Attributes:
        n_subjects: S.
        n_relations: R.
        n_answers: D, which all relations share.
        bijective: whether an answer to a relation is that of one subject alone; then D is S.
        width: d, channels.
        heads: of attention; 0 for none, where the embeddings of subject and relation are added.
        d_head: channels of a head's values.
        hidden: ReLU units of the MLP; 0 for none.
    """

    n_subjects: int = 64
    n_relations: int = 4
    n_answers: int = 4
    bijective: bool = False
    width: int = 16
    heads: int = 0
    d_head: int = 4
    hidden: int = 0

    def __post_init__(self):
        if self.bijective and self.n_answers != self.n_subjects:
            raise ValueError(f"bijections of {self.n_subjects} subjects have as many answers; got {self.n_answers}")

    @property
    def n_parameters(self) -> int:
        """Numbers in attention and MLP, which is all but embeddings."""
        return self.heads * (2 * self.d_head + 1) * self.width + self.hidden * (2 * self.width + 1)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the weights that this layer has besides embeddings."""
        return ATTENTION * (self.heads > 0) + MLP * (self.hidden > 0)

    def embeddings(self, n_tokens: int, generator: torch.Generator) -> Float[Tensor, "1 token width"]:
        """Random directions of length 1."""
        return normalize(torch.randn(1, n_tokens, self.width, generator=generator), dim=-1)

    def facts(self, generator: torch.Generator) -> Int[Tensor, "1 subject relation"]:
        """An answer for each subject and relation: drawn uniformly and independently, or a random order of all."""
        size = 1, self.n_subjects, self.n_relations
        if self.bijective:
            return torch.rand(size, generator=generator).argsort(1)
        return torch.randint(self.n_answers, size, generator=generator)

    def initial(self, generator: torch.Generator) -> Weights:
        """One network at the start: embeddings of length 1, all else normal, scaled by what each sum runs over."""
        d, heads = self.width, (1, self.heads, self.d_head, self.width)
        drawn = {
            "scores": torch.randn(1, self.heads, d, generator=generator) / math.sqrt(d),
            "values": torch.randn(heads, generator=generator) / math.sqrt(d),
            "outputs": torch.randn(heads, generator=generator) / math.sqrt(max(1, self.heads * self.d_head)),
            "read": torch.randn(1, self.hidden, d, generator=generator) / math.sqrt(d),
            "bias": torch.zeros(1, self.hidden),
            "write": torch.randn(1, self.hidden, d, generator=generator) / math.sqrt(max(1, self.hidden)),
        }
        named = {SUBJECTS: self.n_subjects, RELATIONS: self.n_relations, ANSWERS: self.n_answers}
        tokens = {name: self.embeddings(count, generator) for name, count in named.items()}
        return tokens | {name: drawn[name] for name in self.parts}


def copies(tensor: Tensor, n_networks: int) -> Tensor:
    """The same for each of several networks: ``[1 ...]`` -> ``[network ...]``."""
    return tensor.repeat(n_networks, *[1] * (tensor.dim() - 1))


def parts_of_answer(
    weights: Weights,
) -> tuple[Float[Tensor, "network subject relation width"], Float[Tensor, "network subject relation width"]]:
    """What attention and what the MLP put into the last position, which are added: of every prompt there is."""
    subjects, relations = weights[SUBJECTS], weights[RELATIONS]
    if "scores" in weights:
        attended = _attended(weights, subjects, relations)
    else:
        attended = subjects[:, :, None] + relations[:, None]
    if "read" not in weights:
        return attended, torch.zeros_like(attended)
    flat = attended.flatten(1, 2)
    units = torch.baddbmm(weights["bias"][:, None], flat, weights["read"].mT).relu()
    return attended, (units @ weights["write"]).view_as(attended)


def _attended(weights: Weights, subjects: Tensor, relations: Tensor) -> Tensor:
    """Softmax over two tokens is a sigmoid of the difference of their scores."""
    scores = [torch.einsum("ntd,nhd->nth", tokens, weights["scores"]) for tokens in (subjects, relations)]
    to_subject = torch.sigmoid(scores[0][:, :, None] - scores[1][:, None])
    said = [_values(weights, tokens) for tokens in (subjects, relations)]
    from_subject = torch.einsum("nsrh,nshd->nsrd", to_subject, said[0])
    return from_subject + torch.einsum("nsrh,nrhd->nsrd", 1 - to_subject, said[1])


def _values(weights: Weights, tokens: Tensor) -> Float[Tensor, "network token head width"]:
    inner = torch.einsum("ntd,nhkd->nthk", tokens, weights["values"])
    return torch.einsum("nthk,nhkd->nthd", inner, weights["outputs"])


def right(
    weights: Weights,
    last: Float[Tensor, "network subject relation width"],
    facts: Int[Tensor, "network subject relation"],
) -> Float[Tensor, " network"]:
    """Share of all facts whose answer is the first choice at the last position; chance: 1/D."""
    best = (last.flatten(1, 2) @ weights[ANSWERS].mT).argmax(-1)
    return (best == facts.flatten(1)).float().mean(1)


def recall_of(weights: Weights, facts: Int[Tensor, "network subject relation"]) -> Float[Tensor, " network"]:
    """Share of all facts that the layer answers rightly; chance: 1/D."""
    return right(weights, sum(parts_of_answer(weights)), facts)


def cross_entropy(weights: Weights, facts: Int[Tensor, "network subject relation"]) -> Float[Tensor, " network"]:
    """Mean over all facts, in nats; ln D for a guess."""
    logits = sum(parts_of_answer(weights)).flatten(1, 2) @ weights[ANSWERS].mT
    return -torch.log_softmax(logits, -1).gather(2, facts.flatten(1)[..., None]).mean((1, 2))


def learn(
    weights: Weights,
    facts: Int[Tensor, "network subject relation"],
    trained: Mapping[str, Bool[Tensor, " network"]],
    steps: int,
) -> Weights:
    """Train by Adam on all facts at every step; several networks at once, none of which sees another.

    Args:
        weights: where it starts; left as they are.
        facts: of each network.
        trained: weight -> the networks in which it is learnt. What is not named is frozen in all.
        steps: of training.
    """
    weights = {name: weight.clone().requires_grad_(name in trained) for name, weight in weights.items()}
    learnt = [weights[name] for name in trained]
    masks = [trained[name].float().view(-1, *[1] * (weights[name].dim() - 1)) for name in trained]
    adam = TORCH_RULES["adam"](learnt, lr=RATE, fused=True)
    for step in range(steps):
        adam.param_groups[0]["lr"] = RATE * (1 - step / steps)
        gradients = torch.autograd.grad(cross_entropy(weights, facts).sum(), learnt)
        for weight, gradient, mask in zip(learnt, gradients, masks, strict=True):
            weight.grad = gradient * mask  # Adam leaves alone what never has a gradient
        adam.step()
    return {name: weight.detach() for name, weight in weights.items()}
