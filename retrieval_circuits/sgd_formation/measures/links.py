"""What tests of one network say of each move of its look-up: looks cut, and parts exchanged with another question's.

Measured at a few checkpoints alone, those that the chapter's explorer shows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import Tensor

from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models import CutEdge, Head, Patch, Site
from circuitcore.models.edits import Edit
from circuitcore.tasks.base import Batch
from circuitcore.tasks.streams import EVENT
from retrieval_circuits.sgd_formation.measures.asked import asked, swapped

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

JOINS, FINDS, COPIES = "joins", "finds", "copies"
"""The moves: values are joined to their keys, the value whose key is asked for is found, and copied."""
EXCHANGED = {FINDS: "q", COPIES: "z"}
"""Move -> the part of a head that is exchanged at the read."""
JOINED_BY, FOUND_BY = 0, 1
"""Layers of the heads that join, and of those that find and copy."""
NOTHING = "none"


@dataclass(frozen=True, kw_only=True)
class Linked:
    """How many rows moves are tested on, and at which steps; a run's last step is always among them."""

    n_rows: int
    steps: tuple[int, ...]


def link_tests(run: "Run", counts: Linked, progress: Callable[[int], None]) -> pd.DataFrame:
    """How many answers to the last read of a row each move carries, by head and by all heads of its layer ("L0H*").

    Metrics, by move (variable) and heads (site); site "none" is the network as it is:

    * ``lost``, of "joins": share of rows answered right that are not when no value may look at the key just before it.
      0 where the move does nothing; at most the accuracy.
    * ``moved``, of "finds" and "copies": share of rows whose answer is the value of another key when queries ("finds")
      or what heads bring ("copies") are taken, at the read alone, from the same stream asked for that key. Who ignores
      the exchange: the share at site "none", near 0.
    * ``right``, at site "none": share of rows answered right.
    """
    task, steps = run.recipe.make_task(), tuple(step for step in run.all_steps if step in (*counts.steps, run.final_step))
    plain, other, now, before = _both_questions(task, counts.n_rows)
    net = Network(run.recipe.model, run.stack(steps))
    rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
    keys = [f"{part}.{FOUND_BY}" for part in EXCHANGED.values()]
    sources = {"other": net.run(other, keys).cache}
    tests = list(_interventions(run.recipe.model.n_heads, plain.tokens.shape[1]))
    given = net.answers_under(plain, [(), *(edits for _, _, edits in tests)], sources).logits.argmax(-1)
    right, moved = given == before, given == now  # [edit ckpt batch]
    rows.add("right", right[0].double().mean(-1), len(plain), variable=JOINS, site=NOTHING)
    rows.add("moved", moved[0].double().mean(-1), len(plain), variable=FINDS, site=NOTHING)
    for number, (move, site, _) in enumerate(tests, 1):
        is_cut = move == JOINS
        values = right[0] & ~right[number] if is_cut else moved[number]
        rows.add("lost" if is_cut else "moved", values.double().mean(-1), len(plain), variable=move, site=site)
    progress(len(steps))
    return rows.frame()


def _both_questions(task, n_rows: int) -> tuple[Batch, Batch, Tensor, Tensor]:
    """Rows read out at their last read, the same asked for another key, and the answers to that one and to the first."""
    found, base = swapped(task, task.reported, n_rows), asked(task, task.reported, n_rows)
    n_pos = found.batch.tokens.shape[1]
    roles = {"read_out": found.at}
    for event in range((n_pos - 1) // EVENT):
        at = EVENT * event + 2
        roles |= {f"key {event}": torch.full_like(found.at, at), f"value {event}": torch.full_like(found.at, at + 1)}
    plain = base.batch.rows(found.batch.base)
    both = (Batch(**{**_fields(rows), "roles": roles}) for rows in (plain, found.batch))
    return (*both, found.now, found.before)


def _fields(batch: Batch) -> dict[str, object]:
    return {name: getattr(batch, name) for name in ("tokens", "targets", "loss_mask")}


def _interventions(n_heads: int, n_pos: int) -> Iterator[tuple[str, str, tuple[Edit, ...]]]:
    """Move, whose it is, and the edits: of every head alone and of all of a layer."""
    for move in (JOINS, FINDS, COPIES):
        layer = JOINED_BY if move == JOINS else FOUND_BY
        alone = {f"L{layer}H{head}": _edits(move, Head(layer, head), n_pos) for head in range(n_heads)}
        together = tuple(edit for edits in alone.values() for edit in edits)
        for site, edits in {**alone, f"L{layer}H*": together}.items():
            yield move, site, edits


def _edits(move: str, head: Head, n_pos: int) -> tuple[Edit, ...]:
    if move == JOINS:
        events = range((n_pos - 1) // EVENT)
        return tuple(CutEdge(head, f"value {event}", f"key {event}") for event in events)
    return (Patch(Site(EXCHANGED[move], head.layer, head.index), "read_out", "other"),)
