"""Reading the fields of frozen values and refusing what they may not be: every message names field, value, remedy."""

import dataclasses
import functools
import json
import math
import sys
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from circuitcore.ground.hashed import may_lack
from circuitcore.ground.spelling import unknown
from circuitcore.training.errors import RecipeError

MAX_SHOWN = 200  # characters of a value in an error


def is_number(value: object) -> bool:
    """A finite number, and no truth."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def is_count(value: object, low: int = 1, high: int | float = math.inf) -> bool:
    """A whole number in ``low..high``, and no truth."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def are_increasing(values: object, low: int, high: int | float = math.inf) -> bool:
    """A tuple of whole numbers in ``low..high``, each larger than the one before it."""
    counts = isinstance(values, tuple) and all(is_count(value, low, high) for value in values)
    return counts and list(values) == sorted(set(values))


def require(holds: bool, field: str, given: object, allowed: str) -> None:  # noqa: FBT001 - the condition itself
    """RecipeError that names the field, what was given and what is allowed, unless the condition holds."""
    if not holds:
        raise RecipeError(f"{field} = {shown(given)} ({type(given).__name__}); allowed: {allowed}")


def require_silent(value: object, prefix: str, says: Mapping[str, bool], why: str) -> None:
    """Refuse fields that were set although they decide nothing: two texts would name one run.

    Args:
        value: a frozen dataclass.
        prefix: of the fields' names in a message.
        says: field -> whether it decides anything here.
        why: what makes the others decide nothing.
    """
    for field in dataclasses.fields(value):
        given = getattr(value, field.name)
        silent = says.get(field.name, True) or given == field.default
        require(silent, f"{prefix}{field.name}", given, f"{field.default!r}, as {why}")


def shown(value: object) -> str:
    """``value`` as an error shows it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def checked_keys(kind: type, where: str, values: object) -> dict[str, Any]:
    """``values`` if it is an object with exactly the fields of ``kind``, or without those that it may lack."""
    if not isinstance(values, dict):
        raise RecipeError(f"{where} must be a JSON object, got {shown(values)}")
    names = [field.name for field in dataclasses.fields(kind)]
    for key in values:
        if key not in names:
            raise RecipeError(f"{where}: {unknown('field', key, names)}")
    missing = [name for name in names if name not in values and name not in may_lack(kind)]
    if missing:
        raise RecipeError(f"{where} lacks {', '.join(missing)}")
    return dict(values)


def typed(kind: type, prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON values as the fields of ``kind`` want them (a list as a tuple); RecipeError for one of another type.

    Words are left to ``kind``, which knows a misspelt one, and so are names that it does not have.
    """
    found = dict(values)
    for name in values.keys() & _hints(kind).keys():
        hint, adapter = _adapter(kind, name)
        try:
            found[name] = adapter.validate_json(json.dumps(values[name]), strict=True)
        except ValueError:
            require(False, f"{prefix}{name}", values[name], str(getattr(hint, "__name__", hint)))  # noqa: FBT003
    return found


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


def words_of(kind: type, name: str) -> tuple[Any, ...]:
    """The words that a field of ``kind`` may be."""
    return get_args(_hints(kind)[name])
