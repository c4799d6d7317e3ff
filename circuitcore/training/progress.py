"""How long some training should take on this machine: its parts timed where, and beside what, they will run."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from circuitcore.durations import duration
from circuitcore.progress import time_in_parallel
from circuitcore.training.engine import Engine, one_thread
from circuitcore.training.engines import make_engine
from circuitcore.training.errors import ExecutorError
from circuitcore.training.executor import map_runs, start_fork_server, width
from circuitcore.training.loop import Training, data_sha256
from circuitcore.training.recipe import Recipe
from circuitcore.training.schedule import Rows

WARM_UP_STEPS = 3  # the first steps pay for memory that later ones reuse
TIMED_STEPS = 12
TIMED_CHECKPOINTS = 3
TIMED_SHARE = 0.03  # of what is forecast. A longer timing sees more of what else the machine is doing.
TIMED_SECONDS = 3.0  # for all shapes together, at most
MOST_KINDS = 3  # timed; each takes some seconds on every worker, and a study of many small arms has a dozen


@dataclass(frozen=True)
class Forecast:
    """How long some training should take on this machine: a few steps and checkpoints timed, times what is left."""

    n_runs: int
    n_steps: int
    workers: int
    seconds: float

    @property
    def what(self) -> str:
        """What is to be done."""
        return f"training {self.n_runs} run(s), {self.n_steps:,} steps, on {self.workers} worker(s)"

    def __str__(self) -> str:
        return (
            f"{self.what.capitalize()}: expected {duration(self.seconds)} (a few steps and checkpoints of each recipe, "
            "timed here, times what is left)."
        )


@dataclass(frozen=True)
class RunCost:
    """What one run costs here, in seconds.

    Attributes:
        rows: to make the task's rows; once in each process.
        begin: to begin and to end a run: its model, its first files, the hash of its rows.
        step: one update, its share of shuffling the rows included.
        checkpoint: its files, and the loss that is recorded with it.
        spent: until all this was known.
    """

    rows: float
    begin: float
    step: float
    checkpoint: float
    spent: float


def forecast(
    steps_left: Mapping[Recipe, int], executor: str = "serial", workers: int | None = None, root: Path | None = None
) -> Forecast:
    """The time until all of ``steps_left`` is done, in their order.

    The kinds of recipe with the most steps are timed on as many workers at once as will work: side by side they slow
    each other down, and so does whatever else the machine is doing. The other kinds are taken to cost what these do.

    Args:
        steps_left: of each recipe.
        executor: as in ``map_runs``.
        workers: as in ``map_runs``.
        root: where runs are kept; its disk is timed. None for the system's folder of temporary files.
    """
    kinds: dict[object, list[Recipe]] = {}
    for recipe in steps_left:
        kinds.setdefault(kind_of(recipe), []).append(recipe)
    room = width(executor, workers)
    side = min(room, len(steps_left))
    heaviest = sorted(kinds.values(), key=lambda recipes: sum(map(steps_left.get, recipes)), reverse=True)[:MOST_KINDS]
    timed = {recipes[0]: sum(steps_left[recipe] for recipe in recipes) / side for recipes in heaviest}
    time_one = partial(time_recipe, root.absolute() if root else None, timed, TIMED_SECONDS / len(timed))
    found, start = side_by_side(time_one, list(timed), executor, side)
    costs, usual = dict(zip(map(kind_of, timed), found, strict=True)), mean_cost(found)
    loads = []
    for recipe, left in steps_left.items():
        cost = costs.get(kind_of(recipe), usual)
        checkpoints = sum(at > recipe.n_steps - left for at in recipe.checkpoint_steps)
        loads.append(cost.begin + cost.step * left + cost.checkpoint * checkpoints)
    seconds = start + max(cost.rows for cost in found) + time_in_parallel(loads, side)
    return Forecast(len(loads), sum(steps_left.values()), side, seconds)


def kind_of(recipe: Recipe) -> tuple:
    """What recipes that cost the same have in common."""
    return recipe.engine, recipe.model, recipe.optimizer.name, recipe.batch_size, recipe.stages, recipe.make_task()


def side_by_side(time_one, recipes: list[Recipe], executor: str, side: int) -> tuple[list[Any], float]:
    """``time_one(recipe)`` on ``side`` workers at once, averaged over them; and what a pool of workers costs to begin.

    Args:
        time_one: gives a frozen dataclass of seconds, one of them ``spent``.
        recipes: one of each kind.
        executor: as in ``map_runs``.
        side: how many workers there will be.

    Raises:
        Exception: whatever stopped a timing.
    """
    if executor == "processes" and side > 1:
        start_fork_server()
    start, copies = time.perf_counter(), [recipe for recipe in recipes for _ in range(side)]
    try:
        found = map_runs(time_one, copies, executor, side)
    except ExecutorError as error:  # it says that the others are done, but nothing was to be done yet
        raise error.__cause__ or error from None
    passed = time.perf_counter() - start
    begin = max(0.0, passed - sum(cost.spent for cost in found) / side) if side > 1 else 0.0
    return [mean_cost(found[first : first + side]) for first in range(0, len(found), side)], begin


def mean_cost(costs: Sequence[Any]) -> Any:
    """The mean of costs of one type, field by field."""
    kind = type(costs[0])
    return kind(**{name: mean(getattr(cost, name) for cost in costs) for name in kind.__dataclass_fields__})


def time_recipe(root: Path | None, steps: Mapping[Recipe, float], seconds: float, recipe: Recipe) -> RunCost:
    """Begin a run in a temporary folder, and take a few steps and checkpoints; what a worker of ``forecast`` runs.

    Args:
        root: where the folder is made.
        steps: about how many steps a worker will take, for each recipe that is timed.
        seconds: most to spend on steps, but for the last one.
        recipe: whose cost is wanted.
    """
    clock = [time.perf_counter()]
    with one_thread(), TemporaryDirectory(prefix=".timing-", dir=root) as folder:
        recipe.n_steps  # noqa: B018 - makes the rows, as a worker does before its first run
        clock.append(time.perf_counter())
        data_sha256(recipe)  # the store compares rows once more when the run is finished
        training = Training(recipe, Path(folder), make_engine(recipe))
        clock.append(time.perf_counter())
        for _ in range(TIMED_CHECKPOINTS):
            training.checkpoint()
        clock.append(time.perf_counter())
        step = seconds_per_step(recipe, training.engine, steps[recipe], seconds)
    rows, begin, checkpoints = (after - before for before, after in zip(clock, clock[1:], strict=False))
    return RunCost(rows, begin, step, checkpoints / TIMED_CHECKPOINTS, time.perf_counter() - clock[0])


def seconds_per_step(recipe: Recipe, engine: Engine, n_steps: float, limit: float) -> float:
    """Seconds one update takes here, averaged over the recipe's stages by their share of the epochs.

    Args:
        recipe: whose batches are taken.
        engine: steps on them.
        n_steps: how many steps will be taken; timing them costs ``TIMED_SHARE`` of that.
        limit: seconds to spend, but for the last step.
    """
    total, epoch, n_epochs = 0.0, 0, recipe.schedule.n_epochs
    for stage in recipe.stages:
        start = time.perf_counter()
        batches = list(recipe.schedule.epoch(epoch))
        shuffling = (time.perf_counter() - start) / len(batches)
        share = stage.epochs / n_epochs
        times = step_times(engine, cycle(batches), TIMED_SHARE * n_steps * share, limit * share)
        # The mean, not the median: a step that had to wait for the core is part of what training takes.
        total += (shuffling + mean(times[WARM_UP_STEPS:] or times[-1:])) * share
        epoch += stage.epochs
    return total


def step_times(engine: Engine, batches: Iterable[Rows], wanted: float, limit: float) -> list[float]:
    """Seconds of single updates, the first of them a warm-up.

    Args:
        engine: does them.
        batches: without end.
        wanted: how many to time after the warm-up; ``TIMED_STEPS`` at least.
        limit: seconds after which it ends with the update under way.
    """
    times: list[float] = []
    for rows in batches:
        start = time.perf_counter()
        engine.step(rows.tokens, rows.targets, rows.loss_mask)
        times.append(time.perf_counter() - start)
        if len(times) >= WARM_UP_STEPS + max(wanted, TIMED_STEPS) or sum(times) >= limit:
            break
    return times
