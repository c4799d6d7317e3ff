"""Which looks answers need: some are cut in whole layers at a time, and the same reads are asked again."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch

from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.behavior import correct
from circuitcore.metrics.table import Rows
from circuitcore.models import CutEdge
from circuitcore.models.edits import Edit
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.base import Batch
from circuitcore.tasks.streams import EVENT
from retrieval_circuits.sgd_formation.measures.asked import Asked, asked, one_read_a_row, positions
from retrieval_circuits.sgd_formation.measures.known import stands_late

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

NOTHING, JOINS, FINDS_FIRST, FINDS_LATER, SAME_KEY, BEFORE_IT = (
    *("none", "joins", "finds in the first layer", "finds in later layers", "looks at its key"),
    "what stood before",
)
"""What is cut: nothing; values from the key just before them; the read from where the value asked for stands, in the
first layer or in all later ones; the read from earlier places of its key; these places from values, in the first layer,
which is how they know what stood before them."""


@dataclass(frozen=True, kw_only=True)
class Cut:
    """How many rows are asked.

    Attributes:
        n_rows: rows of the reported split, each asked for every read in it.
    """

    n_rows: int


def cut_looks(run: "Run", counts: Cut, progress: Callable[[int], None]) -> pd.DataFrame:
    """What the last checkpoint reads with some looks cut, by where the value asked for stands (family; see ``known``).

    Metric, by cut (variable):

    * ``right_without``: share of reads answered right. Chance as for accuracy.
    """
    task, step = run.recipe.make_task(), run.final_step
    net, rows = Network(run.recipe.model, run.stack((step,))), Rows(run.run_id, (step,), (run.tokens_seen(step),))
    found = asked(task, task.reported, counts.n_rows)
    batch, late = _with_roles(task, found), stands_late(task, found)
    cuts = _cuts(net, (batch.tokens.shape[1] - 1) // EVENT)
    hits = correct(net.answers_under(batch, list(cuts.values()), {}).logits, found.reads.answer)[:, 0].double()
    for place, of_place in {"late": late, "early": ~late}.items():
        labels = [{"variable": name} for name in cuts]
        rows.add("right_without", hits[:, of_place].mean(-1)[None], int(of_place.sum()), labels, family=place)
    progress(1)
    return rows.frame()


def _with_roles(task: BalancedStream, found: Asked) -> Batch:
    """A row for each read, with the roles that cuts are made between."""
    batch, words = one_read_a_row(found), task.words
    before = torch.arange(batch.tokens.shape[1]) < found.reads.at[:, None]
    shown = found.kinds["support"] | found.kinds["answered"]
    roles = {
        "shown": positions(shown),
        "its key": positions(before & (batch.tokens == found.reads.key[:, None])),
        "values": positions(before & (batch.tokens >= words.first_value)),
    }
    for event in range((batch.tokens.shape[1] - 1) // EVENT):
        at = torch.full_like(found.reads.at, EVENT * event + 2)
        roles |= {f"key {event}": at, f"value {event}": at + 1}
    return dataclasses.replace(batch, roles={**batch.roles, **roles})


def _cuts(net: Network, n_events: int) -> dict[str, tuple[Edit, ...]]:
    first, later = ([head for head in net.heads if (head.layer > 0) == is_later] for is_later in (False, True))
    return {
        NOTHING: (),
        JOINS: tuple(CutEdge(head, f"value {n}", f"key {n}") for head in net.heads for n in range(n_events)),
        FINDS_FIRST: tuple(CutEdge(head, "read_out", "shown") for head in first),
        FINDS_LATER: tuple(CutEdge(head, "read_out", "shown") for head in later),
        SAME_KEY: tuple(CutEdge(head, "read_out", "its key") for head in net.heads),
        BEFORE_IT: tuple(CutEdge(head, "its key", "values") for head in first),
    }
