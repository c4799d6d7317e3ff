"""How much of a key-value split has been seen before: inside itself, and in the other splits.

Three degrees, each implied by the one before:

- "prompt": the same tokens.
- "question": the same set of pairs and the same queried key, in whatever order the pairs stand.
- "mapping": the same set of pairs, whatever is asked.

A row whose question was trained on can be answered from memory. A row that shares a mapping only
cannot be answered by looking its question up, but its pairs have been seen together.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from jaxtyping import Int

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.base import Batch, TaskError
from circuitcore.tasks.token_task import TokenTask

DEGREES = ("prompt", "question", "mapping")


def leakage(task: TokenTask) -> pd.DataFrame:
    """Count rows already seen, for every split and every split named before it.

    Args:
        task: one whose rows have the roles ``query_key``, ``slot_key`` and ``slot_value``.

    Returns:
        One row for each ``split``, ``against`` and ``degree``. ``n`` counts rows of ``split`` that
        have a match in ``against``, out of ``rows``; when both are the same split, it counts the
        rows that repeat an earlier one. Splits of other lengths cannot match and are left out.

    Raises:
        TaskError: rows without those roles.
    """
    seen = {name: _signatures(task.split(name)) for name in task.splits}
    counts = []
    for place, split in enumerate(task.splits):
        for against in task.splits[: place + 1]:
            if task.split(split).tokens.shape[1] != task.split(against).tokens.shape[1]:
                continue
            for degree in DEGREES:
                ours, theirs = seen[split][degree], seen[against][degree]
                n = _n_repeats(ours) if split == against else _n_matches(ours, theirs)
                counts.append([split, against, degree, n, len(ours)])
    return pd.DataFrame(counts, columns=["split", "against", "degree", "n", "rows"])


def _signatures(batch: Batch) -> Mapping[str, Int[np.ndarray, "batch ..."]]:
    """For each degree a code per row: rows match in that degree if their codes are equal."""
    for role in ("query_key", "slot_key", "slot_value"):
        if role not in batch.roles:
            raise TaskError(f"leakage needs pairs and a query: {unknown('role', role, batch.roles)}")
    keys = batch.tokens.gather(1, batch.roles["slot_key"]).numpy()
    values = batch.tokens.gather(1, batch.roles["slot_value"]).numpy()
    query = batch.tokens.gather(1, batch.roles["query_key"][:, None]).numpy()
    # Sorting the pairs by key makes the code forget their order; keys are distinct within a row.
    order = keys.argsort(axis=1)
    mapping = np.column_stack([np.take_along_axis(part, order, axis=1) for part in (keys, values)])
    return {
        "prompt": batch.tokens.numpy(),
        "question": np.column_stack([mapping, query]),
        "mapping": mapping,
    }


def _n_repeats(codes: Int[np.ndarray, "batch code"]) -> int:
    """Rows equal to an earlier row."""
    return len(codes) - len(np.unique(codes, axis=0))


def _n_matches(ours: Int[np.ndarray, "row code"], theirs: Int[np.ndarray, "other code"]) -> int:
    """Rows of ``ours`` equal to some row of ``theirs``."""
    _, label = np.unique(np.concatenate([ours, theirs]), axis=0, return_inverse=True)
    return int(np.isin(label[: len(ours)], label[len(ours) :]).sum())
