"""Which fields of a frozen value enter its hash, so that a field that is added later renames nothing there is."""

import dataclasses
from typing import Any

_LATER = "later"


def later(default: Any) -> Any:
    """A field of a dataclass that is younger than the first hashes: it enters one only where it is not ``default``."""
    return dataclasses.field(default=default, metadata={_LATER: True})


def canonical(value: Any) -> dict[str, Any]:
    """What is hashed of a frozen dataclass: its fields, in their order, without those added later that say nothing.

    Values are as they are; dataclasses inside are the caller's to turn.
    """
    fields = {field.name: (field, getattr(value, field.name)) for field in dataclasses.fields(value)}
    return {name: one for name, (field, one) in fields.items() if _LATER not in field.metadata or one != field.default}


def may_lack(kind: type) -> tuple[str, ...]:
    """The fields that a stored value of ``kind`` may be without: those added later."""
    return tuple(field.name for field in dataclasses.fields(kind) if _LATER in field.metadata)
