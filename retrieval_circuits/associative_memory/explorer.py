"""The pad of the chapter: a few random pairs, drawn as the experiments draw theirs."""

from collections.abc import Sequence

import numpy as np
import torch

from livingpaper.explorer.material import Material
from livingpaper.explorer.memory_pad import MemoryPad, Stored
from livingpaper.explorer.memory_sums import filled, recall
from retrieval_circuits.associative_memory.design import WAYS
from retrieval_circuits.associative_memory.measures.closed_form import predicted_accuracy
from retrieval_circuits.associative_memory.measures.sums import unit_vectors

WIDTHS = (8, 16, 24)
N_PAIRS = 120
"""Beyond all that 24 channels recall in part: a load of 1."""
STEPS = (3, 10, 30, 100)
DRAWS = tuple(range(200, 220))
"""Seeds of pairs that could stand on the page. No experiment has them."""
SEED = 219
"""Of the pairs on the page: of those draws the one whose recall by sums is nearest to their mean, over all widths and
numbers of pairs. One draw alone may be ten points above the mean, or below."""
OPENING = Stored(width=24, pairs=40, way="sum", steps=30)
"""A load at which a few pairs are lost."""


def _drawn(seed: int) -> dict[int, list[np.ndarray]]:
    """Width -> inputs and outputs of one draw."""
    generator = torch.Generator().manual_seed(seed)
    return {d: [unit_vectors(1, N_PAIRS, d, generator)[0].numpy() for _ in range(2)] for d in WIDTHS}


def recalled_by_sums(seed: int, width: int, pairs: int) -> float:
    """The share of the first pairs of a draw that their sum recalls."""
    inputs, outputs = (vectors[:pairs] for vectors in _drawn(seed)[width])
    return float(recall(filled("sum", inputs, outputs), inputs, outputs).is_recalled.mean())


def scatter() -> float:
    """How far recall of single draws lies from their mean where the pad opens: the standard deviation."""
    return float(np.std([recalled_by_sums(seed, OPENING.width, OPENING.pairs) for seed in DRAWS], ddof=1))


def pad(materials: Sequence[Material]) -> MemoryPad:
    """The pad; what networks there are says nothing of it."""
    drawn = _drawn(SEED)
    return MemoryPad(
        name="pad-pairs",
        title="What a sum of pairs recalls, beside what independent noise predicts",
        inputs={d: inputs for d, (inputs, _) in drawn.items()},
        outputs={d: outputs for d, (_, outputs) in drawn.items()},
        predicted={d: [None, None, *(predicted_accuracy(d, n) for n in range(3, N_PAIRS + 1))] for d in WIDTHS},
        rate=next(rate for name, rate in WAYS if name == "gd"),
        steps=STEPS,
        opening=OPENING,
    )
