"""The explorer as a widget: the same module in a live notebook, in a page of the book, and nowhere a second one.

In a notebook it is linked both ways::

    explorer = Explorer(run)            # a run, or the id of one
    explorer.step, explorer.edits       # what the reader has chosen
    explorer.edits = ["zero(L1H0)@all"] # what the reader sees
"""

import re
from functools import cache, partial
from typing import Any

import traitlets

from circuitcore.training.store.run import Run
from livingpaper.explorer.block import STATIC, Block, StageWidget, joined_scripts
from livingpaper.explorer.exhibit import STATE, Exhibit, ExhibitError, refuse_fields, spread_examples
from livingpaper.explorer.explorer_still import still_html
from livingpaper.explorer.probe import find_run, probe
from livingpaper.explorer.shown_run import ShownRun

CIRCUIT_STYLES = STATIC.parents[1] / "figures" / "static" / "circuit.css"
SCRIPTS = (
    *("parts.js", "svg.js", "bars.js", "decoder.js", "lookup.js", "lab.js", "strip.js"),
    *("places.js", "moves.js", "stage_layout.js", "stage_names.js", "stage_drawing.js", "edit_text.js"),
    *("stage_room.js", "stage.js", "shell.js", "explorer.js"),
)
"""In the order in which they are joined to one module: what a reader sees first."""
PANELS = (
    *("prompt.js", "edits.js", "marks.js", "edited.js", "switches.js", "take_out.js", "tables.js", "attribution.js"),
    *("head_map.js", "pane.js", "composer.js", "curves.js", "panels.js", "shuffle.js", "take_along.js", "others.js"),
    "below.js",
)
"""The same of what comes once that is there: other prompts, edits, other networks, panels, what is taken along."""
FORM = ("reveal_rules.js", "reveal_looks.js", "reveal.js")
"""The same of a form in which a task asks: with the panels, and at once."""
N_EXAMPLES = 6


@cache
def module() -> str:
    """The ES module of the explorer."""
    return f"export default (() => {{\n{joined_scripts(SCRIPTS)}return circuitExplorer;\n}})();\n"


@cache
def panels(*more: str) -> str:
    """The ES module of its panels, and of ``more`` scripts: a function of the parts of the first that they need."""
    needed = "pageParts, circuitSvg, circuitDecoder, circuitLab, circuitLookup, circuitBars, circuitStrip, "
    needed += "circuitMoves, circuitLayout, circuitDrawing, editText"
    made = "circuitPrompt, circuitEdited, circuitSwitches, circuitTakeOut, circuitBelow"
    made += ", circuitReveal" if more else ""
    return f"export default ({{ {needed} }}) => {{\n{joined_scripts((*PANELS, *more))}return {{ {made} }};\n}};\n"


def panels_of(exhibit: Exhibit) -> str:
    """The same with the form of an exhibit, where it has one."""
    return panels(*(FORM if exhibit.form else ()))


def styles(exhibit: Exhibit | None = None) -> str:
    """Its style sheet, that of drawn circuits, and that of the exhibit's form, where there is one."""
    own = ("explorer.css", "reveal.css") if exhibit and exhibit.form else ("explorer.css",)
    return "".join(path.read_text(encoding="utf-8") for path in (CIRCUIT_STYLES, *(STATIC / name for name in own)))


class Explorer(StageWidget):
    """Trained networks that a reader can take apart.

    The traits ``run``, ``step``, ``prompt``, ``source``, ``edits``, ``resample``, ``other`` and ``rule`` are the state:
    they follow the reader, and setting them changes what is shown. ``explorer.reading()`` gives the numbers on screen.

    Args:
        shown: an exhibit, a run, or the id of a run in ``runs`` or ``published``.

    Raises:
        ExhibitError, TaskError, StoreError: as ``Exhibit`` and ``probe``; also (as ``TraitError``) when a trait is set.
    """

    panels = traitlets.Unicode().tag(sync=True)
    run = traitlets.Unicode().tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    prompt = traitlets.Unicode().tag(sync=True)
    source = traitlets.Unicode().tag(sync=True)
    edits = traitlets.List(traitlets.Unicode()).tag(sync=True)
    resample = traitlets.Int().tag(sync=True)
    other = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
    rule = traitlets.Unicode().tag(sync=True)

    def __init__(self, shown: Exhibit | Run | str, **state: Any):
        self._shown = shown if isinstance(shown, Exhibit) else exhibit_of(find_run(shown))
        refuse_fields(self._shown.name, state, STATE)
        block = block_of(self._shown)
        super().__init__(block, self._shown.find, panels=block.panels, **{**self._shown.start, **state})

    def reading(self) -> Any:
        """The numbers on screen, as ``probe`` gives them; of the first network where two are compared."""
        shown = self._shown.find(self.run)
        asked = {"prompt": self.prompt, "edits": self.edits, "resample": self.resample}
        answer = self._shown.answer(self.prompt)
        return probe(shown.run, step=self.step, source=self.source or None, answer=answer, **asked)

    @traitlets.validate("run", "step", "prompt", "edits", "resample", "source", "other", "rule")
    def _check(self, proposal: Any) -> Any:
        return self._checked(proposal, STATE, self._shown.check)


def exhibit_of(run: Run) -> Exhibit:
    """An exhibit of one run: its task's first held-out rows as examples, nothing measured.

    Raises:
        ExhibitError: a model that reads vectors.
    """
    if run.recipe.model.d_in:
        raise ExhibitError(f"{run.run_id}: its model reads vectors; allowed: prompts of words")
    task = run.recipe.make_task()
    split = next((name for name in ("val", "test") if name in task.splits), task.splits[-1])
    name = f"explorer-{re.sub('[^a-z0-9]+', '-', run.run_id.lower())}"
    shown = (ShownRun(run=run, condition=task.name),)
    return Exhibit(name=name, task=task, shown=shown, examples=spread_examples(task, split, N_EXAMPLES))


def block_of(exhibit: Exhibit) -> Block:
    """The explorer as a page and a notebook get it."""
    return Block(
        name=exhibit.name,
        payload=exhibit.payload(),
        shown=exhibit.shown,
        still=partial(still_html, exhibit),
        styles=styles(exhibit),
        module=module(),
        panels=panels_of(exhibit),
    )
