"""The recipes of all arms, what is measured on each, and what needs no training."""

from dataclasses import replace

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.models.config import ModelConfig
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Optimizer, Recipe, Stage
from retrieval_circuits.design import DATA_SEED_OFFSET, N_BESIDE
from retrieval_circuits.stacked_heads.design.by_the_source import BY_THE_SOURCE, DEEP, recipes_by_the_source
from retrieval_circuits.stacked_heads.design.four import EVERY_FOUR, FOUR, FRESH_FOUR, WITHOUT_THIRD
from retrieval_circuits.stacked_heads.design.grid import ALONE, FOLLOWED, GRID, N_ALONE, ONE_DEEP, SIX_ALONE, Cell
from retrieval_circuits.stacked_heads.design.lessons import FRESH, FRESH_ONE, LONGER, TAUGHT, Lesson
from retrieval_circuits.stacked_heads.design.params import STEPS_AN_EPOCH, Params
from retrieval_circuits.stacked_heads.design.three import (
    FRESH_SCARCE,
    LONG_SCARCE,
    N_LONG,
    ONE_EACH,
    SCARCE,
    THREE,
    THREE_LAST,
    THREE_TAUGHT,
    TO_SPARE,
)
from retrieval_circuits.stacked_heads.design.wait import CHANGES
from retrieval_circuits.stacked_heads.design.words import ASKED_AS_WELL, SPOKEN, word_recipes
from retrieval_circuits.stacked_heads.measures import (
    Counts,
    Flow,
    HeldOut,
    KnownLinks,
    OneLayer,
    Reading,
    Vocabulary,
    WordCounts,
    chain_scores,
    exchanged_values,
    false_paths,
    final_links,
    hops_by_two,
    information_flow,
    known_links,
    named_paths,
    needed_looks,
    one_layer,
    one_layer_vocabulary,
    one_of_two,
    read_circuit,
    word_scores,
)

N_LOOKED = 32
"""Rows on which attention is averaged, as in the source."""
N_READ = 64
"""Rows on which circuits are read."""
LONGEST = 128
"""Look-ups up to which the theory is counted."""
LEARNING_RATE, WEIGHT_DECAY = 1e-3, 0.1
N_LOOKS = 60
"""Checkpoints of a run, about: long training is not looked at as densely."""
FRESH_EVERY = 25
"""Steps between two checkpoints of the fresh seeds, whose paths are dated."""


def recipes(params: Params) -> dict[str, tuple[Recipe, ...]]:
    """Arm -> its recipes, one per seed."""
    seeds = dict.fromkeys(GRID, params.seeds)
    seeds |= dict.fromkeys((*ALONE, SIX_ALONE, *ONE_DEEP), params.seeds[:N_ALONE])
    seeds |= dict.fromkeys((*THREE, THREE_LAST), params.three_seeds)
    made = {str(cell): tuple(_of_cell(params, cell, seed) for seed in of_cell) for cell, of_cell in seeds.items()}
    for lesson, of_lesson in lessons(params).items():
        made[str(lesson)] = tuple(_of_lesson(params, lesson, seed) for seed in of_lesson)
    for change in CHANGES:
        made[str(change)] = tuple(change.of(_of_cell(params, FOLLOWED, seed)) for seed in params.taught_seeds)
    made |= recipes_by_the_source(params) | word_recipes(params)
    return {arm: of_arm for arm, of_arm in made.items() if of_arm}


def lessons(params: Params) -> dict[Lesson, tuple[int, ...]]:
    """What is taught beside the grid -> init seeds."""
    return {
        **dict.fromkeys(TAUGHT, params.taught_seeds),
        **dict.fromkeys((FRESH, FRESH_ONE), params.fresh_seeds),
        **dict.fromkeys(LONGER, params.taught_seeds),
        **dict.fromkeys(THREE_TAUGHT, params.three_seeds),
        FRESH_SCARCE: params.fresh_seeds,
        LONG_SCARCE: params.fresh_seeds[:N_LONG],
        **dict.fromkeys(FOUR, params.three_seeds),
        FRESH_FOUR: params.fresh_four_seeds,
    }


def task_of(params: Params, cell: Cell) -> ChainRetrieval:
    """The task of a cell; all cells of one length have the same test rows."""
    return ChainRetrieval(n_steps=cell.n_steps, targets=cell.targets, n_test=params.n_rows)


def _of_cell(params: Params, cell: Cell, seed: int) -> Recipe:
    epochs = _steps(params, cell) // STEPS_AN_EPOCH
    return _recipe(params, task_of(params, cell), cell.n_layers, seed, (("train", epochs),))


def _steps(params: Params, cell: Cell) -> int:
    if cell.n_steps > FOLLOWED.n_steps:
        return params.three_steps
    return params.steps if cell.rewarded else params.unrewarded_steps


def lesson_steps(params: Params, lesson: Lesson) -> int:
    """Steps of a lesson's networks: of the fresh ones of the followed cell half, as those had learnt all by then."""
    if lesson.n_steps > FOLLOWED.n_steps:
        steps = params.three_steps
    else:
        steps = params.steps // 2 if lesson == FRESH else params.steps
    return lesson.longer * steps


def stages_of(params: Params, lesson: Lesson) -> list[tuple[str, int]]:
    """The splits that networks of a lesson see in turn, and for how many epochs of ``STEPS_AN_EPOCH`` steps."""
    steps, ends, share = lesson_steps(params, lesson), [0], 0.0
    for _, part in lesson.stages:
        share += part
        ends.append(round(share * steps / STEPS_AN_EPOCH))
    ends[-1] = -(-steps // STEPS_AN_EPOCH)
    return [(split, ends[i + 1] - ends[i]) for i, (split, _) in enumerate(lesson.stages)]


def _of_lesson(params: Params, lesson: Lesson, seed: int) -> Recipe:
    stages = stages_of(params, lesson)
    made = _recipe(params, lesson.task(params.n_rows), lesson.n_layers, seed, stages)
    if lesson == FRESH:
        steps = lesson_steps(params, lesson)
        return replace(made, checkpoint_epochs=(), checkpoint_at=tuple(range(0, steps + 1, FRESH_EVERY)))
    return made


def _recipe(params: Params, task: ChainRetrieval, n_layers: int, seed: int, stages) -> Recipe:
    epochs = sum(part for _, part in stages)
    every = max(1, epochs // N_LOOKS)
    return Recipe(
        task=task.name,
        task_params=task.params,
        model=ModelConfig(
            d_vocab=task.d_out, n_ctx=task.max_length, d_in=task.d_in, n_layers=n_layers, n_heads=4,
            d_model=params.d_model, d_mlp=4 * params.d_model, norm="layer", positions="none", mlp="gelu", tied=False,
            bias="all", norm_eps=1e-5,
        ),
        optimizer=Optimizer(name="adamw", lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY),
        batch_size=params.batch_size,
        stages=tuple(Stage((split,), part, STEPS_AN_EPOCH * params.batch_size) for split, part in stages if part),
        init_seed=seed,
        data_seed=DATA_SEED_OFFSET + seed,
        checkpoint_epochs=(*range(0, epochs, every), epochs),
        engine=params.engine,
    )  # fmt: skip


def instruments(params: Params, arm: str) -> tuple[Instrument, ...]:
    """Losses of every checkpoint; of the cell that is followed where its heads look, and at the end its circuit.

    Of that cell, of three layers trained on, and of the source's network of twelve layers, also which looks are needed.
    Of fresh seeds also what tries a circuit; of chains of three links and circuits at the end; of words the answers.
    """
    if spoken := {str(spoken): spoken for spoken in SPOKEN}.get(arm):
        asked = WordCounts(n_rows=params.n_rows, others=ASKED_AS_WELL.get(spoken.formulation, ()))
        return (Instrument(name="measurements", version=1, measures=word_scores, settings=asked),)
    followed = arm == str(FOLLOWED)
    counts = Counts(n_rows=params.n_rows, n_looked=N_LOOKED if followed else 0)
    scores = Instrument(name="measurements", version=1, measures=chain_scores, settings=counts)
    how = Reading(n_rows=min(params.n_rows, N_READ))
    circuit = Instrument(name="circuit", version=1, measures=read_circuit, when="last", settings=how)
    looked = Counts(n_rows=0, n_looked=N_LOOKED)
    links = Instrument(name="links", version=1, measures=final_links, when="last", settings=looked)
    if arm in map(str, (SCARCE, ONE_EACH, FRESH_SCARCE, EVERY_FOUR, WITHOUT_THIRD, FRESH_FOUR)):
        return (scores, links, circuit)
    paths = Instrument(name="paths", version=1, measures=named_paths, settings=looked)
    needed = Instrument(name="needed", version=1, measures=needed_looks, when="last", settings=how)
    if arm == str(LONG_SCARCE):
        return (scores, needed)
    if arm in BY_THE_SOURCE:
        return (scores, circuit, paths, needed) if arm == DEEP else (scores, circuit, paths)
    if arm == str(FRESH):
        return (
            scores,
            circuit,
            paths,
            Instrument(name="exchanges", version=1, measures=exchanged_values, when="last", settings=how),
            Instrument(name="false_paths", version=1, measures=false_paths, when="last", settings=how),
        )
    if followed:
        return (scores, circuit, needed)
    return (scores, circuit) if arm == str(TO_SPARE) else (scores,)


FLOW, WIRED, VOCABULARY = "information_flow", "one_layer", "one_layer_vocabulary"
BY_TWO, WORTH, KNOWN = "hops_by_two", "one_of_two", "known_links"
"""Names of the experiments."""


def experiments(params: Params) -> tuple[Experiment, ...]:
    """What needs no training: layers by the source's assumptions, one that breaks them, and what a symbol is worth."""
    wired = OneLayer(lengths=(2, 3), n_rows=params.n_rows, nearest=1e-6)
    neurons = tuple(2**power for power in range(6, 13))  # 512 is what a layer of the source's networks has
    small = Vocabulary(shapes=((1, 4), (2, 2)), neurons=neurons, n_rows=params.n_rows)
    return (
        Experiment(name=FLOW, version=1, function=information_flow, params=Flow(longest=LONGEST)),
        Experiment(name=WIRED, version=1, function=one_layer, params=wired),
        Experiment(name=VOCABULARY, version=1, function=one_layer_vocabulary, params=small),
        Experiment(name=BY_TWO, version=1, function=hops_by_two, params=Flow(longest=LONGEST // 2)),
        Experiment(name=WORTH, version=1, function=one_of_two, params=HeldOut(n_rows=params.n_rows)),
        Experiment(name=KNOWN, version=1, function=known_links, params=KnownLinks(n_prompts=params.n_rows)),
    )


LOOKS_AHEAD, FIRST_ALONE = 4, 16
"""Seed of a network that looks ahead, and an epoch at which it has its first look-up alone."""


def published_epochs(params: Params, arm: str, seed: int) -> tuple[int, ...]:
    """Epochs whose weights are shipped, for the stage: the ends of ten networks of the cell that is followed.

    Of one that looks ahead also a checkpoint at which its first look-up has appeared and its second has not. A
    checkpoint takes 0.7 MB.
    """
    beside = sorted(params.seeds)[:N_BESIDE]
    if arm != str(FOLLOWED) or seed not in beside:
        return ()
    epochs = params.steps // STEPS_AN_EPOCH
    return (FIRST_ALONE, epochs) if seed == LOOKS_AHEAD and FIRST_ALONE < epochs else (epochs,)
