"""What ``published`` scores, by definitions of ours: sites chosen on other rows, effects told apart, joint removals."""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.metrics.instruments.sections import SLOT_ROLES, Session
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores import attention as att
from circuitcore.metrics.scores import behavior as beh
from circuitcore.metrics.scores import interchange as inter
from circuitcore.metrics.scores import localization
from circuitcore.metrics.scores import probes as prb
from circuitcore.metrics.scores.groups import worst_share
from circuitcore.metrics.scores.read_off import BySize, probe_sites, read_off
from circuitcore.metrics.table import Rows, head_labels
from circuitcore.models import Ablate
from circuitcore.tasks.base import Interchange

SEPARATING = "separating"
"""The interchange whose predictions tell key, slot and value apart."""


def corrected(session: Session, net: Network, rows: Rows) -> None:
    """Probes at a site chosen by cross-validation, patches that tell variables apart, all heads of a layer removed.

    ``probe_chosen``, per variable: accuracy on the test split, at the site whose ``probe_cv`` is best (ties to the
    first, streams before heads); ``probe_chosen_random``: with labels dealt out at random;
    ``probe_chosen_worst_class``: the lowest share right of any class in that split. ``site_spread``: largest standard
    deviation of a channel of a site over the test split; where it is 0, up to rounding, the site is the same in every
    prompt of that length, and nothing can be read there. ``interchange_chosen``: share of answers that follow each
    hypothesis when all heads' queries, or all heads' writes, of the last layer are patched.
    ``attention_slot_follows``: with the queries patched, share of rows whose most attended slot (mean of the layer's
    heads) is the one that holds the source's query key in the base prompt; chance: one over the slots.
    ``joint_ablation_drop``: accuracy lost with all heads of a layer removed, or one head.

    Adds no rows for what a task lacks: variables, the interchange, training rows as long as the ablated ones.
    """
    if session.task.variables:
        _probes(session, net, rows)
    for test in session.interchanges:
        if test.name == SEPARATING:
            _interchange(net, rows, test)
    if session.reference.tokens.shape[1:] == session.ablated.tokens.shape[1:]:
        _joint_ablations(session, net, rows)


def _probes(session: Session, net: Network, rows: Rows) -> None:
    test, sites = session.splits["test"], probe_sites(net)
    train, seen = read_off(net, session.probe_train, sites), read_off(net, test, sites)
    by_site = {
        name: (features[:, place], seen[width][1][:, place])
        for width, (names, features) in train.items()
        for place, name in enumerate(names)
    }
    rows.add("site_spread", _spread(seen), len(test), [{"site": name} for name in by_site])
    folded = [prb.Folds.of(features) for _, features in train.values()]
    shuffled = torch.randperm(len(session.probe_train), generator=torch.Generator().manual_seed(0))
    for variable, n_classes in session.task.variables.items():
        labels, wanted = session.probe_train.variables[variable], test.variables[variable]
        best = torch.cat([folds.accuracy(labels, n_classes) for folds in folded], 1).argmax(-1)
        chosen = [list(by_site)[number] for number in best.tolist()]
        right, random = (
            (_predict(chosen, by_site, given, n_classes) == wanted).double() for given in (labels, labels[shuffled])
        )
        found = {
            "probe_chosen": right.mean(-1),
            "probe_chosen_random": random.mean(-1),
            "probe_chosen_worst_class": worst_share(right, wanted),
        }
        for metric, values in found.items():
            rows.add_each(metric, values, len(test), [{"site": site} for site in chosen], variable=variable)


def _predict(
    chosen: list[str], by_site: Mapping[str, tuple[Tensor, Tensor]], labels: Int[Tensor, " row"], n_classes: int
) -> Int[Tensor, "ckpt test_row"]:
    """The class that the probe of each checkpoint's chosen site gives each test row.

    ``by_site`` holds training and test rows of a site, each ``[ckpt row width]``.
    """
    predicted = {}
    for site in dict.fromkeys(chosen):
        train, test = by_site[site]
        fit = prb.Fit.of(train)
        predicted[site] = fit.predict(labels, fit.seen(test), n_classes)
    return torch.stack([predicted[site][ckpt] for ckpt, site in enumerate(chosen)])


def _spread(seen: BySize) -> Float[Tensor, "ckpt site"]:
    return torch.cat([values.std(-2, correction=0).amax(-1) for _, values in seen.values()], 1)


def _interchange(net: Network, rows: Rows, test: Interchange) -> None:
    last, everywhere = net.config.n_layers - 1, inter.sites(net, set(test.base.roles))
    queries, writes = f"L{last}H*.q", f"L{last}H*.z"
    patched = inter.patch(net, test, {site: everywhere[site] for site in (queries, writes)}, ("", "random_source"))
    predicted = patched.answers.logits.argmax(-1)
    labels = [{"site": site, "edit": control} for site, control in patched.labels]
    for hypothesis, answers in test.expected.items():
        shares = (predicted == answers).double().mean(-1)
        rows.add("interchange_chosen", shares.T, len(test), labels, family=test.name, variable=hypothesis)
    if {*SLOT_ROLES, "query_key"} <= test.base.roles.keys():
        follows = _slot_follows(patched.answers.pattern[patched.labels.index((queries, ""))], test)
        rows.add("attention_slot_follows", follows, len(test), site=queries, family=test.name)


def _slot_follows(pattern: Float[Tensor, "ckpt batch head key"], test: Interchange) -> Float[Tensor, " ckpt"]:
    """Share of rows whose most attended slot, in the mean of heads, holds the source's query key in the base prompt."""
    asked = test.source.tokens.gather(1, test.source.roles["query_key"][:, None])
    held = (test.base.tokens.gather(1, test.base.roles["slot_key"]) == asked).int().argmax(-1)
    slots = att.slot_mass_of_row(pattern.mean(-2, keepdim=True), test.base, SLOT_ROLES)
    return att.routes(slots, held)[..., 0].double().mean(-1)


def _joint_ablations(session: Session, net: Network, rows: Rows) -> None:
    """All heads of each layer six ways; each head alone by its mean and resampled, at every position."""
    batch, layers = session.ablated, range(net.config.n_layers)
    removals = [
        ({"layer": layer, "site": f"L{layer}H*", "edit": f"{how}@{where}"}, [h for h in net.heads if h.layer == layer])
        for how in localization.HOWS
        for where in localization.WHERES
        for layer in layers
    ]
    removals += [
        ({**label, "edit": f"{how}@all"}, [head])
        for how in ("mean", "resample")
        for label, head in zip(head_labels(net.heads), net.heads, strict=True)
    ]
    edits = [tuple(Ablate(head, *label["edit"].split("@")) for head in heads) for label, heads in removals]
    sources = localization.stand_ins(net, session.reference, session.resampled, [f"z.{layer}" for layer in layers])
    logits = net.answers_under(batch, [(), *edits], sources).logits
    accuracy = beh.correct(logits, batch.answers).double().mean(-1)  # [edit ckpt], the clean pass first
    labels = [label for label, _ in removals]
    rows.add("joint_ablation_drop", (accuracy[:1] - accuracy[1:]).T, len(batch), labels)
