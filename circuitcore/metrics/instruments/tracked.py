"""The sites whose features are looked for, and their values at the read-out.

The source tracks 12 sites of its networks of two layers with two heads: in the first layer the stream, the MLP, one
head's query and both heads' values; in the second the stream, the MLP, every head's query and write; and the stream
after the final norm. Other sizes get the same pattern: the first of several layers like its first, all others like its
second.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.metrics.instruments.sections import Session
from circuitcore.metrics.network import Network, read_out
from circuitcore.models import ModelConfig
from circuitcore.models.sites import HEAD_SITES, Site
from circuitcore.tasks.base import Batch

Values = Mapping[Site, Float[Tensor, "ckpt row _"]]

ROWS_AT_ONCE = 1024  # whole passes are recorded, of which only the read-out stays
CONSTANT_BELOW = 1e-4
"""Deviation, relative to the root mean square of a site, below which a channel counts as constant.

Rounding in float32 leaves about 1e-6. Deviations are taken among prompts of one length: what differs only between
lengths tells no variable apart, yet would pass for a slot that only longer prompts have.
"""


def tracked_sites(config: ModelConfig) -> tuple[Site, ...]:
    """The sites of an architecture, layer by layer, the stream after the final norm last."""
    last, found = config.n_layers - 1, []
    for layer in range(config.n_layers):
        found.append(Site("resid_post", layer))
        if config.mlp != "none":
            found.append(Site("mlp_out", layer))
        heads = range(config.n_heads)
        if layer == 0 and last:
            found += [Site("q", layer, 0), *(Site("v", layer, head) for head in heads)]
        else:
            found += [Site(name, layer, head) for head in heads for name in ("q", "result")]
    return (*found, Site("resid_final", last))


def values_at_read_out(net: Network, batches: Sequence[Batch], sites: Sequence[Site]) -> Values:
    """What stands at each site in the rows of all batches, one after the other, in float32."""
    keys = sorted({_recorded(site) for site in sites})
    parts: dict[Site, list[Tensor]] = {site: [] for site in sites}
    for batch in batches:
        for start in range(0, len(batch), ROWS_AT_ONCE):
            some = batch.rows(slice(start, start + ROWS_AT_ONCE))
            cache = net.record(some, keys)
            for site, found in parts.items():
                found.append(_value(net, cache[_recorded(site)], some, site).float())
    return {site: torch.cat(found, 1) for site, found in parts.items()}


@dataclass(frozen=True, eq=False)
class Sweep:
    """The rows of all counterfactual families, pooled, as the source scores them.

    Attributes:
        batches: one a family; the test split where a task has no families.
        labels: class of each causal variable, row by row.
        length: positions in each row's prompt.
        base: number of each row's base prompt within its batch, from 0.
    """

    batches: tuple[Batch, ...]
    labels: Mapping[str, Int[Tensor, " row"]]
    length: Int[Tensor, " row"]
    base: Int[Tensor, " row"]

    @classmethod
    def of(cls, session: Session) -> "Sweep":
        """The sweep rows of a battery.

        Raises:
            ValueError: a task without causal variables.
        """
        batches = tuple(session.families.values()) or (session.reported,)
        names = session.task.variables
        if not names:
            raise ValueError(f"task {session.task.name!r} names no causal variable that a feature could stand for")
        return cls(
            batches,
            {name: torch.cat([batch.variables[name] for batch in batches]) for name in names},
            torch.cat([torch.full((len(batch),), batch.tokens.shape[1]) for batch in batches]),
            torch.cat([batch.base.unique(return_inverse=True)[1] for batch in batches]),
        )

    def some(self, n_rows: int) -> "Sweep":
        """At most ``n_rows`` of the rows, the same ones at every call, in their order."""
        order = torch.randperm(len(self.base), generator=torch.Generator().manual_seed(0))
        picked = order[:n_rows].sort().values
        stops = torch.tensor([len(batch) for batch in self.batches]).cumsum(0)
        parts = zip(self.batches, picked.tensor_split(torch.searchsorted(picked, stops[:-1])), stops, strict=True)
        batches = tuple(batch.rows(rows - (stop - len(batch))) for batch, rows, stop in parts if len(rows))
        labels = {name: values[picked] for name, values in self.labels.items()}
        return Sweep(batches, labels, self.length[picked], self.base[picked])


def deviation(values: Float[Tensor, "*lead row width"], length: Int[Tensor, " row"]) -> Float[Tensor, "*lead width"]:
    """Largest standard deviation of each channel among prompts of one length, relative to the site's size.

    The size is the root mean square over rows and channels; a site that is zero everywhere has deviation 0.
    """
    within = [values[..., length == n, :].std(-2, correction=0) for n in length.unique()]
    size = values.square().mean((-2, -1)).sqrt()[..., None]
    return torch.stack(within).amax(0) / size.clamp_min(torch.finfo(values.dtype).tiny)


def varies(values: Float[Tensor, "*lead row width"], length: Int[Tensor, " row"]) -> Bool[Tensor, "*lead width"]:
    """Which channels are not constant by the rule above; a site without any is constant."""
    return deviation(values, length) > CONSTANT_BELOW


def _recorded(site: Site) -> str:
    return f"z.{site.layer}" if site.name == "result" else site.key


def _value(net: Network, recorded: Tensor, batch: Batch, site: Site) -> Tensor:
    """``[ckpt row width]``; what a head writes is made from its ``z`` at the read-out alone."""
    if site.name not in (*HEAD_SITES, "result"):
        return read_out(recorded, batch)
    value = read_out(recorded[..., site.head, :], batch)
    return value @ net.weights[f"blocks.{site.layer}.attn.W_O"][:, site.head] if site.name == "result" else value
