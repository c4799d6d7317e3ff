"""What is trained: small networks on the links of F1 and of F5, with the answer alone rewarded, or every line.

Four layers, as in the chapter on stacked heads. What that chapter counts: with one look-up a layer, and one layer to
join the words of a line, four layers follow three links; by doubling they could follow seven. Rate, batch and steps
come from pilots on a seed that is in no arm (0), which showed what to expect. Single links of F1 were looked up after 1,000
steps of 32 rows, or 1,500 of 64. Two links were not in 4,000 steps with the answer alone rewarded, nor in 3,000 with
every line; nothing of F5 was in 1,500.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.models.config import ModelConfig
from circuitcore.tasks.chain_words import ChainWords
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.chain_prompts.measures import Counts, Readers, prompt_scores, readers
from retrieval_circuits.design import DATA_SEED_OFFSET, EngineName, SomeSeeds

EVERY = 100
"""Steps between two checkpoints: an epoch draws as many batches anew."""
MOST_CHECKPOINTS = 15
BATCH_SIZE = 32
N_LAYERS = 4
N_CTX = 112
"""Room for the longest prompts: F5 with four questions."""
OPTIMIZER = Optimizer(name="adamw", lr=1e-3, weight_decay=0.01, clip_norm=1.0, warmup=200)
DEPTHS = (1, 2, 3, 4, 5, 6)
"""Look-ups of the equations, in equal shares."""
ALONE, LINES, RELATIVES = "F1, answers alone", "F1, every line", "F5, answers alone"
"""The arms: what is read, and what of it is rewarded."""
READERS = "readers"
"""Name of the experiment."""


class Params(BaseModel):
    """Parameters of the chapter; ``params/chain_prompts.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of each arm")]
    d_model: Annotated[int, Field(ge=8, le=512, multiple_of=8, description="width; 4 heads, MLP four times as wide")]
    steps: Annotated[int, Field(ge=EVERY, le=100_000, multiple_of=EVERY, description="of training on equations")]
    relative_steps: Annotated[int, Field(ge=EVERY, le=100_000, multiple_of=EVERY, description="on relatives")]
    n_rows: Annotated[int, Field(ge=12, le=6_000, description="test prompts, four questions each")]
    n_prompts: Annotated[int, Field(ge=5, le=1_000, description="prompts over which readers are counted")]
    engine: EngineName


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed."""
    return {
        ALONE: tuple(_recipe(params, ChainWords(depths=DEPTHS), seed) for seed in params.seeds),
        LINES: tuple(_recipe(params, ChainWords(depths=DEPTHS, wanted="every line"), seed) for seed in params.seeds),
        RELATIVES: tuple(_recipe(params, ChainWords(formulation="F5", depths=()), seed) for seed in params.seeds),
    }


def _recipe(params: Params, task: ChainWords, seed: int) -> Recipe:
    epochs = (params.relative_steps if task.formulation == "F5" else params.steps) // EVERY
    return Recipe(
        task=task.name,
        task_params=task.params,
        model=ModelConfig(
            d_vocab=len(task.vocab), n_ctx=N_CTX, n_layers=N_LAYERS, n_heads=4, d_model=params.d_model,
            d_mlp=4 * params.d_model, norm="layer", positions="rope", mlp="gelu", tied=False, bias="all", norm_eps=1e-5,
        ),
        optimizer=OPTIMIZER,
        batch_size=BATCH_SIZE,
        stages=(Stage(("train",), epochs, EVERY * BATCH_SIZE),),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_epochs=(*range(0, epochs, max(1, epochs // MOST_CHECKPOINTS)), epochs),
        engine=params.engine,
    )  # fmt: skip


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """Answers of every checkpoint; of networks that know F1's words at the end on F4, which uses the same."""
    others = () if arm == RELATIVES else ("F4",)
    counts = Counts(n_rows=params.n_rows, others=others)
    return (Instrument(name="measurements", version=1, measures=prompt_scores, settings=counts),)


def experiments(params: Params) -> tuple[Experiment, ...]:
    """What needs no training: readers who leave a part of a prompt unread."""
    asked = Readers(formulations=("F1", "F2", "F3", "F4", "F5"), n_prompts=params.n_prompts)
    return (Experiment(name=READERS, version=1, function=readers, params=asked),)


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Epochs whose weights are shipped: none, as no explorer shows them."""
    return ()
