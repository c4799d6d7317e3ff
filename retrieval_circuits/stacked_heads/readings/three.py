"""What is read off networks on chains of three: what is learnt in which order, and where heads look at the end."""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import THREE, Cell, Lesson
from retrieval_circuits.stacked_heads.readings.grid import ATTENDED, LEARNT, circuit_paths, final_loss, final_losses
from retrieval_circuits.stacked_heads.readings.lessons import end_of_stage

AHEAD = (("value_0", "value_1"), ("value_0", "value_2"), ("value_1", "value_2"))
"""Links from where an answer stands to a later one, as doubling needs."""
VARIABLES = ["x_1", "x_2", "x_3"]


def symbols_learnt(cell: Cell | Lesson) -> OfArms:
    """Values of a reading: how many symbols of the chain a network has learnt at the end."""

    @of_arms(str(cell))
    def values(results: Results) -> pd.Series:
        table = final_losses(results, cell)
        return (table["value"] < LEARNT).groupby(table["init_seed"]).sum()

    return values


@of_arms(*map(str, THREE))
def seen_in_order(results: Results) -> pd.Series:
    """Of a seed's networks that learnt more than the first symbol, the share with none seen before an earlier one.

    A symbol is seen at the first checkpoint with an error below the threshold. Two that are first seen at the same one
    are in order: what lies between checkpoints is not known. One that never comes is later than any.
    """
    found = []
    for cell in THREE:
        curve = results.curve("partial_loss", str(cell))
        learnt = curve[curve["value"] < LEARNT].assign(
            cell=str(cell), variable=lambda rows: rows["variable"].astype(str)
        )
        found.append(learnt.groupby(["init_seed", "cell", "variable"])["step"].min())
    first = pd.concat(found).unstack("variable", fill_value=np.inf).reindex(columns=VARIABLES, fill_value=np.inf)
    asked = first[np.isfinite(first[VARIABLES[1:]]).any(axis="columns")]
    ordered = (asked[VARIABLES[0]] <= asked[VARIABLES[1]]) & (asked[VARIABLES[1]] <= asked[VARIABLES[2]])
    return ordered.groupby("init_seed").mean()


def looked_along(cell: Cell | Lesson, *links: tuple[str, str], before_the_last: bool = False) -> OfArms:
    """Values of a reading: attention at the end along any of the links, of the head that has most of it.

    Args:
        cell: whose networks.
        links: which.
        before_the_last: heads of the last layer are left out. What they bring to an answer's position nothing reads.
    """

    @of_arms(str(cell))
    def values(results: Results) -> pd.Series:
        rows = results.tables["links"]
        rows = rows[(rows["arm"] == str(cell)) & rows["site"].astype(str).isin([">".join(link) for link in links])]
        rows = rows[rows["layer"] < cell.n_layers - before_the_last]
        return rows.groupby("init_seed")["value"].max()

    return values


def learnt_with(cell: Cell | Lesson, link: tuple[str, str]) -> OfArms:
    """Values of a reading: 1 where a network has learnt the last symbol and a head looks along the link, or neither.

    Heads of the last layer are left out, as in ``looked_along``.
    """

    @of_arms(str(cell))
    def values(results: Results) -> pd.Series:
        learnt = final_loss(cell, cell.n_steps)(results) < LEARNT
        looked = looked_along(cell, link, before_the_last=True)(results) >= ATTENDED
        return (learnt == looked.reindex(learnt.index)).astype(float)

    return values


def paths_ahead(cell: Cell) -> OfArms:
    """Values of a reading: how many paths from an answer to a later one are left in the circuit that is read."""

    @of_arms(str(cell))
    def values(results: Results) -> pd.Series:
        paths = circuit_paths(results, str(cell))
        ahead = paths[paths["site"].isin([">".join(link) for link in AHEAD])]
        return ahead.groupby("init_seed").size().reindex(results.seeds(str(cell)), fill_value=0)

    return values


def error_at_the_end_of(lesson: Lesson, stage: int) -> OfArms:
    """Values of a reading: error on training rows in the last epoch of a stage, counted from 1."""

    @of_arms(str(lesson))
    def values(results: Results) -> pd.Series:
        return end_of_stage(results, lesson, stage).set_index("init_seed")["loss"]

    return values
