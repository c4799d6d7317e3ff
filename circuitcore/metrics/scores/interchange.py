"""Interchange interventions: patch one site from a source prompt and see whose answer comes out.

Each experiment (``Interchange``) carries the answers predicted by each hypothesis about what the site holds, so one
patched run separates them. Two controls run beside it: the same patch at a position that should not matter, and a
patch from an unrelated row.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from circuitcore.ground.spelling import unknown
from circuitcore.metrics.edited import Answers
from circuitcore.metrics.network import Network, positions_of
from circuitcore.models import Patch, Site
from circuitcore.tasks.base import Batch, Interchange

CONTROLS = ("", "wrong_position", "random_source")


@dataclass(frozen=True)
class Patched:
    """Results of one experiment: what comes out for every (site, control)."""

    labels: list[tuple[str, str]]
    answers: Answers


def sites(net: Network, roles: set[str]) -> dict[str, tuple[tuple[Site, str], ...]]:
    """Label -> the (site, position role) patched together.

    At the read-out: the stream after each step, MLP writes, each head's write and query, and all heads of a layer
    together (``L1H*.z``). Keys and values of later layers at the value positions, where the task names them.
    """
    found: dict[str, tuple[tuple[Site, str], ...]] = {}
    heads, last = range(net.config.n_heads), net.config.n_layers - 1
    for layer in range(net.config.n_layers):
        stream = ["resid_mid", "resid_post"] + ([] if net.config.mlp == "none" else ["mlp_out"])
        found |= {f"L{layer}.{name}": ((Site(name, layer), "read_out"),) for name in stream}
        for name in ("z", "q"):
            each = [Site(name, layer, head) for head in heads]
            found |= {str(site): ((site, "read_out"),) for site in each}
            found[f"L{layer}H*.{name}"] = tuple((site, "read_out") for site in each)
    if last > 0 and "slot_value" in roles:
        for name in ("k", "v"):
            found[f"L{last}H*.{name}"] = tuple((Site(name, last, head), "slot_value") for head in heads)
    return found


def patch_everywhere(net: Network, experiment: Interchange) -> Patched:
    """Patch every site, with its two controls, for all rows of one experiment."""
    return patch(net, experiment, sites(net, set(experiment.base.roles)), CONTROLS)


def patch(
    net: Network,
    experiment: Interchange,
    found: Mapping[str, Sequence[tuple[Site, str]]],
    controls: Sequence[str],
) -> Patched:
    """Patch some sites for all rows of one experiment.

    Args:
        net: the network.
        experiment: its rows.
        found: label -> what is patched together, as ``sites`` gives it.
        controls: of ``CONTROLS``; "" for the patch itself.

    Raises:
        ValueError: a control that is none of them.
    """
    for control in controls:
        if control not in CONTROLS:
            raise ValueError(unknown("control", control, CONTROLS[1:]))
    base = _with_wrong_position(experiment.base)
    record = sorted({site.key for group in found.values() for site, _ in group})
    read = {role for group in found.values() for _, role in group} | {"wrong_position"}
    source = net.record(experiment.source, record, positions_of(base, read))
    unrelated = torch.randperm(len(base), generator=torch.Generator().manual_seed(0))
    sources = {"source": source, "random": {key: value[:, unrelated] for key, value in source.items()}}
    labels, interventions = [], []
    for label, group in found.items():
        for control in controls:
            labels.append((label, control))
            interventions.append(tuple(_patch(site, role, control) for site, role in group))
    return Patched(labels, net.answers_under(base, interventions, sources))


def _patch(site: Site, role: str, control: str) -> Patch:
    if control == "wrong_position":
        return Patch(site, "wrong_position", "source")
    return Patch(site, role, "random" if control == "random_source" else "source")


def _with_wrong_position(batch: Batch) -> Batch:
    """The batch with a role at the middle of the prompt: for 3 pairs the separator after the second value."""
    return dataclasses.replace(batch, roles={**batch.roles, "wrong_position": batch.roles["read_out"] // 2})
