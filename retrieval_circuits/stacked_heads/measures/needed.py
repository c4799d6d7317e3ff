"""Which looks a network needs while attention is otherwise its own: one is forbidden at a time.

The source (Musat, ICLR 2025, section 8) takes paths away while all attention is set. A head then need not find where to
look, so that a look is not missed which only says where another head is to look. It saw this of the first useful layer
of each network, and kept that (appendix E); an automatic reading drops what is not missed.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd
import torch

from circuitcore.metrics.table import Rows
from circuitcore.models import CutEdge
from retrieval_circuits.stacked_heads.measures.circuit import Reading, at_the_end, attention_along, errors_under
from retrieval_circuits.stacked_heads.measures.scores import links_of

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
    along = attention_along(net, batch, links_of(task))
    looked = [path for path, value in along.items() if value >= how.candidate]
    unlooked = [path for path, value in along.items() if value <= UNLOOKED]
    scores = tuple(f"scores.{layer}" for layer in range(net.config.n_layers))
    sets = [(), *((CutEdge(*path),) for path in (*looked, *unlooked))]
    own, *others = errors_under(task, net, batch, sets, scores)
    rows = Rows(run.run_id, run.steps[-1:], [run.tokens_seen(run.steps[-1])])
    symbols, n_asked = [{"variable": f"x_{place}"} for place in task.asked], len(batch) * task.n_chains
    rows.add("error_with_all", own[None], n_asked, symbols, split="test")
    for path, errors in zip(looked, others, strict=False):
        rows.add("error_without", errors[None], n_asked, [path.label | symbol for symbol in symbols], split="test")
    if unlooked:
        rise = torch.stack(others[len(looked) :]).mean() - own.mean()
        rows.add("unlooked_rise", rise[None], len(unlooked), split="test")
    progress(1)
    return rows.frame()
