"""How well streams can be foreseen at best: the loss, and the right guesses, of who knows how they are drawn.

What is read is certain for whoever reads; what is written is not, nor is what comes next and which key. The loss of
such a reader on fresh rows is the entropy of the stream. A network with a lower loss on rows trained on knows them by
heart. Losses are exact, row by row: minus the logarithm of the row's probability, summed part by part over its tokens.
"""

import functools
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.base import Batch
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.stream_balance import Law, read_odds, write_odds
from circuitcore.tasks.stream_kv import PLAN_ATTEMPTS, SHAPES, Shape, StreamKV
from circuitcore.tasks.streams import READ, WRITE, Events

Rows = Float64[np.ndarray, " row"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Foreseen:
    """What is known of rows before they are seen.

    Attributes:
        nats: part of a row -> loss on it of who knows the law, summed over the row's tokens. Parts that cost nothing
            (answers, ``<eos>``) are not there.
        n_targets: tokens that are predicted in each row.
        guessed: tokens of each row that who guesses the likeliest next one can expect to guess right; None where that
            is not counted.
    """

    nats: Mapping[str, Rows]
    n_targets: Rows
    guessed: Rows | None = None

    @property
    def floor(self) -> float:
        """Loss in nats a token, over all tokens of all rows."""
        return float(sum(part.sum() for part in self.nats.values()) / self.n_targets.sum())

    @property
    def token_accuracy(self) -> float:
        """Share of all tokens that are guessed right.

        Raises:
            TaskError: where that is not counted.
        """
        if self.guessed is None:
            raise TaskError("the likeliest next token is not counted on the source's stream; only losses are")
        return float(self.guessed.sum() / self.n_targets.sum())


def foreseen_source(task: StreamKV, split: str) -> Foreseen:
    """The rows of a split of ``StreamKV``, by parts "structure" (what comes, and which key) and "values".

    That no stream comes twice is left out: it moves nothing that could be seen.

    Raises:
        TaskError: "counterfactual", whose rows are other rows changed, or a name that is no split.
    """
    if split not in SHAPES:
        raise TaskError(unknown("split that is drawn by a law", split, tuple(SHAPES)))
    shape, held = SHAPES[split], task.held_out.numpy()
    batch = task.split(split)
    return source_parts(_columns(task.words.events(batch)), shape, held if shape.held_out else ~held, _targets(batch))


def source_parts(
    events: tuple[np.ndarray, ...], shape: Shape, allowed: Bool[np.ndarray, "key value"], n_targets: Rows
) -> Foreseen:
    """The same of any streams that a shape's law can make, from kinds, keys and values ``[row event]``."""
    kind, key, value = events
    nats = _of_counts(kind, key, shape, len(allowed))
    free, used, values = np.arange(len(key)), np.zeros((len(key), allowed.shape[1]), dtype=bool), np.zeros(len(key))
    for event in range(kind.shape[1]):
        rows = free[kind[:, event] == WRITE]
        values[rows] += np.log((allowed[key[rows, event]] & ~used[rows]).sum(1))
        used[rows, value[rows, event]] = True
    return Foreseen(nats={"structure": nats, "values": values}, n_targets=n_targets)


def _of_counts(
    kind: Int64[np.ndarray, "row event"], key: Int64[np.ndarray, "row event"], shape: Shape, n_words: int
) -> Rows:
    """Minus the logarithm of the probability of which events come, and of which keys."""
    every, n_writes, n_reads = np.arange(len(key)), (kind == WRITE).sum(1), (kind == READ).sum(1)
    written = np.zeros((len(key), n_words), dtype=np.int64)
    last, before = np.full((len(key), n_words), -1), np.full(len(key), -1)
    n_keys = ((key[..., None] == np.arange(n_words)) & (kind == WRITE)[..., None]).any(1).sum(1)
    nats, candidates, here, slot = np.zeros(len(key)), np.zeros(len(key)), np.zeros(len(key)), np.full(len(key), -1)
    for event in range(kind.shape[1]):
        rows = every[kind[:, event] == WRITE]
        nats[rows] += np.log(_choices(written[rows], before[rows], n_keys[rows], slot[rows] + 1, n_words))
        slot[rows] += 1
        here[rows], before[rows] = 0, key[rows, event]
        written[rows, before[rows]] += 1
        last[rows, before[rows]] = slot[rows]
        lag = slot[rows, None] - last[rows]
        asked = (written[rows] > 1) & (lag >= shape.lags[0]) & (lag <= shape.lags[1])
        candidates[rows] += asked.sum(1)
        reads = every[kind[:, event] == READ]
        here[reads] += 1
        nats[reads] += np.log(here[reads])  # the reads of a slot come in any order
    plans = _plan_nats(shape, np.stack([n_keys, n_writes - n_keys, n_reads, candidates.astype(np.int64)], 1))
    return nats + plans


def _choices(
    written: Int64[np.ndarray, "row key"],
    before: Int64[np.ndarray, " row"],
    n_keys: Int64[np.ndarray, " row"],
    number: Int64[np.ndarray, " row"],
    n_words: int,
) -> Int64[np.ndarray, " row"]:
    """From how many keys, all as likely, the key of write ``number`` is chosen."""
    may = (written > 0) & (np.arange(n_words) != before[:, None])
    fewest = np.where(may, written, np.iinfo(np.int64).max).min(1, keepdims=True)
    return np.where(number < n_keys, n_words - number, (may & (written == fewest)).sum(1))


def _plan_nats(shape: Shape, counts: Int64[np.ndarray, "row count"]) -> Rows:
    """Of how many keys, overwrites and reads there are, and which of the candidates are read."""
    chosen = _chosen(shape)
    kinds, place = np.unique(counts, axis=0, return_inverse=True)
    of_kind = [
        math.log(math.comb(candidates, reads))
        + math.log(enough(keys, overwrites, reads, shape.lags))
        - math.log(chosen[keys, overwrites, reads])
        for keys, overwrites, reads, candidates in kinds.tolist()
    ]
    return np.array(of_kind)[place.ravel()]


def _chosen(shape: Shape) -> Mapping[tuple[int, int, int], float]:
    """How likely each number of keys, overwrites and reads is, given that a plan is found for it."""
    ranges = [range(low, high + 1) for low, high in shape[:3]]
    found = {
        (keys, overwrites, reads): 1 - (1 - enough(keys, overwrites, reads, shape.lags)) ** PLAN_ATTEMPTS
        for keys in ranges[0]
        for overwrites in ranges[1]
        for reads in ranges[2]
    }
    total = sum(found.values())
    return {numbers: share / total for numbers, share in found.items()}


def enough(n_keys: int, n_overwrites: int, n_reads: int, lags: tuple[int, int]) -> float:
    """How likely a plan of writes has as many places for reads as there are to be."""
    return math.fsum(share for places, share in _places(n_keys, n_overwrites, lags).items() if places >= n_reads)


@functools.cache
def _places(n_keys: int, n_overwrites: int, lags: tuple[int, int]) -> Mapping[int, float]:
    """How likely each number of candidates for reads is, by the states that plans can be in.

    A state: of each key the writes since its last one (no more than count) and how often it was overwritten.
    """
    oldest = lags[1] + 1
    states = {(tuple(sorted((min(age, oldest), 0) for age in range(n_keys))), 0): 1.0}
    for _ in range(n_overwrites):
        after: dict[tuple[tuple[tuple[int, int], ...], int], float] = defaultdict(float)
        for (keys, places), share in states.items():
            fewest = min(times for age, times in keys if age)
            may = [number for number, (age, times) in enumerate(keys) if age and times == fewest]
            for number in may:
                moved = [(min(age + 1, oldest), times) for age, times in keys]
                moved[number] = (0, keys[number][1] + 1)
                more = sum(lags[0] <= age <= lags[1] and times > 0 for age, times in moved)
                after[tuple(sorted(moved)), places + more] += share / len(may)
        states = after
    found: dict[int, float] = defaultdict(float)
    for (_, places), share in states.items():
        found[places] += share
    return found


def our_parts(task: BalancedStream, batch: Batch, law: Law) -> Foreseen:
    """The same of any rows of a law."""
    kind, key, value = _columns(task.words.events(batch))
    n_rows, n_words = len(kind), task.n_key_words
    every, allowed = np.arange(n_rows), ~task.held_out.numpy()
    parts = {name: np.zeros(n_rows) for name in ("events", "keys", "values")}
    guessed = 1 + np.full(n_rows, law.n_reads, dtype=np.float64)  # the end, and every answer
    used, last = np.zeros((n_rows, task.n_value_words), dtype=bool), np.full((n_rows, n_words), -1)
    writes, reads, here = np.zeros((3, n_rows), dtype=np.int64)
    odds_of_read = _odds_of_read(law)

    def add(part: str, rows: Int64[np.ndarray, " some"], share: Float64[np.ndarray, " some"], most: Rows) -> None:
        parts[part][rows] -= np.log(share)
        guessed[rows] += most

    for event in range(law.n_events):
        read = odds_of_read[writes, reads - here, here]
        is_read = kind[:, event] == READ
        add("events", every, np.where(is_read, read, 1 - read), np.maximum(read, 1 - read))
        odds = _key_odds(law, last, writes, is_read)
        share = odds / odds.sum(1, keepdims=True)
        add("keys", every, share[every, key[:, event]], share.max(1))
        rows = every[~is_read]
        n_free = (allowed[key[rows, event]] & ~used[rows]).sum(1)
        add("values", rows, 1 / n_free, 1 / n_free)
        used[rows, value[rows, event]] = True
        last[rows, key[rows, event]] = writes[rows]
        writes, reads, here = writes + ~is_read, reads + is_read, np.where(is_read, here + 1, 0)
    return Foreseen(nats=parts, n_targets=_targets(batch), guessed=guessed)


def _key_odds(
    law: Law,
    last: Int64[np.ndarray, "row key"],
    writes: Int64[np.ndarray, " row"],
    is_read: Bool[np.ndarray, " row"],
) -> Float64[np.ndarray, "row key"]:
    """Odds of each key in the next event of each row, whose kind is known."""
    if writes[0] < law.n_keys:  # of every row: reads come later
        return (last < 0).astype(np.float64)
    held = (last >= 0).nonzero()[1].reshape(len(last), law.n_keys)
    lag = writes[:, None] - 1 - np.take_along_axis(last, held, 1)
    asked = read_odds(law, np.where(is_read, writes - 1, law.slots[0]), np.where(is_read[:, None], lag, 0))
    odds = np.zeros(last.shape)
    np.put_along_axis(odds, held, np.where(is_read[:, None], asked, write_odds(law, lag)).astype(np.float64), 1)
    return odds


def _odds_of_read(law: Law) -> Float64[np.ndarray, "writes before here"]:
    """How likely a read comes next: after so many writes, with so many reads before the last one, and so many since.

    Each read chooses its write for itself: of those that are left, a write has a binomial number.
    """
    table = np.zeros((law.n_writes + 1, law.n_reads + 1, law.n_reads + 1))
    for place, slot in enumerate(law.slots):
        share = 1 / (len(law.slots) - place)
        for before in range(law.n_reads + 1):
            left = law.n_reads - before
            chances = [math.comb(left, n) * share**n * (1 - share) ** (left - n) for n in range(left + 1)]
            for here in range(left):
                table[slot + 1, before, here] = min(1.0, sum(chances[here + 1 :]) / sum(chances[here:]))
    return table


def _columns(events: Events) -> tuple[np.ndarray, ...]:
    return tuple(column.numpy() for column in events)


def _targets(batch: Batch) -> Rows:
    return batch.loss_mask.sum(1).to(torch.float64).numpy()
