"""What SGD comes to at one rate, for the choice between many."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.table import Rows
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.scores import Counts, token_losses

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run


def called(rate: float, momentum: float) -> str:
    """What tables call a rule of SGD: networks of one start that differ in it share a seed."""
    return f"SGD at {rate:g}, momentum {momentum:g}"


def reached(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """Metric ``loss`` of each checkpoint: cross-entropy in nats of every word that is trained on.

    ``variable`` is what ``called`` says of the run's rule.
    """
    task, rule, tables = run.recipe.make_task(), run.recipe.optimizer, []
    found = asked(task, task.reported, n_rows=counts.n_rows)
    for steps, net in stacks(run):
        losses = token_losses(net.run(found.batch).logits, found)
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        rows.add("loss", losses.mean(-1), losses.shape[1], split=task.reported, variable=called(rule.lr, rule.momentum))
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)
