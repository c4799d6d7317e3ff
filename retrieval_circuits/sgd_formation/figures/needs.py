"""What small networks read without one part as they learn, each by its own time; and which head they need when."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.sgd_formation.design import THROUGH
from retrieval_circuits.sgd_formation.figures.around import by_network, through_view
from retrieval_circuits.sgd_formation.readings.needs import BEFORE, END, MEAN, heads_of, lost_at
from retrieval_circuits.sgd_formation.readings.networks import accuracy_curve

LAYERS = {"L0": "first", "L1": "second"}
"""Layers whose dearest heads are drawn."""


def needed(results: Results) -> View:
    """Share of reads answered right around the rise: by the whole network, and without each of three parts."""
    rows = results.curve("left", THROUGH, edit=MEAN).astype({"site": "str"})
    end = lost_at(results, END)
    found = [
        accuracy_curve(THROUGH)(results).assign(series="the whole network"),
        rows[rows["site"] == "L0MLP"].assign(series="without the first MLP"),
    ]
    for layer, name in LAYERS.items():
        dearest = heads_of(end, layer).idxmax(axis=1)
        of_network = rows["site"] == rows["init_seed"].map(dearest)
        found.append(rows[of_network].assign(series=f"without the {name} layer's dearest head"))
    rows = pd.concat(found, ignore_index=True)
    return through_view(
        rows, results, "share of reads answered right", "a part is replaced by the mean of what it writes"
    )


def needed_heads(results: Results) -> View:
    """Network by network: the first layer's dearest heads before it reads and at the end, what of the reads is lost
    without either at both times, and without the first MLP.
    """
    before, end = lost_at(results, BEFORE), lost_at(results, END)
    both = before.index.intersection(end.index)
    before, end = before.loc[both], end.loc[both]
    then, last = (heads_of(lost, "L0").idxmax(axis=1) for lost in (before, end))
    table = pd.DataFrame({
        "dearest before": then, "lost without it before": _lost_without(then, before),
        "lost without it at the end": _lost_without(then, end),
        "dearest at the end": last, "lost without that before": _lost_without(last, before),
        "lost without that at the end": _lost_without(last, end),
        "lost without the first MLP before": before["L0MLP"].round(2),
        "lost without the first MLP at the end": end["L0MLP"].round(2),
    })  # fmt: skip
    note = (
        "Shares of the reads answered right then. Before: at the last checkpoint before a quarter of the reads is right"
    )
    return by_network(table, note)


def _lost_without(head: pd.Series, lost: pd.DataFrame) -> pd.Series:
    """What each network loses without a head of its own."""
    return pd.Series({seed: lost.at[seed, site] for seed, site in head.items()}, dtype=float).round(2)


VIEWS = {view.__name__: view for view in (needed, needed_heads)}
