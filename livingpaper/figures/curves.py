"""Pictures over training time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.rows import ORIGINS, ColumnsError, both_origins, order_of, over_seeds, rows_of

TIME = {"step": "training step", "epoch": "epoch", "tokens_seen": "training tokens seen"}
SEEN = 500
"""Steps of a value that can be told apart: no plot here is higher than half as many pixels."""


@style.responsive
def training(view: View, width: int) -> alt.TopLevelMixin:
    """Curves over training: a thin line a seed, a strong line for their mean, a band where n allows one.

    Columns: ``step`` (or ``epoch``, or ``tokens_seen``), ``series``, ``init_seed``, ``value``; optional ``origin``,
    ``axis`` (what is counted, where it is not from the start), and ``panel`` for several small plots on one scale, with
    ``unit`` and ``chance`` of each panel in place of the view's (``chance`` missing: none there). The view's ``levels``
    are lines in all of them, its ``turns`` upright ones. Click a series in the legend to see it alone.
    """
    time = next((name for name in TIME if name in view.table), "step")
    rows = rows_of(view, [time, "series", "init_seed", "value"], ["panel", "unit", "chance", "axis", "data_set"])
    panelled = "panel" in rows
    if not panelled:
        rows["panel"] = ""
    means = over_seeds(rows, ["panel", "series", time], intervals=bool(view.band))
    order, panels = order_of(rows, "series"), order_of(rows, "panel")
    columns = 1 if width < style.WIDE or len(panels) == 1 else 2
    size = {"width": (width - 78 * columns) // columns, "height": 250 if len(panels) == 1 else 160}
    pick = alt.selection_point(fields=["series"], bind="legend", name="series_picked")
    axis = alt.Axis(format=",d", tickCount=max(3, size["width"] // 90), labelFlush=True)
    told = str(rows["axis"].iloc[0]) if "axis" in rows else TIME[time]
    x = alt.X(f"{time}:Q", title=style.axis_title(told, size["width"]), axis=axis)
    drawn, units = [time, "series", "init_seed", "value", "origin"], _units(rows["value"])
    plots, shown = [], None
    if strange := set(view.turns) - set(panels):
        raise ColumnsError(f"turns are told of panels {sorted(strange)}; the table has {panels}")
    for panel in panels:
        part, mean = rows[rows["panel"] == panel], means[means["panel"] == panel]
        unit, chance = _of_panel(part, "unit", None) or view.unit, _of_panel(part, "chance", view.chance)
        title = style.axis_title(str(unit), size["height"])
        y = alt.Y("value:Q", title=title, scale=style.value_scale(rows["value"]))
        layers = _lines(part[drawn], mean.drop(columns="panel"), _Look(x, y, order, pick, width, rows, units))
        if chance is not None:
            layers.append(style.chance_line(float(chance), label=chance != shown))
            shown = chance
        for name, level in view.levels.items():
            layers.append(style.level_line(name, level, label=panel == panels[0]))
        if panel in view.turns:
            layers.append(_turns(view.turns[panel], x))
        plots.append(alt.layer(*layers, **size, **({"title": panel} if panelled else {})))
    plots[0] = plots[0].add_params(pick)
    if not panelled:
        return plots[0]
    return alt.concat(*plots, columns=columns, spacing=14).resolve_scale(y="shared", x="shared")


def _turns(times: Sequence[int], x: alt.X) -> alt.Chart:
    """An upright line at each time at which training asks for something else."""
    lines = alt.Chart(alt.Data(values=[{"turn": time} for time in times]))
    return lines.mark_rule(style="turn", tooltip=False).encode(x=alt.X(**{**x.to_dict(), "field": "turn"}))


@style.responsive
def lines(view: View, width: int) -> alt.TopLevelMixin:
    """Small multiples over training, each with a scale of its own: for quantities that ``training`` cannot share one.

    Columns: ``panel`` (drawn in the order given), ``series``, ``epoch`` (or ``step``, or ``tokens_seen``),
    ``init_seed`` (missing where no seed of ours is behind a line), ``value``; optional ``unit`` and ``chance`` of each
    panel (``chance`` missing: none there) in place of the view's, and ``origin``. Click a series in the legend to see
    it alone.
    """
    time = next((name for name in TIME if name in view.table), "step")
    rows = rows_of(view, ["panel", "series", time, "init_seed", "value"], ["unit", "chance", "data_set"])
    drawn = ["series", time, "init_seed", "value", "origin"]
    means = over_seeds(rows, ["panel", "series", time], intervals=bool(view.band))
    columns = 1 if width < style.WIDE or rows["panel"].nunique() == 1 else 2
    size = {"width": (width - 80 * columns) // columns, "height": 160}
    pick = alt.selection_point(fields=["series"], bind="legend", name="series_picked")
    axis = alt.Axis(format=",d", tickCount=max(3, size["width"] // 90), tickMinStep=1, labelFlush=True)
    x = alt.X(f"{time}:Q", title=style.axis_title(TIME[time], size["width"]), axis=axis)
    plots = []
    for panel in order_of(rows, "panel"):
        part, mean = rows[rows["panel"] == panel], means[means["panel"] == panel]
        unit, chance = _of_panel(part, "unit", None) or view.unit, _of_panel(part, "chance", view.chance)
        title = style.axis_title(str(unit), size["height"])
        y = alt.Y("value:Q", title=title, scale=style.value_scale(part["value"]))
        look = _Look(x, y, order_of(rows, "series"), pick, width, rows, _units(part["value"]))
        layers = _lines(part[drawn], mean.drop(columns="panel"), look)
        if chance is not None:
            layers.append(style.chance_line(float(chance)))
        plots.append(alt.layer(*layers, **size, title=panel))
    plots[0] = plots[0].add_params(pick)
    return alt.concat(*plots, columns=columns, spacing=14).resolve_scale(x="shared")


def _of_panel(part: pd.DataFrame, column: str, given: object) -> object:
    """What a panel's rows say in a column that is the same in all of them; ``given`` where there is no such column.

    Where a reader's runs lie over the published ones, it is what those say.
    """
    if column not in part:
        return given
    published = part[part["origin"] == ORIGINS[0]]
    values = (part if published.empty else published)[column].dropna().unique()
    if len(values) > 1:
        raise ColumnsError(f"panel {part['panel'].iloc[0]!r} has {len(values)} values of {column!r}; it takes one")
    return values[0] if len(values) else None


@dataclass(frozen=True)
class _Look:
    """What every layer of a curve plot shares."""

    x: alt.X
    y: alt.Y
    order: list[str]
    pick: alt.Parameter
    width: int
    runs: pd.DataFrame  # rows of all panels, which share one legend of whose runs they are
    units: int  # of what can be seen on this scale, in 1

    @property
    def time(self) -> str:
        return self.x.to_dict()["field"]


def _lines(rows: pd.DataFrame, means: pd.DataFrame, look: _Look) -> list[alt.Chart]:
    """Band, seed lines and mean lines of one plot; published runs stay thin and pale beside the reader's."""
    both = both_origins(rows)
    legend = style.legend_above(look.order, look.width - 60, "stroke")
    color = style.series_color(order=look.order, legend=legend)
    means = means.assign(runs=style.origin_labels(look.runs, means["origin"]))
    layers = [] if means["low"].isna().all() else [_band(means, look, color)]
    seeds = _packed(rows[rows["origin"] == "rerun"] if both else rows, look).mark_line(strokeWidth=1)
    tips = [
        alt.Tooltip("series:N"),
        alt.Tooltip("init_seed:N", title="seed"),
        alt.Tooltip(f"{look.time}:Q", format=",d"),
    ]
    several = rows.groupby("origin")["init_seed"].nunique().max() > 1
    layers.append(
        seeds.encode(
            x=look.x, y=look.y, color=color, detail=[alt.Detail("init_seed:N")],
            tooltip=[*tips, alt.Tooltip("value:Q", title="value, rounded")],
            opacity=_faded(look.pick, (0.6 if both else 0.38) if several else 0),
        )
    )  # fmt: skip
    dash = style.series_dash(order=look.order, legend=legend)
    layers.append(
        alt.Chart(means).mark_line().encode(
            x=look.x, y=_over(look.y, "mean"), color=color, strokeDash=dash,
            strokeWidth=style.origin_width(look.runs, look.width), detail=alt.Detail("origin:N"),
            opacity=_faded(look.pick, 1),
        )
    )  # fmt: skip
    return [*layers, _hover(means, look, color)]


def _packed(rows: pd.DataFrame, look: _Look) -> alt.Chart:
    """A chart of these rows with one row a line on the page, and values in whole units of what can be seen.

    Written out, words and digits of many seeds are most of a long page.
    """
    counted = [None if pd.isna(value) else round(value * look.units) for value in rows["value"]]
    known = rows.assign(value=pd.Series(counted, index=rows.index, dtype=object))
    of_line, listed = ["series", "init_seed", "origin"], [look.time, "value"]
    found = known.groupby(of_line, sort=False, dropna=False, observed=True)[listed].agg(list).reset_index()
    flat = alt.Chart(found).transform_flatten(listed)
    return flat.transform_calculate(value=f"isValid(datum.value) ? datum.value / {look.units} : null")


def _units(values: pd.Series) -> int:
    """Units in 1, one at most a ``SEEN``th of what the values span: half of one is at most a quarter of a pixel."""
    span = (values.max() - values.min()) or abs(values.max())
    return 10 ** max(0, -math.floor(math.log10(span / SEEN))) if span > 0 else 1


def _band(means: pd.DataFrame, look: _Look, color: alt.Color) -> alt.Chart:
    band = alt.Chart(means.dropna(subset=["low"])).mark_area(tooltip=False, clip=True)
    return band.encode(
        x=look.x, y=_over(look.y, "low"), y2=alt.Y2("high:Q"), color=color, detail=alt.Detail("origin:N"),
        opacity=_faded(look.pick, 0.17),
    )  # fmt: skip


def _hover(means: pd.DataFrame, look: _Look, color: alt.Color) -> alt.Chart:
    """Unseen points on the mean lines that say the numbers when pointed at."""
    unit = " ".join(look.y.to_dict()["title"])
    tips = [
        alt.Tooltip("series:N"), alt.Tooltip(f"{look.time}:Q", format=",d"),
        alt.Tooltip("mean:Q", title=f"mean {unit}"), alt.Tooltip("n:Q", title="seeds"),
        alt.Tooltip("runs:N", title="from"),
    ]  # fmt: skip
    if means["low"].notna().any():
        tips += [alt.Tooltip("low:Q", title="interval from"), alt.Tooltip("high:Q", title="to")]
    points = alt.Chart(means).mark_point(size=90, opacity=0, filled=True)
    return points.encode(x=look.x, y=_over(look.y, "mean"), color=color, tooltip=tips)


def _over(y: alt.Y, field: str) -> alt.Y:
    """The same axis for another column."""
    return alt.Y(**{**y.to_dict(), "field": field, "type": "quantitative"})


def _faded(pick: alt.Parameter, opacity: float | int) -> alt.OpacityValue:
    return alt.OpacityValue(**alt.condition(pick, alt.value(opacity), alt.value(min(opacity, 0.06))))
