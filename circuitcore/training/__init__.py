"""Recipes, the engine that trains them, and the store that keeps every run."""

from circuitcore.training.engines import ENGINES
from circuitcore.training.engines.engine import Engine, StepStats, TorchEngine
from circuitcore.training.errors import CheckpointError, DivergedError, ExecutorError, RecipeError, StoreError
from circuitcore.training.recipe import ENGINE_VERSION, Optimizer, Recipe
from circuitcore.training.schedule import Schedule, Stage
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.store.verify import Problem, verify
from circuitcore.training.sweeps.executor import map_runs

__all__ = [
    "ENGINES",
    "ENGINE_VERSION",
    "CheckpointError",
    "DivergedError",
    "Engine",
    "ExecutorError",
    "Optimizer",
    "Problem",
    "Recipe",
    "RecipeError",
    "Run",
    "RunStore",
    "Schedule",
    "Stage",
    "StepStats",
    "StoreError",
    "TorchEngine",
    "map_runs",
    "verify",
]
