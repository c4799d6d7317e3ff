"""Values of sites at the read-out, as probes read them off."""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.network import Network, at_role
from circuitcore.models import Site
from circuitcore.models.sites import HEAD_SITES
from circuitcore.tasks.base import Batch

ROWS_AT_ONCE = 256  # of which every position is recorded for a moment; memory for more is slow to come by
BySize = dict[int, tuple[list[str], Tensor]]
"""Width -> names of the sites of this width, and their values ``[ckpt site row width]``."""


def probe_sites(net: Network) -> list[str]:
    """Sites whose read-out value is probed, as recorded keys."""
    mlp = [] if net.config.mlp == "none" else ["mlp_out"]
    per_layer = [
        f"{name}.{layer}"
        for layer in range(net.config.n_layers)
        for name in ("resid_mid", "resid_post", *mlp, *HEAD_SITES)
    ]
    return [*per_layer, f"resid_final.{net.config.n_layers - 1}"]


def source_sites(net: Network) -> list[Site]:
    """The source's sites, in its order, by which it breaks ties.

    It has one more for each head, the head's write into the stream: another basis of ``z``, with the same information.
    """
    stream = ["resid_post"] if net.config.mlp == "none" else ["resid_post", "mlp_out"]
    sites = []
    for layer in range(net.config.n_layers):
        sites += [Site(name, layer) for name in stream]
        sites += [Site(name, layer, head) for head in range(net.config.n_heads) for name in HEAD_SITES]
    return [*sites, Site("resid_final", net.config.n_layers - 1)]


def read_off(net: Network, batch: Batch, record: Iterable[str]) -> BySize:
    """Read-out values of recorded sites, each head's part by itself (``L0H1.q``), grouped by width."""
    found: dict[int, list[tuple[str, Tensor]]] = {}
    for key, value in _at_read_out(net, batch, list(record)).items():
        name, layer = key.split(".")
        if name in HEAD_SITES:
            for head, part in enumerate(value.unflatten(-1, (net.config.n_heads, -1)).unbind(-2)):
                found.setdefault(part.shape[-1], []).append((f"L{layer}H{head}.{name}", part))
        else:
            found.setdefault(value.shape[-1], []).append((f"L{layer}.{name}", value))
    return {
        width: ([name for name, _ in parts], torch.stack([p for _, p in parts], 1)) for width, parts in found.items()
    }


def _at_read_out(net: Network, batch: Batch, record: list[str]) -> dict[str, Float[Tensor, "ckpt row width"]]:
    """Recorded key -> its values at the read-out, heads side by side."""
    size = len(batch) if net.keeps(batch) else ROWS_AT_ONCE
    blocks = [batch if size == len(batch) else batch.rows(slice(at, at + size)) for at in range(0, len(batch), size)]
    parts: dict[str, list[Tensor]] = {key: [] for key in record}
    for block in blocks:
        cache = net.record(block, record)
        for key, found in parts.items():
            value = cache[key].flatten(-2) if key.split(".")[0] in HEAD_SITES else cache[key]
            found.append(at_role(value, block, "read_out"))
    return {key: torch.cat(found, 1) for key, found in parts.items()}
