"""How far what stands at a site has moved between two checkpoints of a run.

Source: retrieval-motifs study, representation drift. It compares pairs in the order of file names; here time orders
them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.instruments.tracked import Sweep, tracked_sites, values_at_read_out, varies
from circuitcore.metrics.network import Network
from circuitcore.models.sites import Site

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

N_CHECKPOINTS = 24  # spread over those of the run
N_ROWS = 512
AT_ONCE = 2  # checkpoints recorded together


def values_over_training(run: "Run", sweep: Sweep, steps: Sequence[int]) -> dict[Site, Float[Tensor, "ckpt row _"]]:
    """What stands at each tracked site on the sweep's rows, at each of the steps."""
    sites, parts = tracked_sites(run.recipe.model), []
    for start in range(0, len(steps), AT_ONCE):
        net = Network(run.recipe.model, run.stack(steps[start : start + AT_ONCE]))
        parts.append(values_at_read_out(net, sweep.batches, sites))
    return {site: torch.cat([part[site] for part in parts]) for site in sites}


def pairs(n_checkpoints: int) -> list[tuple[int, int]]:
    """Which checkpoints are compared: each with the first, the last and the one before it; no pair twice."""
    found = [(at, to) for at in range(n_checkpoints) for to in (0, n_checkpoints - 1, at - 1) if to >= 0 and to != at]
    return list(dict.fromkeys(found))


def drift(
    values: Float[Tensor, "ckpt row width"], sweep: Sweep, compared: Sequence[tuple[int, int]]
) -> dict[str, Float[Tensor, " pair"]]:
    """CKA, cosine of means and relative change of one site, for pairs of its checkpoints.

    CKA is NaN where the site is constant at either checkpoint (``tracked.varies``): there is nothing to align.
    """
    at, to = torch.tensor(compared).T
    earlier, later = torch.minimum(at, to), torch.maximum(at, to)
    there = varies(values, sweep.length).any(-1)
    values = values.double()
    return {
        "cka": linear_cka(values[earlier], values[later]).where(there[earlier] & there[later], torch.nan),
        "mean_cosine": mean_cosine(values[earlier], values[later]),
        "relative_change": relative_change(values[earlier], values[later]),
    }


def linear_cka(
    left: Float[Tensor, "*lead row width"], right: Float[Tensor, "*lead row other_width"]
) -> Float[Tensor, "*lead"]:
    """Linear centred kernel alignment: 1 for rows that differ by rotation, shift and scale; in [0, 1].

    Unrelated rows score well above 0 where channels are not few against rows. NaN where a side is constant.

    Source: Kornblith et al. 2019.
    """
    left, right = left - left.mean(-2, keepdim=True), right - right.mean(-2, keepdim=True)
    shared = (left.mT @ right).square().sum((-2, -1))
    sizes = [(side.mT @ side).square().sum((-2, -1)).sqrt() for side in (left, right)]
    return shared / (sizes[0] * sizes[1])


def mean_cosine(
    left: Float[Tensor, "*lead row width"], right: Float[Tensor, "*lead row width"]
) -> Float[Tensor, "*lead"]:
    """Cosine between the mean rows of both sides; 0 where one of them is zero."""
    return torch.cosine_similarity(left.mean(-2), right.mean(-2), dim=-1)


def relative_change(
    left: Float[Tensor, "*lead row width"], right: Float[Tensor, "*lead row width"]
) -> Float[Tensor, "*lead"]:
    """Size of the difference over the size of the left side, both Frobenius norms; 0: nothing has moved."""
    return (right - left).norm(dim=(-2, -1)) / left.norm(dim=(-2, -1))
