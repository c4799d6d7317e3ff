"""What is measured on networks of permutation recall: whether they recall, and whether they say what an edge brings."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models import CutEdge
from circuitcore.tasks.base import Batch

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

N_ROWS = 480
"""Rows with a repeated x, and rows without, that each checkpoint is asked."""


def permutation_scores(run: "Run", settings: None, progress: Callable[[int], None]) -> pd.DataFrame:  # noqa: ARG001 - none
    """``recall`` and ``told`` of permutations held out, at every checkpoint that is here.

    * ``recall``: share of rows that end with a repeated x answered with its y. Who sees that x is repeated, and not
      where it stood, is right in one of V - 1, as each y shown is as likely.
    * ``told``: of rows without a repeat and of each y before the last x, the share in which cutting the edges of all
      heads from the last x to that y moves the logit of that very y furthest from the mean change, up or down. Chance:
      one over V.
    """
    task, tables = run.recipe.make_task(), []
    again, normal = task.probes("test", N_ROWS), task.every_row("test", N_ROWS)
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        answered = net.run(again).logits[:, torch.arange(len(again)), again.roles["read_out"]]
        said = answered[..., list(task.answers)].argmax(-1) + task.answers[0]
        rows.add("recall", (said == again.answers).double().mean(-1), len(again), split="test")
        told = tells(net, normal, task.answers)
        rows.add("told", told.double().mean((0, 2)), told.shape[0] * len(normal), split="test")
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


def tells(net: Network, batch: Batch, answers: tuple[int, ...]) -> Bool[Tensor, "slot ckpt row"]:
    """Whether cutting the edges from the read-out to a y moves that y's logit most of all."""
    y = batch.roles["y"]
    marked = dataclasses.replace(batch, roles={**batch.roles, **{f"y_{at}": y[:, at] for at in range(y.shape[1])}})
    cuts = [tuple(CutEdge(head, "read_out", f"y_{at}") for head in net.heads) for at in range(y.shape[1])]
    whole, *cut = net.answers_under(marked, [(), *cuts], {}).logits[..., list(answers)]
    change = torch.stack(cut) - whole
    furthest = (change - change.mean(-1, keepdim=True)).abs().argmax(-1) + answers[0]
    return furthest == batch.tokens.gather(1, y).T[:, None]
