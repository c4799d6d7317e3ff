"""What is read of maps with a hidden layer: loads at which recall ends, powers, pairs beside a matrix, and limits."""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.associative_memory.design import (
    BEST,
    HIDDEN_LAYER,
    HIDDEN_RATES,
    HIDDEN_SIZES,
    NARROW,
    TRAINED,
)
from retrieval_circuits.associative_memory.measures import OUTPUT_LAYER, WHOLE
from retrieval_circuits.associative_memory.measures.sums import pairs_at
from retrieval_circuits.associative_memory.readings.memories import loads_of, matrices

AS_WIDE = 16
"""d of the matrix with as many parameters as the smallest map, d^2 = 2 m d."""


def ends(results: Results, trained: str = WHOLE, classes: int = 0, rate: float = HIDDEN_RATES[0]) -> pd.DataFrame:
    """Where 99 % recall ends at the last look: ``d``, ``hidden``, ``init_seed``, ``load``, ``product`` (m d).

    Args:
        results: of the study.
        trained: both layers, or the output layer alone.
        classes: outputs that inputs share, 0 for one each.
        rate: of Adam.
    """
    rows = results.rows(HIDDEN_LAYER, trained=trained, classes=classes, rate=rate)
    rows = rows[rows["steps"] == rows["steps"].max()]
    table = loads_of(rows, "d", "hidden").rename("load").reset_index()
    return table.assign(product=table["d"] * table["hidden"])


def at_size(table: pd.DataFrame, size: tuple[int, int]) -> pd.Series:
    """The load of one size, by seed."""
    return table[(table["d"] == size[0]) & (table["hidden"] == size[1])].set_index("init_seed")["load"]


def ends_at(size: tuple[int, int], **which: str | float | int) -> OfArms:
    """Values of a reading: the load at which 99 % recall ends, of one size; ``which`` as in ``ends``."""

    @of_arms(HIDDEN_LAYER)
    def values(results: Results) -> pd.Series:
        return at_size(ends(results, **which), size)

    return values


def power(classes: int) -> OfArms:
    """Values of a reading: the power of the hidden units with which N ln N grows, or N where outputs are shared."""

    @of_arms(HIDDEN_LAYER)
    def values(results: Results) -> pd.Series:
        table = ends(results, classes=classes)
        table = table[table["d"] == NARROW]
        logs = pd.DataFrame({"x": np.log(table["product"]), "y": np.log(table["load"] * table["product"])})
        logs = logs.assign(init_seed=table["init_seed"])
        return logs.groupby("init_seed")[["x", "y"]].apply(lambda part: float(np.polyfit(part["x"], part["y"], 1)[0]))

    return values


def pairs_of(load: pd.Series, product: pd.Series | int) -> pd.Series:
    """The N with that N ln N / product."""
    products = np.broadcast_to(product, load.shape)
    found = [pairs_at(one, float(other) ** 0.5) for one, other in zip(load, products, strict=True)]
    return pd.Series(found, index=load.index)


def beside_matrix(trained: str) -> OfArms:
    """Values of a reading: pairs of the smallest map by those of a matrix of as many parameters, trained at its best.

    Args:
        trained: both layers, or the output layer alone; parameters are counted of both.
    """

    @of_arms(HIDDEN_LAYER, TRAINED)
    def values(results: Results) -> pd.Series:
        size = HIDDEN_SIZES[0]
        rows = matrices(results, BEST)
        rows = rows[rows["d"] == AS_WIDE]
        if rows.empty:  # a tier without such a matrix: nothing to read
            return pd.Series(dtype=float)
        matrix = loads_of(rows)
        own = at_size(ends(results, trained=trained), size)
        return (pairs_of(own, size[0] * size[1]) / pairs_of(matrix, AS_WIDE**2)).dropna()

    return values


def alone_by_whole(size: tuple[int, int]) -> OfArms:
    """Values of a reading: load where the output layer alone is trained, by that where both are."""

    @of_arms(HIDDEN_LAYER)
    def values(results: Results) -> pd.Series:
        return at_size(ends(results, trained=OUTPUT_LAYER), size) / at_size(ends(results), size)

    return values


def intercepts(table: pd.DataFrame, correction: str) -> pd.Series:
    """Where a line through loads meets a correction of zero, by seed, by least squares.

    Args:
        table: ``load``, ``product`` (N ln N by the load) and ``init_seed``.
        correction: "1/ln N", or "1/√p" with p the product.
    """
    pairs = pairs_of(table["load"], table["product"])
    x = 1 / np.log(pairs) if correction == "1/ln N" else 1 / np.sqrt(table["product"])
    parts = pd.DataFrame({"x": x, "y": table["load"], "init_seed": table["init_seed"]})
    return parts.groupby("init_seed")[["x", "y"]].apply(lambda part: float(np.polyfit(part["x"], part["y"], 1)[1]))


def narrow_maps(results: Results) -> pd.DataFrame:
    """Loads of the maps of one width, as ``ends`` has them."""
    table = ends(results)
    return table[table["d"] == NARROW]


def narrow_matrices(results: Results) -> pd.DataFrame:
    """Loads of trained matrices that had all steps: ``init_seed``, ``load``, ``product`` (d^2)."""
    rows = matrices(results, BEST)
    rows = rows[rows["steps"] == rows["steps"].max()]
    table = loads_of(rows, "d").rename("load").reset_index()
    return table.assign(product=table["d"] ** 2)
