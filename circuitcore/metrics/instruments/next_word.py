"""Sections of the battery for tasks that ask for the next word (``tasks.next_word``); other tasks get no rows.

Scores have the names that key-value tasks have them under, so that births are read alike. A *copy* is the last place in
the context where the wanted word already stands (role ``last_copy``; 0, which is ``<bos>``, where there is none).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.metrics.instruments.sections import Session
from circuitcore.metrics.network import Network, at_role
from circuitcore.metrics.scores import interchange as inter
from circuitcore.metrics.scores import operators as ops
from circuitcore.metrics.scores.groups import worst_share
from circuitcore.metrics.table import Rows, head_labels
from circuitcore.tasks.base import Batch

CHOSEN = "target_token"
"""The interchange in which the last layer's writes are patched."""


def next_word_operators(session: Session, net: Network, rows: Rows) -> None:
    """Each head's routing to the copy, copying and recency: per family, pooled, and on the worst base prompt.

    ``routing``: share of rows whose most attended position, from the read-out, is the copy; chance one over the
    positions. ``copying``: share of rows in which the head's OV circuit, given its real input at the copy, raises the
    wanted word most of the whole vocabulary; chance one over it. Both of the rows that have a copy; the worst base is 0
    where some base prompt has none in any family, as published. ``routing_after``: as routing, one position past the
    copy, where a head of an earlier layer may have brought it. ``recency``: share of all rows whose most attended
    position is the read-out itself, the word before the one wanted.
    """
    if not _asks_next_word(session):
        return
    labels, families = head_labels(net.heads), session.families
    hits = {family: _hits(net, batch) for family, batch in families.items()}
    copied = {family: batch.roles["last_copy"] > 0 for family, batch in families.items()}
    bases = torch.cat([batch.base for batch in families.values()])
    for metric in ("routing", "copying", "routing_after", "recency"):
        counted = {family: has | (metric == "recency") for family, has in copied.items()}
        found = {family: hits[family][metric][..., counted[family]] for family in families}
        groups = bases[torch.cat(list(counted.values()))]
        for family, values in found.items():
            if n := values.shape[-1]:
                rows.add(metric, values.mean(-1), n, labels, family=family)
        if not len(groups):
            continue
        pooled = torch.cat(list(found.values()), -1)
        rows.add(metric, pooled.mean(-1), len(groups), labels, family="all")
        rows.add(f"{metric}_worst_base", _worst_base(pooled, groups, bases), len(groups), labels, family="all")


def next_word_writes(session: Session, net: Network, rows: Rows) -> None:
    """``interchange_chosen``: share of pairs that give the source row's word when the last layer's writes are patched.

    All its heads at once, at the read-out, from the source row or (edit ``random_source``) from one that has nothing to
    do with the pair.
    """
    if not _asks_next_word(session):
        return
    site = f"L{net.config.n_layers - 1}H*.z"
    for test in session.interchanges:
        if test.name == CHOSEN:
            chosen = {site: inter.sites(net, set(test.base.roles))[site]}
            patched = inter.patch(net, test, chosen, ("", "random_source"))
            hits = patched.answers.logits.argmax(-1) == test.expected["source_answer"]
            labels = [{"site": name, "edit": control} for name, control in patched.labels]
            shares = hits.double().mean(-1).T
            rows.add("interchange_chosen", shares, len(test), labels, family=test.name, variable=CHOSEN)


def _asks_next_word(session: Session) -> bool:
    return bool(session.families) and all("last_copy" in batch.roles for batch in session.families.values())


def _hits(net: Network, batch: Batch) -> dict[str, Float[Tensor, "ckpt head row"]]:
    """1 where a head does what the metric says."""
    layers = range(net.config.n_layers)
    cache = net.record(batch, [f"{name}.{layer}" for name in ("pattern", "resid_pre") for layer in layers])
    read_out, last_copy = batch.roles["read_out"], batch.roles["last_copy"]
    pattern = torch.cat([cache[f"pattern.{layer}"] for layer in layers], 2)  # [ckpt row head query key]
    top = pattern[:, torch.arange(len(batch)), :, read_out].argmax(-1).movedim(0, -1)  # indexing put rows first
    found = {
        "routing": top == last_copy,
        "routing_after": top == last_copy + 1,
        "copying": torch.cat([_raised(net, layer, batch, cache) for layer in layers], 1) == batch.answers,
        "recency": top == read_out,
    }
    return {metric: hits.double() for metric, hits in found.items()}


def _raised(net: Network, layer: int, batch: Batch, cache: dict[str, Tensor]) -> Int[Tensor, "ckpt head row"]:
    """The word that each head's OV circuit raises most, given what it reads at the copy."""
    normed = net.normed(at_role(cache[f"resid_pre.{layer}"], batch, "last_copy"), f"blocks.{layer}.ln1")
    return ops.copies(net, layer, normed, torch.arange(net.config.d_vocab)).mT


def _worst_base(hits: Float[Tensor, "ckpt head row"], groups: Tensor, bases: Tensor) -> Float[Tensor, "ckpt head"]:
    """The lowest share over base prompts; 0 where some base prompt has no row that counts."""
    if len(groups.unique()) < len(bases.unique()):
        return torch.zeros_like(hits[..., 0])
    return worst_share(hits, groups)
