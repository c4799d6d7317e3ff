"""Matrices beside their targets while they are trained, under a scrubber, in a page and in a notebook."""

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from livingpaper.explorer.heat import SHADES, heat_svg, shades_of
from livingpaper.explorer.weights import in_script

STATIC = Path(__file__).parent / "static"
PREFIX = "matrix-film"
SCRIPTS = ("parts.js", "svg.js", "heat.js", "matrix_film.js")
"""In the order in which a page runs them."""
NAME = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True, eq=False, kw_only=True)
class Filmed:
    """One matrix through training.

    Attributes:
        label: what it is called.
        does: what it is for, in a few words.
        scores: ``[step row column]`` of every pair.
        right: for each row the column that should score highest.
    """

    label: str
    does: str
    scores: Float[np.ndarray, "step row column"]
    right: Int[np.ndarray, " row"]

    @property
    def recalled(self) -> Bool[np.ndarray, "step row"]:
        """Whether the right column alone scores highest."""
        own = np.take_along_axis(self.scores, self.right[None, :, None], 2)[..., 0]
        return (own == self.scores.max(2)) & ((self.scores == own[..., None]).sum(2) == 1)

    @property
    def shades(self) -> Int[np.ndarray, "step row column"]:
        """Scores by the largest of all steps, in whole shades from -``SHADES`` to ``SHADES``."""
        return shades_of(self.scores)

    @property
    def target(self) -> Int[np.ndarray, "row column"]:
        """The same of what it should be: the right column alone."""
        target = np.zeros(self.scores.shape[1:], dtype=np.int8)
        target[np.arange(len(self.right)), self.right] = SHADES
        return target


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixFilm:
    """The film; its HTML needs no other file.

    Attributes:
        name: id of the block in the page, lower-case words with dashes.
        title: what it shows, in one sentence or two.
        note: whose matrices these are.
        steps: of training, rising.
        matrices: a snapshot of each at every step.

    Raises:
        ValueError: an unusable name, no matrix, steps that do not rise or that a matrix lacks.
    """

    name: str
    title: str
    note: str
    steps: tuple[int, ...]
    matrices: Sequence[Filmed]

    def __post_init__(self):
        if not NAME.fullmatch(self.name):
            raise ValueError(f"a film's name is lower-case words with dashes ('film-keys'); got {self.name!r}")
        if not self.steps or list(self.steps) != sorted(set(self.steps)) or not self.matrices:
            raise ValueError(f"{len(self.matrices)} matrices at steps {self.steps}; allowed: from one, at rising steps")
        if wrong := [one.label for one in self.matrices if len(one.scores) != len(self.steps)]:
            raise ValueError(f"{', '.join(wrong)}: other than {len(self.steps)} snapshots")

    def payload(self) -> dict[str, Any]:
        """What the page gets, as JSON literals."""
        return {
            "name": self.name,
            "steps": list(self.steps),
            "shades": SHADES,
            "matrices": [
                {
                    "label": one.label,
                    "size": list(one.scores.shape[1:]),
                    "right": one.right.tolist(),
                    "recalled": ["".join(str(int(is_right)) for is_right in row) for row in one.recalled],
                    "shades": base64.b64encode(one.shades.tobytes()).decode(),
                }
                for one in self.matrices
            ],
        }

    def said(self, at: int) -> str:
        """What the matrices recall at the ``at``-th snapshot; as ``said`` of ``matrix_film.js``."""
        counts = (f"{one.label} {int(one.recalled[at].sum())} of {len(one.right)}" for one in self.matrices)
        return f"Step {self.steps[at]}. Pairs recalled: {', '.join(counts)}."

    @cached_property
    def html(self) -> str:
        """Still, data, styles and scripts in one ``div``."""
        styles = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("memory_pad.css", "matrix_film.css"))
        scripts = "".join(f"<script>{(STATIC / name).read_text(encoding='utf-8')}</script>" for name in SCRIPTS)
        return (
            f'<div class="matrix-film" id="{self.name}" role="group" aria-label="Matrices through training">'
            f"<style>{styles.replace('memory-pad', 'matrix-film')}</style>"
            f'<p class="matrix-film-title">{html.escape(self.title)}</p><p>{html.escape(self.note)}</p>{self._still}'
            f'<script type="application/json" class="matrix-film-data">{in_script(self.payload())}</script>'
            f"{scripts}</div>"
        )

    @property
    def _still(self) -> str:
        """The last snapshot beside its targets, and a table of all."""
        figures = "".join(
            f"<figure><figcaption><b>{html.escape(one.label)}</b> {html.escape(one.does)}</figcaption>"
            f'<div class="matrix-film-pair">{heat_svg(one.shades[-1], PREFIX, _label(one.label, one))}'
            f"{heat_svg(one.target, PREFIX, _label(f'target of {one.label}', one))}</div></figure>"
            for one in self.matrices
        )
        head = "".join(f'<th scope="col">{html.escape(one.label)}</th>' for one in self.matrices)
        rows = "".join(
            f'<tr><th scope="row">{step:,}</th>'
            + "".join(f"<td>{int(one.recalled[at].sum())} of {len(one.right)}</td>" for one in self.matrices)
            + "</tr>"
            for at, step in enumerate(self.steps)
        )
        return (
            f'<div class="matrix-film-still"><div class="matrix-film-figures">{figures}</div>'
            f"<p>{html.escape(self.said(-1))} Left of each pair the matrix, right its target.</p>"
            f'<table><caption>Pairs recalled</caption><thead><tr><th scope="col">step</th>{head}</tr></thead>'
            f'<tbody>{rows}</tbody></table><p class="matrix-film-without">With JavaScript a slider moves through '
            "training.</p></div>"
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": f"Film: {self.title} ({self.name})"}


def _label(name: str, one: Filmed) -> str:
    n_rows, n_columns = one.scores.shape[1:]
    return f"{name}: {n_rows} by {n_columns} scores as colours"
