"""The record of a run step by step, and its short form: one row per epoch, for runs that are shipped."""

import pandas as pd

from circuitcore.training.store.ledger import Ledger

# Rows between epochs, which no page reads, are most of a history: of 84,000 steps a megabyte, of hundreds of forks of
# 900 steps as much together. Shorter ones are left alone.
LONGEST_WHOLE = 200


def is_to_shorten(ledger: Ledger) -> bool:
    """Whether a run's history has a row per step, and its last step is above ``LONGEST_WHOLE``: it is shipped thin."""
    return ledger.trained and not ledger.history_thinned and ledger.entries[-1].step > LONGEST_WHOLE


def per_epoch(history: pd.DataFrame) -> pd.DataFrame:
    """One row per epoch, in the columns and types of ``history``: mean loss and gradient norm, last step and tokens.

    The mean of ``loss`` (nats) is over the epoch's steps, each counted once, the short last batch as well.

    Args:
        history: as ``Run.history`` describes it.
    """
    wide = history.astype({"loss": "float64", "grad_norm": "float64"})  # float32 sums of 900 steps lose digits
    last_or_mean = {"step": "last", "tokens_seen": "last", "loss": "mean", "grad_norm": "mean"}
    epochs = wide.groupby("epoch", sort=True).agg(last_or_mean).reset_index()
    return epochs[list(history)].astype(history.dtypes.to_dict())
