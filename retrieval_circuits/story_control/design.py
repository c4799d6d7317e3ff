"""What is trained: the story, the controls that could fail, and the control that must not."""

from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.battery import BatterySpec
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.snapshots import spread
from circuitcore.metrics.instruments.standard import standard
from circuitcore.models.config import ModelConfig
from circuitcore.tasks import make_task
from circuitcore.tasks.textual_kv import TRAIN
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits import motif_measures
from retrieval_circuits.design import DATA_SEED_OFFSET, N_BESIDE, EngineName, SomeSeeds
from retrieval_circuits.six_run_matrix.design import SOURCE_DATA_SET, geometric_epochs

STORY, SHUFFLED, ONE_LAYER = "story, as published", "shuffled targets", "one layer"
UNTRAINED, PLANTED, PHRASES = "untrained", "planted repeats", "planted phrases"
ARMS = (STORY, SHUFFLED, ONE_LAYER, UNTRAINED, PLANTED, PHRASES)
CANNOT = (STORY, SHUFFLED, ONE_LAYER, UNTRAINED)
"""Arms whose networks cannot have the circuit."""
COULD_FAIL = (SHUFFLED, ONE_LAYER, UNTRAINED)
"""Those of them that the published definitions could find wanting; see ``ceilings``."""
REPEATS = {PLANTED: {"n_phrases": 6, "n_phrase": 2}, PHRASES: {"n_phrases": 1, "n_phrase": 8}}
"""Arms in which retrieval can be learnt -> what comes twice in each row."""
NEXT_WORD = (STORY, PLANTED, PHRASES)
"""Arms whose task is to say the next word; the others are asked key-value questions."""
FRESH = 1000
"""Added to a seed for the untrained networks, so that none of them is the start of a trained one."""
PROBE_ROWS = {STORY: 128, PLANTED: 1024, PHRASES: 1024}
"""Training rows that probes are fitted on; the story's are the source's."""
SLOW = ("attribution", "ablations", "edges", "interchanges", "probes")
"""Sections that no birth is read from."""
FIRST_REPEATS, N_ON_FIRST = 7, 25
"""The seed of the generator of the first rows of repeats, and how many init seeds, counted from 0, share first rows."""
KV_MODEL = {"n_ctx": 16, "d_model": 64, "d_mlp": 128}


class Params(BaseModel):
    """Parameters of the chapter; ``params/story_control.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of each arm")]
    story_epochs: Annotated[int, Field(ge=2, le=2000, description="passes over the story")]
    story_learning_rate: Annotated[float, Field(gt=0, le=0.1)]
    epochs: Annotated[int, Field(ge=2, le=2000, description="of the two key-value controls that are trained")]
    n_train: Annotated[int, Field(ge=100, le=30_000, description="prompts that one-layer networks are trained on")]
    n_shuffled: Annotated[int, Field(ge=100, le=30_000, description="prompts with shuffled targets")]
    planted_epochs: Annotated[int, Field(ge=2, le=2000, description="of planted repeats; of phrases half as many")]
    n_planted: Annotated[int, Field(ge=100, le=100_000, description="rows of each positive control")]
    engine: EngineName
    n_bases: Annotated[int, Field(ge=8, le=128, description="key-value prompts that counterfactuals are made from")]
    n_story_bases: Annotated[int, Field(ge=4, le=117, description="rows of next words that they are made from")]


def data_set_of(seed: int) -> int:
    """What a network's rows are drawn by, added to the seeds of the first generators; the story is one text for all."""
    return 0 if seed < N_ON_FIRST else seed


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed."""
    makers = {
        STORY: _story,
        SHUFFLED: _shuffled,
        ONE_LAYER: _one_layer,
        UNTRAINED: _untrained,
        PLANTED: partial(_planted, PLANTED),
        PHRASES: partial(_planted, PHRASES),
    }
    return {arm: tuple(make(params, seed) for seed in params.seeds) for arm, make in makers.items()}


def _story(params: Params, seed: int) -> Recipe:
    return _recipe(
        seed, "story", {}, Stage(("train",), params.story_epochs),
        model={"n_ctx": 64, "d_model": 32, "d_mlp": 64}, lr=params.story_learning_rate, batch_size=32,
        checkpoints=story_epochs(params.story_epochs), engine=params.engine,
    )  # fmt: skip


def _shuffled(params: Params, seed: int) -> Recipe:
    rows = {"n_train_2": params.n_shuffled, "n_train_3": params.n_shuffled, "targets": "shuffled", **_prompts(seed)}
    return _recipe(
        seed, "textual_kv", rows, Stage((TRAIN,), params.epochs),
        model=KV_MODEL, lr=1e-3, batch_size=64, checkpoints=eighths(params.epochs), engine=params.engine,
    )  # fmt: skip


def _one_layer(params: Params, seed: int) -> Recipe:
    rows = {"n_train_2": params.n_train, "n_train_3": params.n_train, **_prompts(seed)}
    return _recipe(
        seed, "textual_kv", rows, Stage((TRAIN,), params.epochs),
        model={**KV_MODEL, "n_layers": 1}, lr=1e-3, batch_size=64, checkpoints=eighths(params.epochs),
        engine=params.engine,
    )  # fmt: skip


def _untrained(params: Params, seed: int) -> Recipe:
    """One step, of which only the network before it is looked at."""
    rows = {"n_train_2": params.n_shuffled, "n_train_3": params.n_shuffled, **_prompts(seed)}
    return _recipe(
        FRESH + seed, "textual_kv", rows, Stage((TRAIN,), 1),
        model=KV_MODEL, lr=1e-3, batch_size=params.n_shuffled, checkpoints=(0, 1), engine=params.engine,
    )  # fmt: skip


def _planted(arm: str, params: Params, seed: int) -> Recipe:
    """Small initial weights and a higher rate: with the others' recipe it is not learnt in as many steps.

    Phrases are learnt sooner, and trained on for half as long.
    """
    epochs = params.planted_epochs if arm == PLANTED else -(-params.planted_epochs // 2)
    rows = {"n_train": params.n_planted, "generator_seed": FIRST_REPEATS + data_set_of(seed), **REPEATS[arm]}
    return _recipe(
        seed, "planted_repeats", rows, Stage(("train",), epochs),
        model={"n_ctx": 64, "d_model": 64, "d_mlp": 128, "init": "small"}, lr=3e-3, batch_size=64,
        checkpoints=eighths(epochs), engine=params.engine,
    )  # fmt: skip


def _prompts(seed: int) -> dict[str, int]:
    return {"generator_seed": SOURCE_DATA_SET + data_set_of(seed)}


def _recipe(  # noqa: PLR0913 - what the arms differ in, and nothing else
    seed: int,
    task: str,
    task_params: dict,
    stage: Stage,
    *,
    model: dict[str, int | str],
    lr: float,
    batch_size: int,
    checkpoints: tuple[int, ...],
    engine: str,
) -> Recipe:
    return Recipe(
        task=task,
        task_params=task_params,
        model=ModelConfig(d_vocab=len(make_task(task, task_params).vocab), **model),
        optimizer=Optimizer(name="adam", lr=lr),
        batch_size=batch_size,
        stages=(stage,),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_epochs=checkpoints,
        engine=engine,
    )


def story_epochs(epochs: int) -> tuple[int, ...]:
    """The source's plan for the story: every epoch to the 20th, then 24 on a geometric grid (fewer without room)."""
    dense = min(20, epochs)
    room = min(24, epochs - dense)
    return (*range(dense + 1), *(geometric_epochs(dense + 1, epochs, room) if room else ()))


def eighths(epochs: int) -> tuple[int, ...]:
    """Nine checkpoints, an eighth of training apart (fewer if there is no room)."""
    return tuple(sorted({round(epochs * part / 8) for part in range(9)}))


SHIPPED = 5
"""Checkpoints, evenly spread, whose weights are shipped of the first network of each arm that the reader can use."""


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Epochs whose weights are shipped: of the first network of story and of planted repeats, and the end of others."""
    plans = {STORY: story_epochs(params.story_epochs), PLANTED: eighths(params.planted_epochs)}
    if arm not in plans or seed not in params.seeds[:N_BESIDE]:
        return ()
    return tuple(spread(plans[arm], SHIPPED)) if seed == params.seeds[0] else plans[arm][-1:]


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """How much is measured on every checkpoint: what births are read from, and at the end of training more."""
    if arm in NEXT_WORD:
        spec = BatterySpec(
            n_bases=params.n_story_bases,
            n_probe=PROBE_ROWS[arm],
            own=motif_measures.SECTIONS,
            snapshots=False,
            left_out=(*SLOW, "corrected"),
        )
        return standard(spec)
    spec = BatterySpec(n_bases=params.n_bases, n_split=500, own=motif_measures.SECTIONS, snapshots=False, left_out=SLOW)
    return standard(spec)
