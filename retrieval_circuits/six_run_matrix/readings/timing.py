"""When motifs are born: how far apart, in which order, and what the gate has to do with it."""

import numpy as np
import pandas as pd

from circuitcore.emergence import spread
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.six_run_matrix.readings.births import (
    BEHAVIOUR,
    COPYING,
    MOTIFS,
    OPERATORS,
    ROUTING,
    RUN,
    SHOWN,
    published_births,
)

ROBUST = (0.80, 0.85, 0.90)


def wide(born: pd.DataFrame, motifs=MOTIFS) -> pd.DataFrame:
    """Epoch of each birth, one row per run and one column per motif; NaN where it never happens."""
    epochs = born.assign(by=born["by"].astype("Float64").astype(float)).set_index([*RUN, "motif"])["by"]
    return epochs.unstack("motif").reindex(columns=list(motifs))


def spreads(born: pd.DataFrame) -> pd.DataFrame:
    """Epochs from the first to the last of the four shown births of each run, and how many are born."""
    return spread.spreads(born, SHOWN, RUN)


def gate_shift(results: Results) -> pd.DataFrame:
    """Per run: epochs by which the gate postpones the two operators, and their range over thresholds.

    A birth that never happens counts as one at the end of training, so a postponement is never overstated.
    """
    end = int(with_epochs(results.curve("accuracy", "off", split="val"), results)["epoch"].max())
    operators = list(OPERATORS.values())

    def dated(**how) -> pd.DataFrame:
        born = published_births(results, **how)
        born = born[born["motif"].isin(operators)]
        return born.set_index([*RUN, "motif"])["by"].astype("Float64").astype(float).fillna(end)

    over = pd.concat([dated(threshold=threshold) for threshold in ROBUST], axis=1)
    table = pd.DataFrame({"postponed": dated() - dated(gate=False), "range": over.max(axis=1) - over.min(axis=1)})
    return table.groupby(RUN, observed=True).mean().reset_index()


def order_names(born: pd.DataFrame) -> pd.Series:
    """The order of behaviour, copying and routing in each run, in words: ``a < b = c``."""
    return wide(born, (BEHAVIOUR, COPYING, ROUTING)).fillna(np.inf).apply(_order_name, axis=1)


def _order_name(epochs: pd.Series) -> str:
    text = ""
    ranked = epochs.sort_values(kind="stable")
    for place, (motif, epoch) in enumerate(ranked.items()):
        text += ("" if not place else " = " if epoch == ranked.iloc[place - 1] else " < ") + str(motif)
    return text
