"""The reference prompts of a task: what "mean" averages over, and what "resample" takes an activation from.

``static/prompt.js`` applies the same rule to the same tables in the page.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from circuitcore.tasks.base import Task, TaskError

N_REFERENCES = 32


def reference_tables(task: Task) -> dict[int, list[list[int]]]:
    """Number of tokens -> a few rows of the first split that has rows of so many, its first ones if they come cheap.

    The split that is trained on comes last.
    """
    trained, *others = task.splits
    tables = {}
    for split in (*others, trained):
        tokens = task.few(split, N_REFERENCES).tokens
        tables.setdefault(tokens.shape[1], tokens.tolist())
    return dict(sorted(tables.items()))


def references(task: Task, n_tokens: int) -> Int[Tensor, "row pos"]:
    """At most 32 rows of ``n_tokens`` tokens; where no split has such rows, how the shortest longer ones begin.

    Raises:
        TaskError: no row is long enough.
    """
    tables = reference_tables(task)
    enough = [length for length in tables if length >= n_tokens]
    if not enough:
        raise TaskError(f"no row of this task has {n_tokens} tokens; the longest have {max(tables)}")
    return torch.tensor(tables[min(enough)])[:, :n_tokens]
