"""The section of the battery on the FFN of permutation recall: is it linear, which neurons matter, what can be read.

All of it at the read-out of the last layer; other tasks get no rows.
"""

import functools
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.instruments.sections import Session
from circuitcore.metrics.network import Network, at_role
from circuitcore.metrics.scores import probes as prb
from circuitcore.metrics.table import Rows
from circuitcore.models import Patch, Site
from circuitcore.models.edits import Cache
from circuitcore.tasks.base import Batch
from circuitcore.tasks.permutation import PermutationRecall
from retrieval_circuits.permutation_recall.measures import scores as recall
from retrieval_circuits.permutation_recall.measures.parts import add_under, every_row
from retrieval_circuits.permutation_recall.measures.skills import asks_to_recall, every_source, outcomes, probes

N_FIT = 4096
"""Rows of trained permutations that linear maps are fitted on."""
NEEDED = 0.05
"""A neuron is needed whose loss costs more than this share of recall."""
TOGETHER = (1, 2, 4, 8, 16)
"""How many neurons are taken away together, those of largest effect first."""


def recall_ffn(session: Session, net: Network, rows: Rows) -> None:
    """Answers with the best linear map in the FFN's place and without neurons, and what can be read around it."""
    if not asks_to_recall(session):
        return
    layer = net.config.n_layers - 1
    if net.config.mlp != "none":
        _add_linear(session, net, rows, layer)
        _add_neurons(probes(session), net, rows, layer)
    _add_decoded(session.task, net, rows, layer)


@functools.lru_cache(maxsize=4)
def fit_rows(task: PermutationRecall) -> tuple[Batch, Batch]:
    """Rows of trained permutations: half with a repeat of any slot, half without; at most ``N_FIT``."""
    return every_source(task).probes("train", N_FIT // 2), task.every_row("train", N_FIT // 2)


def _add_linear(session: Session, net: Network, rows: Rows, layer: int) -> None:
    """The FFN replaced by the affine map that is nearest to it, in squares, on rows of trained permutations."""
    fit = [_read(net, batch, layer, ("resid_mid", "mlp_out")) for batch in fit_rows(session.task)]
    before, after = (torch.cat([found[name] for found in fit], 1) for name in ("resid_mid", "mlp_out"))
    label = {"site": f"L{layer}MLP", "layer": layer, "edit": "linear"}
    for family, batch in (("repeat", probes(session)), ("normal", session.families["normal"])):
        given = _read(net, batch, layer, ("resid_mid",))["resid_mid"]
        written = recall.affine_fit(before, after, given).to(given.dtype)
        logits = _with(net, batch, Site("mlp_out", layer), [written])
        add_under(rows, logits, [label], **{family: batch})


def _add_neurons(batch: Batch, net: Network, rows: Rows, layer: int) -> None:
    """Recall without each neuron, and without the few of largest effect, ranked on the same rows."""
    site, label = Site("mlp_post", layer), {"site": f"L{layer}MLP", "layer": layer}
    clean = _read(net, batch, layer, ("mlp_post",))["mlp_post"]  # [ckpt row neuron]
    n_neurons = clean.shape[-1]
    keep = (
        (1 - torch.eye(n_neurons, dtype=clean.dtype)).expand(len(clean), -1, -1).transpose(0, 1)
    )  # [edit ckpt neuron]
    whole = _recalls(_with(net, batch, site, [clean]), batch)
    drop = whole - _recalls(_with(net, batch, site, [clean * one[:, None] for one in keep]), batch)  # [neuron ckpt]
    rows.add("neurons_needed", (drop > NEEDED).sum(0).double(), len(batch), [label])
    rows.add("largest_neuron_drop", drop.amax(0), len(batch), [label])
    order = drop.argsort(dim=0, descending=True, stable=True).T  # [ckpt neuron]
    sizes = [size for size in TOGETHER if size <= n_neurons]
    keep = [torch.ones_like(clean[:, 0]).scatter(1, order[:, :size], 0.0) for size in sizes]
    left = _recalls(_with(net, batch, site, [clean * one[:, None] for one in keep]), batch)
    rows.add("recall_without_top", left.T, len(batch), [{**label, "variable": str(size)} for size in sizes])


def _add_decoded(task: PermutationRecall, net: Network, rows: Rows, layer: int) -> None:
    """What a linear probe fitted on probes of trained permutations reads off probes of the others."""
    names, test = ("z", "resid_mid", "resid_post"), every_row(task)[1]
    train = every_source(task).probes("train", N_FIT)
    at_train, at_test = (_read(net, batch, layer, names) for batch in (train, test))
    shuffled = torch.randperm(len(train), generator=torch.Generator().manual_seed(0))
    for name in names:
        fit = prb.Fit.of(at_train[name])
        seen = fit.seen(at_test[name])
        for variable in ("y_source", "source"):
            labels, wanted, n_classes = train.variables[variable], test.variables[variable], task.variables[variable]
            for edit, given in (("", labels), ("random_labels", labels[shuffled])):
                hits = fit.predict(given, seen, n_classes) == wanted
                label = {"site": f"L{layer}.{name}", "variable": variable, "edit": edit}
                rows.add(f"decodes_{variable}", recall.share(hits), len(test), [label])


def _read(net: Network, batch: Batch, layer: int, names: Sequence[str]) -> dict[str, Float[Tensor, "ckpt row width"]]:
    """Sites at the read-out, heads side by side."""
    found: Cache = net.record(batch, [f"{name}.{layer}" for name in names])
    whole = {name: found[f"{name}.{layer}"] for name in names}
    return {
        name: at_role(value.flatten(3) if name == "z" else value, batch, "read_out") for name, value in whole.items()
    }


def _with(
    net: Network, batch: Batch, site: Site, values: Sequence[Float[Tensor, "ckpt row width"]]
) -> Float[Tensor, "edit ckpt row vocab"]:
    """Answers with a site's value at the read-out replaced by each of ``values``."""
    sources = {str(number): {site.key: value[:, :, None]} for number, value in enumerate(values)}
    return net.answers_under(batch, [(Patch(site, "read_out", name),) for name in sources], sources).logits


def _recalls(logits: Float[Tensor, "edit ckpt row vocab"], batch: Batch) -> Float[Tensor, "edit ckpt"]:
    return recall.share(outcomes(recall.likeliest_symbol(logits), batch)["recall"])
