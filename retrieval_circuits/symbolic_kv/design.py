"""What is trained: the arms of the study and the size of the battery, from typed parameters."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.battery import BatterySpec
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.standard import standard
from circuitcore.models.config import ModelConfig
from circuitcore.tasks import make_task
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET, N_BESIDE, EngineName, Seeds, SomeSeeds


class Params(BaseModel):
    """Parameters of the chapter; ``params/symbolic_kv.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of the networks under study; each says its data set")]
    control_seeds: Annotated[Seeds, Field(description="init seeds of each control arm; may be empty")]
    torch_seeds: Annotated[Seeds, Field(description="init seeds of those that torch trains on the first data set")]
    epochs: Annotated[int, Field(ge=1, le=2000, description="passes over the training prompts")]
    torch_epochs: Annotated[int, Field(ge=1, le=2000, description="the same, of those that torch trains")]
    learning_rate: Annotated[float, Field(gt=0, le=0.1)]
    batch_size: Annotated[int, Field(ge=1, le=5000)]
    engine: Annotated[EngineName, Field(description="what trains the networks; another engine makes other runs")]
    n_bases: Annotated[int, Field(ge=8, le=128, description="test prompts that counterfactuals are made from")]


TRAINED, TORCH = "trained", "by torch"
"""Networks on all data sets; some on the first of them, trained by torch for half as long, whose weights are shown."""
ARMS = {
    TRAINED: "two layers",
    TORCH: "two layers, by torch",
    "leaky data": "data drawn as published",
    "shuffled targets": "shuffled targets",
    "one layer": "one layer",
}
"""Arm -> how figures call it. The untrained network is checkpoint 0 of "trained"."""

FIRST_DATA_SET, N_DATA_SETS = 7, 12


def data_set_of(seed: int) -> int:
    """The seed of the generator of the prompts that a network is trained on: twelve data sets, in turn."""
    return FIRST_DATA_SET + seed % N_DATA_SETS


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed. Everything but the named difference is the same in all arms."""
    controls = {"leaky data": ({"sampling": "published"}, 2), "shuffled targets": ({"targets": "shuffled"}, 2)}
    controls |= {"one layer": ({}, 1)}
    dense, few = checkpoint_epochs(params.epochs, dense=True), checkpoint_epochs(params.epochs, dense=False)
    by_torch = params.model_copy(update={"engine": "torch", "epochs": params.torch_epochs})
    shown = checkpoint_epochs(params.torch_epochs, dense=True)
    return {
        TRAINED: tuple(_recipe(params, seed, _data_set(seed), 2, dense) for seed in params.seeds),
        TORCH: tuple(_recipe(by_torch, seed, {}, 2, shown) for seed in params.torch_seeds),
    } | {
        arm: tuple(_recipe(params, seed, task | _data_set(seed), n_layers, few) for seed in params.control_seeds)
        for arm, (task, n_layers) in controls.items()
    }


def numbers_of_the_design(params: Params) -> dict[str, int | str]:
    """What the page prints of the networks under study, and of what they are trained on and with."""
    few = params.model_copy(update={"seeds": params.seeds[:1], "control_seeds": (), "torch_seeds": ()})
    (recipe,) = recipes(few)[TRAINED]
    return {
        "d_model": recipe.model.d_model,
        "d_mlp": recipe.model.d_mlp,
        "n_tokens": recipe.model.d_vocab,
        "n_train": f"{recipe.make_task().n_train:,}",
        "rate": f"{recipe.optimizer.lr:g}",
        "batch": recipe.batch_size,
        "epochs": params.epochs,
    }


def _data_set(seed: int) -> dict[str, int]:
    return {"generator_seed": data_set_of(seed)}


def _recipe(
    params: Params, seed: int, task_params: dict[str, str | int], n_layers: int, checkpoints: tuple[int, ...]
) -> Recipe:
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
        checkpoint_epochs=checkpoints,
        engine=params.engine,
    )


def checkpoint_epochs(epochs: int, *, dense: bool) -> tuple[int, ...]:
    """Where weights are kept: dense while circuits form (every 2 epochs to 60), every 6 later; controls five times."""
    if not dense:
        return tuple(sorted({0, epochs // 4, epochs // 2, 3 * epochs // 4, epochs}))
    wanted = {*range(6), *range(6, 61, 2), *range(66, epochs, 6), epochs}
    return tuple(sorted(epoch for epoch in wanted if epoch <= epochs))


THROUGH, MIDWAY = (0, 10, 20, 30, 40, 60), (0, 10, 40)
"""Epochs whose weights are shipped besides the last: of torch's first network; of the others of its first ``N_MIDWAY``,
and of the one that README takes as its example, those at which the front page stops."""
N_MIDWAY, EXAMPLE, N_CONTROLS = 3, 4, 1
"""The example is the one at this place, from 0."""


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Epochs whose weights are shipped with the book: of torch's through the transition, of others the end."""
    if arm == TORCH:
        first, seeds = params.torch_seeds[:1], params.torch_seeds
        midway = (*seeds[:N_MIDWAY], *seeds[EXAMPLE : EXAMPLE + 1])
        on_the_way = THROUGH if seed in first else MIDWAY if seed in midway else ()
        return (*(epoch for epoch in on_the_way if epoch < params.torch_epochs), params.torch_epochs)
    ends = params.seeds[:N_BESIDE] if arm == TRAINED else params.control_seeds[:N_CONTROLS]
    return (params.epochs,) if seed in ends else ()


AT_END = ("attribution", "ablations", "interchanges", "probes")


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """What is measured on the runs of an arm: on the networks under study over training as far as births need it."""
    counts = {"n_bases": params.n_bases, "n_edge_bases": params.n_bases // 2}
    if arm == TORCH:
        return standard(BatterySpec(**counts))
    over_training = {"at_end": AT_END} if arm == TRAINED else {"at_end": (*AT_END, "edges")}
    return standard(BatterySpec(**counts, **over_training, snapshots=False))
