"""Which head wins, when that is settled, and what is learnt."""

import functools
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from circuitcore.tasks.balanced_stream import BalancedStream
from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_formation.readings.networks import (
    Timed,
    crossing,
    joining_curve,
    removal_costs,
)
from retrieval_circuits.sgd_selection.design import (
    DESCENT,
    HEADS,
    LAYER,
    NETWORKS,
    ORDERS,
    PARENT,
    REPLAY,
    forked,
)

HALF = 0.5
A_QUARTER, LEAD = 0.25, 0.1
"""What a winner joins at least where SGD trains, and more than any other head: a pilot's ended at about half."""
NOBODY = -1
"""The winner of a network in which no head of the first layer joins, or reads are not answered."""


def needed(arm: str) -> tuple[float, float]:
    """What a head must join to win, and by how much more than any other: half of the values, less where SGD trains."""
    return (A_QUARTER, LEAD) if arm == DESCENT else (HALF, 0.0)


@functools.lru_cache(maxsize=128)  # nearly every check and figure asks for those of some arm
def winners(results: Results, arm: str) -> pd.Series:
    """The head of the first layer that joins most at the end, by seed; ``NOBODY`` where it lacks what is ``needed``.

    Nobody, too, where less than half of the reads are answered.
    """
    joins = results.at_final("joins", arm, layer=LAYER).pivot(index="init_seed", columns="head", values="value")
    (least, lead), ranked = needed(arm), np.sort(joins.to_numpy(), axis=1)
    leads = pd.Series((ranked[:, -1] >= least) & (ranked[:, -1] - ranked[:, -2] >= lead), joins.index)
    formed = leads & (results.final_values("accuracy", arm) >= HALF)
    return joins.idxmax(axis=1).astype(int).where(formed, NOBODY)


def parents_winner(results: Results) -> int:
    """The parent's."""
    return int(winners(results, PARENT).iloc[0])


def keeps_winner(results: Results) -> pd.DataFrame:
    """Whether forks end with the parent's winner: one row per order, one column per step at which they leave it."""
    winner = parents_winner(results)
    won = {forked_at(results, arm): winners(results, arm) for arm in ORDERS}
    return pd.DataFrame({at: (found == winner) & (found != NOBODY) for at, found in won.items()})


def forked_at(results: Results, arm: str) -> int:
    """The parent's step at which an arm's forks leave it."""
    return int(results.curve("accuracy", arm)["step"].min())


def settling_step(*, earliest: bool = False) -> OfArms:
    """Values of a reading: from which step on the winner stays under another order of the data, by order.

    The first of the points from which on it does; where it does not stay at the last one, half of the parent's joining.
    Forks are apart, so that the winner may be settled since right after the point before.

    Args:
        earliest: that point before; the first one where the winner stays from there on.
    """

    def values(results: Results) -> pd.Series:
        table = keeps_winner(results).sort_index(axis=1)
        stays = table.to_numpy()[:, ::-1].cumprod(1)[:, ::-1].astype(bool)
        steps = np.array([*table.columns, joined(results, PARENT).iloc[0]])
        first = np.where(stays.any(1), stays.argmax(1), len(steps) - 1)
        return pd.Series(steps[np.maximum(first - int(earliest), 0)], table.index)

    return OfArms((PARENT, *ORDERS), values)


@of_arms(PARENT, *ORDERS)
def settled_ahead(results: Results) -> pd.Series:
    """How many steps that is before half of the parent's joining, at least."""
    return joined(results, PARENT).iloc[0] - settling_step()(results)


def half_joined(arm: str) -> Timed:
    """Values of a reading: when a network's winner joins half of the values to their keys, or what is ``needed``."""
    return Timed(arm, lambda results: joining_curve(results, arm, layer=LAYER), needed(arm)[0])


def joined(results: Results, arm: str) -> pd.Series:
    """The same by seed; the last step where it never does."""
    return half_joined(arm)(results)


def half_read(arm: str) -> Timed:
    """Values of a reading: when half of the reads are answered right."""
    return Timed(arm, lambda results: results.curve("accuracy", arm), HALF)


def half_right(results: Results, arm: str) -> pd.Series:
    """The same by seed; the last step where they never are."""
    return half_read(arm)(results)


def time_shift(arm: str) -> OfArms:
    """Values of a reading: by how many steps a fork has half of its reads right earlier or later than the parent.

    The parent is read at the forks' checkpoints: it has twice as many, and a crossing moves with where a line is drawn.
    """

    def values(results: Results) -> pd.Series:
        own, steps = results.curve("accuracy", PARENT).sort_values("step"), results.curve("accuracy", arm)["step"]
        at = np.sort(steps.unique())
        seen = pd.DataFrame({"init_seed": 0, "step": at, "value": np.interp(at, own["step"], own["value"])})
        return (half_right(results, arm) - crossing(seen, HALF).loc[0]).abs()

    return OfArms((PARENT, arm), values)


AHEAD = 400
"""Steps, or more, before half of a network's joining at which forks leave that are asked whether they keep it."""


def _forks_of_others(results: Results, arm: str) -> pd.DataFrame:
    """Forks of networks that have a winner of their own: ``network``, ``head`` that won or ``NOBODY``, and ``own``."""
    won, own = winners(results, arm), winners(results, NETWORKS)
    table = pd.DataFrame({"network": [forked(label) for label in won.index], "head": won.to_numpy()})
    table["own"] = table["network"].map(own)
    return table[table["own"].isin(HEADS)]


def by_network(found: pd.Series, networks: pd.Series | Callable[[int], int]) -> pd.Series:
    """What is found of forks, the mean over those of one network; ``networks`` has or gives that of each."""
    return found.astype(float).groupby(networks).mean().rename_axis("init_seed")


def keeping(arm: str, *, ahead: int | None = None) -> OfArms:
    """Values of a reading: the share of a network's forks from one step that end with its own winner.

    One without a winner did not keep it. Chance for forks that have nothing of their network: one of all heads.

    Args:
        arm: which forks.
        ahead: of networks alone whose winner joins half of the values so many steps after that step or later.
    """

    def values(results: Results) -> pd.Series:
        table = _forks_of_others(results, arm)
        shares = by_network(table["head"] == table["own"], table["network"])
        if ahead is None:
            return shares
        times = joined(results, NETWORKS).reindex(shares.index)
        return shares[times - forked_at(results, arm) >= ahead]

    return OfArms((NETWORKS, arm), values)


def keeping_anothers(arm: str) -> OfArms:
    """Values of a reading: how often a network's forks end with the winner of another network, any other one.

    What the same forks would keep if they had nothing of their own network: the share of the other networks, the parent
    among them, that have the head as their winner. Without another network there is no value.
    """

    def values(results: Results) -> pd.Series:
        table, own = _forks_of_others(results, arm), winners(results, NETWORKS)
        own = own[own.isin(HEADS)]
        if len(own) < 2:
            return pd.Series(dtype=float)
        rivals = zip(table["network"], table["head"], strict=True)
        hits = [(own.drop(network) == head).mean() for network, head in rivals]
        return by_network(pd.Series(hits, table.index), table["network"])

    return OfArms((NETWORKS, arm), values)


@of_arms(NETWORKS)
def leader_stays(results: Results) -> pd.Series:
    """Whether the head that first joins half of the values, whichever it is, is the winner at the end, by network."""
    won = winners(results, NETWORKS)
    rows = results.curve("joins", NETWORKS, layer=LAYER)
    joining = rows.groupby(["init_seed", "step"])["value"].transform("max") >= HALF
    rows = rows[joining]
    first = rows[rows["step"] == rows.groupby("init_seed")["step"].transform("min")]
    leads = first.pivot(index="init_seed", columns="head", values="value").idxmax(axis=1)
    won = won[won.isin(HEADS)]
    return (leads.reindex(won.index) == won).astype(float)


def _learnt(results: Results, arms: Sequence[str]) -> pd.DataFrame:
    """Whether forks read as well as the source asks of a network, one column an arm."""
    return pd.DataFrame({arm: results.final_values("accuracy", arm) for arm in arms}) >= BEHAVIOUR.value


def learnt(*arms: str) -> OfArms:
    """Values of a reading: the share of the forks of one order, over arms, that learn the look-up."""
    return OfArms(arms, lambda results: _learnt(results, arms).mean(axis=1))


@of_arms(*ORDERS)
def removal_agrees(results: Results) -> pd.Series:
    """The share of an order's forks, of those with a winner, in which its removal costs most of its layer."""
    found = {}
    for arm in ORDERS:
        costs = removal_costs(results, arm, split=BalancedStream.reported)
        costs, won = costs.pivot(index="init_seed", columns="site", values="value"), winners(results, arm)
        dearest = costs[[f"L{LAYER}H{head}" for head in HEADS]].idxmax(axis=1).str[-1].astype(int)
        found[arm] = (dearest == won).where(won != NOBODY)
    return pd.DataFrame(found).astype(float).mean(axis=1).dropna()


@of_arms(PARENT, REPLAY)
def same_weights(results: Results) -> pd.Series:
    """The share of the checkpoints of the fork that changes nothing whose weights are its parent's at the same step."""
    prints = {arm: results.rows("fingerprints", arm=arm).set_index("step")["value"] for arm in (PARENT, REPLAY)}
    both = pd.concat(prints, axis=1, join="inner")
    return pd.Series((both[PARENT] == both[REPLAY]).mean(), results.seeds(REPLAY))
