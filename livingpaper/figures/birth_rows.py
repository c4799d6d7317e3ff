"""Births of the parts of a circuit, a row a seed: how close together they lie, under one definition and another."""

import altair as alt
import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.row_labels import LETTER
from livingpaper.figures.rows import both_origins, order_of, rows_of

ROW_HEIGHT = 22


@style.responsive
def birth_rows(view: View, width: int) -> alt.TopLevelMixin:
    """A row for each seed, a mark for each birth, a bar from its first birth to its last; a panel a definition.

    Columns: ``panel`` (in the order given), ``init_seed``, ``series`` (what is born; colour and marker), ``value``
    (when, in ``view.unit``; NaN where it never happens, so that a seed without births keeps its row); optional
    ``origin``: the reader's seeds stand under the published ones and say so.
    """
    rows = rows_of(view, ["panel", "init_seed", "series", "value"])
    rows["runs"] = style.origin_labels(rows, rows["origin"])
    yours = (rows["origin"] == "rerun") & both_origins(rows)
    rows["seed"] = [f"yours {seed}" if own else f"{seed}" for seed, own in zip(rows["init_seed"], yours, strict=True)]
    order = rows.sort_values(["origin", "init_seed"])["seed"].drop_duplicates().tolist()
    panels, wide = order_of(rows, "panel"), width >= style.WIDE
    room = int(LETTER * max(map(len, order))) + 44  # labels, and the axis' title
    each = (width - room - 16 * len(panels)) // len(panels) if wide else width - room
    born, kinds = rows.dropna(subset=["value"]), order_of(rows, "series")
    last = 1.0 if born.empty else float(born["value"].max())
    ticks = alt.Axis(tickCount=max(3, each // 70))
    x = alt.X("value:Q", title=view.unit, scale=alt.Scale(domain=[0, last]), axis=ticks)
    legend, drawn = style.legend_above(kinds, width), []
    looks = {
        "opacity": style.origin_opacity(style.origin_domain(rows), width),
        "color": style.series_color(order=kinds, legend=legend),
        "shape": style.series_shape(order=kinds, legend=legend),
    }
    for place, panel in enumerate(panels):
        axis = alt.Axis(title="seed", domain=False, ticks=False) if place == 0 or not wide else None
        y = alt.Y("seed:N", sort=order, axis=axis, scale=alt.Scale(domain=order))
        marks = _marks(born[born["panel"] == panel], x, y, kinds, looks)
        drawn.append(marks.properties(width=each, height=ROW_HEIGHT * len(order), title=panel))
    beside = alt.hconcat(*drawn, spacing=16) if wide else alt.vconcat(*drawn, spacing=12)
    return beside.resolve_scale(color="shared", shape="shared")


def _marks(
    rows: pd.DataFrame, x: alt.X, y: alt.Y, kinds: list[str], looks: dict[str, alt.SchemaBase]
) -> alt.LayerChart:
    """The births of one panel over the bars that they span; ``kinds`` is what may be born, ``looks`` how a mark looks.

    A panel in which fewer seeds have births than in another looks no different, so that all panels share a legend.
    """
    spans = rows.groupby("seed")["value"].agg(first="min", last="max").reset_index()
    ends = [alt.Tooltip("first:Q", title="first birth"), alt.Tooltip("last:Q", title="last birth")]
    first = alt.X(**{**x.to_dict(), "field": "first"})
    bars = (
        alt.Chart(spans).mark_bar(style="row", height=18).encode(x=first, x2="last:Q", y=y, tooltip=["seed:N", *ends])
    )
    # Each kind has a lane of its own within the row: births at one epoch would hide each other.
    lanes = alt.YOffset("series:N", sort=kinds, scale=alt.Scale(type="band", domain=kinds, paddingOuter=0.3))
    points = alt.Chart(rows).mark_point(filled=True, size=30).encode(
        y=y, yOffset=lanes, x=x, **looks,
        tooltip=["seed:N", "series:N", alt.Tooltip("value:Q", title="born at")],
    )  # fmt: skip
    return alt.layer(bars, points)
