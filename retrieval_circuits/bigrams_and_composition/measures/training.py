"""The bigram task learnt by one layer and by two: accuracy and the memories of each matrix while they are trained."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.training.engines.update import TORCH_RULES
from retrieval_circuits.bigrams_and_composition.measures import network
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2, Frozen
from retrieval_circuits.bigrams_and_composition.measures.plateau import predicted_plateau
from retrieval_circuits.bigrams_and_composition.measures.source import (
    Sequences,
    Source,
    draw,
    draw_source,
    entropies,
    scored,
    some_scored,
)

MOMENTUM, DECAY = 0.9, 1e-4
"""The source's, of gradient descent."""
Weights = dict[str, Float[Tensor, "..."]]
Measure = Callable[..., dict[str, Any]]
"""Of source, frozen tensors, weights and test rows."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Sizes of the task and of the network.

    Attributes:
        n_tokens: N.
        n_triggers: K, the most frequent tokens.
        length: T, inputs of a row.
        width: d.
        n_test: rows on which everything is measured; all their scored positions are.
        every: steps between two measurements.
    """

    n_tokens: int
    n_triggers: int
    length: int
    width: int
    n_test: int
    every: int


@dataclass(frozen=True, kw_only=True)
class Way:
    """A network, and how it is trained.

    Attributes:
        name: what tables call it.
        trained: in each stage, the matrices that are trained; stages are equally long. W_K1 is there in a network of
            two layers alone.
        n_layers: 1 or 2.
        optimizer: "sgd" with the source's momentum and decay, or "adam".
        rate: of learning.
        batch: rows a step, drawn anew.
        queries: scored positions that a row gives at most, in training.
        steps: of training, in all stages.
        decay: "none", or "linear" where the rate falls to 0 over all steps.
    """

    name: str
    trained: tuple[tuple[str, ...], ...]
    n_layers: int = 2
    optimizer: str = "sgd"
    rate: float = 0.03
    batch: int = 64
    queries: int = 8
    steps: int = 300
    decay: str = "none"

    def __post_init__(self):
        named = {name for stage in self.trained for name in stage}
        if self.n_layers not in (1, 2) or not self.trained or not named <= {*self.matrices}:
            raise ValueError(f"{self.name}: {self.n_layers} layers, trained {named}; allowed: 1 or 2, {self.matrices}")
        if self.optimizer not in ("sgd", "adam") or self.decay not in ("none", "linear"):
            given = f"optimizer {self.optimizer!r}, decay {self.decay!r}"
            raise ValueError(f"{self.name}: {given}; allowed: sgd, adam; none, linear")
        if self.steps % len(self.trained):
            raise ValueError(f"{self.name}: {self.steps} steps in {len(self.trained)} stages; allowed: a multiple")

    @property
    def matrices(self) -> tuple[str, ...]:
        """Those that the network has."""
        return (K1, K2, O2)[2 - self.n_layers :]


@dataclass(frozen=True, kw_only=True)
class Learning(Task):
    """A task and ways of learning it that one seed goes through, on a source of its own.

    Attributes:
        ways: each as its fields and their values, which can be hashed.
    """

    ways: tuple[tuple[tuple[str, Any], ...], ...]

    @classmethod
    def of(cls, task: Task, ways: Iterable[Way]) -> "Learning":
        """Those ways of learning this task, by the fields in which they differ from what ``Way`` has by default."""
        named = dataclasses.fields(Way)
        changed = (
            tuple((field.name, value) for field in named if (value := getattr(way, field.name)) != field.default)
            for way in ways
        )
        return cls(**dataclasses.asdict(task), ways=tuple(changed))


def learning(asked: Learning, seed: int) -> list[dict[str, Any]]:
    """A row a way and measurement, on rows drawn anew.

    ``accuracy`` is the share of scored positions where the trigger's output has the largest logit (chance: one over the
    possible outputs), ``loss`` in nats; ``W_O2``, ``W_K2``, ``W_K1`` the share of their pairs recalled (0 where there
    is none). ``predicted`` is the closed form for one layer, the same in all rows, as are the source's entropies.
    """
    return learnt_on(draw_source(asked.n_tokens, asked.n_triggers, np.random.default_rng(seed)), asked, seed)


def learnt_on(source: Source, asked: Learning, seed: int) -> list[dict[str, Any]]:
    """What ``learning`` gives, on a source that is given."""
    one, pair = entropies(source)
    known = {"predicted": predicted_plateau(source, asked.length), "entropy": one, "pair_entropy": pair}
    found = []
    for way in (Way(**dict(way)) for way in asked.ways):
        generator = torch.Generator().manual_seed(seed)
        found += [{"way": way.name, **row, **known} for row in learn(asked, way, source, generator)]
    return found


def learn(
    task: Task, way: Way, source: Source, generator: torch.Generator, measured: Measure | None = None
) -> Iterator[dict[str, Any]]:
    """Train once; measurements as they come: those of ``learning``, or what else is measured on the weights."""
    measured = measured or _measured
    frozen = network.draw_frozen(task.n_tokens, task.length, task.width, generator)
    weights = {name: network.uniform(task.width, task.width, generator) for name in way.matrices}
    test = asked_of(source, draw(source, task.n_test, task.length + 1, generator), task.length, generator)
    rows = draw(source, way.batch * way.steps, task.length + 1, generator)
    long = way.steps // len(way.trained)
    step = 0
    for stage in way.trained:
        rule = update_rule(way, [weights[name].requires_grad_() for name in stage])
        for _ in range(long):
            if step % task.every == 0:
                yield {"step": step, **measured(source, frozen, weights, test)}
            batch = asked_of(source, rows[step * way.batch : (step + 1) * way.batch], way.queries, generator)
            loss = loss_of(network.read(frozen, weights, batch.inputs, batch.where).logits, batch)
            rule.param_groups[0]["lr"] = way.rate * (1 - step / way.steps if way.decay == "linear" else 1)
            rule.zero_grad()
            loss.backward()
            rule.step()
            step += 1
        weights = {name: matrix.detach() for name, matrix in weights.items()}
    yield {"step": step, **measured(source, frozen, weights, test)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """Rows with the positions at which they are scored."""

    inputs: Int[Tensor, "row pos"]
    where: Int[Tensor, "row query"]
    real: Bool[Tensor, "row query"]
    targets: Int[Tensor, "row query"]
    outputs: Int[Tensor, "row trigger"]


def asked_of(source: Source, rows: Sequences, queries: int, generator: torch.Generator) -> Asked:
    """Up to ``queries`` scored positions of each row, at random."""
    inputs = rows.tokens[:, :-1]
    where, real = some_scored(scored(source, inputs), queries, generator)
    most = int(real.sum(1).max())
    where, real = where[:, :most], real[:, :most]
    return Asked(
        inputs=inputs, where=where, real=real, targets=rows.tokens.gather(1, where + 1), outputs=rows.outputs
    )  # fmt: skip


def loss_of(logits: Float[Tensor, "row query token"], batch: Asked) -> Float[Tensor, ""]:
    """Mean cross-entropy at scored positions, in nats."""
    return torch.nn.functional.cross_entropy(logits[batch.real], batch.targets[batch.real])


def update_rule(way: Any, trained: list[Tensor]) -> torch.optim.Optimizer:
    """The optimiser that a way names: ``optimizer`` and ``rate``."""
    if way.optimizer == "adam":
        return TORCH_RULES["adam"](trained, lr=way.rate)
    return TORCH_RULES["sgd"](trained, lr=way.rate, momentum=MOMENTUM, weight_decay=DECAY)


@torch.no_grad()
def _measured(source: Source, frozen: Frozen, weights: Weights, test: Asked) -> dict[str, float]:
    logits = network.read(frozen, weights, test.inputs, test.where).logits
    right = (logits.argmax(-1) == test.targets)[test.real]
    recalled = network.probes(frozen, weights, source.triggers, source.others)
    return {
        "accuracy": right.float().mean().item(),
        "loss": loss_of(logits, test).item(),
        **{name: recalled.get(name, 0.0) for name in (O2, K2, K1)},
    }


def shortened(way: Way, steps: int, full: int) -> Way:
    """The same with as much of its training as ``steps`` is of ``full``; a multiple of its stages."""
    stages = len(way.trained)
    return dataclasses.replace(way, steps=max(1, round(way.steps * steps / full / stages)) * stages)
