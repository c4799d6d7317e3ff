"""The source's deepest network, transformer D of its section 9, by its own recipe: attention alone, one head a layer.

Four look-ups, 24 layers, residual streams of 512 channels, heads of 16, no MLP; 6,400 batches of 256, out of a fixed
set of 262,144 rows. Where the source is silent: rate and decay as in its section 7 (1e-3, 0.1), constant; biases
everywhere; a norm before each layer and one at the end. Its "epochs" are units of eight steps.
"""

from circuitcore.models.config import ModelConfig
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET
from retrieval_circuits.stacked_heads.design.params import Params

DEEPEST = "D 4, every step, 24 layers of one head"
N_STEPS, N_LAYERS, D_HEAD, BATCH_SIZE = 4, 24, 16, 256
WIDER, ROWS_A_TEST_ROW = 8, 1024
"""How much wider it is than our networks, and how many training rows it has for each of our test rows."""
STEPS_A_UNIT = 8
"""Steps of what the source calls an epoch."""
LOOKED_EVERY = 10 * STEPS_A_UNIT
"""Steps between two checkpoints."""


def deepest_recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """The arm and its recipes, one per seed."""
    n_rows = ROWS_A_TEST_ROW * params.n_rows
    task = ChainRetrieval(n_steps=N_STEPS, n_train=n_rows, n_test=params.n_rows)
    model = ModelConfig(
        d_vocab=task.d_out, n_ctx=task.max_length, d_in=task.d_in, n_layers=N_LAYERS, n_heads=1,
        d_model=WIDER * params.d_model, d_head=D_HEAD, norm="layer", positions="none", mlp="none", tied=False,
        bias="all", norm_eps=1e-5,
    )  # fmt: skip
    steps = params.source_steps
    return {
        DEEPEST: tuple(
            Recipe(
                task=task.name,
                task_params=task.params,
                model=model,
                optimizer=Optimizer(name="adamw", lr=1e-3, weight_decay=0.1),
                batch_size=BATCH_SIZE,
                stages=(Stage(("train",), -(-steps // -(-n_rows // BATCH_SIZE))),),
                init_seed=seed,
                data_seed=DATA_SEED_OFFSET + seed,
                checkpoint_at=(*range(0, steps, LOOKED_EVERY), steps),
                engine=params.engine,
            )
            for seed in params.source_seeds
        )
    }
