"""A recipe: everything that decides the weights of a run, as one frozen value named by its hash."""

import dataclasses
import functools
import hashlib
import json
import math
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from circuitcore.ground.hashed import canonical, may_lack
from circuitcore.ground.reading import canonical_json, parse_json
from circuitcore.ground.spelling import unknown
from circuitcore.models.config import ModelConfig
from circuitcore.tasks import allowed_tasks, make_task, require_allowed
from circuitcore.tasks.base import Task
from circuitcore.training.errors import RecipeError
from circuitcore.training.schedule import MAX_DATA_SEED, MAX_EPOCHS, Schedule, Stage

# Bump it whenever the same recipe gives other weights: a changed update rule, loss, batch order or initialisation.
ENGINE_VERSION = 1
MAX_INIT_SEED = 2**32 - 1  # torch's CPU generator reads 32 bits of its seed
MAX_CHECKPOINTS = 5_000  # their ledger takes 1.4 MB; a larger one than 2 MB would not be read
MAX_FRESH_ROWS = 10**7  # drawn at once: a hundred times what any study here draws in an epoch
MAX_SHOWN = 200  # characters of a value in an error


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """The update rule. ``weight_decay`` is Adam's (added to the gradient) or AdamW's (decoupled).

    ``clip_norm``: largest total gradient norm; None leaves gradients as they are.
    """

    name: Literal["adam", "adamw"] = "adam"
    lr: float
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    clip_norm: float | None = None

    def __post_init__(self):
        rules = get_args(Optimizer.__annotations__["name"])
        _require(self.name in rules, "optimizer.name", self.name, " or ".join(rules))
        _require(_is_number(self.lr) and self.lr > 0, "optimizer.lr", self.lr, "a number > 0")
        pair = isinstance(self.betas, tuple) and len(self.betas) == 2
        in_range = pair and all(_is_number(beta) and 0 <= beta < 1 for beta in self.betas)
        _require(in_range, "optimizer.betas", self.betas, "two numbers in [0, 1)")
        _require(_is_number(self.eps) and self.eps > 0, "optimizer.eps", self.eps, "a number > 0")
        decays = _is_number(self.weight_decay) and self.weight_decay >= 0
        _require(decays, "optimizer.weight_decay", self.weight_decay, "a number >= 0")
        clips = self.clip_norm is None or (_is_number(self.clip_norm) and self.clip_norm > 0)
        _require(clips, "optimizer.clip_norm", self.clip_norm, "a number > 0, or None")
        # 1 and 1.0 are one value, so they must be one text in the hash.
        object.__setattr__(self, "betas", tuple(float(beta) for beta in self.betas))
        for field in ("lr", "eps", "weight_decay", "clip_norm"):
            value = getattr(self, field)
            object.__setattr__(self, field, None if value is None else float(value))


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
        init_seed: seed of the initial weights, 0..2**32-1.
        data_seed: seed of the batch order, 0..65535 (see ``Schedule``).
        checkpoint_epochs: epochs after which the weights are kept, increasing; 0 is the untrained network, the
            last one must be the end of training.
        engine: which engine trains it.
        engine_version: the meaning of training it was written for.

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
    checkpoint_epochs: tuple[int, ...]
    engine: str = "torch"
    engine_version: int = ENGINE_VERSION

    def __post_init__(self):
        _check_kinds(self)
        task = make_task(self.task, self.task_params)
        object.__setattr__(self, "task_params", MappingProxyType(task.params))
        _check_sizes(self)
        _check_stages(self.stages, task)
        _check_checkpoints(self.checkpoint_epochs, sum(stage.epochs for stage in self.stages))
        for need in task.model_needs:
            value = getattr(self.model, need.field)
            _require(need.least <= value <= need.most, f"model.{need.field}", value, need.allowed)

    def to_json(self) -> str:
        """Canonical JSON: every field, sorted keys, no spaces. Equal recipes give equal text."""
        inside = {
            "task_params": dict(self.task_params),
            "model": canonical(self.model),
            "optimizer": canonical(self.optimizer),
            "stages": [canonical(stage) for stage in self.stages],
        }
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
        values = _checked_keys(cls, "recipe", values)
        _require(isinstance(values["task"], str), "task", values["task"], "text")
        require_allowed(values["task"], allowed_tasks(allow_tasks))
        model, optimizer, stages = (values.pop(name) for name in ("model", "optimizer", "stages"))
        _require(isinstance(model, dict), "model", model, "a JSON object")
        _require(isinstance(stages, list), "stages", stages, "a list")
        optimizer = _checked_keys(Optimizer, "recipe.optimizer", optimizer)
        stages = [_checked_keys(Stage, "recipe.stages", stage) for stage in stages]
        return cls(
            **_typed(cls, "", values),
            model=ModelConfig.from_dict(_typed(ModelConfig, "model.", model)),
            optimizer=Optimizer(**_typed(Optimizer, "optimizer.", optimizer)),
            stages=tuple(Stage(**_typed(Stage, "stages.", stage)) for stage in stages),
        )

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON, 64 hex digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @property
    def run_id(self) -> str:
        """Name of the run: the task's name and the first 12 digits of the hash. Safe as a folder name."""
        word = re.sub(r"[^A-Za-z0-9_]+", "-", self.make_task().name)
        return f"{word}-{self.sha256[:12]}"

    @cached_property
    def schedule(self) -> Schedule:
        """The batches of the whole training; makes the task's rows when first asked for a size."""
        return Schedule(self.make_task(), self.stages, self.batch_size, self.data_seed)

    @property
    def n_steps(self) -> int:
        """Optimizer updates of the whole training."""
        return self.schedule.n_steps

    @property
    def checkpoint_steps(self) -> tuple[int, ...]:
        """Steps at which weights are kept: the ends of ``checkpoint_epochs``."""
        return tuple(self.schedule.epoch_ends[epoch] for epoch in self.checkpoint_epochs)

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


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_count(value: object, low: int = 1, high: int | float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _require(holds: bool, field: str, given: object, allowed: str) -> None:  # noqa: FBT001 - the condition itself
    if not holds:
        raise RecipeError(f"{field} = {_shown(given)} ({type(given).__name__}); allowed: {allowed}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _check_kinds(recipe: Recipe) -> None:
    _require(isinstance(recipe.task, str), "task", recipe.task, "text")
    _require(isinstance(recipe.task_params, Mapping), "task_params", recipe.task_params, "a mapping")
    _require(isinstance(recipe.model, ModelConfig), "model", recipe.model, "a ModelConfig")
    _require(isinstance(recipe.optimizer, Optimizer), "optimizer", recipe.optimizer, "an Optimizer")
    _require(isinstance(recipe.engine, str), "engine", recipe.engine, "text")


def _check_sizes(recipe: Recipe) -> None:
    _require(_is_count(recipe.batch_size), "batch_size", recipe.batch_size, "an integer >= 1")
    init_fits = _is_count(recipe.init_seed, 0, MAX_INIT_SEED)
    _require(init_fits, "init_seed", recipe.init_seed, f"an integer in 0..{MAX_INIT_SEED}")
    data_fits = _is_count(recipe.data_seed, 0, MAX_DATA_SEED)
    _require(data_fits, "data_seed", recipe.data_seed, f"an integer in 0..{MAX_DATA_SEED}")
    _require(_is_count(recipe.engine_version), "engine_version", recipe.engine_version, "an integer >= 1")


def _check_stages(stages: tuple[Stage, ...], task: Task) -> None:
    _require(isinstance(stages, tuple) and len(stages) > 0, "stages", stages, "a tuple of at least one Stage")
    for stage in stages:
        _require(isinstance(stage, Stage), "stages", stage, "a tuple of at least one Stage")
        named = isinstance(stage.splits, tuple) and len(stage.splits) > 0
        _require(named, "stages.splits", stage.splits, "a tuple of at least one split name")
        for split in stage.splits:
            if split not in task.splits:
                raise RecipeError(f"stages.splits: {unknown('split', str(split), task.splits)}")
        _require(_is_count(stage.epochs), "stages.epochs", stage.epochs, "an integer >= 1")
        fits = _is_count(stage.fresh, 0, MAX_FRESH_ROWS)
        _require(fits, "stages.fresh", stage.fresh, f"an integer >= 0, at most {MAX_FRESH_ROWS:,}")
        can_draw = not stage.fresh or type(task).draw is not Task.draw
        _require(can_draw, "stages.fresh", stage.fresh, f"0, since task {task.name!r} draws no fresh rows")
        one = not stage.fresh or len(stage.splits) == 1
        _require(one, "stages.splits", stage.splits, "one split, where each epoch draws fresh rows")
    total = sum(stage.epochs for stage in stages)
    _require(total <= MAX_EPOCHS, "stages.epochs", total, f"at most {MAX_EPOCHS} in all")


def _check_checkpoints(epochs: tuple[int, ...], last: int) -> None:
    allowed = f"increasing integers from 0 up, at most {MAX_CHECKPOINTS:,}, the last one the end of training, {last}"
    counts = isinstance(epochs, tuple) and all(_is_count(epoch, 0, last) for epoch in epochs)
    increasing = counts and list(epochs) == sorted(set(epochs))
    fits = increasing and 0 < len(epochs) <= MAX_CHECKPOINTS
    _require(fits and epochs[-1] == last, "checkpoint_epochs", epochs, allowed)


def _checked_keys(kind: type, where: str, values: object) -> dict[str, Any]:
    """``values`` if it is an object with exactly the fields of ``kind``, or without those that it may lack."""
    if not isinstance(values, dict):
        raise RecipeError(f"{where} must be a JSON object, got {_shown(values)}")
    names = [field.name for field in dataclasses.fields(kind)]
    for key in values:
        if key not in names:
            raise RecipeError(f"{where}: {unknown('field', key, names)}")
    missing = [name for name in names if name not in values and name not in may_lack(kind)]
    if missing:
        raise RecipeError(f"{where} lacks {', '.join(missing)}")
    return dict(values)


def _typed(kind: type, prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON values as the fields of ``kind`` want them (a list as a tuple); RecipeError for one of another type.

    Words are left to ``kind``, which knows a misspelt one, and so are names that it does not have.
    """
    typed = dict(values)
    for name in values.keys() & _hints(kind).keys():
        hint, adapter = _adapter(kind, name)
        try:
            typed[name] = adapter.validate_json(json.dumps(values[name]), strict=True)
        except ValueError:
            _require(False, f"{prefix}{name}", values[name], str(getattr(hint, "__name__", hint)))  # noqa: FBT003
    return typed


@functools.cache
def _hints(kind: type) -> Mapping[str, Any]:
    """The types of fields by name: looked up once, as hundreds of recipes are read one after the other."""
    return get_type_hints(kind)


@functools.cache
def _adapter(kind: type, name: str) -> tuple[Any, TypeAdapter]:
    """The type of a field, and what checks it."""
    hint = _hints(kind)[name]
    hint = str if get_origin(hint) is Literal else hint
    return hint, TypeAdapter(hint)
