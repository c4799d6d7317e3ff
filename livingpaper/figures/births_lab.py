"""The birth lab: the reader moves what counts as born, and the births and the verdict on their order follow.

All that follows the measured curves is computed by transforms inside the chart, so that a page needs no server. A run
and motif is one row that carries its curves as lists. Scores and gates are whole steps of the sliders, cut rather than
rounded: a threshold is then reached exactly where the measured score reaches it.
"""

import json
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from circuitcore.emergence.definitions import Definitions
from circuitcore.ground.spelling import unknown
from livingpaper.claims.view import View
from livingpaper.figures import style
from livingpaper.figures.lab_rules import BEHAVIOUR, PARTS, controls, in_words, presets
from livingpaper.figures.lab_verdict import Counted, Size, intervals, verdict
from livingpaper.figures.row_labels import LETTER
from livingpaper.figures.rows import ColumnsError, both_origins, order_of, rows_of

CURVES = {"score": "score", "gate_published": "published", "gate_named": "named"}
"""Column of the view -> list in a row of the chart."""
KEYS = ["origin", "arm", "init_seed", "scores", "motif"]


@style.responsive
def births_lab(
    view: View, width: int, *, first: str = "copying", second: str = "routing", definitions: Definitions | None = None
) -> alt.TopLevelMixin:
    """Births of every motif in every run, how far they lie apart, and whether ``first`` comes before ``second``.

    The rules are the reader's to set. With ``definitions`` the lab opens on the first of them, and a menu has all.

    Columns: ``arm``, ``init_seed``, ``motif`` (drawn in the order given), ``epoch`` (of the checkpoint), ``score`` (in
    [0, 1]; missing: not measured, which never passes), ``gate_published`` and ``gate_named`` (in [0, 1]; missing: that
    gate does not bind there); optional ``origin``, each with a verdict of its own, and ``scores``, each dated by
    itself (needed with ``definitions``).

    A motif is born at the first checkpoint from which it passes for as many checkpoints as asked. Of two births at one
    checkpoint, or two that never happen, none is first: such a run does not decide. The verdict is that of
    ``claims.judge`` on the Clopper-Pearson interval of the share of seeds, where each seed counts with its share of its
    runs that decide. The spread is that of
    ``emergence.spread``: of the definitions' motifs ``apart``, else of all.

    Raises:
        ColumnsError: a missing column, a checkpoint with two rows, a score or gate outside [0, 1], a run without one
            of the two motifs, or a definition that the controls cannot express or the table has no scores for.
    """
    curves = _curves(view, ["scores"] if definitions else [])
    for scores in [definition.scores for definition in definitions.among] if definitions else [""]:
        if scores not in set(curves["scores"]):
            raise ColumnsError(unknown("scores", scores, order_of(curves, "scores")))
        _require(curves[curves["scores"] == scores], first, second)
    own = BEHAVIOUR in set(curves["motif"])
    wide = width >= style.WIDE
    labels = min(int(LETTER * curves["run"].str.len().max()) + 16, 150 if wide else 84)
    room = width - labels  # both panels start where the labels of the runs end
    curves, times = _times_apart(curves)
    heat = _heat(curves, room, wide=wide, legend=style.map_legend(view.unit, width))
    counted = Counted(first=first, second=second, apart=definitions.apart if definitions else order_of(curves, "motif"))
    words = in_words(definitions, own=own, wide=wide)
    size = _size(curves)
    chosen = [{"filter": "datum.scores === scores"}] if definitions else []
    chart = alt.vconcat(
        heat, *verdict(counted, order_of(curves, "runs"), words, room, size), data=curves,
        transform=[*chosen, *_births(own=own)], spacing=12,
    )  # fmt: skip
    tables = {"times": times, "intervals": intervals(size)}
    named = [alt.param(name=name, value=[]) for name in tables]
    chart = chart.resolve_scale(color="independent").add_params(*controls(definitions, own=own), *named)
    for param in chart.params:
        if param.name in tables:  # long lists, which Altair would have copied for every part of the chart
            param.value = tables[param.name]
    if definitions:
        chart.usermeta = {"presets": presets(definitions, own=own)}
    return chart


def _curves(view: View, needed: list[str]) -> pd.DataFrame:
    """One row a run and motif (and scores): ``run`` and ``runs`` (whose) in words, and lists over its checkpoints."""
    rows = rows_of(view, ["arm", "init_seed", "motif", "epoch", *CURVES, *needed])
    rows = rows if needed else rows.assign(scores="")
    # Not the rounded numbers: they are cut below, and only once.
    exact = view.table[list(CURVES)].to_numpy(dtype=float, na_value=np.nan)
    outside = ~np.isnan(exact) & ((exact < 0) | (exact > 1))
    if outside.any():
        raise ColumnsError(f"scores and gates are shares in [0, 1]; got {exact[outside][0]:g}")
    # A share such as 0.57 is a hair below 57 parts in binary.
    rows[list(CURVES)] = np.floor(PARTS * (exact + 1e-10))
    twice = rows.duplicated([*KEYS, "epoch"])
    if twice.any():
        where = ", ".join(f"{name}={rows.loc[twice, name].iloc[0]}" for name in [*KEYS, "epoch"])
        raise ColumnsError(f"two rows for one checkpoint of one curve ({where})")
    rows["runs"] = style.origin_labels(rows, rows["origin"])
    rows["run"] = rows["arm"].astype(str) + " " + rows["init_seed"].astype(int).astype(str)
    if both_origins(rows):
        rows["run"] += np.where(rows["origin"] == "rerun", ", yours", "")
    motifs = {motif: place for place, motif in enumerate(order_of(rows, "motif"))}
    rows = rows.assign(place=rows["motif"].astype(str).map(motifs)).sort_values([*KEYS[:4], "place", "epoch"])
    lists = {"epochs": ("epoch", _whole), **{name: (column, _whole) for column, name in CURVES.items()}}
    one = ["run", "runs", "init_seed", "scores", "motif"]
    found = rows.groupby(one, sort=False, observed=True).agg(**lists, last=("epoch", "max"))
    return found.reset_index().astype({"motif": str})


def _times_apart(curves: pd.DataFrame) -> tuple[pd.DataFrame, list[list[int]]]:
    """The curves with ``times``, the place of a row's epochs in the list given beside them: runs share their plan."""
    among = list(dict.fromkeys(map(tuple, curves["epochs"])))
    places = [among.index(tuple(epochs)) for epochs in curves["epochs"]]
    return curves.drop(columns="epochs").assign(times=places), [list(epochs) for epochs in among]


def _size(curves: pd.DataFrame) -> Size:
    """The most seeds of one origin, and the most runs of one seed."""
    runs = curves.drop_duplicates(["run", "runs", "init_seed"]).groupby(["runs", "init_seed"], observed=True).size()
    return Size(int(runs.groupby(level="runs", observed=True).size().max()), int(runs.max()))


def _whole(values: pd.Series) -> list[int | None]:
    """Whole numbers, None where one is missing; nothing at all where all are."""
    numbers = values.to_numpy(float, na_value=np.nan)
    absent = np.isnan(numbers)
    if absent.all():
        return []
    return [None if none else int(number) for none, number in zip(absent.tolist(), numbers.tolist(), strict=True)]


def _require(curves: pd.DataFrame, first: str, second: str) -> None:
    motifs = order_of(curves, "motif")
    for motif in (first, second):
        if motif not in motifs:
            raise ColumnsError(unknown("motif", motif, motifs))
        lacking = set(curves["run"]) - set(curves.loc[curves["motif"] == motif, "run"])
        if lacking:
            raise ColumnsError(f"no {motif!r} in run {min(lacking)!r}: its order cannot be told")


def _births(*, own: bool) -> list[dict[str, Any]]:
    """Transforms from curves to ``born``: the epoch of the birth of each run and motif, invalid where there is none."""
    curve, in_time = ["run", "runs", "init_seed", "motif", "last"], [{"field": "epochs"}]
    least = f"(datum.motif === {json.dumps(BEHAVIOUR)} ? threshold_behaviour : threshold)" if own else "threshold"
    score = f"isValid(datum.score) && datum.score >= round({PARTS} * {least})"
    gate = "gate === 'none' ? null : gate === 'named' ? datum.named : datum.published"
    gate = f"!isValid({gate}) || ({gate}) >= round({PARTS} * threshold_gate)"
    # The run of passing checkpoints that starts here ends before the next failing one, or with the curve.
    passing = "(isValid(datum.next_failing) ? datum.next_failing : datum.n + 1) - datum.place"
    return [
        {"calculate": "times[datum.times]", "as": "epochs"},
        {"flatten": ["epochs", *CURVES.values()]},
        {"window": [{"op": "row_number", "as": "place"}], "groupby": curve, "sort": in_time},
        {"joinaggregate": [{"op": "count", "as": "n"}], "groupby": curve},
        {"calculate": f"({score}) && ({gate}) ? null : datum.place", "as": "failing"},
        # From the last one back: what is added to a minimum costs nothing, what is taken out of it a search.
        {
            "window": [{"op": "min", "field": "failing", "as": "next_failing"}],
            "frame": [None, 0],
            "groupby": curve,
            "sort": [{"field": "epochs", "order": "descending"}],
        },
        {"calculate": f"{passing} >= held ? datum.epochs : null", "as": "holds_from"},
        {"aggregate": [{"op": "min", "field": "holds_from", "as": "born"}], "groupby": curve},
    ]


def _heat(curves: pd.DataFrame, room: int, *, wide: bool, legend: alt.Legend) -> alt.LayerChart:
    """The map of births: a row a run, a column a motif; what is never born says so on a cell without colour."""
    motifs, runs, last = order_of(curves, "motif"), order_of(curves, "run"), int(curves["last"].max())
    # Slanted labels reach beyond the last column; upright ones do not.
    slant, beyond = (-60, int(0.5 * LETTER * len(motifs[-1]))) if wide else (-90, 0)
    axis = alt.Axis(orient="top", labelAngle=slant, ticks=False, domain=False, labelPadding=5)
    labels = alt.Axis(ticks=False, domain=False, labelPadding=5, labelFontSize=11, labelLimit=150 if wide else 80)
    gaps = alt.Scale(paddingInner=0.06, paddingOuter=0)
    base = alt.Chart().encode(
        x=alt.X("motif:N", sort=motifs, title=None, axis=axis, scale=gaps),
        y=alt.Y("run:N", sort=runs, title=None, axis=labels, scale=gaps),
        tooltip=[alt.Tooltip("run:N"), alt.Tooltip("motif:N"), alt.Tooltip("says:N", title="born")],
    )
    base = base.transform_calculate(says="isValid(datum.born) ? 'at epoch ' + datum.born : 'never'")
    color = alt.Color("born:Q", scale=alt.Scale(scheme="cividis", domain=[0, last]), legend=legend)
    # Cividis is dark below its middle: the number turns white there, in either theme.
    ink = alt.condition(f"datum.born > {last / 2:g}", alt.value("#111111"), alt.value("#ffffff"))
    born, never = "isValid(datum.born)", "!isValid(datum.born)"
    size = 11 if wide else 10
    layers = [
        base.transform_filter(born).mark_rect().encode(color=color),
        base.transform_filter(born).mark_text(fontSize=size, baseline="middle").encode(text="born:Q", color=ink),
        base.transform_filter(never).mark_rect(style="empty"),
        base.transform_filter(never).mark_text(style="ink", fontSize=size, baseline="middle").encode(
            text=alt.value("never")
        ),
    ]  # fmt: skip
    return alt.layer(*layers, width=room - beyond, height=20 * len(runs))
