"""Path patching: what one part's write, seen by one input of one later head, does to the answer.

The stream entering layer l+1 is the sum of what was there before, the heads' writes and the MLP's write. An *edge*
replaces one of these terms by its value on the source prompt, for one receiving head and one of its inputs only.
Edges into adjacent layers only; the source's "layer-1 support" is layer 0 here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.network import Network, concat
from circuitcore.models import Head, Patch, Site
from circuitcore.models.edits import Edit
from circuitcore.tasks.base import Interchange

INPUTS = ("q", "k", "v")


@dataclass(frozen=True)
class Edge:
    """From ``sender`` into one input of ``receiver``.

    Senders: ``embed``, ``L0H1``, ``L0MLP``, ``L0H*`` (all heads together); ``L0H1>MLP`` lets the MLP react to the head.
    """

    sender: str
    receiver: str
    input: str

    def __str__(self) -> str:
        return f"{self.sender}->{self.receiver}.{self.input}"


def edge_logits(
    net: Network, layer: int, test: Interchange
) -> tuple[list[Edge], Float[Tensor, "edit ckpt batch vocab"]]:
    """Read-out logits of the base rows under every edge from ``layer`` into ``layer + 1``.

    Raises:
        ValueError: no layer after ``layer``, or a post-norm model (its stream is no sum of writes).
    """
    if layer + 1 >= net.config.n_layers or net.config.norm_position != "pre":
        raise ValueError(
            f"path patching needs a pre-norm model with a layer after {layer}; it has {net.config.n_layers}"
        )
    own = [f"resid_pre.{layer}", f"z.{layer}"] + ([] if net.config.mlp == "none" else [f"mlp_out.{layer}"])
    inputs = [f"{name}.{layer + 1}" for name in INPUTS]
    base, source = (net.record(batch, own + inputs) for batch in (test.base, test.source))
    senders = sender_edits(net, layer)
    sources = {"source": source, "base": base}
    received = concat(list(net.passes(test.base, list(senders.values()), sources, base, inputs)))
    messages = {f"from {name}": {key: value[i] for key, value in received.items()} for i, name in enumerate(senders)}
    edges, interventions = [], []
    for edge, edits in _edges(net, layer, list(senders)):
        edges.append(edge)
        interventions.append(edits)
    return edges, net.answers_under(test.base, interventions, messages | {"source": source}).logits


def sender_edits(net: Network, layer: int) -> dict[str, tuple[Edit, ...]]:
    """Sender -> the edits that put its term, and only its term, of the stream to the source's value."""
    heads = [Head(layer, index) for index in range(net.config.n_heads)]
    before = Patch(Site("resid_pre", layer), "all", "source")
    heads_kept = tuple(_write(head, "base") for head in heads)
    if net.config.mlp == "none":
        mlp_kept, mlp_moved = (), {}
    else:
        mlp_kept = (Patch(Site("mlp_out", layer), "all", "base"),)
        mlp_moved = {f"L{layer}MLP": (Patch(Site("mlp_out", layer), "all", "source"),)}
    every_head = tuple(_write(head, "source") for head in heads)
    direct = {str(head): (_write(head, "source"), *mlp_kept) for head in heads}
    reacting = {f"{head}>MLP": (_write(head, "source"),) for head in heads} if mlp_kept else {}
    joint = {f"L{layer}H*": (*every_head, *mlp_kept)} | ({f"L{layer}H*>MLP": every_head} if mlp_kept else {})
    return {"embed": (before, *heads_kept, *mlp_kept), **direct, **mlp_moved, **reacting, **joint}


def _edges(net: Network, layer: int, senders: Sequence[str]) -> Iterator[tuple[Edge, tuple[Edit, ...]]]:
    """Every sender, and ``all`` (the input as it is on the source), into q, k and v of each head and of all heads."""
    heads = range(net.config.n_heads)
    receivers = {f"L{layer + 1}H{head}": (head,) for head in heads} | {f"L{layer + 1}H*": tuple(heads)}
    for sender in (*senders, "all"):
        cache = "source" if sender == "all" else f"from {sender}"
        for receiver, members in receivers.items():
            for name in INPUTS:
                where = "read_out" if name == "q" else "all"
                yield (
                    Edge(sender, receiver, name),
                    tuple(Patch(Site(name, layer + 1, head), where, cache) for head in members),
                )


def _write(head: Head, source: str) -> Patch:
    return Patch(Site("z", head.layer, head.index), "all", source)
