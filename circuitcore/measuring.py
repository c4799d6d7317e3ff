"""Measuring many runs with one battery: each run once, its table kept beside it."""

import time
from collections.abc import Iterable
from functools import partial

import pandas as pd

from circuitcore.metrics.battery import BatterySpec, measure
from circuitcore.metrics.snapshots import snapshot, snapshot_key
from circuitcore.training.engine import one_thread
from circuitcore.training.errors import StoreError
from circuitcore.training.executor import map_runs, width
from circuitcore.training.progress import Watch, duration, time_in_parallel
from circuitcore.training.recipe import Recipe
from circuitcore.training.run import Run
from circuitcore.training.store import RunStore


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
        watch: told the expected time before measuring starts, then shows a bar; None for silence.

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
        progress = _shown(list(missing.values()), spec, width(executor), watch)
        map_runs(partial(measure_one, store.absolute(), spec), todo, executor, progress=progress)
    return [store.load_table(run, spec.key) for run in runs]


def measure_one(store: RunStore, spec: BatterySpec, recipe: Recipe) -> str:
    """Measure one finished run; what a worker of ``measure_all`` runs. Returns the run's name.

    Kept beside the run: the battery's table, and what figures show whole (``snapshots``).
    """
    run = store.get_or_train(recipe)
    store.save_table(run, spec.key, measure(run, spec))
    store.save_table(run, snapshot_key(spec), snapshot(run, spec))
    return run.run_id


def _measured(run: Run, spec: BatterySpec) -> bool:
    return {spec.key, snapshot_key(spec)} <= run.tables.keys()


def _require_whole(run: Run, spec: BatterySpec) -> None:
    if run.steps != run.all_steps:
        raise StoreError(
            f"{run.path}: has no table {spec.key!r}, and keeps {len(run.steps)} of {len(run.all_steps)} checkpoints, "
            "too few to measure it again. Train it here for all of them (circuitcore measure with --no-published)."
        )


def _shown(runs: list[Run], spec: BatterySpec, workers: int, watch: Watch | None):
    """Say how long it should take, by measuring one checkpoint; returns what ``map_runs`` reports to."""
    if watch is None:
        return None
    start = time.perf_counter()
    with one_thread():
        measure(runs[0].only([runs[0].final_step]), spec)
    each = time.perf_counter() - start
    seconds = time_in_parallel([each * len(run.steps) for run in runs], min(workers, len(runs)))
    checkpoints = sum(len(run.steps) for run in runs)
    watch.say(
        f"Measuring {len(runs)} run(s), {checkpoints} checkpoints, on {min(workers, len(runs))} worker(s): expected "
        f"{duration(seconds)} (one checkpoint, timed here, times all of them)."
    )
    bar = watch.bar(total=len(runs), unit="run", desc="measuring")
    bar.refresh()

    def progress(done: int) -> None:
        bar.update(done - bar.n)
        if done == bar.total:
            bar.close()

    return progress
