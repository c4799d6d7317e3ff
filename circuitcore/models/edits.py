"""Edits of a forward pass, as values: ablate, patch, cut, attend.

An *edit* is one change; an *intervention* is a tuple of edits made together. ``resolve`` finds edits in the tensors of
a batch: where each acts and what it puts there, still without a copy of anything. ``plan.py`` makes one forward pass of
several interventions. Nothing here touches weights.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from circuitcore.ground.spelling import unknown
from circuitcore.models.sites import HEAD_SITES, RECORD_ONLY_SITES, Head, Mlp, Site, check_site, site_rank

HOW = ("zero", "mean", "resample")
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


@dataclass(frozen=True, slots=True)
class Attend:
    """Set where one head looks: from the positions of role ``query`` at those of role ``key``, and nowhere else.

    Slot by slot, where both roles have several positions a row; ``key`` "all" means evenly at every position up to the
    query. Source: Musat (ICLR 2025), appendix E, whose circuits are accepted when maps made so take the place of a
    head's own.
    """

    head: Head
    query: str
    key: str

    def __str__(self) -> str:
        return f"attend({self.head}:{self.query}->{self.key})"


Edit = Ablate | Patch | CutEdge | Attend


@dataclass(frozen=True, eq=False)
class Resolved:
    """One edit, found in the tensors of a batch.

    Attributes:
        site: what is replaced; for a cut the head's ``scores``, for a set attention its ``pattern``.
        positions: ``[batch pos]``, true where the site is replaced; of scores and patterns the queries.
        value: broadcasts to ``[*stack *site shape]``; a source's own tensor, never a copy.
        n_heads: heads of the layer, where the site has a head axis; else 0.
        keys: ``[batch pos]``, the keys whose scores or attention are replaced; None for any other site.
    """

    site: Site
    positions: Tensor
    value: Tensor
    n_heads: int = 0
    keys: Tensor | None = None


def resolve(edits: Iterable[Edit], roles: Roles, sources: Mapping[str, Cache], like: Cache) -> tuple[Resolved, ...]:
    """The edits of one intervention, found in the tensors of a batch.

    Args:
        edits: made together; where two meet, the later one wins.
        roles: named positions of the batch, ``[batch]`` or ``[batch slot]``.
        sources: recorded caches by name; values broadcast to the shape of the edited site.
        like: a clean cache holding every edited site (for shapes), recorded with the same weights.

    Raises:
        ValueError: an unknown site, layer, head, position or way of ablating, a source that was not given or does not
            fit, a site that can only be recorded, a query left without any key or made to look ahead.
    """
    found = tuple(_resolved(edit, roles, sources, like) for edit in edits)
    _refuse_blind_queries(found)
    return found


def _resolved(edit: Edit, roles: Roles, sources: Mapping[str, Cache], like: Cache) -> Resolved:
    if isinstance(edit, CutEdge):
        return _cut(edit, roles, like)
    if isinstance(edit, Attend):
        return _attend(edit, roles, like)
    return _replaced(edit, roles, sources, like)


def _cut(edit: CutEdge, roles: Roles, like: Cache) -> Resolved:
    site = edited_site(edit)
    shape, scores = _shape(site.key, like), like.get(site.key)
    _check_head(edit, edit.head.index, shape[1])
    query, to = (role_mask(role, roles, (shape[0], shape[-1]), scores.device) for role in (edit.query, edit.key))
    return Resolved(site, query, torch.tensor(-torch.inf, dtype=scores.dtype, device=scores.device), shape[1], to)


def _attend(edit: Attend, roles: Roles, like: Cache) -> Resolved:
    site = edited_site(edit)
    (n_rows, n_heads, _, n_pos), clean = _shape(site.key, like), like[site.key]
    _check_head(edit, edit.head.index, n_heads)
    query, every = (role_mask(role, roles, (n_rows, n_pos), clean.device) for role in (edit.query, "all"))
    if edit.key == "all":
        causal = torch.ones(n_pos, n_pos, dtype=clean.dtype, device=clean.device).tril()
        return Resolved(site, query, (causal / causal.sum(-1, keepdim=True))[None, None], n_heads, every)
    role_mask(edit.key, roles, (n_rows, n_pos), clean.device)  # for its error
    at, to = (roles[role].reshape(n_rows, -1) for role in (edit.query, edit.key))
    if to.shape[1] not in (1, at.shape[1]):
        raise ValueError(f"{edit}: {edit.query} has {at.shape[1]} positions a row, {edit.key} {to.shape[1]}")
    if (to > at).any():
        raise ValueError(f"{edit}: {edit.key} is ahead of {edit.query} in {int((to > at).any(1).sum())} rows")
    shape, rows = (n_rows, 1, n_pos, n_pos), torch.arange(n_rows, device=at.device)[:, None]
    chosen = torch.zeros(shape, dtype=clean.dtype, device=clean.device)
    chosen[rows, 0, at, to.expand_as(at)] = 1.0
    return Resolved(site, query, chosen, n_heads, every)


def _replaced(edit: Ablate | Patch, roles: Roles, sources: Mapping[str, Cache], like: Cache) -> Resolved:
    site, source = edited_site(edit), edit.source if isinstance(edit, Patch) else edit.how
    if isinstance(edit, Ablate) and source not in HOW:
        raise ValueError(f"{edit}: {unknown('way of ablating', source, HOW)}")
    check_site(site)
    if site.name in RECORD_ONLY_SITES:
        raise ValueError(f"{site} can be recorded but not patched; patch z, or cut edges with CutEdge")
    shape = _shape(site.key, like)
    clean = like[site.key]
    where = role_mask(edit.positions, roles, shape[:2], clean.device)
    n_heads = shape[2] if site.name in HEAD_SITES else 0
    if site.head is not None:
        _check_head(edit, site.head, n_heads)
    if source == "zero":
        return Resolved(site, where, torch.zeros((), dtype=clean.dtype, device=clean.device), n_heads)
    if source not in sources or site.key not in sources[source]:
        raise ValueError(f"{edit} needs {site.key!r} in the cache {source!r}; given: {sorted(sources)}")
    value = sources[source][site.key]
    if not _broadcasts(value.shape, clean.shape):
        raise ValueError(
            f"{edit}: {site.key!r} has shape {tuple(value.shape)} in the cache {source!r}, which does not broadcast to "
            f"{tuple(clean.shape)}"
        )
    return Resolved(site, where, value, n_heads)


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False))


def _check_head(edit: Edit, head: int, n_heads: int) -> None:
    if not 0 <= head < n_heads:
        raise ValueError(f"{edit}: no head {head}; the layer has heads 0..{n_heads - 1}")


def _refuse_blind_queries(found: tuple[Resolved, ...]) -> None:
    """A query with every key cut has no pattern at all (softmax of nothing)."""
    cut: dict[Site, Tensor] = {}  # [batch query key]
    for edit in found:
        if edit.site.name == "scores":
            these = edit.positions[:, :, None] & edit.keys[:, None, :]
            cut[edit.site] = cut[edit.site] | these if edit.site in cut else these
    for gone in cut.values():
        if (gone | torch.ones_like(gone[0]).triu(1)).all(-1).any():
            raise ValueError(
                "these cuts leave a query with no key to attend to; leave at least one, or ablate the head"
            )


def edited_site(edit: Edit) -> Site:
    """The site that an edit replaces; for a cut the head's ``scores``, for a set attention its ``pattern``."""
    if isinstance(edit, Patch):
        return edit.site
    if isinstance(edit, CutEdge):
        return Site("scores", edit.head.layer, edit.head.index)
    if isinstance(edit, Attend):
        return Site("pattern", edit.head.layer, edit.head.index)
    return Site("z", *edit.part) if isinstance(edit.part, Head) else Site("mlp_out", edit.part.layer)


def _shape(key: str, like: Cache) -> tuple[int, ...]:
    """The site's own shape, without the checkpoint axis."""
    name, _, layer = key.partition(".")
    layers = [int(of) for of in (one.partition(".")[2] for one in like) if of]
    if key not in like:
        known = f"there are clean values of layers up to {max(layers)}" if layers else "there are no clean values"
        raise ValueError(f"no clean value of {key!r}: no layer {layer}, or it must be recorded first; {known}")
    return tuple(like[key].shape[-site_rank(name) :])


def role_mask(role: str, roles: Roles, shape: tuple[int, int], device: torch.device) -> Tensor:
    """``[batch pos]`` true at the positions of a role."""
    if role == "all":
        return torch.ones(shape, dtype=torch.bool, device=device)
    if role not in roles:
        raise ValueError(f"unknown positions {role!r}; allowed: all, {', '.join(sorted(roles))}")
    at = roles[role].reshape(shape[0], -1)
    return torch.zeros(shape, dtype=torch.bool, device=device).scatter(1, at, torch.ones_like(at, dtype=torch.bool))
