"""The dot plot behind several pictures: a row a group, a point a seed, mean and interval where n allows one."""

from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.level_labels import ROW, LevelLabel, nice, placed, rows_of_labels, upright
from livingpaper.figures.row_labels import LETTER, row_labels, tallest
from livingpaper.figures.rows import order_of, over_seeds

FEW_VALUES, APART = 3, 0.18
"""Where the seeds of a lane share two or three values so far apart, in shares of the plot, each that more than one has
says how many; so do lanes of one value beside such."""
MOST_VALUES, LETTER_OF_COUNT = 8, 7
"""Where no lane of a picture has more different values, and none shares its row, every point that is several seeds says
how many: above it or, where counts would meet, of so many pixels a letter, below."""
NARROWEST = style.NARROW - 144
"""Pixels of the plot on a phone: counts stand as they must there, as a page carries their table once for all widths."""
BESIDE = 24
"""Pixels right of a plot that stay free, for what stands at its end."""
LEGEND_OFFSET = 18
"""Pixels between a plot and the legend above it, as Vega has them."""


@dataclass(frozen=True, eq=False)
class Dots:
    """A dot plot to lay out.

    Attributes:
        rows: ``by``, ``init_seed``, ``value``, ``origin`` and, where points come in kinds, ``series``; where some
            values are only known to be at least, or at most, as large, ``there``, false for those; where several
            data sets were drawn, ``data_set``.
        by: the column whose values are the rows of the plot.
        view: for unit and chance level.
        width: room for it, in pixels.
        order: rows from top to bottom; () takes the order of the table.
        zero: whether 0 is a level of its own, drawn as a line even where no value is below it.
        label_room: pixels for the row labels; None lets the width decide, 0 draws none.
    """

    rows: pd.DataFrame
    by: str
    view: View
    width: int
    order: tuple[str, ...] = ()
    zero: bool = False
    label_room: int | None = None

    @property
    def row_height(self) -> int:
        """Pixels a row takes: more lanes, more room."""
        return (
            20
            if len(self.lanes) == 1 and self.label_room == 0
            else (9 if len(self.lanes) < 4 else 7) * len(self.lanes) + 14
        )

    @property
    def lanes(self) -> list[str]:
        """Lanes within a row: one for every series and origin."""
        found = self.rows[["series", "origin"]].drop_duplicates() if "series" in self.rows else None
        if found is None:
            return sorted(self.rows["origin"].unique())
        return [f"{series} {origin}" for series in order_of(found, "series") for origin in sorted(set(found["origin"]))]


def dots(plot: Dots) -> alt.LayerChart:
    """Draw it: striped rows, chance or zero line, points, and a bold mean with its interval for n >= 5.

    A value that is only known to be at least, or at most, as large is an open mark, and there is no mean of such.
    Where seeds share a few values between them, each says of how many it is.
    """
    rows = plot.rows.copy()
    series = "series" in rows
    rows["series"] = rows["series"].astype(str) if series else ""
    rows["there"] = rows["there"].astype(bool) if "there" in rows else True
    order = list(plot.order) or order_of(rows, plot.by)
    means = over_seeds(rows, [plot.by, "series"], intervals=bool(plot.view.band))
    rows = rows.drop(columns="data_set", errors="ignore")  # no mark tells it
    lane = [plot.by, "series", "origin"]
    whole = rows.groupby(lane, observed=True, as_index=False)["there"].all()
    means = means.merge(whole, on=lane).query("there").drop(columns="there")
    for table in (rows, means):
        lane = table["series"] + " " + table["origin"] if series else table["origin"]
        table["lane"], table["runs"] = lane, style.origin_labels(rows, table["origin"])
    room = _label_room(plot)
    unit = plot.view.unit
    y = alt.Y(f"{plot.by}:N", sort=order, axis=None)
    width = plot.width - room - BESIDE
    values, scale = alt.Axis(tickCount=max(3, width // 80)), style.value_scale(rows["value"])
    x = alt.X("value:Q", title=style.axis_title(unit, width), scale=scale, axis=values)
    levels = _levels(plot, scale, means, room)
    color, shape, opacity = _look(rows, rows_of_labels(levels), width)
    # Said, since points alone, where seeds are too few for intervals, would make it a scale without bands, and stripes
    # of a fixed height.
    offset = alt.YOffset("lane:N", sort=plot.lanes, scale=alt.Scale(type="band"))
    shared = {"y": y, "yOffset": offset, "color": color, "opacity": opacity}
    tips = [alt.Tooltip(f"{plot.by}:N"), *([alt.Tooltip("series:N")] if series else [])]
    point = [alt.Tooltip("init_seed:N", title="seed"), alt.Tooltip("value:Q", title=unit)]
    look = {"x": x, "shape": shape, "tooltip": [*tips, *point, alt.Tooltip("runs:N", title="from")], **shared}
    lines = [*_zero(plot), *map(upright, levels)]
    layers = [_stripes(order, plot.by, y), *lines, *_means(means, x, shared, tips), *_points(rows, look)]
    layers += _counts(rows, plot, {"x": x, "y": y, "yOffset": offset})
    height = plot.row_height
    if room:
        layers += row_labels(y, order, room)
        height = max(height, tallest(order, room))
    return alt.layer(*layers, width=width, height=height * len(order))


def _label_room(plot: Dots) -> int:
    if plot.label_room is not None:
        return plot.label_room
    longest = max(len(label) for label in order_of(plot.rows, plot.by))
    return min(int(LETTER * longest) + 12, 200 if plot.width >= style.WIDE else 120)


def _stripes(order: list[str], by: str, y: alt.Y) -> alt.Chart:
    """A pale band behind every other row, so that the eye keeps its row."""
    every_other = alt.Data(values=[{by: label} for label in order[::2]])
    bars = alt.Chart(every_other).mark_bar(style="row", tooltip=False)
    return bars.encode(y=y, x=alt.XValue(0), x2=alt.X2Value("width"))


def _zero(plot: Dots) -> list[alt.Chart]:
    low, high = plot.rows["value"].agg(["min", "max"])
    if not (plot.zero or low < 0 < high):
        return []
    return [alt.Chart(alt.Data(values=[{}])).mark_rule(style="zero").encode(x=alt.XDatum(0))]


def _levels(plot: Dots, scale: alt.Scale, means: pd.DataFrame, room: int) -> list[LevelLabel]:
    """The line of chance and those of the view, with room for their labels: ``room`` pixels left of the plot."""
    chance = plot.view.chance
    levels = ({} if chance is None else {"chance": chance}) | dict(plot.view.levels)
    levels = {name: float(level) for name, level in levels.items()}
    told = scale.to_dict(validate=False)
    ends = told.get("domain")
    if ends is None:
        drawn = [*plot.rows["value"], *means[["low", "high"]].to_numpy().flat, *levels.values()]
        drawn += [0.0] if told.get("zero", True) else []
        ends = nice(float(np.nanmin(drawn)), float(np.nanmax(drawn)))
    span = (float(ends[0]), float(ends[1]))
    return placed(levels, span, plot.width - room - BESIDE, room)


def _look(rows: pd.DataFrame, n_levels: int, width: int) -> tuple[alt.Color, alt.Shape, alt.Opacity | alt.OpacityValue]:
    """Colour and marker by series, strength by origin; ``n_levels`` rows of words stand between plot and legend."""
    kinds = order_of(rows, "series")
    legend = style.legend_above(kinds, width) if kinds != [""] else None
    if legend and n_levels > 1:  # above their words; for one row there is room
        legend.offset = LEGEND_OFFSET + ROW * (n_levels - 1)
    color = style.series_color(order=kinds, legend=legend)
    shape = style.series_shape(order=kinds, legend=legend)
    return color, shape, style.origin_opacity(style.origin_domain(rows), width, alone=0.75)


def _points(rows: pd.DataFrame, look: dict) -> list[alt.Chart]:
    """A point a seed; open ones, where there are such, in a layer of their own."""
    there, beyond = rows[rows["there"]], rows[~rows["there"]]
    known = alt.Chart(there.drop(columns="there")).mark_point(filled=True, size=30).encode(**look)
    if beyond.empty:
        return [known]
    unknown = alt.Chart(beyond.drop(columns="there")).mark_point(filled=False, size=44, strokeWidth=1.6)
    return [known, unknown.encode(**look)]


def _counts(rows: pd.DataFrame, plot: Dots, place: dict) -> list[alt.Chart]:
    """How many seeds have a value, at its point: of all such points or, where values are many, of lanes of few."""
    lane = [plot.by, "lane"]
    stacks = rows.groupby([*lane, "value", "there"], observed=True).size()
    stacks = stacks[stacks > 1].rename("n").reset_index()
    stacks["words"] = "\N{MULTIPLICATION SIGN}" + stacks["n"].astype(str)
    values = rows.groupby(lane, observed=True)["value"]
    if len(plot.lanes) == 1 and values.nunique().between(2, MOST_VALUES).any():
        middle = stacks.assign(align="center", dx=0, dy=_sides(stacks, plot))
        if values.nunique().max() <= MOST_VALUES and middle["dy"].notna().all():
            return _written(middle, place)
    told = _lanes_of_few(values, rows["value"].max() - rows["value"].min())
    beside = stacks.merge(told.rename("told").reset_index(), on=lane).query("told")
    right = beside["value"] > (rows["value"].min() + rows["value"].max()) / 2
    sides = {"align": np.where(right, "right", "left"), "dx": np.where(right, -5, 5), "dy": -5}
    return _written(beside.assign(**sides), place)


def _sides(stacks: pd.DataFrame, plot: Dots) -> list[float]:
    """Pixels by which each count stands below its point; less than 0 for above, NaN where there is room on no side."""
    pixels = NARROWEST / _span(plot.rows["value"])
    ends: dict[tuple[str, int], float] = {}
    found = []
    for row, value, words in stacks[[plot.by, "value", "words"]].itertuples(index=False):  # by value within a row
        start = value * pixels - LETTER_OF_COUNT * len(words) / 2
        free = [dy for dy in (-9, 9) if start >= ends.get((row, dy), -np.inf)]
        found.append(float(free[0]) if free else np.nan)
        if free:
            ends[row, free[0]] = start + LETTER_OF_COUNT * len(words)
    return found


def _span(values: pd.Series) -> float:
    """How much the axis of these values spans, but for its rounding to whole ticks."""
    scale = style.value_scale(values).to_dict()
    ends = scale.get("domain", [*values.agg(["min", "max"]), *([0] if scale.get("zero", True) else [])])
    return max(float(max(ends) - min(ends)), 1e-12)


def _lanes_of_few(values: pd.core.groupby.SeriesGroupBy, spread: float) -> pd.Series:
    """Which lanes have few values, far apart, or one beside such; by row and lane."""
    n_values = values.nunique()
    told = n_values.between(2, FEW_VALUES) & (values.agg(_closest) > APART * spread)
    return told | ((n_values == 1) & told.any())


def _closest(values: pd.Series) -> float:
    """How far the two closest of different values are apart."""
    return np.diff(np.unique(values.astype(float))).min(initial=np.inf)


def _written(counts: pd.DataFrame, place: dict) -> list[alt.Chart]:
    """A layer of words for each way in which they stand to their points."""
    return [
        alt.Chart(part[["words", "value", *(place[axis].to_dict()["field"] for axis in ("y", "yOffset"))]])
        .mark_text(style="ink", align=align, dx=dx, dy=dy, fontSize=10, tooltip=False)
        .encode(text="words:N", **place)
        for (align, dx, dy), part in counts.groupby(["align", "dx", "dy"], sort=False)
    ]


def _means(means: pd.DataFrame, x: alt.X, shared: dict, tips: list[alt.Tooltip]) -> list[alt.Chart]:
    """Interval bars and mean ticks of the groups that have enough seeds for one."""
    enough = means.dropna(subset=["low"])
    if enough.empty:
        return []
    tips = [
        *tips, alt.Tooltip("mean:Q"), alt.Tooltip("low:Q", title="interval from"), alt.Tooltip("high:Q", title="to"),
        alt.Tooltip("n:Q", title="seeds"), alt.Tooltip("runs:N", title="from"),
    ]  # fmt: skip
    axis = x.to_dict()
    base = alt.Chart(enough)
    low = alt.X(**{**axis, "field": "low"})
    mean = alt.X(**{**axis, "field": "mean"})
    bar = base.mark_rule(strokeWidth=1.8, clip=True).encode(x=low, x2=alt.X2("high:Q"), tooltip=tips, **shared)
    tick = base.mark_tick(thickness=3, size=15).encode(x=mean, tooltip=tips, **shared)
    return [bar, tick]
