"""A stage as a block of a page and as a widget of a notebook: data and modules, and weights when they are asked for."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from circuitcore.training.errors import StoreError
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.explorer.weights import in_script

STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """What a page or a notebook gets of a stage.

    Attributes:
        name: its id in the page.
        payload: what the page gets before any weights, as JSON literals.
        shown: its runs, in the order of the payload's.
        still: makes the HTML of the opening.
        styles: its style sheet.
        module, panels: ES modules: what runs first, and what that loads later.
    """

    name: str
    payload: dict[str, Any]
    shown: Sequence[ShownRun]
    still: Callable[[], str]
    styles: str
    module: str
    panels: str = ""

    @property
    def page_html(self) -> str:
        """Still, data, styles and modules; weights are files of their own, known by the SHA-256 of their text."""
        runs = [
            {**entry, "sha256": hashlib.sha256(one.weights_text.encode()).hexdigest()}
            for entry, one in zip(self.payload["runs"], self.shown, strict=True)
        ]
        data = in_script({**self.payload, "runs": runs})
        first, later = (json.dumps(source).replace("<", "\\u003c") for source in (self.module, self.panels))
        return (
            f'<div class="explorer" id="{self.name}" role="group" aria-label="Explorer of trained networks">'
            f"<style>{self.styles}</style>{self.still()}"
            f'<script type="application/json" class="explorer-data">{data}</script>'
            f'<script type="application/json" class="explorer-module">{first}</script>'
            f'<script type="application/json" class="explorer-panels">{later}</script>'
            f"<script>{page_script()}</script></div>"
        )

    @property
    def book_html(self) -> str:
        """The same where a book is being built: weights are left as files of their own, which the book takes along."""
        folder = Path(os.environ["PAPER_RESULTS"]).parent / "explorer"
        folder.mkdir(parents=True, exist_ok=True)
        for one in self.shown:
            (folder / f"{one.run.run_id}.js").write_text(weights_script(one), encoding="utf-8")
        return re.sub(r"\n\s*\n", "\n", self.page_html)  # an empty line would end it in a Markdown page


class StageWidget(anywidget.AnyWidget):
    """A stage whose traits are its state: they follow the reader, and setting them changes what is shown.

    Args:
        block: what is shown.
        find: the run of an id.
        state: trait -> value.

    Raises:
        TraitError: when a trait is set to what cannot be shown; the message says why.
    """

    exhibit = traitlets.Dict().tag(sync=True)
    linked = traitlets.Bool(False).tag(sync=True)

    def __init__(self, block: Block, find: Callable[[str], ShownRun], **state: Any):
        self._block, self._find = block, find
        self._esm, self._css = block.module, block.styles
        super().__init__(exhibit=block.payload, **state)
        self.on_msg(self._send_weights)

    def _checked(self, proposal: Any, names: Sequence[str], check: Callable[[dict[str, Any]], None]) -> Any:
        """What cannot be shown is refused here, with the reason; while several traits change at once, at the end."""
        state = {name: getattr(self, name) for name in names} | {proposal["trait"].name: proposal["value"]}
        try:
            check(state)
        except (ValueError, StoreError) as error:
            raise traitlets.TraitError(f"{proposal['trait'].name}: {error}") from error
        return proposal["value"]

    def _send_weights(self, _: Any, content: Any, __: Any) -> None:
        try:
            self.send({"run": content["want"], "packed": self._find(content["want"]).weights()})
        except (ValueError, StoreError) as error:
            self.send({"run": content["want"], "error": str(error)})

    def _repr_mimebundle_(self, **_: Any) -> Any:
        name = self._block.name
        if os.environ.get("PAPER_BUILD"):
            return {"text/html": self._block.book_html, "text/plain": name}
        bundle, metadata = super()._repr_mimebundle_()
        still = f'<div class="explorer"><style>{self._block.styles}</style>{self._block.still()}</div>'
        return {**bundle, "text/html": still, "text/plain": name}, metadata


def joined_scripts(names: Sequence[str]) -> str:
    """Scripts without comments and indents, a line a statement, their globals made locals of the function around them.

    Nor do they say that they are strict: a module is. No text in them goes over several lines.
    """
    scripts = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in names)
    local = re.sub(r"^globalThis\.(?=\w+ = )", "const ", f"{scripts}\n", flags=re.MULTILINE)
    # Behind code a comment has no quotes, so that none is taken for one that stands in a text.
    bare = re.sub(r"^\s*//.*$|^\s*'use strict';$|[ \t]+// [^'\"`\n]*$", "", local, flags=re.MULTILINE)
    return re.sub(r"(?<=[,({[])\n|\n(?=[])}])", "", re.sub(r"^\s+", "", bare, flags=re.MULTILINE))


@cache
def page_script() -> str:
    """What mounts the explorers of a page."""
    scripts = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in ("sha256.js", "page.js"))
    return scripts.replace("</script", "<\\/script")


def weights_script(shown: ShownRun) -> str:
    """A classic script that hands a run's weights to the page: the only kind of file a page can load from a disk.

    As a text, whose hash the page knows: nothing in the script can change without being noticed.
    """
    return f"paperWeights({in_script(shown.run.run_id)},{in_script(shown.weights_text)})"
