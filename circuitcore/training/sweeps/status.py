"""How far a sweep is: what of each arm is done, running, failed or waiting, and when the rest should end.

Everything is read from the store: ledgers, locks held by live processes, notes of failures, times of files. Whoever
trains need not be asked, and may be another process or a cluster.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Literal, get_args

from circuitcore.ground.durations import duration, ends_in_parallel
from circuitcore.training.errors import StoreError
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Recipe
from circuitcore.training.schedule import Schedule
from circuitcore.training.store.failures import FailureNote
from circuitcore.training.store.ledger import LEDGER_NAME, Ledger
from circuitcore.training.store.places import steps_done
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.sweeps.sweep import steps_trail

State = Literal["done", "running", "failed", "waiting"]
STATES: tuple[State, ...] = get_args(State)
RECENT = 8  # stretches between checkpoints that a pace is taken from: a machine is not equally busy all night


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """One run of a sweep.

    Attributes:
        recipe: what it is trained from.
        state: "done"; "running": a live process holds its lock; "failed": training raised, or lost its process too
            often, and nobody has taken it up since; "waiting": all others, begun or not.
        steps: optimizer updates that need not be done again; of a running one, updates done.
        n_steps: updates of the whole training.
        checkpoints: checkpoints taken.
        pace: seconds per update of a running one; None for all others, and before anything is known.
        error: what stopped a failed one.
    """

    recipe: Recipe
    state: State
    steps: int
    n_steps: int
    checkpoints: int
    pace: float | None = None
    error: str | None = None

    @property
    def name(self) -> str:
        """The run's name and its seed."""
        return f"{self.recipe.run_id} (seed {self.recipe.init_seed})"


@dataclass(frozen=True)
class SeedStatus:
    """One seed of an experiment: its name, its state, and what stopped one that failed."""

    name: str
    state: State
    error: str | None = None


@dataclass(frozen=True)
class SweepStatus:
    """A sweep at one moment.

    Attributes:
        arms: arm -> its runs, in the study's order. A run of two arms is in both.
        ends: run id -> seconds until it should be done, for running and waiting ones; empty where that is unknown.
        experiments: experiment -> its seeds.
    """

    arms: Mapping[str, tuple[RunStatus, ...]]
    ends: Mapping[str, float]
    experiments: Mapping[str, tuple[SeedStatus, ...]] = field(default_factory=dict)

    @property
    def runs(self) -> tuple[RunStatus, ...]:
        """Every run once."""
        return tuple({run.recipe: run for runs in self.arms.values() for run in runs}.values())

    @property
    def seeds(self) -> tuple[SeedStatus, ...]:
        """Every seed of every experiment."""
        return tuple(seed for seeds in self.experiments.values() for seed in seeds)

    def in_state(self, state: State) -> list[RunStatus]:
        """The runs in one state, each once."""
        return [run for run in self.runs if run.state == state]

    def ends_in(self, runs: Iterable[RunStatus]) -> str:
        """When the last of ``runs`` should be done, in words: "about 3 min", "unknown", or "-" with nothing to do."""
        left = [run for run in runs if run.state in ("running", "waiting")]
        if not left:
            return "-"
        return duration(max(self.ends[run.recipe.run_id] for run in left)) if self.ends else "unknown"

    @property
    def outlook(self) -> str:
        """One sentence on when all will be done, and what that rests on; one more on experiments with some left."""
        n_running, n_failed = len(self.in_state("running")), len(self.in_state("failed"))
        failed = f" {n_failed} failed: the same sweep tries again." if n_failed else ""
        if left := sum(seed.state != "done" for seed in self.seeds):
            failed += f" Of experiments, {left} of {len(self.seeds)} tables are not computed."
        if self.ends_in(self.runs) == "-":
            return failed.strip() or "All runs are done."
        if not n_running:
            return f"Time left: unknown, since nothing is running.{failed}"
        if not self.ends:
            return f"Time left: unknown, since what is running has only just begun.{failed}"
        basis = f"at the pace of the {n_running} running, and {n_running} at a time"
        return f"Time left: {self.ends_in(self.runs)}, {basis}.{failed}"


def counted(runs: Iterable[RunStatus | SeedStatus]) -> Counter[State]:
    """How many runs are in each state; a state without any counts 0."""
    return Counter(run.state for run in runs)


def checkpoints(runs: Iterable[RunStatus]) -> str:
    """Checkpoints taken, of how many: ``12 of 48``."""
    runs = list(runs)
    return f"{sum(run.checkpoints for run in runs):,} of {sum(run.recipe.n_checkpoints for run in runs):,}"


def sweep_status(
    store: RunStore, arms: Mapping[str, Iterable[Recipe]], experiments: Iterable[Experiment] = ()
) -> SweepStatus:
    """Where every run of ``arms`` stands, and every experiment. Nothing is trained, and nothing on disk changes.

    Args:
        store: where the runs are looked up.
        arms: arm -> its recipes, as a study gives them.
        experiments: as a study gives them.
    """
    named = {arm: tuple(recipes) for arm, recipes in arms.items()}
    each = dict.fromkeys(recipe for recipes in named.values() for recipe in recipes)
    lengths: dict[tuple, int] = {}
    found = {recipe: _status_of(store, recipe, lengths) for recipe in each}
    ends = _ends(list(found.values()))
    runs = {arm: tuple(found[recipe] for recipe in recipes) for arm, recipes in named.items()}
    return SweepStatus(
        runs, ends, {one.name: tuple(_status_of_seed(store, part) for part in one.by_seed) for one in experiments}
    )


def _status_of_seed(store: RunStore, part: Experiment) -> SeedStatus:
    error, running = FailureNote.of(store.root, part.run_id).read(), store.is_held(part.run_id)
    try:
        done = store.find(part) is not None
    except StoreError as damaged:
        done, error = False, str(damaged)
    state = "done" if done else "running" if running else "failed" if error else "waiting"
    seed = "" if part.init_seed is None else f" (seed {part.init_seed})"
    return SeedStatus(f"{part.run_id}{seed}", state, error if state == "failed" else None)


def _status_of(store: RunStore, recipe: Recipe, lengths: dict[tuple, int]) -> RunStatus:
    folder, error = store.root / recipe.run_id, FailureNote.of(store.root, recipe.run_id).read()
    running = store.is_held(recipe.run_id)  # asked first: a run that ends meanwhile is then found to be done
    try:
        run = store.find(recipe)
        taken = Ledger.read(folder).entries if run is None and (folder / LEDGER_NAME).exists() else ()
    except StoreError as damaged:
        run, taken, error = None, (), str(damaged)
    if run is not None:
        steps = run.final_step
        return RunStatus(recipe=recipe, state="done", steps=steps, n_steps=steps, checkpoints=len(run.all_steps))
    trail, steps = steps_trail(store, recipe), steps_done(folder)
    stamps = _times(folder / entry.file for entry in taken) if running else []
    points = list(zip((entry.step for entry in taken), stamps, strict=False))
    if running and trail.read() > steps:
        steps = trail.read()
        points += [(steps, stamp) for stamp in _times([trail.path])]
    return RunStatus(
        recipe=recipe,
        state="running" if running else "failed" if error else "waiting",
        steps=steps,
        n_steps=_length(recipe, lengths),
        checkpoints=len(taken),
        pace=_pace(points),
        error=None if running else error,
    )


def _times(paths: Iterable[Path]) -> list[float]:
    """When the files were written, up to the first that has just gone."""
    found = []
    with suppress(OSError):
        for path in paths:
            found.append(path.stat().st_mtime)
    return found


def _pace(points: list[tuple[int, float]]) -> float | None:
    """Seconds per update, from (updates done, time) in their order.

    The median over the last stretches: a night in which the run was interrupted is one stretch among several.
    """
    stretches = [
        (until - since) / (later - earlier)
        for (earlier, since), (later, until) in zip(points, points[1:], strict=False)
        if later > earlier
    ]
    return median(stretches[-RECENT:]) if stretches else None


def _length(recipe: Recipe, lengths: dict[tuple, int]) -> int:
    """Updates of the whole training. Recipes keep the rows they count; counting for all of a kind at once does not."""
    if recipe.checkpoint_at:
        return recipe.checkpoint_at[-1]
    kind = recipe.make_task(), recipe.stages, recipe.batch_size
    if kind not in lengths:
        lengths[kind] = Schedule(*kind, recipe.data_seed).n_steps
    return lengths[kind]


def _ends(runs: list[RunStatus]) -> dict[str, float]:
    """Seconds until each running or waiting run should be done: as fast, and as many at once, as those that run now.

    A run goes at the pace of those with its model and engine, where one of them is running, else at that of all.
    """
    running = [run for run in runs if run.state == "running"]
    known = [run for run in running if run.pace is not None]
    if not known:
        return {}
    overall = mean(run.pace for run in known)

    def seconds(run: RunStatus) -> float:
        alike = [one.pace for one in known if _kind(one) == _kind(run)]
        pace = run.pace or (mean(alike) if alike else overall)
        return (run.n_steps - run.steps) * pace

    order = running + [run for run in runs if run.state == "waiting"]
    ends = ends_in_parallel([seconds(run) for run in order], len(running))
    return dict(zip((run.recipe.run_id for run in order), ends, strict=True))


def _kind(run: RunStatus) -> tuple:
    return run.recipe.engine, run.recipe.model
