"""Facts learnt by one layer of attention: subject and relation among noise, one-hot tokens, a matrix of values.

With one-hot tokens and a query that is always the last token, the model is
logits(a) = sum over tokens z of attention(z) V(z, a): scores w(z), linear or softmax, and V are all it has.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from retrieval_circuits.associative_memory.measures.training import FIRST_DECAY, SECOND_DECAY, TINY

NEAR = 0.1
"""Nats from the uniform answer of the relation within which a model is said to guess among its answers."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The task, and how it is learnt.

    Attributes:
        name: what tables call it.
        n_subjects: S, a multiple of ``n_answers``.
        n_relations: R.
        n_answers: D, answers of each relation; no two relations share one.
        n_noise: tokens that say nothing.
        length: T, tokens of a prompt; the last is always the same.
        start: what every parameter is at first.
        attention: "linear", where a token adds its score times its value, or "softmax".
        optimizer: "gd" or "adam".
        rate: of learning.
        batch: prompts a step, drawn anew.
        steps: of training.
        every: steps between two measurements.
    """

    name: str
    n_subjects: int = 16
    n_relations: int = 4
    n_answers: int = 8
    n_noise: int = 20
    length: int = 32
    start: float = 1e-5
    attention: str = "linear"
    optimizer: str = "gd"
    rate: float = 0.1
    batch: int = 1024
    steps: int = 8192
    every: int = 32

    def __post_init__(self):
        if self.n_subjects % self.n_answers or self.attention not in ("linear", "softmax"):
            raise ValueError(
                f"{self.name}: {self.n_subjects} subjects, {self.n_answers} answers, {self.attention!r} attention; "
                "allowed: a multiple, linear or softmax"
            )
        if self.optimizer not in ("gd", "adam"):
            raise ValueError(f"{self.name}: optimizer {self.optimizer!r}; allowed: gd, adam")

    @property
    def n_tokens(self) -> int:
        """Subjects, relations, noise, and the last token, in this order."""
        return self.n_subjects + self.n_relations + self.n_noise + 1

    @property
    def answers(self) -> Int[Tensor, "subject relation"]:
        """The facts: D r + s D/S rounded down, every answer of a relation for as many subjects."""
        blocks = torch.arange(self.n_subjects) * self.n_answers // self.n_subjects
        return blocks[:, None] + self.n_answers * torch.arange(self.n_relations)

    @property
    def growth(self) -> dict[str, float]:
        """Rates at which score and value of a token grow from nothing, by gradient flow: "relation" and "subject".

        While all is near 0, score w and values V of a token feed each other: dw/dt = G.V and dV/dt = w G, where G is
        what its values lack, P(z) (p(a|z) - 1/RD). They grow as exp(|G| t).
        """
        n_r, n_s, n_a = self.n_relations, self.n_subjects, self.n_answers
        return {
            "relation": math.sqrt((1 - 1 / n_r) / n_a) / n_r,
            "subject": math.sqrt((1 - 1 / n_a) / n_r) / n_s,
        }

    @property
    def predicted(self) -> dict[str, float]:
        """Steps after which the tokens of each kind have grown from ``start`` to 1, if all else stayed as it is.

        Half of the start lies along the mode that grows. Gradient descent and linear attention alone.
        """
        return {kind: math.log(2 / self.start) / (self.rate * rate) for kind, rate in self.growth.items()}


@dataclass(frozen=True, kw_only=True)
class Recalls:
    """Ways of learning facts that one seed goes through: each as its fields and their values, which can be hashed."""

    ways: tuple[tuple[tuple[str, str | float | int], ...], ...]

    @classmethod
    def of(cls, ways: Iterable[Facts]) -> "Recalls":
        """Those ways, by the fields in which they differ from what ``Facts`` has by default."""
        named = dataclasses.fields(Facts)
        changed = (
            tuple((field.name, value) for field in named if (value := getattr(way, field.name)) != field.default)
            for way in ways
        )
        return cls(ways=tuple(changed))

    @property
    def facts(self) -> tuple[Facts, ...]:
        """The ways themselves."""
        return tuple(Facts(**dict(way)) for way in self.ways)


def recall(asked: Recalls, seed: int) -> list[dict[str, Any]]:
    """What is known while facts are learnt: a row a way and measurement, of prompts drawn anew. Nats.

    ``loss`` starts at ln RD and is ln D where the relation alone is used; ``relation`` is -ln p(A_r), from ln R;
    ``subject`` is -ln of all that the answer's place in its block has, from ln D; ``from_guess`` is
    KL(uniform on A_r to p_hat), ``accuracy`` the share of prompts with the right answer first, ``plausible`` that with
    any of the relation's.
    """
    generator = torch.Generator().manual_seed(seed)
    return [{"way": way.name, **row} for way in asked.facts for row in learn(way, generator)]


def learn(way: Facts, generator: torch.Generator) -> Iterator[dict[str, float]]:
    """Train once; measurements as they come."""
    scores = torch.full((way.n_tokens,), way.start, requires_grad=True)
    values = torch.full((way.n_tokens, way.n_relations * way.n_answers), way.start, requires_grad=True)
    weights = (scores, values)
    moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights]
    for step in range(way.steps + 1):
        counts, subject, relation = prompts(way, generator)
        right = way.answers[subject, relation]
        log_p = torch.log_softmax(logits(way, counts, scores, values), dim=-1)
        loss = -log_p.gather(1, right[:, None]).mean()
        if step % way.every == 0:
            yield {"step": step, **_measured(way, log_p.detach(), right, relation)}
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, gradient, moment in zip(weights, gradients, moments, strict=True):
                weight -= way.rate * (gradient if way.optimizer == "gd" else _adam(moment, gradient, step + 1))


def prompts(
    way: Facts, generator: torch.Generator
) -> tuple[Float[Tensor, "prompt token"], Int[Tensor, " prompt"], Int[Tensor, " prompt"]]:
    """How often each token stands in each prompt, the subjects and the relations; places do not matter here."""
    subject = torch.randint(way.n_subjects, (way.batch,), generator=generator)
    relation = torch.randint(way.n_relations, (way.batch,), generator=generator)
    first_noise = way.n_subjects + way.n_relations
    noise = first_noise + torch.randint(way.n_noise, (way.batch, way.length - 3), generator=generator)
    last = torch.full((way.batch,), way.n_tokens - 1)
    tokens = torch.cat([subject[:, None], way.n_subjects + relation[:, None], last[:, None], noise], dim=1)
    counts = torch.zeros(way.batch, way.n_tokens).scatter_add_(1, tokens, torch.ones(tokens.shape))
    return counts, subject, relation


def logits(
    way: Facts,
    counts: Float[Tensor, "prompt token"],
    scores: Float[Tensor, " token"],
    values: Float[Tensor, "token answer"],
) -> Float[Tensor, "prompt answer"]:
    """What the last position reads."""
    if way.attention == "linear":
        return (counts * scores) @ values
    weights = counts * (scores - scores.detach().max()).exp()
    return (weights / weights.sum(1, keepdim=True)) @ values


def _adam(moment: tuple[Tensor, Tensor], gradient: Tensor, step: int) -> Tensor:
    first, second = moment
    first.mul_(FIRST_DECAY).add_(gradient, alpha=1 - FIRST_DECAY)
    second.mul_(SECOND_DECAY).addcmul_(gradient, gradient, value=1 - SECOND_DECAY)
    return first / (1 - FIRST_DECAY**step) / ((second / (1 - SECOND_DECAY**step)).sqrt() + TINY)


def _measured(
    way: Facts, log_p: Float[Tensor, "prompt answer"], right: Int[Tensor, " prompt"], relation: Int[Tensor, " prompt"]
) -> dict[str, float]:
    """The numbers of ``recall`` on a batch."""
    rows = torch.arange(len(right))
    by_block = log_p.view(-1, way.n_relations, way.n_answers)
    own = by_block[rows, relation]
    place = by_block.logsumexp(1)[rows, right % way.n_answers]
    best = log_p.argmax(-1)
    return {
        "loss": -log_p[rows, right].mean().item(),
        "relation": -own.logsumexp(-1).mean().item(),
        "subject": -place.mean().item(),
        "from_guess": (-own.mean(-1) - math.log(way.n_answers)).mean().item(),
        "accuracy": (best == right).float().mean().item(),
        "plausible": (best // way.n_answers == relation).float().mean().item(),
    }
