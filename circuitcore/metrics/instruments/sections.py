"""The sections of the battery: each measures one thing on one stack of checkpoints and adds its rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from circuitcore.metrics.network import Network, at_role, read_out
from circuitcore.metrics.scores import attention as att
from circuitcore.metrics.scores import behavior as beh
from circuitcore.metrics.scores import interchange as inter
from circuitcore.metrics.scores import localization, paths
from circuitcore.metrics.scores import operators as ops
from circuitcore.metrics.scores import probes as prb
from circuitcore.metrics.scores.attribution import direct_logit_attribution, recorded_sites
from circuitcore.metrics.scores.groups import published_groups, worst_share
from circuitcore.metrics.scores.read_off import probe_sites, read_off
from circuitcore.metrics.table import Rows, head_labels
from circuitcore.tasks.base import Batch, Interchange
from circuitcore.tasks.token_task import TokenTask

SLOT_ROLES = ("slot_key", "slot_value")


@dataclass(frozen=True, eq=False)
class Session:
    """The prompts of a battery, the same for all checkpoints."""

    task: TokenTask
    splits: Mapping[str, Batch]
    families: Mapping[str, Batch]
    ablated: Batch  # rows on which parts are removed
    reference: Batch  # rows whose activations stand in for a removed part
    probe_train: Batch
    interchanges: tuple[Interchange, ...]
    edge_tests: tuple[Interchange, ...]

    @property
    def reported(self) -> Batch:
        """Rows of the split that the task is measured on."""
        return self.splits[self.task.reported]

    @property
    def resampled(self) -> Tensor:
        """A reference row for each ablated row, drawn at random (a reference shorter than the rows is dealt out again).

        In their own order the two would line up: both walk through the slots in turn, and a head resampled from a row
        with the same slot is hardly removed at all.
        """
        order = torch.randperm(len(self.reference), generator=torch.Generator().manual_seed(0))
        return order.repeat(-(-len(self.ablated) // len(order)))[: len(self.ablated)]

    @property
    def answers(self) -> Tensor:
        """Token ids that can be an answer."""
        return torch.tensor(self.task.answers)


def behavior(session: Session, net: Network, rows: Rows) -> None:
    """Accuracy, margin, loss and share of answers that stand in the prompt, per split and per family."""
    named = [("split", name, batch) for name, batch in session.splits.items()]
    named += [("family", name, batch) for name, batch in session.families.items()]
    for batch in session.families.values():
        net.keep(batch, _read_of_families(session, net))
    for kind, name, batch in named:
        logits = net.answers(batch)
        scores = {
            "accuracy": beh.correct(logits, batch.answers),
            "margin": beh.margin(logits, batch.answers),
            "loss": beh.loss(logits, batch.answers),
            "in_context": beh.from_context(logits, batch.tokens),
        }
        for metric, values in scores.items():
            rows.add(metric, values.double().mean(-1), len(batch), **{kind: name})


def _read_of_families(session: Session, net: Network) -> set[str]:
    """What the sections read of the clean pass over the families, which is run once for all of them."""
    inside = {f"{name}.{layer}" for name in ("pattern", "q", "resid_pre") for layer in range(net.config.n_layers)}
    return inside | (set(probe_sites(net)) if session.task.variables else set())


def attention(session: Session, net: Network, rows: Rows) -> None:
    """Where each head looks, per family; what the first layer's read-out query can depend on."""
    patterns = net.pattern_keys
    queries = [f"q.{layer}" for layer in range(net.config.n_layers)]
    labels, pooled = head_labels(net.heads), []
    for family, batch in session.families.items():
        if not {*SLOT_ROLES, "query_key"} <= batch.roles.keys():
            return
        output = net.run(batch, patterns + queries)
        pattern = torch.cat([output.cache[key] for key in patterns], 2)  # every layer's heads side by side
        slots = att.slot_mass(pattern, batch, SLOT_ROLES)
        matching = batch.variables["matching_slot"]
        predicted = read_out(output.logits, batch).argmax(-1)
        program = batch.tokens.gather(1, batch.roles["slot_value"])
        chosen = program.T[att.chosen_slot(slots), torch.arange(len(batch))[:, None]]
        values = att.slot_mass(pattern, batch, ("slot_value",))
        scores = {
            "routing": att.routes(slots, matching).double(),
            "routing_value": att.routes(values, matching).double(),
            "value_mass": att.matching_mass(values, matching),
            "query_key_mass": att.mass(pattern, batch, "read_out", "query_key")[..., 0],
            "own_key_mass": att.mass(pattern, batch, "slot_value", "slot_key").mean(-1),
            "program_agreement": (chosen == predicted[..., None]).double(),
        }
        for metric, found in scores.items():
            rows.add(metric, found.mean(1), len(batch), labels, family=family)
        if family == "query_key_sweep":
            rows.add(
                "choice_follows_query", att.choice_follows_query(slots, batch.base), len(batch), labels, family=family
            )
            q = torch.cat([at_role(output.cache[key].flatten(-2), batch, "read_out") for key in queries], -1)
            spread = (q - q[:, :1]).abs().amax(1).unflatten(-1, (len(net.heads), -1)).amax(-1)
            rows.add("query_spread", spread, len(batch), labels, family=family)
        pooled.append(scores["routing"])
    _pooled(session, rows, "routing", pooled, labels)


def operators(session: Session, net: Network, rows: Rows) -> None:
    """Copying by OV at the matching value's real input, per family; OV and QK circuits from the weights alone."""
    if net.config.norm_position != "pre" or net.config.d_in:
        return
    labels, pooled = head_labels(net.heads), []
    for family, batch in session.families.items():
        if "slot_value" not in batch.roles:
            return
        cache = net.record(batch, [f"resid_pre.{layer}" for layer in range(net.config.n_layers)])
        hits = torch.cat([_copies(session, net, layer, batch, cache) for layer in range(net.config.n_layers)], -1)
        rows.add("copying", hits.mean(1), len(batch), labels, family=family)
        pooled.append(hits)
    _pooled(session, rows, "copying", pooled, labels)
    if session.families:
        _weight_circuits(session, net, rows)


def _copies(session: Session, net: Network, layer: int, batch: Batch, cache: dict[str, Tensor]) -> Tensor:
    normed = ops.matching_value_input(net, layer, batch, cache)
    return (ops.copies(net, layer, normed, session.answers) == batch.answers[:, None]).double()


def _weight_circuits(session: Session, net: Network, rows: Rows) -> None:
    """Share of values a head's OV raises most for themselves, and of keys its composed QK matches to themselves."""
    values = session.answers
    for layer in range(net.config.n_layers):
        wins = ops.diagonal_wins(ops.ov_circuit(net, layer, values, values))
        rows.add("ov_diagonal", wins, len(values), head_labels([h for h in net.heads if h[0] == layer]))
    batch = session.ablated
    if net.config.n_layers < 2 or "slot_key" not in batch.roles:
        return
    keys = torch.unique(batch.tokens.gather(1, batch.roles["slot_key"]))
    at = (int(batch.roles["read_out"][0]), batch.roles["slot_value"][0].tolist())
    for layer in range(net.config.n_layers - 1):
        receivers = [h for h in net.heads if h[0] == layer + 1]
        for sender in [h for h in net.heads if h[0] == layer]:
            for tagger in [h for h in net.heads if h[0] == layer]:
                wins = ops.diagonal_wins(ops.composed_qk(net, sender, tagger, keys, at))
                through = f"q:L{layer}H{sender[1]} k:L{layer}H{tagger[1]}"
                rows.add("qk_diagonal", wins, len(keys), head_labels(receivers), edit=through)


def attribution(session: Session, net: Network, rows: Rows) -> None:
    """Each part's share of the logit difference (answer minus the mean of the other answers)."""
    if net.config.norm_position != "pre":
        return
    batch = session.ablated
    parts, logits = direct_logit_attribution(net, batch, net.record(batch, recorded_sites(net)))
    shares = beh.logit_difference(logits, batch.answers, session.answers).mean(-1)
    rows.add("attribution", shares, len(batch), [{"site": part} for part in parts])


def ablations(session: Session, net: Network, rows: Rows) -> None:
    """Accuracy, margin and logit difference with every subset of heads, and every MLP, removed.

    Adds no rows where the training rows, whose activations replace the removed ones, have another length.
    """
    batch, layers = session.ablated, range(net.config.n_layers)
    if session.reference.tokens.shape[1:] != batch.tokens.shape[1:]:
        return
    record = [f"z.{layer}" for layer in layers] + (
        [] if net.config.mlp == "none" else [f"mlp_out.{layer}" for layer in layers]
    )
    sources = localization.stand_ins(net, session.reference, session.resampled, record)
    labels, logits = localization.ablation_logits(net, batch, sources)
    columns = [{"site": name, "edit": edit} for name, edit in labels]
    for metric, values in _scores(logits, batch, session.answers).items():
        rows.add(f"ablated_{metric}", values.T, len(batch), columns)


def edges(session: Session, net: Network, rows: Rows) -> None:
    """Path patching between any two layers: how often the answer is the source's (``edge_switch``) or the base's.

    A network that guesses among the prompt's values scores one over the pairs on both, moved or not.
    """
    if net.config.norm_position != "pre":
        return
    for sender, receiver in combinations(range(net.config.n_layers), 2):
        for test in session.edge_tests:
            found, logits = paths.edge_logits(net, sender, receiver, test)
            labels = [{"site": str(edge)} for edge in found]
            predicted = logits.argmax(-1)
            for metric, answers in {
                "edge_switch": test.expected["source_answer"],
                "edge_kept": test.base.answers,
            }.items():
                rows.add(metric, (predicted == answers).double().mean(-1).T, len(test), labels, family=test.name)


def interchanges(session: Session, net: Network, rows: Rows) -> None:
    """For each site: how often the answer follows each hypothesis, with the two controls, and where attention goes."""
    for test in session.interchanges:
        patched = inter.patch_everywhere(net, test)
        predicted = patched.answers.logits.argmax(-1)
        for hypothesis, answers in {**test.expected, "base_answer": test.base.answers}.items():
            labels = [{"site": site, "edit": control} for site, control in patched.labels]
            hits = (predicted == answers).double()
            rows.add("interchange", hits.mean(-1).T, len(test), labels, family=test.name, variable=hypothesis)
            if hypothesis == "source_answer":
                rows.add(
                    "interchange_worst_base", worst_share(hits, test.base.base).T, len(test), labels, family=test.name
                )
        if not set(SLOT_ROLES) <= test.base.roles.keys():
            continue
        slots = att.slot_mass_of_row(patched.answers.pattern, test.base, SLOT_ROLES)
        follows = att.routes(slots, test.source.variables["matching_slot"]).double().mean(-2)  # [edit ckpt head]
        last = net.config.n_layers - 1
        for number, (site, control) in enumerate(patched.labels):
            if not control:
                heads = [{"layer": last, "head": head, "site": site} for head in range(net.config.n_heads)]
                rows.add("attention_follows_source", follows[number], len(test), heads, family=test.name)


def probes(session: Session, net: Network, rows: Rows) -> None:
    """Ridge probes at the read-out: cross-validated, on the test split, with random labels, and as published."""
    if not session.task.variables:
        return
    record = probe_sites(net)
    test, swept = session.reported, [b for b in session.families.values()]
    features = {name: read_off(net, batch, record) for name, batch in (("train", session.probe_train), ("test", test))}
    sweeps = [read_off(net, batch, record) for batch in swept]
    shuffled = torch.randperm(len(session.probe_train), generator=torch.Generator().manual_seed(0))
    labels = {name: session.probe_train.variables[name] for name in session.task.variables}
    ready = {}  # width -> site names, and all that the labels do not touch
    for width, (names, train) in features["train"].items():
        fit, at_sweeps = prb.Fit.of(train), [sweep[width][1] for sweep in sweeps]
        seen = fit.seen(features["test"][width][1]), fit.seen(torch.cat(at_sweeps, -2)) if at_sweeps else None
        ready[width] = names, prb.Folds.of(train, labels.values()), fit, seen
    for variable, n_classes in session.task.variables.items():
        told, wanted = labels[variable], test.variables[variable]
        for names, folds, fit, (at_test, at_sweeps) in ready.values():
            found = {
                "probe_cv": folds.accuracy(told, n_classes),
                "probe": _share(fit.predict(told, at_test, n_classes), wanted),
                "probe_random_labels": _share(fit.predict(told[shuffled], at_test, n_classes), wanted),
            }
            if at_sweeps is not None:
                asked = torch.cat([batch.variables[variable] for batch in swept])
                found["probe_published"] = _share(fit.published_predict(told, at_sweeps, n_classes), asked)
            for metric, values in found.items():
                n = {"probe_cv": len(told), "probe_published": sum(map(len, swept))}.get(metric, len(test))
                rows.add(metric, values, n, [{"site": name} for name in names], variable=variable)


def _scores(logits: Tensor, batch: Batch, answers: Tensor) -> dict[str, Tensor]:
    """Mean accuracy, margin and logit difference over rows: ``[edit ckpt]`` each."""
    return {
        "accuracy": beh.correct(logits, batch.answers).double().mean(-1),
        "margin": beh.margin(logits, batch.answers).double().mean(-1),
        "logit_difference": beh.logit_difference(logits, batch.answers, answers).double().mean(-1),
    }


def _share(predicted: Tensor, wanted: Tensor) -> Tensor:
    return (predicted == wanted).double().mean(-1)


def _pooled(session: Session, rows: Rows, metric: str, pooled: list[Tensor], labels: list[dict]) -> None:
    """The source's pooled score over all sweep rows, and its minimum over base-prompt groups."""
    if not pooled:
        return
    groups, hits = published_groups(session.families), torch.cat(pooled, 1)  # hits [ckpt row head]
    rows.add(metric, hits.mean(1), len(groups), labels, family="all")
    rows.add(f"{metric}_worst_base", worst_share(hits.movedim(1, -1), groups), len(groups), labels, family="all")
