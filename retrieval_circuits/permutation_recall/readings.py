"""What claims and figures read off the tables.

Runs at the source's epochs, the time of recall, what the split predicts; one number a seed of the source's larger
model taken apart at the end of training; and which width recalls, over symbols, width and layers.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from circuitcore.tasks import make_task
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.tasks.permutation_posterior import marginal_posterior, train_posterior
from livingpaper.claims.results import Results, with_epochs
from retrieval_circuits.permutation_recall.claims import BORN, LEARNT
from retrieval_circuits.permutation_recall.design import (
    CELLS,
    CROSSED,
    PUBLISHED_EPOCHS,
    SOURCE_SPLIT,
    TASK_1,
    TASK_1_EPOCHS,
    TASK_2,
    TASK_2_EPOCHS,
    WIDTHS,
    Cell,
    split_of,
)

ONE, TWO = str(TASK_1), str(TASK_2)
STEPS = tuple(f"step {slot}" for slot in range(1, 6))
UNSURE = STEPS[:-1]
"""Steps at which nobody can be sure."""
CEILINGS = dict(zip(STEPS, (1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0), strict=True))
SOURCE_EPOCHS = {ONE: TASK_1_EPOCHS, TWO: TASK_2_EPOCHS}
HEADS = ("L0H0", "L0H1")
ALL_HEADS = "all heads"
ROLES_APART = 0.5
"""How far two heads must differ to have roles of their own: half of all answers."""
NO_WIDTH = 64.0
"""Stands for "none of the widths tried": twice the widest."""


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
def predicted_accuracy(split_seed: int, division: str, by: str) -> pd.Series:
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


def value_under(results: Results, metric: str, site: str, edit: str) -> pd.Series:
    """One number a seed, with a part changed."""
    return results.final_values(metric, TWO, site=site, edit=edit)


def recall_whole(results: Results) -> pd.Series:
    """Recall of the same networks, whole."""
    return results.final_values("recall", TWO, variable="")


def recall_without_y(results: Results) -> pd.Series:
    """Recall with the edges to the y to be recalled cut in all heads."""
    return value_under(results, "recall_under", ALL_HEADS, "cut y_source")


def lost_without_edge(results: Results, edit: str) -> pd.Series:
    """Recall lost by a cut in all heads."""
    return recall_whole(results) - value_under(results, "recall_under", ALL_HEADS, edit)


def lost_without_either(results: Results) -> pd.Series:
    """Recall lost by cutting the edges to y, or to x, whichever is less."""
    return np.minimum(lost_without_edge(results, "cut y_source"), lost_without_edge(results, "cut x_source"))


def recall_with_linear_map(results: Results) -> pd.Series:
    """Recall with the FFN replaced by the best linear map."""
    return value_under(results, "recall_under", "L0MLP", "linear")


def answers_traded(results: Results, path: str) -> pd.Series:
    """Share of probes answered with the other y when two y trade positions in the "values" or "keys" of all heads."""
    return value_under(results, "answers_swapped_under", ALL_HEADS, f"swap {path}' positions")


def change_without_earlier_rows(results: Results) -> pd.Series:
    """Largest change of a last logit when attention writes nothing to earlier rows."""
    return value_under(results, "largest_change", ALL_HEADS, "zero rows before")


def decoding_accuracy(results: Results, site: str, edit: str = "") -> pd.Series:
    """Accuracy of a probe for the y to be recalled."""
    return results.final_values("decodes_y_source", TWO, site=f"L0.{site}", edit=edit, variable="y_source")


def share_moved(results: Results, family: str, edit: str = "") -> pd.DataFrame:
    """Share of answers that follow the source row: seeds by patched site."""
    rows = results.at_final("interchange", TWO, family=family, variable="source_answer", edit=edit)
    return rows.astype({"site": str}).pivot(index="init_seed", columns="site", values="value")


def share_moved_together(results: Results) -> pd.Series:
    """Share of answers that both heads' outputs move, of the kind that moves less."""
    return pd.concat([share_moved(results, family)[ALL_HEADS] for family in ("trade", "match")], axis=1).min(axis=1)


def y_less_match(results: Results) -> pd.DataFrame:
    """What each head carries of the y, less of the match: seeds by heads."""
    return share_moved(results, "trade")[list(HEADS)] - share_moved(results, "match")[list(HEADS)]


def separation_of_moves(results: Results) -> pd.Series:
    """Half the difference between two heads in what they carry."""
    by_head = y_less_match(results)
    return (by_head[HEADS[0]] - by_head[HEADS[1]]).abs() / 2


def role_scores(results: Results, how: str = "mean") -> pd.DataFrame:
    """What each head's loss costs, elimination less recall: seeds by heads."""
    whole = {metric: value_under(results, metric, "none", "none") for metric in ("recall_under", "elimination_under")}
    cost = {
        (metric, head): whole[metric] - value_under(results, metric, head, how) for metric in whole for head in HEADS
    }
    return pd.DataFrame({head: cost["elimination_under", head] - cost["recall_under", head] for head in HEADS})


def role_separation(results: Results, how: str = "mean") -> pd.Series:
    """How far the two heads differ in role."""
    scores = role_scores(results, how)
    return (scores[HEADS[0]] - scores[HEADS[1]]).abs()


def first_head_eliminates(results: Results, how: str = "mean") -> pd.Series:
    """Whether head 0 is the one whose loss costs elimination more than recall, compared with the other."""
    scores = role_scores(results, how)
    return scores[HEADS[0]] > scores[HEADS[1]]


@dataclass(frozen=True)
class Smallest:
    """Smallest width that recalls: rows (seed, layers), columns V; ``NO_WIDTH`` where none of those tried does."""

    table: pd.DataFrame

    def growth(self, n_layers: int) -> pd.Series:
        """Doublings from the least V to the largest, by seed."""
        of = np.log2(self.table.xs(n_layers, level="n_layers"))
        return of[of.columns.max()] - of[of.columns.min()]

    @property
    def two_layers_always(self) -> bool:
        """Whether two layers of some width recall at every V, in every seed."""
        return bool((self.table.xs(2, level="n_layers") < NO_WIDTH).all(axis=None))

    @property
    def words(self) -> str:
        """For the control."""
        return "they do" if self.two_layers_always else "not at every V"


def recall_scan(results: Results) -> pd.DataFrame:
    """Recall at the end of every network of the scan: ``n_symbols d_model n_layers init_seed value``."""
    named = {str(width): width for width in WIDTHS}
    rows = results.at_final("recall", variable="")
    rows = rows[rows["arm"].isin(named)]
    points = [named[str(arm)]._asdict() for arm in rows["arm"]]
    return pd.DataFrame(points, columns=["n_symbols", "d_model", "n_layers"]).assign(
        init_seed=rows["init_seed"].to_numpy(), value=rows["value"].to_numpy(), arm=rows["arm"].astype(str).to_numpy()
    )


def smallest_widths(results: Results) -> Smallest | None:
    """The smallest width with which each seed recalls, or None where nothing was scanned."""
    rows = recall_scan(results)
    if rows.empty:
        return None
    width = rows["d_model"].where(rows["value"] >= LEARNT, NO_WIDTH).astype(float)
    found = rows.assign(width=width).groupby(["init_seed", "n_layers", "n_symbols"])["width"].min().unstack("n_symbols")
    return Smallest(found)


def separation_null(results: Results, how: str = "mean", rounds: int = 10_000) -> tuple[float, float, float]:
    """Mean difference in role, its mean where heads are dealt out anew over networks, and the share of deals as large.

    Heads are drawn without regard to the network they come from, ``rounds`` times; the seed of the draws is fixed.
    """
    scores = role_scores(results, how).to_numpy()
    draw, pool = np.random.default_rng(0), scores.ravel()
    dealt = np.abs(np.diff(draw.permuted(np.tile(pool, (rounds, 1)), axis=1).reshape(rounds, -1, 2))[..., 0]).mean(1)
    own = float(np.abs(scores[:, 0] - scores[:, 1]).mean())
    return own, float(dealt.mean()), float((1 + (dealt >= own).sum()) / (1 + rounds))
