"""Sections of the battery for tasks that ask for the next word (``tasks.next_word``); others add no rows.

The source's definitions, under the names that key-value tasks have them under, so that births are read alike. A *copy*
is the last place in the context where the wanted word already stands (role ``last_copy``; 0 where there is none).
"""

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics import operators as ops
from circuitcore.metrics import probes as prb
from circuitcore.metrics.groups import worst_share as _worst
from circuitcore.metrics.network import Network, at_role
from circuitcore.metrics.read_off import read_off as _features
from circuitcore.metrics.sections import Session
from circuitcore.metrics.table import Rows, head_labels
from circuitcore.models import Patch, Site
from circuitcore.tasks.base import Batch, Interchange

CHOSEN = "target_token"
"""The interchange in which the last layer's writes are patched."""


def story_operators(session: Session, net: Network, rows: Rows) -> None:
    """Each head's routing to the copy, recency and copying, per family, pooled, and on the worst base prompt.

    ``routing``: share of rows whose most attended position, from the read-out, is the copy; of rows that have one.
    ``recency``: the same for the read-out itself, of all rows: it is the word before the one wanted. ``copying``: share
    of rows with a copy in which the head's OV circuit, given its real input there, raises the wanted word most, over
    the whole vocabulary. The worst base is 0 where a base prompt has no copy in any family, as published. Chance: one
    over the positions; for copying one over the vocabulary.
    """
    if not _asks_next_word(session):
        return
    labels, families = head_labels(net.heads), session.families
    hits = {family: _operator_hits(net, batch) for family, batch in families.items()}
    seen = {family: batch.roles["last_copy"] > 0 for family, batch in families.items()}
    groups = torch.cat([batch.base for batch in families.values()])
    copied = torch.cat(list(seen.values()))
    for metric in ("routing", "copying", "recency"):
        needed = {family: seen[family] if metric != "recency" else torch.ones_like(seen[family]) for family in families}
        for family, of_family in hits.items():
            if n := int(needed[family].sum()):
                rows.add(metric, of_family[metric][..., needed[family]].mean(-1), n, labels, family=family)
        rows_in = torch.cat(list(needed.values()))
        pooled = torch.cat([of_family[metric] for of_family in hits.values()], -1)[..., rows_in]
        rows.add(metric, pooled.mean(-1), int(rows_in.sum()), labels, family="all")
        if metric != "recency":
            worst = _worst_base(pooled, groups[copied], len(groups.unique()))
            rows.add(f"{metric}_worst_base", worst, int(copied.sum()), labels, family="all")


def story_variables(session: Session, net: Network, rows: Rows) -> None:
    """What can be read at the read-out, and what moves the answer when it is patched there.

    ``probe_published_best``, per variable: the source's probe at the best of its sites (ties to the first), over all
    families and in each; the site is chosen on the rows it is scored on. ``faithfulness_published``: at that site,
    patched at the read-out, the share of pairs that answer as the source row would; both also on the worst base prompt.
    ``interchange_chosen``: the same share when all heads' writes of the last layer are patched, from the source row
    and (edit ``random_source``) from an unrelated one.
    """
    if not _asks_next_word(session):
        return
    tests = {test.name: test for test in session.interchanges}
    for variable, best_sites in _probes(session, net, rows).items():
        if variable in tests:
            _patch_best(net, rows, tests[variable], best_sites)
    if CHOSEN in tests:
        _patch_writes(net, rows, tests[CHOSEN])


def _asks_next_word(session: Session) -> bool:
    return bool(session.families) and all("last_copy" in batch.roles for batch in session.families.values())


def _operator_hits(net: Network, batch: Batch) -> dict[str, Float[Tensor, "ckpt head row"]]:
    layers = range(net.config.n_layers)
    cache = net.record(batch, [f"{name}.{layer}" for name in ("pattern", "resid_pre") for layer in layers])
    at = batch.roles["read_out"]
    from_read_out = torch.cat([cache[f"pattern.{layer}"] for layer in layers], 2)[:, torch.arange(len(batch)), :, at]
    top = from_read_out.argmax(-1).permute(1, 2, 0)  # the picked row axis comes first
    return {
        "routing": (top == batch.roles["last_copy"]).double(),
        "recency": (top == at).double(),
        "copying": torch.cat([_copies(net, layer, batch, cache) for layer in layers], 1),
    }


def _copies(net: Network, layer: int, batch: Batch, cache: dict[str, Tensor]) -> Float[Tensor, "ckpt head row"]:
    normed = net.normed(at_role(cache[f"resid_pre.{layer}"], batch, "last_copy"), f"blocks.{layer}.ln1")
    raised = ops.copies(net, layer, normed, torch.arange(net.config.d_vocab))
    return (raised == batch.answers[:, None]).double().mT


def _worst_base(hits: Float[Tensor, "*lead row"], groups: Tensor, n_bases: int) -> Float[Tensor, "*lead"]:
    """The lowest share over base prompts; 0 as soon as one of them has no row."""
    return _worst(hits, groups) if len(groups.unique()) == n_bases else torch.zeros(hits.shape[:-1]).double()


def _probes(session: Session, net: Network, rows: Rows) -> dict[str, list[str]]:
    """Adds the probes' rows; variable -> its best site at each checkpoint."""
    order, record = _published_sites(net)
    train = _features(net, session.probe_train, record)
    families = {family: _features(net, batch, record) for family, batch in session.families.items()}
    ready = []
    for width, (names, of_train) in train.items():
        fit = prb.Fit.of(of_train)
        ready.append((names, fit, fit.seen(torch.cat([found[width][1] for found in families.values()], -2))))
    place = torch.tensor([order.index(name) for names, _, _ in ready for name in names])
    groups = torch.cat([batch.base for batch in session.families.values()])
    lengths = [len(batch) for batch in session.families.values()]
    chosen = {}
    for variable, n_classes in session.task.variables.items():
        labels = session.probe_train.variables[variable]
        wanted = torch.cat([batch.variables[variable] for batch in session.families.values()])
        said = torch.cat([fit.published_predict(labels, seen, n_classes) for _, fit, seen in ready], 1)
        hits = (said == wanted).double()[:, place.argsort()]  # [ckpt site row], sites in the source's order
        best = hits.mean(-1).argmax(-1)
        at_best = hits[torch.arange(len(hits)), best]
        scores = {"all": at_best.mean(-1)}
        scores |= dict(zip(session.families, [part.mean(-1) for part in at_best.split(lengths, -1)], strict=True))
        for family, values in scores.items():
            n = len(groups) if family == "all" else len(session.families[family])
            rows.add("probe_published_best", values, n, family=family, variable=variable)
        chosen[variable] = [order[number] for number in best.tolist()]
        rows.add(
            "probe_published_best_worst_base", _worst(at_best, groups), len(groups), family="all", variable=variable
        )
    return chosen


def _published_sites(net: Network) -> tuple[list[str], list[str]]:
    """The source's sites in its order (ties go to the first), and what has to be recorded for them."""
    layers, heads = range(net.config.n_layers), range(net.config.n_heads)
    stream = ["resid_post"] + ([] if net.config.mlp == "none" else ["mlp_out"])
    sites = []
    for layer in layers:
        sites += [Site(name, layer) for name in stream]
        sites += [Site(name, layer, head) for head in heads for name in "qkvz"]
    sites.append(Site("resid_final", net.config.n_layers - 1))
    return [str(site) for site in sites], list(dict.fromkeys(site.key for site in sites))


def _patch_best(net: Network, rows: Rows, test: Interchange, best_sites: list[str]) -> None:
    """Patches every site that is best at some checkpoint of the stack, and of each reads its own checkpoints."""
    sites = {name: _site(name) for name in dict.fromkeys(best_sites)}
    source = net.record(test.source, [site.key for site in sites.values()])
    edits = [(Patch(site, "read_out", "source"),) for site in sites.values()]
    said = net.answers_under(test.base, edits, {"source": source}).logits.argmax(-1)
    own = torch.tensor([list(sites).index(name) for name in best_sites])
    hits = (said[own, torch.arange(len(own))] == test.expected["source_answer"]).double()
    where = {"family": "all", "variable": test.name}
    rows.add("faithfulness_published", hits.mean(-1), len(test), **where)
    rows.add("faithfulness_published_worst_base", _worst(hits, test.base.base), len(test), **where)


def _patch_writes(net: Network, rows: Rows, test: Interchange) -> None:
    """All heads of the last layer at once, from the source row and from a row that has nothing to do with either."""
    last = net.config.n_layers - 1
    source = net.record(test.source, [f"z.{last}"])
    unrelated = torch.randperm(len(test), generator=torch.Generator().manual_seed(0))
    sources = {"": source, "random_source": {key: value[:, unrelated] for key, value in source.items()}}
    sites = [Site("z", last, head) for head in range(net.config.n_heads)]
    edits = [tuple(Patch(site, "read_out", name) for site in sites) for name in sources]
    said = net.answers_under(test.base, edits, sources).logits.argmax(-1)
    shares = (said == test.expected["source_answer"]).double().mean(-1)
    labels = [{"site": f"L{last}H*.z", "edit": name} for name in sources]
    rows.add("interchange_chosen", shares.T, len(test), labels, family=test.name, variable=test.name)


def _site(text: str) -> Site:
    """``"L0H1.q"`` -> ``Site("q", 0, 1)``, ``"L1.mlp_out"`` -> ``Site("mlp_out", 1)``."""
    where, name = text.split(".")
    layer, _, head = where.removeprefix("L").partition("H")
    return Site(name, int(layer), int(head) if head else None)
