"""A finished run's training, step by step once more: its batches, gradients, updates and moments, to the same bits.

Only weights are kept with a run. What else there was at a step is computed again from where a state is kept, or from
the start, and checked against every checkpoint on the way.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol, runtime_checkable

from torch import Tensor

import circuitcore.training as training
from circuitcore.ground.environment import Folders
from circuitcore.training.during import StateOf
from circuitcore.training.engines import intervene, make_engine
from circuitcore.training.engines.engine import StepStats, one_thread
from circuitcore.training.errors import CheckpointError, StoreError
from circuitcore.training.loop import begin, check_same_rows, versions
from circuitcore.training.recipe import Recipe
from circuitcore.training.schedule import Rows
from circuitcore.training.store.checkpoint import pack, read_sealed, seal
from circuitcore.training.store.durable import write_durably
from circuitcore.training.store.file_bytes import sha256
from circuitcore.training.store.ledger import checkpoint_name
from circuitcore.training.store.run import Run

STATES_FOLDER = ".states"  # of a store's root: for each run the states that were asked for


@runtime_checkable
class Runs(Protocol):
    """What is asked of a ``RunStore`` here."""

    root: Path
    allow_tasks: Collection[str]

    def of_recipe(self, recipe_sha256: str) -> Run:
        """The finished run of the recipe with that hash."""


@dataclass(frozen=True, eq=False)
class Step:
    """One update of a run.

    Attributes:
        step: its number, from 1.
        rows: the batch.
        stats: the batch's mean loss, and the norm of its whole gradient, before the update.
        gradient: that gradient, unclipped, by the names of the weights.
        before: state of the engine before it: ``weights.NAME``, moments such as ``exp_avg.NAME``, and ``step``.
        after: state after it.
    """

    step: int
    rows: Rows
    stats: StepStats
    gradient: Mapping[str, Tensor]
    before: Mapping[str, Tensor]
    after: Mapping[str, Tensor]

    @property
    def update(self) -> dict[str, Tensor]:
        """What the update added to each tensor of the weights."""
        before = of_part(self.before, "weights")
        return {name: value - before[name] for name, value in of_part(self.after, "weights").items()}


def of_part(state: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    """One part of an engine's state by the names of the weights: "weights", "exp_avg", "momentum_buffer"."""
    return {name.removeprefix(f"{part}."): value for name, value in state.items() if name.startswith(f"{part}.")}


def replay(run: Run, start: int, stop: int, store: Runs | None = None) -> Iterator[Step]:
    """The updates ``start + 1`` to ``stop`` of a finished run.

    Args:
        run: trained here or elsewhere; of its files only ledger and recipe are needed.
        start: updates done before the first one asked for.
        stop: the last one asked for.
        store: where states are kept and other runs are found; by default where the run is, or for one that
            is published the store of the environment.

    Raises:
        StoreError: no such steps; a task whose rows have changed; or a checkpoint that comes out otherwise than the
            ledger has it, as it may on another processor.
        RecipeError: the recipe's engine cannot be used here.
    """
    if not 0 <= start <= stop <= run.final_step:
        raise StoreError(f"{run.run_id}: steps {start} to {stop}; allowed: an interval of 0..{run.final_step}.")
    store = store or _store_of(run)
    course = _Course(run, store)
    if start:
        course.go_to(start, state_at(run, start, store))
    for rows in course.batches(stop):
        before, batch = course.engine.state(), (rows.tokens, rows.targets, rows.loss_mask)
        with one_thread():
            gradient, stats = course.engine.gradient(*batch), course.engine.step(*batch)
        yield Step(course.step + 1, rows, stats, gradient, before, course.engine.state())


def state_at(run: Run, step: int, store: Runs | None = None) -> dict[str, Tensor]:
    """The engine's state after ``step`` updates of a finished run: weights, moments, and ``step``.

    It is read where it was asked for before, else computed from the nearest earlier one that was, or from the start,
    and kept in the folder ``.states`` of the store.

    Raises:
        StoreError, RecipeError: as ``replay``.
    """
    if not 0 <= step <= run.final_step:
        raise StoreError(f"{run.run_id}: no state at step {step}; allowed: 0..{run.final_step}.")
    store = store or _store_of(run)
    folder = store.root / STATES_FOLDER / run.run_id
    kept = [int(path.stem.removeprefix("step-")) for path in folder.glob("step-*.safetensors")]
    nearest = max((at for at in kept if at <= step), default=0)
    course = _Course(run, store)
    if nearest in kept:
        course.go_to(nearest, _kept(folder / checkpoint_name(nearest), run))
    for rows in course.batches(step):
        with one_thread():
            course.engine.step(rows.tokens, rows.targets, rows.loss_mask)
    state = course.engine.state()
    if step not in kept:
        write_durably(folder / checkpoint_name(step), seal(state, _identity(run, step)))
    return state


def states_in(store: Runs, recipes: Iterable[Recipe]) -> StateOf:
    """States of the runs in a store, which may be of the tasks of ``recipes``: whoever made these named their tasks.

    They are asked for by the hash of a recipe and a number of updates, those of the run's parents included; StoreError
    if there is no such run, or as for ``state_at``.
    """
    tasks = dict.fromkeys(recipe.task for recipe in recipes)
    store = dataclasses.replace(store, allow_tasks=(*store.allow_tasks, *tasks))

    def state_of(recipe_sha256: str, step: int) -> dict[str, Tensor]:
        run = store.of_recipe(recipe_sha256)
        return state_at(run, step - run.recipe.schedule.start, store)

    return state_of


class _Course:
    """A run on its way through its training once more.

    Attributes:
        engine: holds the model as it stood after ``step`` updates.
        step: updates done.
    """

    def __init__(self, run: Run, store: Runs):
        check_same_rows(run.recipe, run.ledger.data_sha256, run.path)
        self._run, self.step, self.engine = run, 0, make_engine(run.recipe)
        intervene(run.recipe, self.engine)
        begin(run.recipe, self.engine, states_in(store, [run.recipe]))
        self._check()

    def go_to(self, step: int, state: Mapping[str, Tensor]) -> None:
        """Stand where ``state`` was taken."""
        self.engine.load(state)
        self.step = step
        self._check()

    def batches(self, stop: int) -> Iterator[Rows]:
        """The batches up to update ``stop``; the engine must step on each before the next is asked for."""
        for rows in islice(self._run.recipe.schedule.batches(self.step), stop - self.step):
            yield rows
            self.step += 1
            self._check()

    def _check(self) -> None:
        """Compare with the ledger, where a checkpoint was taken here."""
        entry, run = self._run.ledger.entry(self.step), self._run
        if entry is None:
            return
        found = sha256(pack(self.engine.weights(), {"run_id": run.run_id, "step": str(self.step)}))
        if found != entry.sha256:
            raise StoreError(
                f"{run.run_id}: trained again, weights of step {self.step} have the hash {found[:12]}, in the ledger "
                f"{entry.sha256[:12]}. It was made with {' then '.join(run.ledger.made_with)}; this is {versions()}. "
                "Only the same machine gives the same bits, and a run of a stack only its stack."
            )


def _kept(path: Path, run: Run) -> dict[str, Tensor]:
    """The state in a file of ours; CheckpointError for one that is damaged or another's."""
    remedy = f"Delete {path}: it is computed again."
    try:
        state, identity = read_sealed(path)
    except CheckpointError as error:
        raise CheckpointError(f"{error} {remedy}") from error
    if identity != _identity(run, int(path.stem.removeprefix("step-"))):
        raise CheckpointError(f"{path}: of another run or step, {identity}. {remedy}")
    return state


def _identity(run: Run, step: int) -> dict[str, str]:
    return {"recipe_sha256": run.ledger.recipe_sha256, "step": str(step), "data_sha256": run.ledger.data_sha256}


def _store_of(run: Run) -> Runs:
    """Where a run is, if it was trained here; else the store of the environment."""
    folders = Folders.from_environment()
    root = run.home if run.origin == "local" else folders.runs
    return training.RunStore(root, folders.published, run.allow_tasks)
