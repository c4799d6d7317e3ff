"""Attention as maps: query positions down, key positions across; on one prompt, and as a mean over many."""

import json

import altair as alt
import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.rows import ColumnsError, order_of, rows_of


@style.responsive
def pattern(view: View, width: int) -> alt.TopLevelMixin:
    """Attention pattern of every head on one prompt; a slider over checkpoints when there are several.

    Columns: ``head``, ``query`` and ``key`` (positions, from 0), ``query_token``, ``key_token``, ``value`` (attention
    after softmax, in [0, 1]); optional ``step``, ``origin`` (a menu chooses whose). Keys after the query may
    be left out: they carry no attention. A dozen checkpoints are enough; each adds heads x positions^2 / 2 rows.
    """
    rows = rows_of(view, ["head", "query", "key", "query_token", "key_token", "value"], ["step", "init_seed"])
    tokens = _tokens(rows)
    steps = _frames(rows)
    heads, columns = order_of(rows, "head"), 2 if width >= style.WIDE else 1
    side = min((width - 96 - 64 * columns) // columns, 280)
    title = alt.Axis(labelExpr=f"{json.dumps(tokens)}[datum.value]", labelAngle=-60, labelFontSize=11, labelPadding=3)
    gaps = alt.Scale(paddingInner=0.04)
    x = alt.X("key:O", title="key", axis=title, scale=gaps)
    y = alt.Y("query:O", title="query", axis=alt.Axis(**{**title.to_dict(), "labelAngle": 0}), scale=gaps)
    color = alt.Color(
        "value:Q", scale=alt.Scale(scheme="cividis", domain=[0, 1]), legend=style.map_legend(view.unit, width)
    )
    tips = [
        alt.Tooltip("head:N"), alt.Tooltip("query_token:N", title="from query"), alt.Tooltip("query:O", title="at"),
        alt.Tooltip("key_token:N", title="to key"), alt.Tooltip("key:O", title="at"),
        alt.Tooltip("value:Q", title=view.unit, format=".3f"),
    ]  # fmt: skip
    slider, whose = _slider(steps), style.origin_menu(rows)
    plots = []
    for head in heads:
        cells = alt.Chart(rows[rows["head"] == head]).mark_rect()
        plot = cells.encode(x=x, y=y, color=color, tooltip=tips).properties(width=side, height=side, title=head)
        plot = plot.transform_filter("datum.frame === frame") if slider else plot
        plots.append(plot.transform_filter(style.CHOSEN) if whose else plot)
    chart = alt.concat(*plots, columns=columns, spacing=18)
    if whose:
        chart = chart.add_params(whose)
    if slider is None:
        return chart
    of = "shown_runs" if whose else f"'{next(iter(steps))}'"
    shown = alt.TitleParams(alt.expr(f"'after training step ' + format({json.dumps(steps)}[{of}][frame], ',')"))
    return chart.add_params(slider).properties(title=shown)


def _frames(rows: pd.DataFrame) -> dict[str, list[int]]:
    """Steps of each origin in order; writes each row's place among them into ``frame``."""
    if "step" not in rows:
        return {}
    steps = {str(key): sorted(int(step) for step in part.unique()) for key, part in rows.groupby("origin")["step"]}
    rows["frame"] = [steps[row.origin].index(row.step) for row in rows[["origin", "step"]].itertuples()]
    return steps


def _slider(steps: dict[str, list[int]]) -> alt.Parameter | None:
    last = min((len(found) for found in steps.values()), default=0) - 1
    if last < 1:
        return None
    return alt.param(name="frame", value=last, bind=alt.binding_range(min=0, max=last, step=1, name="checkpoint "))


def _tokens(rows: pd.DataFrame) -> list[str]:
    """Token at each position, from the rows; positions that no row names stay empty."""
    pairs = pd.concat(
        [
            rows[["query", "query_token"]].set_axis(["position", "token"], axis=1),
            rows[["key", "key_token"]].set_axis(["position", "token"], axis=1),
        ]
    ).drop_duplicates()
    twice = pairs[pairs["position"].duplicated(keep=False)]
    if not twice.empty:
        raise ColumnsError(
            f"attention.pattern draws one prompt; position {twice['position'].iloc[0]} has several tokens"
        )
    names = {int(row.position): str(row.token) for row in pairs.itertuples()}
    return [names.get(position, "") for position in range(max(names) + 1)]


@style.responsive
def mean_patterns(view: View, width: int) -> alt.TopLevelMixin:
    """Attention between positions, a mean over rows: one map a head and kind of rows, numbers written in.

    Columns: ``head``, ``kind`` (both drawn in the order given), ``query`` and ``key`` (names of positions, in their
    order), ``value`` (attention after softmax, in [0, 1]). Keys after the query may be left out.
    """
    rows = rows_of(view, ["head", "kind", "query", "key", "value"])
    kinds, names = order_of(rows, "kind"), order_of(rows, "query")
    columns = len(kinds) if width >= style.WIDE else 1
    side = (width - 62 * columns) // columns
    legend = style.map_legend(view.unit, width)
    color = alt.Color("value:Q", scale=alt.Scale(scheme="cividis", domain=[0, 1]), legend=legend)
    axis = alt.Axis(labelAngle=0, ticks=False, domain=False, labelPadding=4, labelFontSize=11)
    gaps = alt.Scale(paddingInner=0.04, paddingOuter=0)
    x = alt.X("key:N", sort=names, title="to position (key)", axis=axis, scale=gaps)
    y = alt.Y("query:N", sort=names, title="from position (query)", axis=axis, scale=gaps)
    tips = [
        alt.Tooltip("head:N"), alt.Tooltip("kind:N", title="rows"), alt.Tooltip("query:N", title="from"),
        alt.Tooltip("key:N", title="to"), alt.Tooltip("value:Q", title=view.unit, format=".3f"),
    ]  # fmt: skip
    # Cividis is dark below its middle: the number turns white there, in either theme.
    ink = alt.condition("datum.value > 0.5", alt.value("#111111"), alt.value("#ffffff"))
    plots = []
    for head in order_of(rows, "head"):
        for kind in kinds:
            base = alt.Chart(rows[(rows["head"] == head) & (rows["kind"] == kind)]).encode(x=x, y=y, tooltip=tips)
            numbers = base.mark_text(fontSize=10, baseline="middle").encode(text=alt.Text("value:Q", format=".2f"))
            layers = alt.layer(base.mark_rect().encode(color=color), numbers.encode(color=ink))
            plots.append(layers.properties(width=side, height=side, title=f"{head}, {kind}"))
    return alt.concat(*plots, columns=columns, spacing=16)
