"""What becomes of the winner, and of the look-up, when a part is changed while it is trained."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms, of_arms
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.readings.networks import total_looks
from retrieval_circuits.sgd_selection.design import (
    DAMPED,
    DRAWN_FORK,
    HEADS,
    LAYER,
    OWN_HEADS,
    PARENT,
    TOLD,
)
from retrieval_circuits.sgd_selection.readings.winners import NOBODY, half_read, half_right, winners


def boosted_wins(arms: Sequence[str]) -> OfArms:
    """Values of a reading: the share of the heads that win when their own updates are boosted, by order.

    Chance: one of all.

    Args:
        arms: those in which heads are boosted, in the order of the heads.
    """

    def values(results: Results) -> pd.Series:
        found = {head: winners(results, arm) == head for head, arm in zip(HEADS, arms, strict=True)}
        return pd.DataFrame(found).dropna().astype(float).mean(axis=1)

    return OfArms(tuple(arms), values)


def _damped_ends(results: Results, *, of_winner: bool) -> pd.DataFrame:
    """Which head wins where one is damped, by order and head that is damped; of those that win undamped, or of others.

    Of orders alone under which, with nothing damped, some head wins.
    """
    plain = winners(results, OWN_HEADS[0])
    plain = plain[plain != NOBODY]
    ends = pd.DataFrame({head: winners(results, arm) for head, arm in zip(HEADS, DAMPED, strict=True)})
    ends = ends.reindex(plain.index)
    return ends.where(_of_each_head(plain) == of_winner)


def _of_each_head(won: pd.Series) -> np.ndarray:
    """Whether each head is the one that won: a row an order, a column a head."""
    return won.to_numpy()[:, None] == np.array(HEADS)


@of_arms(*DAMPED, OWN_HEADS[0])
def replaced_when_damped(results: Results) -> pd.Series:
    """Whether another head wins where the one that wins undamped is damped, by order; nobody is no other head."""
    ends = _damped_ends(results, of_winner=True).max(axis=1).dropna()
    plain = winners(results, OWN_HEADS[0]).reindex(ends.index)
    return ((ends != plain) & (ends != NOBODY)).astype(float)


@of_arms(*DAMPED, OWN_HEADS[0])
def stays_when_another_is_damped(results: Results) -> pd.Series:
    """The share of the other heads of which one can be damped and the winner stays, by order."""
    ends = _damped_ends(results, of_winner=False)
    plain = winners(results, OWN_HEADS[0]).reindex(ends.index)
    return ends.eq(plain, axis=0).where(ends.notna()).astype(float).mean(axis=1).dropna()


def whose_heads_win(arms: Sequence[str], *, others: bool) -> OfArms:
    """Values of a reading: of the two forks of one order, how many the winner of their heads' network wins.

    Without an order under which both are there, and where parent and drawn fork have the same winner or one has none,
    there is no value.

    Args:
        arms: forks of the parent and of the drawn fork.
        others: whether their heads are the other's; else the winner of their own network is looked for.
    """

    def values(results: Results) -> pd.Series:
        own = [int(winners(results, arm).iloc[0]) for arm in (PARENT, DRAWN_FORK)]
        if own[0] == own[1] or NOBODY in own:
            return pd.Series(dtype=float)
        heads = own[::-1] if others else own
        hits = {arm: winners(results, arm) == head for arm, head in zip(arms, heads, strict=True)}
        return pd.DataFrame(hits).dropna().astype(float).mean(axis=1)

    return OfArms((PARENT, DRAWN_FORK, *arms), values)


def delays(arms: Sequence[str], plain: str, *, of_winner: bool) -> OfArms:
    """Values of a reading: how many steps later half of the reads are right without a head than with all, by order.

    Args:
        arms: those in which heads are held, in the order of the heads.
        plain: the arm of the same orders with nothing held.
        of_winner: the head that wins under the same order with nothing held; else one of the others, on average.
    """

    def values(results: Results) -> pd.Series:
        won = winners(results, plain)
        times = pd.DataFrame({head: half_right(results, arm) for head, arm in zip(HEADS, arms, strict=True)})
        late = times.sub(half_right(results, plain), axis=0).dropna()
        return late.where(_of_each_head(won.reindex(late.index)) == of_winner).mean(axis=1).dropna()

    return OfArms((*arms, plain), values)


def looks_gained(arm: str) -> OfArms:
    """Values of a reading: by how much the largest attention to the value asked for grows, from first step to last."""

    def values(results: Results) -> pd.Series:
        rows = total_looks(results, arm)
        most = rows.groupby(["init_seed", "step"])["value"].max().unstack().sort_index(axis=1)
        return most.iloc[:, -1] - most.iloc[:, 0]

    return OfArms((arm,), values)


def share_of_time(arm: str, of: str) -> OfArms:
    """Values of a reading: steps until half of the reads are right, over those of another arm's network of the seed."""

    def values(results: Results) -> pd.Series:
        return (half_right(results, arm) / half_right(results, of)).dropna()

    return OfArms((of, arm), values)


def comes_to_read(arm: str) -> OfArms:
    """Values of a reading: whether half of the reads are right at some step, by network."""

    def values(results: Results) -> pd.Series:
        return np.isfinite(half_read(arm).reached(results)).astype(float)

    return OfArms((arm,), values)


def others_join(arm: str) -> OfArms:
    """Values of a reading: the most that a head of the first layer joins at the end, but for the one that is told."""

    def values(results: Results) -> pd.Series:
        joins = results.at_final("joins", arm, layer=LAYER)
        return joins[joins["head"] != TOLD].groupby("init_seed")["value"].max()

    return OfArms((arm,), values)
