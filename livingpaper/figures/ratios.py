"""How much faster something is than something else: one row a kind of work, one point a way of doing it."""

import altair as alt

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.row_labels import row_labels, tallest
from livingpaper.figures.rows import order_of, rows_of

TICKS = [0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]


@style.responsive
def ratios(view: View, width: int) -> alt.TopLevelMixin:
    """Points on a scale of doublings with a line at 1, bars over the rounds, a tick at the goal where there is one.

    Columns: ``group`` and ``series`` (both drawn in the order given), ``value``, ``low``, ``high``, ``goal`` (missing
    where there is none).
    """
    rows = rows_of(view, ["group", "series", "value", "low", "high", "goal"]).drop(columns="origin")
    groups, kinds = order_of(rows, "group"), order_of(rows, "series")
    room = 200 if width >= style.WIDE else 110
    y = alt.Y("group:N", sort=groups, axis=None)
    low, high = min(rows["low"].min(), 1) / 1.15, max(rows["high"].max(), rows["goal"].max(), 1) * 1.15
    scale = alt.Scale(type="log", base=2, domain=[low, high], nice=False)
    ticks = [tick for tick in TICKS[:: 1 if width >= style.WIDE else 2] if low <= tick <= high]
    axis = alt.Axis(values=ticks, labelExpr="datum.value + '×'")
    x = alt.X("value:Q", title=style.axis_title(view.unit, width - room), scale=scale, axis=axis)
    legend = style.legend_above(kinds, width - room - 24)
    look = {
        "y": y,
        "yOffset": alt.YOffset("series:N", sort=kinds),
        "color": style.series_color(order=kinds, legend=legend),
        "tooltip": [
            "group:N", "series:N", alt.Tooltip("value:Q", title=view.unit, format=".3"),
            alt.Tooltip("low:Q", title="smallest round", format=".3"),
            alt.Tooltip("high:Q", title="largest round", format=".3"),
        ],
    }  # fmt: skip
    base = alt.Chart(rows)
    ends = alt.X("low:Q", scale=scale, axis=axis, title=style.axis_title(view.unit, width - room))
    bars = base.mark_rule(strokeWidth=2).encode(x=ends, x2="high:Q", **look)
    points = base.mark_point(filled=True, size=70, opacity=1)
    points = points.encode(x=x, shape=style.series_shape(order=kinds, legend=legend), **look)
    one = alt.Chart(alt.Data(values=[{}])).mark_rule(style="zero").encode(x=alt.datum(1))
    height = max(14 + 12 * len(kinds), tallest(groups, room)) * len(groups)
    layers = [one, *_goals(rows, y, x), bars, points, *row_labels(y, groups, room)]
    return alt.layer(*layers, width=width - room - 24, height=height)


def _goals(rows, y: alt.Y, x: alt.X) -> list[alt.Chart]:
    """A tall tick with the word "goal" for every group that has one."""
    wanted = rows.dropna(subset=["goal"]).drop_duplicates("group")[["group", "goal"]]
    if wanted.empty:
        return []
    at = alt.X(**{**x.to_dict(), "field": "goal"})
    base = alt.Chart(wanted).encode(x=at, y=y, tooltip=["group:N", alt.Tooltip("goal:Q", format=".3")])
    words = base.mark_text(style="chance-label", align="left", baseline="middle", dx=4, tooltip=False)
    return [base.mark_tick(style="ink", thickness=2, size=30), words.encode(text=alt.value("goal"))]
