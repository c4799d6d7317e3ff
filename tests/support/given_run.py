"""Runs whose weights are given rather than trained, as the battery sees them."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from circuitcore.models import ModelConfig, init_weights
from circuitcore.tasks import Task


@dataclass(frozen=True, eq=False)
class GivenRun:
    """One checkpoint per entry of ``networks``, at steps 0, 1, 2, ..."""

    task: Task
    model: ModelConfig
    networks: list[dict[str, torch.Tensor]]
    run_id: str = "given"

    @property
    def recipe(self) -> Any:
        return SimpleNamespace(model=self.model, make_task=lambda: self.task)

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(range(len(self.networks)))

    @property
    def all_steps(self) -> tuple[int, ...]:
        return self.steps

    @property
    def final_step(self) -> int:
        return len(self.networks) - 1

    def tokens_seen(self, step: int) -> int:
        return 1000 * step

    def weights(self, step: int) -> dict[str, torch.Tensor]:
        return self.networks[step]

    def stack(self, steps) -> dict[str, torch.Tensor]:
        return {name: torch.stack([self.networks[step][name] for step in steps]) for name in self.networks[0]}


def untrained(config: ModelConfig, seed: int, dtype=torch.float64) -> dict[str, torch.Tensor]:
    """Initial weights, with gains and shifts moved off 1 and 0 so that forgetting one would show."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: value.to(dtype) + 0.1 * torch.randn(value.shape, generator=generator, dtype=dtype) * (".ln" in f".{name}")
        for name, value in init_weights(config, seed).items()
    }


def lively(config: ModelConfig, seed: int, first_value: int) -> dict[str, torch.Tensor]:
    """Untrained weights under which heads and context, not the arrow's own embedding, decide among the values."""
    weights = untrained(config, seed)
    factors = {"W_Q": 2, "W_K": 2, "W_V": 4, "W_O": 4, "W_in": 2, "W_gate": 2, "W_out": 2}
    for name, value in weights.items():
        value *= factors.get(name.split(".")[-1], 1)
    weights["embed.W_E"][:4] *= 0.1
    weights["unembed.W_U"][:, :first_value] *= 0.1
    return weights


def picked(table, metric: str, **where):
    """Values of a metric where the columns say so, in the table's order; fails where there are none."""
    chosen = table[table["metric"] == metric]
    for column, wanted in where.items():
        chosen = chosen[chosen[column].isin(wanted if isinstance(wanted, tuple | list) else [wanted])]
    assert len(chosen), f"no rows of {metric} with {where}"
    return chosen["value"]
