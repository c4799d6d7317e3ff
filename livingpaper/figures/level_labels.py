"""Upright lines at levels, each with its name and number above the plot, beside the line that they belong to."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import altair as alt

from livingpaper.figures.row_labels import LETTER

ROW = 14
"""Pixels a row of labels is high."""
GAP = 4
"""Pixels between a line and its label, and at least between a label and anything else."""
MARGIN = 20
"""Pixels right of a plot that a label may use."""
MOST_TRIED = 4
"""Levels of which every arrangement is tried; of more each has a row of its own."""


@dataclass(frozen=True)
class LevelLabel:
    """One level's line and where its label stands.

    Attributes:
        name: of the level.
        level: on the drawn scale.
        named: whether its name has room; without, its number stands alone, and the caption has the name.
        before: whether the label stands left of the line.
        row: above the plot, counted from the lowest.
    """

    name: str
    level: float
    named: bool = True
    before: bool = False
    row: int = 0

    @property
    def words(self) -> str:
        """What is written."""
        return f"{self.name} {self.level:.3g}" if self.named else f"{self.level:.3g}"

    @property
    def length(self) -> float:
        """Pixels that its words take, at most."""
        return LETTER * len(self.words) + GAP

    def ends(self, at: float) -> tuple[float, float]:
        """From where to where its words lie, its line being at ``at`` pixels."""
        return (at - self.length, at - GAP) if self.before else (at + GAP, at + self.length)


def placed(levels: Mapping[str, float], span: tuple[float, float], width: int, left: int) -> list[LevelLabel]:
    """Labels that nothing cuts or crosses: most with their names, in few rows, right of their lines where that may be.

    A line goes up to its own label. So a label has room if it ends within the plot and what is free beside it, and
    meets no label of its row and no line that goes as high.

    Args:
        levels: name -> level.
        span: of the axis.
        width: of the plot, in pixels.
        left: pixels left of the plot that labels may use.
    """
    at = {name: (level - span[0]) / (span[1] - span[0]) * width for name, level in levels.items()}
    if len(levels) > MOST_TRIED:
        return [LevelLabel(name, level, named=False, row=row) for row, (name, level) in enumerate(levels.items())]
    found = [labels for labels in _arrangements(levels) if _has_room(labels, at, (float(-left), float(width + MARGIN)))]
    bare = [LevelLabel(name, level, named=False, row=row) for row, (name, level) in enumerate(levels.items())]
    return min(found, key=_cost, default=bare)


def rows_of_labels(labels: Sequence[LevelLabel]) -> int:
    """How many rows they take."""
    return max((label.row for label in labels), default=-1) + 1


def upright(label: LevelLabel) -> alt.LayerChart:
    """The dashed line of a level, up to its label."""
    level, top = round(label.level, 4), -ROW * (label.row + 1) + 1
    data = alt.Data(values=[{"level": level, "label": label.words, "line": f"{label.name} {label.level:.3g}"}])
    x, end = alt.XDatum(level), alt.Y2Value("height")
    rule = alt.Chart(data).mark_rule(style="chance", tooltip=False).encode(x=x, y=alt.YValue(top), y2=end)
    align, dx = ("right", -GAP) if label.before else ("left", GAP)
    text = alt.Chart(data).mark_text(style="chance-label", align=align, baseline="bottom", dx=dx)
    return alt.layer(rule, text.encode(y=alt.YValue(-3 - ROW * label.row), x=alt.X("level:Q"), text="label:N"))


def nice(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis of such values, which Vega rounds to the steps of about ten ticks."""
    if not high > low:
        return low, low + 1.0
    raw = (high - low) / 10
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next((factor for factor, least in ((10, 50), (5, 10), (2, 2)) if (raw / power) ** 2 >= least), 1)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _arrangements(levels: Mapping[str, float]) -> Iterator[list[LevelLabel]]:
    """Every choice of rows, of sides, and of labels with and without their names."""
    n = len(levels)
    orders = {tuple(min(row, most) for row in order) for order in permutations(range(n)) for most in range(n)}
    for rows, sides, named in product(
        sorted(orders), product((False, True), repeat=n), product((True, False), repeat=n)
    ):
        looks = zip(levels.items(), named, sides, rows, strict=True)
        yield [LevelLabel(name, level, *look) for (name, level), *look in looks]


def _has_room(labels: Sequence[LevelLabel], at: Mapping[str, float], ends: tuple[float, float]) -> bool:
    """Whether nothing is cut or crossed."""
    spans = [label.ends(at[label.name]) for label in labels]
    if any(start < ends[0] or end > ends[1] for start, end in spans):
        return False
    for one, (start, end) in zip(labels, spans, strict=True):
        for other, (begin, stop) in zip(labels, spans, strict=True):
            if one is other:
                continue
            crossed = other.row >= one.row and start - GAP < at[other.name] < end + GAP
            if crossed or (one.row == other.row and start - GAP < stop and begin - GAP < end):
                return False
    return True


def _cost(labels: Sequence[LevelLabel]) -> tuple[int, int, int, int]:
    """What is better is less: names that are left out, rows, labels before their lines, how high they stand."""
    return (
        sum(not label.named for label in labels),
        rows_of_labels(labels),
        sum(label.before for label in labels),
        sum(label.row for label in labels),
    )
