"""The stage of vector rows as a widget: the same module in a live notebook and in a page of the book.

The page's loader of explorers mounts it: it hands over the data, then weights when they are asked for.
"""

from functools import cache, partial
from typing import Any

import traitlets

from livingpaper.explorer.block import Block, StageWidget, joined_scripts
from livingpaper.explorer.exhibit import refuse_fields
from livingpaper.explorer.hops import STATE, HopExhibit
from livingpaper.explorer.hops_still import still_html
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.explorer.widget import styles

SCRIPTS = (
    *("parts.js", "svg.js", "bars.js", "tables.js", "decoder.js", "edit_text.js", "edits.js", "marks.js", "lab.js"),
    *("strip.js", "places.js", "moves.js", "stage_layout.js", "stage_names.js", "stage_drawing.js", "stage_room.js"),
    *("shell.js", "others.js", "vector_rows.js", "hops_circuit.js", "hops.js"),
)
"""In the order in which they are joined to one module."""


class HopStage(StageWidget):
    """The stage of a ``HopExhibit``; its traits ``run``, ``step``, ``draw``, ``row``, ``follow``, ``edits`` follow the
    reader, and setting them changes what is shown.

    Raises:
        TraitError: when a trait is set to what cannot be shown; the message says why.
    """

    run = traitlets.Unicode().tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    draw = traitlets.Int(0, min=0).tag(sync=True)
    row = traitlets.Unicode().tag(sync=True)
    follow = traitlets.Int().tag(sync=True)
    edits = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, shown: HopExhibit, **state: Any):
        self.shown = shown
        refuse_fields(shown.name, state, STATE)
        super().__init__(block_of(shown), self._run_of, **{**shown.first_frame, **state})

    def _run_of(self, run_id: str) -> ShownRun:
        return self.shown.find(run_id).shown

    @traitlets.validate("run", "step", "row", "follow")
    def _check(self, proposal: Any) -> Any:
        return self._checked(proposal, STATE, self.shown.check)


@cache
def module() -> str:
    """The ES module of the stage."""
    return f"export default (() => {{\n{joined_scripts(SCRIPTS)}return hopsStage;\n}})();\n"


def block_of(exhibit: HopExhibit) -> Block:
    """The stage as a page and a notebook get it."""
    return Block(
        name=exhibit.name,
        payload=exhibit.payload(),
        shown=[one.shown for one in exhibit.runs],
        still=partial(still_html, exhibit),
        styles=styles(),
        module=module(),
    )
