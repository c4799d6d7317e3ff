"""What claims and figures read: how far along the chain a network gets, and when."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from circuitcore.emergence import crossing_times
from livingpaper.claims.reading import OfArms, OfMetric, at_end, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import FOLLOWED, REWARDED, Cell, Lesson
from retrieval_circuits.stacked_heads.design.wait import Change
from retrieval_circuits.stacked_heads.measures.circuit import ACCEPTED

Arm = Cell | Lesson | Change | str
"""What has networks on chains of vectors."""
LEARNT = 0.5
"""The source's threshold: a partial loss below it counts as learnt. Knowing the step alone gives 0.75."""
ATTENDED = 0.5
"""The source's threshold for attention along a path."""
ENOUGH = 2 * ACCEPTED
"""By how much the error may rise with attention set: twice what the source accepts."""
PREVIOUS, FIRST, SECOND, JUMP = (
    ("value_0", "key_0"),
    ("queries", "value_0"),
    ("queries", "value_1"),
    ("value_0", "value_1"),
)
"""Links: inside a pair; from the query to the first answer; to the second; and from the first answer to the second.

The last is what doubling needs: the second look-up made where the first answer stands, before the query fetches it.
"""


def final_losses(results: Results, *cells: Arm) -> pd.DataFrame:
    """Partial losses at the end of training: ``cell``, ``init_seed``, ``place`` (k of x_k), ``value``."""
    found = [results.at_final("partial_loss", str(cell)).assign(cell=str(cell)) for cell in cells]
    table = pd.concat(found, ignore_index=True)
    return table.assign(place=_places(table))[["cell", "init_seed", "place", "value"]]


def final_loss(cell: Cell | Lesson, place: int) -> OfMetric:
    """Values of a reading: the partial loss of x_k at the end, one number a seed."""
    return at_end("partial_loss", str(cell), variable=f"x_{place}")


def falls(results: Results, arm: Arm, place: int, level: float = LEARNT) -> pd.Series:
    """When the error of x_k falls below a level, by ``init_seed``; infinite where it does not."""
    curve = results.curve("partial_loss", str(arm), variable=f"x_{place}")[["init_seed", "step", "value"]]
    return crossing_times(curve, level, below=True, strictly=True)


def end_of(results: Results, arm: Arm) -> int:
    """The last step at which networks of an arm are measured."""
    return int(results.curve("partial_loss", str(arm))["step"].max())


def learnt_by_end(results: Results, arm: Arm, place: int) -> pd.Series:
    """When an arm's networks learn x_k, by ``init_seed``; the end of training where they do not."""
    return falls(results, arm, place).clip(upper=end_of(results, arm))


def learning_times(results: Results, *cells: Arm) -> pd.DataFrame:
    """When each partial loss first falls below the source's threshold: ``cell``, ``init_seed``, ``place``, ``time``."""
    found = [
        falls(results, cell, place).rename("time").reset_index().assign(cell=str(cell), place=place)
        for cell in cells
        for place in sorted(set(_places(results.curve("partial_loss", str(cell))).tolist()))
    ]
    return pd.concat(found, ignore_index=True)


@of_arms(*map(str, REWARDED))
def in_order(results: Results) -> pd.Series:
    """Of the networks of a seed that learnt x_2, over all depths, the share that had learnt x_1 before it."""
    times = learning_times(results, *REWARDED).pivot(index=["init_seed", "cell"], columns="place", values="time")
    learnt = times[np.isfinite(times[2])]
    return (learnt[1] < learnt[2]).groupby("init_seed").mean()


def depth_needed(results: Results, *cells: Cell) -> pd.DataFrame:
    """The fewest layers with which a seed's network learnt each symbol by the end; one more than tried where none did.

    A column for each k of x_k, by ``init_seed``: seeds that have a network of every depth.
    """
    layers = {str(cell): cell.n_layers for cell in cells}
    table = final_losses(results, *cells)
    table = table[table.groupby("init_seed")["cell"].transform("nunique") == len(layers)]
    table = table.assign(layers=table["cell"].map(layers).where(table["value"] < LEARNT, max(layers.values()) + 1))
    return table.pivot_table(index="init_seed", columns="place", values="layers", aggfunc="min")


def more_layers(later: int, earlier: int, *cells: Cell) -> OfArms:
    """Values of a reading: how many more layers one symbol took than another."""

    @of_arms(*map(str, cells))
    def values(results: Results) -> pd.Series:
        needed = depth_needed(results, *cells)
        return needed[later] - needed[earlier]

    return values


def learnt_time(place: int, arm: Cell | Lesson = FOLLOWED) -> OfArms:
    """Values of a reading: when networks learnt x_k; the end of training where they did not."""
    return OfArms((str(arm),), partial(learnt_by_end, arm=arm, place=place))


def attention_of(results: Results, *links: tuple[str, str]) -> pd.DataFrame:
    """Attention along any of the links of the head that has most of it: ``init_seed``, ``step``, ``value``."""
    rows = results.curve("attention", str(FOLLOWED), site=[">".join(link) for link in links])
    return rows.groupby(["init_seed", "step"], as_index=False)["value"].max()


def path_and_loss(results: Results) -> pd.Series:
    """How far apart the path to the first answer and the fall of its loss are, in steps, whichever comes first."""
    return (learnt_time(1)(results) - path_time(FIRST)(results)).abs()


def path_time(*links: tuple[str, str]) -> OfArms:
    """Values of a reading: when attention along one of the links passes one half, or the end of training."""

    @of_arms(str(FOLLOWED))
    def values(results: Results) -> pd.Series:
        times = crossing_times(attention_of(results, *links), ATTENDED, strictly=True)
        return times.clip(upper=end_of(results, FOLLOWED))

    return values


def final_attention(*link: str) -> OfMetric:
    """Values of a reading: attention along a link at the end of training, of the head that has most of it."""
    return at_end("attention", str(FOLLOWED), "max", site=">".join(link))


def cost_of(edit: str, cell: Cell | Lesson = FOLLOWED) -> OfArms:
    """Values of a reading: how much more error a network makes with its attention set than without, by ``edit``."""

    @of_arms(str(cell))
    def values(results: Results) -> pd.Series:
        rows = circuit_rows(results, "circuit_loss", str(cell)).astype({"edit": "str"})
        wide = rows.pivot(index="init_seed", columns="edit", values="value")
        return wide[edit] - wide["none"]

    return values


def only(values: OfArms, keep: Callable[[Results], pd.Series]) -> OfArms:
    """The same values, of those networks that ``keep`` is true of."""

    def of_those(results: Results) -> pd.Series:
        found = values(results)
        return found[keep(results).reindex(found.index, fill_value=False)]

    return OfArms(values.arms, of_those)


def where(lesson: Cell | Lesson, values: OfArms, *, learnt: bool = True) -> OfArms:
    """The same values, of networks alone that have learnt the last symbol, or of those that have not."""
    return only(values, lambda results: (final_loss(lesson, lesson.n_steps)(results) < LEARNT) == learnt)


def where_enough(cell: Cell | Lesson, values: OfArms) -> OfArms:
    """The same values, of networks alone whose paths that are left raise the error by no more than ``ENOUGH``."""
    return only(values, lambda results: cost_of("paths", cell)(results) <= ENOUGH)


def circuit_rows(results: Results, metric: str, arm: str = str(FOLLOWED)) -> pd.DataFrame:
    """What was read off the circuits of one arm's networks."""
    rows = results.tables["circuit"]
    return rows[(rows["metric"] == metric) & (rows["arm"] == arm)]


def circuit_paths(results: Results, arm: str = str(FOLLOWED), metric: str = "path") -> pd.DataFrame:
    """Paths that are left, but those of positions to themselves: ``init_seed``, ``layer``, ``head``, ``site``.

    With the metric "candidate_path" all that were tried.
    """
    rows = circuit_rows(results, metric, arm).astype({"site": "str"})
    ends = rows["site"].str.split(">", expand=True)
    rows = rows[ends[0] != ends[1]] if len(rows) else rows
    return rows[["init_seed", "layer", "head", "site", "value"]]


def links_left(results: Results, arm: str, metric: str = "path") -> pd.Series:
    """The links along which paths are left, by network; none where no path is. ``metric`` as in ``circuit_paths``."""
    found = circuit_paths(results, arm, metric).groupby("init_seed")["site"].agg(frozenset)
    return found.reindex(results.seeds(arm)).map(lambda of: of if isinstance(of, frozenset) else frozenset())


def heads_left(results: Results, arm: str = str(FOLLOWED)) -> pd.Series:
    """How many heads have a path that is left; 0 where none has."""
    rows = circuit_paths(results, arm)
    counts = rows.drop_duplicates(["init_seed", "layer", "head"]).groupby("init_seed").size()
    return counts.reindex(results.seeds(arm), fill_value=0)


def paths_at_start(results: Results) -> pd.Series:
    """How many links, of all heads, have mean attention above one half before training."""
    rows = results.curve("attention", str(FOLLOWED))
    rows = rows[rows["step"] == 0]
    return (rows["value"] > ATTENDED).groupby(rows["init_seed"]).sum()


def _places(table: pd.DataFrame) -> pd.Series:
    return table["variable"].astype(str).str.removeprefix("x_").astype(int)
