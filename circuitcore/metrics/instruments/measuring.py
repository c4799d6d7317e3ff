"""Measuring many runs with the same instruments: each run once, its tables kept beside it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from circuitcore.ground.durations import Durations, Work, expected
from circuitcore.ground.progress import Trail, Watch, polled
from circuitcore.ground.spelling import first_of
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.training.errors import StoreError
from circuitcore.training.recipe import Recipe
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.sweeps.executor import map_runs, width
from circuitcore.training.sweeps.sweep import left_to_train

TRAIL_FOLDER = ".measured"  # for each run being measured the checkpoints done, for the bar of whoever waits for it
_WHEN = {"each": "each checkpoint", "last": "the last checkpoint", "pairs": "pairs of neighbouring checkpoints"}

Instruments = tuple[Instrument, ...]
Arms = Mapping[str, Iterable[Recipe]]


def unmeasured(
    find: Callable[[Recipe], Run | None], arms: Arms, instruments: Mapping[str, Instruments]
) -> dict[Instruments, list[Recipe]]:
    """The recipes whose runs lack tables, each once, by the instruments whose tables are missing.

    A run that is not there lacks all. A recipe of two arms that differ in what is measured may stand under both.
    """
    found: dict[Instruments, dict[Recipe, None]] = {}
    for arm, recipes in arms.items():
        for recipe in recipes:
            run = find(recipe)
            missing = instruments[arm] if run is None else missing_tables(run, instruments[arm])
            if missing:
                found.setdefault(missing, {})[recipe] = None
    return {missing: list(recipes) for missing, recipes in found.items()}


def measure_all(
    store: RunStore,
    instruments: Instruments,
    recipes: Iterable[Recipe],
    executor: str = "processes",
    watch: Watch | None = None,
) -> None:
    """Keep the table of each instrument beside the run of each recipe; only tables that are missing are measured.

    Args:
        store: holds the runs, which must be finished.
        instruments: what is measured; tables are kept under their keys.
        recipes: whose runs; may repeat.
        executor: as in ``map_runs``.
        watch: told what there is to measure, then shows a bar; None for silence.

    Raises:
        StoreError: a missing table takes weights that are not here; ``require_weights`` says what that costs.
        ExecutorError: runs that could not be measured; the tables of the others are kept.
    """
    runs = {run.run_id: run for run in (store.get_or_train(recipe) for recipe in recipes)}
    todo = [run.recipe for run in runs.values() if missing_tables(run, instruments)]
    if text := _not_here(store, {instruments: todo}):
        raise StoreError(f"{text} Train them in a store that does without published runs.")
    if todo:
        with _shown(store, instruments, todo, executor, watch):
            map_runs(partial(measure_one, store.absolute(), instruments), todo, executor)


def measure_one(store: RunStore, instruments: Instruments, recipe: Recipe) -> str:
    """Measure what is missing of one finished run; what a worker of ``measure_all`` runs. Returns the run's name."""
    run, trail, most, done = store.get_or_train(recipe), measured_trail(store, recipe), _load(instruments, recipe), 0

    def leave(more: int) -> None:
        nonlocal done
        done += more
        trail.leave(min(done, most))  # several instruments may report the same checkpoints

    for instrument in missing_tables(run, instruments):
        store.save_table(run, instrument.key, instrument.measure(run, leave))
    trail.note(most)  # and it stays until all are measured: the bar counts by it
    return run.run_id


def missing_tables(run: Run, instruments: Instruments) -> Instruments:
    """The instruments whose table is not beside the run."""
    tables = run.tables
    return tuple(one for one in instruments if one.key not in tables)


def require_weights(
    study: str, store: RunStore, todo: Mapping[Instruments, Sequence[Recipe]], arms: Arms, durations: Durations
) -> None:
    """Stop where a missing table is measured on checkpoints whose weights are not here.

    Args:
        study: whose runs they are.
        store: holds them, finished.
        todo: what is to be measured on the runs of which recipes, as ``unmeasured`` says it.
        arms: all recipes of the study.
        durations: how long training takes.

    Raises:
        StoreError: names the table, the checkpoints, and what training them again takes.
    """
    if text := _not_here(store, todo):
        alone, every = RunStore(store.root, None), dict.fromkeys(recipe for arm in arms.values() for recipe in arm)
        left = left_to_train(study, alone, every, "processes")
        raise StoreError(
            f"{text} circuitcore measure {study} --no-published trains and measures all {len(every)} runs of it; "
            f"python -m livingpaper.commands.publish {study} publishes them. "
            f"{expected(left, durations) if left else 'They are trained already.'}"
        )


def _not_here(store: RunStore, todo: Mapping[Instruments, Sequence[Recipe]]) -> str | None:
    """The first table that takes weights which are not here, and how many steps of training they are; or None."""
    for instruments, recipes in todo.items():
        runs = [store.get_or_train(recipe) for recipe in recipes]
        for one in instruments:
            lacking = {run: steps for run in runs if one.key not in run.tables and (steps := one.lacking(run))}
            if lacking:
                absent = [f"{run.run_id} step {step}" for run, steps in lacking.items() for step in steps]
                n_wanted = sum(len(one.steps(run)) for run in lacking)
                return (
                    f"table {one.key!r} is missing for {len(lacking)} run(s) and cannot be measured: it is of "
                    f"{_WHEN[one.when]}, and {len(absent)} of {n_wanted} have no weights here: "
                    f"{first_of(absent)}. Training them "
                    f"again takes {sum(run.final_step for run in lacking):,} steps."
                )
    return None


def left_to_measure(study: str, instruments: Instruments, missing: Sequence[Recipe], executor: str) -> Work:
    """What measuring the runs of ``missing`` with the instruments whose tables they lack comes to."""
    n_checkpoints = sum(_load(instruments, recipe) for recipe in missing)
    return Work(
        what=f"measuring {len(missing)} run(s), {n_checkpoints:,} checkpoints",
        name=f"a checkpoint of {study} ({instruments[0].key})",
        units=n_checkpoints / min(width(executor), len(missing)),
    )


def measured_trail(store: RunStore, recipe: Recipe) -> Trail:
    """Where whoever measures the run of ``recipe`` leaves the number of checkpoints done."""
    return Trail(store.root / TRAIL_FOLDER / recipe.run_id)


def _load(instruments: Instruments, recipe: Recipe) -> int:
    """Checkpoints of one run that are measured."""
    return 1 if all(one.when in ("last", "steps") for one in instruments) else recipe.n_checkpoints


def _shown(
    store: RunStore, instruments: Instruments, recipes: list[Recipe], executor: str, watch: Watch | None
) -> AbstractContextManager[None]:
    """Say what there is to measure; inside, a bar counts checkpoints, whichever process measures them."""
    if watch is None:
        return nullcontext()
    total = sum(_load(instruments, recipe) for recipe in recipes)
    side = min(width(executor), len(recipes))
    watch.say(f"Measuring {len(recipes)} run(s), {total:,} checkpoints, on {side} worker(s).")
    trails = [measured_trail(store, recipe) for recipe in recipes]
    for trail in trails:
        trail.remove()  # of an attempt that was interrupted
    bar = watch.bar(total=total, unit="checkpoint", desc="measuring")
    return polled(bar, lambda: sum(trail.read() for trail in trails))
