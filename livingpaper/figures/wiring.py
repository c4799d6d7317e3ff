"""Circuits as they are wired: which role looks at which, layer by layer, one small drawing a network."""

from functools import partial

import altair as alt
import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.rows import ColumnsError, order_of, rows_of

LAYER = 17
"""Pixels a layer is high."""
LETTER = 5.6
"""Pixels a letter of a header is wide, about."""

COLUMNS = {"page": ((7, 5), (9, 3)), "phone": ((5, 3),)}
"""Up to so many roles -> drawings beside each other; two where there are more."""


@style.responsive
def paths(view: View, width: int) -> alt.TopLevelMixin:
    """A drawing a network: along a line, a head of that layer brings what stands at one role to another.

    Columns: ``panel`` (a network), ``layers`` (how many it has), ``layer`` and ``head`` of a path, counted from 0
    (missing: the network has no path), ``source`` (the role that is looked at), ``target`` (the role that looks), both
    categorical, with the roles in the order in which they are drawn, ``series`` (a kind of path; categorical where its
    colour is to be the same in several pictures), ``init_seed``, ``value``; optional ``origin`` (a menu chooses whose).
    """
    rows = rows_of(view, ["panel", "layers", "layer", "head", "source", "target", "series", "init_seed", "value"])
    if not isinstance(rows["source"].dtype, pd.CategoricalDtype) or rows["source"].dtype != rows["target"].dtype:
        raise ColumnsError("columns 'source' and 'target' must be categorical, with one order of roles")
    roles = [str(role) for role in rows["source"].cat.categories]
    columns = _columns(len(roles), int(rows["panel"].str.len().max()), width)
    n_layers, room = int(rows["layers"].max()), (width - 46) // columns - 14
    look = _look(rows, view.unit, width)
    ends = rows.assign(start=rows["source"].cat.codes, end=rows["target"].cat.codes, top=rows["layer"] + 1)
    ends = ends.drop(columns="layers").astype({"source": str, "target": str, "series": str})
    lines, points = _paths(_across(roles), _up(n_layers), look)
    nothing = alt.Chart().transform_filter("!isValid(datum.layer)").mark_text(style="chance-label", fontSize=10)
    said = nothing.encode(x=alt.value(room / 2), y=alt.value(n_layers * LAYER / 2), text=alt.value("no path is left"))
    drawn = alt.layer(lines, points, said, data=ends, width=room, height=n_layers * LAYER)
    header = alt.Header(title=None, labelFontSize=11, labelFontWeight="normal", labelPadding=2)
    facet = alt.Facet("panel:N", sort=order_of(rows, "panel"), header=header)
    chart = drawn.facet(facet=facet, columns=columns, spacing={"row": 10, "column": 14})
    whose = style.origin_menu(rows, "circuits")
    return chart.transform_filter(style.CHOSEN).add_params(whose) if whose else chart


def _columns(n_roles: int, n_letters: int, width: int) -> int:
    """How many drawings of so many roles, and under so many letters, fit beside each other."""
    steps = COLUMNS["page" if width >= style.WIDE else "phone"]
    most = next((columns for most, columns in steps if n_roles <= most), 2)
    return max(1, min(most, int((width - 46) / (LETTER * n_letters + 14))))


def _look(rows: pd.DataFrame, unit: str, width: int) -> dict:
    """Colour and dashes by kind of path, in one order and with one legend, and what is told of a path."""
    series = rows["series"]
    ordered = isinstance(series.dtype, pd.CategoricalDtype)
    kinds = [*series.cat.categories] if ordered else order_of(rows.dropna(subset=["layer"]), "series")
    legend = style.legend_above(kinds, width - 60, "stroke") if kinds else None
    tips = [
        alt.Tooltip("panel:N", title="network"), alt.Tooltip("layer:Q"), alt.Tooltip("head:Q"),
        alt.Tooltip("target:N", title="looks"), alt.Tooltip("source:N", title="at"),
        alt.Tooltip("value:Q", title=unit),
    ]  # fmt: skip
    color, dash = (make(order=kinds, legend=legend) for make in (style.series_color, style.series_dash))
    return {"color": color, "strokeDash": dash, "tooltip": tips}


def _paths(x: partial[alt.X], y: partial[alt.Y], look: dict) -> tuple[alt.Chart, alt.Chart]:
    """Of every path a line, and a point where it brings what it fetched."""
    base = alt.Chart().transform_filter("isValid(datum.layer)")
    lines = base.mark_rule(strokeWidth=2).encode(x=x("start:Q"), x2="end:Q", y=y("layer:Q"), y2="top:Q", **look)
    undashed = {name: channel for name, channel in look.items() if name != "strokeDash"}
    return lines, base.mark_point(filled=True, size=26, opacity=1).encode(x=x("end:Q"), y=y("top:Q"), **undashed)


def _across(roles: list[str]) -> partial[alt.X]:
    """Roles from left to right, as they follow each other in a row."""
    named = ", ".join(f"'{role}'" for role in roles)
    axis = alt.Axis(
        values=list(range(len(roles))), labelExpr=f"[{named}][datum.value]", title=None, grid=True, ticks=False,
        domain=False, labelFontSize=10, labelPadding=3, labelOverlap=False,
    )  # fmt: skip
    return partial(alt.X, scale=alt.Scale(domain=[-0.3, len(roles) - 0.7], nice=False), axis=axis)


def _up(n_layers: int) -> partial[alt.Y]:
    """Layers from bottom to top, named in the middle of their height."""
    axis = alt.Axis(
        values=[layer + 0.5 for layer in range(n_layers)], labelExpr="floor(datum.value)", title="layer",
        grid=False, ticks=False, domain=False, labelFontSize=10,
    )  # fmt: skip
    return partial(alt.Y, scale=alt.Scale(domain=[0, n_layers + 0.2], nice=False), axis=axis)
