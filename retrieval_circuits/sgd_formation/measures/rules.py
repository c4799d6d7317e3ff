"""What somebody answers who goes by recency alone, read by read, so that a network's answers can be held against it."""

import torch
from jaxtyping import Int
from torch import Tensor

from circuitcore.tasks.stream_rules import shown_to
from circuitcore.tasks.streams import Stream

BACK = (1, 2, 3)
"""How many writes back the values stand that are compared with; on the source's stream the second one often pays."""


def recency_answers(task: Stream, split: str, n_rows: int) -> dict[str, Int[Tensor, " read"]]:
    """The value so many writes back (``2 back``) at each read of the first rows of a split; -1 where there is none."""
    batch = task.split(split).rows(slice(0, n_rows))
    shown = shown_to(task, batch, task.reads_of(batch))
    found = {}
    for back in BACK:
        number = shown.count - back
        value = shown.value.gather(1, number.clamp(min=0)[:, None])[:, 0] + task.words.first_value
        found[f"{back} back"] = torch.where(number >= 0, value, -1)
    return found
