"""Where the names of a drawn circuit's links stand: halfway along their first arrow, or elsewhere on it."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from livingpaper.figures.circuit import Link
from livingpaper.figures.circuit_layout import ANSWER, MARK, Layout, Length, Point

BADGE = 9
"""Radius of a link's number."""
MOVE_CHARACTER, WHO_CHARACTER, LINE_HALF = 10.3, 7.8, 8
"""Most that a character of a name takes, of a head's address, and half the height of a line."""
ALONG = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78, 0.14, 0.86)
"""Places on an arrow that are tried, as shares of its way."""
SAMPLES = 24
"""Points of every arrow at which it is asked whether a name lies on it."""


class Box(NamedTuple):
    """A rectangle in units of the view box."""

    left: Length
    top: Length
    right: Length
    bottom: Length

    def meets(self, other: "Box") -> bool:
        """Whether they share more than an edge."""
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > 0 and min(self.bottom, other.bottom) - max(self.top, other.top) > 0

    def holds(self, point: Point) -> bool:
        """Whether a point lies in it."""
        return self.left < point[0] < self.right and self.top < point[1] < self.bottom


@dataclass(frozen=True)
class Name:
    """Where a link's number stands, and its words: their baseline, and which end of them it is."""

    link: Link
    badge: Point
    words: Point
    anchor: Literal["start", "end"]

    @property
    def words_box(self) -> Box:
        """Around the words."""
        length = MOVE_CHARACTER * len(self.link.move) + 5 + WHO_CHARACTER * len(self.link.head)
        (x, baseline), left = self.words, self.anchor == "end"
        return Box(x - length * left, baseline - 5 - LINE_HALF, x + length * (not left), baseline - 5 + LINE_HALF)

    @property
    def box(self) -> Box:
        """Around number and words."""
        (x, y), words = self.badge, self.words_box
        return Box(
            min(words.left, x - BADGE), min(words.top, y - BADGE),
            max(words.right, x + BADGE), max(words.bottom, y + BADGE),
        )  # fmt: skip


def names(layout: Layout) -> list[Name]:
    """One for each link, in their order; of the places that are free, the first on which least of any arrow lies."""
    taken, found = list(_taken(layout)), []
    width, height = layout.extent
    arrows = [arrow for link in layout.circuit.links for arrow in link.arrows]
    lines = [layout.on_curve(arrow, part / SAMPLES) for arrow in arrows for part in range(SAMPLES + 1)]
    for link in layout.circuit.links:
        places = list(_places(layout, link))
        inside = [
            name for name in places if name.box.left >= 0 and name.box.right <= width and name.box.bottom < height
        ]
        free = [name for name in inside if not any(name.box.meets(box) for box in taken)]
        found.append(min(free, key=lambda name: sum(map(name.words_box.holds, lines)), default=places[0]))
        taken.append(found[-1].box)
    return found


def _places(layout: Layout, link: Link) -> Iterator[Name]:
    arrow = link.arrows[0]
    (x1, y1), (x2, y2) = layout.ends(arrow)
    along = abs(y2 - y1 if layout.form == "tall" else x2 - x1)
    is_long = along > 2 * layout.size.pitch
    right_first = layout.form == "tall" and arrow.target is not None and not is_long
    lifts = (-9, 5) if is_long and layout.form == "wide" else (5,)  # over its own line, or on it
    for lift, share in itertools.product(lifts, ALONG):
        x, y = layout.on_curve(arrow, share)
        left = Name(link, (x, y), (x - BADGE - 6, y + lift), "end")
        right = Name(link, (x, y), (x + BADGE + 6, y + (3 if layout.form == "tall" else lift)), "start")
        yield from (right, left) if right_first else (left, right)


def _taken(layout: Layout) -> Iterator[Box]:
    """Where marks and the answer stand, in the tall form the tokens, in the wide form the words before the rows."""
    for at in layout.marks:
        x, y = layout.point(*at)
        across = layout.mark_half if layout.form == "tall" else layout.half_mark_across(at)
        both = layout.is_labelled(at)
        if layout.form == "tall":
            yield Box(x - across, y - MARK, x + (3 if both else 1) * across, y + MARK)
        else:
            yield Box(x - across, y - (3 if both else 1) * MARK, x + across, y + MARK)
    x, y = layout.answer
    yield Box(0, y - ANSWER, x + layout.answer_half, y + ANSWER)
    if layout.form == "tall":
        yield Box(0, 0, layout.token_width, y)
    else:
        for row in range(layout.circuit.n_layers):
            middle = (layout.point(0, row)[1] + layout.point(0, row + 1)[1]) / 2
            yield Box(0, middle - LINE_HALF, 44, middle + LINE_HALF)
