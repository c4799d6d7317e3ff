"""Which heads come to carry the look-up: a few numbers of every checkpoint of many forks."""

import dataclasses
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.behavior import correct
from circuitcore.metrics.table import Rows
from circuitcore.models import Output
from circuitcore.models.edits import Attend, edited_site
from circuitcore.tasks.base import Batch
from circuitcore.training.during import clamped_roles, edits_of
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.scores import Counts, add_attention

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

LOOKED_AT = ("support", "answered")
"""Where a read finds its value: where it was written, or where an earlier read has it."""


def routes(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """How well each checkpoint reads, and where its heads look; heads that were clamped in training are so here.

    Steps count from the first of the training: a fork's own and those of its parent before it. Metrics:

    * ``accuracy``: share of reads of the reported split whose likeliest word is the value asked for. Chance for who
      knows the current values: one over the keys.
    * ``attention``: weight of a head from reads to positions of a kind (site, ``LOOKED_AT``), averaged over reads.
    * ``joins``: weight of a head from written values to their keys, the words just before.
    """
    task, tables, start = run.recipe.make_task(), [], run.recipe.schedule.start
    found, looked = (asked(task, task.reported, n_rows) for n_rows in (counts.n_rows, counts.n_looked))
    edits = tuple(edit for edit in edits_of(run.recipe.during) if isinstance(edit, Attend))
    for steps, net in stacks(run):
        rows = Rows(run.run_id, [start + step for step in steps], [run.tokens_seen(step) for step in steps])
        add = partial(rows.add, split=task.reported)
        logits = as_trained(net, found.batch, edits).logits
        add("accuracy", correct(found.at_reads(logits), found.reads.answer).double().mean(-1), len(found.reads))
        patterns = as_trained(net, looked.batch, edits, net.pattern_keys).cache if edits else None
        add_attention(net, looked, add, LOOKED_AT, patterns)
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


def as_trained(net: Network, batch: Batch, edits: tuple[Attend, ...], record: Collection[str] = ()) -> Output:
    """The pass that training made, with its heads clamped; ``net.run`` where none was."""
    if not edits:
        return net.run(batch, record)
    one = net.record(batch.rows(slice(0, 1)), [edited_site(edit).key for edit in edits])  # what is told asks for shapes
    like = {key: value.expand(len(value), len(batch), *value.shape[2:]) for key, value in one.items()}
    told = dataclasses.replace(batch, roles=batch.roles | clamped_roles(edits, batch.tokens))
    (output,) = net.passes(told, [edits], {}, like, record)
    return output.of_one_edit(stack_dims=1)
