"""Reading a circuit off a network: which paths of attention are enough, when maps made by role replace its own.

Source: Musat (ICLR 2025), section 8 and appendix E, who chose the paths by hand. Here the candidates are all links with
mean attention above one half, and those that can go are taken away one by one.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models import Attend, Head, compile_edits, forward
from circuitcore.models.edits import Edit
from circuitcore.tasks.base import Batch
from circuitcore.tasks.chains import ChainRetrieval
from retrieval_circuits.stacked_heads.measures.scores import (
    link_attention,
    links_of,
    partial_losses,
    patterns_of,
    roles_of,
)

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

AT_ONCE = 16  # sets of edits run in one pass
ACCEPTED = 0.05
"""The error that the source accepts in all."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a circuit is read.

    Attributes:
        n_rows: test rows that paths are found and tried on.
        candidate: least mean attention of a path that is tried.
        costs_at_most: how much the squared error may rise above the network's own while paths are taken away.
    """

    n_rows: int
    candidate: float = 0.5
    costs_at_most: float = ACCEPTED


class Path(NamedTuple):
    """A head that looks from one role to another of the same chain (or to itself, where both are the same)."""

    head: Head
    query: str
    key: str

    @property
    def label(self) -> dict[str, object]:
        """The columns of the table that name it."""
        return {"layer": self.head.layer, "head": self.head.index, "site": f"{self.query}>{self.key}"}


Circuit = tuple[Path, ...]


def read_circuit(run: "Run", how: Reading, progress: Callable[[int], None]) -> pd.DataFrame:
    """The paths that are enough, and what the network says with nothing else, at the last checkpoint.

    Metrics, on the split "test"; errors are squared errors over all symbols that are asked for:

    * ``circuit_loss``, by ``edit``: "none" (the network itself), "uniform" (every head looks evenly at everything
      before), "candidates" (heads look along the candidates, and evenly from all other positions), "paths" (the same
      with the paths that are left).
    * ``candidate_path`` and ``path``, one row each: mean attention along it in the network.
    * ``loss_without_path``: the error when one of the paths that are left is taken away, too.
    """
    step = run.steps[-1]
    task, net, batch = at_the_end(run, how)
    tried, left, (own, uniform, whole, left_loss) = circuit_of(task, net, batch, how)
    without = losses(task, net, batch, [_less(left, path) for path in left])
    rows, n_asked = Rows(run.run_id, (step,), [run.tokens_seen(step)]), len(batch) * task.n_chains
    for edit, loss in {"none": own, "uniform": uniform, "candidates": whole, "paths": left_loss}.items():
        rows.add("circuit_loss", torch.tensor([loss]), n_asked, split="test", edit=edit)
    for metric, values in {
        "candidate_path": tried,
        "path": {path: tried[path] for path in left},
        "loss_without_path": dict(zip(left, without, strict=True)),
    }.items():
        if values:
            found = torch.tensor([list(values.values())])
            rows.add(metric, found, n_asked, [path.label for path in values], split="test")
    progress(1)
    return rows.frame()


def at_the_end(run: "Run", how: Reading) -> tuple[ChainRetrieval, Network, Batch]:
    """The task, the network at the last checkpoint, and the test rows that circuits are read on."""
    net, task = Network(run.recipe.model, run.stack(run.steps[-1:])), run.recipe.make_task()
    return task, net, task.split("test").rows(slice(0, how.n_rows))


def circuit_of(
    task: ChainRetrieval, net: Network, batch: Batch, how: Reading
) -> tuple[dict[Path, float], Circuit, tuple[float, float, float, float]]:
    """The candidates with their attention, the paths that are left, and four squared errors.

    They are the network's own, and those with every head looking evenly, along all candidates, along the paths left.
    """
    net.keep(batch, net.pattern_keys)  # every set of circuits asks for it
    tried = candidates(task, net, batch, how.candidate)
    (own,) = losses(task, net, batch, [None])
    uniform, whole = losses(task, net, batch, [(), tuple(tried)])
    left, left_loss = pruned(task, net, batch, tuple(tried), max(own, whole) + how.costs_at_most)
    return tried, left, (own, uniform, whole, left_loss)


def candidates(task: ChainRetrieval, net: Network, batch: Batch, least: float) -> dict[Path, float]:
    """Every path with at least so much mean attention, and how much it has; those of a position to itself as well."""
    links = (*links_of(task), *((role, role) for role in roles_of(task)))
    return {path: value for path, value in attention_along(net, batch, links).items() if value >= least}


def attention_along(net: Network, batch: Batch, links: Iterable[tuple[str, str]]) -> dict[Path, float]:
    """Mean attention of every head along each link, within a chain."""
    pattern, found = patterns_of(net, batch), {}
    for query, key in links:
        values = link_attention(pattern, batch, (query, key))[0].reshape(-1).tolist()
        found |= {Path(head, query, key): value for head, value in zip(net.heads, values, strict=True)}
    return found


def losses(task: ChainRetrieval, net: Network, batch: Batch, circuits: Sequence[Circuit | None]) -> list[float]:
    """The squared error with every head's attention set by each circuit; None leaves the network as it is."""
    errors = errors_under(task, net, batch, [edits_of(net, circuit) for circuit in circuits], net.pattern_keys)
    return errors.mean(-1).tolist()


def errors_under(
    task: ChainRetrieval,
    net: Network,
    batch: Batch,
    sets: Sequence[Sequence[Edit]],
    given: Collection[str],
) -> Float[Tensor, "set symbol"]:
    """Squared error of each symbol under each set of edits. ``given``: the clean values that these edits start from."""
    like, found = net.run(batch, given).cache, [torch.empty(0, len(task.asked))]
    for start in range(0, len(sets), AT_ONCE):
        plan = compile_edits(sets[start : start + AT_ONCE], batch.roles, {}, like)
        with torch.inference_mode():
            outputs = forward(net.config, net.weights, batch.tokens, plan).logits
        found.append(partial_losses(task, outputs, batch)[:, 0])
    return torch.cat(found)


def edits_of(net: Network, circuit: Circuit | None) -> tuple[Attend, ...]:
    """Every head looks evenly at everything before; then, where the circuit has a path, along it."""
    if circuit is None:
        return ()
    return (*(Attend(head, "all", "all") for head in net.heads), *(Attend(*path) for path in circuit))


def pruned(task: ChainRetrieval, net: Network, batch: Batch, circuit: Circuit, at_most: float) -> tuple[Circuit, float]:
    """Paths taken away one by one, always the one that is missed least, while the error stays at most so large."""
    (loss,) = losses(task, net, batch, [circuit])
    while circuit:
        smaller = [_less(circuit, path) for path in circuit]
        tried = losses(task, net, batch, smaller)
        best = min(range(len(tried)), key=tried.__getitem__)
        if tried[best] > at_most:
            break
        circuit, loss = smaller[best], tried[best]
    return circuit, loss


def _less(circuit: Circuit, path: Path) -> Circuit:
    return tuple(other for other in circuit if other != path)
