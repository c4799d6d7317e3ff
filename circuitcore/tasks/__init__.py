"""The tasks by name. Adding one here is one file and one line; outsiders pass ``module:Class``."""

import dataclasses
import importlib
import json
import typing
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pydantic

from circuitcore.spelling import unknown
from circuitcore.tasks.base import Batch, Interchange, Task, TaskError
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.tasks.planted import PlantedRepeats
from circuitcore.tasks.story import Story
from circuitcore.tasks.symbolic_kv import SymbolicKV
from circuitcore.tasks.textual_kv import TextualKV

__all__ = ["TASKS", "Batch", "Interchange", "Task", "TaskError", "make_task"]

TASKS: Mapping[str, type[Task]] = MappingProxyType(
    {kind.name: kind for kind in (SymbolicKV, TextualKV, Story, PlantedRepeats, PermutationRecall)}
)


def make_task(name: str, params: Mapping[str, Any]) -> Task:
    """Build a task from a name and parameters, as they stand in a recipe or a params file.

    Args:
        name: a key of ``TASKS``, or ``package.module:Class`` for a task that lives elsewhere.
        params: parameter -> JSON literal. Parameters left out keep their default.

    Raises:
        TaskError: unknown task, unknown parameter, a value of the wrong type, or values that the
            task refuses. The text names the key, what was given and what is allowed.
    """
    kind = _task_type(name)
    hints = typing.get_type_hints(kind)
    fields = [item.name for item in dataclasses.fields(kind)]
    checked = {}
    for key, value in params.items():
        if key not in fields:
            raise TaskError(f"task {name!r}: {unknown('parameter', key, fields)}")
        checked[key] = _checked(f"task {name!r}: parameter {key!r}", hints[key], value)
    return kind(**checked)


def _task_type(name: str) -> type[Task]:
    if name in TASKS:
        return TASKS[name]
    if ":" not in name:
        raise TaskError(unknown("task", name, TASKS) + ", or an import path 'package.module:Class'")
    module_name, class_name = name.split(":", 1)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise TaskError(f"task {name!r}: cannot import {module_name!r} ({error})") from error
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and issubclass(found, Task)):
        offered = [key for key, value in vars(module).items() if _is_task(value)]
        raise TaskError(f"task {name!r}: {unknown('task class', class_name, offered)}")
    return found


def _is_task(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Task) and value is not Task


def _checked(where: str, hint: Any, value: Any) -> Any:
    """The value if its type is right. Through JSON, so that a list from a file becomes a tuple."""
    try:
        text = json.dumps(value)
        return pydantic.TypeAdapter(hint).validate_json(text, strict=True)
    except (TypeError, ValueError) as error:
        allowed = getattr(hint, "__name__", None) if isinstance(hint, type) else hint
        raise TaskError(f"{where} = {value!r} ({type(value).__name__}); allowed: {allowed}") from error
