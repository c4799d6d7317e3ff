"""What is trained: two recall tasks, one network in the middle, along axes away from it; and permutation recall.

Sources are named in ``published``. Sizes come from pilots on seeds that no experiment has (900; 1 and 2 for contexts,
which are seeds of followed networks, too, of whose heads no pilot looked at): there the middle network waits a few
hundred steps, a small part of the cap, so that few waits are cut off. Sixteen pairs were not learnt by one of two, so
that twelve are the most. The first pilot also showed that with tied embeddings networks wait far longer; that axis was
added because of it. At the largest width it had not begun to answer when it was stopped, at twice the wait of the next
two; as a step takes most time there, these networks have a cap of their own. Telling pairs again and permutation recall
came later, with pilots of seeds 900 and 901 for their length; claims on them had been written before.

Networks 31 to 40 of permutation recall were added on 2026-11-28, as ten had left open whether a y that is seen moves
its logit 250 steps before a head picks the x asked for. Claims are asked of all twenty; none was changed.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.looks import Looked, looks
from circuitcore.training.experiment import Experiment
from circuitcore.training.optimizer import Optimizer
from circuitcore.training.recipe import Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET, N_BESIDE, EngineName, Seeds, SomeSeeds
from retrieval_circuits.emergence_laws.measures import Setting, Waiting, permutation_scores, recall_scores, waits
from retrieval_circuits.permutation_recall.design import BATCH_SIZE, TASK_2, trained
from retrieval_circuits.permutation_recall.design import model as encoder

PAIRS, SEQUENCE = "pairs", "sequence"
SHAPES = (PAIRS, SEQUENCE)
"""The two tasks, by how words are told."""
MIDDLE = Setting()
CONTEXT, BATCH, WIDTH, HEADS, CHANNELS = "context", "batch", "width", "heads", "d_head"
WIDEST = "widest"
REPEATED, TIMES, TIED, TWINS = "repeated", "times", "tied", "twins"
PERMUTATION, PERMUTATION_AGAIN = "permutation", "permutation_again"
"""Networks of permutation recall, of which only the order of parts is asked; and more, of which a second reading is."""
N_SYMBOLS = 5
"""Of permutation recall, as in its source."""
NARROW, WIDE = 16, 512
HALF = 0.5
"""Share of repeated rows that a claim is on."""


Change = tuple[tuple[str, float | int], ...]


def _with(name: str, *values: float | int) -> tuple[Change, ...]:
    return tuple(((name, value),) for value in values)


AXES: dict[str, tuple[Change, ...]] = {
    CONTEXT: _with("n_pairs", 3, 4, 6, 12),
    BATCH: _with(BATCH, 8, 16, 64, 128),
    WIDTH: tuple(((WIDTH, width), (CHANNELS, width // MIDDLE.heads)) for width in (NARROW, 32, 128, 256)),
    WIDEST: (((WIDTH, WIDE), (CHANNELS, WIDE // MIDDLE.heads)),),
    HEADS: _with(HEADS, 1, 2, 8),
    CHANNELS: _with(CHANNELS, 4, 8, 32, 64),
    REPEATED: _with(REPEATED, 0.25, HALF, 0.75),
    TIMES: _with(TIMES, 2, 4),
    TIED: _with(TIED, True),
    TWINS: (*_with("other_init", 1, 2), *_with("other_rows", 1, 2)),
}
"""Axis -> what its networks differ in from the middle one. Widths keep four heads; the widest stand apart.

A sequence is told once, so that ``TIMES`` is an axis of pairs alone.
"""


class Params(BaseModel):
    """Parameters of the chapter; ``params/emergence_laws.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="seeds of every axis: initial weights, and rows of their own")]
    more_seeds: Annotated[Seeds, Field(description="more seeds of the middle network; may be empty")]
    kept_seeds: Annotated[SomeSeeds, Field(description="seeds of the middle networks whose heads are followed")]
    recall_seeds: Annotated[SomeSeeds, Field(description="seeds of networks of permutation recall")]
    again_seeds: Annotated[SomeSeeds, Field(description="seeds of more, on which a second reading is judged")]
    n_words: Annotated[int, Field(ge=25, le=1024, description="keys, as many values; words of a sequence")]
    cap: Annotated[int, Field(ge=10, le=200_000, multiple_of=10, description="steps after which one is given up")]
    widest_cap: Annotated[int, Field(ge=10, le=200_000, multiple_of=10, description="the same, of the widest")]
    kept_steps: Annotated[int, Field(ge=100, le=20_000, multiple_of=50, description="of networks that are followed")]
    recall_steps: Annotated[int, Field(ge=250, le=100_000, multiple_of=250, description="of permutation recall")]
    engine: EngineName


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """The middle network of each task and one of permutation recall, trained to the end, so that heads can be seen."""
    arms = {shape: tuple(_recipe(params, shape, seed) for seed in params.kept_seeds) for shape in SHAPES}
    others = {PERMUTATION: params.recall_seeds, PERMUTATION_AGAIN: params.again_seeds}
    return arms | {arm: tuple(_permutation(params, seed) for seed in seeds) for arm, seeds in others.items()}


FOLLOWED_EVERY = 50
"""Steps between two checkpoints of a network that is followed: an "epoch" here draws as many batches anew."""


def _recipe(params: Params, shape: str, seed: int) -> Recipe:
    asked, n_epochs = _waiting(params, shape), params.kept_steps // FOLLOWED_EVERY
    task = asked.task(MIDDLE)
    return Recipe(
        task=task.name,
        task_params=task.params,
        model=asked.model(MIDDLE),
        optimizer=Optimizer(name="adam", lr=asked.rate),
        batch_size=MIDDLE.batch,
        stages=(Stage(("train",), n_epochs, FOLLOWED_EVERY * MIDDLE.batch),),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_epochs=tuple(range(n_epochs + 1)),
        engine=params.engine,
    )


RECALLED_EVERY = 250
"""The same, of a network of permutation recall, which learns more slowly."""
SPLITS = 1_000
"""Number of the first network's division of permutations, less its seed: each has one of its own."""


def _permutation(params: Params, seed: int) -> Recipe:
    """The larger of the source's two models, as its chapter has it, with more checkpoints."""
    n_epochs, fresh = params.recall_steps // RECALLED_EVERY, RECALLED_EVERY * BATCH_SIZE
    task = {"n_symbols": N_SYMBOLS, "split_seed": SPLITS + seed}
    made = encoder(N_SYMBOLS, TASK_2.d_model, TASK_2.n_heads, TASK_2.d_mlp)
    return trained(params.engine, seed, n_epochs, task, made, fresh, tuple(range(n_epochs + 1)))


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """How often networks are right, and where their heads look, at every checkpoint."""
    if arm in (PERMUTATION, PERMUTATION_AGAIN):
        scored = Instrument(name="measurements", version=1, measures=permutation_scores)
        return (scored, looks(Looked(split="test", n_rows=2000)))
    scored = Instrument(name="measurements", version=1, measures=recall_scores)
    return (scored, looks(Looked(split="test", n_rows=_waiting(params, arm).n_test)))


SHIPPED_AT = (0, 1 / 10, 1 / 5, 3 / 10, 1)
"""Shares of training after which weights are shipped: most of them while the circuit forms."""


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Epochs whose weights are shipped: of the first network on pairs through training, of others the end."""
    n_epochs = params.kept_steps // FOLLOWED_EVERY
    if arm != PAIRS or seed not in params.kept_seeds[:N_BESIDE]:
        return ()
    shares = SHIPPED_AT if seed == params.kept_seeds[0] else SHIPPED_AT[-1:]
    return tuple(sorted({round(share * n_epochs) for share in shares}))


def name_of(shape: str, axis: str = "middle") -> str:
    """The experiment of one axis of a task; of the network in the middle by default."""
    return f"{shape}_{axis}"


def experiments(params: Params) -> tuple[Experiment, ...]:
    """The middle and every axis of both tasks."""
    every = tuple(dict.fromkeys((*params.seeds, *params.more_seeds)))
    return tuple(
        Experiment(
            name=name_of(shape, axis), version=1, function=waits, params=_waiting(params, shape, changes, axis),
            seeds=every if axis == "middle" else params.seeds,
        )
        for shape in SHAPES
        for axis, changes in {"middle": ((),), **axes_of(shape)}.items()
    )  # fmt: skip


def axes_of(shape: str) -> dict[str, tuple[Change, ...]]:
    """Those of ``AXES`` that a task has: a sequence is told once."""
    return {axis: changes for axis, changes in AXES.items() if (shape, axis) != (SEQUENCE, TIMES)}


def _waiting(params: Params, shape: str, changes: tuple[Change, ...] = (), axis: str = "middle") -> Waiting:
    return Waiting(
        told=shape, changes=changes, n_words=params.n_words, n_queries=4, n_layers=2, rate=1e-3, pool=256, n_test=128,
        every=10, cap=params.widest_cap if axis == WIDEST else params.cap,
    )  # fmt: skip
