"""What tests of each network say of its links: does the error rise where a head cannot look along one?

The looks are taken from the network itself, whose other attention stays its own; ``measures.circuit`` instead puts maps
made by role in the place of all heads'. Tests are made from weights, at whatever steps are here, not read off tables.
"""

from functools import lru_cache
from typing import NamedTuple

import torch

from circuitcore.metrics.network import Network
from circuitcore.models import CutEdge, Head, Output, compile_edits, forward
from circuitcore.tasks.base import Batch
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.training.store.run import Run
from livingpaper.claims.units import at_least
from livingpaper.explorer.hops_circuit import Hop, HopTest
from retrieval_circuits.stacked_heads.measures.circuit import ACCEPTED
from retrieval_circuits.stacked_heads.measures.scores import link_attention, partial_losses, patterns_of
from retrieval_circuits.stacked_heads.readings import ATTENDED

N_ROWS = 64
"""Test rows on which a link is tried; each has a query for every chain."""
COSTS = at_least(ACCEPTED, "the error that the source accepts in all")
"""Of the rise of the squared error without the link, less that without looks at another chain."""


def hops(n_steps: int) -> tuple[Hop, ...]:
    """The kinds of links that chains of so many look-ups can be followed by."""
    steps = range(n_steps)
    ahead = tuple((f"value_{k}", f"value_{later}") for k in steps for later in range(k + 1, n_steps))
    every = (
        Hop(name="joins", does="joins a pair", links=tuple((f"value_{k}", f"key_{k}") for k in steps)),
        Hop(name="fetches", does="fetches from where the first answer stands", links=(("queries", "value_0"),)),
        Hop(
            name="hops",
            does="hops along the chain to a later answer",
            links=tuple(("queries", f"value_{k}") for k in steps[1:]),
        ),
        Hop(name="doubles", does="looks ahead from where an answer stands, as doubling does", links=ahead),
    )
    return tuple(hop for hop in every if hop.links)


class _Looked(NamedTuple):
    """Heads of one layer that look along one link."""

    link: tuple[str, str]
    heads: tuple[Head, ...]


@lru_cache(maxsize=64)
def link_tests(run: Run, step: int) -> tuple[HopTest, ...]:
    """Every link along which heads of a layer look on average by more than half, with them kept from it.

    The heads of a layer that look along one link are tested together: each alone may do where the others are left.
    """
    net, task = Network(run.recipe.model, run.stack((step,))), run.recipe.make_task()
    batch = task.split("test").rows(slice(0, N_ROWS))
    sites = [f"{name}.{layer}" for name in ("pattern", "scores") for layer in range(net.config.n_layers)]
    clean = net.keep(batch, sites)
    pattern, found = patterns_of(net, batch), []
    for link in (link for hop in hops(task.n_steps) for link in hop.links):
        own, _ = link_attention(pattern, batch, link)
        looking = [head for head, value in zip(net.heads, own[0].tolist(), strict=True) if value >= ATTENDED]
        found += [_Looked(link, heads) for layer in range(net.config.n_layers) if (heads := _of_layer(looking, layer))]
    return tuple(_tested(task, net, batch, clean, looked) for looked in found)


def _of_layer(heads: list[Head], layer: int) -> tuple[Head, ...]:
    return tuple(head for head in heads if head.layer == layer)


def _tested(task: ChainRetrieval, net: Network, batch: Batch, clean: Output, looked: _Looked) -> HopTest:
    """The rise of the error without the link's own looks; and without those at another chain, of three the largest."""
    link, heads = looked
    slots = {role: dict(enumerate(batch.roles[role].unbind(1))) for role in link}
    roles = {f"{role}@{chain}": at for role, of in slots.items() for chain, at in of.items()}
    chains, (query, key) = range(task.n_chains), link
    cut = [
        tuple(
            CutEdge(head, f"{query}@{chain}", f"{key}@{(chain + shift) % task.n_chains}")
            for head in heads
            for chain in chains
        )
        for shift in chains
    ]
    plan = compile_edits(cut, roles, {}, clean.cache)
    with torch.inference_mode():
        outputs = forward(net.config, net.weights, batch.tokens, plan).logits
    own = partial_losses(task, clean.logits, batch).mean().item()
    without, *others = partial_losses(task, outputs, batch).mean(-1).flatten().tolist()
    rise, other = without - own, max(others) - own
    names = tuple(map(str, heads))
    return HopTest(link=link, heads=names, rise=rise, other=other, supported=COSTS.reached(rise - other))
