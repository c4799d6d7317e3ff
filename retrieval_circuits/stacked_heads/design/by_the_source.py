"""The source's deep networks by its own recipes: transformer D of its section 9, and one as A to C of its section 8.

D has attention alone: four look-ups, 24 layers, residual streams of 512 channels, one head of 16 a layer; 6,400 batches
of 256. A to C have MLPs: three look-ups, 12 layers, 128 channels, one head a layer; 24,000 batches of 128. Rows are a
fixed set of 262,144. Where the source is silent: a head of A to C as wide as the stream; of D rate and decay as in its
section 7 (1e-3, 0.1); constant rates; biases everywhere; a norm before each layer and one at the end. Its "epochs" are
units of eight steps.
"""

from dataclasses import dataclass

from circuitcore.models.config import ModelConfig
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET
from retrieval_circuits.stacked_heads.design.params import Params

ROWS_A_TEST_ROW = 1024
"""How many training rows these networks have for each of our test rows."""
STEPS_A_UNIT = 8
"""Steps of what the source calls an epoch."""
LOOKED_EVERY = 10 * STEPS_A_UNIT
"""Steps between two checkpoints of the deepest network."""


@dataclass(frozen=True)
class Deep:
    """One of the source's networks, where it differs from the others; sizes are for 64 channels and 6,400 steps.

    Attributes:
        n_steps: look-ups of a chain.
        n_layers: layers, of one head each.
        wider: how much wider it is than our networks.
        d_head: channels of a head; 0 for all of the stream.
        has_mlp: whether a layer has an MLP, four times as wide as the stream.
        longer: how many times as long it is trained as the deepest.
        batch_size: rows of a batch.
    """

    n_steps: int
    n_layers: int
    wider: int
    d_head: int
    has_mlp: bool
    longer: float
    batch_size: int

    def __str__(self) -> str:
        return f"D {self.n_steps}, every step, {self.n_layers} layers of one head"

    def recipe(self, params: Params, seed: int) -> Recipe:
        """How it is trained from a start of ours."""
        n_rows, steps = ROWS_A_TEST_ROW * params.n_rows, round(self.longer * params.source_steps)
        task = ChainRetrieval(n_steps=self.n_steps, n_train=n_rows, n_test=params.n_rows)
        width = self.wider * params.d_model
        model = ModelConfig(
            d_vocab=task.d_out, n_ctx=task.max_length, d_in=task.d_in, n_layers=self.n_layers, n_heads=1,
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
            checkpoint_at=(*range(0, steps, round(self.longer * LOOKED_EVERY)), steps),
            engine=params.engine,
        )


_NETWORKS = (
    Deep(n_steps=4, n_layers=24, wider=8, d_head=16, has_mlp=False, longer=1.0, batch_size=256),
    Deep(n_steps=3, n_layers=12, wider=2, d_head=0, has_mlp=True, longer=3.75, batch_size=128),
)
BY_THE_SOURCE = {str(network): network for network in _NETWORKS}
"""The arms and what each is of."""
DEEPEST, DEEP = BY_THE_SOURCE


def deep_recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Both arms and their recipes, one per seed."""
    seeds = {DEEPEST: params.source_seeds, DEEP: params.deep_seeds}
    return {arm: tuple(BY_THE_SOURCE[arm].recipe(params, seed) for seed in of_arm) for arm, of_arm in seeds.items()}
