"""Plain values (YAML, a notebook's literals, a command line) into a checked parameter object.

Every unusable key is reported at once: what was given, what is allowed, and the name or word it resembles.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from circuitcore.ground.plain_values import fault, named, shown
from circuitcore.ground.spelling import close_match
from livingpaper.book.plain_yaml import FileFault, read_mapping

MOST_UNKNOWN = 20  # parameters that do not exist which are named one by one


@dataclass(frozen=True)
class Problem:
    """One parameter that cannot be used: what was given, what is allowed, the name or word it resembles."""

    key: str
    given: str
    allowed: str
    close: str | None = None

    def __str__(self) -> str:
        guess = f"; did you mean {self.close!r}?" if self.close else ""
        return f"{self.key}: given {self.given}; allowed: {self.allowed}{guess}"


class ParameterError(ValueError):
    """Parameters that cannot be used; one line per key in the message, the same as data in ``problems``."""

    def __init__(self, where: str, problems: tuple[Problem, ...]):
        self.where = where
        self.problems = problems
        lines = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(f"{where}: {len(problems)} parameter(s) cannot be used\n{lines}")


def parse(model: type[BaseModel], where: str, given: Mapping[str, object]) -> BaseModel:
    """Validate plain values against a strict pydantic model.

    Types are strict: "3" is no integer, 1 is no boolean. Lists stand for tuples, as neither YAML nor
    a notebook's literals need know the difference. Numbers are finite.

    Args:
        model: the parameter class (``frozen=True, extra="forbid", strict=True``).
        where: what the parameters belong to, for errors.
        given: plain values by name.

    Raises:
        ParameterError: lists every unusable key.
    """
    schema = _schema(model)
    known = schema.get("properties", {})
    surplus = [key for key in given if key not in known][MOST_UNKNOWN:]
    if surplus:
        raise ParameterError(where, (_too_many(surplus, known),))
    problems, plain = {}, {}
    for key, value in given.items():
        if allowed := fault(value):
            problems[named(key)] = Problem(named(key), shown(value), allowed)
        else:
            plain[named(key)] = value
    try:
        # Through JSON: there, and only there, pydantic's strict mode takes a list for a tuple.
        parsed = model.model_validate_json(json.dumps(plain))
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            key = str(detail["loc"][0]) if detail["loc"] else ""
            if key not in problems:  # of a list, the first unusable item stands for all
                problems[key] = _problem(detail, known, schema.get("$defs", {}))
    if problems:
        raise ParameterError(where, tuple(problems.values()))
    return parsed


@functools.cache  # making it takes longer than all else here
def _schema(model: type[BaseModel]) -> Mapping:
    return model.model_json_schema()


def read_yaml(path: Path) -> dict[str, object]:
    """A YAML file that is one mapping of plain values with every key once.

    Raises:
        ParameterError: anything else (``livingpaper.book.plain_yaml`` says what); names the key and the line.
    """
    try:
        return read_mapping(path)
    except FileFault as found:
        raise ParameterError(str(path), (Problem(found.key, found.given, found.allowed),)) from found


def describe(schema: Mapping, definitions: Mapping) -> str:
    """What a JSON schema allows, in words: ``list of (integer, >= 0), at least 1 item``."""
    if "$ref" in schema:
        return describe(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return " or ".join(describe(option, definitions) for option in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return " or ".join(json.dumps(word) for word in schema.get("enum", [schema.get("const")]))
    return ", ".join([_kind(schema, definitions), *_limits(schema)])


def _kind(schema: Mapping, definitions: Mapping) -> str:
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            parts = (describe(item, definitions) for item in schema["prefixItems"])
            return f"list [{'; '.join(parts)}]"
        case "array":
            item = describe(schema.get("items", {}), definitions)
            return f"list of ({item})" if "," in item else f"list of {item}"
        case "object" if "properties" in schema:
            return f"mapping with {', '.join(sorted(schema['properties']))}"
        case "object":
            return f"mapping from text to {describe(schema.get('additionalProperties') or {}, definitions)}"
        case str() as kind:
            return {"string": "text", "boolean": "true or false", "null": "none"}.get(kind, kind)
        case _:
            return "anything"


def _limits(schema: Mapping) -> list[str]:
    words = {
        "minimum": ">= {}",
        "exclusiveMinimum": "> {}",
        "maximum": "<= {}",
        "exclusiveMaximum": "< {}",
        "multipleOf": "a multiple of {}",
        "minItems": "at least {} item(s)",
        "maxItems": "at most {} item(s)",
        "minLength": "at least {} character(s)",
        "pattern": "matching {}",
    }
    # A tuple of fixed length already lists its items.
    skip = ("minItems", "maxItems") if "prefixItems" in schema else ()
    return [words[key].format(schema[key]) for key in words if key in schema and key not in skip]


def _too_many(surplus: list[object], known: Mapping[str, dict]) -> Problem:
    others = f" and {len(surplus) - 1:,} more" if len(surplus) > 1 else ""
    return Problem(f"{named(surplus[0])}{others}", "parameters that do not exist", ", ".join(sorted(known)))


def _problem(detail: dict, known: Mapping[str, dict], definitions: Mapping) -> Problem:
    """One pydantic error in our words; ``detail["loc"]`` starts with the parameter's name."""
    if not detail["loc"]:
        return Problem("(together)", "this combination", detail["msg"].removeprefix("Value error, "))
    key, *inside = (str(part) for part in detail["loc"])
    value = detail["input"]
    if key not in known:
        return Problem(
            key,
            f"{shown(value)} to a parameter that does not exist",
            ", ".join(sorted(known)),
            close_match(key, known),
        )
    place = f" at {'.'.join([key, *inside])}" if inside else ""
    spec = known[key]
    allowed = describe(spec, definitions)
    if detail["type"] == "missing":
        return Problem(key, f"nothing{place}", allowed)
    if detail["type"] in ("value_error", "assertion_error", "extra_forbidden"):
        allowed += f" ({detail['msg'].removeprefix('Value error, ').removeprefix('Assertion failed, ')})"
    words = [word for word in spec.get("enum", spec.get("items", {}).get("enum", [])) if isinstance(word, str)]
    close = close_match(value, words) if isinstance(value, str) else None
    return Problem(key, shown(value) + place + _hint(value, detail["type"]), allowed, close)


def _hint(value: object, kind: str) -> str:
    """YAML reads 1e-3 as text (it wants 1.0e-3), the usual surprise with strict types."""
    if not (isinstance(value, str) and kind in ("float_type", "int_type")):
        return ""
    try:
        float(value)
    except ValueError:
        return ""
    return ", which is text here (YAML wants a dot in 1.0e-3, and no quotes)"
