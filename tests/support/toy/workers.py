"""What executors run in the tests: training that fails, or loses its worker, on demand."""

import os
import signal
import time
from pathlib import Path

from circuitcore.training import Recipe, RunStore


def train(root: Path, recipe: Recipe) -> str:
    """Plain training; the name of the run."""
    return RunStore(root, None).get_or_train(recipe).run_id


def process_of(recipe: Recipe) -> int:
    """Which process does it."""
    return os.getpid()


def refuse_seed_1(root: Path, recipe: Recipe) -> str:
    """Training that fails for one seed."""
    if recipe.init_seed == 1:
        raise ValueError("seed 1 is refused")
    return train(root, recipe)


def lose_worker_once(root: Path, at_step: int, recipe: Recipe) -> str:
    """Training whose process is killed at a step, the first time; every step is noted in ``root/SEED.steps``."""
    store, steps, killed = RunStore(root, None), root / f"{recipe.init_seed}.steps", root / f"{recipe.init_seed}.killed"

    def note(step: int) -> None:
        with steps.open("a") as file:
            file.write(f"{step}\n")
        if step == at_step and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    return store.get_or_train(recipe, note).run_id


def lose_worker_always(root: Path, recipe: Recipe) -> str:
    """Training whose process is killed every time for one seed."""
    if recipe.init_seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return train(root, recipe)


def count_trained_steps(root: Path, recipe: Recipe) -> int:
    """Train, or wait for whoever trains; the number of steps this process did itself.

    Whoever trains stops at step 10 until there is a file ``root/go``.
    """
    done = []

    def note(step: int) -> None:
        done.append(step)
        while step == 10 and not (root / "go").exists():
            time.sleep(0.02)

    RunStore(root, None).get_or_train(recipe, note)
    return len(done)
