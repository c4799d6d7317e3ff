"""A notebook as the book shows it: its source, with the outputs of its executed copy."""

import ast
from pathlib import Path

import nbformat

from livingpaper.book.notebooks import STAGE

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
STAGE_HERE = "<!-- stage -->"
"""In a first cell: the first stage of the notebook stands here, before the code that made it."""


def merge(source: Path, executed: Path) -> str:
    """A notebook's source, as JSON, with the outputs of its executed copy.

    Prose, tags and code are the source's. The ``parameters`` cell shows the values it was executed with.

    Raises:
        KeyError: a code cell of the source is not in the executed copy (the copy is stale).
    """
    notebook = nbformat.read(source, as_version=4)
    done = nbformat.read(executed, as_version=4)
    ran = {cell.id: cell for cell in done.cells if cell.cell_type == "code"}
    injected = [c.source for c in ran.values() if "injected-parameters" in c.metadata.get("tags", [])]
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        # A live widget (a progress bar) is nothing without a kernel.
        cell.outputs = [output for output in ran[cell.id].outputs if WIDGET_VIEW not in output.get("data", {})]
        cell.execution_count = None
        if injected and "parameters" in cell.metadata.get("tags", []):
            cell.source = overlay_values(cell.source, injected[0])
    raise_stage(notebook)
    # Wherever a widget's state is present, the widget manager is loaded from outside.
    notebook.metadata.pop("widgets", None)
    return nbformat.writes(notebook)


def raise_stage(notebook: nbformat.NotebookNode) -> None:
    """Put the first stage that a cell shows where the first cell says so: a chapter opens with its finding, drawn."""
    opening = notebook.cells[0]
    shown = ((cell, one) for cell in notebook.cells for one in cell.get("outputs", ()) if _is_stage(one))
    cell, stage = next(shown, (None, None))
    if stage is None or STAGE_HERE not in opening.source:
        return
    cell.outputs.remove(stage)
    opening.source, rest = opening.source.split(STAGE_HERE)
    # A cell without code would be left out with what it shows.
    alone = nbformat.v4.new_code_cell("stage", outputs=[stage], metadata={"tags": ["remove-input"]}, id="stage")
    notebook.cells[1:1] = [alone, nbformat.v4.new_markdown_cell(rest, id="after-the-stage")]


def _is_stage(output: nbformat.NotebookNode) -> bool:
    return STAGE.items() <= output.get("metadata", {}).items()


def overlay_values(parameters: str, injected: str) -> str:
    """The code of a parameters cell, comments kept, with the values that another cell gives the same names.

    >>> overlay_values("seeds = [0]  # init seeds", "seeds = [7, 8]")
    'seeds = [7, 8]  # init seeds'
    """
    values = {
        statement.targets[0].id: ast.unparse(statement.value)
        for statement in ast.parse(injected).body
        if isinstance(statement, ast.Assign)
    }
    # Offsets of the syntax tree count UTF-8 bytes. The last value is replaced first: the others stay put.
    lines = parameters.encode().splitlines(keepends=True)
    for statement in reversed(ast.parse(parameters).body):
        if not isinstance(statement, ast.Assign) or statement.targets[0].id not in values:
            continue
        value = statement.value
        before = lines[value.lineno - 1][: value.col_offset]
        after = lines[value.end_lineno - 1][value.end_col_offset :]
        lines[value.lineno - 1 : value.end_lineno] = [before + values[statement.targets[0].id].encode() + after]
    return b"".join(lines).decode()
