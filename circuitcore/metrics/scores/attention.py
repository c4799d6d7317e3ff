"""Where heads look: scores of attention patterns against the task's named positions.

Patterns are ``[ckpt batch head query key]``; a row of the pattern sums to 1 over keys.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.tasks.base import Batch

Pattern = Float[Tensor, "*lead batch head query key"]
PerHead = Float[Tensor, "*lead batch head"]


def mass(pattern: Pattern, batch: Batch, query: str, key: str) -> Float[Tensor, "*lead batch head slot"]:
    """Attention from the position of role ``query`` to each position of role ``key``, in [0, 1].

    Where both roles name one position per slot, slot i looks at slot i. A uniform head at position p gives 1/(p + 1).
    """
    to = batch.roles[key].reshape(len(batch), -1)
    by = batch.roles[query].reshape(len(batch), -1).expand_as(to)
    rows = torch.arange(len(batch))[:, None]
    return pattern.movedim(-3, -1)[..., rows, by, to, :].movedim(-1, -2)


def slot_mass(pattern: Pattern, batch: Batch, parts: tuple[str, ...]) -> Float[Tensor, "*lead batch head slot"]:
    """Attention from the read-out to each slot, summed over the roles in ``parts``; the rest goes elsewhere."""
    return torch.stack([mass(pattern, batch, "read_out", part) for part in parts]).sum(0)


def slot_mass_of_row(
    row: Float[Tensor, "*lead batch head key"], batch: Batch, parts: tuple[str, ...]
) -> Float[Tensor, "*lead batch head slot"]:
    """``slot_mass`` where only the pattern's row of the read-out is at hand."""
    places = [batch.roles[part].reshape(len(batch), 1, -1) for part in parts]
    return torch.stack([row.gather(-1, at.expand(*row.shape[:-1], -1)) for at in places]).sum(0)


def chosen_slot(slots: Float[Tensor, "*lead batch head slot"]) -> Int[Tensor, "*lead batch head"]:
    """The slot with most attention; ties go to the lower slot, as in the source."""
    return slots.argmax(-1)


def routes(
    slots: Float[Tensor, "*lead batch head slot"], matching: Int[Tensor, " batch"]
) -> Bool[Tensor, "*lead batch head"]:
    """Whether the most attended slot is the matching one. Chance: one over the number of slots.

    Source: retrieval-motifs study, "routing" (key and value position summed, no minimum of mass).
    """
    return chosen_slot(slots) == matching[:, None]


def matching_mass(slots: Float[Tensor, "*lead batch head slot"], matching: Int[Tensor, " batch"]) -> PerHead:
    """Attention mass on the matching slot, in [0, 1]; uniform at position p: (positions per slot)/(p + 1)."""
    return slots.gather(-1, matching[:, None, None].expand(*slots.shape[:-1], 1)).squeeze(-1)


def choice_follows_query(
    slots: Float[Tensor, "*lead batch head slot"], base: Int[Tensor, " batch"]
) -> Float[Tensor, "*lead head"]:
    """Share of contexts in which the most attended slot differs between queries of the same context.

    Rows with the same ``base`` must share their context. 0 means the head's choice cannot depend on the query.
    """
    choice = chosen_slot(slots)
    groups = torch.unique(base, return_inverse=True)[1]
    n_groups, n_slots = int(groups.max()) + 1, slots.shape[-1]
    seen = torch.zeros(*choice.shape[:-2], n_groups, choice.shape[-1], n_slots)
    picked = torch.nn.functional.one_hot(choice, n_slots).to(seen.dtype)
    return (seen.index_add(-3, groups, picked) > 0).sum(-1).gt(1).float().mean(-2)
