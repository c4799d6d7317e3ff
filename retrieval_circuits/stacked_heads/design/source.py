"""Networks of the source whose circuits it drew, by its own recipes: transformers A to C of section 8, D of section 9.

One head a layer, out of a fixed set of 262,144 rows. Where the source is silent: rate and decay as in its section 7
(1e-3, 0.1), constant; biases everywhere; a norm before each layer and one at the end; heads of A to C as wide as the
network. Its "epochs" are units of eight steps. A, B and C differ in their seed alone, which it does not give.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from circuitcore.models.config import ModelConfig
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET
from retrieval_circuits.stacked_heads.design.params import Params

ROWS_A_TEST_ROW = 1024
"""Training rows for each of our test rows."""
STEPS_A_UNIT = 8
"""Steps of what the source calls an epoch."""
LOOKED_EVERY = 10 * STEPS_A_UNIT
"""Steps between two checkpoints, as long as networks learn."""
LEARNING, LATER = 6_400, 1_600
"""Steps that the source followed D for; and steps between two checkpoints of one that is trained for longer."""


@dataclass(frozen=True, kw_only=True)
class SourceNetwork:
    """One kind of network whose circuits the source drew.

    Attributes:
        n_steps: look-ups a chain, D.
        n_layers: of one head each.
        wider: how much wider it is than our networks.
        d_head: channels of a head; 0: as many as the network has.
        mlp: what follows attention in each layer.
        batch_size: rows of a batch.
    """

    n_steps: int
    n_layers: int
    wider: int
    d_head: int = 0
    mlp: str = "none"
    batch_size: int

    def __str__(self) -> str:
        return f"D {self.n_steps}, every step, {self.n_layers} layers of one head"


DEEPEST = SourceNetwork(n_steps=4, n_layers=24, wider=8, d_head=16, batch_size=256)
"""Its transformer D."""
TWELVE = SourceNetwork(n_steps=3, n_layers=12, wider=2, mlp="gelu", batch_size=128)
"""Its transformers A, B and C."""
SOURCES = (TWELVE, DEEPEST)


def source_recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Each kind's arm and its recipes, one per seed."""
    deepest = tuple(_recipe(params, DEEPEST, params.source_steps, seed) for seed in params.source_seeds)
    twelve = tuple(_recipe(params, TWELVE, params.twelve_steps, seed) for seed in params.twelve_seeds)
    return {str(DEEPEST): deepest, str(TWELVE): twelve}


def _recipe(params: Params, of: SourceNetwork, steps: int, seed: int) -> Recipe:
    n_rows, d_model = ROWS_A_TEST_ROW * params.n_rows, of.wider * params.d_model
    task = ChainRetrieval(n_steps=of.n_steps, n_train=n_rows, n_test=params.n_rows)
    mlp = {"mlp": "none"} if of.mlp == "none" else {"mlp": of.mlp, "d_mlp": 4 * d_model}
    return Recipe(
        task=task.name,
        task_params=task.params,
        model=ModelConfig(
            d_vocab=task.d_out, n_ctx=task.max_length, d_in=task.d_in, n_layers=of.n_layers, n_heads=1, d_model=d_model,
            d_head=of.d_head, norm="layer", positions="none", tied=False, bias="all", norm_eps=1e-5, **mlp,
        ),
        optimizer=Optimizer(name="adamw", lr=1e-3, weight_decay=0.1),
        batch_size=of.batch_size,
        stages=(Stage(("train",), -(-steps // -(-n_rows // of.batch_size))),),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_at=tuple(_looked_at(steps)),
        engine=params.engine,
    )  # fmt: skip


def _looked_at(steps: int) -> Iterable[int]:
    yield from range(0, min(steps, LEARNING), LOOKED_EVERY)
    yield from range(LEARNING, steps, LATER)
    yield steps
