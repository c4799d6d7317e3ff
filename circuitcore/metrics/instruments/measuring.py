"""Measuring many runs with one battery: each run once, its table kept beside it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import pandas as pd

from circuitcore.ground.durations import Work
from circuitcore.ground.progress import Trail, Watch, polled
from circuitcore.metrics.instruments.battery import BatterySpec, measure
from circuitcore.metrics.instruments.snapshots import snapshot, snapshot_key
from circuitcore.training.errors import StoreError
from circuitcore.training.recipe import Recipe
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.sweeps.executor import map_runs, width

TRAIL_FOLDER = ".measured"  # for each run being measured the checkpoints done, for the bar of whoever waits for it


def by_spec(arms: Mapping[str, Iterable[Recipe]], specs: Mapping[str, BatterySpec]) -> dict[BatterySpec, list[Recipe]]:
    """The recipes that are measured alike, each once, in the order of the arms.

    A recipe of two arms that differ in what is measured stands under both.
    """
    found: dict[BatterySpec, dict[Recipe, None]] = {}
    for arm, recipes in arms.items():
        found.setdefault(specs[arm], {}).update(dict.fromkeys(recipes))
    return {spec: list(recipes) for spec, recipes in found.items()}


def measure_all(
    store: RunStore,
    spec: BatterySpec,
    recipes: Iterable[Recipe],
    executor: str = "processes",
    watch: Watch | None = None,
) -> list[pd.DataFrame]:
    """The battery's table for each recipe's run, in their order; only runs without one are measured.

    Args:
        store: holds the runs, which must be finished.
        spec: what is measured; tables are kept under ``spec.key``.
        recipes: whose runs; may repeat.
        executor: as in ``map_runs``.
        watch: told what there is to measure, then shows a bar; None for silence.

    Raises:
        StoreError: a published run that keeps too few checkpoints to be measured again.
        ExecutorError: runs that could not be measured; the tables of the others are kept.
    """
    runs = [store.get_or_train(recipe) for recipe in recipes]
    missing = {run.run_id: run for run in runs if not _measured(run, spec)}
    for run in missing.values():
        _require_whole(run, spec)
    if missing:
        todo = [run.recipe for run in missing.values()]
        with _shown(store, todo, spec, executor, watch):
            map_runs(partial(measure_one, store.absolute(), spec), todo, executor)
    return [store.load_table(run, spec.key) for run in runs]


def measure_one(store: RunStore, spec: BatterySpec, recipe: Recipe) -> str:
    """Measure one finished run; what a worker of ``measure_all`` runs. Returns the run's name.

    Kept beside the run: the battery's table, and what figures show whole (``snapshots``) and ``features`` where the
    spec asks for them.
    """
    run, trail, done = store.get_or_train(recipe), measured_trail(store, recipe), 0

    def leave(more: int) -> None:
        nonlocal done
        done += more
        trail.leave(done)

    store.save_table(run, spec.key, measure(run, spec, leave))
    if spec.snapshots:
        store.save_table(run, snapshot_key(spec), snapshot(run, spec))
    if spec.features:
        from circuitcore.metrics.instruments.features import features, features_key

        store.save_table(run, features_key(spec), features(run, spec))
    trail.note(len(run.steps))  # and it stays until all are measured: the bar counts by it
    return run.run_id


def unmeasured(store: RunStore, spec: BatterySpec, recipes: Iterable[Recipe]) -> list[Recipe]:
    """Those of ``recipes``, each once, whose runs have no table yet; a run that is not there has none."""
    found = [(recipe, store.find(recipe)) for recipe in dict.fromkeys(recipes)]
    return [recipe for recipe, run in found if run is None or not _measured(run, spec)]


def left_to_measure(study: str, spec: BatterySpec, missing: Sequence[Recipe], executor: str) -> Work:
    """What measuring the runs of ``missing`` comes to."""
    n_checkpoints = sum(len(recipe.checkpoint_epochs) for recipe in missing)
    return Work(
        what=f"measuring {len(missing)} run(s), {n_checkpoints:,} checkpoints",
        name=f"a checkpoint of {study} ({spec.key})",
        units=n_checkpoints / min(width(executor), len(missing)),
    )


def tables_of(spec: BatterySpec) -> dict[str, str]:
    """Names of the tables that measuring leaves beside a run, by the field of ``Results`` that they make up."""
    found = {"measurements": spec.key}
    if spec.snapshots:
        found["snapshots"] = snapshot_key(spec)
    if spec.features:
        from circuitcore.metrics.instruments.features import features_key  # most specs never need it

        found["features"] = features_key(spec)
    return found


def measured_trail(store: RunStore, recipe: Recipe) -> Trail:
    """Where whoever measures the run of ``recipe`` leaves the number of checkpoints done."""
    return Trail(store.root / TRAIL_FOLDER / recipe.run_id)


def _measured(run: Run, spec: BatterySpec) -> bool:
    return set(tables_of(spec).values()) <= run.tables.keys()


def _require_whole(run: Run, spec: BatterySpec) -> None:
    if run.steps != run.all_steps:
        raise StoreError(
            f"{run.path}: has no table {spec.key!r}, and keeps {len(run.steps)} of {len(run.all_steps)} checkpoints, "
            "too few to measure it again. Train it here for all of them (circuitcore measure with --no-published)."
        )


def _shown(
    store: RunStore, recipes: list[Recipe], spec: BatterySpec, executor: str, watch: Watch | None
) -> AbstractContextManager[None]:
    """Say what there is to measure; inside, a bar counts checkpoints, whichever process measures them."""
    if watch is None:
        return nullcontext()
    total = sum(len(recipe.checkpoint_epochs) for recipe in recipes)
    if watch.say:
        side = min(width(executor), len(recipes))
        watch.say(f"Measuring {len(recipes)} run(s), {total:,} checkpoints, on {side} worker(s).")
    trails = [measured_trail(store, recipe) for recipe in recipes]
    for trail in trails:
        trail.remove()  # of an attempt that was interrupted
    bar = watch.bar(total=total, unit="checkpoint", desc="measuring")
    return polled(bar, lambda: sum(trail.read() for trail in trails))
