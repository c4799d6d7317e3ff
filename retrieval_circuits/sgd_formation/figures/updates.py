"""Where updates go while small networks come to read, and how closely that goes with what they gain."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.sgd_formation.figures.around import by_network, through_view
from retrieval_circuits.sgd_formation.figures.needs import LAYERS
from retrieval_circuits.sgd_formation.readings.needs import END, heads_of, lost_at
from retrieval_circuits.sgd_formation.readings.updates import (
    DEAREST,
    RISE,
    THE_OTHERS,
    UNTIL_THEN,
    as_large_by_shifting,
    lead,
    of_dearest,
    shares,
    with_gains,
)

DRAWN = {DEAREST: "the {} layer's dearest head", THE_OTHERS: "the {} layer's others, mean"}


def updated(results: Results) -> View:
    """Share of the update around the rise, of the dearest heads of two layers and of the others there."""
    table, found = shares(results), []
    for layer, name in LAYERS.items():
        for whose, series in DRAWN.items():
            rows = of_dearest(table, results, layer, whose).rename("value").reset_index()
            found.append(rows.assign(series=series.format(name)))
    rows = pd.concat(found, ignore_index=True)
    return through_view(
        rows, results, "share of the update", "an update is the change of all weights since the checkpoint before"
    )


def update_links(results: Results) -> View:
    """Network by network: how far the first layer's dearest head is ahead in shares of updates, and which shares go
    with what is gained.
    """
    numbers = {
        "before a quarter of the reads, ahead of the others by": lead("L0", UNTIL_THEN),
        "in the rise, ahead by": lead("L0", RISE),
        "its link with what is gained": with_gains("L0", DEAREST),
        "link of the layer's others": with_gains("L0", THE_OTHERS),
        "link of the second layer's dearest head": with_gains("L1", DEAREST),
        "shifts with a link as close": as_large_by_shifting,
    }
    table = pd.DataFrame({name: values(results).round(2) for name, values in numbers.items()})
    table.insert(0, "the first layer's dearest head", heads_of(lost_at(results, END), "L0").idxmax(axis=1))
    note = (
        "Link: correlation of the share of the update with what is read more, over all intervals between checkpoints. "
        "Shifts: of all shifts in time, the share at which some part's link is as close as the closest without one"
    )
    return by_network(table, note)


VIEWS = {view.__name__: view for view in (updated, update_links)}
