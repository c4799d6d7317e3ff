"""What a pad opens on as plain HTML, for paper and for readers without JavaScript; worded as ``memory_rules.js``."""

import html
import math
from dataclasses import dataclass

import numpy as np

from livingpaper.explorer.heat import heat_svg, shades_of
from livingpaper.explorer.memory_sums import Recall, Way

WAYS: dict[Way, str] = {
    "sum": "sum of outer products",
    "step": "one gradient step",
    "descent": "gradient descent",
}


@dataclass(frozen=True, kw_only=True)
class State:
    """How a matrix was filled.

    Attributes:
        width: d, channels.
        way: how.
        steps: of gradient descent.
        predicted: share that theory says a sum of as many pairs recalls; None where it says nothing.
    """

    width: int
    way: Way
    steps: int
    predicted: float | None


def title_html(title: str) -> str:
    """The finding, and what is done here."""
    return (
        f'<p class="memory-pad-title">{html.escape(title)}</p>'
        "<p>A pair is an input <var>e</var> and an output <var>u</var>, random directions in <var>d</var> channels. "
        "Store pairs in one matrix <var>W</var>. Asked with an input, it answers with the stored output of the largest "
        "score <var>u</var><sup>⊤</sup><var>We</var>. A pair is forgotten when another output scores higher; its "
        "margin is by how much.</p>"
    )


def still_html(at: State, memory: np.ndarray, found: Recall) -> str:
    """The matrix as a picture, what it recalls in words, and the margin of every pair."""
    pairs = "".join(_pair(number + 1, found) for number in range(len(found.margins)))
    largest = np.abs(memory).max(initial=0)
    return (
        f'<div class="memory-pad-still"><div class="memory-pad-panels"><figure>{_heat(memory)}'
        f"<figcaption>W, largest entry {fixed(largest, 2)}: {COLOURS}</figcaption></figure>"
        f'<ol class="memory-pad-pairs">{pairs}</ol></div>'
        f"<p>{html.escape(summary(at, found))}</p>"
        '<p class="memory-pad-without">Under each pair stands its margin, ✗ where it is forgotten. With JavaScript you '
        "store pairs, and take them away, yourself.</p></div>"
    )


COLOURS = "blue above zero, orange below, the paler the smaller."


def summary(at: State, found: Recall) -> str:
    """What is recalled of all pairs."""
    count, kept = len(found.margins), int(found.is_recalled.sum())
    size = f"{at.width} × {at.width} numbers"
    if not count:
        return f"Nothing is stored in {size}."
    how = f"{_some(at.steps, 'step')} of gradient descent" if at.way == "descent" else WAYS[at.way]
    load = count * math.log(count) / at.width**2
    held = (
        f"{_some(count, 'pair')} in {size}, load {fixed(load, 2)}, by {how}: {kept} recalled, {count - kept} "
        f"forgotten, {share(kept / count)}."
    )
    if at.predicted is None:
        return f"{held} With fewer than three pairs there is nothing to predict."
    known = "Noise alone predicts" if at.way == "sum" else "For a sum, noise alone predicts"
    return f"{held} {known} {share(at.predicted)} on average over draws, of which this is one."


def _heat(memory: np.ndarray) -> str:
    label = f"The matrix: {memory.shape[0]} by {memory.shape[1]} numbers as colours"
    return heat_svg(shades_of(memory), "memory-pad", label)


def _some(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


def _pair(number: int, found: Recall) -> str:
    kept, margin = found.is_recalled[number - 1], found.margins[number - 1]
    mark = "kept" if kept else "lost"
    text = "" if math.isnan(margin) else fixed(margin, 2)
    return f'<li class="memory-pad-pair memory-pad-{mark}"><b>{number}</b> {"" if kept else "✗ "}{text}</li>'


def fixed(value: float, digits: int) -> str:
    """A number with so many decimals and a real minus."""
    return f"{value:.{digits}f}".replace("-", "−")


def share(value: float) -> str:
    """A share in per cent, with one decimal."""
    return f"{100 * value:.1f}\u00a0%"
