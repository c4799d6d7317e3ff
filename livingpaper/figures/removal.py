"""What is left of a score as more and more parts are taken away."""

import altair as alt

from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.rows import both_origins, rows_of


@style.responsive
def removal(view: View, width: int) -> alt.TopLevelMixin:
    """A thin line a network and a strong one for their median, by the number of parts taken away; the chance line.

    Columns: ``removed`` (how many parts), ``parts`` (what they are, the same in all rows), ``init_seed``, ``value``;
    optional ``origin``.
    """
    rows = rows_of(view, ["removed", "parts", "init_seed", "value"])
    side = {"width": width - 120, "height": 250}
    rows["runs"] = style.origin_labels(rows, rows["origin"])
    medians = rows.groupby(["removed", "origin", "runs"], sort=False)["value"].median().reset_index()
    last = medians[medians["removed"] == medians["removed"].max()]
    title = style.axis_title(f"{rows['parts'].iloc[0]} taken away", side["width"])
    x = alt.X("removed:O", title=title, axis=alt.Axis(labelAngle=0), scale=alt.Scale(type="point", padding=0.2))
    y = alt.Y("value:Q", title=style.axis_title(view.unit, side["height"]), scale=style.value_scale(rows["value"]))
    tips = [alt.Tooltip("removed:O", title="taken away"), alt.Tooltip("value:Q", title=view.unit, format=".3f")]
    who = [alt.Tooltip("runs:N", title="from")]
    whose = style.origin_domain(rows)[::-1]
    legend = style.legend_above(whose, width, "stroke") if both_origins(rows) else None
    color = style.series_color("runs:N", order=whose, legend=legend)
    seeds = alt.Chart(rows).encode(
        x=x, y=y, color=color, detail="init_seed:N", tooltip=[alt.Tooltip("init_seed:N", title="seed"), *tips, *who]
    )
    strong = alt.Chart(medians).encode(x=x, y=y, color=color, tooltip=[*tips, *who])
    words = alt.Chart(last).mark_text(align="left", dx=9, fontSize=11, tooltip=False, text="median")
    layers = [
        seeds.mark_line(strokeWidth=1, opacity=0.3),
        seeds.mark_point(filled=True, size=12, opacity=0.4),
        strong.mark_line(strokeWidth=2.6),
        strong.mark_point(filled=True, size=60, opacity=1),
        words.encode(x=x, y=y, color=color),
    ]
    if view.chance is not None:
        layers.append(style.chance_line(view.chance))
    return alt.layer(*layers, **side)
