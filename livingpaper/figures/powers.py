"""How something goes with a number where both are told on logarithmic scales: a power is a straight line."""

import altair as alt
import numpy as np
import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.rows import ColumnsError, order_of, rows_of

MEASURED = "geometric mean"
SLACK = 1.12
"""Factor by which an axis goes beyond its numbers."""


@style.responsive
def powers(view: View, width: int) -> alt.TopLevelMixin:
    """A point a seed, a line through geometric means of what is all known, and laws as dashed lines; a plot a panel.

    Columns: ``panel`` (drawn in the order given), ``axis`` (what ``x`` is, in words; one for all), ``x``, ``init_seed``
    (missing where a row is a law's), ``value``, ``law`` (its name; missing where a seed is); optional ``there`` (false
    where a value is only known to be larger: a triangle) and ``origin``: by the reader's runs stand the published ones
    as pale points, laws and means are of the reader's.
    """
    rows = rows_of(view, ["panel", "axis", "x", "init_seed", "value", "law"], ["there"])
    if not ((rows["x"] > 0) & (rows["value"] > 0)).all():
        raise ColumnsError("x and value must be above 0: logarithmic scales show nothing else")
    rows["cut"] = ~rows["there"].fillna(True).astype(bool) if "there" in rows else False
    rows["runs"] = style.origin_labels(rows, rows["origin"])
    strength = style.origin_opacity(style.origin_domain(rows), width, alone=0.5)
    order = [MEASURED, *order_of(rows.dropna(subset=["law"]), "law")]
    panels, (axis,) = order_of(rows, "panel"), rows["axis"].unique()
    columns = 1 if width < style.WIDE or len(panels) == 1 else 2
    size = {"width": (width - 78 * columns) // columns, "height": 240}
    scales = {name: _scale(rows[name]) for name in ("x", "value")}
    look = {
        "x": alt.X("x:Q", title=style.axis_title(axis, size["width"]), scale=scales["x"]),
        "y": alt.Y("value:Q", title=style.axis_title(view.unit, size["height"]), scale=scales["value"],
                   axis=alt.Axis(format=",d", tickCount=5)),
    }  # fmt: skip
    legend = style.legend_above(order, width - 60, "stroke")
    plots = [_plot(rows[rows["panel"] == panel], look, strength, (order, legend)).properties(**size, title=panel)
             for panel in panels]  # fmt: skip
    return alt.concat(*plots, columns=columns, spacing=14)


def _plot(
    rows: pd.DataFrame,
    look: dict[str, object],
    strength: alt.Opacity | alt.OpacityValue,
    lines: tuple[list[str], alt.Legend],
) -> alt.LayerChart:
    """Points of all seeds; the mean and the laws of the reader's, or of all where they are alone.

    There is no mean where some values are only known to be larger.
    """
    seeds = rows[rows["law"].isna()]
    mine = rows[rows["origin"] == ("rerun" if (seeds["origin"] == "rerun").any() else "paper")]
    own = mine[mine["law"].isna()]
    known = own["value"].where(~own["x"].isin(own[own["cut"]]["x"]))
    means = np.exp(np.log(known).groupby(own["x"]).mean()).rename("value").reset_index()  # the line breaks at a gap
    drawn = pd.concat(
        [means.assign(series=MEASURED), mine.dropna(subset=["law"]).assign(series=lambda law: law["law"])]
    )
    order, legend = lines
    tips = [alt.Tooltip("x:Q", format=","), alt.Tooltip("value:Q", format=",.3~r")]
    look = {**look, "x": alt.X(**{**look["x"].to_dict(), "axis": _axis(seeds["x"])})}
    points = alt.Chart(seeds[["x", "init_seed", "value", "runs", "cut"]].astype({"init_seed": int}))
    points = points.mark_point(filled=True).encode(
        **look, opacity=strength, tooltip=[alt.Tooltip("init_seed:N", title="seed"), *tips],
        shape=alt.condition("datum.cut", alt.value("triangle-up"), alt.value("circle")),
        size=alt.condition("datum.cut", alt.value(110), alt.value(30)),
    )  # fmt: skip
    strokes = (
        alt.Chart(drawn[["x", "series", "value"]])
        .mark_line(strokeWidth=2.4)
        .encode(
            **look,
            color=style.series_color(order=order, legend=legend),
            strokeDash=style.series_dash(order=order, legend=legend),
            tooltip=["series:N", *tips],
        )
    )
    return alt.layer(points, strokes)


def _scale(values: pd.Series) -> alt.Scale:
    return alt.Scale(type="log", domain=[values.min() / SLACK, values.max() * SLACK], nice=False)


def _axis(values: pd.Series) -> alt.Axis:
    """A tick at every number that was tried."""
    return alt.Axis(values=sorted({float(value) for value in values}), format=",d", labelOverlap="greedy")
