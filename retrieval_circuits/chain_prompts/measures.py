"""How many questions networks answer, by look-ups, on prompts of the kind they know and on others of the same words."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.tasks.base import Batch
from circuitcore.tasks.chain_prompts import formulation
from circuitcore.tasks.chain_prompts.ignorant import part_lines
from circuitcore.tasks.chain_words import ChainWords

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many prompts are asked.

    Attributes:
        n_rows: test prompts, the depths in turn, with several questions each.
        others: formulations of the same words that a network is asked at the end, too.
    """

    n_rows: int
    others: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Readers:
    """Readers who leave one part of a prompt unread.

    Attributes:
        formulations: which prompts.
        n_prompts: over how many.
    """

    formulations: tuple[str, ...]
    n_prompts: int


def prompt_scores(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """Answers of every checkpoint to the test prompts; at the last one to other formulations of the same words, too.

    Metric ``accuracy``: whether the likeliest of the answers of the right kind is right, over all questions of all
    prompts of so many look-ups (variable ``depth 2``), family the formulation. Chance: one over those answers.
    """
    task, tables = run.recipe.make_task(), []
    known = replace(task, n_test=counts.n_rows)
    others = [
        replace(task, formulation=name, depths=(), wanted="questions", n_test=counts.n_rows) for name in counts.others
    ]
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        _add(known, net, rows)
        tables.append(rows.frame())
        progress(len(steps))
    last = run.steps[-1:]
    net, rows = Network(run.recipe.model, run.stack(last)), Rows(run.run_id, last, [run.tokens_seen(last[0])])
    for other in others:
        _add(other, net, rows)
    return pd.concat([*tables, *([rows.frame()] if others else [])], ignore_index=True)


def _add(task: ChainWords, net: Network, rows: Rows) -> None:
    batch = task.split("test")
    right = answered(task, net, batch)
    for at, depth in enumerate(task.depths):
        of_depth = right[:, batch.variables["depth"] == at]
        n_asked = of_depth[0].numel()
        where = {"split": "test", "family": task.formulation, "variable": f"depth {depth}"}
        rows.add("accuracy", of_depth.float().mean((-1, -2)), n_asked, **where)


def answered(task: ChainWords, net: Network, batch: Batch) -> Bool[Tensor, "ckpt batch question"]:
    """Whether each question is answered by the likeliest answer of the right kind."""
    row, at, kind = torch.arange(len(batch))[:, None], batch.roles["questions"], torch.tensor(task.answers)
    logits = net.run(batch).logits[:, row, at][..., kind]
    return kind[logits.argmax(-1)] == batch.targets[row, at]


def readers(asked: Readers) -> pd.DataFrame:
    """How often a perfect reader of all but one part is right: ``formulation``, ``unread``, ``accuracy``, ``guess``."""
    found = [
        {"formulation": name, "unread": part, "accuracy": accuracy, "guess": 1 / len(formulation(name)[0].acceptable)}
        for name in asked.formulations
        for part, accuracy in part_lines(name, asked.n_prompts).items()
    ]
    return pd.DataFrame(found)
