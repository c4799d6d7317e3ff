"""What tests of one network say of each move of its look-up: looks cut, and parts exchanged with another stream's.

Measured at a few checkpoints alone, those that the chapter's explorer shows.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.ground.hashed import later
from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models import CutEdge, Head, Patch, Site
from circuitcore.models.edits import Edit
from circuitcore.tasks.base import Batch
from circuitcore.tasks.streams import EVENT, Stream
from retrieval_circuits.sgd_formation.measures.asked import absent_values, asked, drawn_value, positions, swapped
from retrieval_circuits.sgd_formation.measures.steps import AtSteps

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

JOINS, FINDS, COPIES = "joins", "finds", "copies"
"""The moves: values are joined to their keys, the value whose key is asked for is found, and copied."""
EXCHANGED = {FINDS: ("q", "read_out"), COPIES: ("v", "shown")}
"""Move -> the part of a head that is exchanged, and where: at the read, or where the value asked for is shown.

What a head brings to the read is no test of copying: with the same words before it, it is settled by the query.
"""
JOINED_BY, FOUND_BY = 0, 1
"""Layers of the heads that join, and of those that find and copy."""
NOTHING = "none"


@dataclass(frozen=True, kw_only=True)
class Linked(AtSteps):
    """How many rows moves are tested on, at which steps, and how many layers later than ``JOINED_BY``, ``FOUND_BY``."""

    n_rows: int
    layers_later: int = later(0)


class Trial(NamedTuple):
    """Rows on which moves are tested.

    Attributes:
        plain: the rows as they are; roles ``read_out``, ``shown``, and ``key 0``, ``value 0``, ... of every pair.
        others: by move of ``EXCHANGED``, the rows that parts are taken from.
        wanted: by move, the answer that follows the exchange.
        before: the answer to the rows as they are.
    """

    plain: Batch
    others: dict[str, Batch]
    wanted: dict[str, Int[Tensor, " batch"]]
    before: Int[Tensor, " batch"]


def link_tests(run: "Run", counts: Linked, progress: Callable[[int], None]) -> pd.DataFrame:
    """How many answers to the last read of a row each move carries, by head and by all heads of its layer ("L0H*").

    Metrics, by move (variable) and heads (site); site "none" is the network as it is:

    * ``lost``, of "joins": share of rows answered right that are not when no value may look at the key just before it.
      0 where the move does nothing; at most the accuracy.
    * ``moved``, of "finds": share of rows whose answer is another key's value when queries are taken, at the read
      alone, from the same stream asked for that key. Of "copies": share whose answer is another word when values are
      taken, where the value asked for is shown, from a stream that shows that word there. Who ignores the exchange:
      the share at site "none", near 0.
    * ``right``, at site "none": share of rows answered right.
    """
    task, steps = run.recipe.make_task(), counts.of(run)
    trial = _streams(task, counts.n_rows)
    net = Network(run.recipe.model, run.stack(steps))
    rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
    for metric, move, site, shares in tried(net, trial, counts.layers_later):
        rows.add(metric, shares, len(trial.plain), variable=move, site=site)
    progress(len(steps))
    return rows.frame()


def tried(net: Network, trial: Trial, layers_later: int = 0) -> Iterator[tuple[str, str, str, Float[Tensor, " ckpt"]]]:
    """Metric, move, site and the share of rows, 0 to 1, as ``link_tests`` says of them."""
    (plain, others, wanted, before), found_by = trial, FOUND_BY + layers_later
    sources = {move: net.run(of, [f"{EXCHANGED[move][0]}.{found_by}"]).cache for move, of in others.items()}
    layers = {JOINS: JOINED_BY + layers_later} | dict.fromkeys(EXCHANGED, found_by)
    tests = list(_interventions(layers, net.config.n_heads, sum(role.startswith("key ") for role in plain.roles)))
    given = net.answers_under(plain, [(), *(edits for _, _, edits in tests)], sources).logits.argmax(-1)
    right = given == before  # [edit ckpt batch]
    yield "right", JOINS, NOTHING, right[0].double().mean(-1)
    for move, word in wanted.items():
        yield "moved", move, NOTHING, (given[0] == word).double().mean(-1)
    for number, (move, site, _) in enumerate(tests, 1):
        is_cut = move == JOINS
        values = right[0] & ~right[number] if is_cut else given[number] == wanted[move]
        yield "lost" if is_cut else "moved", move, site, values.double().mean(-1)


def _streams(task: Stream, n_rows: int) -> Trial:
    """Rows read out at their last read; the same asked for another key, and with another value."""
    found, base = swapped(task, task.reported, n_rows), asked(task, task.reported, n_rows)
    rows = base.batch.rows(found.batch.base)
    words, place = task.words, torch.arange(rows.tokens.shape[1])
    is_answer = rows.tokens == found.before[:, None]
    value = drawn_value(words, absent_values(words, rows.tokens))
    roles = {"read_out": found.at, "shown": positions(is_answer & (place < found.at[:, None]))}
    for event in range((len(place) - 1) // EVENT):
        at = torch.full_like(found.at, EVENT * event + 2)
        roles |= {f"key {event}": at, f"value {event}": at + 1}
    tokens = {FINDS: found.batch.tokens, COPIES: torch.where(is_answer, value[:, None], rows.tokens)}
    others = {move: replace(rows, tokens=of_move, roles=roles) for move, of_move in tokens.items()}
    return Trial(replace(rows, roles=roles), others, {FINDS: found.now, COPIES: value}, found.before)


def _interventions(
    layers: Mapping[str, int], n_heads: int, n_pairs: int
) -> Iterator[tuple[str, str, tuple[Edit, ...]]]:
    """Move, whose it is, and the edits: of every head alone and of all of a layer."""
    for move, layer in layers.items():
        alone = {f"L{layer}H{head}": _edits(move, Head(layer, head), n_pairs) for head in range(n_heads)}
        together = tuple(edit for edits in alone.values() for edit in edits)
        for site, edits in {**alone, f"L{layer}H*": together}.items():
            yield move, site, edits


def _edits(move: str, head: Head, n_pairs: int) -> tuple[Edit, ...]:
    if move == JOINS:
        return tuple(CutEdge(head, f"value {pair}", f"key {pair}") for pair in range(n_pairs))
    part, where = EXCHANGED[move]
    return (Patch(Site(part, head.layer, head.index), where, move),)
