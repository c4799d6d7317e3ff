"""How much the splits share: ours, fresh draws by the published rule, and the published files as counted."""

import functools
from typing import Literal

import pandas as pd

from circuitcore.tasks import make_task
from circuitcore.tasks.leakage import leakage
from retrieval_circuits.symbolic_kv.claims import PUBLISHED_LEAK

N_DRAWS = 20
ROWS = {
    "duplicates inside train": ("train", "train", "prompt"),
    "val rows literally in train": ("val", "train", "prompt"),
    "test rows literally in train": ("test", "train", "prompt"),
    "rows shared by val and test": ("test", "val", "prompt"),
    "val rows with pairs and query in train": ("val", "train", "question"),
    "test rows with pairs and query in train": ("test", "train", "question"),
    "val rows with pairs in train": ("val", "train", "mapping"),
    "test rows with pairs in train": ("test", "train", "mapping"),
}


@functools.lru_cache(maxsize=64)
def leak_counts(sampling: Literal["published", "disjoint"], generator_seed: int = 7) -> pd.DataFrame:
    """Counts of rows already seen, as ``tasks.leakage.leakage`` gives them."""
    return leakage(make_task("symbolic_kv", {"sampling": sampling, "generator_seed": generator_seed}))


def count(counts: pd.DataFrame, label: str) -> int:
    """Rows of one kind of leak, by its label in ``ROWS``."""
    split, against, degree = ROWS[label]
    chosen = (counts["split"] == split) & (counts["against"] == against) & (counts["degree"] == degree)
    return int(counts.loc[chosen, "n"].iloc[0])


def leak_table() -> pd.DataFrame:
    """One row per kind of leak, source and draw: ``group``, ``series``, ``draw``, ``value`` (rows)."""
    found = []
    for label in ROWS:
        draws = {("disjoint splits (ours)", 7): leak_counts("disjoint")}
        draws |= {("drawn as published", seed): leak_counts("published", seed) for seed in range(N_DRAWS)}
        for (series, draw), counts in draws.items():
            found.append({"group": label, "series": series, "draw": draw, "value": float(count(counts, label))})
        found.append({"group": label, "series": "published files", "draw": 0, "value": float(PUBLISHED_LEAK[label])})
    return pd.DataFrame(found)
