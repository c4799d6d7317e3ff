"""Path patching: what one part's write, seen by one input of one later head, does to the answer.

The stream entering layer l+1 is the sum of what was there before, the heads' writes and the MLP's write. An *edge*
replaces one of these terms by its value on the source prompt, for one receiving head and one of its inputs only. The
layers between sender and receiver write what they write on the base prompt, so that an edge is the direct way alone.
"""

from collections.abc import Callable, Iterator, Sequence
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

    Senders: ``embed``, ``L0H1``, ``L0MLP``, ``L0H*`` (all heads together); ``L0H1>MLP`` lets the MLP of the head's own
    layer react to it. ``all`` is everything before the receiver.
    """

    sender: str
    receiver: str
    input: str

    def __str__(self) -> str:
        return f"{self.sender}->{self.receiver}.{self.input}"


def edge_logits(
    net: Network, sender: int, receiver: int, test: Interchange, wanted: Callable[[Edge], bool] | None = None
) -> tuple[list[Edge], Float[Tensor, "edit ckpt batch vocab"]]:
    """Read-out logits of the base rows under every edge from layer ``sender`` into layer ``receiver``.

    What stands before all layers (``embed``) is a sender with layer 0, and ``all`` one with the layer just before the
    receiver, so that over all pairs of layers each edge is there once. Of these only those that are ``wanted``; all, by
    default.

    Raises:
        ValueError: a receiver that does not exist or is not behind the sender, or a post-norm model (its stream is no
            sum of writes).
    """
    if not 0 <= sender < receiver < net.config.n_layers or net.config.norm_position != "pre":
        raise ValueError(
            f"path patching from layer {sender} into layer {receiver} needs a pre-norm model with both, the second "
            f"behind the first; it has {net.config.n_layers}, norm position {net.config.norm_position!r}"
        )
    writes = ("z",) if net.config.mlp == "none" else ("z", "mlp_out")
    own = [f"resid_pre.{sender}"] + [f"{name}.{layer}" for layer in range(sender, receiver) for name in writes]
    inputs = [f"{name}.{receiver}" for name in INPUTS]
    base, source = (net.record(batch, own + inputs) for batch in (test.base, test.source))
    senders = sender_edits(net, sender, receiver)
    sources = {"source": source, "base": base}
    passes = net.passes(test.base, list(senders.values()), sources, base, inputs)
    received = concat([output.cache for output in passes])
    messages = {f"from {name}": {key: value[i] for key, value in received.items()} for i, name in enumerate(senders)}
    last = ("all",) if sender == receiver - 1 else ()
    edges, interventions = [], []
    for edge, edits in _edges(net, receiver, (*senders, *last)):
        if wanted is None or wanted(edge):
            edges.append(edge)
            interventions.append(edits)
    return edges, net.answers_under(test.base, interventions, messages | {"source": source}).logits


def sender_edits(net: Network, layer: int, receiver: int) -> dict[str, tuple[Edit, ...]]:
    """Sender of a layer -> the edits that put its term, and only its term, of ``receiver``'s stream to the source's."""
    heads = [Head(layer, index) for index in range(net.config.n_heads)]
    between = tuple(edit for other in range(layer + 1, receiver) for edit in _kept(net, other))
    heads_kept = tuple(_write(head, "base") for head in heads)
    if net.config.mlp == "none":
        mlp_kept, mlp_moved = (), {}
    else:
        mlp_kept = (_mlp(layer, "base"),)
        mlp_moved = {f"L{layer}MLP": (_mlp(layer, "source"),)}
    every_head = tuple(_write(head, "source") for head in heads)
    before = Patch(Site("resid_pre", layer), "all", "source")
    embed = {"embed": (before, *heads_kept, *mlp_kept)} if layer == 0 else {}
    direct = {str(head): (_write(head, "source"), *mlp_kept) for head in heads}
    reacting = {f"{head}>MLP": (_write(head, "source"),) for head in heads} if mlp_kept else {}
    joint = {f"L{layer}H*": (*every_head, *mlp_kept)} | ({f"L{layer}H*>MLP": every_head} if mlp_kept else {})
    found = {**embed, **direct, **mlp_moved, **reacting, **joint}
    return {sender: (*edits, *between) for sender, edits in found.items()}


def _kept(net: Network, layer: int) -> tuple[Patch, ...]:
    """All that a layer writes, as on the base prompt."""
    heads = tuple(_write(Head(layer, index), "base") for index in range(net.config.n_heads))
    return heads if net.config.mlp == "none" else (*heads, _mlp(layer, "base"))


def _edges(net: Network, layer: int, senders: Sequence[str]) -> Iterator[tuple[Edge, tuple[Edit, ...]]]:
    """Every sender into q, k and v of each head of a layer and of all; ``all``: the input as it is on the source."""
    heads = range(net.config.n_heads)
    receivers = {f"L{layer}H{head}": (head,) for head in heads} | {f"L{layer}H*": tuple(heads)}
    for sender in senders:
        cache = "source" if sender == "all" else f"from {sender}"
        for receiver, members in receivers.items():
            for name in INPUTS:
                where = "read_out" if name == "q" else "all"
                yield (
                    Edge(sender, receiver, name),
                    tuple(Patch(Site(name, layer, head), where, cache) for head in members),
                )


def _write(head: Head, source: str) -> Patch:
    return Patch(Site("z", head.layer, head.index), "all", source)


def _mlp(layer: int, source: str) -> Patch:
    return Patch(Site("mlp_out", layer), "all", source)
