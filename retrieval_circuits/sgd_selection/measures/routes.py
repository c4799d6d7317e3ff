"""Which heads come to carry the look-up: a few numbers of every checkpoint of many forks."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.scores.behavior import correct
from circuitcore.metrics.table import Rows
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.scores import Counts, add_attention

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

LOOKED_AT = ("support", "answered")
"""Where a read finds its value: where it was written, or where an earlier read has it."""


def routes(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """How well each checkpoint reads, and where its heads look.

    Steps count from the first of the training: a fork's own and those of its parent before it. Metrics:

    * ``accuracy``: share of reads of the reported split whose likeliest word is the value asked for. Chance for who
      knows the current values: one over the keys.
    * ``attention``: weight of a head from reads to positions of a kind (site, ``LOOKED_AT``), averaged over reads.
    * ``joins``: weight of a head from written values to their keys, the words just before.
    """
    task, tables, start = run.recipe.make_task(), [], run.recipe.schedule.start
    found, looked = (asked(task, task.reported, n_rows) for n_rows in (counts.n_rows, counts.n_looked))
    for steps, net in stacks(run):
        rows = Rows(run.run_id, [start + step for step in steps], [run.tokens_seen(step) for step in steps])
        hits = correct(found.at_reads(net.run(found.batch).logits), found.reads.answer)
        rows.add("accuracy", hits.double().mean(-1), len(found.reads), split=task.reported)
        add_attention(net, looked, partial(rows.add, split=task.reported), LOOKED_AT)
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)
