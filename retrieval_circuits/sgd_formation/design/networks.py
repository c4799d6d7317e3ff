"""What is trained: a small network on the source's stream and on ours, where no rule does without looking at the key.

Source: nelson960, "From Retrieval Motifs To SGD Circuit Selection" (draft of April 2026). Its reference has 626,048
parameters (width 128) and trains on batches of 128 rows for 16,000 steps; here, too. Ours has some 160,000 (width 64),
and 64 rows a step. Width, rate, initialisation, steps and the number of reads in a stream come from pilots on a seed
that is in no arm (0). With them the look-up appeared between steps 1,500 and 1,750 on our stream, where two layers had
it at a third after 3,000 steps and width 48 at 2,500; on the source's, half of the reads were right before step 3,250
and the look-up was there at step 5,250.

The source's network is trained on fresh rows of our stream as well, from its own start and at its own rate, 64 rows a
step and as many steps as ours: a pilot (seed 0) came to read before step 2,500. Another, with our start and rate, had
not by then.

Networks 11 to 20 on fresh rows were added on 2026-11-28, as ten had left six claims on them undecided. They were to be
ten from the start, whatever they show, and every claim is asked of all twenty; no claim, bound or reading was changed.
Two of them do not read by the end. These are trained on, for as many steps again, to see what becomes of them; no claim
is asked of that. Networks 21 to 28 were added on 2026-11-30, for what is asked of every checkpoint, as those of the
others are not kept.
"""

import dataclasses
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.models.config import ModelConfig
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.stream_kv import StreamKV
from circuitcore.tasks.streams import Stream
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET, N_BESIDE, EngineName, Seeds, SomeSeeds
from retrieval_circuits.sgd_formation.measures import SIZES

EVERY, EVERY_OF_SOURCE = 50, 250
"""Steps between two checkpoints: on our stream, where the look-up appears at once, and as in the source."""
N_LOOKED = 64
"""Rows on which attention is averaged and parts are removed."""
N_SET_ASIDE = 32
"""Rows on which neurons are set aside, and parts at each checkpoint: some 320 reads."""
SET_ASIDE = (1, 8, 32)
"""How many neurons of one MLP, of 256; the source sets 8 aside."""
WARM_UP = 200
BATCH_SIZE, LEARNING_RATE = 64, 1e-3
FULL_BATCH, FULL_RATE = 128, 4e-4
LEARNT_FROM = (7_500, 14_000, 16_000)
"""Rows a batch and rate of the source's network, and the checkpoints that its sparse features are learnt from."""
OPTIMIZER = Optimizer(
    name="adamw", lr=LEARNING_RATE, betas=(0.9, 0.95), weight_decay=0.01, clip_norm=1.0, warmup=WARM_UP
)
SOURCE, FIXED, FRESH, FULL = "the source's stream", "ours, fixed rows", "ours, fresh rows", "the source's network"
"""The arms: small networks on three kinds of rows, and the source's own network on its stream."""
LARGE = "the source's network on ours"
"""That network on fresh rows of our stream."""
TRAINED_ON = "ours, fresh rows, trained on"
"""Networks on fresh rows of ours from their end on, for as many steps again: those that do not read by then."""
DRAWN = "the network that is drawn"
"""One of those on fresh rows of ours, whose weights are shipped while it learns, too."""
FIRST_TO_READ = 6
"""Its init seed."""
THROUGH = "ours, fresh rows, looked at through training"
"""Further networks on fresh rows of ours, for what is asked of every checkpoint."""
OTHERS = "ours, fresh rows, others that are shipped"
"""Of the first networks on fresh rows of ours, whose last weights are shipped, all but the drawn one: what that
suggests is asked of them."""
SHOWN_AT = (1_500, 1_650)
"""Steps at which it is shown besides the last: before it reads, and while it learns to. Its curve was known when they
were chosen."""
WITHOUT_LOOKING = 4_000
"""A step at which looks are cut besides the last: one of the networks that read later (9) reads what stands late by
then, and does not look. Its curve was known when it was chosen. In networks that are trained on it is counted from
there."""
WITHOUT_KEY = 0.25
"""Share of reads answered right below which no look-up is needed: the best rule without the key has some 22 %."""
HALF = 0.5
"""Share of reads answered right at which a network has come to read."""
LINKS, LINKS_LATER = "links", "links_later"
"""Tables of the tests of a look-up's moves, in the layers where small networks have them, and one layer later."""
CUTS, BY_HALF = "cuts", "cuts_by_half"
"""Tables of looks that are cut: at a few steps and before a quarter of the reads is right; before half is; both at the
end, too."""
JOINED = "joined"
"""Table of what heads join at each checkpoint."""
SHARES = "update_shares"
"""Table of how long updates are between checkpoints, and which share of them each part has."""
WINDOWS = "windows"
"""Table of states exchanged between the last checkpoint before a quarter of the reads is right, and the first at which
nine in ten are."""
REPORTED = {
    **dict.fromkeys((FRESH, FIXED, TRAINED_ON, DRAWN, OTHERS, THROUGH, LARGE), BalancedStream.reported),
    **dict.fromkeys((SOURCE, FULL), StreamKV.reported),
}
"""Arm -> the split on which it is reported, its attention averaged and its parts removed."""
FIXED_STEPS = 3_000
"""Most steps on fixed rows: all five networks had learnt by then, where three on fresh rows had not."""
N_CTX = 96
"""Positions there are, as in the source."""
N_SOURCE_TEST = 1024
"""Rows of each split of the source's stream but the one that is trained on, as in the source."""


class Params(BaseModel):
    """Parameters of the chapter; ``params/sgd_formation.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of the small network on our stream, rows always fresh")]
    late_seeds: Annotated[Seeds, Field(description="those of seeds whose networks train on for as long; may be empty")]
    through_seeds: Annotated[SomeSeeds, Field(description="those of further networks, asked at every checkpoint")]
    other_seeds: Annotated[SomeSeeds, Field(description="init seeds of the small network on fixed rows, both streams")]
    full_seeds: Annotated[SomeSeeds, Field(description="init seeds of the source's own network; it has 7")]
    large_seeds: Annotated[SomeSeeds, Field(description="init seeds of that network on our stream, rows always fresh")]
    d_model: Annotated[int, Field(ge=8, le=512, multiple_of=8, description="width of the small network")]
    steps: Annotated[int, Field(ge=EVERY, le=100_000, multiple_of=EVERY, description="of training on our stream")]
    source_steps: Annotated[
        int, Field(ge=EVERY, le=100_000, multiple_of=EVERY_OF_SOURCE, description="on the source's stream")
    ]
    full_d_model: Annotated[int, Field(ge=8, le=512, multiple_of=8, description="width of the source's own network")]
    full_steps: Annotated[
        int,
        Field(ge=EVERY_OF_SOURCE, le=100_000, multiple_of=EVERY_OF_SOURCE, description="of it; the source has 16,000"),
    ]
    n_train: Annotated[int, Field(ge=64, le=100_000, description="rows, where they are fixed; the source has 8,000")]
    n_test: Annotated[int, Field(ge=16, le=10_000, description="rows of each other split of our stream")]
    n_rows: Annotated[int, Field(ge=16, le=1024, description="rows of each split on which networks are asked")]
    data_seeds: Annotated[Seeds, Field(description="seeds of the data sets on which rules are scored")]
    engine: EngineName


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed."""
    source = StreamKV(n_train=params.n_train, n_eval=N_SOURCE_TEST)
    ours = BalancedStream(**SIZES, n_train=params.n_train, n_eval=params.n_test)
    return {
        FRESH: tuple(_recipe(params, ours, seed, fresh=True) for seed in params.seeds),
        TRAINED_ON: tuple(
            _longer(_recipe(params, ours, seed, fresh=True)) for seed in params.late_seeds if seed in params.seeds
        ),
        FIXED: tuple(_recipe(params, ours, seed) for seed in params.other_seeds),
        SOURCE: tuple(_recipe(params, source, seed) for seed in params.other_seeds),
        FULL: tuple(_full(params, source, seed) for seed in params.full_seeds),
        LARGE: tuple(
            dataclasses.replace(large_network(ours, seed, params.steps, params.full_d_model), engine=params.engine)
            for seed in params.large_seeds
        ),
        DRAWN: (_recipe(params, ours, drawn_seed(params), fresh=True),),
        OTHERS: tuple(
            _recipe(params, ours, seed, fresh=True) for seed in params.seeds[:N_BESIDE] if seed != drawn_seed(params)
        ),
        THROUGH: tuple(_recipe(params, ours, seed, fresh=True) for seed in params.through_seeds),
    }


def drawn_seed(params: Params) -> int:
    """Init seed of the network that is drawn: that which reads first of ours, or the first of a reader's."""
    return FIRST_TO_READ if FIRST_TO_READ in params.seeds else params.seeds[0]


def _recipe(params: Params, task: Stream, seed: int, *, fresh: bool = False) -> Recipe:
    steps = params.source_steps if task.name == StreamKV.name else min(params.steps, FIXED_STEPS)
    trained = small_network(task, seed, params.steps if fresh else steps, params.d_model, fresh=fresh)
    return dataclasses.replace(trained, engine=params.engine)


def _longer(network: Recipe) -> Recipe:
    """The same network on the same stream of fresh rows, from its end on for as many steps again."""
    (stage,), end = network.stages, network.checkpoint_at[-1]
    return dataclasses.replace(
        network,
        parent=(network.sha256, end),
        stages=(dataclasses.replace(stage, epochs=2 * stage.epochs),),
        checkpoint_at=(*range(0, end, EVERY_OF_SOURCE), end),
    )


def small_network(task: Stream, seed: int, steps: int, d_model: int, *, fresh: bool) -> Recipe:
    """The small network; where rows are fixed, as many epochs as hold its steps."""
    every = EVERY_OF_SOURCE if task.name == StreamKV.name else EVERY
    an_epoch = every if fresh else -(-task.params["n_train"] // BATCH_SIZE)
    return Recipe(
        task=task.name,
        task_params=task.params,
        model=_model(task, d_model),
        optimizer=OPTIMIZER,
        batch_size=BATCH_SIZE,
        stages=(Stage(("train",), -(-steps // an_epoch), every * BATCH_SIZE if fresh else 0),),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_epochs=(),
        checkpoint_at=tuple(range(0, steps + 1, every)),
    )


def _full(params: Params, task: Stream, seed: int) -> Recipe:
    """The source's own network and recipe on its own stream, but for how batches are drawn."""
    epochs = -(-params.full_steps // -(-params.n_train // FULL_BATCH))
    return dataclasses.replace(
        _recipe(params, task, seed),
        model=dataclasses.replace(_model(task, params.full_d_model), init="torch"),
        optimizer=dataclasses.replace(OPTIMIZER, lr=FULL_RATE),
        batch_size=FULL_BATCH,
        stages=(Stage(("train",), epochs),),
        checkpoint_at=tuple(range(0, params.full_steps + 1, EVERY_OF_SOURCE)),
    )


def large_network(task: Stream, seed: int, steps: int, d_model: int) -> Recipe:
    """The source's own network, from its start and at its rate, on fresh rows."""
    trained = small_network(task, seed, steps, d_model, fresh=True)
    return dataclasses.replace(
        trained,
        model=dataclasses.replace(trained.model, init="torch"),
        optimizer=dataclasses.replace(OPTIMIZER, lr=FULL_RATE),
    )


def _model(task: Stream, d_model: int) -> ModelConfig:
    """Three layers of four heads with learned positions, as the source has them: 626,048 parameters at width 128."""
    return ModelConfig(
        d_vocab=len(task.vocab), n_ctx=N_CTX, n_layers=3, n_heads=4, d_model=d_model, d_mlp=4 * d_model, norm="layer",
        positions="learned", mlp="gelu", tied=True, bias="inside", init="small", norm_eps=1e-5,
    )  # fmt: skip


SOURCE_RULES, OUR_RULES = "rules_on_the_source", "rules_on_ours"
SOURCE_FLOOR, OUR_FLOOR = "floor_of_the_source", "floor_of_ours"
"""Names of the experiments."""


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Steps at which weights are shipped: of the network that is drawn, and the last of first others on such rows."""
    if arm in (FRESH, DRAWN) and seed == drawn_seed(params):
        return (*SHOWN_AT, params.steps)
    return (params.steps,) if arm in (FRESH, OTHERS) and seed in params.seeds[:N_BESIDE] else ()
