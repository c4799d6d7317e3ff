"""The explorer as a widget: the same module in a live notebook, in a page of the book, and nowhere a second one.

In a notebook it is linked both ways::

    explorer = Explorer(run)            # a run, or the id of one
    explorer.step, explorer.edits       # what the reader has chosen
    explorer.edits = ["zero(L1H0)@all"] # what the reader sees
"""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from circuitcore.training.errors import StoreError
from circuitcore.training.store.run import Run
from livingpaper.explorer.exhibit import STATE, Exhibit, ShownRun, spread_examples
from livingpaper.explorer.explorer_still import still_html
from livingpaper.explorer.probe import find_run, probe
from livingpaper.explorer.weights import in_script

STATIC = Path(__file__).parent / "static"
CIRCUIT_STYLES = STATIC.parents[1] / "figures" / "static" / "circuit.css"
SCRIPTS = (
    *("parts.js", "svg.js", "bars.js", "decoder.js", "known.js", "edits.js", "prompt.js", "lab.js", "strip.js"),
    *("places.js", "moves.js", "stage_layout.js", "stage_names.js", "stage_drawing.js", "stage.js"),
    *("take_out.js", "explorer.js"),
)
"""In the order in which they are joined to one module: what a reader sees first."""
PANELS = (
    *("tables.js", "attribution.js", "head_map.js", "pane.js", "composer.js", "curves.js", "panels.js", "shuffle.js"),
    *("take_along.js", "others.js"),
)
"""The same of what is loaded when a reader opens a panel, comes near other networks, or takes something along."""
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
    needed = "pageParts, circuitSvg, circuitDecoder, circuitLab, circuitPrompt, circuitBars, circuitStrip, "
    needed += "circuitMoves, circuitLayout, circuitDrawing"
    made = "circuitPanels, circuitShuffle, circuitTakeAlong, circuitOthers" + (", circuitReveal" if more else "")
    return f"export default ({{ {needed} }}) => {{\n{joined_scripts((*PANELS, *more))}return {{ {made} }};\n}};\n"


def panels_of(exhibit: Exhibit) -> str:
    """The same with the form of an exhibit, where it has one."""
    return panels(*(FORM if exhibit.form else ()))


def joined_scripts(names: Sequence[str]) -> str:
    """Scripts without comments and indents, their globals made locals of the function that they stand in.

    Nor do they say that they are strict: a module is.
    """
    scripts = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in names)
    local = re.sub(r"^globalThis\.(?=\w+ = )", "const ", f"{scripts}\n", flags=re.MULTILINE)
    # Behind code a comment has no quotes, so that none is taken for one that stands in a text.
    bare = re.sub(r"^\s*//.*$|^\s*'use strict';$|[ \t]+// [^'\"`\n]*$", "", local, flags=re.MULTILINE)
    return re.sub(r"^\s+", "", bare, flags=re.MULTILINE)


@cache
def page_script() -> str:
    """What mounts the explorers of a page."""
    scripts = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in ("sha256.js", "page.js"))
    return scripts.replace("</script", "<\\/script")


def styles(exhibit: Exhibit | None = None) -> str:
    """Its style sheet, that of drawn circuits, and that of the exhibit's form, where there is one."""
    own = ("explorer.css", "reveal.css") if exhibit and exhibit.form else ("explorer.css",)
    return "".join(path.read_text(encoding="utf-8") for path in (CIRCUIT_STYLES, *(STATIC / name for name in own)))


class Explorer(anywidget.AnyWidget):
    """Trained networks that a reader can take apart.

    The traits ``run``, ``step``, ``prompt``, ``source``, ``edits``, ``resample``, ``other`` and ``rule`` are the state:
    they follow the reader, and setting them changes what is shown. ``explorer.reading()`` gives the numbers on screen.

    Args:
        shown: an exhibit, a run, or the id of a run in ``runs`` or ``published``.

    Raises:
        ExhibitError, TaskError, StoreError: as ``Exhibit`` and ``probe``; also (as ``TraitError``) when a trait is set.
    """

    exhibit = traitlets.Dict().tag(sync=True)
    panels = traitlets.Unicode().tag(sync=True)
    linked = traitlets.Bool(False).tag(sync=True)
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
        self._esm, self._css = module(), styles(self._shown)
        super().__init__(exhibit=self._shown.payload(), panels=panels_of(self._shown), **{**self._shown.start, **state})
        self.on_msg(self._send_weights)

    def reading(self) -> Any:
        """The numbers on screen, as ``probe`` gives them; of the first network where two are compared."""
        shown = self._shown.find(self.run)
        asked = {"prompt": self.prompt, "edits": self.edits, "resample": self.resample}
        answer = self._shown.answer(self.prompt)
        return probe(shown.run, step=self.step, source=self.source or None, answer=answer, **asked)

    @traitlets.validate("run", "step", "prompt", "edits", "resample", "source", "other", "rule")
    def _check(self, proposal: Any) -> Any:
        """What cannot be shown is refused here, with the reason; while several traits change at once, at the end."""
        state = {name: getattr(self, name) for name in STATE} | {proposal["trait"].name: proposal["value"]}
        try:
            self._shown.check(state)
        except (ValueError, StoreError) as error:
            raise traitlets.TraitError(f"{proposal['trait'].name}: {error}") from error
        return proposal["value"]

    def _send_weights(self, _: Any, content: Any, __: Any) -> None:
        try:
            self.send({"run": content["want"], "packed": self._shown.find(content["want"]).weights()})
        except (ValueError, StoreError) as error:
            self.send({"run": content["want"], "error": str(error)})

    def _repr_mimebundle_(self, **_: Any) -> Any:
        if os.environ.get("PAPER_BUILD"):
            return {"text/html": book_html(self._shown), "text/plain": self._shown.name}
        bundle, metadata = super()._repr_mimebundle_()
        still = f'<div class="explorer"><style>{styles(self._shown)}</style>{still_html(self._shown)}</div>'
        return {**bundle, "text/html": still, "text/plain": self._shown.name}, metadata


def exhibit_of(run: Run) -> Exhibit:
    """An exhibit of one run: its task's first held-out rows as examples, nothing measured."""
    task = run.recipe.make_task()
    split = next((name for name in ("val", "test") if name in task.splits), task.splits[-1])
    name = f"explorer-{re.sub('[^a-z0-9]+', '-', run.run_id.lower())}"
    shown = (ShownRun(run=run, condition=task.name),)
    return Exhibit(name=name, task=task, shown=shown, examples=spread_examples(task, split, N_EXAMPLES))


def page_html(exhibit: Exhibit) -> str:
    """The explorer as a page of the book has it: still, data, styles and module; weights are files of their own.

    The data holds the SHA-256 of each run's weights, as text.
    """
    payload = exhibit.payload()
    first, later = (json.dumps(source).replace("<", "\\u003c") for source in (module(), panels_of(exhibit)))
    for entry, shown in zip(payload["runs"], exhibit.shown, strict=True):
        entry["sha256"] = hashlib.sha256(shown.weights_text.encode()).hexdigest()
    data = in_script(payload)
    return (
        f'<div class="explorer" id="{exhibit.name}" role="group" aria-label="Explorer of trained networks">'
        f"<style>{styles(exhibit)}</style>{still_html(exhibit)}"
        f'<script type="application/json" class="explorer-data">{data}</script>'
        f'<script type="application/json" class="explorer-module">{first}</script>'
        f'<script type="application/json" class="explorer-panels">{later}</script>'
        f"<script>{page_script()}</script></div>"
    )


def book_html(exhibit: Exhibit) -> str:
    """The same, where a book is being built: weights are left as files of their own, which the book takes along."""
    folder = Path(os.environ["PAPER_RESULTS"]).parent / "explorer"
    folder.mkdir(parents=True, exist_ok=True)
    for shown in exhibit.shown:
        (folder / f"{shown.run.run_id}.js").write_text(weights_script(shown), encoding="utf-8")
    return re.sub(r"\n\s*\n", "\n", page_html(exhibit))  # an empty line would end it in a Markdown page


def weights_script(shown: ShownRun) -> str:
    """A classic script that hands a run's weights to the page: the only kind of file a page can load from a disk.

    As a text, whose hash the page knows: nothing in the script can change without being noticed.
    """
    return f"paperWeights({in_script(shown.run.run_id)},{in_script(shown.weights_text)})"
