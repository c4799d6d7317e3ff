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
from retrieval_circuits.sgd_formation.measures.asked import (
    Asked,
    asked,
    by_lot,
    last_of_each,
    one_read_a_row,
    positions,
)
from retrieval_circuits.sgd_formation.measures.known import stands_late
from retrieval_circuits.sgd_formation.measures.steps import AtSteps, last_below, right_at_each

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

NOTHING, VALUES_FROM_KEYS, VALUES_FROM_OTHER_KEYS = "nothing", "values from their keys", "values from the keys before"
"""Cuts: none; in all layers, values from the key just before them, or, as a control, from the key before that."""
FIRST_FROM_VALUE, LATER_FROM_VALUE = "the read from the value, first layer", "the read from the value, later layers"
"""The read from where the value asked for stands, in the first layer or in all later ones."""
KEY_FROM_OTHERS, KEY_FROM_VALUE = "its key from other values", "its key from the value"
KEY_FROM_ONE = "its key from one other value"
OTHER_KEY_FROM_OTHERS, OTHER_KEY_FROM_ONE = "another key from other values", "another key from one other value"
"""In the first layer, the place where its key last stood from other values before it, from the value itself, or from
one of the others alone; as controls, the nearest place of another key before that one; for one value alone, the nearest
such place that stands behind that value, where there is one."""
FROM_AFTER, FROM_BEFORE = "the read from values after, later layers", "the read from values before, later layers"
"""In later layers, the read from other values, those behind the value asked for or those before it.

The looks of its key at other values, and those from the read, were found on one network that does not read (init seed
16), on other rows than are asked here. Controls, and cuts from one value and from the value itself, came after these,
the last two by a hostile reading. Those of another key from one value and of values from other keys came later still,
for claims on all networks.
"""


@dataclass(frozen=True, kw_only=True)
class Cut(AtSteps):
    """How many rows are asked, and at which steps.

    Attributes:
        n_rows: rows of the split, each asked for every read in it.
        split: which.
        below: share of the reads of the reported split answered right; looks are cut at the last checkpoint before it
            is reached, too. None for no such checkpoint.
        n_asked: rows of that split.
    """

    n_rows: int
    split: str
    below: float | None = None
    n_asked: int = 0


def cut_looks(run: "Run", counts: Cut, progress: Callable[[int], None]) -> pd.DataFrame:
    """What a few checkpoints answer with some looks cut, by where the value asked for stands (family; see ``known``).

    Metrics, by cut (variable), each a share of reads; missing where there is none of the kind:

    * ``right_without``: that are answered right. Chance as for accuracy.
    * ``gives_before``: answered with another value of the row, one that last stands before the value asked for does.
    * ``gives_after``: with one that last stands behind it.
    * ``gives_one``: of the reads before whose key another value last stands late, with one such value, drawn by lot.
    * ``gives_one_seen``: the same of those in which another key stands between that value and the place of their key.
    * ``are_after``: at cut "nothing", the share of a row's other values that last stand behind the value asked for.

    Raises:
        ValueError: a network of one layer, which has no later ones.
    """
    task, model = run.recipe.make_task(), run.recipe.model
    if model.n_layers < 2:
        raise ValueError("cuts of later layers need two layers or more; this network has n_layers = 1")
    found = asked(task, counts.split, counts.n_rows)
    steps = tuple(sorted({*counts.of(run), *_below(run, counts, progress)}))
    net, rows = Network(model, run.stack(steps)), Rows(run.run_id, steps, [*map(run.tokens_seen, steps)])
    places, late = _Places.of(task, found), stands_late(task, found)
    cuts = _cuts(net, (found.batch.tokens.shape[1] - 1) // EVENT)
    given = net.answers_under(places.batch, list(cuts.values()), {}).logits.argmax(-1)  # [cut ckpt read]
    labels, every = [{"variable": name} for name in cuts], torch.ones_like(late)
    has_one = places.one.any(1)
    metrics = {
        "right_without": (given == found.reads.answer, every),
        "gives_before": (places.are(given, places.before), every),
        "gives_after": (places.are(given, places.after), every),
        "gives_one": (places.are(given, places.one), has_one),
        "gives_one_seen": (places.are(given, places.one), places.seen),
    }
    for family, of_place in {"late": late, "early": ~late, "shown": found.kinds["answered"].any(-1)}.items():
        common = {"split": counts.split, "family": family}
        for metric, (hits, of_kind) in metrics.items():
            asked_here = of_place & of_kind
            shares = hits[..., asked_here].double().mean(-1)
            rows.add(metric, shares.T, int(asked_here.sum()), labels, **common)
        lot = places.share_after(of_place).expand(len(steps))
        rows.add("are_after", lot, int(of_place.sum()), variable=NOTHING, **common)
    if counts.below is None:
        progress(len(steps))
    return rows.frame()


def _below(run: "Run", counts: Cut, progress: Callable[[int], None]) -> tuple[int, ...]:
    """The step of the last checkpoint before a share of the reads is right, if one is asked for and there is one."""
    if counts.below is None:
        return ()
    number = last_below(right_at_each(run, counts.n_asked, progress), counts.below)
    return () if number is None else (run.steps[number],)


@dataclass(frozen=True, eq=False)
class _Places:
    """A row for each read, with the roles that cuts are made between.

    Attributes:
        batch: the rows.
        before, after: ``[read pos]``, where each other value of the row last stands, before the last place of the value
            asked for or behind it.
        one: ``[read pos]``, of those before one that stands late, by lot; none of a read without any.
        seen: ``[read]``, whether another key stands between that one and the place of the read's key.
    """

    batch: Batch
    before: Bool[Tensor, "read pos"]
    after: Bool[Tensor, "read pos"]
    one: Bool[Tensor, "read pos"]
    seen: Bool[Tensor, " read"]

    @classmethod
    def of(cls, task: BalancedStream, found: Asked) -> "_Places":
        batch, words = one_read_a_row(found), task.words
        tokens, place, at = batch.tokens, torch.arange(batch.tokens.shape[1]), found.reads.at[:, None]
        shown = found.shown
        last = torch.where(shown, place, -1).amax(1, keepdim=True)
        others = (place < at) & (tokens >= words.first_value) & ~shown
        is_key = (tokens >= words.first_key) & (tokens < words.first_value)
        other_keys = is_key & (place < last - 1) & (tokens != found.reads.key[:, None])
        ends = last_of_each(tokens, others)
        one = _by_lot(ends & (place < last) & ((place - 1) // EVENT >= task.law.read_events.start))
        behind_one = other_keys & one.any(1, keepdim=True) & (place > torch.where(one, place, -1).amax(1, keepdim=True))
        some = {
            "shown": shown, "before": others & (place < last), "after": others & (place > last),
            "another key": _last(other_keys), "another key that sees it": _last(behind_one),
            "one": others & (place < last) & (tokens == torch.where(one, tokens, -1).amax(1, keepdim=True)),
        }  # fmt: skip
        ahead = place == at + 1  # instead of nothing: a place that none of them sees
        roles = {name: positions(torch.where(of.any(1, keepdim=True), of, ahead)) for name, of in some.items()}
        roles["its key"] = last[:, 0] - 1
        for event in range((len(place) - 1) // EVENT):
            key = torch.full_like(found.reads.at, EVENT * event + 2)
            roles |= {f"key {event}": key, f"value {event}": key + 1}
        batch = dataclasses.replace(batch, roles={**batch.roles, **roles})
        return cls(batch, ends & (place < last), ends & (place > last), one, behind_one.any(1))

    def share_after(self, which: Bool[Tensor, " read"]) -> Float[Tensor, ""]:
        """Of a row's other values the share that last stand behind the one asked for: a mean over some reads."""
        after, before = (of[which].sum(-1) for of in (self.after, self.before))
        return (after / (after + before)).double().mean()

    def are(self, given: Int[Tensor, "*lead read"], which: Bool[Tensor, "read pos"]) -> Bool[Tensor, "*lead read"]:
        """Whether an answer is a value that stands at one of these places."""
        return ((self.batch.tokens == given[..., None]) & which).any(-1)


def _last(which: Bool[Tensor, "read pos"]) -> Bool[Tensor, "read pos"]:
    """The last place of each row of a mask; none where there is none."""
    place = torch.arange(which.shape[1])
    return which & (place == torch.where(which, place, -1).amax(1, keepdim=True))


def _by_lot(which: Bool[Tensor, "read pos"]) -> Bool[Tensor, "read pos"]:
    """One place of each row by lot; none where there is none."""
    some = which.any(1, keepdim=True)
    return (torch.arange(which.shape[1]) == by_lot(which | ~some)[:, None]) & some


def _cuts(net: Network, n_events: int) -> dict[str, tuple[Edit, ...]]:
    first, later = ([head for head in net.heads if (head.layer > 0) == is_later] for is_later in (False, True))
    return {
        NOTHING: (),
        VALUES_FROM_KEYS: tuple(CutEdge(head, f"value {n}", f"key {n}") for head in net.heads for n in range(n_events)),
        VALUES_FROM_OTHER_KEYS: tuple(
            CutEdge(head, f"value {n + 1}", f"key {n}") for head in net.heads for n in range(n_events - 1)
        ),
        FIRST_FROM_VALUE: tuple(CutEdge(head, "read_out", "shown") for head in first),
        LATER_FROM_VALUE: tuple(CutEdge(head, "read_out", "shown") for head in later),
        KEY_FROM_OTHERS: tuple(CutEdge(head, "its key", "before") for head in first),
        KEY_FROM_VALUE: tuple(CutEdge(head, "its key", "shown") for head in first),
        OTHER_KEY_FROM_OTHERS: tuple(CutEdge(head, "another key", "before") for head in first),
        KEY_FROM_ONE: tuple(CutEdge(head, "its key", "one") for head in first),
        OTHER_KEY_FROM_ONE: tuple(CutEdge(head, "another key that sees it", "one") for head in first),
        FROM_AFTER: tuple(CutEdge(head, "read_out", "after") for head in later),
        FROM_BEFORE: tuple(CutEdge(head, "read_out", "before") for head in later),
    }
