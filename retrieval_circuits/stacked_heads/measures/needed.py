"""Which looks a network needs while attention is otherwise its own: one is forbidden at a time.

The source (Musat, ICLR 2025, section 8) takes paths away while all attention is set. A head then need not find where to
look, so that a look is not missed which only says where another head is to look.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models import CutEdge, compile_edits, forward
from circuitcore.tasks.base import Batch
from circuitcore.tasks.chains import ChainRetrieval
from retrieval_circuits.stacked_heads.measures.circuit import AT_ONCE, Path, Reading, at_the_end
from retrieval_circuits.stacked_heads.measures.scores import link_attention, links_of, partial_losses, patterns_of

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

UNLOOKED = 0.05
"""Mean attention of a link along which a head is said not to look."""


def needed_looks(run: "Run", how: Reading, progress: Callable[[int], None]) -> pd.DataFrame:
    """What each look is worth at the last checkpoint, with attention otherwise as the network has it.

    A look is a head's along a link from one role to another, with at least ``how.candidate`` mean attention; it is
    forbidden in all chains, and to those of other chains, too. Metrics, on the split "test":

    * ``error_without``, by head, ``site`` (the link) and ``variable`` (the symbol): squared error with it forbidden.
    * ``error_with_all``, by symbol: squared error of the network itself.
    * ``unlooked_rise``: how much the error over all symbols rises on average where a link is forbidden along which a
      head hardly looks (``UNLOOKED`` or less); ``n`` counts these.
    """
    task, net, batch = at_the_end(run, how)
    pattern, looked, unlooked = patterns_of(net, batch), [], []
    for query, key in links_of(task):
        values = link_attention(pattern, batch, (query, key))[0].reshape(-1).tolist()
        for head, value in zip(net.heads, values, strict=True):
            if value >= how.candidate:
                looked.append(Path(head, query, key))
            elif value <= UNLOOKED:
                unlooked.append(Path(head, query, key))
    rows = Rows(run.run_id, run.steps[-1:], [run.tokens_seen(run.steps[-1])])
    symbols, n_asked = [{"variable": f"x_{place}"} for place in task.asked], len(batch) * task.n_chains
    (own,) = errors_without(task, net, batch, [None])
    rows.add("error_with_all", own[None], n_asked, symbols, split="test")
    for path, errors in zip(looked, errors_without(task, net, batch, looked), strict=True):
        rows.add("error_without", errors[None], n_asked, [path.label | symbol for symbol in symbols], split="test")
    if unlooked:
        rise = errors_without(task, net, batch, unlooked).mean() - own.mean()
        rows.add("unlooked_rise", rise[None], len(unlooked), split="test")
    progress(1)
    return rows.frame()


def errors_without(
    task: ChainRetrieval, net: Network, batch: Batch, looks: Sequence[Path | None]
) -> Float[Tensor, "look symbol"]:
    """Squared error of each symbol with each look forbidden; None forbids none."""
    like = net.run(batch, tuple(f"scores.{layer}" for layer in range(net.config.n_layers))).cache
    found = [torch.empty(0, len(task.asked))]
    for start in range(0, len(looks), AT_ONCE):
        some = [() if look is None else (CutEdge(*look),) for look in looks[start : start + AT_ONCE]]
        plan = compile_edits(some, batch.roles, {}, like)
        with torch.inference_mode():
            found.append(partial_losses(task, forward(net.config, net.weights, batch.tokens, plan).logits, batch)[:, 0])
    return torch.cat(found)
