"""The source's probe set, read for read, and what the source follows on it checkpoint by checkpoint.

Source: nelson960, "From Retrieval Motifs To SGD Circuit Selection". Its set gives rare lengths and rare numbers of keys
more weight than the splits do, and every third of its reads or so asks for one of more keys than were trained on.
"""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor
from torch.nn.functional import pad

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.behavior import correct, margin
from circuitcore.metrics.table import Rows
from circuitcore.tasks.stream_kv import COUNTERFACTUAL, Record, StreamKV
from circuitcore.tasks.streams import PAD, Reads

if TYPE_CHECKING:
    from circuitcore.tasks.base import Batch
    from circuitcore.training.store.run import Run

HELD_OUT = "heldout_pairs"
PROBED = ("validation_iid", HELD_OUT, "structural_ood", COUNTERFACTUAL)
"""The splits that it is drawn of, in this order."""
ALL_PROBED = "probe set"
"""The split under which numbers over all of it are kept."""
SEED, ROWS_OF_A_SPLIT = 17, 24


@dataclass(frozen=True, kw_only=True)
class Probed:
    """How many rows of each split are probed, and the seed they are drawn with."""

    seed: int = SEED
    n_rows: int = ROWS_OF_A_SPLIT


class _Axes(NamedTuple):
    """What a row is like, in the order in which the source sorts by it."""

    n_keys: int
    n_overwrites: int
    n_reads: int
    n_writes: int
    mean_lag: int
    max_lag: int
    n_words: int

    @classmethod
    def of(cls, record: Record) -> "_Axes":
        lags = [read.slot - read.support for read in record.reads]
        n_writes, n_reads = len(record.writes), len(record.reads)
        n_keys = len({key for key, _ in record.writes})
        words = 2 + 3 * (n_writes + n_reads)
        return cls(n_keys, n_writes - n_keys, n_reads, n_writes, sum(lags) // n_reads, max(lags), words)


def probe_rows(task: StreamKV, probed: Probed) -> dict[str, tuple[int, ...]]:
    """Split -> the numbers of its rows that are in the probe set, in the order in which the source draws them.

    Rows alike in all that ``_Axes`` names are a group; the smallest groups come first, each is shuffled, and one row
    after another is taken from the end of each in turn. One generator serves all splits.
    """
    draw = random.Random(probed.seed)
    return {split: _taken_in_turn(task.records_of(split), draw, probed.n_rows) for split in PROBED}


def _taken_in_turn(records: Sequence[Record], draw: random.Random, n_rows: int) -> tuple[int, ...]:
    groups = defaultdict(list)
    for number, record in enumerate(records):
        groups[_Axes.of(record)].append(number)
    ordered = [groups[axes] for axes in sorted(groups, key=lambda axes: (len(groups[axes]), axes))]
    for group in ordered:
        draw.shuffle(group)
    taken: list[int] = []
    while len(taken) < min(n_rows, len(records)):
        taken += [group.pop() for group in ordered if group]
    return tuple(taken[:n_rows])


@dataclass(frozen=True, eq=False)
class ProbeReads:
    """All rows of a probe set in one table, and their reads.

    Attributes:
        tokens: the rows, filled up with ``<pad>``, which no earlier word sees.
        row: of each read.
        at: where its answer is predicted.
        answer: the word asked for.
        held_out: whether it is of the split of held-out pairs.
    """

    tokens: Int[Tensor, "row pos"]
    row: Int[Tensor, " read"]
    at: Int[Tensor, " read"]
    answer: Int[Tensor, " read"]
    held_out: Bool[Tensor, " read"]

    def __len__(self) -> int:
        return len(self.row)


def probe_reads(task: StreamKV, probed: Probed) -> ProbeReads:
    """The reads of a probe set, split by split."""
    batches = {split: task.split(split).rows(torch.tensor(rows)) for split, rows in probe_rows(task, probed).items()}
    reads = [task.reads_of(batch) for batch in batches.values()]
    longest = max(batch.tokens.shape[1] for batch in batches.values())
    tokens = [pad(batch.tokens, (0, longest - batch.tokens.shape[1]), value=PAD) for batch in batches.values()]
    firsts = itertools.accumulate(map(len, tokens), initial=0)
    return ProbeReads(
        torch.cat(tokens),
        torch.cat([of.row + first for of, first in zip(reads, firsts, strict=False)]),
        torch.cat([of.at for of in reads]),
        torch.cat([of.answer for of in reads]),
        torch.cat([torch.full_like(of.row, split == HELD_OUT) for of, split in zip(reads, batches, strict=True)]) > 0,
    )


def probe_scores(run: "Run", probed: Probed, progress: Callable[[int], None]) -> pd.DataFrame:
    """What the source follows through training, as it defines it, each a mean over the reads of its probe set.

    By split of the probe set, and over all of it (split ``ALL_PROBED``):

    * ``probe_accuracy``: whether the likeliest of all words is the value asked for. Chance for who knows the current
      values: one over the keys.
    * ``probe_query``, the source's Q: of the head that has most, the attention from where the answer is predicted to
      the key that is asked for. The two are one position, so that this is a weight on itself.
    * ``probe_support``, its R: of the head that has most, the attention from there to the value where it was written.
    * ``probe_margin``, its W: logit of the answer less that of the likeliest other value.

    Which head has most is decided read by read.
    """
    task = run.recipe.make_task()
    rows_of = probe_rows(task, probed)
    batches = {split: task.split(split).rows(torch.tensor(rows_of[split])) for split in PROBED}
    reads = {split: task.reads_of(batch) for split, batch in batches.items()}
    tables = []
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        found = {split: _followed(net, batches[split], reads[split], task.words.first_value) for split in PROBED}
        found[ALL_PROBED] = {name: torch.cat([found[split][name] for split in PROBED], -1) for name in found[PROBED[0]]}
        for split, scores in found.items():
            for name, values in scores.items():
                rows.add(f"probe_{name}", values.double().mean(-1), values.shape[-1], split=split)
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


def _followed(net: Network, batch: "Batch", reads: Reads, first_value: int) -> dict[str, Shaped[Tensor, "ckpt read"]]:
    """The four numbers of every read."""
    logits = net.run(batch).logits[..., reads.row, reads.at, :]
    keys = net.pattern_keys
    cache = net.record(batch, keys)
    pattern = torch.cat([cache[key] for key in keys], -3)  # [ckpt batch head query key]
    at_reads = pattern.movedim(-3, -1)[:, reads.row, reads.at]  # [ckpt read key head]
    each = torch.arange(len(reads))
    return {
        "accuracy": correct(logits, reads.answer),
        "query": at_reads[:, each, reads.at].amax(-1),
        "support": at_reads[:, each, reads.support].amax(-1),
        "margin": margin(logits[..., first_value:], reads.answer - first_value),
    }
