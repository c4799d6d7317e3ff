"""Which part of a network carries an answer: where heads look, what they bring, a path, or one direction of a write.

A row is run while one part is taken from another row, whose answer is different; what the margin between both answers
makes of it says how much of the answer that part carries.

Source: nelson960, which lists the tool, ``mechanism-hypothesis-tester``, and never built it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.paths import Edge, edge_logits
from circuitcore.metrics.table import Rows
from circuitcore.models import Head, Patch, Site
from circuitcore.models.edits import Cache
from circuitcore.tasks.base import Batch, Interchange
from retrieval_circuits.sgd_formation.measures.counterfactuals import Pairs, counterfactuals
from retrieval_circuits.sgd_formation.measures.steps import AtSteps

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

LOOKS, BRINGS, WRITES, DIRECTION, BY_LOT, PATH = "QK", "OV", "write", "direction", "direction by lot", "path"
"""The hypotheses: a head's pattern, its values, all that it writes, that along the answers' direction or along one
drawn by lot, and what one layer writes as another one reads it."""
EXCHANGED = {LOOKS: ("q", "k"), BRINGS: ("v",), WRITES: ("z",)}
"""Hypothesis -> what is taken from the other row; queries and keys are all that a pattern is made of."""
OTHER, SAME = "other answer", "same answer"
"""The row that the part is taken from."""
LOT_SEED = 0


@dataclass(frozen=True, kw_only=True)
class Hypotheses(AtSteps):
    """On how many rows of which splits parts are exchanged, and at which steps."""

    n_rows: int
    splits: tuple[str, ...]


def hypothesis_tests(run: "Run", tested: Hypotheses, progress: Callable[[int], None]) -> pd.DataFrame:
    """How much of another row's answer each part brings into a row, by what differs between the two (variable).

    Margins are the logit of the other row's answer less that of the row's own, averaged over rows. Metrics, by split:

    * ``change``: the other row's margin less the row's, what there is to carry.
    * ``moved``: the margin of the row with a part of the other row in it, less its own. By ``change``: 0 for a part
      that carries nothing, 1 for one that carries all. The part is named by hypothesis (edit: "QK", "OV", "write",
      "direction", "direction by lot") and heads (site "L1H0"; "L1H*" for all of a layer), at all positions; or it is a
      path (edit "path", site "L0H*>MLP->L1H*.k"; see ``Edge``). Taken from a row of the same answer (family): about 0
      for parts that carry nothing but the answer.

    Raises:
        ValueError: a network of one layer, which has no path between layers, or one whose norms follow its parts, whose
            stream is no sum of what they write.
    """
    task, steps, model = run.recipe.make_task(), tested.of(run), run.recipe.model
    if model.n_layers < 2 or model.norm_position != "pre":
        raise ValueError(
            f"hypotheses need two layers or more and norms before parts; this network has n_layers = {model.n_layers}, "
            f"norm_position = {model.norm_position!r}"
        )
    net = Network(model, run.stack(steps))
    rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
    for split in tested.splits:
        for pairs in counterfactuals(task, split, tested.n_rows):
            common = {"variable": pairs.differs, "split": split}
            own, other = (pairs.margin(net.answers(batch)).mean(-1) for batch in (pairs.base, pairs.other))
            rows.add("change", other - own, len(pairs.base), **common)
            for family, source in {OTHER: pairs.other, SAME: pairs.same}.items():
                for moved in (heads_moved, paths_moved):
                    labels, margins = moved(net, pairs, source)
                    rows.add("moved", margins - own[:, None], len(pairs.base), labels, family=family, **common)
    progress(len(steps))
    return rows.frame()


def heads_moved(net: Network, pairs: Pairs, source: Batch) -> tuple[list[dict[str, str]], Float[Tensor, "ckpt label"]]:
    """The mean margin of rows into which a part of some heads is put from ``source``; the columns that name each."""
    keys = [f"{name}.{layer}" for layer in range(net.config.n_layers) for name in (*"qkvz", "resid_mid")]
    base, other = (net.record(batch, keys) for batch in (pairs.base, source))
    directions = {DIRECTION: answer_direction(net, pairs), BY_LOT: _direction_by_lot(net, pairs)}
    labels, interventions, sources = [], [], {OTHER: other}
    for site, heads in groups(net).items():
        for edit, names in EXCHANGED.items():
            labels.append({"site": site, "edit": edit})
            interventions.append(tuple(Patch(Site(name, *head), "all", OTHER) for head in heads for name in names))
        for edit, direction in directions.items():
            sources[f"{edit}, {site}"] = _along(net, heads, direction, base, other)
            labels.append({"site": site, "edit": edit})
            interventions.append((Patch(Site("resid_mid", heads[0].layer), "all", f"{edit}, {site}"),))
    logits = net.answers_under(pairs.base, interventions, sources).logits
    return labels, pairs.margin(logits).mean(-1).T


def groups(net: Network) -> dict[str, tuple[Head, ...]]:
    """Heads that are exchanged together: each alone, and all of a layer."""
    alone = {str(head): (head,) for head in net.heads}
    layers = range(net.config.n_layers)
    return alone | {f"L{layer}H*": tuple(head for head in net.heads if head.layer == layer) for layer in layers}


def paths_moved(net: Network, pairs: Pairs, source: Batch) -> tuple[list[dict[str, str]], Float[Tensor, "ckpt label"]]:
    """The same of paths from each part of one layer into the heads of a later one."""
    labels, margins = [], []
    test = Interchange(name=pairs.differs, base=pairs.base, source=source, expected={})
    for sender, receiver in combinations(range(net.config.n_layers), 2):
        edges, logits = edge_logits(net, sender, receiver, test, _tested)
        labels += [{"site": str(edge), "edit": PATH} for edge in edges]
        margins.append(pairs.margin(logits).mean(-1).T)
    return labels, torch.cat(margins, 1)


def _tested(edge: Edge) -> bool:
    """Into all heads of a layer, from anything but the whole of what they read."""
    return edge.sender != "all" and edge.receiver.endswith("*")


def _along(
    net: Network, heads: tuple[Head, ...], direction: Float[Tensor, "ckpt batch d_model"], base: Cache, other: Cache
) -> Cache:
    """The stream behind a layer's heads, had some of them written as in other rows, along one direction alone."""
    layer, index = heads[0].layer, [head.index for head in heads]
    z, key = f"z.{layer}", f"resid_mid.{layer}"
    moved = other[z][..., index, :] - base[z][..., index, :]
    written = torch.einsum("cbphi,chid->cbpd", moved, net.weights[f"blocks.{layer}.attn.W_O"][:, index])
    share = torch.einsum("cbpd,cbd->cbp", written, direction)
    return {key: base[key] + share[..., None] * direction[:, :, None]}


def answer_direction(net: Network, pairs: Pairs) -> Float[Tensor, "ckpt batch d_model"]:
    """Along which the stream raises the other answer's logit at the cost of the own one's, of length one."""
    words = net.weights["embed.W_E"] if net.config.tied else net.weights["unembed.W_U"].mT
    difference = words[:, pairs.answer] - words[:, pairs.own]
    if net.config.norm != "none":
        difference = difference * net.weights["ln_final.w"][:, None]
    if net.config.norm == "layer":
        difference = difference - difference.mean(-1, keepdim=True)
    return functional.normalize(difference, dim=-1)


def _direction_by_lot(net: Network, pairs: Pairs) -> Float[Tensor, "ckpt batch d_model"]:
    """One for each row, the same at all checkpoints, of length one."""
    generator = torch.Generator().manual_seed(LOT_SEED)
    drawn = torch.randn(len(pairs.base), net.config.d_model, generator=generator, dtype=torch.float64)
    weight = next(iter(net.weights.values()))
    return functional.normalize(drawn, dim=-1).to(weight.dtype).expand(len(weight), -1, -1)
