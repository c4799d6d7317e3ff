"""Pictures that compare: subsets of heads, components, groups of runs, hypotheses, verdicts."""

import altair as alt
import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.dots import Dots, dots
from livingpaper.figures.row_labels import row_labels, tallest
from livingpaper.figures.rows import ColumnsError, both_origins, order_of, over_seeds, rows_of

WHO = {"source": "the source", "ours": "ours"}
"""Whose a number is -> what it is called."""
DIAMONDS = "the source (points: ours)"
SHARE_SLACK = 0.02
"""How far the shares of one bar may be from 1 before it is called no set of shares."""


READABLE = alt.condition("luminance(scale('color', datum.hypothesis)) < 0.18", alt.value("white"), alt.value("#111111"))
"""Colour of words on a painted segment: white on the darkest paint of the palette, black on the others."""


@style.responsive
def seeds(view: View, width: int) -> alt.TopLevelMixin:
    """One point a seed for each group, with mean and interval where there are enough seeds, and the chance line.

    Columns: ``group`` (drawn in the order given), ``init_seed``, ``value``; optional ``series`` (colour and marker),
    ``there`` (false where a value is only known to be at least, or at most, as large: an open mark, and no mean of its
    group and series), ``origin``.
    """
    rows = rows_of(view, ["group", "init_seed", "value"], ["series", "there", "data_set"])
    return dots(Dots(rows, "group", view, width))


@style.responsive
def pairs(view: View, width: int) -> alt.TopLevelMixin:
    """The source's numbers beside ours: a strip of one point a seed for each quantity, the source's as open diamonds.

    Columns: ``group`` (the quantity; drawn in the order given), ``who`` ("source" or "ours"), ``init_seed`` (missing
    for the source's), ``value``; optional ``there`` (as in ``seeds``), ``origin`` of ours.
    """
    rows = rows_of(view, ["group", "who", "init_seed", "value"], ["there", "data_set"])
    strange = sorted(set(rows["who"].astype(str)) - set(WHO))
    ours, theirs = (rows[rows["who"] == who].drop(columns="who") for who in ("ours", "source"))
    if strange or ours.empty:
        raise ColumnsError(
            f"column 'who' must be one of {list(WHO)}, and 'ours' somewhere; got {order_of(rows, 'who')}"
        )
    plot = Dots(ours.astype({"init_seed": int}), "group", view, width, order=tuple(order_of(rows, "group")))
    if theirs.empty:
        return dots(plot)
    legend = alt.Legend(title=None, orient="top", symbolType="diamond", symbolFillColor="transparent")
    diamonds = alt.Chart(theirs[["group", "value"]].assign(who=DIAMONDS))
    diamonds = diamonds.mark_point(style="ink", filled=False, size=90, strokeWidth=1.8, opacity=1).encode(
        x=alt.X("value:Q"),
        y=alt.Y("group:N", sort=list(plot.order)),
        shape=alt.Shape("who:N", scale=alt.Scale(domain=[DIAMONDS], range=["diamond"]), legend=legend),
        tooltip=["group:N", alt.Tooltip("value:Q", title=WHO["source"])],
    )
    return alt.layer(dots(plot), diamonds).resolve_scale(shape="independent")


@style.responsive
def attribution(view: View, width: int) -> alt.TopLevelMixin:
    """Direct logit attribution of every component: points are seeds, the tick is their mean, 0 is drawn.

    Columns: ``component`` (in the order of the network), ``init_seed``, ``value``; optional ``series``, ``origin``.
    """
    rows = rows_of(view, ["component", "init_seed", "value"], ["series", "data_set"])
    return dots(Dots(rows, "component", view, width, zero=True))


@style.responsive
def subsets(view: View, width: int) -> alt.TopLevelMixin:
    """Score with every subset of heads kept: left which heads are kept, right one point a seed; best subsets first.

    Columns: ``kept`` (names of the kept heads with spaces between; "" for none), ``init_seed``, ``value``; optional
    ``how`` (the ablation; colour and marker), ``origin``.
    """
    rows = rows_of(view, ["kept", "init_seed", "value"], ["how", "data_set"]).rename(columns={"how": "series"})
    heads = sorted({head for kept in rows["kept"].unique() for head in _names(kept)})
    order = list(rows.groupby("kept", sort=False)["value"].mean().sort_values(ascending=False, kind="stable").index)
    cells = pd.DataFrame([{"kept": kept, "head": head, "is": head in _names(kept)} for kept in order for head in heads])
    plot = Dots(rows, "kept", view, width - 22 * len(heads) - 24, order=tuple(order), label_room=0)
    y = alt.Y("kept:N", sort=order, axis=None)
    x = alt.X(
        "head:N", title="heads kept", sort=heads,
        axis=alt.Axis(orient="top", labelAngle=-60, ticks=False, domain=False, labelFontSize=11, titlePadding=4),
    )  # fmt: skip
    grid = alt.Chart(cells).encode(x=x, y=y, tooltip=[alt.Tooltip("kept:N", title="kept")])
    height = plot.row_height * len(order)
    matrix = alt.layer(
        grid.mark_circle(size=70, style="empty", opacity=1),
        grid.transform_filter("datum.is").mark_circle(size=90, style="ink", opacity=1),
    ).properties(width=22 * len(heads), height=height)
    return alt.hconcat(matrix, dots(plot), spacing=8)


def _names(kept: object) -> list[str]:
    """Heads in a cell of ``kept``. Only plain spaces part them: a name may hold others."""
    return [name for name in str(kept).split(" ") if name]


@style.responsive
def interchange(view: View, width: int) -> alt.TopLevelMixin:
    """After a patch, which hypothesis the answers followed: shares of all answers, one bar a site, mean over seeds.

    No interval is drawn, so that the view needs no ``band``; a touched segment says its 95 % interval in words.

    Columns: ``site``, ``hypothesis`` (drawn in the order given; the rest of the answers is a hypothesis too, such as
    "other"), ``init_seed``, ``value`` (share in [0, 1]; the shares of one site, test and seed add up to 1); optional
    ``test`` (which interchange; one plot each), ``origin``.
    """
    rows = rows_of(view, ["site", "hypothesis", "init_seed", "value"], ["test", "data_set"])
    rows["test"] = rows["test"] if "test" in rows else ""
    _require_shares(rows)
    hypotheses, sites, tests = (order_of(rows, name) for name in ("hypothesis", "site", "test"))
    means = over_seeds(rows, ["test", "site", "hypothesis"], intervals=True)
    means["place"] = means["hypothesis"].map({name: place for place, name in enumerate(hypotheses)})
    means["runs"] = style.origin_labels(rows, means["origin"])
    wide = width >= style.WIDE
    label_room = 172 if wide else 112
    room = width - label_room - 18
    y = alt.Y("site:N", sort=sites, axis=None)
    share = alt.Axis(format="%", tickCount=5 if wide else 2, labelFlush=True)
    title = style.axis_title(view.unit, room)
    x = alt.X("mean:Q", title=title, stack="zero", scale=alt.Scale(domain=[0, 1]), axis=share)
    look = _share_look(means, hypotheses, room)
    # A segment carries its hypothesis in words where they fit: colour is never the only difference.
    # Beside the reader's bars the published ones are too pale for words.
    pale = "datum.origin === 'paper' ? '' : " if both_origins(rows) else ""
    fits = f"{pale}datum.mean * {room} > 7 * length(datum.hypothesis) ? datum.hypothesis : ''"
    plots = []
    for test in tests:
        base = alt.Chart(means[means["test"] == test]).encode(x=x, y=y, **look["place"])
        bars = base.mark_bar().encode(**look["paint"])
        words = alt.X("mean:Q", stack="zero", bandPosition=0.5, title=title)
        text = base.mark_text(fontSize=11, tooltip=False).transform_calculate(word=fits)
        text = text.encode(x=words, text="word:N", detail="hypothesis:N", color=READABLE)
        plot = alt.layer(bars, text, *row_labels(y, sites, label_room))
        height = max(42 if both_origins(rows) else 26, tallest(sites, label_room)) * len(sites)
        plots.append(plot.properties(width=room, height=height, **({"title": test} if test else {})))
    return plots[0] if len(plots) == 1 else alt.vconcat(*plots, spacing=14)


def _share_look(means: pd.DataFrame, hypotheses: list[str], width: int) -> dict[str, dict]:
    """Encodings of the stacked bars: where a segment lies, and how it is painted."""
    legend = style.legend_above(hypotheses, width, "square")
    place: dict = {"order": "place:Q"}
    paint: dict = {
        "color": style.series_color("hypothesis:N", order=hypotheses, legend=legend),
        "tooltip": [
            "site:N", "hypothesis:N", alt.Tooltip("mean:Q", title="mean share", format=".1%"),
            alt.Tooltip("low:Q", title="interval from", format=".1%"), alt.Tooltip("high:Q", title="to", format=".1%"),
            alt.Tooltip("n:Q", title="seeds"), alt.Tooltip("runs:N", title="from"),
        ],
    }  # fmt: skip
    labels = list(means.sort_values("origin")["runs"].drop_duplicates())
    if len(labels) > 1:
        place["yOffset"] = alt.YOffset("runs:N", sort=labels)
        paint["opacity"] = style.origin_opacity(labels, width, pale=0.45, symbol="square")
    return {"place": place, "paint": paint}


def _require_shares(rows: pd.DataFrame) -> None:
    total = rows.groupby(["test", "site", "init_seed", "origin"], sort=False)["value"].sum()
    wrong = total[(total - 1).abs() > SHARE_SLACK]
    if not wrong.empty:
        test, site, seed, _ = wrong.index[0]
        raise ColumnsError(
            f"shares of one site must add up to 1; at site {site!r}, test {test!r}, seed {seed} they add up to "
            f"{wrong.iloc[0]:.3f}. Give the remaining answers a hypothesis of their own, such as 'other'"
        )
