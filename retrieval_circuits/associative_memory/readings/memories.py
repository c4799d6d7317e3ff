"""What is read of memories that are filled: loads at which recall ends, exponents, and how long a model guesses."""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.associative_memory.design import (
    CAPACITY,
    FACTS,
    RECALL,
    SHARED,
    TRAINED,
    ZIPF,
)
from retrieval_circuits.associative_memory.measures import NEAR

NEARLY_ALL = 0.99
"""The source's criterion: recall of at least this share."""
KNOWN = 0.1
"""Nats of loss below which facts count as known."""


def load_of(rows: pd.DataFrame, share: float = NEARLY_ALL) -> float:
    """Where recall first falls below ``share``, between two loads by their logarithm; the ends of what was tried.

    Args:
        rows: ``load`` and ``accuracy`` of one seed.
        share: of pairs.
    """
    rows = rows.sort_values("load")
    loads, recall = rows["load"].to_numpy(), rows["accuracy"].to_numpy()
    below = recall < share
    if not below.any():
        return float(loads[-1])
    at = int(below.argmax())
    if at == 0:
        return float(loads[0])
    part = (recall[at - 1] - share) / (recall[at - 1] - recall[at])
    return float(np.exp(np.interp(part, (0, 1), np.log(loads[at - 1 : at + 1]))))


def loads_of(rows: pd.DataFrame, *by: str) -> pd.Series:
    """``load_of`` of every group and seed."""
    return rows.groupby([*by, "init_seed"], observed=True)[["load", "accuracy"]].apply(load_of)


def of_sum(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the two widest memories, where corrections in 1/d are least."""
    return rows[rows["d"] >= rows["d"].max() / 2]


@of_arms(CAPACITY)
def largest_miss(results: Results) -> pd.Series:
    """How far the closed form is from the recall of Hebbian sums, at the worst load."""
    rows = of_sum(results.rows(CAPACITY, rule="hebbian"))
    return (rows["accuracy"] - rows["predicted"]).abs().groupby(rows["init_seed"]).max()


@of_arms(CAPACITY)
def step_and_sum(results: Results) -> pd.Series:
    """How far one gradient step and the Hebbian sum are apart, at the worst load."""
    rows = of_sum(results.rows(CAPACITY))
    wide = rows.pivot(index=["init_seed", "d", "load"], columns="rule", values="accuracy")
    return (wide["one step"] - wide["hebbian"]).abs().groupby("init_seed").max()


def step_at(load: float) -> OfArms:
    """Values of a reading: recall of the widest memory after one gradient step, at the largest load up to ``load``."""

    @of_arms(CAPACITY)
    def values(results: Results) -> pd.Series:
        rows = results.rows(CAPACITY, rule="one step")
        rows = rows[(rows["d"] == rows["d"].max()) & (rows["load"] <= load)]
        return rows[rows["load"] == rows["load"].max()].set_index("init_seed")["accuracy"]

    return values


def matrices(results: Results, way: tuple[str, float]) -> pd.DataFrame:
    """Trained matrices of one optimiser and rate, at the last look that their width has."""
    rows = results.rows(TRAINED, optimizer=way[0], rate=way[1])
    return rows[rows["steps"] == rows.groupby("d")["steps"].transform("max")]


def trained_load(way: tuple[str, float], *, longest: bool) -> OfArms:
    """Values of a reading: the load at which 99 % recall ends, of the widest matrices.

    Args:
        way: optimiser and rate.
        longest: of the widest that were trained for the most steps; else of the widest of all.
    """

    @of_arms(TRAINED)
    def values(results: Results) -> pd.Series:
        rows = matrices(results, way)
        rows = rows[rows["steps"] == rows["steps"].max()] if longest else rows
        return loads_of(rows[rows["d"] == rows["d"].max()])

    return values


def counted(results: Results) -> pd.DataFrame:
    """One row a width and seed: ``most`` and ``most_by_sum``, where they were looked for."""
    rows = results.rows(TRAINED)
    rows = rows[rows["most"] > 0]
    return rows.drop_duplicates(["d", "init_seed"])[["d", "init_seed", "most", "most_by_sum"]]


def exact_load(pairs: pd.Series, width: pd.Series) -> pd.Series:
    """N ln N / d^2."""
    return pairs * np.log(pairs) / width**2


@of_arms(TRAINED)
def best_load(results: Results) -> pd.Series:
    """The load up to which some matrix recalls all pairs, at the widest for which that was found."""
    rows = counted(results)
    rows = rows[rows["d"] == rows["d"].max()].set_index("init_seed")
    return exact_load(rows["most"], rows["d"])


@of_arms(TRAINED)
def best_and_sum(results: Results) -> pd.Series:
    """How many times as many pairs the best matrix recalls without an error as the Hebbian sum does."""
    rows = counted(results)
    rows = rows[rows["d"] == rows["d"].max()].set_index("init_seed")
    return rows["most"] / rows["most_by_sum"]


def reached(way: tuple[str, float]) -> OfArms:
    """Values of a reading: the load up to which training recalls all, by that up to which some matrix does.

    Both are loads that were tried, of the very same pairs, at the widest for which the latter was found.
    """

    @of_arms(TRAINED)
    def values(results: Results) -> pd.Series:
        rows, most = matrices(results, way), counted(results)
        most = most[most["d"] == most["d"].max()].set_index("init_seed")["most"]
        rows = rows[(rows["d"] == counted(results)["d"].max())].sort_values("load")
        possible = rows[rows["n_pairs"] <= rows["init_seed"].map(most)].groupby("init_seed")["load"].max()
        failed = rows["accuracy"].lt(1.0).groupby(rows["init_seed"]).cummax()
        trained = rows[~failed].groupby("init_seed")["load"].max()
        return trained.reindex(possible.index, fill_value=0.0) / possible

    return values


def growth(rule: str, classes: int) -> OfArms:
    """Values of a reading: the power of d with which the pairs grow that are recalled without an error."""

    @of_arms(SHARED)
    def values(results: Results) -> pd.Series:
        return slopes(results.rows(SHARED, rule=rule, classes=classes), "n_pairs")

    return values


def each_channel(classes: int) -> OfArms:
    """Values of a reading: pairs that some matrix recalls without an error, by twice d, at the widest."""

    @of_arms(SHARED)
    def values(results: Results) -> pd.Series:
        rows = results.rows(SHARED, rule="any", classes=classes)
        rows = rows[rows["d"] == rows["d"].max()].set_index("init_seed")
        return rows["n_pairs"] / (2 * rows["d"])

    return values


def zipf_exponent(rule: str, classes: int) -> OfArms:
    """Values of a reading: the power of d with which the error falls; below 0."""

    @of_arms(ZIPF)
    def values(results: Results) -> pd.Series:
        return slopes(results.rows(ZIPF, rule=rule, classes=classes), "error")

    return values


def slopes(rows: pd.DataFrame, column: str) -> pd.Series:
    """The power of ``d`` with which a column goes, of each seed: a line through logarithms, by least squares."""
    logs = pd.DataFrame({"init_seed": rows["init_seed"], "x": np.log(rows["d"]), "y": np.log(rows[column])})
    return logs.groupby("init_seed")[["x", "y"]].apply(lambda part: float(np.polyfit(part["x"], part["y"], 1)[0]))


def guessing(results: Results) -> pd.DataFrame:
    """How long each way of learning guesses among the relation's answers: ``way``, ``init_seed``, and in steps:

    ``begins``, when it first is within ``NEAR`` nats of a uniform guess among them, and ``guesses``, how long it is;
    ``known``, when the loss falls below ``KNOWN`` for good (the end of training where it does not); and ``share``, the
    length by that time.
    """
    rows = results.rows(RECALL).sort_values("step")
    by = [rows["way"], rows["init_seed"]]
    every = rows.groupby(by, observed=True)["step"].agg(lambda steps: steps.iloc[1] - steps.iloc[0])
    guesses = rows["from_guess"] < NEAR
    near, begins = (
        guesses.groupby(by, observed=True).sum() * every,
        rows["step"].where(guesses).groupby(by, observed=True).min(),
    )
    known = rows["step"].where(rows["loss"] >= KNOWN).groupby(by, observed=True).max() + every
    table = pd.DataFrame({"begins": begins, "guesses": near, "known": known})
    return table.assign(share=table["guesses"] / table["known"]).reset_index()


def guess(way: str, column: str = "guesses") -> OfArms:
    """Values of a reading: a column of ``guessing`` of one way of learning."""

    @of_arms(RECALL)
    def values(results: Results) -> pd.Series:
        table = guessing(results)
        return table[table["way"] == way].set_index("init_seed")[column]

    return values


def predicted_guess(way: str) -> float:
    """Steps that a way of learning should guess for: the subjects' time less the relations'."""
    facts = next(one for one in FACTS if one.name == way)
    return facts.predicted["subject"] - facts.predicted["relation"]


def predicted_begin(way: str) -> float:
    """Steps after which a way of learning should begin to guess: the relations' time."""
    return next(one for one in FACTS if one.name == way).predicted["relation"]


def worst_prediction(*ways: str) -> OfArms:
    """Values of a reading: how far the predicted time of guessing is off, by that time, where it is most."""

    @of_arms(RECALL)
    def values(results: Results) -> pd.Series:
        table = guessing(results)
        table = table[table["way"].isin(ways)]
        wanted = table["way"].astype(str).map({way: predicted_guess(way) for way in ways})
        return ((table["guesses"] - wanted).abs() / wanted).groupby(table["init_seed"]).max()

    return values


def at_end(way: str, column: str) -> OfArms:
    """Values of a reading: what was measured last on a way of learning."""

    @of_arms(RECALL)
    def values(results: Results) -> pd.Series:
        rows = results.rows(RECALL, way=way)
        return rows[rows["step"] == rows["step"].max()].set_index("init_seed")[column]

    return values
