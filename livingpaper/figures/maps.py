"""Matrices: a number for every row and column, what QK and OV circuits do to tokens, which edges carry the answer."""

import altair as alt
import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.row_labels import LETTER
from livingpaper.figures.rows import ColumnsError, both_origins, order_of, over_seeds, rows_of

AXES = {"QK": ("query token", "key token"), "OV": ("attended token", "token written")}
"""What the rows and columns of a circuit's map are, if the table does not say; other circuits go unlabelled."""


@style.responsive
def circuit_maps(view: View, width: int) -> alt.TopLevelMixin:
    """QK and OV circuits of every head as maps over tokens, one row of maps a circuit with a scale of its own.

    Columns: ``circuit`` ("QK", "OV"), ``head``, ``row``, ``column`` (token labels, drawn in the order given),
    ``value``; optional ``unit`` (of the circuit's values, if the circuits differ), ``down`` and ``across`` (what its
    rows and columns are, if not as in ``AXES``), ``origin`` (a menu chooses whose).
    """
    rows = rows_of(view, ["circuit", "head", "row", "column", "value"], ["unit", "down", "across"])
    heads = order_of(rows, "head")
    columns = min(len(heads), 4 if width >= style.WIDE else 2)
    side = (width - 56 - 34 * columns) // columns
    whose = style.origin_menu(rows)
    blocks = []
    for circuit in order_of(rows, "circuit"):
        part = rows[rows["circuit"] == circuit]
        unit = str(part["unit"].iloc[0]) if "unit" in part else view.unit
        scale = alt.Scale(scheme="cividis", domain=_domain(part["value"]))
        color = alt.Color("value:Q", scale=scale, legend=style.map_legend(f"{circuit}: {unit}", width))
        maps = [_map(part[part["head"] == head], color, side, first=i % columns == 0) for i, head in enumerate(heads)]
        blocks.append(alt.concat(*maps, columns=columns, spacing=12))
    chart = alt.vconcat(*blocks, spacing=22).resolve_scale(color="independent")
    return chart.add_params(whose) if whose else chart


def _domain(values: pd.Series) -> list[float]:
    """Symmetric around 0 for signed values, so that the middle colour is 0 in every map."""
    low, high = float(values.min()), float(values.max())
    if low >= 0:
        return [0.0, high]
    reach = max(-low, high)
    return [-reach, reach]


def _map(rows: pd.DataFrame, color: alt.Color, side: int, *, first: bool) -> alt.Chart:
    across, down = order_of(rows, "column"), order_of(rows, "row")
    circuit, head = str(rows["circuit"].iloc[0]), str(rows["head"].iloc[0])
    named = AXES.get(circuit, (None, None))
    if {"down", "across"} <= set(rows):
        named = (rows["down"].iloc[0], rows["across"].iloc[0])
    axis = alt.Axis(
        labelFontSize=10 if side < 130 else 11, labelPadding=2, ticks=False, domain=False, labelOverlap=True
    )
    tips = [alt.Tooltip(f"{name}:N") for name in ("head", "row", "column")]
    cells = alt.Chart(rows).mark_rect()
    if both_origins(rows):
        cells = cells.transform_filter(style.CHOSEN)
    return cells.encode(
        x=alt.X("column:N", sort=across, title=named[1], axis=axis),
        y=alt.Y("row:N", sort=down, title=named[0] if first else None, axis=axis),
        color=color,
        tooltip=[*tips, alt.Tooltip("value:Q", format=".3f")],
    ).properties(width=side, height=side, title=alt.TitleParams(f"{circuit} {head}", fontSize=12, anchor="middle"))


@style.responsive
def edges(view: View, width: int) -> alt.TopLevelMixin:
    """Path patching: how much of the effect travels along each edge, one map a counterfactual.

    Columns: ``sender`` ("L0H0"), ``receiver`` ("L1H0.Q"), ``counterfactual``, ``init_seed``, ``value``; optional
    ``origin``. A cell shows the mean over seeds; pointing at it shows the smallest and largest seed. With both origins
    the published runs' maps come first.
    """
    rows = rows_of(view, ["sender", "receiver", "counterfactual", "init_seed", "value"], ["data_set"])
    by = ["counterfactual", "sender", "receiver"]
    reach = rows.groupby([*by, "origin"], sort=False)["value"].agg(smallest="min", largest="max").reset_index()
    cells = over_seeds(rows, by, intervals=False).merge(reach, on=[*by, "origin"]).drop(columns=["low", "high"])
    cells["runs"] = style.origin_labels(rows, cells["origin"])
    domain = _domain(cells["mean"]) if cells["mean"].min() < 0 else [0.0, max(1.0, float(cells["mean"].max()))]
    color = alt.Color(
        "mean:Q", scale=alt.Scale(scheme="cividis", domain=domain), legend=style.map_legend(view.unit, width)
    )
    both = both_origins(rows)
    groups = [(kind, origin) for kind in order_of(rows, "counterfactual") for origin in order_of(rows, "origin")]
    columns = 1 if width < style.WIDE else 2
    plots = []
    for kind, origin in groups:
        part = cells[(cells["counterfactual"] == kind) & (cells["origin"] == origin)]
        if part.empty:
            continue
        words = {"subtitle": part["runs"].iloc[0]} if both else {}
        plots.append(_edge_map(part, color, width, alt.TitleParams(kind, **words)))
    return alt.concat(*plots, columns=columns, spacing=20)


def _edge_map(cells: pd.DataFrame, color: alt.Color, width: int, title: alt.TitleParams) -> alt.LayerChart:
    senders, receivers = order_of(cells, "sender"), order_of(cells, "receiver")
    room = (width - 96) if width < style.WIDE else (width - 190) // 2
    axis = alt.Axis(ticks=False, domain=False, labelPadding=4)
    base = alt.Chart(cells.drop(columns="origin")).encode(
        x=alt.X("receiver:N", sort=receivers, title="receiver", axis=alt.Axis(**axis.to_dict(), labelAngle=-40)),
        y=alt.Y("sender:N", sort=senders, title="sender", axis=axis),
        tooltip=[
            "sender:N", "receiver:N", alt.Tooltip("mean:Q", format=".3f"), alt.Tooltip("smallest:Q", format=".3f"),
            alt.Tooltip("largest:Q", format=".3f"), alt.Tooltip("n:Q", title="seeds"),
            alt.Tooltip("runs:N", title="from"),
        ],
    )  # fmt: skip
    # Cividis is dark below its middle: the number turns white there, in either theme.
    middle = sum(color.to_dict()["scale"]["domain"]) / 2
    ink = alt.condition(f"datum.mean > {middle:.6g}", alt.value("#111111"), alt.value("#ffffff"))
    numbers = base.mark_text(fontSize=11, baseline="middle").encode(text=alt.Text("mean:Q", format=".2f"), color=ink)
    squares = base.mark_rect().encode(color=color)
    return alt.layer(squares, numbers, width=room, height=34 * len(senders), title=title)


@style.responsive
def heat(view: View, width: int) -> alt.TopLevelMixin:
    """A number for every row and column, written on its colour; one scale for all panels.

    Columns: ``row``, ``column`` (both drawn in the order given), ``value`` (missing: a cell without colour); optional
    ``panel`` (one map each), ``line`` (what ends with a row, such as a law's reach: a line below it, with these words
    on pointing at it; missing: none), ``origin`` (a menu chooses whose).
    """
    if view.levels:
        raise ColumnsError(
            f"a map has no axis for levels ({', '.join(view.levels)}): column 'line' says where one lies"
        )
    rows = rows_of(view, ["row", "column", "value"], ["panel", "line"])
    rows["panel"] = rows["panel"].astype(str) if "panel" in rows else ""
    keys = ["panel", "row", "column", "origin"]
    twice = rows[rows.duplicated(keys)]
    if not twice.empty:
        where = ", ".join(f"{name}={twice[name].iloc[0]}" for name in keys)
        raise ColumnsError(f"two values for one cell ({where}); a map shows one number a cell")
    panels, wide = order_of(rows, "panel"), width >= style.WIDE
    most = rows.groupby("panel")["column"].nunique().max()
    room = min(int(LETTER * rows["row"].astype(str).str.len().max()) + 16, 150 if wide else 92)
    side_by_side = len(panels) > 1 and width / 2 - room - 12 >= 40 * most
    columns = 2 if side_by_side else 1
    whose = style.origin_menu(rows)
    low, high = float(rows["value"].min()), float(rows["value"].max())
    scale = alt.Scale(scheme="cividis", domain=[min(0.0, low), high])
    color = alt.Color("value:Q", scale=scale, legend=style.map_legend(view.unit, width))
    maps = [_heat(rows[rows["panel"] == panel], color, width // columns - room - 12, wide=wide) for panel in panels]
    chart = alt.concat(*maps, columns=columns, spacing=18)
    return chart.add_params(whose) if whose else chart


def _heat(rows: pd.DataFrame, color: alt.Color, room: int, *, wide: bool) -> alt.LayerChart:
    across, down, panel = order_of(rows, "column"), order_of(rows, "row"), str(rows["panel"].iloc[0])
    cell = min(room // len(across), 84)
    angle = 0 if LETTER * max(map(len, across)) <= cell else -60 if wide else -90
    axis = alt.Axis(orient="top", labelAngle=angle, ticks=False, domain=False, labelPadding=5)
    labels = alt.Axis(ticks=False, domain=False, labelPadding=5, labelFontSize=11, labelLimit=150 if wide else 88)
    gaps = alt.Scale(paddingInner=0.06, paddingOuter=0)
    base = alt.Chart(rows.drop(columns=["panel", "line"], errors="ignore")).encode(
        x=alt.X("column:N", sort=across, title=None, axis=axis, scale=gaps),
        y=alt.Y("row:N", sort=down, title=None, axis=labels, scale=gaps),
        tooltip=[alt.Tooltip("row:N"), alt.Tooltip("column:N"), alt.Tooltip("value:Q", format=".4")],
    )
    if both_origins(rows):
        base = base.transform_filter(style.CHOSEN)
    low, high = color.to_dict()["scale"]["domain"]
    # Cividis is dark below its middle: the number turns white there, in either theme.
    ink = alt.condition(f"datum.value > {(low + high) / 2:.6g}", alt.value("#111111"), alt.value("#ffffff"))
    # Among numbers beyond ten, small ones keep a digit where they have one: 3.2 and 2.7 are not both 3.
    written = "format(datum.value, datum.value < 10 && datum.value % 1 ? '.1f' : ',.0f')"
    known = base.transform_filter("isValid(datum.value)")
    if high < 10:
        numbers = alt.Text("value:Q", format=".2f")
    else:
        known, numbers = known.transform_calculate(written=written), alt.Text("written:N")
    words = {"fontSize": 11 if wide else 10, "baseline": "middle"}
    unknown = base.transform_filter("!isValid(datum.value)")
    layers = [
        known.mark_rect().encode(color=color),
        known.mark_text(**words).encode(text=numbers, color=ink),
        unknown.mark_rect(style="empty"),
        unknown.mark_text(**words, style="ink").encode(text=alt.value("–")),
    ]
    size = {"width": cell * len(across), "height": 20 * len(down)}
    if "line" in rows:
        layers += _lines(rows, y=alt.Y("row:N", sort=down, bandPosition=1))
    return alt.layer(*layers, **size, **({"title": panel} if panel else {}))


def _lines(rows: pd.DataFrame, y: alt.Y) -> list[alt.Chart]:
    """Below the rows that have words for one: dark on light, so that it is seen on every colour."""
    chosen = both_origins(rows)
    ends = rows[["row", "line", "origin"] if chosen else ["row", "line"]].dropna().drop_duplicates()
    base = alt.Chart(ends).encode(x=alt.XValue(0), x2=alt.X2Value("width"), y=y)
    if chosen:
        base = base.transform_filter(style.CHOSEN)
    return [
        base.mark_rule(stroke="#ffffff", strokeWidth=5, tooltip=False),
        base.mark_rule(stroke="#111111", strokeWidth=2, strokeDash=[5, 3]).encode(tooltip=alt.Tooltip("line:N")),
    ]
