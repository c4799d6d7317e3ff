"""A pad: a matrix in which the reader stores pairs until it forgets them, in a page and in a notebook."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from livingpaper.explorer.heat import SHADES
from livingpaper.explorer.memory_pad_still import State, still_html, title_html
from livingpaper.explorer.memory_sums import WAYS, Recall, Way, filled, recall
from livingpaper.explorer.weights import in_script

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("parts.js", "svg.js", "heat.js", "memory_rules.js", "memory_pad.js")
"""In the order in which a page runs them."""
NAME = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What is in the matrix, and how it came there.

    Attributes:
        width: d, channels.
        pairs: the first so many are stored.
        way: how.
        steps: of gradient descent, where that is the way.
    """

    width: int
    pairs: int
    way: Way = "sum"
    steps: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class MemoryPad:
    """The pad; its HTML needs no other file.

    Attributes:
        name: id of the block in the page, lower-case words with dashes.
        title: what it shows, in one sentence.
        inputs: d -> e ``[pair d]``, as float32.
        outputs: the same of u.
        predicted: d -> share of 1, 2, ... pairs that theory says a sum recalls; None where it says nothing.
        rate: of gradient descent on the loss summed over pairs.
        steps: of gradient descent that can be chosen.
        opening: what it opens on.

    Raises:
        ValueError: an unusable name, widths that differ from table to table, an opening that cannot be chosen.
    """

    name: str
    title: str
    inputs: Mapping[int, np.ndarray]
    outputs: Mapping[int, np.ndarray]
    predicted: Mapping[int, Sequence[float | None]]
    rate: float
    steps: tuple[int, ...]
    opening: Stored

    def __post_init__(self):
        if not NAME.fullmatch(self.name):
            raise ValueError(f"a pad's name is lower-case words with dashes ('pad-pairs'); got {self.name!r}")
        sizes = {(table[d].shape, len(self.predicted[d])) for table in (self.inputs, self.outputs) for d in self.widths}
        if sizes != {((self.n_pairs, d), self.n_pairs) for d in self.widths}:
            raise ValueError(f"pairs, widths and predictions must be of one number of pairs; got {sorted(sizes)}")
        at = self.opening
        if at.width not in self.widths or at.way not in WAYS or at.steps not in self.steps:
            raise ValueError(f"{at}; allowed: widths {self.widths}, ways {WAYS}, steps {self.steps}")
        if not 0 <= at.pairs <= self.n_pairs:
            raise ValueError(f"{at.pairs} pairs; allowed: 0 to {self.n_pairs}")

    @property
    def widths(self) -> tuple[int, ...]:
        """D that can be chosen, rising."""
        return tuple(sorted(self.inputs))

    @property
    def n_pairs(self) -> int:
        """Pairs that can be stored."""
        return len(next(iter(self.inputs.values())))

    def reading(self, state: Stored) -> tuple[np.ndarray, Recall]:
        """The matrix ``[d d]`` and what it recalls of the first ``state.pairs`` pairs."""
        kept = (table[state.width][: state.pairs].astype(np.float64) for table in (self.inputs, self.outputs))
        inputs, outputs = kept
        memory = filled(state.way, inputs, outputs, steps=state.steps, rate=self.rate)
        return memory, recall(memory, inputs, outputs)

    def told_of(self, state: Stored) -> State:
        """The same with what is predicted."""
        predicted = self.predicted[state.width][state.pairs - 1] if state.pairs else None
        return State(width=state.width, way=state.way, steps=state.steps, predicted=predicted)

    def payload(self) -> dict[str, Any]:
        """What the page gets, as JSON literals."""
        at = self.opening
        return {
            "name": self.name,
            "widths": list(self.widths),
            "n_pairs": self.n_pairs,
            "inputs": {d: _packed(table) for d, table in self.inputs.items()},
            "outputs": {d: _packed(table) for d, table in self.outputs.items()},
            "predicted": {d: list(shares) for d, shares in self.predicted.items()},
            "rate": self.rate,
            "shades": SHADES,
            "steps": list(self.steps),
            "opening": {"width": at.width, "pairs": at.pairs, "way": at.way, "steps": at.steps},
        }

    @cached_property
    def html(self) -> str:
        """Still, data, styles and scripts in one ``div``."""
        styles = (STATIC / "memory_pad.css").read_text(encoding="utf-8")
        scripts = "".join(f"<script>{_script(name)}</script>" for name in SCRIPTS)
        still = still_html(self.told_of(self.opening), *self.reading(self.opening))
        return (
            f'<div class="memory-pad" id="{self.name}" role="group" aria-label="Pad: pairs in a matrix">'
            f"<style>{styles}</style>{title_html(self.title)}{still}"
            f'<script type="application/json" class="memory-pad-data">{in_script(self.payload())}</script>'
            f"{scripts}</div>"
        )

    @property
    def n_bytes(self) -> int:
        """What it adds to a page, before compression."""
        return len(self.html.encode())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": f"Pad: {self.title} ({self.name})"}


def _packed(table: np.ndarray) -> str:
    return base64.b64encode(table.astype("<f4").tobytes()).decode()


def _script(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8").replace("</script", "<\\/script")
