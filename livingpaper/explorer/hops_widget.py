"""The stage of vector rows as a widget: the same module in a live notebook and in a page of the book.

The page's loader of explorers mounts it: it hands over the data, then weights when they are asked for.
"""

import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from circuitcore.training.errors import StoreError
from livingpaper.explorer.hops import STATE, HopExhibit
from livingpaper.explorer.hops_still import still_html
from livingpaper.explorer.weights import in_script
from livingpaper.explorer.widget import joined_scripts, page_script, styles, weights_script

SCRIPTS = (
    *(
        "parts.js",
        "svg.js",
        "bars.js",
        "tables.js",
        "decoder.js",
        "known.js",
        "edits.js",
        "lab.js",
        "strip.js",
        "places.js",
    ),
    *("moves.js", "stage_layout.js", "stage_names.js", "stage_drawing.js"),
    *("vector_rows.js", "hops_circuit.js", "hops.js"),
)
"""In the order in which they are joined to one module."""


class HopStage(anywidget.AnyWidget):
    """The stage of a ``HopExhibit``; its traits ``run``, ``step``, ``draw``, ``row``, ``follow``, ``edits`` follow the
    reader, and setting them changes what is shown.

    Raises:
        TraitError: when a trait is set to what cannot be shown; the message says why.
    """

    exhibit = traitlets.Dict().tag(sync=True)
    linked = traitlets.Bool(False).tag(sync=True)
    run = traitlets.Unicode().tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    draw = traitlets.Int(0, min=0).tag(sync=True)
    row = traitlets.Unicode().tag(sync=True)
    follow = traitlets.Int().tag(sync=True)
    edits = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, shown: HopExhibit, **state: Any):
        self._esm, self._css, self.shown = module(), styles(), shown
        super().__init__(exhibit=shown.payload(), **{**shown.first_frame, **state})
        self.on_msg(self._send_weights)

    @traitlets.validate("run", "step", "row", "follow")
    def _check(self, proposal: Any) -> Any:
        state = {name: getattr(self, name) for name in STATE} | {proposal["trait"].name: proposal["value"]}
        try:
            self.shown.check(state)
        except (ValueError, StoreError) as error:
            raise traitlets.TraitError(f"{proposal['trait'].name}: {error}") from error
        return proposal["value"]

    def _send_weights(self, _: Any, content: Any, __: Any) -> None:
        try:
            self.send({"run": content["want"], "packed": self.shown.find(content["want"]).shown.weights()})
        except (ValueError, StoreError) as error:
            self.send({"run": content["want"], "error": str(error)})

    def _repr_mimebundle_(self, **_: Any) -> Any:
        if os.environ.get("PAPER_BUILD"):
            return {"text/html": book_html(self.shown), "text/plain": self.shown.name}
        bundle, metadata = super()._repr_mimebundle_()
        still = f'<div class="explorer"><style>{styles()}</style>{still_html(self.shown)}</div>'
        return {**bundle, "text/html": still, "text/plain": self.shown.name}, metadata


@cache
def module() -> str:
    """The ES module of the stage."""
    return f"export default (() => {{\n{joined_scripts(SCRIPTS)}return hopsStage;\n}})();\n"


def page_html(exhibit: HopExhibit) -> str:
    """The stage as a page of the book has it; weights are files of their own, known by their SHA-256."""
    payload = exhibit.payload()
    for entry, one in zip(payload["runs"], exhibit.runs, strict=True):
        entry["sha256"] = hashlib.sha256(one.shown.weights_text.encode()).hexdigest()
    first = json.dumps(module()).replace("<", "\\u003c")
    return (
        f'<div class="explorer" id="{exhibit.name}" role="group" aria-label="Explorer of trained networks">'
        f"<style>{styles()}</style>{still_html(exhibit)}"
        f'<script type="application/json" class="explorer-data">{in_script(payload)}</script>'
        f'<script type="application/json" class="explorer-module">{first}</script>'
        f'<script type="application/json" class="explorer-panels">""</script>'
        f"<script>{page_script()}</script></div>"
    )


def book_html(exhibit: HopExhibit) -> str:
    """The same, where a book is being built: weights are left as files of their own, which the book takes along."""
    folder = Path(os.environ["PAPER_RESULTS"]).parent / "explorer"
    folder.mkdir(parents=True, exist_ok=True)
    for one in exhibit.runs:
        (folder / f"{one.shown.run.run_id}.js").write_text(weights_script(one.shown), encoding="utf-8")
    return re.sub(r"\n\s*\n", "\n", page_html(exhibit))
