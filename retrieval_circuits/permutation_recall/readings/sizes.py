"""Which sizes recall, when, and from which width on."""

import functools
import math

import numpy as np
import pandas as pd

from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.permutation_recall.design import CELLS, CROSSED, REPEATED, WIDTHS, Cell
from retrieval_circuits.permutation_recall.readings.models import BORN, LEARNT, TWO

WIDE_ONE_HEAD = Cell(32, 1, 64, REPEATED)
NARROW, TWO_HEADS = 16, 2
NO_WIDTH = 64.0
"""Stands for "none of the widths tried": twice the widest."""


def cells_of(data: str, *, crossed: bool = True) -> tuple[Cell, ...]:
    """The cells trained on this kind of data; without ``crossed`` those whose FFN is twice the width."""
    return tuple(cell for cell in (*CELLS, *(CROSSED if crossed else ())) if cell.data == data)


def present(results: Results, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Those of the cells that were trained."""
    return tuple(cell for cell in cells if str(cell) in results.arms)


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


def recall_by_size(results: Results, data: str) -> pd.DataFrame:
    """Recall at the end of training on this kind of data: seeds that all sizes have, by size."""
    sizes = [str(cell) for cell in present(results, cells_of(data))]
    rows = results.at_final("recall", variable="").astype({"arm": str})
    return rows[rows["arm"].isin(sizes)].pivot(index="init_seed", columns="arm", values="value").dropna()


def recall_of_best_size(results: Results, data: str) -> pd.Series:
    """Per seed: recall at the end of the size that recalls most."""
    return recall_by_size(results, data).max(axis=1)


def sizes_that_recall(results: Results, data: str) -> pd.Series:
    """Per seed: share of sizes that recall more than half of the probes at the end."""
    return (recall_by_size(results, data) > BORN).mean(axis=1)


def width_less_heads(results: Results) -> pd.Series:
    """Per seed: doublings of the time to recall that width 32 saves against 16, less those of two heads against one.

    Over all eight sizes, so that each width has each number of heads and each FFN: means of the four times that have
    one width, or one number of heads.
    """
    cells = cells_of(REPEATED)
    times = doublings(results, cells)
    signs = [(1 if cell.d_model == NARROW else -1) + (1 if cell.n_heads == TWO_HEADS else -1) for cell in cells]
    return (times * signs).sum(axis=1) / (len(cells) / 2)


def sizes_in_which_recall_came(results: Results) -> pd.Series:
    """Per seed: share of the four sizes trained with repeats, FFN twice the width, in which recall ever came."""
    times = recall_times(results)
    times = times[times["arm"].isin([str(cell) for cell in cells_of(REPEATED, crossed=False)])]
    came = times.assign(value=times["by"].notna().astype(float))
    return came.pivot(index="init_seed", columns="arm", values="value").dropna().mean(axis=1)


def eliminates_before_recall(results: Results) -> pd.Series:
    """Per seed: probes answered with the y not yet shown, at the last checkpoint before recall comes."""
    times = recall_times(results)
    times = times[(times["arm"] == TWO) & times["by"].notna()]
    rows = with_epochs(results.curve("eliminates", TWO, variable=""), results)
    rows = rows.merge(times[["init_seed", "after"]], left_on=["init_seed", "epoch"], right_on=["init_seed", "after"])
    return rows.set_index("init_seed")["value"]


def recall_scan(results: Results) -> pd.DataFrame:
    """Recall at the end of every network of the scan: ``n_symbols d_model n_layers init_seed value``."""
    named = {str(width): width for width in WIDTHS}
    rows = results.at_final("recall", variable="")
    rows = rows[rows["arm"].isin(named)]
    points = [named[str(arm)]._asdict() for arm in rows["arm"]]
    return pd.DataFrame(points, columns=["n_symbols", "d_model", "n_layers"]).assign(
        init_seed=rows["init_seed"].to_numpy(), value=rows["value"].to_numpy(), arm=rows["arm"].astype(str).to_numpy()
    )


def smallest_widths(results: Results) -> pd.DataFrame:
    """Smallest width that recalls: rows (seed, layers), columns V; ``NO_WIDTH`` where none of those tried does."""
    rows = recall_scan(results)
    width = rows["d_model"].where(rows["value"] >= LEARNT, NO_WIDTH).astype(float)
    return rows.assign(width=width).groupby(["init_seed", "n_layers", "n_symbols"])["width"].min().unstack("n_symbols")


def width_growth(results: Results, n_layers: int) -> pd.Series:
    """Per seed: doublings of the smallest width that recalls, from the least V to the largest."""
    by_symbols = np.log2(smallest_widths(results).xs(n_layers, level="n_layers"))
    return by_symbols[by_symbols.columns.max()] - by_symbols[by_symbols.columns.min()]


def recall_of_two_layers(results: Results) -> pd.Series:
    """Per seed: recall with two layers of the best width, at the V at which that is least."""
    rows = recall_scan(results)
    best = rows[rows["n_layers"] == 2].groupby(["init_seed", "n_symbols"])["value"].max()
    return best.groupby("init_seed").min()
