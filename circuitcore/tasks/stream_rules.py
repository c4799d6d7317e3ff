"""Rules that answer a read of a stream without matching its key: the closed family, and what else scores.

A rule sees what was written and read before, in which order, and names a write, whose value is its answer. The family
holds the rules that use position, recency, frequency or order of values, and of keys one bit at most: whether a key has
been written since, either that of a write (then its value is no longer current) or that which is asked for. The true
program, the last write to the key asked for, is not among them, nor is any rule that equals it on the lags of a
benchmark; ``OTHERS`` holds such rules, and those that the source of ``stream_kv`` held its benchmark against.

Chance is one over the number of current values. A benchmark refuses itself where a rule of the family is more than
``ALLOWED`` above it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.streams import READ, WRITE, Reads, Stream

ALLOWED = 0.05
"""How far above chance a rule of the family may be."""
BLOCK = 8192  # reads that are looked at together


@dataclass(frozen=True, eq=False)
class Shown:
    """What stands before each read; writes are numbered from 0 in each row.

    Attributes:
        key: of each write of the read's row, whether before the read or not; ``[read write]``.
        value: its value, higher tokens for higher values.
        count: writes before the read.
        current: whether a write is before the read, and no write to its key is between; ``[read write]``.
        times: how often the value of a write was read before.
        event: number of the read among the events of its row.
        source: the write whose value each event of the row shows, a write its own; ``[read event]``.
        asked: the key that is asked for. Rules of the family look at it only through ``key == asked``, in one place.
    """

    key: Int[Tensor, "read write"]
    value: Int[Tensor, "read write"]
    count: Int[Tensor, " read"]
    current: Bool[Tensor, "read write"]
    times: Int[Tensor, "read write"]
    event: Int[Tensor, " read"]
    source: Int[Tensor, "read event"]
    asked: Int[Tensor, " read"]

    @cached_property
    def number(self) -> Int[Tensor, " write"]:
        """Numbers of the writes."""
        return torch.arange(self.key.shape[1])

    @cached_property
    def back(self) -> Int[Tensor, "read write"]:
        """How many writes back a write is, 1 for the last; below 1: not yet."""
        return self.count[:, None] - self.number

    @cached_property
    def before(self) -> Bool[Tensor, "read write"]:
        """Whether a write is before the read."""
        return self.back >= 1

    @cached_property
    def matching(self) -> Bool[Tensor, "read write"]:
        """Whether a write is before the read, and to the key that is asked for."""
        return (self.key == self.asked[:, None]) & self.before

    @cached_property
    def since(self) -> Int[Tensor, " read"]:
        """How many writes back the last write to the key that is asked for is; beyond all writes where there is none.

        All that a rule of the family may know of that key is whether this is at most some number of writes.
        """
        return torch.where(self.matching, self.back, self.key.shape[1] + 1).amin(1)


Picks = Int[Tensor, " read"]
"""The write that a rule names for each read; -1 where it names none, which is never right."""


class Rule(NamedTuple):
    """A way to answer without knowing how to look up."""

    kind: str
    name: str
    picks: Callable[[Shown], Picks]


class Score(NamedTuple):
    """How often a rule is right, among reads with one number of keys, or among all (0).

    Attributes:
        rule: what it is.
        n_keys: keys that have a value; 0: any number.
        n_reads: reads that are counted.
        share: how often it is right.
        chance: how often a guess among current values is.
    """

    rule: Rule
    n_keys: int
    n_reads: int
    share: float
    chance: float


def best(order: Int[Tensor, "read write"], among: Bool[Tensor, "read write"], place: int = 1) -> Picks:
    """The write that comes first, or ``place``-th, by ``order``, highest first; -1 where there are fewer.

    Writes that are alike in ``order`` come latest first.
    """
    n_writes = order.shape[1]
    if place > n_writes:
        return torch.full((len(order),), -1)
    ranked = torch.where(among, order * n_writes + torch.arange(n_writes), torch.iinfo(torch.int64).min)
    if place == 1:  # most rules ask for this one, which takes a seventh of the time
        values, indices = ranked.max(dim=1)
    else:
        values, indices = (found[:, -1] for found in ranked.topk(place, dim=1))
    return torch.where(values > torch.iinfo(torch.int64).min, indices, -1)


def family(n_writes: int, n_events: int, n_keys: int, lags: Collection[int]) -> tuple[Rule, ...]:
    """The closed family for streams of at most so many writes, events and keys, asked at these lags."""
    pairs = [(j, k) for j in range(1, n_writes + 1) for k in range(j + 1, n_writes + 1)]
    return (
        *(_back(k) for k in range(1, n_writes + 1)),
        *(_event_back(k) for k in range(1, n_events)),
        *(_from_start(k) for k in range(n_writes)),
        *(_event(k) for k in range(n_events)),
        *_ordered("values so far", lambda shown: shown.before, n_writes, places=3),
        *(
            rule
            for k in range(2, n_writes)
            for rule in _ordered(f"last {k} values", lambda shown, k=k: shown.before & (shown.back <= k), k, places=1)
        ),
        *_ordered("current values", lambda shown: shown.current, n_keys, places=n_keys),
        *(_current(k) for k in range(1, n_keys + 1)),
        *(_current_from(k) for k in range(2, n_writes + 1)),
        *(_current_within(k) for k in range(2, n_writes + 1)),
        *(_either(j, k) for j, k in pairs if not {*lags} <= {j - 1, k - 1}),  # that were the true program
    )


def _back(k: int) -> Rule:
    return Rule("recency", f"the value written {k} writes back", lambda shown: _there(shown.count - k, shown))


def _event_back(k: int) -> Rule:
    def picks(shown: Shown) -> Picks:
        at = shown.event - k
        return torch.where(at >= 0, shown.source.gather(1, at.clamp(min=0)[:, None])[:, 0], -1)

    return Rule("recency", f"the value shown {k} writes or reads back", picks)


def _from_start(k: int) -> Rule:
    return Rule("position", f"the value of write {k + 1}", lambda shown: _there(torch.full_like(shown.count, k), shown))


def _event(k: int) -> Rule:
    def picks(shown: Shown) -> Picks:
        inside = min(k, shown.source.shape[1] - 1)
        return torch.where((k < shown.event) & (inside == k), shown.source[:, inside], -1)

    return Rule("position", f"the value at position {3 * k + 3}", picks)


def _ordered(
    name: str, among: Callable[[Shown], Bool[Tensor, "read write"]], most: int, places: int
) -> tuple[Rule, ...]:
    """By order and frequency among some values: the ``places`` lowest and highest, the most and least often shown."""
    kind = "one bit" if name.startswith("current") else "value order"
    found = []
    for place in range(1, min(places, most) + 1):
        nth = f"{place}. " if place > 1 else ""
        found += [
            Rule(kind, f"the {nth}lowest of the {name}", lambda s, p=place: best(-s.value, among(s), p)),
            Rule(kind, f"the {nth}highest of the {name}", lambda s, p=place: best(s.value, among(s), p)),
        ]
    if places > 1:
        often = "one bit" if name.startswith("current") else "frequency"
        for sign, much in ((1, "most"), (-1, "least")):
            found += [
                Rule(
                    often,
                    f"the {much} shown of the {name}, the latest of those",
                    lambda s, g=sign: best(g * s.times, among(s)),
                ),
                Rule(
                    often,
                    f"the {much} shown of the {name}, the earliest of those",
                    lambda s, g=sign: best(g * s.times * s.key.shape[1] - s.number, among(s)),
                ),
            ]
    return tuple(found)


def _current(k: int) -> Rule:
    return Rule("one bit", f"the {k}. current value, from the latest on", lambda s: best(-s.back, s.current, k))


def _current_from(k: int) -> Rule:
    name = f"the latest current value at least {k} writes back"
    return Rule("one bit", name, lambda s: best(-s.back, s.current & (s.back >= k)))


def _current_within(k: int) -> Rule:
    name = f"the earliest current value at most {k} writes back"
    return Rule("one bit", name, lambda s: best(s.back, s.current & (s.back <= k)))


def _either(j: int, k: int) -> Rule:
    """Which ``j`` writes are asked about does not matter more: at its best the first value is one of them."""

    def picks(shown: Shown) -> Picks:
        return _there(shown.count - torch.where(shown.since <= j, j, k), shown)

    return Rule("one bit", f"{j} writes back if the key is among the last {j} writes, else {k} back", picks)


def _there(number: Int[Tensor, " read"], shown: Shown) -> Picks:
    return torch.where((number >= 0) & (number < shown.count), number, -1)


OTHERS = (
    Rule("the source's", "the value written last", _back(1).picks),
    Rule("the source's", "the first value written to the key", lambda s: best(-s.number.expand_as(s.key), s.matching)),
    Rule(
        "the source's", "the value shown most often in writes, the lowest of those", lambda s: best(-s.value, s.before)
    ),
    Rule(
        "matches keys",
        "of the values 2 and 3 writes back the one with the key",
        lambda s: best(-s.back, s.matching & (s.back >= 2) & (s.back <= 3)),
    ),
    Rule("matches keys", "the last value but one written to the key", lambda s: best(-s.back, s.matching, 2)),
    Rule("matches keys", "the last value written to the key", lambda s: best(-s.back, s.matching)),
)
"""Rules outside the family: the three that the source reports, and some that match keys, the true program last."""


def family_of(task: Stream, batch: Batch) -> tuple[Rule, ...]:
    """The family for rows of a task."""
    kind, reads = task.words.events(batch).kind, task.reads_of(batch)
    n_writes, n_keys = int((kind == WRITE).sum(1).max()), int(reads.n_keys.max())
    return family(n_writes, kind.shape[1], n_keys, reads.lag.unique().tolist())


def scores(task: Stream, split: str, rules: tuple[Rule, ...] = ()) -> tuple[Score, ...]:
    """How often each rule is right on a split, over all reads and over those with each number of keys.

    Args:
        task: whose split it is.
        split: its name.
        rules: none: the family and ``OTHERS``.

    Raises:
        TaskError: a name that is no split.
    """
    reads, rules = task.reads(split), rules or (*family_of(task, task.split(split)), *OTHERS)
    right = right_by(task, task.split(split), rules)
    groups = [(0, torch.ones(len(reads), dtype=torch.bool))]
    groups += [(n, reads.n_keys == n) for n in reads.n_keys.unique().tolist()]
    return tuple(
        Score(rule, n, int(group.sum()), right[number, group].double().mean().item(), reads.pick(group).chance)
        for number, rule in enumerate(rules)
        for n, group in groups
    )


def right_by(task: Stream, batch: Batch, rules: tuple[Rule, ...]) -> Bool[Tensor, "rule read"]:
    """Whether each rule answers each read of rows as it should."""
    reads, found = task.reads_of(batch), []
    for start in range(0, len(reads), BLOCK):
        block = reads.pick(torch.arange(start, min(start + BLOCK, len(reads))))
        shown = shown_to(task, batch, block)
        wanted = block.slot - block.lag
        found.append(torch.stack([rule.picks(shown) == wanted for rule in rules]))
    return torch.cat(found, 1)


def shown_to(task: Stream, batch: Batch, reads: Reads) -> Shown:
    """What rules see of these reads of a batch."""
    rows, place = reads.row.unique(return_inverse=True)
    events = task.words.events(batch.rows(rows))
    number = (events.kind == WRITE).cumsum(1) - 1
    n_writes, (at_row, at_event) = int(number.max()) + 1, (events.kind == WRITE).nonzero(as_tuple=True)
    key, value = torch.full((2, len(rows), n_writes), -1)
    key[at_row, number[at_row, at_event]] = events.key[at_row, at_event]
    value[at_row, number[at_row, at_event]] = events.value[at_row, at_event]
    # Values do not repeat within a row: the write that an event shows is the one with its value.
    source = (events.value[:, :, None] == value[:, None]).int().argmax(-1)
    event, count = (reads.at - 2) // 3, reads.slot + 1
    key, value, source = key[place], value[place], source[place]
    earlier = (events.kind == READ)[place] & (torch.arange(source.shape[1]) < event[:, None])
    times = torch.zeros(len(place), n_writes, dtype=torch.int64).scatter_add_(1, source, earlier.long())
    so_far = torch.arange(n_writes) < count[:, None]
    overwritten = ((key[:, :, None] == key[:, None]) & so_far[:, None]).triu(1).any(-1)
    return Shown(key, value, count, so_far & ~overwritten, times, event, source, reads.key - task.words.first_key)


def refuse_shortcuts(task: Stream, split: str, batch: Batch) -> None:
    """Refuse rows on which a rule of the family is too good.

    Raises:
        TaskError: the rule, the split, how often it is right, and how often it may be.
    """
    reads, rules = task.reads_of(batch), family_of(task, batch)
    share = right_by(task, batch, rules).double().mean(1)
    allowed = reads.chance + ALLOWED
    if share.max() > allowed:
        rule = rules[int(share.argmax())]
        raise TaskError(
            f"task {task.name!r}, split {split!r}: the rule {rule.name!r} ({rule.kind}) is right on "
            f"{share.max().item():.1%} of {len(reads):,} reads; allowed: {allowed:.1%}, which is "
            f"{100 * ALLOWED:.0f} points above chance. A few hundred rows can fail by accident: try more"
        )
