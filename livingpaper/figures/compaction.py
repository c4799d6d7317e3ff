"""A specification with its tables written as short as they can be: charts are most of what a page weighs.

In Vega-Lite's own words alone, so that whatever draws a specification draws a compact one to the same last digit.
"""

import csv
import io
import itertools
import json
import math
from dataclasses import dataclass, field
from typing import Any

Rows = list[dict[str, Any]]

REPEATED = 4
"""A column is told once a stretch of rows where it changes in one row of as many, or more rarely."""
FEWEST = 3
"""Evenly spaced numbers that are told by their ends."""


@dataclass(frozen=True, kw_only=True)
class _Written:
    """A table as a page carries it, with the format and the transforms that give its rows back."""

    table: str | Rows
    format: dict[str, Any] = field(default_factory=dict)
    transform: list[dict[str, Any]] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(_json(self.table)) + len(_json(self.format)) + len(_json(self.transform))


def compact(spec: dict[str, Any]) -> dict[str, Any]:
    """The same specification; a table is CSV text, or a row a stretch of rows, whichever is shorter."""
    written = {name: _shortest(rows) for name, rows in spec.get("datasets", {}).items()}
    if not written:
        return spec
    return _read_back({**spec, "datasets": {name: one.table for name, one in written.items()}}, written)


def _shortest(rows: object) -> _Written:
    """Lists in cells, and what CSV would lose, stay as they are; a number that is none is a missing one."""
    if not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
        return _Written(table=rows)
    if any(set(row) != set(rows[0]) for row in rows):
        return _Written(table=rows)
    rows = [{column: _finite(cell) for column, cell in row.items()} for row in rows]
    kinds = {column: _kind([row[column] for row in rows]) for column in rows[0]}
    if None in kinds.values():
        return min(_Written(table=rows), _once(rows, []), key=lambda one: one.size)
    return min(_as_csv(rows, kinds), _in_stretches(rows), key=lambda one: one.size)


def _as_csv(rows: Rows, kinds: dict[str, str]) -> _Written:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(kinds)
    for row in rows:
        cells = (_whole(row[column]) for column in kinds)
        writer.writerow(str(cell).lower() if isinstance(cell, bool) else cell for cell in cells)
    return _Written(table=text.getvalue(), format={"type": "csv", "parse": kinds})


def _kind(values: list) -> str | None:
    """How Vega must read a column back; None if it could not: it takes an empty cell for a missing value."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known):
        return "boolean"
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return "number"
    return "string" if all(isinstance(value, str) and value for value in known) else None


def _in_stretches(rows: Rows) -> _Written:
    """A row for each stretch in which the columns that change rarely stay the same; of the others it holds lists."""
    changes = {column: sum(a[column] != b[column] for a, b in itertools.pairwise(rows)) for column in rows[0]}
    rare = [column for column, n in changes.items() if n * REPEATED <= len(rows)]
    often = [column for column in changes if column not in rare]
    if not (rare and often):
        return _Written(table=rows)
    stretches = []
    for of_stretch, group in itertools.groupby(rows, key=lambda row: {column: row[column] for column in rare}):
        stretch = list(group)
        stretches.append(of_stretch | {column: [row[column] for row in stretch] for column in often})
    return _once(stretches, [{"flatten": often}])


def _once(rows: Rows, transform: list[dict[str, Any]]) -> _Written:
    """What all rows share stands once, in a transform before the others."""
    first, *others = ({column: _json(cell) for column, cell in row.items()} for row in rows)
    shared = {column: cell for column, cell in first.items() if others and all(row[column] == cell for row in others)}
    table = [{column: _whole(cell) for column, cell in row.items() if column not in shared} for row in rows]
    told = [{"calculate": _steps(rows[0][column]) or cell, "as": column} for column, cell in shared.items()]
    return _Written(table=table, transform=[*told, *transform])


def _steps(cell: Any) -> str:
    """Vega's words for whole numbers that are evenly spaced, such as steps of training; "" for anything else."""
    whole = _whole(cell)
    if not isinstance(whole, list) or len(whole) < FEWEST or not all(type(number) is int for number in whole):
        return ""
    first, step = whole[0], whole[1] - whole[0]
    stop = first + step * len(whole)
    return f"sequence({first},{stop},{step})" if step and whole == list(range(first, stop, step)) else ""


def _read_back(node: Any, written: dict[str, _Written]) -> Any:
    """Every reference to a table, at any depth, told how the table is written."""
    if isinstance(node, list):
        return [_read_back(item, written) for item in node]
    if not isinstance(node, dict):
        return node
    changed = {key: value if key == "datasets" else _read_back(value, written) for key, value in node.items()}
    data = changed.get("data")
    one = written.get(data.get("name")) if isinstance(data, dict) else None
    if one and one.format:
        changed["data"] = {**data, "format": one.format}
    if one and one.transform:
        changed["transform"] = [*one.transform, *changed.get("transform", [])]
    return changed


def _json(value: object) -> str:
    return json.dumps(_whole(value), separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _whole(value: Any) -> Any:
    """Whole numbers without a point, at any depth of lists: JSON and Vega know one kind of number."""
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
