"""The published benchmark of streams, to the byte: few keys, lags 1 and 2, and reads of overwritten keys alone.

Source: "From Retrieval Motifs To SGD Circuit Selection". One ``random.Random`` makes everything, in a fixed order. What
ignores the keys and still scores is in ``stream_rules``; a benchmark without such rules is ``balanced_stream``.
"""

import functools
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.limits import refuse_sizes
from circuitcore.tasks.streams import EVENT, MARKS, NOTHING, READ, WRITE, Events, Stream, StreamWords

WORDS = StreamWords((*MARKS, "SET", "=", ";", "QRY", "ANS", "W", "R"), n_keys=8, n_values=128)
"""Five marks never occur: what an earlier format of the source's left."""
HELD_OUT_SHARE = 0.1
PLAN_ATTEMPTS, RECORD_ATTEMPTS = 256, 200


class Shape(NamedTuple):
    """What the streams of a split are like; ends of ranges included."""

    keys: tuple[int, int]
    overwrites: tuple[int, int]
    reads: tuple[int, int]
    lags: tuple[int, int]
    held_out: bool = False


NARROW = Shape(keys=(2, 3), overwrites=(8, 8), reads=(6, 7), lags=(1, 2))
SHAPES: Mapping[str, Shape] = {
    "train": NARROW,
    "validation_iid": NARROW,
    "test_iid": NARROW,
    "heldout_pairs": NARROW._replace(held_out=True),
    "structural_ood": Shape(keys=(4, 5), overwrites=(10, 12), reads=(8, 10), lags=(2, 3)),
}
COUNTERFACTUAL = "counterfactual"


class Asked(NamedTuple):
    """A read: after which write, of which key, and which write's value is the answer."""

    slot: int
    key: int
    support: int


class Record(NamedTuple):
    """One stream: its writes as (key, value), and its reads in their order."""

    writes: tuple[tuple[int, int], ...]
    reads: tuple[Asked, ...]


@dataclass(frozen=True, kw_only=True)
class StreamKV(Stream):
    """Streams such as ``<bos> W K00 V028 W K03 V073 W K00 V111 W K03 V036 R K00 V111 ...``, a key's last value read.

    In each stream every key is written once, then keys are overwritten, never the same one twice in a row; values do
    not repeat. Reads ask for overwritten values alone, and never for the one written last. Splits, in the order in
    which they are made: "train"; "validation_iid" and "test_iid", made alike; "heldout_pairs", in which every pair
    written is one of the tenth that no other split has; "structural_ood", with more keys, more writes and longer lags;
    "counterfactual", the rows of "test_iid" in another order, in each of which one value that is asked for is another.

    Attributes:
        seed: of all rows; the source's is 7.
        n_train: rows of "train"; the source's 8,000.
        n_eval: rows of each other split; the source's 1,024. Fewer rows of one split change all splits after it.

    Raises:
        TaskError: a number that makes no rows.
    """

    name: ClassVar[str] = "stream_kv"
    reported: ClassVar[str] = "test_iid"

    seed: int = 7
    n_train: int = 8000
    n_eval: int = 1024

    def __post_init__(self):
        if self.seed < 0:
            raise TaskError(f"seed = {self.seed}; allowed: an integer >= 0")
        rows = {"n_train": self.n_train, "n_eval": self.n_eval}
        for name, value in rows.items():
            if value < 1:
                raise TaskError(f"{name} = {value}; allowed: an integer >= 1")
        refuse_sizes(rows, words={}, length={"structural_ood": self.max_length})

    @property
    def words(self) -> StreamWords:
        """The source's 146 words."""
        return WORDS

    @property
    def splits(self) -> tuple[str, ...]:
        """As they are made."""
        return (*SHAPES, COUNTERFACTUAL)

    @property
    def max_length(self) -> int:
        """The longest stream that "structural_ood" can have, without its ``<eos>``."""
        shape = SHAPES["structural_ood"]
        return 1 + EVENT * (shape.keys[1] + shape.overwrites[1] + shape.reads[1])

    @property
    def held_out(self) -> Bool[Tensor, "key value"]:
        """The pairs of "heldout_pairs"."""
        return self._made[0]

    def records_of(self, split: str) -> tuple[Record, ...]:
        """The streams of a split, as they were planned.

        Raises:
            TaskError: a name that is not in ``splits``.
        """
        self.refuse_split(split)
        return self._made[1][split]

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits."""
        return {split: WORDS.batch(_events(self.records_of(split))) for split in self.splits}

    @cached_property
    def _made(self) -> tuple[Bool[Tensor, "key value"], Mapping[str, tuple[Record, ...]]]:
        return _generated(self.seed, self.n_train, self.n_eval)


class _Generator:
    """The source's generator: what it draws, in the order in which it draws."""

    def __init__(self, seed: int):
        self.seed, self.draw = seed, random.Random(seed)
        pairs = [(key, value) for key in range(WORDS.n_keys) for value in range(WORDS.n_values)]
        self.draw.shuffle(pairs)
        self.held_out = torch.zeros(WORDS.n_keys, WORDS.n_values, dtype=torch.bool)
        self.held_out[tuple(zip(*pairs[: int(len(pairs) * HELD_OUT_SHARE)], strict=True))] = True
        self.values = {
            held: [(row == held).nonzero()[:, 0].tolist() for row in self.held_out] for held in (False, True)
        }
        self.known: set[Record] = set()

    def split(self, shape: Shape, n_rows: int) -> tuple[Record, ...]:
        """``n_rows`` streams, none of which is in a split made before."""
        made = []
        for _ in range(RECORD_ATTEMPTS * n_rows):
            record = self._record(shape)
            if record is not None and record not in self.known:
                self.known.add(record)
                made.append(record)
            if len(made) == n_rows:
                return tuple(made)
        raise TaskError(f"{len(made)} different streams in {RECORD_ATTEMPTS * n_rows} attempts; {n_rows} are wanted")

    def _record(self, shape: Shape) -> Record | None:
        n_keys, n_overwrites, n_reads = (self.draw.randint(*ends) for ends in shape[:3])
        keys = self.draw.sample(range(WORDS.n_keys), n_keys)
        for _ in range(PLAN_ATTEMPTS):
            writes = self._writes(keys, n_overwrites, shape.held_out)
            reads = self._reads(writes, n_keys, n_reads, shape.lags)
            if reads is not None:
                return Record(tuple(writes), reads)
        return None

    def _writes(self, keys: list[int], n_overwrites: int, held_out: bool) -> list[tuple[int, int]]:  # noqa: FBT001
        order, overwritten, used = list(keys), dict.fromkeys(keys, 0), set()
        self.draw.shuffle(order)
        writes = []
        for number in range(len(keys) + n_overwrites):
            if number < len(keys):
                key = order[number]
            else:
                others = [key for key in keys if key != writes[-1][0]]
                fewest = min(overwritten[key] for key in others)
                key = self.draw.choice([key for key in others if overwritten[key] == fewest])
                overwritten[key] += 1
            left = [value for value in self.values[held_out][key] if value not in used]
            if not left:
                raise TaskError(
                    f"seed = {self.seed}: held-out pairs leave key {key} fewer values than a stream writes to it; "
                    "allowed: another seed (the source's generator stops there, too)"
                )
            value = self.draw.choice(left)
            used.add(value)
            writes.append((key, value))
        return writes

    def _reads(
        self, writes: list[tuple[int, int]], n_keys: int, n_reads: int, lags: tuple[int, int]
    ) -> tuple[Asked, ...] | None:
        """Reads of overwritten values at allowed lags; None where there are too few."""
        latest, candidates = {}, []
        for slot, (written, _) in enumerate(writes):
            latest[written] = slot  # a dict keeps the order in which the keys were first written
            candidates += [
                Asked(slot, key, support)
                for key, support in latest.items()
                if lags[0] <= slot - support <= lags[1] and support >= n_keys
            ]
        if len(candidates) < n_reads:
            return None
        chosen = self.draw.sample(candidates, n_reads)
        ordered = []
        for slot in range(len(writes)):
            here = [read for read in chosen if read.slot == slot]
            self.draw.shuffle(here)
            ordered += here
        return tuple(ordered)

    def changed(self, record: Record) -> Record:
        """The record with another value in one write that is read."""
        at = self.draw.choice(sorted({read.support for read in record.reads}))
        key, used = record.writes[at][0], {value for _, value in record.writes}
        value = self.draw.choice([value for value in self.values[False][key] if value not in used])
        return record._replace(writes=(*record.writes[:at], (key, value), *record.writes[at + 1 :]))


@functools.lru_cache(maxsize=4)
def _generated(
    seed: int, n_train: int, n_eval: int
) -> tuple[Bool[Tensor, "key value"], Mapping[str, tuple[Record, ...]]]:
    """Held-out pairs and the records of all splits."""
    made, generator = {}, _Generator(seed)
    for split, shape in SHAPES.items():
        made[split] = generator.split(shape, n_train if split == "train" else n_eval)
    test = made["test_iid"]
    made[COUNTERFACTUAL] = tuple(generator.changed(record) for record in generator.draw.sample(test, len(test)))
    return generator.held_out, made


def _events(records: Collection[Record]) -> Events:
    """What happens in records: after each write the reads of its slot."""
    rows = []
    for record in records:
        row = [(WRITE, slot, key, value) for slot, (key, value) in enumerate(record.writes)]
        row += [(READ, read.slot, read.key, record.writes[read.support][1]) for read in record.reads]
        rows.append(sorted(row, key=lambda event: event[1]))  # stable: a write comes before its reads
    longest = max(map(len, rows))
    filled = [row + [(NOTHING, 0, 0, 0)] * (longest - len(row)) for row in rows]
    kind, _, key, value = torch.tensor(filled).unbind(-1)
    return Events(kind, key, value)
