"""A recipe: everything that decides the weights of a run, as one frozen value named by its hash."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from circuitcore.ground.engine_names import ENGINE_NAMES
from circuitcore.ground.hashed import canonical, later
from circuitcore.ground.reading import canonical_json, parse_json
from circuitcore.ground.spelling import unknown
from circuitcore.models.config import ModelConfig
from circuitcore.tasks import allowed_tasks, make_task, require_allowed
from circuitcore.tasks.base import Task
from circuitcore.training import during as interventions
from circuitcore.training.during import During
from circuitcore.training.errors import RecipeError
from circuitcore.training.fields import are_increasing, checked_keys, is_count, require, typed
from circuitcore.training.optimizer import Optimizer
from circuitcore.training.schedule import MAX_DATA_SEED, MAX_EPOCHS, Schedule, Stage

# Bump it whenever the same recipe gives other weights: a changed update rule, loss, batch order or initialisation.
ENGINE_VERSION = 1
MAX_INIT_SEED = 2**32 - 1  # torch's CPU generator reads 32 bits of its seed
MAX_CHECKPOINTS = 5_000  # their ledger takes 1.4 MB; a larger one than 2 MB would not be read
MAX_FRESH_ROWS = 10**7  # drawn at once: a hundred times what any study here draws in an epoch


@dataclass(frozen=True, kw_only=True, eq=False)
class Recipe:
    """Everything that decides a run's weights, and nothing that does not. Two equal recipes are one run.

    Attributes:
        task: a name in ``TASKS`` or ``module:Class``.
        task_params: its parameters; those left out are filled in, so that a changed default is a changed recipe.
        model: the architecture.
        optimizer: the update rule.
        batch_size: rows per step; the last batch of an epoch may be shorter.
        stages: which splits are trained on, for how many epochs, in order.
        init_seed: seed of the initial weights, 0..2**32-1. Of a run with a parent nothing is drawn from it: there it
            tells its runs apart, with the order of the data.
        data_seed: seed of the batch order, 0..65535 (see ``Schedule``).
        checkpoint_epochs: epochs after which the weights are kept, increasing; 0 is the untrained network, the
            last one must be the end of training.
        checkpoint_at: in their stead the numbers of updates after which they are kept. The last one is the end of
            training, and may lie inside the last epoch.
        engine: which engine trains it.
        engine_version: the meaning of training it was written for.
        parent: (SHA-256 of a recipe, updates): the run goes on from where another one stood after so many updates,
            those of its own parent included. Its own steps count from 0; the rate, Adam's correction and the place in
            the batches go on, in the order of ``data_seed``. ``stages`` are those of the whole training, the
            parent's part included.
        during: what is done to the network while it is trained.

    Raises:
        RecipeError: a field that cannot be used. TaskError, ValueError: from the task or the model.
    """

    task: str
    task_params: Mapping[str, Any]
    model: ModelConfig
    optimizer: Optimizer
    batch_size: int
    stages: tuple[Stage, ...]
    init_seed: int
    data_seed: int
    checkpoint_epochs: tuple[int, ...] = ()
    checkpoint_at: tuple[int, ...] = later(())
    engine: str = "torch"
    engine_version: int = ENGINE_VERSION
    parent: tuple[str, int] | None = later(None)
    during: tuple[During, ...] = later(())

    def __post_init__(self):
        _check_kinds(self)
        task = make_task(self.task, self.task_params)
        object.__setattr__(self, "task_params", MappingProxyType(task.params))
        _check_sizes(self)
        _check_stages(self.stages, task)
        _check_checkpoints(self)
        _check_fork(self)
        for need in task.model_needs:
            value = getattr(self.model, need.field)
            require(need.least <= value <= need.most, f"model.{need.field}", value, need.allowed)

    def to_json(self) -> str:
        """Canonical JSON: every field, sorted keys, no spaces. Equal recipes give equal text."""
        inside = {
            "task_params": dict(self.task_params),
            "model": self.model.to_dict(),
            "optimizer": canonical(self.optimizer),
            "stages": [canonical(stage) for stage in self.stages],
        }
        if self.during:
            inside["during"] = [interventions.to_literals(one) for one in self.during]
        return canonical_json(canonical(self) | inside)

    @classmethod
    def from_json(cls, text: str, allow_tasks: Collection[str] = ()) -> "Recipe":
        """The recipe that ``text`` holds. No code is imported for it but that of ``allow_tasks``.

        Args:
            text: as ``to_json`` makes it.
            allow_tasks: import paths (``module:Class``) of tasks outside this package that it may name.

        Raises:
            OutsideTaskError: it names a task outside this package that is not allowed.
            RecipeError: no JSON object, a key that is unknown or missing, or a value that cannot be used.
        """
        try:
            values = parse_json(text.encode())
        except ValueError as error:
            raise RecipeError(f"a recipe is a JSON object; this is no JSON: {error}") from error
        values = checked_keys(cls, "recipe", values)
        require(isinstance(values["task"], str), "task", values["task"], "text")
        require_allowed(values["task"], allowed_tasks(allow_tasks))
        model, optimizer, stages = (values.pop(name) for name in ("model", "optimizer", "stages"))
        during = values.pop("during", [])
        require(isinstance(during, list), "during", during, "a list")
        require(isinstance(model, dict), "model", model, "a JSON object")
        require(isinstance(stages, list), "stages", stages, "a list")
        optimizer = checked_keys(Optimizer, "recipe.optimizer", optimizer)
        stages = [checked_keys(Stage, "recipe.stages", stage) for stage in stages]
        return cls(
            **typed(cls, "", values),
            model=ModelConfig.from_dict(typed(ModelConfig, "model.", ModelConfig.in_words(model))),
            optimizer=Optimizer(**typed(Optimizer, "optimizer.", optimizer)),
            stages=tuple(Stage(**typed(Stage, "stages.", stage)) for stage in stages),
            during=tuple(interventions.from_literals(one) for one in during),
        )

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON, 64 hex digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def run_id(self) -> str:
        """Name of the run: the task's name and the first 12 digits of the hash. Safe as a folder name."""
        word = re.sub(r"[^A-Za-z0-9_]+", "-", self.make_task().name)
        return f"{word}-{self.sha256[:12]}"

    @cached_property
    def schedule(self) -> Schedule:
        """The batches of the whole training; makes the task's rows when first asked for a size."""
        end, start = self.checkpoint_at[-1] if self.checkpoint_at else None, self.parent[1] if self.parent else 0
        return Schedule(self.make_task(), self.stages, self.batch_size, self.data_seed, end, start)

    @property
    def n_steps(self) -> int:
        """Optimizer updates of the whole training."""
        return self.schedule.n_steps

    @property
    def checkpoint_steps(self) -> tuple[int, ...]:
        """Steps at which weights are kept: ``checkpoint_at``, or the ends of ``checkpoint_epochs``."""
        return self.checkpoint_at or tuple(self.schedule.epoch_ends[epoch] for epoch in self.checkpoint_epochs)

    @property
    def n_checkpoints(self) -> int:
        """How often weights are kept; unlike at which steps, this needs no rows."""
        return len(self.checkpoint_at or self.checkpoint_epochs)

    @property
    def named_runs(self) -> frozenset[str]:
        """Hashes of the recipes whose runs it begins with: its parent's, and those it is grafted from."""
        grafts = {one.source[0] for one in self.during if isinstance(one, interventions.Graft)}
        return frozenset(grafts | ({self.parent[0]} if self.parent else set()))

    def make_task(self) -> Task:
        """The task this recipe trains on."""
        return make_task(self.task, self.task_params)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __reduce__(self):
        # Between processes a recipe travels as its JSON: a mapping proxy does not pickle. Whoever made it named its
        # task, and pickles are exchanged only among our own processes.
        return Recipe.from_json, (self.to_json(), (self.task,))


def _check_kinds(recipe: Recipe) -> None:
    require(isinstance(recipe.task, str), "task", recipe.task, "text")
    require(isinstance(recipe.task_params, Mapping), "task_params", recipe.task_params, "a mapping")
    require(isinstance(recipe.model, ModelConfig), "model", recipe.model, "a ModelConfig")
    require(isinstance(recipe.optimizer, Optimizer), "optimizer", recipe.optimizer, "an Optimizer")
    require(isinstance(recipe.engine, str), "engine", recipe.engine, "text")
    if recipe.engine not in ENGINE_NAMES:
        raise RecipeError(unknown("engine", recipe.engine, ENGINE_NAMES))


def _check_sizes(recipe: Recipe) -> None:
    require(is_count(recipe.batch_size), "batch_size", recipe.batch_size, "an integer >= 1")
    init_fits = is_count(recipe.init_seed, 0, MAX_INIT_SEED)
    require(init_fits, "init_seed", recipe.init_seed, f"an integer in 0..{MAX_INIT_SEED}")
    data_fits = is_count(recipe.data_seed, 0, MAX_DATA_SEED)
    require(data_fits, "data_seed", recipe.data_seed, f"an integer in 0..{MAX_DATA_SEED}")
    require(is_count(recipe.engine_version), "engine_version", recipe.engine_version, "an integer >= 1")


def _check_stages(stages: tuple[Stage, ...], task: Task) -> None:
    require(isinstance(stages, tuple) and len(stages) > 0, "stages", stages, "a tuple of at least one Stage")
    for stage in stages:
        require(isinstance(stage, Stage), "stages", stage, "a tuple of at least one Stage")
        named = isinstance(stage.splits, tuple) and len(stage.splits) > 0
        require(named, "stages.splits", stage.splits, "a tuple of at least one split name")
        for split in stage.splits:
            if split not in task.splits:
                raise RecipeError(f"stages.splits: {unknown('split', str(split), task.splits)}")
        require(is_count(stage.epochs), "stages.epochs", stage.epochs, "an integer >= 1")
        fits = is_count(stage.fresh, 0, MAX_FRESH_ROWS)
        require(fits, "stages.fresh", stage.fresh, f"an integer >= 0, at most {MAX_FRESH_ROWS:,}")
        can_draw = not stage.fresh or type(task).make_rows is not Task.make_rows
        old = "; its method draw must be called make_rows" if type(task).draw is not Task.draw else ""
        require(can_draw, "stages.fresh", stage.fresh, f"0, since task {task.name!r} draws no fresh rows{old}")
        one = not stage.fresh or len(stage.splits) == 1
        require(one, "stages.splits", stage.splits, "one split, where each epoch draws fresh rows")
    total = sum(stage.epochs for stage in stages)
    require(total <= MAX_EPOCHS, "stages.epochs", total, f"at most {MAX_EPOCHS} in all")


def _check_checkpoints(recipe: Recipe) -> None:
    epochs, steps, last = recipe.checkpoint_epochs, recipe.checkpoint_at, sum(stage.epochs for stage in recipe.stages)
    most = f"increasing integers from 0 up, at most {MAX_CHECKPOINTS:,}"
    counts = are_increasing(steps, 0) and len(steps) <= MAX_CHECKPOINTS and steps[-1:] != (0,)
    require(counts, "checkpoint_at", steps, f"{most}, the last one the end of training")
    if steps:
        require(epochs == (), "checkpoint_epochs", epochs, "(), where checkpoint_at says when weights are kept")
        return
    fits = are_increasing(epochs, 0, last) and 0 < len(epochs) <= MAX_CHECKPOINTS
    allowed = f"{most}, the last one the end of training, {last}"
    require(fits and epochs[-1] == last, "checkpoint_epochs", epochs, allowed)


def _check_fork(recipe: Recipe) -> None:
    interventions.check(recipe.model, recipe.during)
    if recipe.parent is not None:
        interventions.check_source("parent", recipe.parent)
        by_step = "() of a run with a parent, whose steps count from the parent's: give checkpoint_at"
        require(recipe.checkpoint_epochs == (), "checkpoint_epochs", recipe.checkpoint_epochs, by_step)
