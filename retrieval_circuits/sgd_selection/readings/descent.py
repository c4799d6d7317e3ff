"""Networks trained by SGD, beside those that Adam trains from the same starting weights on the same rows."""

import pandas as pd

from livingpaper.claims.reading import of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_selection.design import DESCENT, HEADS, MOMENTA, NETWORKS, RATED, RATES
from retrieval_circuits.sgd_selection.measures import called
from retrieval_circuits.sgd_selection.readings.winners import winners


def tuned(results: Results) -> pd.DataFrame:
    """The loss that SGD comes to, nats a word: rows by rate, columns by momentum."""
    ends = results.at_final("loss", RATED).set_index("variable")["value"]
    return pd.DataFrame({m: {rate: ends[called(rate, m)] for rate in RATES} for m in MOMENTA})


def losses(results: Results, arm: str) -> pd.DataFrame:
    """Loss in nats of every word that is trained on: rows by network, columns by step."""
    return results.rows("pushes", arm=arm, metric="loss").pivot(index="init_seed", columns="step", values="value")


def _pairs(results: Results) -> pd.DataFrame:
    """The winners of starts from which networks of both kinds have one: columns ``NETWORKS`` and ``DESCENT``."""
    found = pd.DataFrame({arm: winners(results, arm) for arm in (NETWORKS, DESCENT)}).dropna()
    return found[found.isin(HEADS).all(axis=1)]


@of_arms(NETWORKS, DESCENT)
def shares_winner(results: Results) -> pd.Series:
    """Whether the winner is that of Adam's network of the same start and rows."""
    found = _pairs(results)
    return (found[DESCENT] == found[NETWORKS]).astype(float)


@of_arms(NETWORKS, DESCENT)
def shares_anothers(results: Results) -> pd.Series:
    """The share of Adam's networks of other starts that have the same winner."""
    found = _pairs(results)
    if len(found) < 2:
        return pd.Series(dtype=float)
    of_adam = found[NETWORKS]
    hits = {seed: (of_adam.drop(seed) == head).mean() for seed, head in found[DESCENT].items()}
    return pd.Series(hits, dtype=float).rename_axis("init_seed")


@of_arms(NETWORKS, DESCENT)
def joins_at_equal_loss(results: Results) -> pd.Series:
    """How much more the head that joins most joins than in Adam's network of the same start, at the loss both reach.

    Each at its first checkpoint whose loss is at most the lowest that both have; pushes are measured there.
    """
    both = {arm: (losses(results, arm), _most_joined(results, arm)) for arm in (NETWORKS, DESCENT)}
    seeds = both[NETWORKS][0].index.intersection(both[DESCENT][0].index)
    reached = pd.concat([of_arm.min(axis=1) for of_arm, _ in both.values()], axis=1).max(axis=1)
    at = {
        arm: [joined.loc[seed, loss.loc[seed].le(reached[seed]).idxmax()] for seed in seeds]
        for arm, (loss, joined) in both.items()
    }
    return pd.Series(at[DESCENT], seeds, dtype=float) - pd.Series(at[NETWORKS], seeds, dtype=float)


def _most_joined(results: Results, arm: str) -> pd.DataFrame:
    """The most that any head joins: rows by network, columns by step."""
    rows = results.rows("pushes", arm=arm, metric="joins")
    return rows.groupby(["init_seed", "step"])["value"].max().unstack()
