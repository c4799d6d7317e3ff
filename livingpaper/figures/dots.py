"""The dot plot behind several pictures: a row a group, a point a seed, mean and interval where n allows one."""

from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.row_labels import LETTER, row_labels, tallest
from livingpaper.figures.rows import order_of, over_seeds

FEW_VALUES, APART = 3, 0.18
"""Where the seeds of a lane share two or three values so far apart, in shares of the plot, each that more than one has
says how many; so do lanes of one value beside such."""
LEGEND_OFFSET = 18
"""Pixels between a plot and the legend above it, as Vega has them."""


@dataclass(frozen=True, eq=False)
class Dots:
    """A dot plot to lay out.

    Attributes:
        rows: ``by``, ``init_seed``, ``value``, ``origin`` and, where points come in kinds, ``series``; where some
            values are only known to be at least, or at most, as large, ``there``, false for those.
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
    means = over_seeds(rows, [plot.by, "series"], plot.view)
    lane = [plot.by, "series", "origin"]
    whole = rows.groupby(lane, observed=True, as_index=False)["there"].all()
    means = means.merge(whole, on=lane).query("there").drop(columns="there")
    for table in (rows, means):
        lane = table["series"] + " " + table["origin"] if series else table["origin"]
        table["lane"], table["runs"] = lane, style.origin_labels(rows, table["origin"])
    room = _label_room(plot)
    unit = plot.view.unit
    y = alt.Y(f"{plot.by}:N", sort=order, axis=None)
    width = plot.width - room - 24
    values = alt.Axis(tickCount=max(3, width // 80))
    x = alt.X("value:Q", title=style.axis_title(unit, width), scale=style.value_scale(rows["value"]), axis=values)
    color, shape, opacity = _look(rows, plot, width)
    # Said, since points alone, where seeds are too few for intervals, would make it a scale without bands, and stripes
    # of a fixed height.
    offset = alt.YOffset("lane:N", sort=plot.lanes, scale=alt.Scale(type="band"))
    shared = {"y": y, "yOffset": offset, "color": color, "opacity": opacity}
    tips = [alt.Tooltip(f"{plot.by}:N"), *([alt.Tooltip("series:N")] if series else [])]
    point = [alt.Tooltip("init_seed:N", title="seed"), alt.Tooltip("value:Q", title=unit)]
    look = {"x": x, "shape": shape, "tooltip": [*tips, *point, alt.Tooltip("runs:N", title="from")], **shared}
    layers = [_stripes(order, plot.by, y), *_levels(plot), *_means(means, x, shared, tips), *_points(rows, look)]
    layers += _counts(rows, plot.by, {"x": x, "y": y, "yOffset": offset})
    height = plot.row_height
    if room:
        layers += row_labels(y, order, room)
        height = max(height, tallest(order, room))
    return alt.layer(*layers).properties(width=width, height=height * len(order))


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


def _levels(plot: Dots) -> list[alt.TopLevelMixin]:
    levels, (low, high) = [], plot.rows["value"].agg(["min", "max"])
    if plot.zero or low < 0 < high:
        levels.append(alt.Chart(alt.Data(values=[{}])).mark_rule(style="zero").encode(x=alt.XDatum(0)))
    if plot.view.chance is not None:
        levels.append(style.chance_line(plot.view.chance, axis="x"))
    for row, (name, level) in enumerate(plot.view.levels.items(), start=int(plot.view.chance is not None)):
        label = "before" if level > (low + high) / 2 else True  # where there is room
        levels.append(style.level_line(name, level, axis="x", label=label, row=row))
    return levels


def _look(rows: pd.DataFrame, plot: Dots, width: int) -> tuple[alt.Color, alt.Shape, alt.Opacity | alt.OpacityValue]:
    """Colour and marker by series, strength by origin."""
    kinds = order_of(rows, "series")
    legend = style.legend_above(kinds, width) if kinds != [""] else None
    named = len(plot.view.levels) + (plot.view.chance is not None)
    if legend and named > 1:  # above their words; for one there is room
        legend.offset = LEGEND_OFFSET + style.WORDS_OF_LEVEL * (named - 1)
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


def _closest(values: pd.Series) -> float:
    """How far the two closest of different values are apart."""
    return np.diff(np.unique(values.astype(float))).min(initial=np.inf)


def _counts(rows: pd.DataFrame, by: str, place: dict) -> list[alt.Chart]:
    """How many seeds have a value, beside its point, where a lane has few values; on the side where there is room."""
    least = APART * (rows["value"].max() - rows["value"].min())
    values = rows.groupby([by, "lane"], observed=True)["value"]
    n_values, closest = values.transform("nunique"), values.transform(_closest)
    told = n_values.between(2, FEW_VALUES) & (closest > least)
    told |= (n_values == 1) & told.any()
    counts = rows[told].groupby([by, "lane", "value", "there"], observed=True).size()
    counts = counts[counts > 1].rename("n").reset_index()
    if counts.empty:
        return []
    counts["words"] = counts["n"].astype(str) + " seeds"
    right = counts["value"] > (rows["value"].min() + rows["value"].max()) / 2
    sides = ((counts[~right], "left", 5), (counts[right], "right", -5))
    return [
        alt.Chart(part)
        .mark_text(style="ink", align=align, dx=dx, dy=-5, fontSize=10, tooltip=False)
        .encode(text="words:N", **place)
        for part, align, dx in sides
        if not part.empty
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
