"""Where everything of a drawn circuit stands: one geometry in three forms.

``wide`` has the tokens along the bottom, ``tall`` down the left, ``small`` is wide without words.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from livingpaper.figures.circuit import Arrow, Circuit, Link

Form = Literal["wide", "tall", "small"]
Length = float | int
"""In units of the view box."""
Point = tuple[Length, Length]
"""x to the right, y downwards."""


@dataclass(frozen=True, kw_only=True)
class Measures:
    """Sizes of one form.

    Attributes:
        before: room before the first token, along the tokens.
        pitch: least distance of two tokens.
        token: length of a token, across.
        gap: distance of two rows, from token to layer and from layer to layer.
        beyond: room after the last layer.
        thin: width of an arrow without attention.
        thick: what full attention adds to it.
    """

    before: Length
    pitch: Length
    token: Length
    gap: Length
    beyond: Length
    thin: Length
    thick: Length


MEASURES: dict[Form, Measures] = {
    "wide": Measures(before=54, pitch=50, token=30, gap=118, beyond=112, thin=1.2, thick=7.8),
    "tall": Measures(before=34, pitch=40, token=54, gap=118, beyond=40, thin=1.2, thick=6.8),
    "small": Measures(before=1, pitch=6, token=5, gap=27, beyond=13, thin=0.5, thick=2.2),
}
CHARACTER, AROUND = 9.2, 14
"""Most that a character of a token takes, and what a token in a box has beside its word."""
MARK, MARK_ACROSS = 10.5, 15
"""Half a mark's height, and half its least width."""
NODE, ANSWER, SMALL_ANSWER = 4, 18, 2.5
"""Radius of a dot, half the height of the answer, and its radius in the small form."""


@dataclass(frozen=True)
class Layout:
    """Where everything of a circuit stands in one form."""

    circuit: Circuit
    form: Form

    @property
    def size(self) -> Measures:
        """The form's measures."""
        return MEASURES[self.form]

    @cached_property
    def pitch(self) -> Length:
        """Distance of two tokens: more than the least where words are long and stand side by side."""
        if self.form != "wide":
            return self.size.pitch
        widths = (len(token.word) * CHARACTER + (AROUND if token.tone else 0) for token in self.circuit.tokens)
        return max(self.size.pitch, *widths)

    @property
    def token_width(self) -> Length:
        """Across the longest word, in the tall form."""
        longest = max(len(token.word) for token in self.circuit.tokens)
        return max(self.size.token, longest * CHARACTER + AROUND)

    @cached_property
    def extent(self) -> Point:
        """Width and height."""
        along = self.size.before + self.pitch * len(self.circuit.tokens)
        across = self.depth(self.circuit.n_layers) + self.size.beyond
        return (across, along + 66) if self.form == "tall" else (along, across)

    def along(self, position: int) -> Length:
        """Where a token stands among the others."""
        return self.size.before + self.pitch * (position + 0.5)

    def depth(self, row: int) -> Length:
        """How far a row is from the outer edge of the tokens: 0 is their inner edge, n what layer n - 1 has written."""
        tokens = self.token_width if self.form == "tall" else self.size.token
        return tokens + row * self.size.gap

    def point(self, position: int, row: int) -> Point:
        """A position at a row."""
        if self.form == "tall":
            return self.depth(row), self.along(position)
        return self.along(position), self.extent[1] - self.depth(row)

    @property
    def answer(self) -> Point:
        """The middle of the answer: above the last position, in the tall form below it."""
        x, y = self.point(len(self.circuit.tokens) - 1, self.circuit.n_layers)
        return (x, y + 66) if self.form == "tall" else (x, y - {"wide": 86, "small": 10}[self.form])

    @cached_property
    def marks(self) -> dict[tuple[int, int], tuple[str, Link]]:
        """(position, row) -> the word that was brought there, and by which link."""
        if self.form == "small":
            return {}
        return {
            (arrow.target, arrow.layer + 1): (arrow.brings, link)
            for link in self.circuit.links
            for arrow in link.arrows
            if arrow.brings and arrow.target is not None
        }

    @property
    def mark_half(self) -> Length:
        """Half the size of a mark, from layer to layer."""
        if self.form == "wide":
            return MARK
        words = (word for at, (brought, _) in self.marks.items() for word in (brought, self.circuit.tokens[at[0]].word))
        longest = max(map(len, words), default=0)
        return max(MARK_ACROSS, longest * CHARACTER / 2 + 5)

    def is_labelled(self, at: tuple[int, int]) -> bool:
        """Whether the word of the token itself stands beside the mark: where it is of a kind."""
        return at in self.marks and self.circuit.tokens[at[0]].tone > 0

    @property
    def fitting(self) -> set[tuple[int, int]]:
        """The marks that are alike at both ends of a later arrow: what is looked for, and what is found by it."""
        found = set()
        for arrow in (arrow for link in self.circuit.links for arrow in link.arrows if arrow.target is not None):
            ends = (arrow.source, arrow.layer), (arrow.target, arrow.layer)
            words = [self.marks[end][0] for end in ends if end in self.marks]
            if len(words) == 2 and words[0] == words[1]:
                found.update(ends)
        return found

    def ends(self, arrow: Arrow) -> tuple[Point, Point]:
        """Where an arrow starts and where its tip is: at the edge of what stands there."""
        at = arrow.source, arrow.layer
        if arrow.target is not None:
            return self._edge(at, outwards=1), self._edge((arrow.target, arrow.layer + 1), outwards=-1)
        x, y = self.answer
        if self.form == "tall":  # down the page, not along the layers
            return (x, self.point(*at)[1] + (MARK if at in self.marks else NODE)), (x, y - ANSWER)
        return self._edge(at, outwards=1), (x, y + (SMALL_ANSWER if self.form == "small" else ANSWER))

    def _edge(self, at: tuple[int, int], *, outwards: int) -> Point:
        x, y = self.point(*at)
        if at[1] == 0 or self.form == "small":
            half = 0.0
        elif at in self.marks:
            half = self.mark_half + (2 * self.mark_half if outwards > 0 and self.is_labelled(at) else 0)
        else:
            half = NODE
        return (x + outwards * half, y) if self.form == "tall" else (x, y - outwards * half)

    def width(self, arrow: Arrow) -> Length:
        """Of the line: by attention."""
        return self.size.thin + self.size.thick * arrow.weight
