"""Which parts the answer needs: every subset of heads, and every MLP, removed three ways at two places."""

import itertools
from collections.abc import Mapping, Sequence

from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.metrics.network import Network
from circuitcore.models import Ablate, Head, Mlp
from circuitcore.models.edits import Cache
from circuitcore.tasks.base import Batch

HOWS = ("zero", "mean", "resample")
WHERES = ("read_out", "all")
MAX_HEADS_FOR_ALL_SUBSETS = 6  # 2^6 subsets; beyond, single heads and whole layers


def parts_to_remove(net: Network) -> dict[str, tuple[Head | Mlp, ...]]:
    """Label -> parts removed together: every subset of heads (``"none"``, ``"L0H1+L1H0"``), each MLP, all MLPs."""
    heads = net.heads
    if len(heads) <= MAX_HEADS_FOR_ALL_SUBSETS:
        subsets = [s for size in range(len(heads) + 1) for s in itertools.combinations(heads, size)]
    else:
        layers = [tuple(head for head in heads if head.layer == layer) for layer in range(net.config.n_layers)]
        subsets = [(), *((head,) for head in heads), *layers, tuple(heads)]
    mlps = [] if net.config.mlp == "none" else [Mlp(layer) for layer in range(net.config.n_layers)]
    groups = subsets + [(mlp,) for mlp in mlps] + ([tuple(mlps)] if len(mlps) > 1 else [])
    return {"+".join(map(str, group)) or "none": group for group in groups}


def stand_ins(
    net: Network, reference: Batch, resampled: Int[Tensor, " row"], record: Sequence[str]
) -> dict[str, Cache]:
    """What stands in for a removed part: the caches ``"mean"`` and ``"resample"`` of the recorded sites.

    Args:
        net: the network.
        reference: rows whose activations stand in, as long as those that parts are removed on.
        resampled: for each row that parts are removed on, the reference row that stands in.
        record: ``z`` and ``mlp_out`` of layers.
    """
    found = net.record(reference, record)
    return {
        "mean": {key: value.mean(1, keepdim=True) for key, value in found.items()},
        "resample": {key: value[:, resampled] for key, value in found.items()},
    }


def ablation_logits(
    net: Network, batch: Batch, sources: Mapping[str, Cache]
) -> tuple[list[tuple[str, str]], Float[Tensor, "edit ckpt batch vocab"]]:
    """Read-out logits with parts removed, and for each its (removed parts, ``how@where``).

    ``sources`` are the ``stand_ins`` with ``z`` and ``mlp_out`` of every layer.
    """
    groups = parts_to_remove(net)
    labels = [(name, f"{how}@{where}") for how in HOWS for where in WHERES for name in groups]
    interventions = [
        tuple(Ablate(part, how, where) for part in parts)
        for how in HOWS
        for where in WHERES
        for parts in groups.values()
    ]
    return labels, net.answers_under(batch, interventions, sources).logits
