"""How much of another row's answer a part of a network carries into a row, and how alike gradients of reads are."""

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import OTHERS, REPORTED
from retrieval_circuits.sgd_formation.measures.hypotheses import OTHER

SECOND = "L1H*"
"""All heads of the second layer."""
TO_KEYS, TO_QUERIES, OWN_TO_QUERIES = "L0H*>MLP->L1H*.k", "L0MLP->L1H*.q", "embed->L1H*.q"
TO_VALUES, OWN_TO_VALUES = "L0MLP->L1H*.v", "embed->L1H*.v"
"""Paths into heads of the second layer: from those of the first, from the MLP behind them, and from the embedding."""
LEAST_CHANGE = 1.0
"""Logits of change below which there is no answer to carry, and no share is read."""


def shares_of_change(results: Results, arm: str) -> pd.DataFrame:
    """What each part moves by what there is to move; missing where that is less than ``LEAST_CHANGE``."""
    text = ("metric", "site", "variable", "edit", "split", "family")
    rows = results.rows("hypotheses", arm=arm).astype(dict.fromkeys(text, "str"))
    by = ["init_seed", "step", "split", "variable"]
    change = rows[rows["metric"] == "change"].set_index(by)["value"].rename("change")
    moved = rows[rows["metric"] == "moved"].join(change, on=by)
    return moved.assign(share=(moved["value"] / moved["change"]).where(moved["change"] >= LEAST_CHANGE))


def shares_at_end(results: Results, arm: str) -> pd.DataFrame:
    """The same on new rows at the end of training, where there is an answer to carry."""
    shares = at_last_step(shares_of_change(results, arm))
    return shares[shares["split"] == REPORTED[arm]].dropna(subset="share")


def at_last_step(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the end of training."""
    return rows[rows["step"] == rows["step"].max()]


def carries(differs: str, edit: str, site: str, family: str = OTHER) -> OfArms:
    """Values of a reading: the share of the change that a part carries, of the other shipped networks.

    Args:
        differs: what the two rows differ in.
        edit: which part of the heads is exchanged, or that it is a path.
        site: the heads, or the path.
        family: which rows it is taken from.
    """

    @of_arms(OTHERS)
    def values(results: Results) -> pd.Series:
        rows = shares_at_end(results, OTHERS)
        wanted = {"variable": differs, "edit": edit, "site": site, "family": family}
        for name, value in wanted.items():
            rows = rows[rows[name] == value]
        return rows.set_index("init_seed")["share"]

    return values


def pushes_alike(variable: str, *, by_lot: bool = False) -> OfArms:
    """Values of a reading: how much more alike gradients of reads are that have something in common than of others.

    Args:
        variable: what they have in common.
        by_lot: instead, how much more at most where labels are shuffled, but for one case in forty.
    """

    @of_arms(OTHERS)
    def values(results: Results) -> pd.Series:
        rows = at_last_step(results.rows("geometry", arm=OTHERS, variable=variable))
        wide = rows.pivot(index="init_seed", columns="metric", values="value")
        return wide["by_lot"] if by_lot else wide["alike"] - wide["unlike"]

    return values
