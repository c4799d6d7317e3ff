"""The source's networks by its own recipes: the grid of its section 7, one as A to C of section 8, D of section 9.

The grid has one to eight layers of eight heads, 128 channels and MLPs: five look-ups with every symbol rewarded, or
three with the last alone; 10,000 batches of 512 from 1,048,576 rows. D has attention alone: four look-ups, 24 layers,
residual streams of 512 channels, one head of 16 a layer; 6,400 batches of 256. A to C have MLPs: three look-ups, 12
layers, 128 channels, one head a layer; 24,000 batches of 128. Rows are a fixed set, of 262,144 for D and for A to C.
Where the source is silent: heads as wide as their share of the stream, but for D; of D rate and decay as in its section
7 (1e-3, 0.1); constant rates; biases everywhere; a norm before each layer and one at the end. Its "epochs" are units of
eight steps.
"""

from dataclasses import dataclass

from circuitcore.models.config import ModelConfig
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET
from retrieval_circuits.stacked_heads.design.params import GRID_ROWS_A_TEST_ROW, ROWS_A_TEST_ROW, Params

STEPS_A_UNIT = 8
"""Steps of what the source calls an epoch."""
LOOKED_EVERY = 10 * STEPS_A_UNIT
"""Steps between two checkpoints of the deepest network."""


@dataclass(frozen=True, kw_only=True)
class BySource:
    """One of the source's networks, where it differs from others; sizes are for 64 channels and 6,400 steps.

    Attributes:
        n_steps: look-ups of a chain.
        n_layers: layers.
        n_heads: of each layer.
        wider: how much wider it is than our networks.
        d_head: channels of a head; 0: its share of the stream.
        has_mlp: whether a layer has an MLP, four times as wide as the stream.
        rewarded: whether every symbol of the chain is, or the last alone.
        longer: how many times as long it is trained as the deepest.
        batch_size: rows of a batch.
        rows_a_test_row: how many rows it is trained on, for each test row.
        looked_every: steps between two checkpoints, of one trained as long as the deepest.
    """

    n_steps: int
    n_layers: int
    n_heads: int = 1
    wider: int
    d_head: int = 0
    has_mlp: bool = True
    rewarded: bool = True
    longer: float
    batch_size: int
    rows_a_test_row: int = ROWS_A_TEST_ROW
    looked_every: int = LOOKED_EVERY

    def __str__(self) -> str:
        rewards = "every step" if self.rewarded else "only the last"
        layers = f"{self.n_layers} layer{'s' * (self.n_layers > 1)}"
        heads = "one head" if self.n_heads == 1 else f"{self.n_heads} heads"
        return f"D {self.n_steps}, {rewards}, {layers} of {heads}"

    def recipe(self, params: Params, seed: int) -> Recipe:
        """How it is trained from a start of ours."""
        n_rows, steps = self.rows_a_test_row * params.n_rows, round(self.longer * params.source_steps)
        targets = () if self.rewarded else (self.n_steps,)
        task = ChainRetrieval(n_steps=self.n_steps, targets=targets, n_train=n_rows, n_test=params.n_rows)
        width = self.wider * params.d_model
        model = ModelConfig(
            d_vocab=task.d_out, n_ctx=task.max_length, d_in=task.d_in, n_layers=self.n_layers, n_heads=self.n_heads,
            d_model=width, d_head=self.d_head, norm="layer", positions="none", tied=False, bias="all", norm_eps=1e-5,
            **({"mlp": "gelu", "d_mlp": 4 * width} if self.has_mlp else {"mlp": "none"}),
        )  # fmt: skip
        return Recipe(
            task=task.name,
            task_params=task.params,
            model=model,
            optimizer=Optimizer(name="adamw", lr=1e-3, weight_decay=0.1),
            batch_size=self.batch_size,
            stages=(Stage(("train",), -(-steps // -(-n_rows // self.batch_size))),),
            init_seed=seed,
            data_seed=DATA_SEED_OFFSET + seed,
            checkpoint_at=(*range(0, steps, round(self.longer * self.looked_every)), steps),
            engine=params.engine,
        )


_DEEP = (
    BySource(n_steps=4, n_layers=24, wider=8, d_head=16, has_mlp=False, longer=1.0, batch_size=256),
    BySource(n_steps=3, n_layers=12, wider=2, longer=3.75, batch_size=128),
)
_GRID = tuple(
    BySource(
        n_steps=n_steps, n_layers=n_layers, n_heads=8, wider=2, rewarded=rewarded, longer=10_000 / 6_400,
        batch_size=512, rows_a_test_row=GRID_ROWS_A_TEST_ROW, looked_every=320,
    )
    for n_steps, rewarded in ((5, True), (3, False))
    for n_layers in range(1, 9)
)  # fmt: skip
BY_THE_SOURCE = {str(network): network for network in _DEEP}
"""The arms of its deep networks and what each is of."""
DEEPEST, DEEP = BY_THE_SOURCE
SOURCE_GRID = {str(network): network for network in _GRID}
"""The arms of its grid, of which none is trained for the page: eight seeds of all take hundreds of hours."""


def recipes_by_the_source(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """All these arms and their recipes, one per seed."""
    networks, of_grid = BY_THE_SOURCE | SOURCE_GRID, dict.fromkeys(SOURCE_GRID, params.source_grid_seeds)
    seeds = {DEEPEST: params.source_seeds, DEEP: params.deep_seeds, **of_grid}
    return {arm: tuple(networks[arm].recipe(params, seed) for seed in of_arm) for arm, of_arm in seeds.items()}
