"""What is asked of a network on streams: some rows of a split, every read in them, and what stands where before it."""

import dataclasses
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.streams import Reads, Stream, StreamWords
from retrieval_circuits.sgd_formation.measures.rules import recency_answers

KINDS = ("support", "answered", "stale", "current", "itself")
"""Where a read can look: at the value it asks for where that was written, or where an earlier read has it; at values of
its key that were overwritten; at the values that other keys have now; at its own key."""
SWAP_SEED = 0
OTHER_VALUE_SEED = 0


@dataclass(frozen=True, eq=False)
class Asked:
    """Some rows of a split and their reads.

    Attributes:
        batch: the rows.
        reads: their reads; ``row`` counts within ``batch``.
        kinds: by name in ``KINDS``, ``[read pos]``: the positions of that kind, none of them ahead of the read.
        values: rows and positions of the values of writes, ``[write 2]``.
        by_recency: how many writes back (``2 back``) -> the value there at each read; -1 where there is none.
    """

    batch: Batch
    reads: Reads
    kinds: dict[str, Bool[Tensor, "read pos"]]
    values: Int[Tensor, "write 2"]
    by_recency: dict[str, Int[Tensor, " read"]]

    @property
    def shown(self) -> Bool[Tensor, "read pos"]:
        """Where the value asked for stands, written or in an earlier read."""
        return self.kinds["support"] | self.kinds["answered"]

    def at_reads(self, values: Float[Tensor, "*lead batch pos width"]) -> Float[Tensor, "*lead read width"]:
        """The values where answers are predicted, one for each read."""
        return values[..., self.reads.row, self.reads.at, :]

    def from_reads(self, pattern: Float[Tensor, "*lead batch head query key"]) -> Float[Tensor, "*lead read head key"]:
        """Where each head looks from each read."""
        return pattern.movedim(-3, -2)[..., self.reads.row, self.reads.at, :, :]


@lru_cache(maxsize=16)  # the same for all runs of an arm
def asked(task: Stream, split: str, n_rows: int) -> Asked:
    """The first ``n_rows`` rows of a split with their reads."""
    batch = task.split(split).rows(slice(0, n_rows))
    reads, writes = task.reads_of(batch), task.writes(split)
    at = torch.stack((writes.row, writes.position), 1)[writes.row < len(batch)]
    return Asked(batch, reads, kinds_of(task, batch, reads), at, recency_answers(task, split, n_rows))


def one_read_a_row(found: Asked) -> Batch:
    """A row for each read, read out where its answer is predicted."""
    return dataclasses.replace(found.batch.rows(found.reads.row), roles={"read_out": found.reads.at})


def kinds_of(task: Stream, batch: Batch, reads: Reads) -> dict[str, Bool[Tensor, "read pos"]]:
    """Which positions are of which kind for each read, from the words alone: every third word is a value."""
    words = batch.tokens[reads.row]
    place, key = torch.arange(words.shape[1]), words.roll(1, 1)
    before = place < reads.at[:, None]
    is_value = before & (words >= task.words.first_value)
    own = is_value & (key == reads.key[:, None])
    same = words == reads.answer[:, None]
    support = place == reads.support[:, None]
    return {
        "support": support,
        "answered": own & same & ~support,
        "stale": own & ~same,
        "current": _current(task, words, before) & (key != reads.key[:, None]),
        "itself": place == reads.at[:, None],
    }


def _current(
    task: Stream, words: Int[Tensor, "read pos"], before: Bool[Tensor, "read pos"]
) -> Bool[Tensor, "read pos"]:
    """Values of writes before the read whose keys are not written again before it."""
    written, key = before & (words.roll(2, 1) == task.words.write), words.roll(1, 1)
    return last_of_each(key, written)


def last_of_each(labels: Int[Tensor, "read pos"], which: Bool[Tensor, "read pos"]) -> Bool[Tensor, "read pos"]:
    """Of the places of a mask those at which a label stands for the last time among them."""
    later = torch.ones(2 * labels.shape[1:], dtype=torch.bool).triu(1)
    again = (labels[:, :, None] == labels[:, None, :]) & which[:, None, :] & later
    return which & ~again.any(-1)


@dataclass(frozen=True, eq=False)
class Swapped:
    """Rows whose last read asks for another key.

    Attributes:
        batch: rows with the other key in its place.
        at: where the answer is predicted.
        before: the answer to the read as it was.
        now: the answer to the other key.
    """

    batch: Batch
    at: Int[Tensor, " batch"]
    before: Int[Tensor, " batch"]
    now: Int[Tensor, " batch"]


@lru_cache(maxsize=16)
def swapped(task: Stream, split: str, n_rows: int) -> Swapped:
    """The last read of each row put to another key.

    The other key is drawn among those whose value was written as long ago as some read of the split asks for, so that
    the question is one that could have been asked; a row without such a key is left out.
    """
    found = asked(task, split, n_rows)
    reads = found.reads
    last = (reads.row != reads.row.roll(-1)) | (torch.arange(len(reads)) == len(reads) - 1)
    others, reads = found.kinds["current"][last], reads.pick(last)
    words = found.batch.tokens[reads.row]
    writes_so_far = (words.roll(2, 1) == task.words.write).cumsum(1)
    lag = reads.slot[:, None] + 1 - writes_so_far
    could = others & torch.isin(lag, found.reads.lag.unique())
    able = could.any(1)
    generator = torch.Generator().manual_seed(SWAP_SEED)
    chosen = torch.multinomial(could[able].double(), 1, generator=generator)[:, 0]
    reads, words, rows = reads.pick(able), words[able].clone(), torch.arange(int(able.sum()))
    now = words[rows, chosen]
    words[rows, reads.at] = words[rows, chosen - 1]
    batch = dataclasses.replace(found.batch.rows(reads.row), tokens=words)
    return Swapped(batch, reads.at, reads.answer, now)


def positions(which: Bool[Tensor, "batch pos"]) -> Int[Tensor, "batch slot"]:
    """Where a mask holds, row by row; the first place stands again where a row has fewer than others."""
    places = which.double().argsort(dim=1, descending=True, stable=True)[:, : int(which.sum(1).max())]
    return torch.where(which.gather(1, places), places, places[:, :1])


def absent_values(words: StreamWords, tokens: Int[Tensor, "batch pos"]) -> Bool[Tensor, "batch value"]:
    """Which values are nowhere in each row."""
    return ~(tokens[:, :, None] == torch.arange(words.first_value, len(words.vocab))).any(1)


def drawn_value(words: StreamWords, possible: Bool[Tensor, "batch value"]) -> Int[Tensor, " batch"]:
    """For each row one of the values that are possible there, drawn by lot."""
    return words.first_value + by_lot(possible)


def by_lot(possible: Bool[Tensor, "batch choice"]) -> Int[Tensor, " batch"]:
    """For each row the number of one of the choices that are possible there; the same at every call."""
    generator = torch.Generator().manual_seed(OTHER_VALUE_SEED)
    return torch.multinomial(possible.double(), 1, generator=generator)[:, 0]
