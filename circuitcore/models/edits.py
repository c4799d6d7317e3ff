"""Edits of a forward pass, as values: ablate, patch, cut.

An *edit* is one change; an *intervention* is a tuple of edits made together; a list of interventions compiles to one
``Plan`` and runs as one more leading axis of one forward pass. Nothing here touches weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from circuitcore.models.sites import RECORD_ONLY_SITES, Head, Mlp, Site, check_site

Roles = Mapping[str, Tensor]
Cache = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class Ablate:
    """Remove what a head (its ``z``) or an MLP (its ``mlp_out``) contributes.

    ``how``: ``"zero"``; ``"mean"`` and ``"resample"`` take the values of the caches of those names. ``positions``:
    ``"all"`` or a role of the batch such as ``"read_out"``.
    """

    part: Head | Mlp
    how: Literal["zero", "mean", "resample"]
    positions: str = "all"

    def __str__(self) -> str:
        return f"{self.how}({self.part})@{self.positions}"


@dataclass(frozen=True, slots=True)
class Patch:
    """Replace a site's value at some positions by that of the cache called ``source``."""

    site: Site
    positions: str
    source: str

    def __str__(self) -> str:
        return f"patch({self.site}<-{self.source})@{self.positions}"


@dataclass(frozen=True, slots=True)
class CutEdge:
    """Forbid one head to attend from the positions of role ``query`` to those of role ``key``."""

    head: Head
    query: str
    key: str

    def __str__(self) -> str:
        return f"cut({self.head}:{self.query}->{self.key})"


Edit = Ablate | Patch | CutEdge


@dataclass(frozen=True, eq=False)
class Replacement:
    """New values at one site for some of the interventions.

    ``index [k]`` says which; ``mask`` and ``value`` broadcast to ``[k *stack *site shape]``.
    """

    index: Tensor
    mask: Tensor
    value: Tensor

    def apply(self, x: Tensor, stack_dims: int) -> Tensor:
        """``x [edit *stack ...]`` with the masked entries replaced; ``x`` itself is left alone."""
        mask = self.mask[:, None] if stack_dims else self.mask
        if len(self.index) == len(x):
            return torch.where(mask, self.value, x)
        return x.index_copy(0, self.index, torch.where(mask, self.value, x[self.index]))


@dataclass(frozen=True, eq=False)
class Plan:
    """Interventions as tensors: site key -> replacement, with a common edit axis of ``n_edits``."""

    n_edits: int
    replacements: Mapping[str, Replacement]


def compile_edits(
    interventions: Sequence[Sequence[Edit]], roles: Roles, sources: Mapping[str, Cache], like: Cache
) -> Plan:
    """Turn interventions into tensors.

    Args:
        interventions: each a tuple of edits made together; an empty one changes nothing.
        roles: named positions of the batch, ``[batch]`` or ``[batch slot]``.
        sources: recorded caches by name; values broadcast to the shape of the edited site.
        like: a clean cache holding every edited site (for shapes), recorded with the same weights.

    Raises:
        ValueError: an unknown site, head or position, a source that was not given or does not fit, a site that can
            only be recorded, a query left without any key.
    """
    entries: dict[str, list[tuple[int, Tensor, Tensor]]] = {}
    for number, edits in enumerate(interventions):
        for edit in edits:
            key, mask, value = _resolve(edit, roles, sources, like)
            entries.setdefault(key, []).append((number, mask, value))
    plan = Plan(len(interventions), {key: _merge(found, like[key]) for key, found in entries.items()})
    _refuse_blind_queries(plan)
    return plan


def _resolve(edit: Edit, roles: Roles, sources: Mapping[str, Cache], like: Cache) -> tuple[str, Tensor, Tensor]:
    """Site key, mask ``[batch pos ...]`` and replacement value of one edit."""
    if isinstance(edit, CutEdge):
        key = f"scores.{edit.head.layer}"
        shape = _shape(key, like)
        _check_head(edit, edit.head.index, shape[1])
        query = _positions(edit.query, roles, shape[0], shape[-2], like[key].device)
        to = _positions(edit.key, roles, shape[0], shape[-1], like[key].device)
        mask = torch.zeros(shape, dtype=torch.bool, device=like[key].device)
        mask[:, edit.head.index] = query[:, :, None] & to[:, None, :]
        return key, mask, torch.tensor(-torch.inf, dtype=like[key].dtype, device=like[key].device)
    site, source = (edit.site, edit.source) if isinstance(edit, Patch) else (_site_of(edit.part), edit.how)
    check_site(site)
    if site.name in RECORD_ONLY_SITES:
        raise ValueError(f"{site} can be recorded but not patched; patch z, or cut edges with CutEdge")
    shape = _shape(site.key, like)
    mask = _positions(edit.positions, roles, shape[0], shape[1], like[site.key].device)
    mask = mask[:, :, None] if len(shape) == 3 else mask[:, :, None, None]
    if site.head is not None:
        _check_head(edit, site.head, shape[2])
        mask = mask & (torch.arange(shape[2], device=mask.device) == site.head)[:, None]
    if source == "zero":
        return site.key, mask, torch.zeros((), dtype=like[site.key].dtype, device=mask.device)
    if source not in sources or site.key not in sources[source]:
        raise ValueError(f"{edit} needs {site.key!r} in the cache {source!r}; given: {sorted(sources)}")
    value = sources[source][site.key]
    if not _broadcasts(value.shape, like[site.key].shape):
        raise ValueError(
            f"{edit}: {site.key!r} has shape {tuple(value.shape)} in the cache {source!r}, which does not broadcast to "
            f"{tuple(like[site.key].shape)}"
        )
    return site.key, mask, value


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False))


def _check_head(edit: Edit, head: int, n_heads: int) -> None:
    if not 0 <= head < n_heads:
        raise ValueError(f"{edit}: no head {head}; the layer has heads 0..{n_heads - 1}")


def _merge(found: list[tuple[int, Tensor, Tensor]], like: Tensor) -> Replacement:
    """All edits of one site; later edits of one intervention win where they overlap."""
    numbers = sorted({number for number, _, _ in found})
    masks: dict[int, Tensor] = {}
    values: dict[int, Tensor] = {}
    for number, mask, value in found:
        if number in masks:
            values[number] = torch.where(mask, value, values[number])
            masks[number] = masks[number] | mask
        else:
            masks[number], values[number] = mask, value
    mask = torch.stack(torch.broadcast_tensors(*masks.values()))
    value = torch.stack([values[number].expand(like.shape) for number in numbers])
    return Replacement(torch.tensor(numbers, device=like.device), mask, value)


def _refuse_blind_queries(plan: Plan) -> None:
    """A query with every key cut has no pattern at all (softmax of nothing)."""
    for key, replacement in plan.replacements.items():
        if key.startswith("scores."):
            n_pos = replacement.mask.shape[-1]
            future = torch.ones(n_pos, n_pos, dtype=torch.bool, device=replacement.mask.device).triu(1)
            if (replacement.mask | future).all(-1).any():
                raise ValueError(
                    "these cuts leave a query with no key to attend to; leave at least one, or ablate the head"
                )


def _site_of(part: Head | Mlp) -> Site:
    return Site("z", part.layer, part.index) if isinstance(part, Head) else Site("mlp_out", part.layer)


def _shape(key: str, like: Cache) -> tuple[int, ...]:
    """The site's own shape, without the checkpoint axis."""
    if key not in like:
        raise ValueError(f"no clean value of {key!r} to edit: record it first (given: {', '.join(sorted(like))})")
    rank = 4 if key.split(".")[0] in ("q", "k", "v", "z", "scores") else 3
    return tuple(like[key].shape[-rank:])


def _positions(role: str, roles: Roles, n_rows: int, n_pos: int, device: torch.device) -> Tensor:
    """``[batch pos]`` true at the positions of a role."""
    if role == "all":
        return torch.ones(n_rows, n_pos, dtype=torch.bool, device=device)
    if role not in roles:
        raise ValueError(f"unknown positions {role!r}; allowed: all, {', '.join(sorted(roles))}")
    at = roles[role].reshape(n_rows, -1)
    return torch.zeros(n_rows, n_pos, dtype=torch.bool, device=device).scatter(
        1, at, torch.ones_like(at, dtype=torch.bool)
    )
