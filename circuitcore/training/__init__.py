"""Recipes, the engine that trains them, experiments, and the store that keeps every run.

Each name is imported when it is first asked for: torch takes seconds, and whoever lists runs, or compares tables with
what was published, needs none.
"""

import importlib
from typing import Any

_HOMES = {
    "ENGINES": "engines",
    "ENGINE_VERSION": "recipe",
    "CheckpointError": "errors",
    "Clamp": "during",
    "DivergedError": "errors",
    "Engine": "engines.engine",
    "ExecutorError": "errors",
    "Experiment": "experiment",
    "Freeze": "during",
    "Graft": "during",
    "Hold": "during",
    "Optimizer": "optimizer",
    "Problem": "store.places",
    "Recipe": "recipe",
    "RecipeError": "errors",
    "Run": "store.run",
    "RunStore": "store.run_store",
    "Scale": "during",
    "Schedule": "schedule",
    "Stage": "schedule",
    "StepStats": "engines.engine",
    "StoreError": "errors",
    "TorchEngine": "engines.engine",
    "map_runs": "sweeps.executor",
    "verify": "store.verify",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    """One of the names above, out of the module that has it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
