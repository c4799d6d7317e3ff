"""What is trained: depths against lengths of chains, with and without the rewards in between, and many seeds of one.

Source: Musat, "Mechanism and Emergence of Stacked Attention Heads in Multi-Layer Transformers" (ICLR 2025), section 7.
Its recipe (d 128, 8 heads, batch 512, 10,000 steps at rate 1e-3, a fixed set of 2^20 rows) takes more than two
hundred hours of one core; ours is smaller. Width, batch and steps come from a pilot on a seed that no arm has (0):
with four layers both symbols of a chain of two were learnt within 750 steps, with three the second was not in 8,000.
"""

from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.models.config import ModelConfig
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET, EngineName, Seeds, SomeSeeds
from retrieval_circuits.stacked_heads.measures import (
    Counts,
    Flow,
    OneLayer,
    Reading,
    chain_scores,
    information_flow,
    one_layer,
    read_circuit,
)

N_LOOKED = 32
"""Rows on which attention is averaged, as in the source."""
N_READ = 64
"""Rows on which circuits are read."""
STEPS_AN_EPOCH = 50
"""Steps between two checkpoints: an "epoch" here draws as many batches anew."""
LEARNING_RATE, WEIGHT_DECAY, BATCH_SIZE = 1e-3, 0.1, 128


class Cell(NamedTuple):
    """One cell of the grid: look-ups a chain, layers, and whether every symbol on the way is rewarded."""

    n_steps: int
    n_layers: int
    rewarded: bool

    def __str__(self) -> str:
        return f"D {self.n_steps}, {'every step' if self.rewarded else 'only the last'}, {self.depth}"

    @property
    def depth(self) -> str:
        """Its layers in words."""
        return f"{self.n_layers} layer{'s' * (self.n_layers > 1)}"

    @property
    def targets(self) -> tuple[int, ...]:
        """The symbols that are wanted; none stands for all."""
        return () if self.rewarded else (self.n_steps,)


ONE = tuple(Cell(1, n_layers, rewarded=True) for n_layers in (1, 2, 3))
"""One look-up: the last step is every step."""
REWARDED = tuple(Cell(2, n_layers, rewarded=True) for n_layers in (1, 2, 3, 4, 5, 6))
LAST_ALONE = (Cell(2, 4, rewarded=False),)
GRID = (*ONE, *REWARDED, *LAST_ALONE)
FOLLOWED = Cell(2, 4, rewarded=True)
"""The cell that has more seeds, and whose heads are followed through training."""


class Params(BaseModel):
    """Parameters of the chapter; ``params/stacked_heads.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of each cell of the grid")]
    followed_seeds: Annotated[Seeds, Field(description="more init seeds of the cell that is followed")]
    d_model: Annotated[int, Field(ge=4, le=512, multiple_of=4, description="width; 4 heads, MLP four times as wide")]
    steps: Annotated[int, Field(ge=STEPS_AN_EPOCH, le=100_000, multiple_of=STEPS_AN_EPOCH, description="of training")]
    unrewarded_steps: Annotated[
        int,
        Field(ge=STEPS_AN_EPOCH, le=100_000, multiple_of=STEPS_AN_EPOCH, description="where only the last symbol is"),
    ]
    longest_chain: Annotated[int, Field(ge=4, le=512, description="look-ups up to which the theory is counted")]
    engine: EngineName
    n_rows: Annotated[int, Field(ge=8, le=20_000, description="test rows that losses are measured on")]


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed."""
    more = tuple(seed for seed in params.followed_seeds if seed not in params.seeds)
    seeds = {cell: params.seeds + (more if cell == FOLLOWED else ()) for cell in GRID}
    return {str(cell): tuple(_recipe(params, cell, seed) for seed in of_cell) for cell, of_cell in seeds.items()}


def task_of(params: Params, cell: Cell) -> ChainRetrieval:
    """The task of a cell; all cells of one length have the same test rows."""
    return ChainRetrieval(n_steps=cell.n_steps, targets=cell.targets, n_test=params.n_rows)


def _recipe(params: Params, cell: Cell, seed: int) -> Recipe:
    task = task_of(params, cell)
    epochs = (params.steps if cell.rewarded else params.unrewarded_steps) // STEPS_AN_EPOCH
    every = 1 if cell.rewarded else max(1, params.unrewarded_steps // params.steps)
    return Recipe(
        task=task.name,
        task_params=task.params,
        model=ModelConfig(
            d_vocab=task.d_out, n_ctx=task.max_length, d_in=task.d_in, n_layers=cell.n_layers, n_heads=4,
            d_model=params.d_model, d_mlp=4 * params.d_model, norm="layer", positions="none", mlp="gelu", tied=False,
            bias="all", norm_eps=1e-5,
        ),
        optimizer=Optimizer(name="adamw", lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY),
        batch_size=BATCH_SIZE,
        stages=(Stage(("train",), epochs, STEPS_AN_EPOCH * BATCH_SIZE),),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_epochs=(*range(0, epochs, every), epochs),
        engine=params.engine,
    )  # fmt: skip


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """Losses of every checkpoint; of the cell that is followed where its heads look, and at the end its circuit."""
    followed = arm == str(FOLLOWED)
    counts = Counts(n_rows=params.n_rows, n_looked=N_LOOKED if followed else 0)
    scores = Instrument(name="measurements", version=1, measures=chain_scores, settings=counts)
    how = Reading(n_rows=min(params.n_rows, N_READ))
    circuit = Instrument(name="circuit", version=1, measures=read_circuit, when="last", settings=how)
    return (scores, circuit) if followed else (scores,)


FLOW, WIRED = "information_flow", "one_layer"
"""Names of the experiments."""


def experiments(params: Params) -> tuple[Experiment, ...]:
    """What needs no training: the layers that chains take by the source's assumptions, and a layer that breaks them."""
    wired = OneLayer(lengths=(2, 3), n_rows=params.n_rows, nearest=1e-6)
    return (
        Experiment(name=FLOW, version=1, function=information_flow, params=Flow(longest=params.longest_chain)),
        Experiment(name=WIRED, version=1, function=one_layer, params=wired),
    )


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Epochs whose weights are shipped, for the stage: two networks of the cell that is followed.

    One looks ahead and has a checkpoint at which its first look-up has appeared and its second has not; one hops. A
    checkpoint takes 0.8 MB.
    """
    epochs = params.steps // STEPS_AN_EPOCH
    shown = {4: (16, epochs), 1: (epochs,)} if arm == str(FOLLOWED) else {}
    return shown.get(seed, ())
