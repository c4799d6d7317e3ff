"""The pad of the chapter: a few random pairs, drawn as the experiments draw theirs."""

from collections.abc import Sequence

import torch

from livingpaper.explorer.material import Material
from livingpaper.explorer.memory_pad import MemoryPad, Stored
from retrieval_circuits.associative_memory.design import WAYS
from retrieval_circuits.associative_memory.measures.closed_form import predicted_accuracy
from retrieval_circuits.associative_memory.measures.sums import unit_vectors

WIDTHS = (8, 16, 24)
N_PAIRS = 120
"""Beyond all that 24 channels recall in part: a load of 1."""
STEPS = (3, 10, 30, 100)
SEED = 0
"""Of the pairs on the page. No experiment has it."""
OPENING = Stored(width=24, pairs=40, way="sum", steps=30)
"""A load at which a few pairs are lost."""


def pad(materials: Sequence[Material]) -> MemoryPad:
    """The pad; what networks there are says nothing of it."""
    generator = torch.Generator().manual_seed(SEED)
    drawn = {d: [unit_vectors(1, N_PAIRS, d, generator)[0].numpy() for _ in range(2)] for d in WIDTHS}
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
