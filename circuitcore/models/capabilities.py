"""What computes a decoder beside ``transformer`` says which words of a config it knows, and is asked before it starts.

So a new field or word of ``ModelConfig`` may start in torch alone: whatever else there is refuses it by name, until it
learns it and says so.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

Known = Mapping[str, tuple[Any, ...]]
"""Field of a frozen dataclass -> the values that are known; () for all of them."""


class UnsupportedError(ValueError):
    """Something was asked to compute a model or an update that it does not know; the message names each word."""


def unsupported(who: str, known: Known, asked: Any) -> str:
    """Why ``who`` cannot do what a frozen dataclass asks for, in one sentence; empty where it can.

    A field that it does not know may be there, as long as it says nothing: has its default.

    Args:
        who: subject of the sentence, such as "the native decoder".
        known: what it knows.
        asked: a ``ModelConfig`` or an ``Optimizer``.
    """
    reasons = []
    for field in dataclasses.fields(asked):
        value, words = getattr(asked, field.name), known.get(field.name)
        if words is None and value != field.default:
            reasons.append(f"{field.name} = {value!r} (it knows no {field.name})")
        elif words and value not in words:
            reasons.append(f"{field.name} = {value!r} (it knows {', '.join(map(repr, words))})")
    return f"{who} does not know {' nor '.join(reasons)}" if reasons else ""


def require(who: str, known: Known, asked: Any) -> None:
    """UnsupportedError with the sentence of ``unsupported``, if there is one."""
    if reason := unsupported(who, known, asked):
        raise UnsupportedError(reason)
