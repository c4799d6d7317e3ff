"""Networks trained by SGD, beside those that Adam trains from the same starting weights on the same rows."""

import numpy as np
import pandas as pd

from circuitcore.emergence import crossing_times
from livingpaper.claims.reading import of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_selection.design import DESCENT, HEADS, MOMENTA, NETWORKS, RATED, RATES
from retrieval_circuits.sgd_selection.measures import called
from retrieval_circuits.sgd_selection.readings.winners import learnt, winners

AT = 1.4
"""The loss at which networks are compared, nats a word: between the plateau, at 1.9, and where Adam's end, at 1.33."""


def tuned(results: Results) -> pd.DataFrame:
    """The loss that SGD comes to, nats a word: rows by rate, columns by momentum."""
    ends = results.at_final("loss", RATED).set_index("variable")["value"]
    return pd.DataFrame({m: {rate: ends[called(rate, m)] for rate in RATES} for m in MOMENTA})


@of_arms(NETWORKS, DESCENT)
def shares_winner(results: Results) -> pd.Series:
    """Whether the winner is that of Adam's network of the same start, of starts from which both have one."""
    found = pd.DataFrame({arm: winners(results, arm) for arm in (NETWORKS, DESCENT)}).dropna()
    found = found[found.isin(HEADS).all(axis=1)]
    return (found[DESCENT] == found[NETWORKS]).astype(float)


@of_arms(NETWORKS, DESCENT)
def joins_at_equal_loss(results: Results) -> pd.Series:
    """How much more the head that joins most joins than in Adam's network of the same start, when the loss is ``AT``.

    Of starts from which both read in the end as well as asked.
    """
    both = {arm: _joined_at_loss(results, arm) for arm in (NETWORKS, DESCENT)}
    return (both[DESCENT] - both[NETWORKS]).dropna()


def _joined_at_loss(results: Results, arm: str) -> pd.Series:
    """The most that any head joins when the loss has fallen to ``AT``, interpolated between checkpoints, by network."""
    losses = results.rows("pushes", arm=arm, metric="loss")[["init_seed", "step", "value"]]
    times = crossing_times(losses.assign(value=-losses["value"]), -AT)
    read = learnt(arm)(results)
    times = times[(times < np.inf) & read.reindex(times.index).eq(1)]
    rows = results.rows("pushes", arm=arm, metric="joins")
    most = rows.groupby(["init_seed", "step"])["value"].max().unstack()
    found = {seed: np.interp(time, most.columns, most.loc[seed]) for seed, time in times.items()}
    return pd.Series(found, dtype=float).rename_axis("init_seed")
