"""Which head joins values to keys in the source's network on our stream, and in its forks; in whatever layer it is.

The same of small networks, drawn small and drawn as that one is, of which every one is forked.
"""

import numpy as np
import pandas as pd

from livingpaper.claims.reading import OfArms, Values, arms_of, at_end, worst_of
from livingpaper.claims.results import Results
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_selection.design import LARGE_PARENT, forked
from retrieval_circuits.sgd_selection.readings.winners import HALF, by_network

AT_THE_END = ["init_seed", "layer", "head"]


def joining(results: Results, arm: str) -> pd.DataFrame:
    """What every head joins at the end, in [0, 1]: networks by head, a head being its layer and its number in it."""
    rows = results.at_final("joins", arm)
    return rows.set_index(AT_THE_END)["value"].unstack(["layer", "head"])


def large_winner(results: Results) -> tuple[int, int]:
    """Layer and number of the parent's head that joins most at the end."""
    layer, head = joining(results, LARGE_PARENT).iloc[0].idxmax()
    return int(layer), int(head)


def kept_by_parents_winner(arm: str) -> OfArms:
    """Values of a reading: what the parent's winner joins at the end of its forks."""
    return OfArms((LARGE_PARENT, arm), lambda results: joining(results, arm)[large_winner(results)])


def taken_by_another(arm: str) -> OfArms:
    """Values of a reading: what the one of the other heads joins that joins most of them."""
    return OfArms(
        (LARGE_PARENT, arm),
        lambda results: joining(results, arm).drop(columns=[large_winner(results)]).max(axis=1),
    )


def most_joined(*arms: str) -> OfArms:
    """Values of a reading: what the head joins that joins most of all; the mean over these arms."""
    return OfArms(arms, lambda results: sum(joining(results, arm).max(axis=1) for arm in arms) / len(arms))


def kept_by_own_winner(networks: str, forks: str, *, as_in: str | None = None, best_other: bool = False) -> OfArms:
    """Values of a reading: what a network's head joins at the end of its forks that joins most at its own end.

    The mean over the forks, by network.

    Args:
        networks: those that are forked.
        forks: theirs, called by network and order (``LABEL``).
        as_in: of these, those alone whose network and order forks of this arm have, too.
        best_other: of the other heads, in its stead, the one that joins most in a fork.
    """

    def values(results: Results) -> pd.Series:
        own, joins = joining(results, networks).idxmax(axis=1), joining(results, forks)
        joins = joins if as_in is None else joins[joins.index.isin(results.seeds(as_in))]
        kept = {
            label: rows.drop(own[forked(label)]).max() if best_other else rows[own[forked(label)]]
            for label, rows in joins.iterrows()
        }
        return by_network(pd.Series(kept), forked)

    return OfArms((networks, forks) if as_in is None else (networks, forks, as_in), values)


def joins_again(first: str, second: str, *, anothers: bool = False) -> OfArms:
    """Values of a reading: what the head that joins most after one training of a start joins after its other.

    The mean of both ways, by start.

    Args:
        first: a training of each start.
        second: another of the same starts, on other rows.
        anothers: of two starts instead, what the winner of one joins in the other, both ways; the mean over all pairs
            that a start is in: what nothing inherited gives, whichever heads win.
    """

    def values(results: Results) -> pd.Series:
        one, other = _both(results, first, second)
        ways = [rows[leads.idxmax(axis=1)].to_numpy() for rows, leads in ((one, other), (other, one))]
        pairs = np.mean(ways, axis=0)
        pairs = (pairs + pairs.T) / 2
        if not anothers:
            return pd.Series(np.diag(pairs), one.index)
        if len(one) < 2:
            return pd.Series(dtype=float)
        return pd.Series(np.nanmean(np.where(np.eye(len(one)), np.nan, pairs), axis=1), one.index)

    return OfArms((first, second), values)


def _both(results: Results, first: str, second: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What every head joins after either training, of starts that have both."""
    return joining(results, first).align(joining(results, second), join="inner", axis=0)


def same_winner(first: str, second: str) -> OfArms:
    """Values of a reading: whether both trainings of a start end with one and the same head, by start.

    One joins half of the values or more and most of all heads, in whatever layer; without such a head there is none.
    """

    def values(results: Results) -> pd.Series:
        one, other = _both(results, first, second)
        won = (one.max(axis=1) >= HALF) & (other.max(axis=1) >= HALF)
        return (won & (one.idxmax(axis=1) == other.idxmax(axis=1))).astype(float)

    return OfArms((first, second), values)


def of_readers(values: Values, arms: tuple[str, ...]) -> OfArms:
    """A reading of those starts alone that come to read in all of these arms."""

    def found(results: Results) -> pd.Series:
        read = worst_of(*(at_end("accuracy", arm) for arm in arms))(results) >= BEHAVIOUR.value
        of = values(results)
        return of[of.index.isin(read.index[read])]

    return OfArms(tuple(dict.fromkeys((*arms_of(values), *arms))), found)


def read_by_network(forks: str) -> OfArms:
    """Values of a reading: accuracy at the end of a network's forks, the mean over them."""
    return OfArms((forks,), lambda results: by_network(results.final_values("accuracy", forks), forked))
