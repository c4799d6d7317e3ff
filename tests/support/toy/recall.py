"""A study small enough to train in seconds, from outside the package: task, recipes, and empty claims."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import BaseModel

from circuitcore.metrics.instruments.battery import BatterySpec
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.standard import standard
from circuitcore.models import ModelConfig
from circuitcore.tasks import Batch, TokenTask
from circuitcore.training import Optimizer, Recipe, Stage

ALLOWED = ("toy.recall:Recall",)  # what has to be named where a run of this task is read


@dataclass(frozen=True, kw_only=True)
class Recall(TokenTask):
    """``a b first`` wants ``a``, ``a b second`` wants ``b``; rows of "long" start with one letter more."""

    name: ClassVar[str] = "toy recall"
    letters: int = 4

    @property
    def vocab(self) -> tuple[str, ...]:
        return (*(f"l{i}" for i in range(self.letters)), "first", "second")

    @property
    def max_length(self) -> int:
        return 4

    @property
    def splits(self) -> tuple[str, ...]:
        return ("train", "long", "test")

    @property
    def answers(self) -> tuple[int, ...]:
        return tuple(range(self.letters))

    @property
    def chance(self) -> Mapping[str, float]:
        return dict.fromkeys(self.splits, 1 / 2)

    def make_splits(self) -> Mapping[str, Batch]:
        short = torch.tensor(list(itertools.product(range(self.letters), range(self.letters), (0, 1))))
        long = torch.cat([short[:, :1], short], dim=1)
        return {"train": self._batch(short), "long": self._batch(long[::2]), "test": self._batch(short[::3])}

    def _batch(self, rows: torch.Tensor) -> Batch:
        which = rows[:, -1:]
        tokens = torch.cat([rows[:, :-1], which + self.letters], dim=1)
        scored = torch.zeros_like(tokens, dtype=torch.bool)
        scored[:, -1] = True
        targets = rows[:, -3:-1].gather(1, which).expand_as(tokens)
        read_out = torch.full((len(rows),), tokens.shape[1] - 1)
        return Batch(tokens=tokens, targets=targets, loss_mask=scored, roles={"read_out": read_out})


def toy_recipe(seed: int = 0, epochs: int = 6, lr: float = 1e-2, every: int = 2, **changes) -> Recipe:
    """A recipe of ``6 * epochs`` steps with a checkpoint ``every`` few epochs; ``changes`` replace its fields."""
    fields = {
        "task": "toy.recall:Recall",
        "task_params": {},
        "model": ModelConfig(d_vocab=6, n_ctx=4, n_layers=1, n_heads=2, d_model=16, d_mlp=16),
        "optimizer": Optimizer(lr=lr),
        "batch_size": 6,
        "stages": (Stage(("train",), epochs),),
        "init_seed": seed,
        "data_seed": seed,
        "checkpoint_epochs": (*range(0, epochs, every), epochs),
    }
    return Recipe(**fields | changes)


class Params(BaseModel, frozen=True, extra="forbid", strict=True):
    """``letters_shown`` stands for an analysis threshold: it must not reach a recipe."""

    seeds: tuple[int, ...]
    epochs: int
    every: int = 2
    learning_rate: float = 1e-2
    letters_shown: int = 3


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Two arms that share all their recipes but one."""
    trained = tuple(toy_recipe(seed, params.epochs, params.learning_rate, params.every) for seed in params.seeds)
    return {"trained": trained, "first seed": trained[:1]}


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """Measured by no test here."""
    return standard(BatterySpec(n_bases=4))


CLAIMS = ()
VIEWS: dict = {}
