"""What a network goes by before it looks the key up: which pairs occur, and where a value stands."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.scores.behavior import correct
from circuitcore.metrics.table import Rows
from circuitcore.tasks.balanced_stream import PAIRED, BalancedStream
from circuitcore.tasks.streams import EVENT, PAD
from retrieval_circuits.sgd_formation.measures.asked import Asked, asked
from retrieval_circuits.sgd_formation.measures.scores import Add

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

OWN = ("support", "answered", "stale")
"""Kinds of positions at which values stand that were written to the key asked for."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """How many rows are asked.

    Attributes:
        n_rows: rows of each split.
    """

    n_rows: int


def known_scores(run: "Run", counts: Known, progress: Callable[[int], None]) -> pd.DataFrame:
    """How well each checkpoint reads pairs that training never holds, whether it gives them, and where it reads.

    Metrics, each a mean over reads; missing where there is none of a kind, and ``n`` counts those of all kinds:

    * ``pairs_right``: whether the likeliest of all words is the value asked for; on "heldout_pairs", whose reads all
      ask for a pair that was held out, and on "heldout_twins", the same rows with those values replaced by others.
    * ``not_of_key``: on the reported split, where no held-out pair stands, the share of answers with a value that was
      not written to the key asked for: no look-up gives it, not even of an older value.
    * ``gives_held_out``: of these, the share that was held out of the key asked for. Chance, for a value by lot: as
      many values as are held out of a key, over all of them.
    * ``gives_held_out_of_others``: the same answers against the keys that all reads ask for, a mean over these: what
      would come of ``gives_held_out`` if answers did not depend on the key.
    * ``right_by_place``: on the reported split, the share of reads answered right whose value stands where training has
      reads (variable "late"; see ``stands_late``), only before them ("early"), and in an earlier read ("shown", which
      are some of the late ones).
    """
    task, tables = run.recipe.make_task(), []
    reported, *paired = (asked(task, split, counts.n_rows) for split in (task.reported, *PAIRED))
    late = stands_late(task, reported)
    places = {"late": late, "early": ~late, "shown": reported.kinds["answered"].any(-1)}
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        for split, found in zip(PAIRED, paired, strict=True):
            hits = correct(found.at_reads(net.run(found.batch).logits), found.reads.answer).double()
            rows.add("pairs_right", hits.mean(-1), hits.shape[-1], split=split)
        given = reported.at_reads(net.run(reported.batch).logits).argmax(-1)
        add = partial(rows.add, split=task.reported)
        _add_of_other_keys(task, reported, given, add)
        for place, of_place in places.items():
            hits = (given == reported.reads.answer)[:, of_place].double()
            add("right_by_place", hits.mean(-1), hits.shape[-1], variable=place)
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


def _add_of_other_keys(task: BalancedStream, found: Asked, given: Int[Tensor, "ckpt read"], add: Add) -> None:
    held = held_out_words(task)
    keys, own = found.reads.key, torch.zeros_like(given, dtype=torch.bool)
    for kind in OWN:
        words = found.batch.tokens[found.reads.row].masked_fill(~found.kinds[kind], PAD)
        own |= (words == given[..., None]).any(-1)
    foreign = ((given >= task.words.first_value) & ~own).double()
    of_own, of_all = held[keys, given].double(), held[keys].double().mean(0)[given]
    add("not_of_key", foreign.mean(-1), len(keys))
    for name, shares in {"gives_held_out": of_own, "gives_held_out_of_others": of_all}.items():
        add(name, (shares * foreign).sum(-1) / foreign.sum(-1), len(keys))


def stands_late(task: BalancedStream, found: Asked) -> Bool[Tensor, " read"]:
    """Of which reads the value last stands at an event at which training has reads, written or read there."""
    last = torch.where(found.shown, torch.arange(found.shown.shape[1]), -1).amax(1)
    return (last - 1) // EVENT >= task.law.read_events.start


def held_out_words(task: BalancedStream) -> Bool[Tensor, "word word"]:
    """Which values were held out of which keys, both by their words."""
    words = task.words
    return functional.pad(task.held_out, (words.first_value, 0, words.first_key, words.n_values))
