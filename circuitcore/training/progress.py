"""What a long job says about itself: how long it should take, before it starts, and how far it is."""

import heapq
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tqdm import tqdm

from circuitcore.training.engine import one_thread
from circuitcore.training.engines import make_engine
from circuitcore.training.loop import Training
from circuitcore.training.recipe import Recipe

WARM_UP_STEPS = 3  # the first steps pay for memory that later ones reuse
TIMED_STEPS = 12
TIMED_CHECKPOINTS = 3
# Until a pool's workers have imported torch. A constant: to time it here would take as long.
POOL_SECONDS = 3.0
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Watch:
    """Where a long job reports to.

    Attributes:
        say: takes one line of text, such as the expected time.
        bar: makes a progress bar; ``tqdm.auto.tqdm`` suits a notebook.
    """

    say: Callable[[str], None]
    bar: Callable[..., tqdm] = tqdm


@dataclass(frozen=True)
class Forecast:
    """How long some training should take on this machine: a few steps and checkpoints timed, times what is left."""

    n_runs: int
    n_steps: int
    workers: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"Training {self.n_runs} run(s), {self.n_steps:,} steps, on {self.workers} worker(s): expected "
            f"{duration(self.seconds)} (a few steps and checkpoints of each recipe, timed here, times what is left)."
        )


def forecast(steps_left: Mapping[Recipe, int], workers: int, root: Path | None = None) -> Forecast:
    """The time until all of ``steps_left`` is done, longest runs first, ``workers`` at a time.

    Args:
        steps_left: of each recipe.
        workers: more than one means a pool of processes, which takes a while to begin.
        root: where runs are kept; its disk is timed. None for the system's folder of temporary files.
    """
    costs: dict[object, tuple[float, float]] = {}
    loads = []
    for recipe, left in steps_left.items():
        task, stages = recipe.make_task(), recipe.stages
        shape = (recipe.engine, recipe.model, recipe.optimizer.name, recipe.batch_size, stages, task)
        if shape not in costs:
            costs[shape] = seconds_per_step(recipe), seconds_per_checkpoint(recipe, root)
        step, checkpoint = costs[shape]
        checkpoints = sum(at > recipe.n_steps - left for at in recipe.checkpoint_steps)
        loads.append(step * left + checkpoint * checkpoints)
    seconds = time_in_parallel(loads, workers) + (POOL_SECONDS if workers > 1 else 0)
    return Forecast(len(loads), sum(steps_left.values()), workers, seconds)


def seconds_per_checkpoint(recipe: Recipe, root: Path | None) -> float:
    """Seconds one checkpoint of ``recipe`` takes here: its files, and the loss that is recorded with it."""
    times = []
    with one_thread(), TemporaryDirectory(prefix=".timing-", dir=root) as folder:
        training = Training(recipe, Path(folder), make_engine(recipe))
        for _ in range(TIMED_CHECKPOINTS):
            start = time.perf_counter()
            training.checkpoint()
            times.append(time.perf_counter() - start)
    return median(times)


def seconds_per_step(recipe: Recipe) -> float:
    """Seconds one update takes here, averaged over the recipe's stages by their share of the epochs."""
    total, epoch = 0.0, 0
    with one_thread():
        for stage in recipe.stages:
            engine, times = make_engine(recipe), []
            for rows in islice(recipe.schedule.epoch(epoch), WARM_UP_STEPS + TIMED_STEPS):
                start = time.perf_counter()
                engine.step(rows.tokens, rows.targets, rows.loss_mask)
                times.append(time.perf_counter() - start)
            total += median(times[WARM_UP_STEPS:] or times) * stage.epochs
            epoch += stage.epochs
    return total / recipe.schedule.n_epochs


def time_in_parallel(loads: list[float], workers: int) -> float:
    """When the last of ``loads`` (seconds each) ends, if the longest is always handed out first."""
    free_at = [0.0] * workers
    for load in sorted(loads, reverse=True):
        heapq.heappush(free_at, heapq.heappop(free_at) + load)
    return max(free_at)


def duration(seconds: float) -> str:
    """``about 40 s``, ``about 3 min``, ``about 2.5 h``."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


@contextmanager
def polled(bar: tqdm, done: Callable[[], int]) -> Iterator[None]:
    """Keep ``bar`` at ``done()`` while the body runs, wherever the work itself happens."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(POLL_SECONDS):
            bar.update(done() - bar.n)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    try:
        with bar:
            yield
            ended.set()
            follower.join()
            bar.update(done() - bar.n)
    finally:
        ended.set()
