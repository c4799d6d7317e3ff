"""What is trained: the matrix, the arms that take its curriculum apart, and the cells that free the read-out."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.battery import BatterySpec
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.instruments.looks import Looked, looks
from circuitcore.metrics.instruments.standard import standard
from circuitcore.metrics.scores.sparse_converged import MOST_STEPS
from circuitcore.models.config import ModelConfig
from circuitcore.tasks import make_task
from circuitcore.tasks.textual_kv import TRAIN, TRAIN_SHORTER
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits import motif_measures
from retrieval_circuits.design import DATA_SEED_OFFSET, N_BESIDE, EngineName, Seeds, SomeSeeds

SHARES = 5  # a curriculum's stages take 1, 1 and 3 of these shares of its epochs


def _in_shares(epochs: int) -> int:
    if epochs % SHARES:
        raise ValueError(f"a multiple of {SHARES}: the curriculum's stages take 1, 1 and 3 fifths")
    return epochs


class Params(BaseModel):
    """Parameters of the chapter; ``params/six_run_matrix.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of each curriculum; the source had 0, 1, 2")]
    arm_seeds: Annotated[Seeds, Field(description="init seeds of each arm that takes the curriculum apart")]
    cell_seeds: Annotated[Seeds, Field(description="init seeds of each read-out and size; may be empty")]
    more_cell_seeds: Annotated[Seeds, Field(description="more init seeds of those that claims read; may be empty")]
    pilot_seeds: Annotated[Seeds, Field(description="init seeds of the pilot trained once more by torch")]
    epochs: Annotated[int, Field(ge=5, le=2000, description="of the matrix"), AfterValidator(_in_shares)]
    cell_epochs: Annotated[int, Field(ge=3, le=2000, description="of each read-out and size")]
    n_train: Annotated[int, Field(ge=100, le=30_000, description="rows of each training split")]
    learning_rate: Annotated[float, Field(gt=0, le=0.1)]
    batch_size: Annotated[int, Field(ge=1, le=5000)]
    engine: EngineName
    n_bases: Annotated[int, Field(ge=8, le=128, description="test prompts that counterfactuals are made from")]


MATRIX = {"off": "three pairs throughout", "on": "two pairs, both, three pairs"}
"""Curriculum -> what it trains on."""
APART = {
    "off, on's steps": "three pairs throughout, as many steps as with the curriculum",
    "mixed": "both lengths throughout, as many steps as with the curriculum",
    "two, then three": "two pairs, then three, the curriculum's rows without its mixed stage",
}
"""Arm -> which ingredient of the curriculum it keeps."""
PILOT = "pilot, by torch"
CELLS = tuple(
    (read_out, layers, heads)
    for read_out in ("arrow", "query")
    for layers, heads in ((1, 2), (2, 2), (3, 2), (2, 4), (2, 8))
)
"""Read-out, layers and heads per layer of the networks that settle what is forced; ``FIRST`` is the arm "off"."""
FIRST = ("arrow", 2, 2)
AT_THE_QUERY = ("query", 2, 2)
CLAIMED = (("query", 1, 2), AT_THE_QUERY, ("arrow", 3, 2), ("query", 3, 2), ("arrow", 2, 8))
"""Cells that claims read; the others stand in figures alone."""
LOOKED = Looked(split="test", n_rows=1000)
"""Prompts on which networks read out at the query are asked where they look."""


SOURCE_DATA_SET, N_ON_IT = 17, 10
"""The seed of the source's generator; the init seeds below this many are trained on its data set, each other has its
own."""


def data_set_of(seed: int) -> int:
    """The seed of the generator of the prompts that a network is trained on."""
    return SOURCE_DATA_SET if seed < N_ON_IT else SOURCE_DATA_SET + seed


def cell_name(read_out: str, layers: int, heads: int) -> str:
    """What the arm of a cell is called; the first cell's networks are those of the arm "off"."""
    return "off" if (read_out, layers, heads) == FIRST else f"{read_out}, {layers} x {heads}"


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed."""
    share = params.epochs // SHARES
    short, both, long = (TRAIN_SHORTER,), (TRAIN_SHORTER, TRAIN), (TRAIN,)
    curricula = {
        "off": (params.seeds, (Stage(long, params.epochs),)),
        "on": (params.seeds, (Stage(short, share), Stage(both, share), Stage(long, 3 * share))),
        "off, on's steps": (params.arm_seeds, (Stage(long, 6 * share),)),
        "mixed": (params.arm_seeds, (Stage(both, 3 * share),)),
        "two, then three": (params.arm_seeds, (Stage(short, 2 * share), Stage(long, 4 * share))),
    }
    arms = {
        arm: tuple(_recipe(params, seed, stages, checkpoint_epochs(_length(stages))) for seed in seeds)
        for arm, (seeds, stages) in curricula.items()
    }
    pilot, every = (Stage(short, share),), tuple(range(share + 1))
    by_torch = params.model_copy(update={"engine": "torch"})
    arms[PILOT] = tuple(_recipe(by_torch, seed, pilot, every) for seed in params.pilot_seeds)
    alone = (Stage(long, params.cell_epochs),)
    thirds = tuple(sorted({*range(0, params.cell_epochs, 3), params.cell_epochs}))
    for cell in CELLS:
        if cell != FIRST:
            seeds = dict.fromkeys((*params.cell_seeds, *(params.more_cell_seeds if cell in CLAIMED else ())))
            arms[cell_name(*cell)] = tuple(_recipe(params, seed, alone, thirds, cell) for seed in seeds)
    return arms


def _recipe(
    params: Params,
    seed: int,
    stages: tuple[Stage, ...],
    checkpoints: tuple[int, ...],
    cell: tuple[str, int, int] = FIRST,
) -> Recipe:
    read_out, layers, heads = cell
    task_params = {"n_train_2": params.n_train, "n_train_3": params.n_train, "read_out": read_out}
    task_params |= {"generator_seed": data_set_of(seed)}
    task = make_task("textual_kv", task_params)
    return Recipe(
        task="textual_kv",
        task_params=task_params,
        model=ModelConfig(d_vocab=len(task.vocab), n_ctx=16, n_layers=layers, n_heads=heads, d_model=64, d_mlp=128),
        optimizer=Optimizer(name="adam", lr=params.learning_rate),
        batch_size=params.batch_size,
        stages=stages,
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_epochs=checkpoints,
        engine=params.engine,
    )


def _length(stages: tuple[Stage, ...]) -> int:
    return sum(stage.epochs for stage in stages)


def checkpoint_epochs(epochs: int) -> tuple[int, ...]:
    """Where weights are kept: at every epoch of the source's plan, and at every epoch while circuits form.

    The source also keeps the epochs at which validation accuracy improves. Those up to two fifths of training are
    among ours; later ones are not kept.
    """
    return tuple(sorted({*source_epochs(epochs), *range(2 * epochs // SHARES + 1)}))


def source_epochs(epochs: int) -> tuple[int, ...]:
    """The source's plan: every epoch of the first fifth, then 24 on a geometric grid (fewer if there is no room)."""
    dense = epochs // SHARES
    return (*range(dense + 1), *geometric_epochs(dense + 1, epochs, min(24, epochs - dense)))


def geometric_epochs(first: int, last: int, count: int) -> tuple[int, ...]:
    """Whole epochs nearest to a geometric grid, each taken once; a tie goes to the earlier epoch."""
    free, taken = set(range(first, last + 1)), []
    for place in range(count):
        ideal = first * (last / first) ** (place / max(count - 1, 1))
        taken.append(min(free, key=lambda epoch: (abs(epoch - ideal), epoch)))
        free.remove(taken[-1])
    return tuple(sorted(taken))


KEPT_WHOLE = (cell_name(*FIRST), cell_name(*AT_THE_QUERY))
"""Arms of whose networks attention on example prompts is kept: two layers of two heads, read at arrow and query."""
OVER_TRAINING = ("behavior", "attention", "operators", "published", "corrected")
NEVER = ("attribution", "edges")
AT_END = ("ablations", "interchanges", "probes")


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """How much is measured: the matrix wholly at every checkpoint, other arms as far as a claim reads them.

    Attention is kept whole where a figure shows it.
    """
    asked = _asked(params, arm)
    return asked if arm in KEPT_WHOLE else tuple(one for one in asked if one.name != "snapshots")


def _asked(params: Params, arm: str) -> tuple[Instrument, ...]:
    counts = {"n_bases": params.n_bases, "n_edge_bases": params.n_bases // 2, "n_split": min(3000, params.n_train)}
    if arm in MATRIX:
        # With as many steps as there are rows, an autoencoder has seen each more than fifty times.
        features = {"features": True, "feature_steps": min(MOST_STEPS, params.n_train)}
        return standard(BatterySpec(**counts, **features, own=motif_measures.SECTIONS, at_end=AT_END, left_out=NEVER))
    if arm == PILOT:
        return standard(BatterySpec(**counts, left_out=("attention", "operators", *AT_END, *NEVER)))
    left_out = (*AT_END, *NEVER)
    spec = BatterySpec(**counts, own=motif_measures.SECTIONS, at_end=OVER_TRAINING[1:], left_out=left_out)
    looked = (looks(LOOKED, when="last"),) if arm == cell_name(*AT_THE_QUERY) else ()
    return (*standard(spec), *looked)


N_SHOWN = 6  # checkpoints shipped of one run of each curriculum


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Epochs whose weights are shipped with the book: one run of each curriculum through training, the ends of others.

    A checkpoint takes a third of a megabyte. So the windows of all births are left to those who train the runs again.
    """
    if arm not in MATRIX or seed not in params.seeds[:N_BESIDE]:
        return ()
    if seed != params.seeds[0]:
        return (params.epochs,)
    kept = checkpoint_epochs(params.epochs)
    places = {round(place * (len(kept) - 1) / (N_SHOWN - 1)) for place in range(N_SHOWN)}
    return tuple(kept[place] for place in sorted(places))
