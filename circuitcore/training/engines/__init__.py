"""The engines there are, and which one trains a recipe here."""

import dataclasses
import functools
import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType

from circuitcore import native
from circuitcore.models import ModelConfig
from circuitcore.models.capabilities import Known, unsupported
from circuitcore.native import why_not
from circuitcore.training.during import edits_of, factors
from circuitcore.training.engines.engine import Engine, TorchEngine
from circuitcore.training.engines.native_engine import NativeEngine
from circuitcore.training.engines.stacked import stacked_engine
from circuitcore.training.errors import RecipeError
from circuitcore.training.optimizer import Optimizer
from circuitcore.training.recipe import ENGINE_VERSION, Recipe

LOG = logging.getLogger(__name__)
ENGINES: Mapping[str, Callable[[ModelConfig, Optimizer, int], Engine]] = MappingProxyType(
    {"torch": TorchEngine, "native": NativeEngine, "stacked": stacked_engine}
)


# Which update rules the engines know; all of them the same.
RULES: Known = {
    **dict.fromkeys(("lr", "betas", "eps", "weight_decay", "clip_norm", "momentum", "warmup"), ()),
    **dict.fromkeys(("decay_from", "decay_until", "final_lr", "decay_at", "decay_factor"), ()),
    "name": ("adam", "adamw", "sgd"),
    "decay": ("none", "cosine", "step"),
}


def make_engine(recipe: Recipe) -> Engine:
    """The engine a recipe names, with its untrained model.

    Raises:
        RecipeError: an engine that cannot be used here, or a recipe for another meaning of training.
    """
    if recipe.engine_version != ENGINE_VERSION:
        raise RecipeError(
            f"engine_version = {recipe.engine_version}; this circuitcore trains version {ENGINE_VERSION}: runs of "
            "another version can be read, not made"
        )
    if recipe.engine != "torch" and (edits := edits_of(recipe.during)):
        raise RecipeError(
            f"engine {recipe.engine!r} makes no edits of its passes while it trains: {', '.join(map(str, edits))}; "
            "'torch' does, and makes another run"
        )
    if reason := unsupported(f"engine {recipe.engine!r}", RULES, recipe.optimizer):
        raise RecipeError(reason)
    if reason := _why_not(recipe):
        raise RecipeError(f"engine = 'native' cannot be used here: {reason}; 'torch' can, and makes another run")
    return ENGINES[recipe.engine](recipe.model, recipe.optimizer, recipe.init_seed)


def intervene(recipe: Recipe, engine: Engine) -> None:
    """Let an engine do to its network what ``recipe.during`` lists, from its next step on."""
    if recipe.during:
        engine.scale_updates(factors(recipe.model, recipe.during))
    if edits := edits_of(recipe.during):
        engine.edit_passes(edits)


def trainable(recipe: Recipe) -> Recipe:
    """``recipe``, or where its engine cannot be used here its twin for the torch engine, with one line saying so.

    The twin is another run, with a name of its own: results of two engines are never mixed under one.
    """
    if reason := _why_not(recipe):
        _say_once(f"The native engine cannot be used here: {reason}. Training with torch instead, which is slower.")
        return dataclasses.replace(recipe, engine="torch")
    return recipe


def _why_not(recipe: Recipe) -> str:
    """Why the recipe's engine cannot train its model here; empty where it can, as torch always can."""
    return (why_not() or native.unsupported(recipe.model)) if recipe.engine == "native" else ""


@functools.cache
def _say_once(line: str) -> None:
    LOG.warning(line)
