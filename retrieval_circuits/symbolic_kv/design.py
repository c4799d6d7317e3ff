"""What is trained: the arms of the study and the size of the battery, from typed parameters."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.battery import BatterySpec
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.standard import standard
from circuitcore.models.config import ModelConfig
from circuitcore.tasks import make_task
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET, EngineName, Seeds, SomeSeeds


class Params(BaseModel):
    """Parameters of the chapter; ``params/symbolic_kv.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of the networks under study")]
    control_seeds: Annotated[Seeds, Field(description="init seeds of each control arm; may be empty")]
    epochs: Annotated[int, Field(ge=1, le=2000, description="passes over the training prompts")]
    learning_rate: Annotated[float, Field(gt=0, le=0.1)]
    batch_size: Annotated[int, Field(ge=1, le=5000)]
    engine: Annotated[EngineName, Field(description="what trains the networks; another engine makes other runs")]
    n_bases: Annotated[int, Field(ge=8, le=128, description="test prompts that counterfactuals are made from")]


ARMS = {
    "trained": "two layers",
    "leaky data": "data drawn as published",
    "shuffled targets": "shuffled targets",
    "one layer": "one layer",
}
"""Arm -> how figures call it. The untrained network is checkpoint 0 of "trained"."""


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed. Everything but the named difference is the same in all arms."""
    variations = {
        "trained": (params.seeds, {}, 2),
        "leaky data": (params.control_seeds, {"sampling": "published"}, 2),
        "shuffled targets": (params.control_seeds, {"targets": "shuffled"}, 2),
        "one layer": (params.control_seeds, {}, 1),
    }
    return {
        arm: tuple(_recipe(params, seed, task, n_layers, dense=arm == "trained") for seed in seeds)
        for arm, (seeds, task, n_layers) in variations.items()
    }


def _recipe(params: Params, seed: int, task_params: dict[str, str], n_layers: int, *, dense: bool) -> Recipe:
    task = make_task("symbolic_kv", task_params)
    return Recipe(
        task="symbolic_kv",
        task_params=task_params,
        model=ModelConfig(d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=n_layers),
        optimizer=Optimizer(name="adam", lr=params.learning_rate),
        batch_size=params.batch_size,
        stages=(Stage(("train",), params.epochs),),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_epochs=checkpoint_epochs(params.epochs, dense=dense),
        engine=params.engine,
    )


def checkpoint_epochs(epochs: int, *, dense: bool) -> tuple[int, ...]:
    """Where weights are kept: dense while circuits form (every 2 epochs to 60), every 6 later; controls five times."""
    if not dense:
        return tuple(sorted({0, epochs // 4, epochs // 2, 3 * epochs // 4, epochs}))
    wanted = {*range(6), *range(6, 61, 2), *range(66, epochs, 6), epochs}
    return tuple(sorted(epoch for epoch in wanted if epoch <= epochs))


SHOWN_SEEDS = 5
"""Networks whose weights are shipped through training; of the others the last."""


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Epochs whose weights are shipped with the book: through the transition, and the end."""
    dense = tuple(epoch for epoch in (0, 10, 20, 30, 40, 60) if epoch < params.epochs)
    shown = arm == "trained" and seed in params.seeds[:SHOWN_SEEDS]
    return (*(dense if shown else ()), params.epochs)


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """What is measured on the runs of an arm: the same on all."""
    return standard(BatterySpec(n_bases=params.n_bases, n_edge_bases=params.n_bases // 2))
