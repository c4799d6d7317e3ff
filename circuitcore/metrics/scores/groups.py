"""Scores over groups of rows: the source's groups, and the means and the worst of any groups."""

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
    return mean_by(hits, index, int(index.max()) + 1).amin(-1)


def mean_by(
    values: Float[Tensor, "*lead row"], groups: Int[Tensor, " row"], n_groups: int
) -> Float[Tensor, "*lead group"]:
    """The mean of the rows of each group, of which 0 to ``n_groups`` - 1 there are; NaN where one has no row."""
    sums = torch.zeros(*values.shape[:-1], n_groups, dtype=values.dtype).index_add(-1, groups, values)
    return sums / torch.bincount(groups, minlength=n_groups)
