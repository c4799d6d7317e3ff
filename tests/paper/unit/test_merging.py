"""Where the first stage of a notebook stands on its page."""

import nbformat
import pytest

from livingpaper.book.merging import STAGE_HERE, raise_stage
from livingpaper.book.notebooks import STAGE


def notebook(opening, *outputs):
    """A title, a cell that shows something, and prose."""
    cells = [
        nbformat.v4.new_markdown_cell(opening),
        nbformat.v4.new_code_cell("paper.explorer('explorer')", outputs=list(outputs)),
        nbformat.v4.new_markdown_cell("What is to be seen."),
    ]
    return nbformat.v4.new_notebook(cells=cells)


def shown(text, **metadata):
    return nbformat.v4.new_output("display_data", data={"text/html": text}, metadata=metadata)


def test_the_first_stage_stands_where_the_first_cell_says():
    stage, second = shown("a stage", **STAGE), shown("another", **STAGE)
    found = notebook(f"# A finding\n\nA lead.\n\n{STAGE_HERE}\n\nMore.", shown("a note"), stage, second)
    raise_stage(found)
    title, alone, rest, code, prose = found.cells
    assert title.source.strip() == "# A finding\n\nA lead." and rest.source.strip() == "More."
    assert alone.outputs == [stage] and "remove-input" in alone.metadata["tags"] and alone.source
    assert [output.data["text/html"] for output in code.outputs] == ["a note", "another"]
    assert prose.source == "What is to be seen."
    nbformat.validate(found)


@pytest.mark.parametrize(
    ("opening", "outputs"),
    [("# A finding", [shown("a stage", **STAGE)]), (f"# A finding\n\n{STAGE_HERE}", [shown("a note")])],
    ids=["nowhere said", "nothing shown"],
)
def test_otherwise_everything_stays(opening, outputs):
    found = notebook(opening, *outputs)
    before = nbformat.writes(found)
    raise_stage(found)
    assert nbformat.writes(found) == before
