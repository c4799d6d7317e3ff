"""What is trained: ways of mixing numbers of hops, three depths of the best of them, and numbers of hops in turn.

Source: Wang et al., "Learning Compositional Functions with Transformers from Easy-to-Hard Data" (COLT 2025), by whom
the task is; sizes of small networks are not theirs. The recipe written down first (width 64, rows of one query, 256 of
them a batch, 10,000 steps) takes a minute and a half of a core a network here, and `batch_size`, `n_queries`,
`d_model` and `steps` still ask for it. Ours came from pilots on a seed that no arm has (900).
"""

from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.models.config import ModelConfig
from circuitcore.tasks.k_fold_composition import KFoldComposition
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.composition.measures import Counts, Exchanges, exchanges, hop_scores, removals
from retrieval_circuits.design import DATA_SEED_OFFSET, N_BESIDE, EngineName, Seeds, SomeSeeds
from retrieval_circuits.stacked_heads import design as chains

N_SYMBOLS, HOPS = 4, 4
"""Symbols, and the most hops that are asked for."""
MUCH_LONGER, IN_WORDS = 8, {8: "eight"}
"""How many times as long mixtures are trained on, chosen after a pilot; that number as a word."""
WORDS = {1: "one hop", 2: "two hops", 3: "three hops", 4: "four hops"}
STEPS_AN_EPOCH = 100
"""Steps of an "epoch", which here draws as many batches anew; ``Arm.times`` of them lie between two checkpoints."""
SELDOM = 4
"""Of networks by the width of their heads, of which the end is asked, every so many-th checkpoint alone."""
LEARNING_RATE, BETAS = 1e-3, (0.9, 0.98)
N_HEADS = 4
SHARES = {"wide": 4, "narrow": 8}
"""How often a head of a width goes into the width of the stream; four wide heads are what other layers have."""


class Way(NamedTuple):
    """What is trained on: numbers of hops that are mixed all along, or one number after another for so many parts.

    In turn, the numbers before may be asked for as well (``kept``), all equally often.
    """

    name: str
    mixed: tuple[int, ...] = ()
    in_turn: tuple[int, ...] = ()
    parts: tuple[int, ...] = ()
    kept: bool = False

    def turns(self, epochs: int) -> tuple[int, ...]:
        """How many epochs each turn lasts, of so many; where all is mixed there is one."""
        return tuple(epochs * part // N_PARTS for part in self.parts or (N_PARTS,))

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits trained on, stage by stage."""
        first, *others = (f"hops_{hops}" for hops in self.in_turn) if self.in_turn else ("train",)
        if self.kept:
            *before, _ = self.in_turn[1:]
            others = [*(f"up_to_{hops}" for hops in before), "train"]
        return (first, *others)


class Arm(NamedTuple):
    """A way of training, layers, how many times as long as others it trains, whether its seeds are fresh, and heads.

    Fresh seeds test what the first ones suggested. Without a word for their width more heads are narrower: of all
    layers together they have as many weights.
    """

    way: Way
    n_layers: int
    times: int = 1
    fresh: bool = False
    n_heads: int = N_HEADS
    width: str = ""  # "narrow" or "wide"; "": of all heads of a layer together as wide as the stream

    def __str__(self) -> str:
        sort = f"{self.width} heads" if self.width else "heads"
        heads = f" of {self.n_heads} {sort}" if self.width or self.n_heads != N_HEADS else ""
        longer = f", {IN_WORDS[self.times]} times as long" if self.times > 1 else ""
        return f"{self.way.name}, {self.n_layers} layers{heads}{longer}{', fresh seeds' if self.fresh else ''}"


ONLY = Way("four hops alone", mixed=(4,))
MIXTURE = Way("one to four, mixed", mixed=(1, 2, 3, 4))
POWERS = Way("one, two and four, mixed", mixed=(1, 2, 4))
N_PARTS = 12
"""Equal parts of training, of which each number of hops in turn has some: longer for more hops, as a pilot took."""
STEPWISE = Way("one, two, three, four in turn", in_turn=(1, 2, 3, 4), parts=(1, 2, 3, 6))
DOUBLED = Way("one, two, four in turn", in_turn=(1, 2, 4), parts=(1, 2, 9))
KEPT = Way("one to four, one more a turn", in_turn=(1, 2, 3, 4), parts=(1, 2, 3, 6), kept=True)
REVERSED = Way("four, three, two, one in turn", in_turn=(4, 3, 2, 1), parts=(6, 3, 2, 1))
WAYS = (ONLY, MIXTURE, POWERS)
N_LAYERS = 3
"""Layers with which mixtures are compared: enough for four hops if each doubles, one too few if each makes one."""
DEPTHS = (2, 3, 4)
FOLLOWED = Arm(MIXTURE, N_LAYERS)
COMPARED = tuple(Arm(way, N_LAYERS) for way in WAYS)
BY_DEPTH = TWO, THREE, FOUR = tuple(Arm(MIXTURE, n_layers) for n_layers in DEPTHS)
ALONE, ALONE_DEEP = (Arm(ONLY, n_layers) for n_layers in (N_LAYERS, HOPS))
IN_TURN = FORWARD, ADDING, BY_POWERS, BACKWARDS = tuple(Arm(way, HOPS) for way in (STEPWISE, KEPT, DOUBLED, REVERSED))
"""With as many layers as hops."""
TAUGHT = (ALONE_DEEP, FOUR, *IN_TURN)
SHALLOW = STEPWISE_THREE, KEPT_THREE, DOUBLED_THREE, KEPT_TWO = (
    *(Arm(way, N_LAYERS) for way in (STEPWISE, KEPT, DOUBLED)), Arm(KEPT, N_LAYERS - 1)
)  # fmt: skip
"""Taught in turn with fewer layers than hops: what is learnt then is more than a hop a layer."""
LONG = LONG_TWO, LONG_THREE, LONG_FOUR = tuple(Arm(MIXTURE, n_layers, MUCH_LONGER) for n_layers in DEPTHS)
"""The mixture again, trained for much longer."""
FRESH_TWO = Arm(MIXTURE, 2, MUCH_LONGER, fresh=True)
"""Two layers once more: what the first of them suggested is tested on these."""
FEW_HEADS, MANY_HEADS = (Arm(MIXTURE, 2, MUCH_LONGER, n_heads=n_heads) for n_heads in (2, 8))
"""Two layers of fewer and of more heads, as long: whether heads are what two layers make hops with."""
FEW_HEADS_THREE = Arm(MIXTURE, 3, MUCH_LONGER, n_heads=2)
"""Three layers of fewer heads: whether depth makes up for them."""
BY_HEADS = (FEW_HEADS, MANY_HEADS, FEW_HEADS_THREE)
BY_WIDTH = FOUR_NARROW, FOUR_WIDE, EIGHT_NARROW, EIGHT_WIDE = tuple(
    Arm(MIXTURE, 2, MUCH_LONGER, n_heads=n_heads, width=width) for n_heads in (4, 8) for width in ("narrow", "wide")
)
"""Two layers of four and of eight heads, each with narrow and with wide ones: which of the two is it?"""
TAKEN_APART = (LONG_TWO, FRESH_TWO, MANY_HEADS)
"""Arms of which single heads are removed."""
BY_HOPS = (STEPWISE_THREE, KEPT_THREE)
KEPT_BY_DEPTH = (KEPT_TWO, KEPT_THREE, ADDING)
ARMS = tuple(dict.fromkeys((*COMPARED, *BY_DEPTH, *TAUGHT, *SHALLOW, *LONG, FRESH_TWO, *BY_HEADS, *BY_WIDTH)))
MORE_SEEDED = (ALONE, *BY_DEPTH, FORWARD, ADDING)
"""Arms that have more seeds: what the main claims compare."""

FIRST_OF_THEIR_OWN = 11
"""The first seed whose networks have hidden permutations of their own; those before share one set."""


def hidden_of(seed: int) -> int:
    """The seed of the hidden permutations that networks of an init seed are trained with."""
    return 0 if seed < FIRST_OF_THEIR_OWN else seed


LOOK_UPS = {str(cell): cell for cell in chains.REWARDED}
"""Networks of the chapter on stacked heads that are drawn beside ours: chains of two look-ups, by layers."""
THEIRS = {
    "d_model": 64, "batch_size": 128, "steps": 3000, "unrewarded_steps": 10_000, "three_steps": 8000,
    "source_steps": 6400, "word_steps": 7680, "n_rows": 256,
}  # fmt: skip
"""That chapter's published sizes, so that its published runs are read and none is trained."""


class Params(BaseModel):
    """Parameters of the chapter; ``params/composition.yaml`` holds the published values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    seeds: Annotated[SomeSeeds, Field(description="init seeds of every arm but those in turn")]
    more_seeds: Annotated[Seeds, Field(description="more init seeds of what the main claims compare; may be empty")]
    in_turn_seeds: Annotated[SomeSeeds, Field(description="init seeds of networks of four layers taught in turn")]
    shallow_seeds: Annotated[SomeSeeds, Field(description="init seeds of networks of fewer layers taught in turn")]
    long_seeds: Annotated[Seeds, Field(description="init seeds of mixtures trained eight times as long; may be empty")]
    more_long_seeds: Annotated[Seeds, Field(description="more init seeds of three layers, as long; may be empty")]
    fresh_seeds: Annotated[Seeds, Field(description="init seeds of two layers, as long, that test what those suggest")]
    head_seeds: Annotated[SomeSeeds, Field(description="init seeds of layers of 2 and of 8 heads, as long")]
    width_seeds: Annotated[Seeds, Field(description="init seeds of two layers, as long, of heads of each width")]
    look_up_seeds: Annotated[Seeds, Field(description="seeds of stacked heads' networks to draw beside; may be empty")]
    d_model: Annotated[int, Field(ge=8, le=512, multiple_of=8, description="width; no MLP")]
    n_queries: Annotated[int, Field(ge=1, le=64, description="queries of a row")]
    batch_size: Annotated[int, Field(ge=1, le=4096, description="rows of a batch")]
    steps: Annotated[int, Field(ge=1200, le=200_400, multiple_of=1200, description="of training, all stages together")]
    n_rows: Annotated[int, Field(ge=8, le=20_000, multiple_of=4, description="test rows that accuracy is measured on")]
    n_pairs: Annotated[int, Field(ge=8, le=20_000, description="pairs of test rows that are patched")]
    engine: EngineName


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed; those of stacked heads beside them, which that chapter published.

    Arms without seeds are left out.
    """
    ours = {str(arm): tuple(_recipe(params, arm, seed) for seed in seeds_of(params, arm)) for arm in ARMS}
    ours = {arm: made for arm, made in ours.items() if made}
    if not params.look_up_seeds:
        return ours
    theirs = chains.recipes(_theirs(params))
    return ours | {name: theirs[name] for name in LOOK_UPS}


def seeds_of(params: Params, arm: Arm) -> tuple[int, ...]:
    """Init seeds of an arm; four hops alone, as deep as networks taught in turn, stand beside these and have theirs."""
    if arm in SHALLOW:
        return params.shallow_seeds
    if arm in LONG:
        return (*params.long_seeds, *(params.more_long_seeds if arm == LONG_THREE else ()))
    if arm == FRESH_TWO:
        return params.fresh_seeds
    if arm in BY_HEADS:
        return params.head_seeds
    if arm in BY_WIDTH:
        return params.width_seeds
    first = params.in_turn_seeds if arm in (ALONE_DEEP, *IN_TURN) else params.seeds
    return tuple(dict.fromkeys((*first, *(params.more_seeds if arm in MORE_SEEDED else ()))))


def _theirs(params: Params) -> chains.Params:
    beside_the_grid = {name: () for name in chains.Params.model_fields if name.endswith("_seeds")}
    return chains.Params(seeds=params.look_up_seeds, engine=params.engine, **beside_the_grid, **THEIRS)


def task_of(params: Params, way: Way, seed: int) -> KFoldComposition:
    """The task of a way of training and a seed; all have the same test rows, but for what is hidden."""
    return KFoldComposition(
        n_symbols=N_SYMBOLS, n_hops=HOPS, mixed=way.mixed or tuple(sorted(way.in_turn)), n_queries=params.n_queries,
        hidden_seed=hidden_of(seed), n_rows=params.n_rows // HOPS,
    )  # fmt: skip


def _recipe(params: Params, arm: Arm, seed: int) -> Recipe:
    task = task_of(params, arm.way, seed)
    epochs = arm.times * params.steps // STEPS_AN_EPOCH
    fresh = STEPS_AN_EPOCH * params.batch_size
    stages = zip(arm.way.splits, arm.way.turns(epochs), strict=True)
    return Recipe(
        task=task.name,
        task_params=task.params,
        model=ModelConfig(
            d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=arm.n_layers, n_heads=arm.n_heads,
            d_model=params.d_model, d_head=params.d_model // SHARES[arm.width] if arm.width else 0, d_mlp=0,
            norm="layer", positions="none", mlp="none", tied=False, bias="none",
        ),
        optimizer=Optimizer(name="adam", lr=LEARNING_RATE, betas=BETAS),
        batch_size=params.batch_size,
        stages=tuple(Stage((split,), lasts, fresh) for split, lasts in stages),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_epochs=tuple(range(0, epochs + 1, SELDOM * arm.times if arm in BY_WIDTH else arm.times)),
        engine=params.engine,
    )  # fmt: skip


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """Accuracy of every checkpoint by number of hops, and at the end what each layer holds, or what single heads cost.

    Theirs as they have it.
    """
    if arm in LOOK_UPS:
        return chains.instruments(_theirs(params), arm)
    scored, patched = Counts(n_rows=params.n_rows), Exchanges(n_pairs=min(params.n_pairs, params.n_rows))
    found = [Instrument(name="measurements", version=1, measures=hop_scores, settings=scored)]
    if arm not in map(str, (*BY_HEADS, *BY_WIDTH)):
        found.append(Instrument(name="exchanges", version=1, measures=exchanges, when="last", settings=patched))
    if arm in map(str, TAKEN_APART):
        found.append(Instrument(name="removals", version=1, measures=removals, when="last", settings=scored))
    return tuple(found)


SHIPPED_AT = {str(FOUR): (1 / 4, 1 / 2, 1), str(FORWARD): (1,)}
"""Shares of training after which weights of one network of an arm are shipped."""


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Epochs whose weights are shipped: of a network of four layers through training, and the ends of ten others.

    Of stacked heads' networks those that its chapter ships.
    """
    if arm in LOOK_UPS:
        return chains.published_epochs(_theirs(params), arm, seed)
    epochs = params.steps // STEPS_AN_EPOCH
    if seed == params.seeds[0] and arm in SHIPPED_AT:
        return tuple(round(share * epochs) for share in SHIPPED_AT[arm])
    return (epochs,) if arm == str(FOUR) and seed in sorted(seeds_of(params, FOUR))[:N_BESIDE] else ()
