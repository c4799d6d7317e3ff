"""Which part of a forward pass is computed, when a clean pass and the read-out leave only a part open.

An edit changes nothing in the layers below it and at the positions before it, and nothing after the read-out matters.
A ``Window`` says so to ``forward``, which then takes the rest from a recorded clean pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from circuitcore.models.sites import site_rank, stage

FOR_LATER_POSITIONS = ("resid_pre", "k", "v")  # sites of the last layer that are needed before the read-out, too


@dataclass(frozen=True, eq=False)
class Window:
    """The open part of a pass over rows ``[batch pos]``.

    Attributes:
        read_out: position ``[batch]`` whose logits are wanted; None for those of every position.
        last_layer: from its queries on, only the read-out is computed.
        start: (layer, stage) up to which, and with which, the clean pass holds.
        first: the positions before it are the clean pass's.
        stop: no position from here on is computed; None for none.
        clean: sites of the clean pass at all positions. Below ``start`` those that are absent are computed again, so
            ``resid_pre`` of the layer of ``start`` must be there, and with ``first`` k and v from that layer on.
    """

    read_out: Tensor | None = None
    last_layer: int = -1
    start: tuple[int, int] = (0, -1)
    first: int = 0
    stop: int | None = None
    clean: Mapping[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of_answers(cls, read_out: Tensor, n_layers: int) -> "Window":
        """Everything that the logits at the read-out need."""
        return cls(read_out, n_layers - 1, stop=int(read_out.max()) + 1)

    def holds(self, name: str, layer: int) -> bool:
        """Whether the clean pass gives this site, before any edit of it."""
        return (layer, stage(name)) <= self.start and f"{name}.{layer}" in self.clean

    def narrow(self, name: str, layer: int) -> bool:
        """Whether the site is computed at the read-out alone."""
        return layer == self.last_layer and name not in FOR_LATER_POSITIONS

    def part(self, name: str, layer: int, value: Tensor) -> Tensor:
        """What lies in the window of ``value [*lead *site shape]``; axes of size 1 stay as they are."""
        rank = site_rank(name)
        value = value[(None,) * (rank - value.dim())]
        if name in ("scores", "pattern"):  # [batch head query key]: the positions are those of the queries
            return self._at_positions(name, layer, value.transpose(-3, -2), rank).transpose(-3, -2)[..., : self.stop]
        return self._at_positions(name, layer, value, rank)

    def _at_positions(self, name: str, layer: int, value: Tensor, rank: int) -> Tensor:
        """``value [*lead batch pos ...]`` at the window's positions."""
        axis = value.dim() - rank + 1
        if value.shape[axis] == 1:
            return value
        if self.narrow(name, layer):
            return at_positions(value, self.read_out, axis)
        return value[(..., slice(self.first, self.stop), *(slice(None),) * (rank - 2))]

    def stream(self, layer: int, value: Tensor) -> Tensor:
        """``value [*lead batch pos d]`` of this window, at the positions where the layer asks and writes."""
        if layer != self.last_layer:
            return value
        return at_positions(value, self.read_out - self.first, value.dim() - 2)

    def positions(self, name: str, layer: int, n_pos: int, like: Tensor) -> Tensor:
        """Where a site is computed, ``[pos]`` or ``[batch 1]``, of rows with ``n_pos`` positions."""
        if self.narrow(name, layer):
            return self.read_out[:, None].to(like.device)
        return torch.arange(n_pos, device=like.device)[self.first : self.stop]

    def earlier(self, name: str, layer: int) -> Tensor | None:
        """Keys or values ``[*stack batch pos head d_head]`` at the positions of the clean pass; None for none."""
        return self.clean[f"{name}.{layer}"][..., : self.first, :, :] if self.first else None


def at_positions(value: Tensor, position: Tensor, axis: int) -> Tensor:
    """One position ``[batch]`` of each row of ``value [*lead batch pos ...]``, kept as an axis of size 1."""
    rows = torch.arange(len(position), device=value.device)
    value = value.expand(*value.shape[: axis - 1], len(rows), *value.shape[axis:])
    return value[(*(slice(None),) * (axis - 1), rows, position)].unsqueeze(axis)


WHOLE = Window()
"""Every position of every layer."""
