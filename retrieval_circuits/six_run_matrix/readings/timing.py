"""When motifs are born: how far apart, in which order, and what the gate has to do with it."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from circuitcore.emergence import spread
from circuitcore.emergence.births import dates
from circuitcore.emergence.order import orders
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.six_run_matrix.readings.births import (
    BEHAVIOUR,
    COPYING,
    MOTIFS,
    OPERATORS,
    PROBES,
    ROUTING,
    RUN,
    SHOWN,
    published_births,
)

ROBUST = (0.80, 0.85, 0.90)
ORDERED = (BEHAVIOUR, COPYING, ROUTING)
BornUnder = Callable[[Results], pd.DataFrame]
"""Births of the matrix, in epochs, under one definition."""


def wide(born: pd.DataFrame, motifs=MOTIFS) -> pd.DataFrame:
    """Epoch of each birth, one row per run and one column per motif; NaN where it never happens."""
    return dates(born.set_index([*RUN, "motif"])).unstack("motif").reindex(columns=list(motifs))


def spreads(born: pd.DataFrame) -> pd.DataFrame:
    """Epochs from the first to the last of the four shown births of each run, and how many are born."""
    return spread.spreads(born, SHOWN, RUN)


def last_epoch(results: Results) -> int:
    """The last epoch of the matrix, which both curricula share."""
    return int(with_epochs(results.curve("accuracy", "off", split="val"), results)["epoch"].max())


def at_the_end_if_never(results: Results, born: pd.DataFrame) -> pd.DataFrame:
    """Births of the matrix, with those that never happen dated at the end of training."""
    return born.fillna({"by": last_epoch(results)})


def gate_shift(results: Results) -> pd.DataFrame:
    """Per run: epochs by which the gate postpones the two operators, and their range over thresholds.

    A birth that never happens counts as one at the end of training, so a postponement is never overstated.
    """

    def dated(**how) -> pd.Series:
        born = at_the_end_if_never(results, published_births(results, **how))
        return dates(born[born["motif"].isin(OPERATORS.values())].set_index([*RUN, "motif"]))

    over = pd.concat([dated(threshold=threshold) for threshold in ROBUST], axis=1)
    table = pd.DataFrame({"postponed": dated() - dated(gate=False), "range": over.max(axis=1) - over.min(axis=1)})
    return table.groupby(RUN, observed=True).mean().reset_index()


def order_names(born: pd.DataFrame) -> pd.Series:
    """The order of behaviour, copying and routing in each run, in words: ``a < b = c``."""
    return wide(born, ORDERED).fillna(np.inf).apply(_order_name, axis=1)


def _order_name(epochs: pd.Series) -> str:
    text = ""
    ranked = epochs.sort_values(kind="stable")
    for place, (motif, epoch) in enumerate(ranked.items()):
        text += ("" if not place else " = " if epoch == ranked.iloc[place - 1] else " < ") + str(motif)
    return text


def apart(results: Results, born_under: BornUnder, motifs: tuple[str, ...] = SHOWN) -> pd.Series:
    """Epochs from the first to the last of the four shown births, or of other ``motifs``, mean over a seed's runs."""
    return spread.spread_per_seed(born_under(results), motifs, RUN)


def apart_at_least(results: Results, born_under: BornUnder) -> pd.Series:
    """As ``apart``, but a birth that never happens counts as one at the end of training instead of being left out."""
    return spread.spread_per_seed(at_the_end_if_never(results, born_under(results)), SHOWN, RUN)


def three_born(results: Results, born_under: BornUnder) -> pd.Series:
    """Share of a seed's runs in which at least three of the four are born."""
    return _share_of_runs(spreads(born_under(results))["born"] >= 3)


def gate_postpones(results: Results) -> pd.Series:
    """Epochs by which the gate postpones the operators, less their range over thresholds, mean over a seed's runs."""
    shift = gate_shift(results).set_index(RUN)
    return (shift["postponed"] - shift["range"]).groupby("init_seed").mean()


def operators_without_gate(results: Results) -> pd.Series:
    """Share of a seed's runs in which both operators are born without the gate."""
    epochs = wide(published_births(results, gate=False), OPERATORS.values())
    return _share_of_runs(epochs.notna().all(axis=1))


def copying_first(results: Results, born_under: BornUnder) -> pd.Series:
    """Share of a seed's runs in which copying is born before routing, of those that decide."""
    found = orders(born_under(results), by=RUN, pairs=[(COPYING, ROUTING)]).set_index(RUN)["order"]
    return _share_of_runs(found[found != "undecided"] == "before")


def in_commonest_order(results: Results, born_under: BornUnder) -> pd.Series:
    """Share of a seed's runs with the order of births that most runs have; births that tie are an order, too."""
    names = order_names(born_under(results))
    return _share_of_runs(names == names.value_counts().index[0])


def born_at_start(results: Results, born_under: BornUnder, motifs: tuple[str, ...] = ORDERED) -> pd.Series:
    """How many of these births happen before training, in all runs of a seed."""
    return (wide(born_under(results), motifs) == 0).sum(axis=1).groupby("init_seed").sum()


def slot_probe_births(results: Results) -> pd.Series:
    """In how many of a seed's runs the source's slot probe is born."""
    return wide(published_births(results), (PROBES["matching_slot"],)).notna().any(axis=1).groupby("init_seed").sum()


def _share_of_runs(happened: pd.Series) -> pd.Series:
    """Share of a seed's runs, of whether something happened in each."""
    return happened.astype(float).groupby("init_seed").mean()
