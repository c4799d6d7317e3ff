"""What is read off the arms beside the grid: what was learnt, when fresh seeds' paths appear, what values do."""

import numpy as np
import pandas as pd

from circuitcore.emergence import crossing_times, powers
from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import FRESH, LONGER, ONE, Lesson
from retrieval_circuits.stacked_heads.readings.grid import ATTENDED, FIRST, JUMP, PREVIOUS, SECOND, learnt_by_end

LENGTHS = {str(ONE[1]): 12, **{str(lesson): 3 * lesson.n_chains for lesson in LONGER}}
"""Arms with one look-up in two layers -> positions of a row: three a chain."""


def path_rows(results: Results, arm: str = str(FRESH)) -> pd.DataFrame:
    """Attention of every head along every link at every checkpoint, in the networks of one arm."""
    rows = results.tables["paths"]
    return rows[rows["arm"] == arm]


def path_attention(results: Results, *links: tuple[str, str], arm: str = str(FRESH)) -> pd.DataFrame:
    """Attention along any of the links, of the head that has most of it: ``init_seed``, ``step``, ``value``."""
    rows = path_rows(results, arm)
    rows = rows[rows["site"].astype(str).isin([">".join(link) for link in links])]
    return rows.groupby(["init_seed", "step"], as_index=False)["value"].max()


def fresh_time(*links: tuple[str, str]) -> OfArms:
    """Values of a reading: when attention along one of the links passes one half, or the end of training."""

    @of_arms(str(FRESH))
    def values(results: Results) -> pd.Series:
        curves = path_attention(results, *links)
        return crossing_times(curves, ATTENDED, strictly=True).clip(upper=int(curves["step"].max()))

    return values


SECOND_LOOK_UP = fresh_time(SECOND, JUMP)
"""When a path to the second answer appears, from the query or from the first answer, whichever comes first."""
FRESH_FIRST, FRESH_PREVIOUS = fresh_time(FIRST), fresh_time(PREVIOUS)


def nearer_own(path: OfArms, loss: OfArms) -> OfArms:
    """Values of a reading: how much nearer in time a path is to its own network's loss than to another network's.

    Of two networks: the distance from the path of one to the loss of the other, less that to its own, the mean of both
    ways round. A network's number is its mean over the others: numbers share pairs, and the rule is ``OverPairs``. 0
    where paths say nothing of their losses but when networks learn in general.
    """

    @of_arms(str(FRESH))
    def values(results: Results) -> pd.Series:
        paths, losses = path(results), loss(results)
        far = np.abs(paths.to_numpy()[:, None] - losses.reindex(paths.index).to_numpy()[None])
        further = far - np.diagonal(far)[:, None]
        return pd.Series((further + further.T).sum(1) / (2 * max(len(far) - 1, 1)), paths.index)

    return values


def came(values: OfArms) -> OfArms:
    """Values of a reading: a time of the fresh networks in which it lies before the end of training."""

    @of_arms(str(FRESH))
    def found(results: Results) -> pd.Series:
        times = values(results)
        return times[times < path_rows(results)["step"].max()]

    return found


def nearer_own_where_it_came(path: OfArms, loss: OfArms) -> OfArms:
    """``nearer_own`` of the networks in which both came: what never comes stands at the end with what never comes."""

    @of_arms(str(FRESH))
    def values(results: Results) -> pd.Series:
        both = came(path)(results).index.intersection(came(loss)(results).index)
        kept = [OfArms(of.arms, lambda found, of=of: of(found).loc[both]) for of in (path, loss)]
        return nearer_own(*kept)(results)

    return values


def end_of_stage(results: Results, lesson: Lesson, stage: int) -> pd.DataFrame:
    """Error on training rows in the last epoch of a stage, counted from 1: ``arm``, ``init_seed``, ``loss``."""
    rows = results.history[results.history["arm"] == str(lesson)]
    last = round(sum(share for _, share in lesson.stages[:stage]) * rows["epoch"].max())
    return rows[rows["epoch"] == last].groupby(["arm", "init_seed"], as_index=False)["loss"].mean()


def exchanged(site: str, edit: str, family: str, take: str = "max") -> OfArms:
    """Values of a reading: squared error after an exchange, of several symbols the largest (or ``take``)."""

    @of_arms(str(FRESH))
    def values(results: Results) -> pd.Series:
        rows = results.tables["exchanges"].astype({"site": str, "edit": str, "family": str})
        rows = rows[rows["site"].str.startswith(site) & (rows["edit"] == edit) & (rows["family"] == family)]
        return rows.groupby("init_seed")["value"].agg(take)

    return values


def paths_found(metric: str, edit: str) -> OfArms:
    """Values of a reading: how many paths the reading finds in networks of a kind."""

    @of_arms(str(FRESH))
    def values(results: Results) -> pd.Series:
        rows = results.tables["false_paths"].astype({"edit": str, "metric": str})
        return rows[(rows["metric"] == metric) & (rows["edit"] == edit)].set_index("init_seed")["value"]

    return values


def learning_by_length(results: Results) -> pd.DataFrame:
    """When x_1 is learnt in two layers: ``arm``, ``init_seed``, ``length``, ``value``; the end where it never is."""
    found = [
        learnt_by_end(results, arm, 1).rename("value").reset_index().assign(arm=arm, length=length)
        for arm, length in LENGTHS.items()
    ]
    return pd.concat(found, ignore_index=True)


@of_arms(*LENGTHS)
def growth(results: Results) -> pd.Series:
    """By which power of the row's length the time to learn one look-up grows: a slope of logarithms for each seed."""
    return powers(learning_by_length(results).pivot(index="init_seed", columns="length", values="value").dropna())
