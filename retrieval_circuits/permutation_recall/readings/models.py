"""The source's two models: when it stopped training them, when a network recalls, and which split a seed has."""

import pandas as pd

from livingpaper.claims.reading import OnDataSets, Values
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
AMONG_SHOWN = 1 / 4
"""What a guess scores on a probe that is made among the four y shown: by who notices the repeat, and no more."""


def on_splits(values: Values) -> OnDataSets:
    """A reading of networks trained on three splits in turn."""
    return OnDataSets(values, split_of)


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


def recall_on_source_split(results: Results) -> pd.Series:
    """Per seed that has the source's split: recall of the large model, when the source stopped training it."""
    return on_source_split(source_values(results, "recall", TWO, variable=""))
