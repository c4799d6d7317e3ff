"""What predicts the winner, and what its growth is made of."""

import functools

import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_selection.design import DESCENT, N_LAGS, NETWORKS, SLOWER, TRACED
from retrieval_circuits.sgd_selection.readings.winners import NOBODY, joined, winners

FROM, UP_TO = 1000, 100
"""Steps before half of the joining within which predictions are scored."""
LATEST = 300
"""Steps before half of the joining at which one prediction is asked for."""
AFTER_WARM_UP = 200
PACE = {NETWORKS: 1, DESCENT: SLOWER}
"""How many steps count as one: networks trained by SGD have so many times the steps, and checkpoints as far apart."""


@functools.lru_cache(maxsize=64)  # each part is put beside the same whole
def grown_by(results: Results, metric: str, variable: str = "") -> pd.Series:
    """The part of the winner's growth in ``TRACED`` that a metric of the updates has, summed over them, by order."""
    rows = results.rows("updates", arm=TRACED, metric=metric, variable=variable)
    table = rows.pivot_table(index="init_seed", columns="head", values="value", aggfunc="sum")
    won = winners(results, TRACED)
    won = won[won != NOBODY]
    return pd.Series([table.loc[order, head] for order, head in won.items()], won.index, dtype=float)


def share_of_growth(metric: str) -> OfArms:
    """Values of a reading: that part, by the part of the whole updates."""
    return OfArms((TRACED,), lambda results: grown_by(results, metric) / grown_by(results, "linear"))


def older_by(results: Results, lag: int) -> pd.Series:
    """What a gradient of so many updates ago does for the winner, by what the current one does; of equal weights."""
    return grown_by(results, "lag", str(lag)) / grown_by(results, "lag", "0")


@of_arms(TRACED)
def older_gradients(results: Results) -> pd.Series:
    """The same on average over all gradients that are followed but the current one."""
    return sum(older_by(results, lag) for lag in range(1, N_LAGS + 1)) / N_LAGS


def predicted(results: Results, metric: str, arm: str = NETWORKS) -> pd.DataFrame:
    """Which head a metric puts first at each checkpoint of each network: rows by network, columns by step."""
    rows = results.rows("pushes", arm=arm, metric=metric)
    wide = rows.pivot(index=["init_seed", "step"], columns="head", values="value")
    return wide.idxmax(axis=1).astype(int).unstack()


def _before(results: Results, table: pd.DataFrame, arm: str) -> pd.DataFrame:
    """How many steps each checkpoint is before half of the joining, in the shape of ``table``, of networks that won.

    Counted in steps of Adam's networks (``PACE``).
    """
    times = joined(results, arm)[winners(results, arm) != NOBODY]
    steps = table.columns.to_numpy(float)
    return pd.DataFrame((times.to_numpy()[:, None] - steps) / PACE[arm], times.index, table.columns)


def ranked_first(metric: str, arm: str = NETWORKS) -> OfArms:
    """Values of a reading: the share of checkpoints before half of the joining at which a metric puts the winner first.

    Those from ``FROM`` to ``UP_TO`` steps before. Chance: one of all heads.
    """

    def values(results: Results) -> pd.Series:
        table = predicted(results, metric, arm)
        before = _before(results, table, arm)
        hits = table.loc[before.index].eq(winners(results, arm)[before.index], axis=0)
        return hits.where((before <= FROM) & (before >= UP_TO)).astype(float).mean(axis=1)

    return OfArms((arm,), values)


def ranked_first_at(metric: str, before_by: int | None = LATEST) -> OfArms:
    """Values of a reading: whether a metric puts the winner first so many steps before half of the joining.

    At the last checkpoint that is so early; None: at the first checkpoint of all.
    """

    def values(results: Results) -> pd.Series:
        table = predicted(results, metric)
        before = _before(results, table, NETWORKS)
        won = winners(results, NETWORKS)[before.index]
        early = before.where(before >= before_by) if before_by is not None else before
        at = early.idxmin(axis=1) if before_by is not None else early.idxmax(axis=1)
        return pd.Series([float(table.loc[seed, at[seed]] == won[seed]) for seed in before.index], before.index)

    return OfArms((NETWORKS,), values)


def selection_law(arm: str, metric: str = "push") -> OfArms:
    """Values of a reading: how often the head that a metric puts first gains most next, up to half of the joining.

    The share of checkpoints. Next: up to the following one at which pushes are measured. Chance: one of all heads.
    """

    def values(results: Results) -> pd.Series:
        first = predicted(results, metric, arm)
        joins = results.rows("pushes", arm=arm, metric="joins")
        wide = joins.pivot(index=["init_seed", "head"], columns="step", values="value")
        gains = wide.diff(axis=1).shift(-1, axis=1).iloc[:, :-1].stack().unstack("head")
        gained = gains.idxmax(axis=1).astype(int).unstack()
        before = _before(results, first, arm)[gained.columns]
        hits = first.loc[before.index, gained.columns].eq(gained.loc[before.index])
        trained = before.columns.to_numpy() >= AFTER_WARM_UP
        return hits.where((before > 0) & trained).astype(float).mean(axis=1).dropna()

    return OfArms((arm,), values)
