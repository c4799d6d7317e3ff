"""Counts that no training run enters: one row a kind, one point a data set."""

import altair as alt

from circuitcore.emergence.view import View
from circuitcore.figures import style
from circuitcore.figures.rows import order_of, rows_of


@style.responsive
def counts(view: View, width: int) -> alt.TopLevelMixin:
    """Points of each series in each group, drawn in the order given.

    Columns: ``group``, ``series`` (colour and marker), ``draw`` (which data set of the series), ``value``.
    """
    rows = rows_of(view, ["group", "series", "draw", "value"]).drop(columns="origin")
    groups, kinds = order_of(rows, "group"), order_of(rows, "series")
    wide = width >= style.WIDE
    room = 236 if wide else 128
    legend = style.legend_above(kinds, width)
    labels = alt.Axis(
        labelExpr=style.wrapped(groups, 34 if wide else 17), labelLineHeight=13, ticks=False, domain=False
    )
    points = alt.Chart(rows).mark_point(filled=True, size=46, opacity=0.75)
    return points.encode(
        x=alt.X("value:Q", title=view.unit, scale=alt.Scale(nice=True, zero=True)),
        y=alt.Y("group:N", sort=groups, title=None, axis=labels),
        yOffset=alt.YOffset("series:N", sort=kinds),
        color=style.series_color(order=kinds, legend=legend),
        shape=style.series_shape(order=kinds, legend=legend),
        tooltip=[
            alt.Tooltip("group:N"), alt.Tooltip("series:N"), alt.Tooltip("draw:Q", title="generator seed"),
            alt.Tooltip("value:Q", title=view.unit),
        ],
    ).properties(width=width - room - 24, height=(34 if wide else 46) * len(groups))  # fmt: skip
