"""A benchmark of streams on which nothing but looking up the key pays.

Every lag is asked equally often, after every write that a read may follow; no rule that ignores the key is more than
five points above chance (``stream_rules``), or no rows are made. ``stream_balance`` says how that is done.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Int64
from numpy.random import PCG64
from torch import Tensor

from circuitcore.tasks import stream_balance
from circuitcore.tasks.base import Batch
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.kv_sampling import random_bits, random_order
from circuitcore.tasks.limits import refuse_sizes
from circuitcore.tasks.stream_balance import MAX_STATES, Drawn, Law
from circuitcore.tasks.stream_rules import refuse_shortcuts
from circuitcore.tasks.streams import EVENT, MARKS, READ, WRITE, Events, Stream, StreamWords

SPLITS = ("train", "validation", "test", "heldout_pairs", "heldout_twins", "structural_ood")
LONGER = "structural_ood"
PAIRED = ("heldout_pairs", "heldout_twins")


@dataclass(frozen=True, kw_only=True)
class BalancedStream(Stream):
    """Streams such as ``<bos> W K3 V07 W K1 V52 ... R K1 V52 ...``: the value read is the last one written to the key.

    Values do not repeat within a stream. Some pairs of a key and a value are held out: each key has as many, and no
    value has two. Splits: "train", "validation", "test", of one distribution; "heldout_pairs", the same with every
    value that is asked for in a pair held out; "heldout_twins", the rows of "heldout_pairs" with those values alone
    replaced by others, whose pairs are not held out, so that all else is equal; "structural_ood", with more keys and
    longer lags, in which answers are wanted at no position that has none in "train".

    Attributes:
        n_keys: keys of a stream; its first writes are one to each.
        n_lags: lags that are asked equally often, 0 to ``n_lags - 1``.
        n_writes: writes of a stream.
        n_reads: reads of a stream.
        ood_keys, ood_lags, ood_writes, ood_reads: the same in "structural_ood".
        n_key_words: keys to draw from.
        n_value_words: values to draw from.
        n_held_out: pairs held out of each key.
        n_train: rows of "train" where that is a fixed set; ``draw`` makes others.
        n_eval: rows of each other split.
        seed: of all rows.

    Raises:
        TaskError: parameters that no rows can meet, or that leave a shortcut, with the numbers.
    """

    name: ClassVar[str] = "balanced_stream"

    n_keys: int = 7
    n_lags: int = 12
    n_writes: int = 14
    n_reads: int = 5
    ood_keys: int = 8
    ood_lags: int = 13
    ood_writes: int = 15
    ood_reads: int = 4
    n_key_words: int = 10
    n_value_words: int = 64
    n_held_out: int = 6
    n_train: int = 8192
    n_eval: int = 2048
    seed: int = 0

    def __post_init__(self):
        laws = {"n_": self.law, "ood_": self.ood_law}
        rows = {"n_train": self.n_train, "n_eval": self.n_eval}
        words = {"n_key_words": self.n_key_words, "n_value_words": self.n_value_words}
        lengths = {f"{of}writes with {of}reads": EVENT * law.n_events + 1 for of, law in laws.items()}
        refuse_sizes(rows, words, lengths)
        for name, value in {**rows, "n_reads": self.n_reads, "ood_reads": self.ood_reads}.items():
            if value < 1:
                raise TaskError(f"{name} = {value}; allowed: an integer >= 1")
        if self.seed < 0:
            raise TaskError(f"seed = {self.seed}; allowed: an integer >= 0")
        for of, law in laws.items():
            self._refuse_law(of, law)
        asked, trained = self.ood_law.read_events, self.law.read_events
        if asked[0] < trained[0] or asked[-1] > trained[-1]:
            raise TaskError(
                f"structural_ood has reads among its events {asked[0]}..{asked[-1]}; allowed: events at which training "
                f"has some, {trained[0]}..{trained[-1]}. Change ood_lags, ood_writes, ood_reads"
            )
        self._refuse_words()

    def _refuse_law(self, of: str, law: Law):
        if not 2 <= law.n_keys <= self.n_key_words:
            raise TaskError(f"{of}keys = {law.n_keys}; allowed: 2..{self.n_key_words}, as n_key_words says")
        if not law.n_keys <= law.n_lags <= law.n_writes:
            raise TaskError(
                f"{of}lags = {law.n_lags}; allowed: {law.n_keys}..{law.n_writes}, from {of}keys to {of}writes"
            )
        if (states := math.comb(law.n_lags - 1, law.n_keys - 1)) > MAX_STATES:
            raise TaskError(
                f"{of}lags = {law.n_lags}, {of}keys = {law.n_keys}: {states:,} patterns of lags to balance; allowed: "
                f"at most {MAX_STATES:,}"
            )

    def _refuse_words(self):
        least = self.n_held_out + max(self.n_writes, self.ood_writes) + self.n_reads
        if self.n_value_words < least:
            raise TaskError(
                f"n_value_words = {self.n_value_words}; allowed: at least {least}, n_held_out with "
                "writes and reads, as none repeats in a row"
            )
        most = self.n_value_words // self.n_key_words
        if not self.n_reads <= self.n_held_out <= most:
            raise TaskError(
                f"n_held_out = {self.n_held_out}; allowed: {self.n_reads}..{most}, one for each of n_reads, none of "
                f"{self.n_value_words} values with two of {self.n_key_words} keys"
            )

    @property
    def law(self) -> Law:
        """How the streams that are trained on are drawn."""
        return Law(self.n_keys, self.n_lags, self.n_writes, self.n_reads)

    @property
    def ood_law(self) -> Law:
        """The same of "structural_ood"."""
        return Law(self.ood_keys, self.ood_lags, self.ood_writes, self.ood_reads)

    @cached_property
    def words(self) -> StreamWords:
        """Three marks, "W", "R", keys and values."""
        return StreamWords((*MARKS, "W", "R"), self.n_key_words, self.n_value_words)

    @property
    def splits(self) -> tuple[str, ...]:
        """Rows to train on, to choose by, to report; held-out pairs and their twins; other streams."""
        return SPLITS

    @property
    def max_length(self) -> int:
        """The longest stream without its ``<eos>``."""
        return 1 + EVENT * max(self.law.n_events, self.ood_law.n_events)

    @cached_property
    def held_out(self) -> Bool[Tensor, "key value"]:
        """Pairs in which only values that "heldout_pairs" asks for stand."""
        order = random_order(random_bits(self.seed, "balanced, held out"), self.n_value_words)
        values = order[: self.n_key_words * self.n_held_out].reshape(self.n_key_words, -1)
        held = torch.zeros(self.n_key_words, self.n_value_words, dtype=torch.bool)
        held.scatter_(1, torch.from_numpy(values), value=True)
        return held

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits; a shortcut in one of them is refused."""
        sizes = {split: self.n_train if split == "train" else self.n_eval for split in SPLITS}
        made = {split: self.make_rows(split, n_rows, self.seed) for split, n_rows in sizes.items()}
        for split, batch in made.items():
            refuse_shortcuts(self, split, batch)
        return made

    def few(self, split: str, n_rows: int) -> Batch:
        """Rows of the split's kind that are not the split's: they are not held against the rules, which takes long."""
        return self.draw(split, n_rows, self.seed)

    def make_rows(self, split: str, n_rows: int, seed: int) -> Batch:
        """Fresh rows of a split's distribution; "heldout_twins" of one seed are the twins of its "heldout_pairs"."""
        stream = PAIRED[0] if split in PAIRED else split
        bits = random_bits(seed, f"balanced, {stream}")
        law = self.ood_law if split == LONGER else self.law
        drawn = stream_balance.draw(law, n_rows, bits)
        key = np.take_along_axis(_keys(bits, n_rows, self.n_key_words), drawn.key, 1)
        return self.words.batch(self._events(law, drawn, key, self._values(split, drawn, key, bits)))

    def _values(
        self, split: str, drawn: Drawn, key: Int64[np.ndarray, "row write"], bits: PCG64
    ) -> Int64[np.ndarray, "row write"]:
        """A value for each write, each uniform among those of its key that the row does not have yet.

        Held-out values come before all others, so that none is used up; their twins come after.
        """
        held, asked = self.held_out.numpy(), np.zeros(key.shape, dtype=bool)
        if split in PAIRED:
            np.put_along_axis(asked, drawn.support, values=True, axis=1)
        passes = [(asked, held)] * (split in PAIRED) + [(~asked, ~held)] + [(asked, ~held)] * (split == PAIRED[1])
        used, values = np.zeros((len(key), self.n_value_words), dtype=bool), np.empty_like(key)
        for now, of_key in passes:
            for number in range(key.shape[1]):
                (rows,) = now[:, number].nonzero()
                place = (of_key[key[rows, number]] & ~used[rows]).cumsum(1, dtype=np.int32)
                words = bits.random_raw(len(rows)) % place[:, -1].astype(np.uint64)
                chosen = (place <= words.astype(np.int32)[:, None]).sum(1)
                values[rows, number] = chosen
                used[rows, chosen] = True
        return values

    def _events(
        self, law: Law, drawn: Drawn, key: Int64[np.ndarray, "row write"], value: Int64[np.ndarray, "row write"]
    ) -> Events:
        """Writes and reads in their order: reads stand behind the write that they follow."""
        late = law.n_reads + 1
        when = np.column_stack([np.tile(late * np.arange(law.n_writes), (len(key), 1)), drawn.slot * late + 1])
        order = torch.from_numpy(np.argsort(when, axis=1, kind="stable"))
        kind = torch.tensor([WRITE] * law.n_writes + [READ] * law.n_reads).expand(len(key), -1)
        keys, values = (
            torch.from_numpy(np.column_stack([of, np.take_along_axis(of, drawn.support, 1)])) for of in (key, value)
        )
        return Events(*(column.gather(1, order) for column in (kind, keys, values)))


def _keys(bits: PCG64, n_rows: int, n_words: int) -> Int64[np.ndarray, "row key"]:
    """The keys of each row in random order."""
    return np.argsort(bits.random_raw(n_rows * n_words).reshape(n_rows, n_words), axis=1, kind="stable")
