"""What is trained: the factorial that was missing, two of whose cells are the source's models, and the controls."""

import math
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.battery import BatterySpec
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.standard import standard
from circuitcore.models.config import ModelConfig
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET, N_BESIDE, EngineName, Seeds, SomeSeeds
from retrieval_circuits.permutation_recall.measures import SECTIONS

SOURCE_SPLIT = 42
FIRST_OTHER_SPLIT = 100
NORMAL, REPEATED = "normal", "repeats"
RATIOS = {NORMAL: 0.0, REPEATED: 0.3}
TASK_1_EPOCHS, TASK_2_EPOCHS = 20, 50
"""For how long the source trained its two models."""
PUBLISHED_EPOCHS = 120
"""Of our cells; a shorter training stands for it in the same proportion."""

BATCH_SIZE, LEARNING_RATE = 256, 1e-3
PROBES = 2880
"""Probes of recall at each checkpoint, at most; a quarter of those there are. At the end all are asked."""


class Cell(NamedTuple):
    """One cell of the factorial."""

    d_model: int
    n_heads: int
    d_mlp: int
    data: Literal["normal", "repeats"]

    def __str__(self) -> str:
        heads = "1 head" if self.n_heads == 1 else f"{self.n_heads} heads"
        return f"d {self.d_model}, {heads}, FFN {self.d_mlp}, {self.data}"


class Width(NamedTuple):
    """One point of the scan over the size of the task and of the network."""

    n_symbols: int
    d_model: int
    n_layers: int

    def __str__(self) -> str:
        return f"V {self.n_symbols}, d {self.d_model}, {self.n_layers} layer{'s' * (self.n_layers > 1)}"


TASK_1, TASK_2 = Cell(16, 1, 32, NORMAL), Cell(32, 2, 64, REPEATED)
"""The source's two models."""
CELLS = tuple(Cell(d, h, 2 * d, data) for data in (NORMAL, REPEATED) for d in (16, 32) for h in (1, 2))
"""Width, heads and data, FFN twice the width as in the source."""
CROSSED = tuple(
    Cell(d, h, other, data) for data in (REPEATED, NORMAL) for d, other in ((16, 64), (32, 32)) for h in (1, 2)
)
"""The same cells with the other width's FFN."""
EDGES = {(4, 2): (4, 6), (5, 2): (4, 6), (6, 1): (48,), (7, 1): (48,)}
"""V and layers -> widths beyond the others, where the smallest that recalls was at the edge of those tried, or near."""
WIDTHS = tuple(
    Width(v, d, n) for v in (4, 5, 6, 7) for n in (1, 2) for d in sorted((8, 12, 16, 24, 32, *EDGES.get((v, n), ())))
)
BALANCED_1, BALANCED_2 = "task 1, balanced split", "task 2, balanced split"
ALL_1, ALL_2 = "task 1, all permutations", "task 2, all permutations"
OTHER_SPLITS = "task 1, other splits"
ONLY_FIRST, ANY_SOURCE = "repeats of x1 alone", "repeats of any x, half"
"""The two models of the source's later notebook."""


class Params(BaseModel):
    """Parameters of the chapter; ``params/permutation_recall.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of each cell of the factorial")]
    crossed_seeds: Annotated[Seeds, Field(description="init seeds of the cells with the other width's FFN")]
    role_seeds: Annotated[Seeds, Field(description="more init seeds of the source's larger model; above 40 of both")]
    control_seeds: Annotated[Seeds, Field(description="init seeds of each control of the split, and of the notebook's")]
    width_seeds: Annotated[Seeds, Field(description="init seeds of each point of the scan over V and width")]
    n_other_splits: Annotated[int, Field(ge=0, le=200, description="further splits, one run on each")]
    epochs: Annotated[int, Field(ge=2, le=1000, description="of every cell of the factorial")]
    width_epochs: Annotated[int, Field(ge=1, le=1000, description="of every point of the scan")]
    n_fresh: Annotated[int, Field(ge=256, le=1_000_000, description="rows drawn anew in each epoch")]
    engine: EngineName
    n_rows: Annotated[int, Field(ge=100, le=20_000, description="sequences of the test, as in the source")]


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed; an arm without seeds is left out."""
    arms = {str(cell): tuple(_cell(params, cell, seed) for seed in params.seeds) for cell in CELLS}
    more = tuple(seed for seed in params.role_seeds if seed not in params.seeds)
    arms[str(TASK_1)] += tuple(_cell(params, TASK_1, seed) for seed in more if seed > LAST_IN_TURN)
    arms[str(TASK_2)] += tuple(_cell(params, TASK_2, seed) for seed in more)
    arms |= {str(cell): tuple(_cell(params, cell, seed) for seed in params.crossed_seeds) for cell in CROSSED}
    arms |= _controls(params)
    arms |= {str(width): tuple(_width(params, width, seed) for seed in params.width_seeds) for width in WIDTHS}
    return {arm: made for arm, made in arms.items() if made}


LAST_IN_TURN = 40


def split_of(seed: int) -> int:
    """The split a seed is trained on: up to the fortieth the source's and two more, in turn; then one of its own."""
    return SOURCE_SPLIT + ((seed - 1) % 3 if seed <= LAST_IN_TURN else seed)


def model(n_symbols: int, d_model: int, n_heads: int, d_mlp: int, n_layers: int = 1) -> ModelConfig:
    """The source's architecture: PyTorch's encoder layer with a causal mask, of any size."""
    return ModelConfig(
        d_vocab=n_symbols + 1, n_ctx=2 * n_symbols - 1, n_layers=n_layers, n_heads=n_heads, d_model=d_model,
        d_mlp=d_mlp, norm="layer", norm_position="post", positions="learned", mlp="relu", init="encoder", tied=False,
        bias="all", norm_eps=1e-5,
    )  # fmt: skip


def _cell(params: Params, cell: Cell, seed: int) -> Recipe:
    return _recipe(params, cell, seed, params.epochs, {"split_seed": split_of(seed)}, params.n_fresh)


def _controls(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """The source's models on other divisions of the permutations, trained for as long as there, and its notebook's."""
    all_of_them = {"n_train": math.factorial(5)}
    short, long = _share(params, TASK_1_EPOCHS), _share(params, TASK_2_EPOCHS)
    changed = {
        BALANCED_1: (TASK_1, short, {"division": "balanced"}),
        ALL_1: (TASK_1, short, all_of_them),
        BALANCED_2: (TASK_2, long, {"division": "balanced"}),
        ALL_2: (TASK_2, long, all_of_them),
        ONLY_FIRST: (TASK_2, long, {"repeat_ratio": 0.5, "repeat_sources": (0,)}),
        ANY_SOURCE: (TASK_2, long, {"repeat_ratio": 0.5}),
    }
    fresh = dict.fromkeys((ONLY_FIRST, ANY_SOURCE), params.n_fresh // 2)  # as in the source's notebook
    arms = {
        arm: tuple(
            _recipe(params, cell, seed, epochs, task, fresh.get(arm, params.n_fresh)) for seed in params.control_seeds
        )
        for arm, (cell, epochs, task) in changed.items()
    }
    splits = range(FIRST_OTHER_SPLIT, FIRST_OTHER_SPLIT + params.n_other_splits)
    arms[OTHER_SPLITS] = tuple(
        _recipe(params, TASK_1, split, short, {"split_seed": split}, params.n_fresh) for split in splits
    )
    return arms


def _share(params: Params, epochs: int) -> int:
    """So many epochs of the published training; the same share of a shorter one."""
    return max(1, round(epochs * params.epochs / PUBLISHED_EPOCHS))


def _recipe(  # noqa: PLR0913 - what the arms differ in
    params: Params, cell: Cell, seed: int, epochs: int, task: dict, fresh: int
) -> Recipe:
    return trained(
        params.engine, seed, epochs, {"repeat_ratio": RATIOS[cell.data], "n_rows": params.n_rows, **task},
        model(5, cell.d_model, cell.n_heads, cell.d_mlp), fresh, every_epoch(epochs),
    )  # fmt: skip


def _width(params: Params, width: Width, seed: int) -> Recipe:
    """A point of the scan: each seed has a split of its own, the first the source's."""
    task = {
        "n_symbols": width.n_symbols, "n_train": round(0.8 * math.factorial(width.n_symbols)),
        "split_seed": SOURCE_SPLIT + seed - 1, "n_rows": params.n_rows,
    }  # fmt: skip
    made = model(width.n_symbols, width.d_model, 2, 2 * width.d_model, width.n_layers)
    checkpoints = tuple(sorted({round(params.width_epochs * part / 10) for part in range(11)}))
    return trained(params.engine, seed, params.width_epochs, task, made, params.n_fresh, checkpoints)


def trained(  # noqa: PLR0913 - what a recipe is made of
    engine: str, seed: int, epochs: int, task: dict, config: ModelConfig, fresh: int, checkpoints: tuple[int, ...]
) -> Recipe:
    """A network of permutation recall as the source trains one; ``epochs`` of ``fresh`` rows each."""
    return Recipe(
        task="permutation_recall",
        task_params=task,
        model=config,
        optimizer=Optimizer(name="adam", lr=LEARNING_RATE),
        batch_size=BATCH_SIZE,
        stages=(Stage(("train",), epochs, fresh),),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_epochs=checkpoints,
        engine=engine,
    )


def every_epoch(epochs: int) -> tuple[int, ...]:
    """Checkpoints: each epoch to the 16th, each second to the 40th, each fifth to the 60th, each tenth from there."""
    plan = (*range(17), *range(18, 41, 2), *range(45, 61, 5), *range(70, epochs, 10))
    return (*(epoch for epoch in plan if epoch < epochs), epochs)


SHOWN_EPOCHS = (0, 2, 5, 8, 10, 12, 16, 20, 50)
"""Epochs whose weights are shipped of one network of each of the source's models, beside the last."""


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Epochs whose weights are shipped: of the first network of each of the source's models all, of others the last."""
    if arm not in (str(TASK_1), str(TASK_2)) or seed not in params.seeds[:N_BESIDE]:
        return ()
    shown = every_epoch(params.epochs) if seed == params.seeds[0] else ()
    return (*(epoch for epoch in shown if epoch in SHOWN_EPOCHS and epoch < params.epochs), params.epochs)


GENERAL = ("behavior", "attention", "operators", "attribution", "ablations", "edges", "interchanges", "probes")
"""Sections that ask what key-value prompts are asked."""
AT_END = ("recall_roles", "recall_edges", "recall_interchanges", "recall_ffn")
DISSECTED = (str(TASK_2),)
"""Arms whose networks are taken apart at the end of training."""
NOT_DISSECTED = (
    *(str(cell) for cell in (*CELLS, *CROSSED) if cell.data == REPEATED and cell != TASK_2),
    *(str(TASK_1), ONLY_FIRST, ANY_SOURCE),
)
"""Arms of which only heads and FFN are removed, and every probe is asked, at the end of training."""


FOLLOWED = (str(TASK_1), str(TASK_2), BALANCED_1, BALANCED_2, ALL_1, ALL_2, OTHER_SPLITS)
"""Arms whose distance from the posteriors is measured throughout training; of the other cells at the end."""


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """What is measured: skills throughout, and of each arm what it is there for."""
    at_end = AT_END if arm in DISSECTED else AT_END[:1] if arm in NOT_DISSECTED else ()
    scan = arm in map(str, WIDTHS)
    once = () if scan or arm in FOLLOWED else ("recall_posterior",)
    spec = BatterySpec(
        n_bases=min(params.n_rows, PROBES),
        n_split=params.n_rows,
        at_end=(*at_end, *once),
        left_out=(
            *GENERAL,
            *(("recall_posterior",) if scan else ()),
            *(section for section in AT_END if section not in at_end),
        ),
        snapshots=False,
        own=SECTIONS,
    )
    return standard(spec)
