"""The source's two models: when it stopped training them, when a network recalls, and which split a seed has."""

from dataclasses import dataclass

import pandas as pd

from livingpaper.claims.reading import Values, arms_of
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.permutation_recall.design import (
    PUBLISHED_EPOCHS,
    SOURCE_SPLIT,
    TASK_1,
    TASK_1_EPOCHS,
    TASK_2,
    TASK_2_EPOCHS,
    split_of,
)

ONE, TWO = str(TASK_1), str(TASK_2)
SOURCE_EPOCHS = {ONE: TASK_1_EPOCHS, TWO: TASK_2_EPOCHS}
BORN = 0.5
"""Recall has come when more than half of the probes are answered with the y that was shown."""
LEARNT = 0.9


@dataclass(frozen=True)
class OnSplits:
    """A reading of networks trained on three splits in turn: the split that each seed has stands in the index first."""

    values: Values

    @property
    def arms(self) -> tuple[str, ...]:
        """Those read."""
        return arms_of(self.values)

    def __call__(self, results: Results) -> pd.Series:
        """The numbers, indexed by ``split_seed`` and ``init_seed``."""
        found = self.values(results)
        splits = pd.Index([split_of(seed) for seed in found.index], name="split_seed")
        return found.set_axis(pd.MultiIndex.from_arrays([splits, found.index.rename("init_seed")]))


def on_source_split(by_seed):
    """Of a table or column indexed by seed the networks trained on the source's split."""
    return by_seed[[split_of(seed) == SOURCE_SPLIT for seed in by_seed.index]]


def at_source_epoch(rows: pd.DataFrame, results: Results, arm: str) -> pd.DataFrame:
    """Rows of one of the source's two models at the checkpoint nearest to where the source stopped training.

    (Of a shorter training: at the same share of it.)
    """
    rows = with_epochs(rows, results)
    wanted = SOURCE_EPOCHS[arm] / PUBLISHED_EPOCHS * rows["epoch"].max()
    epochs = rows["epoch"].drop_duplicates()
    return rows[rows["epoch"] == epochs.loc[(epochs - wanted).abs().idxmin()]]


def source_values(results: Results, metric: str, arm: str, **where) -> pd.Series:
    """One number per seed of one of the source's models, when the source stopped training."""
    rows = at_source_epoch(results.curve(metric, arm, **where), results, arm)
    return rows.set_index("init_seed")["value"].sort_index()
