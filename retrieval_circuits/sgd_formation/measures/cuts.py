"""Which looks answers need: some are cut in whole layers at a time, and the same reads are asked again."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models import CutEdge
from circuitcore.models.edits import Edit
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.base import Batch
from circuitcore.tasks.streams import EVENT
from retrieval_circuits.sgd_formation.measures.asked import Asked, asked, one_read_a_row, positions
from retrieval_circuits.sgd_formation.measures.known import stands_late
from retrieval_circuits.sgd_formation.measures.steps import AtSteps

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

NOTHING, JOINS, FINDS_FIRST, FINDS_LATER, BEFORE, BEFORE_OTHER, AFTER, EARLIER = (
    *("none", "joins", "finds in the first layer", "finds in later layers", "what stood before its key"),
    *("what stood before another key", "what came after", "what came earlier"),
)
"""What is cut. Nothing. Values from the key just before them. The read from where the value asked for stands, in the
first layer or in all later ones. The last place of its key from values, in the first layer: that is how it knows what
stood before it; as a control the place of another key just before that one. The read from values that came after the
value asked for, in later layers; as a control from those that came earlier.

What stood before and what came after were found on one network that does not read (init seed 16), on other rows than
are asked here; the controls were chosen when the cuts had been seen.
"""


@dataclass(frozen=True, kw_only=True)
class Cut(AtSteps):
    """How many rows are asked, and at which steps.

    Attributes:
        n_rows: rows of the split, each asked for every read in it.
        split: which.
    """

    n_rows: int
    split: str


def cut_looks(run: "Run", counts: Cut, progress: Callable[[int], None]) -> pd.DataFrame:
    """What a few checkpoints read with some looks cut, by where the value asked for stands (family; see ``known``).

    Metrics, by cut (variable), each a share of reads:

    * ``right_without``: that are answered right. Chance as for accuracy.
    * ``gives_before``: answered with another value of the row, one that last stands before the value asked for does.
    * ``gives_after``: with one that stands behind it.
    * ``are_after``: at cut "none", what ``gives_after`` would be if answers were other values of the row by lot.
    """
    task, steps = run.recipe.make_task(), counts.of(run)
    net, rows = Network(run.recipe.model, run.stack(steps)), Rows(run.run_id, steps, [*map(run.tokens_seen, steps)])
    found = asked(task, counts.split, counts.n_rows)
    places, late = _Places.of(task, found), stands_late(task, found)
    cuts = _cuts(net, (found.batch.tokens.shape[1] - 1) // EVENT)
    given = net.answers_under(places.batch, list(cuts.values()), {}).logits.argmax(-1)  # [cut ckpt read]
    answers = {"right_without": given == found.reads.answer, **places.gives(given)}
    for place, of_place in {"late": late, "early": ~late}.items():
        common = {"split": counts.split, "family": place}
        for metric, hits in answers.items():
            labels = [{"variable": name} for name in cuts]
            rows.add(metric, hits[..., of_place].double().mean(-1).T, int(of_place.sum()), labels, **common)
        lot = places.after_by_lot()[of_place].mean()
        rows.add("are_after", lot.expand(len(steps)), int(of_place.sum()), [{"variable": NOTHING}], **common)
    progress(len(steps))
    return rows.frame()


@dataclass(frozen=True, eq=False)
class _Places:
    """A row for each read, with the roles that cuts are made between.

    Attributes:
        batch: the rows.
        before, after: ``[read pos]``, other values of the row: those that stand before the last place of the value
            asked for, and those behind it. One that stands on both sides is of the latter.
    """

    batch: Batch
    before: Bool[Tensor, "read pos"]
    after: Bool[Tensor, "read pos"]

    @classmethod
    def of(cls, task: BalancedStream, found: Asked) -> "_Places":
        batch = one_read_a_row(found)
        place = torch.arange(batch.tokens.shape[1])
        shown = found.kinds["support"] | found.kinds["answered"]
        last = torch.where(shown, place, -1).amax(1, keepdim=True)
        values = (place < found.reads.at[:, None]) & (batch.tokens >= task.words.first_value)
        after = values & (place > last)
        before = values & (place < last) & ~shown
        is_key = (batch.tokens >= task.words.first_key) & (batch.tokens < task.words.first_value)
        other = is_key & (place < last - 1) & (batch.tokens != found.reads.key[:, None])
        ahead = place == found.reads.at[:, None] + 1  # instead of nothing: a place that the read does not see
        some = {"shown": shown, "values": values, "after": after, "before": before, "another": other & _is_last(other)}
        roles = {name: positions(torch.where(of.any(1, keepdim=True), of, ahead)) for name, of in some.items()}
        roles["its last place"] = last[:, 0] - 1
        for event in range((len(place) - 1) // EVENT):
            at = torch.full_like(found.reads.at, EVENT * event + 2)
            roles |= {f"key {event}": at, f"value {event}": at + 1}
        return cls(dataclasses.replace(batch, roles={**batch.roles, **roles}), before, after)

    def gives(self, given: Int[Tensor, "*lead read"]) -> dict[str, Bool[Tensor, "*lead read"]]:
        """Whether an answer is one of either kind."""
        same = self.batch.tokens == given[..., None]
        after = (same & self.after).any(-1)
        return {"gives_before": (same & self.before).any(-1) & ~after, "gives_after": after}

    def after_by_lot(self) -> Float[Tensor, " read"]:
        """The share of other values, each place for itself, that stand behind the value asked for."""
        after, before = self.after.double().sum(-1), self.before.double().sum(-1)
        return after / (after + before)


def _is_last(which: Bool[Tensor, "read pos"]) -> Bool[Tensor, "read pos"]:
    """The last place of each row at which a mask holds; none of a row without any."""
    return which & (which.flip(1).cumsum(1).flip(1) == 1)


def _cuts(net: Network, n_events: int) -> dict[str, tuple[Edit, ...]]:
    first, later = ([head for head in net.heads if (head.layer > 0) == is_later] for is_later in (False, True))
    return {
        NOTHING: (),
        JOINS: tuple(CutEdge(head, f"value {n}", f"key {n}") for head in net.heads for n in range(n_events)),
        FINDS_FIRST: tuple(CutEdge(head, "read_out", "shown") for head in first),
        FINDS_LATER: tuple(CutEdge(head, "read_out", "shown") for head in later),
        BEFORE: tuple(CutEdge(head, "its last place", "values") for head in first),
        BEFORE_OTHER: tuple(CutEdge(head, "another", "values") for head in first),
        AFTER: tuple(CutEdge(head, "read_out", "after") for head in later),
        EARLIER: tuple(CutEdge(head, "read_out", "before") for head in later),
    }
