"""The retrieval-motifs study's own scores, on all its sweep rows pooled: every definition as it was published.

The rows are those of all families (19 of each base prompt, and the longer-context rows). What is doubtful about a
definition is kept; ``corrected`` has ours. The study also probes and patches each head's write into the stream, which
is ``z`` in another basis and is left out here.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from circuitcore.metrics.instruments.sections import SLOT_ROLES, Session
from circuitcore.metrics.network import Network, positions_of
from circuitcore.metrics.scores import attention as att
from circuitcore.metrics.scores import behavior as beh
from circuitcore.metrics.scores import operators as ops
from circuitcore.metrics.scores import probes as prb
from circuitcore.metrics.scores.groups import published_groups, worst_share
from circuitcore.metrics.scores.read_off import read_off, source_sites
from circuitcore.metrics.table import Rows, head_labels
from circuitcore.models import Ablate, Patch, Site
from circuitcore.tasks.base import Interchange

PATCHED = {"matching_slot": "query_key"}
"""Variable -> the interchange that tests it, where that is not named after the variable."""


def published(session: Session, net: Network, rows: Rows) -> None:
    """Probes at the best site, patches there, single heads removed at the read-out, and the operators' variants.

    ``probe_published_best``, per variable: accuracy of the source's probe at the best of its sites, all rows pooled and
    per family; the site is chosen by the very score (ties to the first site), so chance is above one over the classes.
    ``faithfulness_published``: share of pairs that give the source's answer when that site is patched at the read-out
    alone. ``ablation_drop_published``, ``ablation_margin_drop_published``: accuracy and margin (logits) lost when one
    head's ``z`` is zero at the read-out alone. ``routing_key``: as ``routing``, by keys alone; chance one over the
    slots. ``copy_rank``: mean rank of the right value, 1 is best. ``*_worst_base``: the lowest share over the source's
    groups (for patches: over base prompts).

    Adds no operators for tasks without slots, and no patches of what the task has no interchange for.
    """
    families = session.families.values()
    if not families:
        return
    _patches(session, net, rows, _probes(session, net, rows))
    _single_heads(session, net, rows)
    if all(set(SLOT_ROLES) <= batch.roles.keys() for batch in families):
        _operators(session, net, rows)


def _probes(session: Session, net: Network, rows: Rows) -> dict[str, list[Site]]:
    """Adds the probes' rows; returns variable -> its best site at each checkpoint."""
    sites, groups, chosen = source_sites(net), published_groups(session.families), {}
    lengths = [len(batch) for batch in session.families.values()]
    for variable, hits in _probe_hits(session, net, sites).items():
        best = hits.mean(-1).argmax(-1)
        at_best = hits[torch.arange(len(hits)), best]
        chosen[variable] = [sites[number] for number in best.tolist()]
        named = [{"site": str(site)} for site in chosen[variable]]
        parts = {"all": at_best, **dict(zip(session.families, at_best.split(lengths, -1), strict=True))}
        for family, part in parts.items():
            n = part.shape[-1]
            rows.add_each("probe_published_best", part.mean(-1), n, named, family=family, variable=variable)
        worst = worst_share(at_best, groups)
        rows.add_each("probe_published_best_worst_base", worst, len(groups), named, family="all", variable=variable)
    return chosen


def _probe_hits(session: Session, net: Network, sites: list[Site]) -> dict[str, Float[Tensor, "ckpt site row"]]:
    """Variable -> 1 where the source's probe of a site is right about a sweep row, sites as given."""
    record = sorted({site.key for site in sites})
    train = read_off(net, session.probe_train, record)
    swept = [read_off(net, batch, record) for batch in session.families.values()]
    names, ready = [], []
    for width, (of_width, features) in train.items():
        fit = prb.Fit.of(features)
        names += of_width
        ready.append((fit, fit.seen(torch.cat([found[width][1] for found in swept], -2))))
    order, hits = [names.index(str(site)) for site in sites], {}
    for variable, n_classes in session.task.variables.items():
        labels = session.probe_train.variables[variable]
        wanted = torch.cat([batch.variables[variable] for batch in session.families.values()])
        predicted = torch.cat([fit.published_predict(labels, seen, n_classes) for fit, seen in ready], 1)
        hits[variable] = (predicted[:, order] == wanted).double()
    return hits


def _patches(session: Session, net: Network, rows: Rows, best: dict[str, list[Site]]) -> None:
    """Patches every site that is some variable's best at some checkpoint; each reads its own."""
    for test in session.interchanges:
        variables = [variable for variable in best if PATCHED.get(variable, variable) == test.name]
        sites = list(dict.fromkeys(site for variable in variables for site in best[variable]))
        if not sites:
            continue
        hits = gives_source_answer(net, test, sites).double()
        for variable in variables:
            own = [sites.index(site) for site in best[variable]]
            at_best = hits[own, torch.arange(len(own))]
            named = [{"site": str(site)} for site in best[variable]]
            found = {"": at_best.mean(-1), "_worst_base": worst_share(at_best, test.base.base)}
            for ending, values in found.items():
                metric = f"faithfulness_published{ending}"
                rows.add_each(metric, values, len(test), named, family="all", variable=variable)


def gives_source_answer(net: Network, test: Interchange, sites: list[Site]) -> Bool[Tensor, "site ckpt row"]:
    """Whether a row gives its source's answer with one site patched at the read-out, and nowhere else."""
    inside = [site for site in sites if site.name != "resid_final"]
    predicted = {}
    if inside:
        at = positions_of(test.base, ["read_out"])
        source = net.record(test.source, sorted({site.key for site in inside}), at)
        edits = [(Patch(site, "read_out", "source"),) for site in inside]
        patched = net.answers_under(test.base, edits, {"source": source}).logits.argmax(-1)
        predicted = dict(zip(inside, patched, strict=True))
    if len(inside) < len(sites):  # behind it is the unembedding alone: the patch replaces the answer
        predicted |= {site: net.answers(test.source).argmax(-1) for site in sites if site.name == "resid_final"}
    return torch.stack([predicted[site] for site in sites]) == test.expected["source_answer"]


def _single_heads(session: Session, net: Network, rows: Rows) -> None:
    edits = [(), *((Ablate(head, "zero", "read_out"),) for head in net.heads)]
    scores: dict[str, list[Tensor]] = {"ablation_drop_published": [], "ablation_margin_drop_published": []}
    for batch in session.families.values():
        logits = net.answers_under(batch, edits, {}).logits
        scores["ablation_drop_published"].append(beh.correct(logits, batch.answers).double())
        scores["ablation_margin_drop_published"].append(beh.margin(logits, batch.answers).double())
    for metric, parts in scores.items():
        pooled = torch.cat(parts, -1)  # [edit ckpt row], the clean pass first
        lost = (pooled[:1] - pooled[1:]).mean(-1)
        rows.add(metric, lost.T, pooled.shape[-1], head_labels(net.heads))


def _operators(session: Session, net: Network, rows: Rows) -> None:
    layers, labels = range(net.config.n_layers), head_labels(net.heads)
    copies = net.config.norm_position == "pre" and not net.config.d_in
    record = [f"pattern.{layer}" for layer in layers] + [f"resid_pre.{layer}" for layer in layers if copies]
    routed, ranks = [], []
    for batch in session.families.values():
        cache = net.run(batch, record).cache
        pattern = torch.cat([cache[f"pattern.{layer}"] for layer in layers], 2)
        keys = att.slot_mass(pattern, batch, ("slot_key",))
        routed.append(att.routes(keys, batch.variables["matching_slot"]).double())
        if copies:
            right = torch.searchsorted(session.answers, batch.answers)
            inputs = (ops.matching_value_input(net, layer, batch, cache) for layer in layers)
            raised = [ops.copy_logits(net, layer, x, session.answers) for layer, x in enumerate(inputs)]
            ranks.append(torch.cat([ops.ranks(logits, right) for logits in raised], -1))
    for metric, parts in {"routing_key": routed, "copy_rank": ranks}.items():
        if parts:
            pooled = torch.cat(parts, 1)  # [ckpt row head]
            rows.add(metric, pooled.mean(1), pooled.shape[1], labels, family="all")
