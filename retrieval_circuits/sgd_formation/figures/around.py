"""Networks on fresh rows side by side, each by the step at which it comes to read."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import EVERY, FRESH, REPORTED, THROUGH
from retrieval_circuits.sgd_formation.readings.networks import half_time, of_readers

READING = "network that answers nine in ten reads at the end"
AROUND = 600
"""Steps that are shown before and after half of all reads are right."""
BY_ITS_OWN_TIME = f"Each {READING}, by its own time, in whole checkpoints of {EVERY} steps"


def around_half(rows: pd.DataFrame, results: Results, arm: str = FRESH) -> pd.DataFrame:
    """Rows of networks of an arm that read, their steps counted from half of all reads on, as far as all have some.

    Of all networks where none reads.
    """
    rows = of_readers(rows, results, arm)
    half = (half_time(arm)(results) / EVERY).round().astype(int) * EVERY
    since = rows["step"] - rows["init_seed"].map(half)
    spans = since.groupby(rows["init_seed"]).agg(["min", "max"])
    shown = since.between(max(spans["min"].max(), -AROUND), min(spans["max"].min(), AROUND))
    return rows[shown].assign(step=since, axis="steps since half of all reads are right")


def through_view(rows: pd.DataFrame, results: Results, unit: str, note: str) -> View:
    """Lines of networks that are looked at through training, around the rise: a ``value`` a ``series`` and step."""
    table = around_half(rows.assign(arm=THROUGH), results, THROUGH)
    table = in_order(table, "series", table["series"].unique())
    columns = ["series", "step", "axis", "arm", "init_seed", "value"]
    return View(table[columns], unit, REPORTED[THROUGH], BAND, note=f"{BY_ITS_OWN_TIME}; {note}. Dearest: at the end")


def by_network(table: pd.DataFrame, note: str) -> View:
    """What is told of each of these networks, a row by ``init_seed``."""
    rows = table.rename_axis("init_seed").reset_index().assign(arm=THROUGH)
    return View(rows, "as named", REPORTED[THROUGH], note=note)
