"""What an edit can change at all: where it first acts, and whether the read-out can see it.

Decided by the structure of a causal decoder alone, whatever the weights: information moves up through the layers at
its own position, and to later positions through the keys and values of each layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from circuitcore.models.edits import Resolved
from circuitcore.models.sites import Site, stage

READ_BY_LATER_POSITIONS = ("resid_pre", "k", "v")  # through the attention of their own layer


@dataclass(frozen=True, order=True, slots=True)
class Onset:
    """Where an intervention first acts on what the read-out sees: below ``layer`` and before ``first`` all is clean."""

    layer: int
    first: int
    stage: int


def onset(intervention: Sequence[Resolved], read_out: Tensor, n_layers: int) -> Onset | None:
    """Where an intervention first acts; None if no row's read-out can see it.

    An intervention without any edit has no onset either: nothing happens in it, so nothing is seen.

    Args:
        intervention: edits made together, found in a batch.
        read_out: the position ``[batch]`` whose logits are asked for.
        n_layers: of the decoder.
    """
    acting = [(edit.site, places) for edit in intervention if (places := seen(edit, read_out, n_layers)).any()]
    if not acting:
        return None
    layer, first_stage = min((site.layer, stage(site.name)) for site, _ in acting)
    first = torch.stack([places.any(0) for _, places in acting]).any(0).int().argmax()
    return Onset(layer, int(first), first_stage)


def seen(edit: Resolved, read_out: Tensor, n_layers: int) -> Tensor:
    """``[batch pos]``: where the edit acts and the read-out of the row can see it.

    The first position attends to itself alone, with whatever query and key.
    """
    position, last = torch.arange(edit.positions.shape[1], device=read_out.device), read_out[:, None]
    places = edit.positions & (position <= last)
    if not passes_on(edit.site, n_layers):
        places = places & (position == last)
    if edit.site.name == "q":
        places = places & (position > 0)
    if edit.site.name == "k":
        places = places & (last > 0)
    if edit.keys is not None:
        places = places & (edit.keys.int().argmax(1, keepdim=True) <= position)  # what is ahead is not seen anyway
    return places


def passes_on(site: Site, n_layers: int) -> bool:
    """Whether later positions can see a site: through attention, of its own layer or of a later one."""
    if site.name == "resid_final":
        return False
    return site.name in READ_BY_LATER_POSITIONS or site.layer < n_layers - 1
