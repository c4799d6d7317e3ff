"""What is trained on words: the links of the source's prompts F1 and F5, at six depths of the network.

Rows are those of ``chain_words``. Width, rows, batches and steps come from a pilot on a seed that no arm has (0): ten
networks, nine minutes of one core. Six were 48 to 64 wide and read 20,000 to 130,000 rows, each once, of up to three to
six look-ups: the first, of 300 steps, answered nothing, the others one look-up and no more. Half as wide, a network
takes a quarter of the time a row. Two that saw 16,384 rows again and again, in batches of 64, answered one look-up
after 512 steps; then one of four layers two look-ups after 4,000 and no third by 5,120, one of six layers none of
these by 8,192. With 4,096 rows one of four layers answered two after 2,500 and three after 4,100, on new prompts: this
is what the arms have. On F5 a network of five layers named one of sixteen countries at random after 1,536 steps.
"""

from dataclasses import dataclass, replace
from math import factorial

from circuitcore.models.config import ModelConfig
from circuitcore.tasks.chain_prompts import FORMULATIONS
from circuitcore.tasks.chain_words import ChainWords
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET
from retrieval_circuits.stacked_heads.design.params import WORDS_EVERY, Params

D_MODEL, N_HEADS = 32, 2
"""Heads of 16 channels, which RoPE turns in pairs."""
LEARNING_RATE, WEIGHT_DECAY, WARMUP = 3e-3, 0.1, 100


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """Networks of one depth that are trained on one kind of prompt.

    Attributes:
        formulation: "F1" or "F5".
        n_layers: of the network.
    """

    formulation: str
    n_layers: int

    def __str__(self) -> str:
        return f"words of {self.title}, {self.depth}"

    @property
    def title(self) -> str:
        """What a reader calls the prompts."""
        return FORMULATIONS[self.formulation].title

    @property
    def depth(self) -> str:
        """Its layers in words."""
        return f"{self.n_layers} layer{'s' * (self.n_layers > 1)}"


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The rows of one kind of prompt that a network sees again and again.

    Attributes:
        depths: look-ups of its chains; none: the one depth that there is.
        wanted: at the questions alone, or at the end of every line as well (``ChainWords``).
        n_rows: rows of a network's own.
        batch_size: rows a step.
        share: of ``Params.word_steps``; rows of F5 are three times as long.
    """

    depths: tuple[int, ...]
    wanted: str
    n_rows: int
    batch_size: int
    share: float


CORPORA = {
    "F1": Corpus(depths=(1, 2, 3), wanted="every line", n_rows=4_096, batch_size=64, share=1.0),
    "F5": Corpus(depths=(), wanted="questions", n_rows=4_096, batch_size=32, share=1 / 3),
}
"""Of F5 the answers alone are rewarded. Lines that name a country end in one, and could have been rewarded, too."""
LAYERS = (1, 2, 3, 4, 5, 6)
EQUATIONS = tuple(Spoken(formulation="F1", n_layers=n) for n in LAYERS)
RELATIVES = tuple(Spoken(formulation="F5", n_layers=n) for n in LAYERS)
SPOKEN = (*EQUATIONS, *RELATIVES)
ASKED_AS_WELL = {"F1": ("F4",)}
"""Trained on -> further prompts in the same words, of which nothing is trained on.

F2 and F3 have words of their own, for which these networks have no vectors. With a letter put for each word they are
rows of F1 of five look-ups, levels of four in random bijections, so that there is nothing to ask that F1 does not ask.
"""


def word_recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed."""
    return {str(arm): tuple(_recipe(params, arm, seed) for seed in params.word_seeds) for arm in SPOKEN}


def word_task(params: Params, formulation: str, seed: int = 0) -> ChainWords:
    """The task that networks of a kind of prompt are trained on; every seed has rows of its own."""
    corpus = CORPORA[formulation]
    n_rows = min(corpus.n_rows, word_steps(params, formulation) * corpus.batch_size)
    return ChainWords(
        formulation=formulation, depths=corpus.depths, wanted=corpus.wanted, n_train=n_rows, n_test=1, seed=seed
    )


def word_steps(params: Params, formulation: str) -> int:
    """Updates of a network: as many whole ``WORDS_EVERY`` as fit, at least one update."""
    steps = round(params.word_steps * CORPORA[formulation].share)
    return steps // WORDS_EVERY * WORDS_EVERY or steps


def share_repeated(look_ups: int = 1, *, in_order: bool = True) -> float:
    """Of prompts of equations with so many look-ups, the share that repeats the lines of a training row.

    In [0, 1], expected over draws. The four lines of a block are one of 4! bijections, in one of 4! orders, each as
    likely; every third training row has so many look-ups.

    Args:
        look_ups: 1 to 3.
        in_order: lines must come in the same order within each block; else the same links are enough.
    """
    corpus, n_prompts = CORPORA["F1"], factorial(4) ** (look_ups * (1 + in_order))
    return 1 - (1 - 1 / n_prompts) ** (corpus.n_rows / len(corpus.depths))


def n_passes(params: Params, formulation: str) -> int:
    """How often a network sees each of its rows."""
    n_seen = word_steps(params, formulation) * CORPORA[formulation].batch_size
    return -(-n_seen // word_task(params, formulation).n_train)


def longest_asked(task: ChainWords) -> int:
    """Positions of the longest row that a network of this task is asked, those it is not trained on included."""
    others = (replace(task, formulation=name, depths=(), wanted="questions") for name in asked_as_well(task))
    return max(other.max_length for other in (task, *others))


def asked_as_well(task: ChainWords) -> tuple[str, ...]:
    """Kinds of prompts that networks of this task are asked and not trained on."""
    return ASKED_AS_WELL.get(task.formulation, ())


def _recipe(params: Params, arm: Spoken, seed: int) -> Recipe:
    task, steps = word_task(params, arm.formulation, seed), word_steps(params, arm.formulation)
    return Recipe(
        task=task.name,
        task_params=task.params,
        model=ModelConfig(
            d_vocab=len(task.vocab), n_ctx=longest_asked(task), n_layers=arm.n_layers, n_heads=N_HEADS, d_model=D_MODEL,
            d_mlp=4 * D_MODEL, norm="layer", positions="rope", mlp="gelu", tied=True, bias="all", norm_eps=1e-5,
        ),
        optimizer=Optimizer(
            name="adamw", lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=WEIGHT_DECAY, warmup=min(WARMUP, steps)
        ),
        batch_size=CORPORA[arm.formulation].batch_size,
        stages=(Stage(("train",), n_passes(params, arm.formulation)),),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_at=(*range(0, steps, WORDS_EVERY), steps),
        engine=params.engine,
    )  # fmt: skip
