"""Training many recipes: says what it will cost, shows how far it is, leaves out what is already there."""

from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial

from circuitcore.training.executor import map_runs, width
from circuitcore.training.progress import Watch, forecast, polled
from circuitcore.training.recipe import Recipe
from circuitcore.training.run import Run
from circuitcore.training.store import RunStore


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
        executor: as in ``map_runs``.
        workers: as in ``map_runs``.
        watch: told the expected time before training starts, then shows a bar; None for silence.

    Raises:
        ExecutorError: runs that failed; the others are finished and kept.
    """
    recipes = list(recipes)
    left = {recipe: recipe.n_steps - store.steps_done(recipe) for recipe in dict.fromkeys(recipes)}
    missing = [recipe for recipe in left if store.find(recipe) is None]
    if missing:
        with _shown(store, {recipe: left[recipe] for recipe in missing}, width(executor, workers), watch):
            map_runs(partial(train_one, store.absolute()), missing, executor, workers)
    return [store.get_or_train(recipe) for recipe in recipes]


def train_one(store: RunStore, recipe: Recipe) -> str:
    """Train ``recipe`` into ``store`` if need be; what a worker of ``train_all`` runs. Returns the run's name."""
    return store.get_or_train(recipe).run_id


def _shown(store: RunStore, left: dict[Recipe, int], workers: int, watch: Watch | None):
    if watch is None:
        return nullcontext()
    watch.say(str(forecast(left, min(workers, len(left)))))
    total = sum(recipe.n_steps for recipe in left)
    done = partial(_steps_done, store, list(left))
    bar = watch.bar(total=total, initial=total - sum(left.values()), unit="step", desc="training")
    return polled(bar, done)


def _steps_done(store: RunStore, recipes: list[Recipe]) -> int:
    return sum(store.steps_done(recipe) for recipe in recipes)
