"""Training many recipes: says what there is to do, shows how far it is, leaves out what is already there."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial

from circuitcore.ground.durations import Work
from circuitcore.ground.progress import Trail, Watch, polled
from circuitcore.training.engines import trainable
from circuitcore.training.errors import ExecutorError
from circuitcore.training.loop import Report
from circuitcore.training.recipe import Recipe
from circuitcore.training.replay import states_in
from circuitcore.training.store.failures import FailureNote
from circuitcore.training.store.places import steps_done
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.sweeps.executor import (
    check_device,
    collect,
    map_runs,
    refuse_failures,
    require_executor,
    stacked_device,
    width,
)
from circuitcore.training.sweeps.together import stacks, train_together

STACKED = "stacked"  # the engine whose recipes may be trained together
STEPS_FOLDER = ".steps"  # for each run being trained the steps it has done, for the bar of whoever waits for it


def obtainable(store: RunStore, recipes: Iterable[Recipe]) -> list[Recipe]:
    """Each recipe as it is, or as its torch twin where it is neither in ``store`` nor trainable here."""
    return [recipe if store.find(recipe) else trainable(recipe) for recipe in recipes]


def unfinished(store: RunStore, recipes: Iterable[Recipe]) -> dict[Recipe, int]:
    """The recipes without a finished run, each once, and the steps that each still takes."""
    missing = [recipe for recipe in dict.fromkeys(recipes) if store.find(recipe) is None]
    return {recipe: recipe.n_steps - steps_done(store.root / recipe.run_id) for recipe in missing}


def left_to_train(
    study: str, store: RunStore, recipes: Iterable[Recipe], executor: str, workers: int | None = None
) -> list[Work]:
    """What training those of a study's recipes that are not finished comes to: a part for each kind of step."""
    return to_train(study, unfinished(store, recipes), executor, workers)


def kind_of_step(recipe: Recipe) -> tuple[str, int]:
    """What the time of a step is remembered by, in a study: engine and rows a batch."""
    return recipe.engine, recipe.batch_size


def to_train(study: str, left: Mapping[Recipe, int | float], executor: str, workers: int | None = None) -> list[Work]:
    """What so many steps of some recipes come to: a part for each kind of step."""
    kinds = defaultdict(list)
    for recipe, steps in left.items():
        kinds[kind_of_step(recipe)].append(steps)
    return [
        Work(
            what=f"training {len(steps)} run(s), {sum(steps):,.0f} steps",
            name=f"a step of {study} ({engine}, batches of {batch_size})",
            units=sum(steps) / min(width(executor, workers), len(left)),
        )
        for (engine, batch_size), steps in kinds.items()
    ]


def train_all(
    store: RunStore,
    recipes: Iterable[Recipe],
    executor: str = "processes",
    workers: int | None = None,
    watch: Watch | None = None,
) -> list[Run]:
    """A finished run for each recipe, in their order; only what is missing is trained.

    Args:
        store: where runs are looked up and kept.
        recipes: may hold one recipe several times; it is trained once.
        executor: as in ``map_runs``; or "cuda", "cuda:1": all runs on that device, in stacks (``train_stacks``).
        workers: as in ``map_runs``.
        watch: told what there is to train, then shows a bar; None for silence.

    Raises:
        ExecutorError: an unknown executor, or runs that failed; the others are finished and kept.
        StoreError: the folder of the runs cannot be made.
    """
    require_executor(executor)  # a misspelt one even where nothing is left to do
    recipes = list(recipes)
    left, device = unfinished(store, recipes), stacked_device(executor)
    if left:
        store.make_root()
    if left and device is not None:
        check_device(device)
        train_stacks(store, list(dict.fromkeys(recipes)), device, watch)
    elif left:
        with _shown(store, left, executor, workers, watch), lost_noted(store):
            _train_in_turn(store, list(left), executor, workers)
    return [store.get_or_train(recipe) for recipe in recipes]


def _train_in_turn(store: RunStore, recipes: Sequence[Recipe], executor: str, workers: int | None) -> None:
    """Train runs before those that go on from them; those that go on from a failed one are not begun.

    Raises:
        ExecutorError: once all others are finished, the runs that failed or were not begun.
    """
    failed, failures = set(), {}
    for alike in generations(recipes):
        lost = [recipe for recipe in alike if failed.intersection(recipe.named_runs)]
        failures |= {recipe.run_id: ExecutorError("not begun: it goes on from a run that failed") for recipe in lost}
        try:
            map_runs(partial(train_one, store.absolute()), [one for one in alike if one not in lost], executor, workers)
        except ExecutorError as error:
            if not error.failures:
                raise
            failures |= error.failures
        failed |= {recipe.sha256 for recipe in alike if recipe.run_id in failures}
    refuse_failures(failures, len(recipes))


def generations(recipes: Iterable[Recipe]) -> list[list[Recipe]]:
    """``recipes`` in their order, those first that go on from no other one of them, then those that go on from these.

    A run that is grafted from counts as one that is gone on from.
    """
    left, found = dict.fromkeys(recipes), []
    while left:
        names = {recipe.sha256 for recipe in left}
        found.append([recipe for recipe in left if not names.intersection(recipe.named_runs)])
        left = {recipe: None for recipe in left if recipe not in found[-1]}
    return found


def train_one(store: RunStore, recipe: Recipe) -> str:
    """Train ``recipe`` into ``store`` if need be; what a worker of ``train_all`` runs. Returns the run's name.

    Checkpoints may be minutes apart, so the steps done are also left, twice a second, in a small file that only a
    progress bar reads.
    """
    trail = steps_trail(store, recipe)
    try:
        return store.get_or_train(recipe, trail.leave).run_id
    finally:
        trail.remove()


@contextmanager
def lost_noted(store: RunStore) -> Iterator[None]:
    """Note the failures that no worker lived to note itself."""
    try:
        yield
    except ExecutorError as error:
        for run_id, failure in error.failures.items():
            FailureNote.of(store.root, run_id).leave(failure)
        raise


def train_stacks(store: RunStore, recipes: Sequence[Recipe], device: str, watch: Watch | None = None) -> list[str]:
    """Train what is missing of ``recipes`` on one device, runs of one shape together; returns the names of all.

    The stacks are made of all recipes, the finished ones too: so the same command makes the same stacks however often
    it was interrupted, and ends with the same bits.

    Args:
        store: where runs are looked up and kept.
        recipes: each once, all of the engine "stacked".
        device: as torch names it; "cpu" works and is slow.
        watch: as in ``train_all``.

    Raises:
        ExecutorError: recipes of another engine, before anything is trained; or runs that failed, after the others.
    """
    others = {recipe.run_id: recipe.engine for recipe in recipes if recipe.engine != STACKED}
    if others:
        raise ExecutorError(
            f"executor {device!r} trains recipes of the engine {STACKED!r}; got "
            + ", ".join(f"{run_id} ({engine!r})" for run_id, engine in others.items())
            + ". Another engine gives other last bits, so it is part of a run's name: allowed executors for these "
            "recipes are serial, processes, tcp://HOST:PORT"
        )
    left = unfinished(store, recipes)
    groups = [group for alike in generations(recipes) for group in stacks(alike)]
    groups = [group for group in groups if any(recipe in left for recipe in group)]
    with _stacks_shown(groups, left, device, watch) as report:
        return collect(recipes, _outcomes(store, recipes, groups, device, report), lambda done: None)


def _outcomes(
    store: RunStore, recipes: Sequence[Recipe], groups: list[tuple[Recipe, ...]], device: str, report: Report
) -> Iterator[tuple[int, str | None, Exception | None]]:
    """Train stack after stack; then say of each recipe how it ended."""
    failures: dict[Recipe, Exception] = {}
    for group in groups:
        with ExitStack() as held:
            for recipe in sorted(group, key=lambda recipe: recipe.run_id):  # in one order everywhere: no deadlock
                held.enter_context(store.lock(recipe.run_id))
            folders = {recipe: store.root / recipe.run_id for recipe in group if store.find(recipe) is None}
            for recipe in folders:
                FailureNote.of(store.root, recipe.run_id).remove()
            try:
                failures |= train_together(group, folders, device, report, states_in(store, group))
            except Exception as error:  # of the whole stack, such as a device without memory: the next may fit
                failures |= dict.fromkeys(folders, error)
            for recipe in failures.keys() & folders.keys():
                FailureNote.of(store.root, recipe.run_id).leave(failures[recipe])
    for index, recipe in enumerate(recipes):
        error = failures.get(recipe)
        yield index, None if error else recipe.run_id, error


@contextmanager
def _stacks_shown(
    groups: list[tuple[Recipe, ...]], left: dict[Recipe, int], device: str, watch: Watch | None
) -> Iterator[Report]:
    """Say what there is to train; inside, the number of updates just done may be reported, for a bar."""
    if watch is None:
        yield lambda updated: None
        return
    watch.say(f"Training {len(left)} run(s), {sum(left.values()):,} steps, in {len(groups)} stack(s) on {device}.")
    total = sum(recipe.n_steps for recipe in left)
    with watch.bar(total=total, initial=total - sum(left.values()), unit="step", desc="training") as bar:
        yield bar.update


def _shown(
    store: RunStore, left: dict[Recipe, int], executor: str, workers: int | None, watch: Watch | None
) -> AbstractContextManager[None]:
    if watch is None:
        return nullcontext()
    side = min(width(executor, workers), len(left))
    watch.say(f"Training {len(left)} run(s), {sum(left.values()):,} steps, on {side} worker(s).")
    for recipe in left:
        steps_trail(store, recipe).remove()  # of an attempt that was killed: it goes on from less
    total = sum(recipe.n_steps for recipe in left)
    done = partial(_steps_done, store, list(left), {})
    bar = watch.bar(total=total, initial=total - sum(left.values()), unit="step", desc="training")
    return polled(bar, done)


def _steps_done(store: RunStore, recipes: list[Recipe], finished: dict[Recipe, int]) -> int:
    """Steps done by now. It is asked twice a second beside the workers: only what was begun is looked up.

    ``finished`` has the steps of recipes that an earlier call found finished; what this one finds is added.
    """
    underway = 0
    for recipe in recipes:
        folder = store.root / recipe.run_id
        if recipe in finished or not folder.exists():
            continue
        if store.find(recipe):
            finished[recipe] = recipe.n_steps
        else:
            underway += max(steps_done(folder), steps_trail(store, recipe).read())
    return underway + sum(finished.values())


def steps_trail(store: RunStore, recipe: Recipe) -> Trail:
    """Where whoever trains ``recipe`` leaves the steps it has done."""
    return Trail(store.root / STEPS_FOLDER / recipe.run_id)
