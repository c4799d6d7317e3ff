"""What several checks and figures read: runs at the source's epochs, the time of recall, what the split predicts."""

import functools
import math

import numpy as np
import pandas as pd

from circuitcore.tasks import make_task
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.tasks.permutation_posterior import marginal_posterior, train_posterior
from livingpaper.claims.claim import Results
from livingpaper.claims.results import with_epochs
from retrieval_circuits.permutation_recall.claims import BORN
from retrieval_circuits.permutation_recall.design import (
    CELLS,
    CROSSED,
    PUBLISHED_EPOCHS,
    SOURCE_SPLIT,
    TASK_1,
    TASK_1_EPOCHS,
    TASK_2,
    TASK_2_EPOCHS,
    Cell,
    split_of,
)

ONE, TWO = str(TASK_1), str(TASK_2)
STEPS = tuple(f"step {slot}" for slot in range(1, 6))
UNSURE = STEPS[:-1]
"""Steps at which nobody can be sure."""
CEILINGS = dict(zip(STEPS, (1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0), strict=True))
SOURCE_EPOCHS = {ONE: TASK_1_EPOCHS, TWO: TASK_2_EPOCHS}


def cells_of(data: str, *, crossed: bool = True) -> tuple[Cell, ...]:
    """The cells trained on this kind of data; without ``crossed`` those whose FFN is twice the width."""
    return tuple(cell for cell in (*CELLS, *(CROSSED if crossed else ())) if cell.data == data)


def present(results: Results, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Those of the cells that were trained."""
    return tuple(cell for cell in cells if str(cell) in results.arms)


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


def on_source_split(by_seed):
    """Of a table or column indexed by seed the networks trained on the source's split."""
    return by_seed[[split_of(seed) == SOURCE_SPLIT for seed in by_seed.index]]


def over_steps(rows: pd.DataFrame) -> pd.DataFrame:
    """Seeds by steps 1 to 4."""
    return rows.astype({"variable": str}).pivot(index="init_seed", columns="variable", values="value")[list(UNSURE)]


def accuracies(results: Results, arm: str, split: str = "test") -> pd.DataFrame:
    """Accuracy of seeds by steps 1 to 4, when the source stopped training (a control's: at its end)."""
    where = {"split": split, "variable": list(UNSURE), "family": ""}
    if arm in SOURCE_EPOCHS:
        return over_steps(at_source_epoch(results.curve("step_accuracy", arm, **where), results, arm))
    return over_steps(results.at_final("step_accuracy", arm, **where))


@functools.lru_cache(maxsize=4)
def recall_times(results: Results) -> pd.DataFrame:
    """When each run of the factorial recalls more than half of the probes, for the first time.

    Returns:
        One row per run: ``arm init_seed after by end``, in epochs. ``by`` is missing where recall never came until
        ``end``; ``after`` is the checkpoint before ``by``, or the last.
    """
    cells = [str(cell) for cell in present(results, (*CELLS, *CROSSED))]
    rows = with_epochs(results.curve("recall", variable="", arm=None), results)
    rows = rows[rows["arm"].isin(cells)].sort_values("step")
    found = []
    for (arm, seed), run in rows.groupby(["arm", "init_seed"], observed=True):
        above = run["value"] > BORN
        by = float(run.loc[above.idxmax(), "epoch"]) if above.any() else math.nan
        before = run["epoch"] if math.isnan(by) else run.loc[run["epoch"] < by, "epoch"]
        found.append({"arm": arm, "init_seed": seed, "after": before.max(), "by": by, "end": run["epoch"].max()})
    return pd.DataFrame(found)


def doublings(results: Results, cells: tuple[Cell, ...]) -> pd.DataFrame:
    """Logarithm to base 2 of the epoch of recall: seeds that all the cells have, by cell.

    Where recall never came it is that of the end of training.
    """
    times = recall_times(results)
    value = np.log2(times["by"].fillna(times["end"]).clip(lower=1))
    wide = times.assign(value=value).pivot(index="init_seed", columns="arm", values="value")
    return wide[[str(cell) for cell in cells]].dropna()


def recalls(results: Results, cells: tuple[Cell, ...]) -> pd.Series:
    """Whether each network of some cells recalls more than half of the probes at the end."""
    rows = results.at_final("recall", variable="")
    return rows.loc[rows["arm"].isin([str(cell) for cell in cells]), "value"] > BORN


@functools.lru_cache(maxsize=64)
def predicted(split_seed: int, division: str, by: str) -> pd.Series:
    """How often each of steps 1 to 4 is right on held-out permutations, for a guesser who knows those trained on.

    Args:
        split_seed: the split.
        division: as in the task.
        by: "marginal": it says the y that is left and most often goes with x; "train": the y that is likeliest under
            the permutations trained on. Ties are broken at random.
    """
    task = make_task("permutation_recall", {"split_seed": split_seed, "division": division})
    assert isinstance(task, PermutationRecall)
    rows = task.every_row("test")
    probabilities = marginal_posterior(task, rows) if by == "marginal" else train_posterior(task, rows)[0]
    wanted = rows.targets.gather(1, rows.roles["x"]) - 1
    best = probabilities >= probabilities.amax(-1, keepdim=True) - 1e-9
    right = best.gather(2, wanted[..., None])[..., 0] / best.sum(-1)
    return pd.Series(right.double().mean(0)[:-1].tolist(), index=list(UNSURE))
