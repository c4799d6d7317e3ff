"""What carries a rise: states of the network behind it are put into the network before it, stage by stage, and back.

Source: nelson960, ``birth-window-compare``, which patches one way and has no control. The way back, states of other
rows and changes drawn by lot are ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch.nn import functional

from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models import Patch, Site
from circuitcore.models.config import ModelConfig
from circuitcore.models.edits import Cache
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.steps import right_at_each, rise

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

SAME, OTHER_ROWS, BY_LOT = "the same rows", "other rows", "by lot"
"""What is put in: the other network's states on the rows that are run, on others, or a change as large, drawn by lot.

Of that every state of a row goes a way of its own, the same one into either network.
"""
NOTHING = "none"
LOT_SEED = 0


@dataclass(frozen=True, kw_only=True)
class Window:
    """A rise, and the rows on which states are exchanged between its ends.

    Attributes:
        begins: share of reads answered right; the last checkpoint before it is reached is the network before the rise.
        ends: the same; the first checkpoint that has it is the network behind, the last of all where none has.
        n_rows: rows of the reported split on which states are exchanged, all reads in them asked for.
        n_asked: rows of it on which both ends are found.
    """

    begins: float
    ends: float
    n_rows: int
    n_asked: int


def states_exchanged(run: "Run", window: Window, progress: Callable[[int], None]) -> pd.DataFrame:
    """What two networks read, the one before a rise and the one behind, with states of each put into the other.

    Metric ``right``: share of reads answered right; chance as for accuracy. Column step says whose weights follow, site
    where the other one's states are put, at all positions ("L0.resid_mid", behind the heads of layer 0; "none" for the
    network as it is), and edit which states they are (see ``SAME``). Without a rise both ends are one network.
    """
    task, model = run.recipe.make_task(), run.recipe.model
    ends = rise(right_at_each(run, window.n_asked, progress), window.begins, window.ends)
    steps = tuple(run.steps[end] for end in ends)
    net = Network(model, run.stack(steps))
    found = asked(task, task.reported, window.n_rows)
    taken = stages(model)
    own = net.run(found.batch, [stage.key for stage in taken]).cache
    sources = {SAME: _exchanged(own), OTHER_ROWS: _exchanged(_of_other_rows(own)), BY_LOT: _by_lot(own)}
    labels = [{"edit": source, "site": str(stage)} for source in sources for stage in taken]
    edits = [(Patch(stage, "all", source),) for source in sources for stage in taken]
    passes = net.passes(found.batch, [(), *edits], sources, own)
    given = torch.cat([found.at_reads(out.logits).argmax(-1) for out in passes])  # [edit ckpt read]
    rows = Rows(run.run_id, steps, [*map(run.tokens_seen, steps)])
    shares = (given == found.reads.answer).double().mean(-1)
    rows.add("right", shares.T, len(found.reads.answer), [{"site": NOTHING}, *labels])
    return rows.frame()


def stages(model: ModelConfig) -> tuple[Site, ...]:
    """Where the stream is taken: as it begins, and behind the heads and the MLP of every layer."""
    behind = (Site(name, layer) for layer in range(model.n_layers) for name in ("resid_mid", "resid_post"))
    return (Site("resid_pre", 0), *behind)


def _exchanged(states: Cache) -> Cache:
    """What either network has, for the other one."""
    return {key: value.flip(0) for key, value in states.items()}


def _of_other_rows(states: Cache) -> Cache:
    """Of each row what the one before it has."""
    return {key: value.roll(1, 1) for key, value in states.items()}


def _by_lot(states: Cache) -> Cache:
    """Own states, each moved as far as the other network's is away, but on a way drawn by lot."""
    generator = torch.Generator().manual_seed(LOT_SEED)
    moved = {}
    for key, value in states.items():
        drawn = torch.randn(value.shape[1:], generator=generator, dtype=torch.float64).to(value.dtype)
        far = (value[1] - value[0]).norm(dim=-1, keepdim=True)
        moved[key] = value + far * functional.normalize(drawn, dim=-1)
    return moved
