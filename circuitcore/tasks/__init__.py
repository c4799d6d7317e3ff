"""The tasks by name. Adding one here is a file, a line below and its name in ``task_names``; outsiders pass
``module:Class``.

Whoever writes ``module:Class`` in code, in a parameter file or on a command line names the code to import. A name that
stands in a file of a stored run was written by somebody else: it counts only if the caller allows it
(``require_allowed``).
"""

import dataclasses
import functools
import importlib
import json
import re
import typing
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import pydantic

from circuitcore.ground.plain_values import fault, shown
from circuitcore.ground.spelling import unknown
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.base import Batch, Interchange, Task, TaskError
from circuitcore.tasks.chain_lengths import ChainsOfLengths
from circuitcore.tasks.chain_words import ChainWords
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.tasks.conditional import ConditionalRetrieval
from circuitcore.tasks.errors import OutsideTaskError
from circuitcore.tasks.in_context_recall import InContextRecall
from circuitcore.tasks.k_fold_composition import KFoldComposition
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.tasks.planted import PlantedRepeats
from circuitcore.tasks.story import Story
from circuitcore.tasks.stream_kv import StreamKV
from circuitcore.tasks.symbolic_kv import SymbolicKV
from circuitcore.tasks.textual_kv import TextualKV
from circuitcore.tasks.token_task import TokenTask
from circuitcore.tasks.vector_task import VectorTask

__all__ = [
    "TASKS",
    "Batch",
    "Interchange",
    "OutsideTaskError",
    "Task",
    "TaskError",
    "TokenTask",
    "VectorTask",
    "allowed_tasks",
    "make_task",
    "require_allowed",
]

_KINDS = (SymbolicKV, TextualKV, Story, PlantedRepeats, PermutationRecall, ChainRetrieval, ChainWords)
_KINDS += (StreamKV, BalancedStream, ChainsOfLengths, KFoldComposition, ConditionalRetrieval, InContextRecall)
TASKS: Mapping[str, type[Task]] = MappingProxyType({kind.name: kind for kind in _KINDS})
_IMPORT_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


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
    fields = [item.name for item in dataclasses.fields(kind)]
    checked = {}
    for key, value in params.items():
        if key not in fields:
            raise TaskError(f"task {name!r}: {unknown('parameter', key, fields)}")
        checked[key] = _checked(f"task {name!r}: parameter {key!r}", _adapter(kind, key), value)
    return kind(**checked)


def require_allowed(name: str, allow_tasks: Collection[str]) -> None:
    """Stop before a name out of a file makes anything be imported.

    Args:
        name: of a task, as the file has it.
        allow_tasks: import paths that the caller vouches for.

    Raises:
        OutsideTaskError: an import path that is not among them.
    """
    if name in TASKS or name in allow_tasks or not _IMPORT_PATH.fullmatch(name):
        return  # what is neither a task nor an import path is refused by ``make_task``, which imports nothing for it
    raise OutsideTaskError(
        f"its task {name!r} is code from outside circuitcore. Reading a run imports no such code, and none was "
        f"imported. If you trust whoever wrote it, allow it by name: allow_tasks=({name!r},) for RunStore or verify, "
        f"or --allow-task {name} on the command line."
    )


def allowed_tasks(names: Collection[str]) -> tuple[str, ...]:
    """Import paths that the caller allows, checked for their form; nothing is imported.

    Raises:
        TaskError: one that is no import path, or a text in place of a list of them.
    """
    if isinstance(names, str):
        raise TaskError(f"allow_tasks = {names!r}; allowed: a tuple of import paths, such as ({names!r},)")
    for name in names:
        if not (isinstance(name, str) and (_IMPORT_PATH.fullmatch(name) or name in TASKS)):
            raise TaskError(f"allow_tasks: {name!r} is no import path; allowed: 'package.module:Class'")
    return tuple(names)


def _task_type(name: str) -> type[Task]:
    if name in TASKS:
        return TASKS[name]
    if not _IMPORT_PATH.fullmatch(name):
        raise TaskError(unknown("task", name, TASKS) + ", or an import path 'package.module:Class'")
    module_name, _, class_name = name.partition(":")
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
    return isinstance(value, type) and issubclass(value, Task) and value not in (Task, TokenTask, VectorTask)


@functools.cache
def _adapter(kind: type[Task], key: str) -> tuple[Any, pydantic.TypeAdapter]:
    """The type of a task's parameter, and what checks it: made once, as hundreds of runs share a few tasks."""
    hint = typing.get_type_hints(kind)[key]
    return hint, pydantic.TypeAdapter(hint)


def _checked(where: str, typed: tuple[Any, pydantic.TypeAdapter], value: Any) -> Any:
    """The value if its type is right. Through JSON, so that a list from a file becomes a tuple."""
    hint, adapter = typed
    if allowed := fault(value):
        raise TaskError(f"{where} = {shown(value)}; allowed: {allowed}")
    try:
        return adapter.validate_json(json.dumps(value), strict=True)
    except (TypeError, ValueError) as error:
        allowed = getattr(hint, "__name__", None) if isinstance(hint, type) else hint
        raise TaskError(f"{where} = {shown(value)}; allowed: {allowed}") from error
