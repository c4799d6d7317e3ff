"""Sections of the battery for permutation recall that take a network apart; other tasks get no rows.

What is removed, cut or patched is so at the read-out, whose row of attention is all that one layer's answer can see.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.metrics.instruments.sections import Session
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores import attention as att
from circuitcore.metrics.scores import interchange
from circuitcore.metrics.scores.localization import HOWS, stand_ins
from circuitcore.metrics.table import Rows, head_labels
from circuitcore.models import Ablate, CutEdge, Head, Mlp, Patch, Site
from circuitcore.models.edits import Cache, Edit
from circuitcore.models.transformer import apply_norm
from circuitcore.tasks.base import Batch
from circuitcore.tasks.permutation import PermutationRecall
from retrieval_circuits.permutation_recall.measures import scores as recall
from retrieval_circuits.permutation_recall.measures.skills import (
    add_by_source,
    asks_to_recall,
    every_source,
    outcomes,
    probes,
    unused_symbols,
)

MOST_ROWS = 11_520  # all probes of 24 permutations of five symbols; of more, as many are drawn
ALL_HEADS = "all heads"
CUTS = {
    "cut y_source": "y_source",
    "cut x_source": "x_source",
    "cut other y": "y_other",
    "cut other x": "x_other",
    "cut self": "read_out",
}
"""Edit -> the keys of a row with a repeat that the read-out cannot attend to."""
CUTS_OF_NORMAL = {"cut all y": "y", "cut all x": "x_before", "cut self": "read_out"}
SWAPPED = {"v": "swap values' positions", "k": "swap keys' positions"}
Label = dict[str, Any]


def recall_roles(session: Session, net: Network, rows: Rows) -> None:
    """Every probe of the held-out permutations: answers with each part removed, and where the heads look."""
    if not asks_to_recall(session):
        return
    normal, repeat = every_row(session.task)
    labels, edits = _removals(net)
    for batch in (repeat, normal):
        logits = net.answers_under(batch, edits, _stand_ins(session, net, len(batch))).logits
        if batch is repeat:
            hits = outcomes(recall.likeliest_symbol(logits[0]), batch)["recall"]
            add_by_source(rows, "recall_all", hits, batch)
            add_under(rows, logits, labels, repeat=batch)
        else:
            rows.add("elimination_all", recall.share(recall.likeliest_symbol(logits[0]) == batch.answers), len(batch))
            add_under(rows, logits, labels, normal=batch)
    _add_masses(net, normal, repeat, rows)


def recall_edges(session: Session, net: Network, rows: Rows) -> None:
    """Answers with edges into the read-out cut, with earlier rows silenced, and with two y's positions swapped."""
    if not asks_to_recall(session):
        return
    normal, repeat = marked(session.families["normal"]), marked(probes(session))
    groups = [(label, heads) for layer in range(net.config.n_layers) for label, heads in _head_groups(net, layer)]
    for batch, cuts in ((repeat, CUTS), (normal, CUTS_OF_NORMAL)):
        labels = [{**label, "edit": edit} for label, _ in groups for edit in cuts]
        edits = [
            tuple(CutEdge(head, "read_out", key) for head in heads) for _, heads in groups for key in cuts.values()
        ]
        logits = net.answers_under(batch, edits, {}).logits
        add_under(rows, logits, labels, **{"repeat" if batch is repeat else "normal": batch})
    silenced = tuple(Ablate(head, "zero", "before") for head in net.heads)
    clean, changed = net.answers_under(repeat, [(), silenced], {}).logits
    label = {"site": ALL_HEADS, "edit": "zero rows before"}
    rows.add("largest_change", (changed - clean).abs().amax((-1, -2)), len(repeat), [label])
    if net.config.positions == "learned":
        _add_swapped(net, repeat, rows)


def recall_interchanges(session: Session, net: Network, rows: Rows) -> None:
    """Whose answer comes out when a part's output at the read-out is that of a row with another y, or another match.

    In the family "value" the y that the base row does not show (``unused``) is the source row's answer: permutations
    that differ in one shown y differ in the one not shown, too.
    """
    if not asks_to_recall(session):
        return
    for layer in range(net.config.n_layers):
        found = [(label, [Site("z", *head) for head in heads]) for label, heads in _head_groups(net, layer)]
        if net.config.mlp != "none":
            found.append(({"site": f"L{layer}.mlp_out", "layer": layer}, [Site("mlp_out", layer)]))
        together = {label["site"]: [(site, "read_out") for site in sites] for label, sites in found}
        by_site = {label["site"]: label for label, _ in found}
        for test in session.interchanges:
            patched = interchange.patch(net, test, together, ("", "random_source"))
            predicted = recall.likeliest_symbol(patched.answers.logits)
            labels = [{**by_site[site], "edit": control} for site, control in patched.labels]
            answers = {**test.expected, "base_answer": test.base.answers, "unused": unused_symbols(test.base)}
            for variable, wanted in answers.items():
                values = recall.share(predicted == wanted).T
                rows.add("interchange", values, len(test), labels, family=test.name, variable=variable)


@functools.lru_cache(maxsize=4)
def every_row(task: PermutationRecall) -> tuple[Batch, Batch]:
    """Every row of the held-out permutations without a repeat, and with one of any slot; or ``MOST_ROWS`` of them."""
    return marked(task.every_row("test", MOST_ROWS)), marked(every_source(task).probes("test", MOST_ROWS))


def marked(batch: Batch) -> Batch:
    """The rows with more roles.

    ``x_before``, ``before``: the x, and all positions, before the read-out; ``y_last``. And where an x is repeated:
    ``x_other``, ``y_other``: all pairs' but the one to be recalled; ``y_traded``: the y of the slot after that one (the
    first comes after the last); ``swapped``: both that y and the one to be recalled.
    """
    x, y, slots = batch.roles["x"][:, :-1], batch.roles["y"], torch.arange(batch.roles["y"].shape[1])
    roles = {"x_before": x, "y_last": y[:, -1], "before": torch.cat([x, y], 1)}
    source = batch.variables["source"]
    if (source < len(slots)).all():
        others = (source[:, None] + 1 + slots[:-1]) % len(slots)
        roles |= {"x_other": x.gather(1, others), "y_other": y.gather(1, others), "y_traded": y.gather(1, others)[:, 0]}
        roles["swapped"] = torch.stack([batch.roles["y_source"], roles["y_traded"]], 1)
    return dataclasses.replace(batch, roles={**batch.roles, **roles})


def add_under(
    rows: Rows,
    logits: Float[Tensor, "edit ckpt row vocab"],
    labels: Sequence[Label],
    *,
    repeat: Batch | None = None,
    normal: Batch | None = None,
) -> None:
    """What is said at the read-out under edits, of rows with a repeat or of those without."""
    predicted, batch = recall.likeliest_symbol(logits), repeat or normal
    found = {"elimination": predicted == batch.answers} if repeat is None else outcomes(predicted, repeat)
    for metric, hits in found.items():
        rows.add(f"{metric}_under", recall.share(hits).T, len(batch), labels)


def _head_groups(net: Network, layer: int) -> list[tuple[Label, tuple[Head, ...]]]:
    """Each head of a layer, and if there are several, all of them."""
    heads = tuple(head for head in net.heads if head.layer == layer)
    single = list(zip(head_labels(heads), ((head,) for head in heads), strict=True))
    return single + [({"site": ALL_HEADS, "layer": layer}, heads)] * (len(heads) > 1)


def _removals(net: Network) -> tuple[list[Label], list[tuple[Edit, ...]]]:
    """Each head, all heads of a layer together, each MLP: removed three ways. The first one removes nothing."""
    parts: list[tuple[Label, tuple[Head | Mlp, ...]]] = []
    for layer in range(net.config.n_layers):
        for label, heads in _head_groups(net, layer):
            parts.append((label | {"site": "+".join(map(str, heads))}, heads))
        if net.config.mlp != "none":
            parts.append(({"site": str(Mlp(layer)), "layer": layer}, (Mlp(layer),)))
    labels = [{"site": "none", "edit": "none"}] + [{**label, "edit": how} for how in HOWS for label, _ in parts]
    edits = [tuple(Ablate(part, how, "read_out") for part in group) for how in HOWS for _, group in parts]
    return labels, [(), *edits]


def _stand_ins(session: Session, net: Network, n_rows: int) -> dict[str, Cache]:
    """What stands in for a removed part: its mean over rows trained on, by position; or its value in one of them."""
    names = ["z"] + ([] if net.config.mlp == "none" else ["mlp_out"])
    record = [f"{name}.{layer}" for name in names for layer in range(net.config.n_layers)]
    drawn = torch.randint(len(session.reference), (n_rows,), generator=torch.Generator().manual_seed(0))
    return stand_ins(net, session.reference, drawn, record)


def _add_masses(net: Network, normal: Batch, repeat: Batch, rows: Rows) -> None:
    """Attention from the read-out, and on rows without repeat from each x to the y before it."""
    keys, labels = net.pattern_keys, head_labels(net.heads)
    places = {
        **{"mass_x_source": "x_source", "mass_y_source": "y_source", "mass_all_y": "y", "mass_all_x": "x_before"},
        **{"mass_last_y": "y_last", "mass_self": "read_out"},
    }
    of_repeat, of_normal = (_patterns(net, batch, keys) for batch in (repeat, normal))
    for metric, role in places.items():
        mean = att.mass(of_repeat, repeat, "read_out", role).sum(-1).double().mean(1)
        rows.add(metric, mean, len(repeat), labels, family="repeat")
    itself = att.mass(of_normal, normal, "read_out", "read_out")[..., 0].double().mean(1)
    rows.add("mass_self", itself, len(normal), labels, family="normal")
    x, y = normal.roles["x"][0], normal.roles["y"][0]  # the same in all rows
    by_step = of_normal[..., x, :][..., y].sum(-1).double().mean(1)  # [ckpt head step]; what is ahead has no mass
    for step in range(1, len(x)):
        where = {"family": "normal", "variable": f"step {step + 1}"}
        rows.add("mass_all_y", by_step[..., step], len(normal), labels, **where)


def _patterns(net: Network, batch: Batch, keys: Sequence[str]) -> Float[Tensor, "ckpt row head query key"]:
    cache: Mapping[str, Tensor] = net.record(batch, keys)
    return torch.cat([cache[key] for key in keys], 2)


def _add_swapped(net: Network, repeat: Batch, rows: Rows) -> None:
    """Answers where two y trade positional codes in the value vectors of layer 0, or in its keys; all else stays."""
    groups, other = _head_groups(net, 0), repeat.tokens.gather(1, repeat.roles["y_traded"][:, None])[:, 0]
    labels = [{**label, "edit": edit} for edit in SWAPPED.values() for label, _ in groups]
    edits = [
        tuple(Patch(Site(site, *head), "swapped", "moved") for head in heads) for site in SWAPPED for _, heads in groups
    ]
    moved = {f"{site}.0": projected_at(net, site, repeat, swapped_places(repeat)) for site in SWAPPED}
    logits = net.answers_under(repeat, edits, {"moved": moved}).logits
    add_under(rows, logits, labels, repeat=repeat)
    rows.add("answers_swapped_under", recall.share(recall.likeliest_symbol(logits) == other).T, len(repeat), labels)


def swapped_places(repeat: Batch) -> Int[Tensor, "row pos"]:
    """The positions of each row, with those of ``swapped`` in each other's place."""
    n_rows, n_pos = repeat.tokens.shape
    both = repeat.roles["swapped"]
    return torch.arange(n_pos).repeat(n_rows, 1).scatter(1, both, both.flip(1))


def projected_at(
    net: Network, site: str, batch: Batch, places: Int[Tensor, "row pos"]
) -> Float[Tensor, "ckpt row pos head d_head"]:
    """Keys or values (``site``: "k", "v") of layer 0, had the tokens of a row the positional codes of ``places``."""
    weights, name, letter = net.weights, "blocks.0", site.upper()
    x = weights["embed.W_E"][:, batch.tokens] + weights["pos_embed.W_pos"][:, places]
    x = apply_norm(net.config, weights, f"{name}.ln1", x) if net.config.norm_position == "pre" else x
    found = torch.einsum("crpd,chdk->crphk", x, weights[f"{name}.attn.W_{letter}"])
    bias = weights.get(f"{name}.attn.b_{letter}")
    return found if bias is None else found + bias[:, None, None]
