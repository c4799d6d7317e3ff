"""Scores over groups of rows: the source's groups, and the worst of any groups."""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.tasks.base import Batch


def published_groups(families: Mapping[str, Batch]) -> Int[Tensor, " row"]:
    """The source's group of each row of all families, in their order.

    One group for each base prompt, and every longer-context row alone (a defect, kept as published).
    """
    return torch.cat(
        [batch.base if family != "longer_context" else batch.base + 1_000_000 for family, batch in families.items()]
    )


def worst_share(hits: Float[Tensor, "*lead row"], groups: Int[Tensor, " row"]) -> Float[Tensor, "*lead"]:
    """The lowest share of hits over groups of rows; ``groups`` holds any ids."""
    index = torch.unique(groups, return_inverse=True)[1]
    n = int(index.max()) + 1
    sums = torch.zeros(*hits.shape[:-1], n, dtype=hits.dtype).index_add(-1, index, hits)
    return (sums / torch.bincount(index, minlength=n)).amin(-1)
