"""A task's rows as JSON lines, split by split: ``circuitcore dataset``."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from circuitcore.ground.spelling import unknown
from circuitcore.tasks import Task, TaskError


def json_lines(task: Task, splits: Iterable[str] = ()) -> Iterator[str]:
    """One JSON object a line, as ``Task.records`` gives them, each with its newline.

    Args:
        task: whose rows.
        splits: which, in this order; none named for all of them in the task's order.

    Raises:
        TaskError: a split the task does not have, before the first line.
    """
    named = tuple(splits) or task.splits
    for split in named:
        if split not in task.splits:
            raise TaskError(f"task {task.name!r}: {unknown('split', split, task.splits)}")
    for split in named:
        for record in task.records(split):
            yield f"{json.dumps(record)}\n"


def parameters_of(words: Iterable[str]) -> dict[str, Any]:
    """Task parameters from words such as ``n_val=100`` or ``read_out=query``.

    Values are JSON literals; what is no JSON is a text. Names and types are for the task to judge.

    Raises:
        ValueError: a word without ``=``, or a name given twice.
    """
    given: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (name and equals):
            raise ValueError(f"--set {word}: allowed: NAME=VALUE, such as n_val=100")
        if name in given:
            raise ValueError(f"--set {word}: {name!r} is given twice")
        try:
            given[name] = json.loads(text)
        except (ValueError, RecursionError):  # the latter of lists inside each other
            given[name] = text
    return given
