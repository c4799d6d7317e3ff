"""Tables of the source's network on our stream, beside the small networks there."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import FRESH, LARGE, REPORTED
from retrieval_circuits.sgd_formation.measures.links import COPIES, FINDS, JOINS
from retrieval_circuits.sgd_formation.readings.moves import moves
from retrieval_circuits.sgd_formation.readings.networks import (
    accuracy,
    cost_of_leader,
    cost_of_part,
    half_time,
    leader_sites,
    of_readers,
    part_time,
)

SERIES = {
    (FRESH, 0): "small networks that read",
    (LARGE, 0): "the source's network, there",
    (LARGE, 1): "the source's network, one layer later",
}
"""An arm, and how many layers later than in small networks it is tested -> what a reader calls that."""
TESTS = {JOINS: "values look at no key", FINDS: "queries for another key", COPIES: "another value is shown"}
"""Move -> what its test changes."""


def tested_moves(results: Results) -> View:
    """Answers that the test of each move changes, all heads of its layer together: small networks and the source's."""
    found = []
    for (arm, later), series in SERIES.items():
        rows = moves(results, arm, later).rename(columns=TESTS).melt(ignore_index=False, var_name="group").reset_index()
        rows = of_readers(rows, results) if arm == FRESH else rows
        found.append(rows.assign(series=series, arm=arm))
    table = in_order(pd.concat(found, ignore_index=True), "group", TESTS.values())
    return View(
        table[["group", "series", "arm", "init_seed", "value"]], "share of answers", "the last read of test rows", BAND,
        note="There: the first test in the first layer, the others in the second. A cut counts right answers that are "
        "lost, an exchange answers that follow it. Without an exchange hardly any answer is what it would make",
    )  # fmt: skip


def large_starts(results: Results) -> View:
    """Start by start of the source's network on our stream: when it reads, and what its head that looks most costs."""
    table = pd.DataFrame({
        "half of the reads are right": half_time(LARGE)(results).round().astype(int),
        "from a fifth to four fifths": (part_time(LARGE, 0.8)(results) - part_time(LARGE, 0.2)(results)).round(),
        "right at the end": accuracy(LARGE)(results).round(3),
        "the head that looks most": leader_sites(results, LARGE),
        "lost without it": cost_of_leader(LARGE)(results).round(3),
        "lost without the first MLP": cost_of_part(LARGE, "L0MLP")(results).round(3),
    })  # fmt: skip
    note = "Training steps; the rest are shares of reads"
    return View(table.rename_axis("init_seed").reset_index().assign(arm=LARGE), "as named", REPORTED[LARGE], note=note)


def large_numbers(starts: View) -> dict[str, str]:
    """What sentences take from it: how many starts there are, and between which steps they come to read."""
    at = starts.published["half of the reads are right"]
    return {"large_first": f"{at.min():,}", "large_last": f"{at.max():,}", "n_large": f"{len(at)}"}


VIEWS = {view.__name__: view for view in (tested_moves, large_starts)}
