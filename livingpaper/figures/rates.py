"""How often something happened: one row a kind of run, a point with its interval for each way of counting."""

import altair as alt
import numpy as np
import pandas as pd

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.row_labels import row_labels, tallest
from livingpaper.figures.rows import ColumnsError, order_of, rows_of, share_over_seeds

BAR = 18  # pixels for one point with its interval
YOURS = " (yours)"


@style.responsive
def rates(view: View, width: int) -> alt.TopLevelMixin:
    """In which share of runs something happened: points, bars over intervals, counts in words; a plot a panel.

    Intervals are Clopper and Pearson's, of seeds or of data sets, as those of claims; too few have no bar.
    The reader's rows stand under the published ones of their group.

    Columns: ``panel``, ``group`` and ``series`` (drawn in the order given), ``init_seed``, ``value`` (1 where it
    happened in this run, else 0); optional ``arm``, which may differ within a group, ``data_set``, ``origin``.
    """
    rows = _counted(rows_of(view, ["panel", "group", "series", "init_seed", "value"], ["arm", "data_set"]))
    groups, kinds = _side_by_side(order_of(rows, "group")), order_of(rows, "series")
    label_room = 190 if width >= style.WIDE else 112
    room = width - label_room - 68
    y = alt.Y("group:N", sort=groups, axis=None)
    legend = style.legend_above(kinds, width - 24)
    height = max(10 + BAR * len(kinds), tallest(groups, label_room)) * len(groups)
    plots = []
    for panel in order_of(rows, "panel"):
        title = style.axis_title(view.unit, room)
        x = alt.X("value:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=4))
        base = alt.Chart(rows[rows["panel"] == panel]).encode(**_look(y, kinds, legend))
        bars = base.mark_rule(strokeWidth=2).encode(x=_at(x, "low"), x2="high:Q")
        shape = style.series_shape(order=kinds, legend=legend)
        points = base.mark_point(filled=True, size=70, opacity=1).encode(x=x, shape=shape)
        words = base.mark_text(align="left", baseline="middle", dx=10, fontSize=11, tooltip=False)
        words = words.encode(x=_at(x, "high"), text="counted:N")
        layers = alt.layer(bars, points, words, *row_labels(y, groups, label_room))
        plots.append(layers.properties(width=room, height=height, title=panel))
    return plots[0] if len(plots) == 1 else alt.vconcat(*plots, spacing=18)


def _counted(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a panel, group, series, origin: ``value``, ``low``, ``high``, ``counted`` ("3 of 25"), ``interval``."""
    if not rows["value"].isin([0, 1]).all():
        raise ColumnsError("value must be 1 where it happened in a run, and 0 where it did not")
    yours = (rows["origin"] == "rerun") & (rows["origin"].nunique() > 1)
    rows["group"] = rows["group"].astype(str) + np.where(yours, YOURS, "")
    by = ["panel", "group", "series"]
    return pd.DataFrame(
        [{**dict(zip(by, key, strict=True)), **_share(part)} for key, part in rows.groupby(by, sort=False)]
    )


def _share(runs: pd.DataFrame) -> dict[str, float | str]:
    """What is drawn of the runs of a row: a seed's count with the share of them in which it happened."""
    found, enough = share_over_seeds(runs)
    low, high = (found.low, found.high) if enough else (found.mean, found.mean)
    return {
        "value": found.mean, "low": low, "high": high, "counted": f"{runs['value'].sum():.0f} of {len(runs)}",
        "interval": f"{low:.1%} to {high:.1%}" if enough else "none of so few",
    }  # fmt: skip


def _side_by_side(groups: list[str]) -> list[str]:
    """Each group of the reader's after the published one of its name."""
    published = [group for group in groups if not group.endswith(YOURS)]
    paired = [name for group in published for name in (group, group + YOURS) if name in groups]
    return [*paired, *(group for group in groups if group not in paired)]


def _look(y: alt.Y, kinds: list[str], legend: alt.Legend) -> dict:
    return {
        "y": y,
        "yOffset": alt.YOffset("series:N", sort=kinds),
        "color": style.series_color(order=kinds, legend=legend),
        "tooltip": [
            "group:N", "series:N", alt.Tooltip("value:Q", title="share", format=".1%"),
            alt.Tooltip("counted:N", title="runs"), alt.Tooltip("interval:N"),
        ],
    }  # fmt: skip


def _at(x: alt.X, field: str) -> alt.X:
    """The same axis for another column."""
    return alt.X(**{**x.to_dict(), "field": field, "type": "quantitative"})
