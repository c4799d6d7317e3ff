"""Measuring many runs with one battery: each run once, its table kept beside it."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from torch import Tensor

from circuitcore.durations import duration
from circuitcore.metrics.battery import CHECKPOINTS_AT_ONCE, BatterySpec, measure, open_session
from circuitcore.metrics.snapshots import N_STEPS, snapshot, snapshot_key
from circuitcore.models import init_weights
from circuitcore.progress import Trail, Watch, polled, time_in_parallel
from circuitcore.training.engine import one_thread
from circuitcore.training.errors import StoreError
from circuitcore.training.executor import map_runs, width
from circuitcore.training.ledger import Entry, Ledger
from circuitcore.training.progress import MOST_KINDS, mean_cost, side_by_side
from circuitcore.training.recipe import Recipe
from circuitcore.training.run import Run
from circuitcore.training.store import RunStore

TRAIL_FOLDER = ".measured"  # for each run being measured the checkpoints done, for the bar of whoever waits for it


@dataclass(frozen=True)
class MeasuringForecast:
    """How long some measuring should take on this machine."""

    n_runs: int
    n_checkpoints: int
    workers: int
    seconds: float

    @classmethod
    def together(cls, parts: Sequence["MeasuringForecast"]) -> "MeasuringForecast":
        """All of several measurings, one after the other; a run that is measured twice counts twice."""
        return cls(
            n_runs=sum(part.n_runs for part in parts),
            n_checkpoints=sum(part.n_checkpoints for part in parts),
            workers=max(part.workers for part in parts),
            seconds=sum(part.seconds for part in parts),
        )

    @property
    def what(self) -> str:
        """What is to be done."""
        return f"measuring {self.n_runs} run(s), {self.n_checkpoints:,} checkpoints, on {self.workers} worker(s)"

    def __str__(self) -> str:
        return (
            f"{self.what.capitalize()}: expected {duration(self.seconds)} (a few checkpoints, timed here, times all of "
            "them)."
        )


@dataclass(frozen=True)
class MeasuringCost:
    """What measuring one run costs here, in seconds.

    Attributes:
        begin: to make the prompts; once in each process.
        checkpoint: what is measured on every checkpoint.
        end: what is measured once, at the end of the run.
        shown: one checkpoint of what figures show whole.
        spent: until all this was known.
    """

    begin: float
    checkpoint: float
    end: float
    shown: float
    spent: float


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
        from circuitcore.metrics.features import features, features_key

        store.save_table(run, features_key(spec), features(run, spec))
    trail.note(len(run.steps))  # and it stays until all are measured: the bar counts by it
    return run.run_id


def unmeasured(store: RunStore, spec: BatterySpec, recipes: Iterable[Recipe]) -> list[Recipe]:
    """Those of ``recipes``, each once, whose runs have no table yet; a run that is not there has none."""
    found = [(recipe, store.find(recipe)) for recipe in dict.fromkeys(recipes)]
    return [recipe for recipe, run in found if run is None or not _measured(run, spec)]


def forecast(recipes: Sequence[Recipe], spec: BatterySpec, executor: str = "processes") -> MeasuringForecast:
    """The time until the runs of ``recipes`` are measured, in their order; they need not be trained yet.

    As for training, the kinds of run with the most checkpoints are timed, on as many workers at once as will work.

    Args:
        recipes: whose runs.
        spec: what is measured.
        executor: as in ``map_runs``.
    """
    checkpoints: Counter = Counter()
    for recipe in recipes:
        checkpoints[_kind_of(recipe)] += len(recipe.checkpoint_epochs)
    heaviest = {kind for kind, _ in checkpoints.most_common(MOST_KINDS)}
    kinds = {_kind_of(recipe): recipe for recipe in reversed(recipes) if _kind_of(recipe) in heaviest}
    side = min(width(executor), len(recipes))
    found, start = side_by_side(partial(time_measuring, spec), list(kinds.values()), executor, side)
    costs, usual = dict(zip(kinds, found, strict=True)), mean_cost(found)
    lengths = [(costs.get(_kind_of(recipe), usual), len(recipe.checkpoint_epochs)) for recipe in recipes]
    loads = [cost.checkpoint * length + cost.end + cost.shown * min(length, N_STEPS) for cost, length in lengths]
    seconds = start + max(cost.begin for cost in found) + time_in_parallel(loads, side)
    return MeasuringForecast(len(recipes), sum(length for _, length in lengths), side, seconds)


def time_measuring(spec: BatterySpec, recipe: Recipe) -> MeasuringCost:
    """Measure a few checkpoints of a network nobody trained; what a worker of ``forecast`` runs."""
    clock = [time.perf_counter()]
    with one_thread():
        run = Untrained(recipe)
        open_session(recipe.make_task(), spec)
        clock.append(time.perf_counter())
        measure(run, spec.throughout)
        clock.append(time.perf_counter())
        if spec.snapshots:
            snapshot(run, spec)
        clock.append(time.perf_counter())
        _measure_end(recipe, spec)
        clock.append(time.perf_counter())
    begin, measured, shown, end = (after - before for before, after in zip(clock, clock[1:], strict=False))
    return MeasuringCost(begin, measured / len(run.steps), end, shown / len(run.steps), clock[-1] - clock[0])


def _measure_end(recipe: Recipe, spec: BatterySpec) -> None:
    """Measure what is measured once a run, on a network nobody trained."""
    if spec.at_end:
        measure(Untrained(recipe, n_steps=1), spec.ending)
    if spec.features:
        from circuitcore.metrics.features import features

        features(Untrained(recipe), spec)


class Untrained(Run):
    """A run that nobody trained: the same weights at as many steps as are measured at once. Nothing is on disk."""

    def __init__(self, recipe: Recipe, n_steps: int = CHECKPOINTS_AT_ONCE):
        entries = tuple(Entry(step=step, file="", sha256="", parent="", loss=0.0) for step in range(n_steps))
        named = {"run_id": recipe.run_id, "recipe_sha256": recipe.sha256, "data_sha256": "", "made_with": ()}
        super().__init__(Path(recipe.run_id), "local", Ledger(**named, entries=entries))
        object.__setattr__(self, "_recipe", recipe)

    @property
    def recipe(self) -> Recipe:
        """What it would be trained from."""
        return self._recipe

    def tokens_seen(self, step: int) -> int:
        """None were."""
        return 0

    def weights(self, step: int) -> dict[str, Tensor]:
        """Those before training."""
        return init_weights(self._recipe.model, self._recipe.init_seed)


def tables_of(spec: BatterySpec) -> dict[str, str]:
    """Names of the tables that measuring leaves beside a run, by the field of ``Results`` that they make up."""
    found = {"measurements": spec.key}
    if spec.snapshots:
        found["snapshots"] = snapshot_key(spec)
    if spec.features:
        from circuitcore.metrics.features import features_key  # most specs never need it

        found["features"] = features_key(spec)
    return found


def measured_trail(store: RunStore, recipe: Recipe) -> Trail:
    """Where whoever measures the run of ``recipe`` leaves the number of checkpoints done."""
    return Trail(store.root / TRAIL_FOLDER / recipe.run_id)


def _kind_of(recipe: Recipe) -> tuple:
    return recipe.model, recipe.make_task()


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
    """Say how long it should take; inside, a bar counts checkpoints, whichever process measures them."""
    if watch is None:
        return nullcontext()
    if watch.say:
        watch.say(str(forecast(recipes, spec, executor)))
    trails = [measured_trail(store, recipe) for recipe in recipes]
    for trail in trails:
        trail.remove()  # of an attempt that was interrupted
    total = sum(len(recipe.checkpoint_epochs) for recipe in recipes)
    bar = watch.bar(total=total, unit="checkpoint", desc="measuring")
    return polled(bar, lambda: sum(trail.read() for trail in trails))
