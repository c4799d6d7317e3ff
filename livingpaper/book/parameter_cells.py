"""The parameters a notebook was given: read from the cells its kernel has run, papermill's injected one included."""

import ast
from collections.abc import Mapping
from typing import Any

MARKER = "# Parameters"
"""First line of a parameters cell: the notebook's own, and the one papermill injects after it."""


def parameters(namespace: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """A notebook's parameters: the values of the known names, and every other name its parameters cells assign.

    Papermill only warns of a name the notebook lacks, and injects it all the same. Such a name is returned too, so that
    validation refuses it.

    Args:
        namespace: the kernel's; ``In`` holds the sources of the cells executed so far.
        known: parameters of the study.
    """
    # The last cells that carry the marker, without other code between them: a cell corrected and run again counts once.
    sources = [str(source) for source in namespace.get("In", []) if str(source).strip()]
    last: list[str] = []
    for source in reversed(sources):
        if source.lstrip().startswith(MARKER):
            last.append(source)
        elif last:
            break
    names = {name for source in last for name in _literals(source)}
    return {name: _unquoted(namespace[name]) for name in [*known, *sorted(names - set(known))] if name in namespace}


def _unquoted(value: Any) -> Any:
    """The list in a text such as "[11, 12]", which is how ``papermill -p`` hands one over; anything else as it is."""
    if not (isinstance(value, str) and value.strip().startswith("[")):
        return value
    try:
        return ast.literal_eval(value.strip())
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # the last two of lists inside each other
        return value


def _literals(source: str) -> set[str]:
    """Names that a cell gives plain values."""
    names = set()
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        try:
            ast.literal_eval(value)
        except ValueError:
            continue
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names
