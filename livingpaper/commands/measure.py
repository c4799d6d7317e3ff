"""``circuitcore measure``: train what a study's tables are of, and measure the tables that are missing."""

from collections.abc import Sequence
from types import ModuleType

from pydantic import BaseModel

from circuitcore.ground.durations import Durations, expected
from circuitcore.ground.progress import Watch
from circuitcore.metrics.instruments.measuring import left_to_measure, measure_all, require_weights, unmeasured
from circuitcore.training.recipe import Recipe
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.sweeps.sweep import left_to_train, obtainable, train_all
from livingpaper.book import studies


def measure(  # noqa: PLR0913 - what the command line names
    name: str,
    study: ModuleType,
    params: BaseModel,
    wanted: Sequence[Recipe],
    *,
    store: RunStore,
    executor: str,
    durations: Durations,
    watch: Watch,
) -> None:
    """Train the recipes that are wanted, and measure what is missing of the study's; says first how long it takes.

    Raises:
        StoreError: a table that is of checkpoints whose weights are not here.
    """
    arms = {arm: obtainable(store, recipes) for arm, recipes in study.recipes(params).items()}
    instruments = studies.instruments(study, params)
    training = left_to_train(name, store, wanted, executor)
    todo = unmeasured(store.find, arms, instruments)
    measuring = [left_to_measure(name, lacking, recipes, executor) for lacking, recipes in todo.items()]
    if training or measuring:
        watch.say(expected([*training, *measuring], durations))
    with durations.timed_work(training):
        train_all(store, wanted, executor, watch=watch)
    require_weights(name, store, todo, arms, durations)
    for (lacking, recipes), work in zip(todo.items(), measuring, strict=True):
        with durations.timed_work([work]):
            measure_all(store, lacking, recipes, executor, watch)
        watch.say(f"{len(recipes)} run(s) measured: {', '.join(one.key for one in lacking)}.")
