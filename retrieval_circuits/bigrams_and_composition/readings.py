"""What claims and figures read: accuracies at the end, steps at which memories form, who holds the noise."""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.bigrams_and_composition.design import (
    BOTH,
    EVERYTHING,
    JOINT,
    LEARNING,
    LETTERS,
    NOISY,
    ONE,
    OTHERS_TO,
    SAMPLES,
    STEPS,
    WIDE,
    WITH_ADAM,
)
from retrieval_circuits.bigrams_and_composition.measures import ATTENTION, K1, K2, MLP, O2, ORDERS, RIGHT_ANGLES
from retrieval_circuits.bigrams_and_composition.published import NOISE, ORDER

MEMORIES = (O2, K2, K1)
NEARLY = 0.9
"""Share of rows in which a token that leads leads nearly always."""
IN_ORDER = ", ".join(ORDER)
"""The order of three steps as tables call it."""
OTHERS = tuple(", ".join(order) for order in ORDERS if order != ORDER)


def last(rows: pd.DataFrame) -> pd.DataFrame:
    """What was measured when training ended, indexed by seed."""
    return rows[rows["step"] == rows["step"].max()].set_index("init_seed")


def learnt(way: str, column: str = "accuracy", task: str = LEARNING) -> OfArms:
    """Values of a reading: what was measured last on a way of learning; of a generated source, or of letters."""

    @of_arms(task)
    def values(results: Results) -> pd.Series:
        return last(results.rows(task, way=way))[column]

    return values


def off_plateau(task: str = LEARNING) -> OfArms:
    """Values of a reading: how far one layer's accuracy is from the closed form, either way."""

    @of_arms(task)
    def values(results: Results) -> pd.Series:
        found = last(results.rows(task, way=ONE))
        return (found["accuracy"] - found["predicted"]).abs()

    return values


def above_plateau(task: str = LEARNING) -> OfArms:
    """Values of a reading: by how much two layers exceed what the closed form says of one."""

    @of_arms(task)
    def values(results: Results) -> pd.Series:
        found = last(results.rows(task, way=JOINT))
        return found["accuracy"] - found["predicted"]

    return values


def formed(rows: pd.DataFrame, memory: str) -> pd.Series:
    """The first measured step at which a matrix recalls half as large a share as at the end, by seed.

    Half of its own end, as W_K1 is not trained on every position, and does not come to recall all of them.
    """
    rows = rows.sort_values("step")
    half = rows.groupby("init_seed")[memory].transform("last") / 2
    return rows[rows[memory] >= half].groupby("init_seed")["step"].min().astype(float)


def later_than(first: str, second: str) -> OfArms:
    """Values of a reading: steps from the forming of one memory to that of another."""

    @of_arms(LEARNING)
    def values(results: Results) -> pd.Series:
        rows = results.rows(LEARNING, way=JOINT)
        return formed(rows, second) - formed(rows, first)

    return values


@of_arms(LEARNING)
def least_gap_with_adam(results: Results) -> pd.Series:
    """The smaller of the two gaps in the source's order, under Adam."""
    return least_gap(results.rows(LEARNING, way=WITH_ADAM))


@of_arms(LETTERS)
def least_gap_on_letters(results: Results) -> pd.Series:
    """The smaller of the two gaps in the source's order, on letters."""
    return least_gap(results.rows(LETTERS, way=JOINT))


def least_gap(rows: pd.DataFrame) -> pd.Series:
    """The smaller of the two gaps in the source's order, by seed."""
    gaps = [formed(rows, second) - formed(rows, first) for first, second in zip(ORDER, ORDER[1:], strict=False)]
    return pd.concat(gaps, axis=1).min(axis=1)


@of_arms(EVERYTHING)
def answers_first(results: Results) -> pd.Series:
    """Steps from the forming of W_O2 to that of the earlier matrix of keys, where everything is trained."""
    rows = results.rows(EVERYTHING)
    keys = pd.concat([formed(rows, memory) for memory in (K1, K2)], axis=1).min(axis=1)
    return keys - formed(rows, O2)


@of_arms(EVERYTHING)
def previous_last(results: Results) -> pd.Series:
    """Steps from the forming of W_K2 to that of W_K1, where everything is trained."""
    rows = results.rows(EVERYTHING)
    return formed(rows, K1) - formed(rows, K2)


@of_arms(EVERYTHING)
def generic_end(results: Results) -> pd.Series:
    """Accuracy at the end, where everything is trained."""
    return last(results.rows(EVERYTHING))["accuracy"]


def at_width(results: Results, *, widest: bool) -> pd.DataFrame:
    """Three steps with the most or the fewest channels, indexed by seed."""
    rows = results.rows(WIDE)
    ends = rows["d"].max() if widest else rows["d"].min()
    return rows[rows["d"] == ends].set_index("init_seed")


@of_arms(WIDE)
def answers_in_few_channels(results: Results) -> pd.Series:
    """By how much W_O2 recalls more pairs than the better matrix of keys, in the fewest channels."""
    rows = at_width(results, widest=False)
    return rows[O2] - rows[[K1, K2]].max(axis=1)


@of_arms(WIDE)
def previous_by_width(results: Results) -> pd.Series:
    """By how much W_K1 recalls more positions in the most channels than in the fewest."""
    return at_width(results, widest=True)[K1] - at_width(results, widest=False)[K1]


def at_most_samples(results: Results, order: str | list[str]) -> pd.DataFrame:
    """Rows of these orders of three steps, with the most samples."""
    rows = results.rows(STEPS, order=order)
    return rows[rows["samples"] == rows["samples"].max()]


def stepped(column: str, order: str = IN_ORDER) -> OfArms:
    """Values of a reading: a number after three steps in an order, with the most samples."""

    @of_arms(STEPS)
    def values(results: Results) -> pd.Series:
        return at_most_samples(results, order).set_index("init_seed")[column]

    return values


@of_arms(STEPS)
def worst_memory(results: Results) -> pd.Series:
    """The least share recalled by any of the three matrices, after three steps in the source's order."""
    rows = at_most_samples(results, IN_ORDER).set_index("init_seed")
    return rows[list(MEMORIES)].min(axis=1)


@of_arms(STEPS)
def best_other_order(results: Results) -> pd.Series:
    """The same of the best of all other orders, the printed one included."""
    rows = at_most_samples(results, list(OTHERS))
    return rows[list(MEMORIES)].min(axis=1).groupby(rows["init_seed"]).max()


def of_map(results: Results) -> pd.DataFrame:
    """Three steps in every order, by rows and channels, with the share that the ``worst`` of three matrices recalls."""
    rows = results.rows(BOTH)
    return rows.assign(worst=rows[list(MEMORIES)].min(axis=1))


def off_noise(memory: str) -> OfArms:
    """Values of a reading: distance of a memory's R from what noise predicts of W_O2, the mean over the map."""

    @of_arms(BOTH)
    def values(results: Results) -> pd.Series:
        rows = results.rows(BOTH, order=IN_ORDER)
        return (rows[memory] - rows["predicted"]).abs().groupby(rows["init_seed"]).mean()

    return values


def best_on_map(*orders: str) -> OfArms:
    """Values of a reading: the most that the worst of three matrices recalls, of these orders, anywhere on the map.

    Up to the samples with which all orders were followed.
    """

    @of_arms(BOTH)
    def values(results: Results) -> pd.Series:
        rows = of_map(results)
        rows = rows[rows["order"].isin(orders) & (rows["samples"] <= OTHERS_TO)]
        return rows["worst"].groupby(rows["init_seed"]).max()

    return values


def previous_at(samples: str, width: str) -> OfArms:
    """Values of a reading: positions that W_K1 recalls at an edge of the map.

    Args:
        samples: the "fewest" or the "most".
        width: the "fewest" channels, or "right angles".
    """

    @of_arms(BOTH)
    def values(results: Results) -> pd.Series:
        rows = results.rows(BOTH, order=IN_ORDER)
        n = rows["samples"].agg("min" if samples == "fewest" else "max")
        random = rows["d"] != RIGHT_ANGLES
        d = RIGHT_ANGLES if width == "right angles" else rows.loc[random, "d"].min()
        return rows[(rows["samples"] == n) & (rows["d"] == d)].set_index("init_seed")[K1]

    return values


def noisy_end(column: str, cut: str = "none") -> OfArms:
    """Values of a reading: what was measured last on the noisy task, with some part cut."""

    @of_arms(NOISY)
    def values(results: Results) -> pd.Series:
        return last(results.rows(NOISY, cut=cut))[column]

    return values


def reaches(rows: pd.DataFrame, column: str, level: float) -> pd.Series:
    """The first measured step at which a column is at least ``level``, by seed; the last step where it never is."""
    first = rows["step"].where(rows[column] >= level, rows["step"].max())
    return first.groupby(rows["init_seed"]).min().astype(float)


@of_arms(NOISY)
def context_after_pair(results: Results) -> pd.Series:
    """Steps from the noise token's to the context's answer: each when it has half of the probability it is due."""
    rows = results.rows(NOISY, cut="none")
    return reaches(rows, "context", (1 - NOISE) / 2) - reaches(rows, "noise", NOISE / 2)


@of_arms(NOISY)
def brought_back(results: Results) -> pd.Series:
    """By how much removing the MLP raises the share of positions answered from the context."""
    return noisy_end("accuracy", "0")(results) - noisy_end("accuracy")(results)


def needed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows from which on the noise token leads nearly always: ``n_tokens``, ``init_seed``, ``rows``.

    Twice the most that was tried where it does not.
    """
    short = rows["rows"].where(rows["leads"] < NEARLY, rows["rows"].min() / 2)
    found = short.groupby([rows["n_tokens"], rows["init_seed"]]).max() * 2
    return found.rename("rows").reset_index()


def power(table: pd.DataFrame, column: str) -> pd.Series:
    """The power of the number of tokens with which a column goes, by seed: a line through logarithms."""
    logs = pd.DataFrame({"x": np.log(table["n_tokens"]), "y": np.log(table[column]), "init_seed": table["init_seed"]})
    return logs.groupby("init_seed")[["x", "y"]].apply(lambda part: float(np.polyfit(part["x"], part["y"], 1)[0]))


def needed_power(part: str) -> OfArms:
    """Values of a reading: the power of N with which the rows grow that a part needs."""

    @of_arms(SAMPLES)
    def values(results: Results) -> pd.Series:
        return power(needed(results.rows(SAMPLES, part=part)), "rows")

    return values


@of_arms(SAMPLES)
def lead_power(results: Results) -> pd.Series:
    """The power of N with which attention's lead goes, after a step on the most rows, by the MLP's."""
    return power(leads(results), "ratio")


def leads(results: Results) -> pd.DataFrame:
    """Attention's lead by the MLP's after a step on the most rows: ``n_tokens``, ``init_seed``, ``ratio``."""
    rows = results.rows(SAMPLES)
    rows = rows[rows["rows"] == rows["rows"].max()]
    wide = rows.pivot(index=["n_tokens", "init_seed"], columns="part", values="lead")
    return (wide[ATTENTION] / wide[MLP]).rename("ratio").reset_index()
