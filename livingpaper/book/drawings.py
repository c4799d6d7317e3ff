"""Drawn circuits of a study's networks, for its chapter and for the pages that speak of it.

A study's ``DRAWINGS`` are functions of one origin's material that give the circuits of its networks, the one that is
shown large first.
"""

from collections.abc import Sequence

from circuitcore.ground.errors import UserError
from circuitcore.ground.spelling import unknown
from livingpaper.book.evidence import Evidence
from livingpaper.claims.results import Results
from livingpaper.figures.circuit import in_words
from livingpaper.figures.circuit_drawing import drawing_html, small_drawings_html


class DrawingError(UserError, LookupError):
    """No such drawing, or no network to draw; the message says what there is."""


def drawn(evidence: Evidence, found: Sequence[Results], name: str) -> tuple[list[dict[str, str]], dict[str, str]]:
    """What a chapter shows, and what it leaves for other pages.

    Args:
        evidence: of the study.
        found: its results.
        name: of the drawing.

    Returns:
        A large drawing for each of the results that have networks to draw, as MIME bundles; and HTML in one line under
        the names that other pages know: ``NAME`` the first of them, ``NAMEs`` every network of those results, small.

    Raises:
        DrawingError: no such drawing, or no weights of any network are here.
    """
    makers = getattr(evidence.study, "DRAWINGS", {})
    if name not in makers:
        raise DrawingError(unknown("drawing", name, makers))
    everyone = [circuits for material in evidence.material(found) if (circuits := makers[name](material))]
    if not everyone:
        raise DrawingError(f"no network to draw for {name!r}: none of their weights are here")
    large = [{"text/html": drawing_html(first), "text/plain": in_words(first)} for first, *_ in everyone]
    return large, {name: large[0]["text/html"], f"{name}s": small_drawings_html(everyone[0])}
