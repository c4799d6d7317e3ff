"""Whether two runs have the same weights, asked without shipping any."""

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd
import torch

from circuitcore.metrics.table import Rows

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

BITS = 52
"""Of the hash: a float64 holds such a number exactly. Two different networks share one once in 5e15 times."""


def fingerprints(run: "Run", settings: None, progress: Callable[[int], None]) -> pd.DataFrame:
    """A number for the weights of each checkpoint, the same only if every bit of every weight is.

    Steps count as in ``routes``. Metric ``fingerprint``: the first bits of the SHA-256 of all weights by name.
    """
    start, found = run.recipe.schedule.start, []
    for step in run.steps:
        digest = hashlib.sha256()
        for name, value in sorted(run.weights(step).items()):
            digest.update(name.encode() + value.contiguous().numpy().tobytes())
        number = int.from_bytes(digest.digest()[:8]) >> (64 - BITS)
        rows = Rows(run.run_id, [start + step], [run.tokens_seen(step)])
        rows.add("fingerprint", torch.tensor([number], dtype=torch.float64), 1)
        found.append(rows.frame())
        progress(1)
    return pd.concat(found, ignore_index=True)
