"""Counts that no training run enters: one row a kind, one point a data set."""

import altair as alt

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.row_labels import row_labels, tallest
from livingpaper.figures.rows import order_of, rows_of


@style.responsive
def counts(view: View, width: int) -> alt.TopLevelMixin:
    """Points of each series in each group, drawn in the order given.

    Columns: ``group``, ``series`` (colour and marker), ``draw`` (which data set of the series), ``value``.
    """
    rows = rows_of(view, ["group", "series", "draw", "value"]).drop(columns="origin")
    groups, kinds = order_of(rows, "group"), order_of(rows, "series")
    wide = width >= style.WIDE
    room = 220 if wide else 120
    legend = style.legend_above(kinds, width - room - 24)
    y = alt.Y("group:N", sort=groups, axis=None)
    points = alt.Chart(rows).mark_point(filled=True, size=46, opacity=0.75)
    points = points.encode(
        x=alt.X("value:Q", title=style.axis_title(view.unit, width - room), scale=alt.Scale(nice=True, zero=True)),
        y=y,
        yOffset=alt.YOffset("series:N", sort=kinds),
        color=style.series_color(order=kinds, legend=legend),
        shape=style.series_shape(order=kinds, legend=legend),
        tooltip=[
            alt.Tooltip("group:N"), alt.Tooltip("series:N"), alt.Tooltip("draw:Q", title="generator seed"),
            alt.Tooltip("value:Q", title=view.unit),
        ],
    )  # fmt: skip
    height = max(34, tallest(groups, room)) * len(groups)
    return alt.layer(points, *row_labels(y, groups, room), width=width - room - 24, height=height)
