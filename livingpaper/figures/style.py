"""How every chart of the book looks: colours, dashes, light and dark theme, and the two widths a page needs.

Colours are Okabe and Ito's (2008), safe for colour-blind readers; a series always differs by dash or marker too, so
that nothing is said by colour alone. Maps use cividis (Nunez, Anderton, Renslow 2018), whose lightness is monotone.
"""

import functools
import importlib
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import altair as alt
import pandas as pd

from livingpaper.claims.papers import packages
from livingpaper.claims.view import View
from livingpaper.figures.rows import ColumnsError

Theme = Literal["light", "dark"]
Symbol = Literal["stroke", "circle", "square", ""]

WIDE = 640
"""Room for a chart on a page, in pixels: plot, axes and legend together."""
NARROW = 344
"""Room for a chart on a phone that is 400 pixels wide."""
MAX_ROWS = 20_000
"""Rows a chart may carry: above this a page stops being quick to load."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
DASHES = [[1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [1, 3], [12, 4]]
MARKERS = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
ORIGIN_LABELS = {"paper": "published runs", "rerun": "your runs"}

_INK = {
    "light": {"text": "#1d232a", "quiet": "#59636e", "grid": "#e3e6ea"},
    "dark": {"text": "#e6e9ed", "quiet": "#a7b0ba", "grid": "#343b44"},
}
_SERIES = {
    "light": ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#59636e"],
    "dark": ["#56B4E9", "#E69F00", "#1FC598", "#E29BC4", "#F0E442", "#D55E00", "#c3cad2"],
}


def theme(name: Theme) -> dict[str, Any]:
    """Vega-Lite configuration of one theme; the background stays clear so that the page shows through."""
    ink = _INK[name]
    axis = {
        "labelColor": ink["text"], "titleColor": ink["text"], "domainColor": ink["quiet"], "tickColor": ink["quiet"],
        "gridColor": ink["grid"], "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": 600,
        "labelFontWeight": "normal", "titlePadding": 8, "labelLimit": 220,
    }  # fmt: skip
    words = {"labelColor": ink["text"], "titleColor": ink["text"], "labelFontSize": 12, "titleFontSize": 13}
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": axis,
        "legend": {
            **words,
            "titleFontWeight": 600,
            "symbolSize": 110,
            "symbolStrokeWidth": 2.5,
            "labelLimit": 300,
            "padding": 2,
            "symbolBaseFillColor": ink["quiet"],
            "symbolBaseStrokeColor": ink["quiet"],
            "layout": {"top": {"direction": "vertical", "anchor": "start", "margin": 4}},
        },
        "header": {**words, "labelFontWeight": 600, "titleFontWeight": 600, "labelFontSize": 13},
        "title": {"color": ink["text"], "subtitleColor": ink["quiet"], "fontSize": 14, "anchor": "start"},
        "range": {"category": _SERIES[name], "symbol": MARKERS, "heatmap": {"scheme": "cividis"}},
        "text": {"fill": ink["text"], "fontSize": 12},
        "rule": {"stroke": ink["quiet"]},
        "style": _styles(ink),
    }


def _styles(ink: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Named mark styles, so that a chart says what a mark is and the theme decides its colour."""
    return {
        "chance": {"stroke": ink["quiet"], "strokeDash": [5, 4], "strokeWidth": 1.3, "strokeOpacity": 1},
        "chance-label": {"fill": ink["quiet"], "fontSize": 12, "fontStyle": "italic"},
        "zero": {"stroke": ink["quiet"], "strokeWidth": 1},
        "turn": {"stroke": ink["quiet"], "strokeWidth": 1, "strokeDash": [1, 3], "strokeOpacity": 1},
        "empty": {"color": ink["grid"]},
        "ink": {"color": ink["text"]},
        "row": {"color": ink["grid"], "fillOpacity": 0.5},
    }


def responsive(draw: Callable[..., alt.TopLevelMixin]) -> Callable[..., alt.TopLevelMixin]:
    """Make a picture fit page and phone: the chart for a page carries the phone's layout and the dark theme with it.

    ``draw(view, width=...)`` must lay the same rows out in the room given. Called without ``width``, the result is the
    wide chart, whose ``usermeta`` holds ``narrow`` (a specification without data), ``dark`` (a theme) and ``maker``
    ("module:function", so that a figure can show the code that drew it), beside what the picture itself put there.
    With ``width`` it is that one layout. A picture that draws no line for a level or turn of the view is refused, as
    its caption would speak of it.
    """

    @functools.wraps(draw)
    def picture(view: View, *, width: int | None = None, **options: Any) -> alt.TopLevelMixin:
        if width is not None:
            return draw(view, width=width, **options)
        wide = draw(view, width=WIDE, **options)
        narrow = specification(draw(view, width=NARROW, **options), validate=False)  # the wide one is checked
        _require_lines(view, narrow)
        for shared in ("datasets", "usermeta"):
            narrow.pop(shared, None)
        own = wide.usermeta if isinstance(wide.usermeta, dict) else {}
        made = {"narrow": narrow, "dark": theme("dark"), "maker": f"{draw.__module__}:{draw.__name__}"}
        wide.usermeta = {**own, **made}
        return wide

    return picture


def _require_lines(view: View, spec: Mapping[str, Any]) -> None:
    lines = {f"level {name!r}": json.dumps(f"{name} ")[:-1] for name in view.levels}
    lines |= {f"turns of {panel!r}": '"style": "turn"' for panel in view.turns}
    drawn = json.dumps(spec) if lines else ""
    missing = [name for name, line in lines.items() if line not in drawn]
    if missing:
        raise ColumnsError(f"this picture draws no line for {', '.join(missing)} of its view; bars.seeds draws levels, "
                           "curves.training levels and turns")  # fmt: skip


def specification(chart: alt.TopLevelMixin, *, validate: bool = True) -> dict[str, Any]:
    """The chart as a Vega-Lite specification (plain dict) in the light theme, whatever the session has switched on.

    Args:
        chart: the chart.
        validate: whether it is held to Vega-Lite's schema.

    Raises:
        alt.MaxRowsError: a table of more than ``MAX_ROWS`` rows; draw fewer checkpoints or prompts.
    """
    beside, plain = {}, chart
    if chart.usermeta is not alt.Undefined:
        beside, plain = {"usermeta": chart.usermeta}, chart.copy(deep=False)
        # Altair would copy a whole layout several times, and check what is no part of it.
        plain.usermeta = alt.Undefined
    with alt.theme.enable("none"), alt.data_transformers.enable("default", max_rows=MAX_ROWS):
        spec = plain.to_dict(validate=validate)
    # Written into the dict, not through ``configure``, whose schema does not know Vega's legend layout.
    return {**spec, **beside, "config": theme("light")}


def series_color(field: str = "series:N", *, order: list[str], legend: alt.Legend | None = None) -> alt.Color:
    """Colour by series: a name that the paper gives a colour has it, the others have what is left, in their order."""
    return alt.Color(field, scale=alt.Scale(domain=places(order, lasting_colours())), legend=legend)


@functools.cache
def lasting_colours() -> dict[str, int]:
    """Name of a series -> its colour, as a place in the palette; of the papers that are installed (``COLOURS``)."""
    papers = [importlib.import_module(name) for name in packages()]
    kept = {name: place for paper in papers for name, place in getattr(paper, "COLOURS", {}).items()}
    n_colours = len(_SERIES["light"])
    if wrong := {name: place for name, place in kept.items() if place not in range(n_colours)}:
        raise ValueError(f"COLOURS: places are 0 to {n_colours - 1}; got {wrong}")
    return kept


def places(order: list[str], kept: Mapping[str, int]) -> list[str]:
    """Names at the places of their colours; blanks, each another one, stand where nobody is.

    Args:
        order: names; of two that keep the same colour the first has it. More than there are colours stay as they are.
        kept: name -> place.

    >>> places(["ours", "key", "value"], {"value": 1})
    ['ours', 'value', 'key']
    """
    n_colours = len(_SERIES["light"])
    if len(order) > n_colours:
        return order
    taken = {kept[name]: name for name in reversed(order) if name in kept}
    free = (place for place in range(n_colours) if place not in taken)
    taken |= {next(free): name for name in order if name not in taken.values()}
    return [taken.get(place, "\u2007" * (place + 1)) for place in range(max(taken, default=-1) + 1)]


def series_dash(*, order: list[str], legend: alt.Legend | None = None) -> alt.StrokeDash:
    """Dash by series, in their order; given the legend of ``series_color``, both share it."""
    return alt.StrokeDash("series:N", scale=_beside_colours(order, DASHES), legend=legend)


def series_shape(field: str = "series:N", *, order: list[str], legend: alt.Legend | None = None) -> alt.Shape:
    """Marker by series, in their order; given the legend of ``series_color``, both share it."""
    return alt.Shape(field, scale=_beside_colours(order, MARKERS), legend=legend)


def _beside_colours(order: list[str], looks: Sequence[Any]) -> alt.Scale:
    """Looks of series in their order, told in the order of their colours: with another, Vega draws two legends."""
    domain = places(order, lasting_colours())
    turns = {name: looks[turn % len(looks)] for turn, name in enumerate(order)}
    return alt.Scale(domain=domain, range=[turns.get(name, looks[0]) for name in domain])


def legend_above(labels: list[str], width: int, symbol: Symbol = "") -> alt.Legend:
    """A legend above the plot in as many columns as its labels leave room for, symbols in full strength.

    Args:
        labels: what it will say.
        width: room for it, in pixels.
        symbol: "stroke" for lines; "" leaves the symbol to the marks.
    """
    widest = 46 + 7.4 * max(len(label) for label in labels)
    columns = min(len(labels), max(1, int(width / widest)))
    look: dict[str, Any] = {
        "values": labels,
        "symbolOpacity": 1,
        "symbolLimit": 0,
        "columns": columns,
        "columnPadding": 14,
    }
    if symbol == "stroke":
        look |= {"symbolType": "stroke", "symbolSize": 520, "symbolStrokeWidth": 2.4}
    elif symbol:
        look["symbolType"] = symbol
    return alt.Legend(title=None, orient="top", **look)


def chance_line(chance: float, *, label: bool = True) -> alt.LayerChart:
    """A level dashed line where a guesser is, with the word and the number above it; as ``level_line``."""
    return level_line("chance", chance, label=label)


def level_line(name: str, level: float, *, label: bool = True) -> alt.LayerChart:
    """A level dashed line at a value, with its name and the number above it; upright ones are in ``level_labels``.

    Args:
        name: of the level.
        level: on the drawn scale, which the axis y carries.
        label: False where another facet of the same figure already says it.
    """
    data = alt.Data(values=[{"level": round(level, 4), "label": f"{name} {level:.3g}"}])
    rule = alt.Chart(data).mark_rule(style="chance", tooltip=False).encode(y=alt.YDatum(round(level, 4)))
    if not label:
        return alt.layer(rule)
    text = alt.Chart(data).mark_text(style="chance-label", align="right", baseline="bottom", dy=-3)
    return alt.layer(rule, text.encode(x=alt.XValue("width"), y=alt.Y("level:Q"), text=alt.Text("label:N")))


def origin_labels(rows: pd.DataFrame, origins: pd.Series) -> list[str]:
    """Each origin in words with its number of seeds: "published runs (n = 5)"."""
    words = {
        origin: f"{ORIGIN_LABELS[origin]} (n = {part['init_seed'].nunique()})"
        for origin, part in rows.groupby("origin")
    }
    return [words[origin] for origin in origins]


def origin_opacity(
    labels: list[str], width: int, *, alone: float = 0.9, pale: float = 0.4, symbol: Symbol = "circle"
) -> alt.Opacity | alt.OpacityValue:
    """Strength by origin, with a legend that shows it in ``symbol``s. Column ``runs``: ``origin_labels``.

    Args:
        labels: of ``origin_domain``.
        width: room for the legend, in pixels.
        alone: strength where there is only one origin.
        pale: of the published runs beside the reader's.
        symbol: of the legend.
    """
    if len(labels) == 1:
        return alt.OpacityValue(alone)
    legend = legend_above(labels, width, symbol)
    legend.symbolOpacity = alt.Undefined
    return alt.Opacity("runs:O", scale=alt.Scale(domain=labels, range=[pale, 1]), legend=legend)


def origin_domain(rows: pd.DataFrame) -> list[str]:
    """The labels of ``origin_labels`` in drawing order: published first, the reader's on top."""
    present = [origin for origin in ORIGIN_LABELS if (rows["origin"] == origin).any()]
    return origin_labels(rows, pd.Series(present))


def origin_width(rows: pd.DataFrame, width: int) -> alt.StrokeWidth | alt.StrokeWidthValue:
    """Line width by origin: published runs thin, the reader's strong; a legend only when both are there."""
    domain = origin_domain(rows)
    if len(domain) == 1:
        return alt.StrokeWidthValue(2.4)
    legend = alt.Legend(
        title=None, orient="top", symbolType="stroke", symbolSize=520, symbolOpacity=1, columns=1 if width < WIDE else 2
    )
    return alt.StrokeWidth("runs:O", scale=alt.Scale(domain=domain, range=[1.2, 3]), legend=legend)


def value_scale(values: pd.Series) -> alt.Scale:
    """From 0 to 1 for shares and accuracies, so that two figures can be compared; otherwise left to the data.

    Values that all lie far from 0, such as losses near a floor, are not drawn down to it.
    """
    if values.min() >= 0 and 0.5 <= values.max() <= 1:
        return alt.Scale(domain=[0, 1])
    if values.min() > values.max() * 2 / 3:
        return alt.Scale(zero=False)
    return alt.Scale()


def map_legend(title: str, width: int) -> alt.Legend:
    """The colour bar of a map, lying above it so that it takes no width."""
    lines = textwrap.wrap(title, 60 if width >= WIDE else 30)
    length = min(220, width - 124)
    return alt.Legend(title=lines, orient="top", direction="horizontal", gradientLength=length, titleLimit=width)


CHOSEN = "datum.origin === shown_runs"
"""Filter of the rows that ``origin_menu`` has chosen."""


def origin_menu(rows: pd.DataFrame, what: str = "maps") -> alt.Parameter | None:
    """A menu between the reader's runs and the published ones, for pictures that can show only one; None for one."""
    if rows["origin"].nunique() < 2:
        return None
    bind = alt.binding_select(options=["rerun", "paper"], labels=["your runs", "published runs"], name=f"{what} of ")
    return alt.param(name="shown_runs", value="rerun", bind=bind)


def axis_title(words: str, length: int) -> list[str]:
    """The title of an axis in lines that fit beside an axis of ``length`` pixels."""
    return textwrap.wrap(words, max(12, int(length / 8)))
