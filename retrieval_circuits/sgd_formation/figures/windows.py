"""What states carry from one end of a rise to the other, stage by stage, in either network on our stream."""

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import LARGE, REPORTED, THROUGH
from retrieval_circuits.sgd_formation.measures.windows import BY_LOT, SAME
from retrieval_circuits.sgd_formation.readings.windows import LOST, REGAINED, carried

WAYS = {
    (REGAINED, SAME): "regained by later states",
    (LOST, SAME): "lost by earlier states",
    (REGAINED, BY_LOT): "regained by lot",
    (LOST, BY_LOT): "lost by lot",
}
"""Way, and the states put in -> what a reader calls that."""
PARTS = {"resid_pre": "embeddings", "resid_mid": "heads of layer {}", "resid_post": "MLP of layer {}"}
"""Name of a stage -> the part it stands behind."""


def exchanged_states(results: Results) -> View:
    """What later states give earlier weights of a rise, and earlier states cost later ones, stage by stage."""
    return _of(results, LARGE)


def exchanged_in_small(results: Results) -> View:
    """The same in small networks."""
    return _of(results, THROUGH)


def _of(results: Results, arm: str) -> View:
    rows = carried(results, arm)
    rows = rows.assign(
        series=[WAYS.get(way) for way in zip(rows["way"], rows["edit"], strict=True)],
        group=[PARTS[site.partition(".")[2]].format(site[1]) for site in rows["site"]],
        arm=arm,
    ).dropna(subset="series")
    table = in_order(rows[["group", "series", "arm", "init_seed", "value"]], "series", WAYS.values())
    note = "Behind each part, at all positions; by lot: changes as large in directions drawn by lot"
    return View(table, "share of the rise", REPORTED[arm], BAND, note=note)


VIEWS = {view.__name__: view for view in (exchanged_states, exchanged_in_small)}
