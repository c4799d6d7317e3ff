"""Several interventions as tensors: one more leading axis of one forward pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from circuitcore.models.edits import Cache, Edit, Resolved, Roles, resolve
from circuitcore.models.window import WHOLE, Window


@dataclass(frozen=True, eq=False)
class Replacement:
    """New values at one site for some of the interventions.

    ``index [k]`` says which; ``mask`` broadcasts to ``[k *site shape]``, ``value`` too or with the checkpoints' axis in
    second place.
    """

    index: Tensor
    mask: Tensor
    value: Tensor

    def apply(self, x: Tensor, stack_dims: int) -> Tensor:
        """``x [edit *stack ...]`` with the masked entries replaced; ``x`` itself is left alone."""
        mask = self.mask[:, None] if stack_dims else self.mask
        value = self.value[:, None] if self.value.dim() < x.dim() else self.value
        if len(self.index) == len(x):
            return torch.where(mask, value, x)
        return x.index_copy(0, self.index, torch.where(mask, value, x[self.index]))


@dataclass(frozen=True, eq=False)
class Plan:
    """Interventions as tensors: site key -> replacement, with a common edit axis of ``n_edits``.

    ``window`` is the part of the pass that is computed; the replacements are of that part.
    """

    n_edits: int
    replacements: Mapping[str, Replacement]
    window: Window = WHOLE


def compile_edits(
    interventions: Sequence[Sequence[Edit]], roles: Roles, sources: Mapping[str, Cache], like: Cache
) -> Plan:
    """Turn interventions into the plan of a whole pass; an empty one changes nothing.

    Arguments and errors are those of ``resolve``.
    """
    return plan([resolve(edits, roles, sources, like) for edits in interventions], WHOLE)


def plan(interventions: Sequence[Sequence[Resolved]], window: Window) -> Plan:
    """The plan of a pass in ``window``: the part of each edit that lies in it."""
    entries: dict[str, dict[int, tuple[Tensor, Tensor]]] = {}
    for number, edits in enumerate(interventions):
        for edit in edits:
            layer, name = edit.site.layer, edit.site.name
            mask, value = window.part(name, layer, _mask(edit)), window.part(name, layer, edit.value)
            at_site = entries.setdefault(edit.site.key, {})
            if number in at_site:  # the later edit wins where they overlap
                earlier, before = at_site[number]
                mask, value = earlier | mask, torch.where(mask, value, before)
            at_site[number] = mask, value
    return Plan(len(interventions), {key: _merge(found) for key, found in entries.items()}, window)


def _mask(edit: Resolved) -> Tensor:
    """Where it acts: ``[batch pos 1]``, ``[batch pos head 1]``, or ``[batch head query key]`` where it has keys."""
    where = edit.positions[:, :, None]
    if not edit.n_heads:
        return where
    index = torch.arange(edit.n_heads, device=where.device)
    heads = (index == edit.site.head) if edit.site.head is not None else torch.ones_like(index, dtype=torch.bool)
    if edit.keys is not None:
        return heads[:, None, None] & (where & edit.keys[:, None, :])[:, None]
    return where[..., None] & heads[:, None]


def _merge(found: dict[int, tuple[Tensor, Tensor]]) -> Replacement:
    """All interventions that act at one site."""
    masks, values = zip(*found.values(), strict=True)
    numbers = torch.tensor(list(found), device=masks[0].device)
    return Replacement(
        numbers, torch.stack(torch.broadcast_tensors(*masks)), torch.stack(torch.broadcast_tensors(*values))
    )
