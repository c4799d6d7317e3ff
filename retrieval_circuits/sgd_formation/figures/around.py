"""Networks on fresh rows side by side, each by the step at which it comes to read."""

import pandas as pd

from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import EVERY, FRESH
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
