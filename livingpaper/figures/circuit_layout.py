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
        pitch: distance of two tokens, at least, as long as they all have room.
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
    "tall": Measures(before=34, pitch=30, token=54, gap=118, beyond=40, thin=1.2, thick=6.8),
    "small": Measures(before=1, pitch=6, token=5, gap=27, beyond=13, thin=0.5, thick=2.2),
}
CHARACTER, AROUND = 9.2, 14
"""Most that a character of a token takes, and what a token in a box has beside its word."""
ROOM, NARROW, LINE = 730, 26, 26
"""Length at which words can still be read on a page; least distance of two tokens in a longer prompt, and of two whose
words stand upright."""
SQUEEZED = 1.08
"""How much longer than that a drawing may be, its words a little smaller, before they stand upright."""
HIGH, FAR = 280, 354
"""All layers together take no more; ``FAR`` in the tall form, where a single one takes as much room as two."""
LONG, CLOSE = 430, 19
"""Length of tokens that a phone's screen has room for; their least distance in the tall form, where they are many."""
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
    def pitches(self) -> tuple[Length, ...]:
        """What each token takes along the others: in the wide form at least its word, and what is brought to it."""
        n_tokens = len(self.circuit.tokens)
        if self.form != "wide":
            return (min(self.size.pitch, max(CLOSE, LONG / n_tokens)),) * n_tokens
        if self.is_upright:
            return (LINE,) * n_tokens
        widest = max(self.size.pitch, *self._words)
        if self.size.before + widest * n_tokens <= ROOM:
            return (widest,) * n_tokens
        return tuple(max(NARROW, word) for word in self._words)

    @cached_property
    def is_upright(self) -> bool:
        """Whether words stand upright: side by side they would have no room on a page."""
        natural = self.size.before + sum(max(NARROW, word) for word in self._words)
        return self.form == "wide" and natural > SQUEEZED * ROOM

    @cached_property
    def _words(self) -> tuple[Length, ...]:
        """Length of what stands at each token."""
        brought = {position: 2 * self.half_mark_across((position, row)) + 4 for position, row in self.marks}
        words = (len(token.word) * CHARACTER + (AROUND if token.tone else 0) for token in self.circuit.tokens)
        return tuple(max(word, brought.get(position, 0)) for position, word in enumerate(words))

    @property
    def token_width(self) -> Length:
        """Across the longest word, in the tall form and where words stand upright."""
        longest = max(len(token.word) for token in self.circuit.tokens)
        return max(self.size.token, longest * CHARACTER + AROUND)

    @cached_property
    def extent(self) -> Point:
        """Width and height."""
        along = self.size.before + sum(self.pitches)
        across = self.depth(self.circuit.n_layers) + self.size.beyond
        if self.form == "tall":
            beside = self.depth(self.circuit.n_layers) + self.answer_half
            return max(across, beside), self.answer[1] + ANSWER + 2
        over = 0 if self.form == "small" else self.answer_half - self.pitches[-1] / 2
        return along + max(0, over), across

    @property
    def answer_half(self) -> Length:
        """Half the width of the answer's box."""
        return max(22, len(self.circuit.answer.word) * 5.5 + 9)

    def along(self, position: int) -> Length:
        """Where a token stands among the others."""
        return self.size.before + sum(self.pitches[:position]) + self.pitches[position] / 2

    def depth(self, row: int) -> Length:
        """How far a row is from the outer edge of the tokens: 0 is their inner edge, n what layer n - 1 has written."""
        tokens = self.token_width if self.form == "tall" or self.is_upright else self.size.token
        gap, n_layers = self.size.gap, self.circuit.n_layers
        if self.form == "tall" and n_layers < 2:
            return tokens + row * 2 * gap
        return tokens + row * min(gap, (FAR if self.form == "tall" else HIGH) / n_layers)

    def point(self, position: int, row: int) -> Point:
        """A position at a row."""
        if self.form == "tall":
            return self.depth(row), self.along(position)
        return self.along(position), self.extent[1] - self.depth(row)

    @property
    def answer(self) -> Point:
        """The middle of the answer: above the position at which it is read, in the tall form below the last one."""
        last, read_at = len(self.circuit.tokens) - 1, self.circuit.read_at
        if self.form == "tall" or read_at is None:
            read_at = last
        x, y = self.point(read_at, self.circuit.n_layers)
        return (x, y + 66) if self.form == "tall" else (x, y - {"wide": 86, "small": 10}[self.form])

    @cached_property
    def marks(self) -> dict[tuple[int, int], tuple[Arrow, Link]]:
        """(position, row) -> the arrow that brought a word there, and its link."""
        if self.form == "small":
            return {}
        return {
            (arrow.target, arrow.layer + 1): (arrow, link)
            for link in self.circuit.links
            for arrow in link.arrows
            if arrow.brings and arrow.target is not None
        }

    def half_mark_across(self, at: tuple[int, int]) -> Length:
        """Half the width of a mark, in the wide form."""
        own = self.circuit.tokens[at[0]].word if self.is_labelled(at) else ""
        return max(MARK_ACROSS, max(len(self.marks[at][0].brings), len(own)) * CHARACTER / 2 + 5)

    @property
    def mark_half(self) -> Length:
        """Half the size of a mark, from layer to layer."""
        if self.form == "wide":
            return MARK
        words = (
            word for at, (arrow, _) in self.marks.items() for word in (arrow.brings, self.circuit.tokens[at[0]].word)
        )
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
            words = [self.marks[end][0].brings for end in ends if end in self.marks]
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

    def before_tip(self, arrow: Arrow, length: Length) -> Point:
        """So far before an arrow's tip, in the direction in which it arrives."""
        (_, y1), (x2, y2) = self.ends(arrow)
        if self.form == "tall" and arrow.target is not None:
            return x2 - length, y2
        return x2, y2 + (length if y2 < y1 else -length)

    def curve(self, arrow: Arrow, end: Point) -> tuple[Point, Point, Point, Point]:
        """From where an arrow starts to ``end``: the four points of a cubic that leaves and arrives across the rows."""
        (x1, y1), (x2, y2) = start, _ = self.ends(arrow)[0], end
        if self.form == "tall" and arrow.target is not None:
            return start, ((x1 + x2) / 2, y1), ((x1 + x2) / 2, y2), end
        return start, (x1, (y1 + y2) / 2), (x2, (y1 + y2) / 2), end

    def on_curve(self, arrow: Arrow, share: float) -> Point:
        """A point on an arrow, ``share`` of its way from start to tip."""
        rest, points = 1 - share, self.curve(arrow, self.ends(arrow)[1])
        weights = rest**3, 3 * rest**2 * share, 3 * rest * share**2, share**3
        x, y = (sum(weight * point[axis] for weight, point in zip(weights, points, strict=True)) for axis in (0, 1))
        return x, y

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
        """Of the line: by attention; halfway where there is none."""
        return self.size.thin + self.size.thick * (0.5 if arrow.weight is None else arrow.weight)
