"""Streams of writes and reads: what is written and read where, and rows of tokens made of that.

A stream is ``<bos>``, then events of three tokens each, then ``<eos>``: a write ``W K02 V017`` gives a key a value, a
read ``R K02 V017`` names a key and the value written to it last. Event e, counted from 0, has its word at position
3e + 1, its key at 3e + 2, its value at 3e + 3. So the value of a read is predicted where its key stands.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.forms import PromptForm, Slot
from circuitcore.tasks.looks import Look
from circuitcore.tasks.token_task import TokenTask

PAD, BOS, EOS = range(3)
MARKS = ("<pad>", "<bos>", "<eos>")
NOTHING, WRITE, READ = range(3)
"""What an event is; rows with fewer events than the longest end in nothings."""
EVENT = 3  # tokens


class Events(NamedTuple):
    """What happens in streams, in its order.

    Attributes:
        kind: ``WRITE``, ``READ``, or ``NOTHING`` after the end; ``[row event]``.
        key: numbers of the keys, from 0; 0 where nothing happens.
        value: numbers of the values, from 0; of a read, the answer.
    """

    kind: Int[Tensor, "row event"]
    key: Int[Tensor, "row event"]
    value: Int[Tensor, "row event"]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Flat:
    """One entry per read, or per write, of all rows: by row, and in each row in the order of the stream."""

    def __len__(self) -> int:
        return len(self.row)

    def pick(self, index: Bool[Tensor, " entry"] | Int[Tensor, " picked"]):
        """The entries that ``index`` picks."""
        return type(self)(**{item.name: getattr(self, item.name)[index] for item in fields(self)})


@dataclass(frozen=True, kw_only=True, eq=False)
class Reads(_Flat):
    """The reads of rows, one entry each.

    Attributes:
        row: row of the batch.
        at: position at which the answer is predicted, that of the read's key.
        answer: token that is the answer.
        key: token of the key that is asked for.
        support: position of the value token of the write that the answer comes from.
        lag: writes since that one.
        slot: writes before the read, less one: the number, from 0, of the last of them.
        n_keys: keys that have a value at that time. Guessing among their values is right once in so many times.
        stale: earlier writes to the key, whose values no longer hold.
        seen: whether an earlier read of the row shows the same write.
        held_out: whether key and answer are a pair that no row trained on holds.
    """

    row: Int[Tensor, " read"]
    at: Int[Tensor, " read"]
    answer: Int[Tensor, " read"]
    key: Int[Tensor, " read"]
    support: Int[Tensor, " read"]
    lag: Int[Tensor, " read"]
    slot: Int[Tensor, " read"]
    n_keys: Int[Tensor, " read"]
    stale: Int[Tensor, " read"]
    seen: Bool[Tensor, " read"]
    held_out: Bool[Tensor, " read"]

    @property
    def chance(self) -> float:
        """How often a guess among the current values is right, on average."""
        return (1 / self.n_keys.double()).mean().item()


@dataclass(frozen=True, kw_only=True, eq=False)
class Writes(_Flat):
    """The writes of rows, one entry each.

    Attributes:
        row: row of the batch.
        index: number of the write in its row, from 0.
        key: token of its key.
        value: token of its value.
        position: where the value stands.
    """

    row: Int[Tensor, " write"]
    index: Int[Tensor, " write"]
    key: Int[Tensor, " write"]
    value: Int[Tensor, " write"]
    position: Int[Tensor, " write"]


@dataclass(frozen=True)
class StreamWords:
    """The vocabulary of streams: marks and words of events, keys, values.

    Attributes:
        marks: ``<pad>``, ``<bos>``, ``<eos>``, and whatever else comes before the keys; "W" and "R" among it.
        n_keys: keys ``K00``, ``K01``, ...
        n_values: values ``V000``, ``V001``, ...; as many digits as the last one takes, two at least.
    """

    marks: tuple[str, ...]
    n_keys: int
    n_values: int

    @cached_property
    def vocab(self) -> tuple[str, ...]:
        """The words in the order of their ids."""
        return (*self.marks, *_numbered("K", self.n_keys), *_numbered("V", self.n_values))

    @property
    def write(self) -> int:
        """Id of the word that begins a write."""
        return self.marks.index("W")

    @property
    def read(self) -> int:
        """Id of the word that begins a read."""
        return self.marks.index("R")

    @property
    def first_key(self) -> int:
        """Id of key 0."""
        return len(self.marks)

    @property
    def first_value(self) -> int:
        """Id of value 0."""
        return len(self.marks) + self.n_keys

    def batch(self, events: Events) -> Batch:
        """Rows of these events, each with a read; nothings come last.

        Every next token is trained on, ``<eos>`` among them; a row shorter than the longest is padded behind that. The
        role ``read_out`` is where the answer of the last read is predicted.
        """
        n_rows, n_events = events.kind.shape
        written = torch.full((n_rows, EVENT * n_events + 2), PAD)
        written[:, 0] = BOS
        word = torch.tensor((PAD, self.write, self.read))[events.kind]
        happens = events.kind != NOTHING
        triples = torch.stack((word, self.first_key + events.key, self.first_value + events.value), -1)
        written[:, 1:-1] = torch.where(happens[..., None], triples, PAD).flatten(1)
        written[torch.arange(n_rows), EVENT * happens.sum(1) + 1] = EOS
        last_read = torch.where(events.kind == READ, torch.arange(n_events), -1).amax(1)
        return Batch(
            tokens=written[:, :-1].contiguous(),
            targets=written[:, 1:].contiguous(),
            loss_mask=written[:, 1:] != PAD,
            roles={"read_out": EVENT * last_read + 2},
        )

    def events(self, batch: Batch) -> Events:
        """What happens in rows, read off their tokens."""
        triples = torch.cat((batch.tokens, batch.targets[:, -1:]), 1)[:, 1:-1].unflatten(1, (-1, EVENT))
        kind = WRITE * (triples[..., 0] == self.write) + READ * (triples[..., 0] == self.read)
        happens = kind != NOTHING
        key, value = triples[..., 1] - self.first_key, triples[..., 2] - self.first_value
        return Events(kind, torch.where(happens, key, 0), torch.where(happens, value, 0))


@dataclass(frozen=True, kw_only=True)
class Stream(TokenTask):
    """A task of streams. A subclass gives ``words``, ``held_out`` and what every task gives."""

    @property
    @abstractmethod
    def words(self) -> StreamWords:
        """The vocabulary."""

    @property
    @abstractmethod
    def held_out(self) -> Bool[Tensor, "key value"]:
        """Which pairs of a key and a value no row trained on holds."""

    @property
    def vocab(self) -> tuple[str, ...]:
        """Marks, keys, values."""
        return self.words.vocab

    @property
    def answers(self) -> tuple[int, ...]:
        """Every value."""
        return tuple(range(self.words.first_value, len(self.vocab)))

    @property
    def forms(self) -> tuple[PromptForm, ...]:
        """A stream, to wherever it ends; where that is the key of a read, its last value is asked for."""
        words, vocab = self.words, self.vocab
        unit = (
            Slot("event", (vocab[words.write], vocab[words.read])),
            Slot("key", vocab[words.first_key : words.first_value]),
            Slot("value", vocab[words.first_value :]),
        )
        start = (Slot("start", (vocab[BOS],)),)
        return (PromptForm("stream", start, unit=unit, reads=vocab[words.read], most=self.max_length),)

    @cached_property
    def chance(self) -> Mapping[str, float]:
        """Of each split, how often a guess among the current values is right: one over their number, averaged."""
        return {split: self.reads(split).chance for split in self.splits}

    def reads(self, split: str) -> Reads:
        """The reads of a split.

        Raises:
            TaskError: a name that is not in ``splits``.
        """
        return self.reads_of(self.split(split))

    def writes(self, split: str) -> Writes:
        """The writes of a split.

        Raises:
            TaskError: a name that is not in ``splits``.
        """
        return writes_of(self.words, self.words.events(self.split(split)))

    def reads_of(self, batch: Batch) -> Reads:
        """The reads of any rows of this task."""
        return reads_of(self.words, self.words.events(batch), self.held_out)

    def looks(self, batch: Batch) -> Mapping[str, Look]:
        """``current values``: from where a read's answer is predicted to where each key's current value was written.

        Right is its own key's; values that were overwritten, and those that an earlier read shows, are no alternatives.
        What should be copied is the value.
        """
        events, reads, keys = self.words.events(batch), self.reads_of(batch), torch.arange(self.words.n_keys)
        written = (events.kind == WRITE)[:, :, None] & (events.key[:, :, None] == keys)
        last = torch.where(written, torch.arange(written.shape[1])[:, None], -1).cummax(1).values  # [row event key]
        source = last[reads.row, (reads.at - 2) // EVENT][..., None]  # [read key 1]
        places = torch.zeros(*source.shape[:2], batch.tokens.shape[1], dtype=torch.bool)
        places.scatter_(-1, (EVENT * source + 3).clamp(min=0), source >= 0)
        right = reads.key - self.words.first_key
        look = Look(row=reads.row, at=reads.at, places=places, right=right, copied=reads.support, answer=reads.answer)
        return {"current values": look}


def writes_of(words: StreamWords, events: Events) -> Writes:
    """The writes among events."""
    row, event = (events.kind == WRITE).nonzero(as_tuple=True)
    return Writes(
        row=row,
        index=_writes_so_far(events)[row, event] - 1,
        key=words.first_key + events.key[row, event],
        value=words.first_value + events.value[row, event],
        position=EVENT * event + 3,
    )


def reads_of(words: StreamWords, events: Events, held_out: Bool[Tensor, "key value"]) -> Reads:
    """The reads among events, with the writes that their answers come from.

    Raises:
        TaskError: a read of a key that has no value yet.
    """
    row, event = (events.kind == READ).nonzero(as_tuple=True)
    support = _support(events)
    if (support[row, event] < 0).any():
        raise TaskError(f"row {int(row[(support[row, event] < 0)][0])} reads a key before any write to it")
    key, value = events.key[row, event], events.value[row, event]
    source, count = support[row, event], _writes_so_far(events)
    return Reads(
        row=row,
        at=EVENT * event + 2,
        answer=words.first_value + value,
        key=words.first_key + key,
        support=EVENT * source + 3,
        lag=count[row, event] - count[row, source],
        slot=count[row, event] - 1,
        n_keys=_keys_so_far(events)[row, event],
        stale=_earlier_writes(events).sum(-1)[row, event] - 1,
        seen=_seen(events, support)[row, event],
        held_out=held_out[key, value],
    )


def _numbered(letter: str, n: int) -> tuple[str, ...]:
    digits = max(2, len(str(n - 1)))
    return tuple(f"{letter}{number:0{digits}d}" for number in range(n))


def _writes_so_far(events: Events) -> Int[Tensor, "row event"]:
    return (events.kind == WRITE).cumsum(1)


def _earlier_writes(events: Events) -> Bool[Tensor, "row event event"]:
    """Whether an event comes before another one, and writes its key."""
    same = events.key[:, :, None] == events.key[:, None]
    return (same & (events.kind == WRITE)[:, None]).tril(-1)


def _support(events: Events) -> Int[Tensor, "row event"]:
    """The event that wrote to an event's key last before it; -1 where none did."""
    return torch.where(_earlier_writes(events), torch.arange(events.key.shape[1]), -1).amax(-1)


def _keys_so_far(events: Events) -> Int[Tensor, "row event"]:
    first = (events.kind == WRITE) & ~_earlier_writes(events).any(-1)
    return first.cumsum(1)


def _seen(events: Events, support: Int[Tensor, "row event"]) -> Bool[Tensor, "row event"]:
    """Whether an earlier read has the same support."""
    return ((support[:, :, None] == support[:, None]) & (events.kind == READ)[:, None]).tril(-1).any(-1)
