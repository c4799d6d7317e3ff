"""How streams are written and asked so that lags are balanced and no rule that ignores the key is far above chance.

Two wishes pull against each other. If each lag, 0 to L - 1, is to be asked equally often, values that were written long
ago must be asked as often as fresh ones. But few values live that long where keys are overwritten at random, so that a
guess "the oldest value that still holds" would pay. So a stream is written such that about as many values live for
each number of writes: a key is overwritten at once, half the time (``AGAIN``), or else late, the sooner the longer it
has waited (``WAITING``), and before its value is L writes old. What is asked is then drawn by the lag and by the rank
of a key (how many keys were written since): the weights for both are fitted by iterated scaling on the exact
distribution of streams, such that after each write that reads may follow every lag, and every rank but the first, is
asked equally often. (Rank 0 is lag 0.)
"""

import functools
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from numpy.random import PCG64

from circuitcore.tasks.errors import TaskError

AGAIN = 48
"""In how many of 100 writes the key written last is written again."""
WAITING = 3
"""Other keys are overwritten with odds of their lag to this power."""
ROUNDS = 400
GRID = 2**30
"""Weights are whole numbers up to this: processors may differ in the last bits of a sum, not in these."""
MAX_STATES = 20_000
WORST = 1e-4  # how far the share of a lag may be from one over their number


class Law(NamedTuple):
    """How the streams of a split are drawn.

    Attributes:
        n_keys: keys of a stream; its first writes are one to each.
        n_lags: lags that are asked, 0 to ``n_lags - 1``; no value grows older.
        n_writes: writes of a stream.
        n_reads: reads of a stream, each after any of the writes from number ``n_lags - 1`` on (counted from 0).
    """

    n_keys: int
    n_lags: int
    n_writes: int
    n_reads: int

    @property
    def n_events(self) -> int:
        """Writes and reads."""
        return self.n_writes + self.n_reads

    @property
    def slots(self) -> range:
        """Numbers of the writes that reads may follow."""
        return range(self.n_lags - 1, self.n_writes)

    @property
    def read_events(self) -> range:
        """Events that can be reads."""
        return range(self.n_lags, self.n_events)


class Drawn(NamedTuple):
    """Streams without values; keys are numbered within each stream, in the order of their first writes.

    Attributes:
        key: key of each write, ``[row write]``.
        slot: number of the write that a read follows, rising, ``[row read]``.
        asked: key of each read, ``[row read]``.
        support: number of the write whose value is the answer, ``[row read]``.
    """

    key: Int64[np.ndarray, "row write"]
    slot: Int64[np.ndarray, "row read"]
    asked: Int64[np.ndarray, "row read"]
    support: Int64[np.ndarray, "row read"]


def draw(law: Law, n_rows: int, bits: PCG64) -> Drawn:
    """Streams of a law, each drawn independently."""
    every = np.arange(n_rows)
    key = np.tile(np.arange(law.n_writes), (n_rows, 1))
    last = np.tile(np.arange(law.n_keys), (n_rows, 1))
    lasts = []
    for number in range(law.n_keys, law.n_writes + 1):
        lasts.append(last.copy())
        if number < law.n_writes:
            key[:, number] = _picked(bits, write_odds(law, number - 1 - last))
            last[every, key[:, number]] = number
    states = np.stack(lasts, 1)  # [row, after the write number n_keys - 1 and on, key]
    slot = np.sort(bits.random_raw(n_rows * law.n_reads).reshape(n_rows, -1) % np.uint64(len(law.slots)), axis=1)
    slot = slot.astype(np.int64) + law.slots[0]
    held = states[every[:, None], slot - (law.n_keys - 1)]
    lag = slot[..., None] - held
    asked = _picked(bits, read_odds(law, slot, lag))
    return Drawn(key, slot, asked, np.take_along_axis(held, asked[..., None], -1)[..., 0])


def write_odds(law: Law, lag: Int64[np.ndarray, "*row key"]) -> Int64[np.ndarray, "*row key"]:
    """Odds, as whole numbers, with which each key is written next, where the value of each is ``lag`` writes old."""
    waited = lag**WAITING
    odds = np.where(lag == 0, AGAIN * waited.sum(-1, keepdims=True), (100 - AGAIN) * waited)
    due = lag == law.n_lags - 1
    return np.where(due.any(-1, keepdims=True), due.astype(np.int64), odds)


def read_odds(
    law: Law, slot: Int64[np.ndarray, " *row"], lag: Int64[np.ndarray, "*row key"]
) -> Int64[np.ndarray, "*row key"]:
    """Odds, as whole numbers, with which each key is asked for after the write ``slot``."""
    rank = (lag[..., None] > lag[..., None, :]).sum(-1)
    return read_weights(law)[(slot - law.slots[0])[..., None], lag, rank]


@functools.lru_cache(maxsize=16)
def read_weights(law: Law) -> Int64[np.ndarray, "slot lag rank"]:
    """Odds of asking for a key, by the write that was last, by the key's lag and rank (from 0); at most ``GRID``.

    Raises:
        TaskError: a law under which lags and ranks cannot be balanced.
    """
    states, fitted = _states(law), []
    for slot in law.slots:
        lags, share = states[slot]
        by_lag, by_rank = _scaled(law, lags, share)
        fitted.append(by_lag[:, None] * by_rank)
    return np.stack([np.rint(weights / weights.max() * GRID).astype(np.int64).clip(1) for weights in fitted])


def _states(law: Law) -> dict[int, tuple[Int64[np.ndarray, "state rank"], Float64[np.ndarray, " state"]]]:
    """After each write that reads may follow: the lags that all keys can have, rising, and how likely they are."""
    lags = np.array([(0, *rest) for rest in combinations(range(1, law.n_lags), law.n_keys - 1)])
    numbers = {tuple(state): number for number, state in enumerate(lags.tolist())}
    odds = write_odds(law, lags).astype(np.float64)
    odds /= odds.sum(1, keepdims=True)
    older = np.repeat(lags[:, None] + 1, law.n_keys, 1)
    older[:, np.arange(law.n_keys), np.arange(law.n_keys)] = 0
    older.sort(-1)
    after = np.array([[numbers.get(tuple(state), 0) for state in states] for states in older.tolist()])
    share = np.zeros(len(lags))
    share[numbers[tuple(range(law.n_keys))]] = 1
    found = {}
    for slot in range(law.n_keys - 1, law.n_writes):
        if slot >= law.n_keys:
            share = np.bincount(after.ravel(), (share[:, None] * odds).ravel(), minlength=len(lags))
        found[slot] = lags[share > 0], share[share > 0]
    return found


def _scaled(
    law: Law, lags: Int64[np.ndarray, "state rank"], share: Float64[np.ndarray, " state"]
) -> tuple[Float64[np.ndarray, " lag"], Float64[np.ndarray, " rank"]]:
    """Weights by lag and by rank under which every lag is asked equally often, and every rank from 1 on is."""
    wanted = np.full(law.n_keys, (1 - 1 / law.n_lags) / (law.n_keys - 1))
    wanted[0] = 1 / law.n_lags
    by_lag, by_rank = np.ones(law.n_lags), np.ones(law.n_keys)

    def asked() -> Float64[np.ndarray, "state rank"]:
        weights = by_lag[lags] * by_rank
        return weights / weights.sum(1, keepdims=True) * share[:, None]

    for _ in range(ROUNDS):
        by_rank *= wanted / asked().sum(0)
        by_lag /= np.bincount(lags.ravel(), asked().ravel(), minlength=law.n_lags).clip(1e-12) * law.n_lags
    off = np.abs(asked().sum(0) - wanted).max()
    if off > WORST:
        raise TaskError(
            f"{law.n_keys} keys, lags 0 to {law.n_lags - 1}, {law.n_writes} writes: where lags are asked equally "
            f"often, ranks are {off:.4f} off; allowed: {WORST}. More keys, or fewer lags or writes, can be balanced"
        )
    return by_lag, by_rank


def _picked(bits: PCG64, odds: Int64[np.ndarray, "*row option"]) -> Int64[np.ndarray, " *row"]:
    """An option of each row, by its odds."""
    ends = odds.cumsum(-1)
    words = bits.random_raw(odds[..., 0].size).reshape(odds.shape[:-1])
    point = (words % ends[..., -1].astype(np.uint64)).astype(np.int64)
    return (point[..., None] >= ends).sum(-1)
