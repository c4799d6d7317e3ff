"""What claims and figures read: the share of questions answered, by look-ups."""

import pandas as pd

from livingpaper.claims.reading import OfMetric, at_end
from livingpaper.claims.results import Results
from retrieval_circuits.chain_prompts.design import ALONE, LINES, READERS, RELATIVES

KIND = {ALONE: "F1", LINES: "F1", RELATIVES: "F5"}
"""Arm -> the formulation that it is trained on."""


def accuracy(arm: str, depth: int, kind: str = "") -> OfMetric:
    """Values of a reading: share of questions answered at the end, at a number of look-ups, one number a seed."""
    return at_end("accuracy", arm, variable=f"depth {depth}", family=kind or KIND[arm])


def best_reader(results: Results, kind: str) -> float:
    """How often the best of the readers is right who leave one part of a prompt unread."""
    table = results.tables[READERS]
    return float(table[table["formulation"] == kind]["accuracy"].max())


def by_depth(results: Results, *arms: str) -> pd.DataFrame:
    """Accuracy at the end on the prompts trained on: ``arm``, ``init_seed``, ``depth``, ``value``."""
    found = [results.at_final("accuracy", arm, family=KIND[arm]).assign(arm=arm) for arm in arms]
    table = pd.concat(found, ignore_index=True)
    return table.assign(depth=table["variable"].astype(str).str.removeprefix("depth ").astype(int))
