"""What tests of each network that is followed say of its look-up, at every step that is shown.

Moves, tests and bound are those of SGD formation's networks (``sgd_formation.circuit``), on rows of one query. Tests
are made from weights, at whatever steps are here: this study measures where heads look, not what that does.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import torch
from jaxtyping import Int
from torch import Tensor

from circuitcore.metrics.network import Network
from circuitcore.tasks.base import Batch
from circuitcore.tasks.in_context_recall import InContextRecall
from circuitcore.training.store.run import Run
from livingpaper.explorer.moves import Tested
from livingpaper.explorer.shown_run import shown_steps
from retrieval_circuits.sgd_formation.circuit import METRICS, tested
from retrieval_circuits.sgd_formation.measures.asked import by_lot
from retrieval_circuits.sgd_formation.measures.links import COPIES, FINDS, NOTHING, Trial, tried

N_ROWS = 64
"""Rows on which moves are tested, as many as of SGD formation's networks."""


@lru_cache(maxsize=64)
def link_tests(run: Run) -> dict[int, Mapping[str, Tested]]:
    """Step -> move -> whose it is, and the share of rows on which its test moves the answer."""
    steps, trial = shown_steps(run), trial_of(run.recipe.make_task(), N_ROWS)
    net, shares = Network(run.recipe.model, run.stack(steps)), {}
    for _, move, site, of_steps in tried(net, trial):
        if site != NOTHING:
            shares.setdefault(move, {})[site] = of_steps.tolist()
    return {
        step: {
            move: tested(move, {site: values[number] for site, values in shares[move].items()}) for move in METRICS
        }
        for number, step in enumerate(steps)
    }  # fmt: skip


def trial_of(task: InContextRecall, n_rows: int) -> Trial:
    """Rows with one query; the same asked for the next slot, and with another value where the answer stands."""
    asking = replace(task, n_queries=1)
    rows = asking.draw("test", n_rows, 0)
    context, slot = rows.tokens[:, : asking.context], rows.variables["slot"]
    shown = rows.roles["values"].gather(1, slot[:, None])
    roles = {**rows.roles, "shown": shown}
    for name, role in (("key", "keys"), ("value", "values")):
        roles |= {f"{name} {pair}": at for pair, at in enumerate(rows.roles[role].unbind(1))}
    next_slot = asking.rows(context, (slot + 1)[:, None] % asking.n_pairs)
    value = _drawn(rows, asking)
    replaced = rows.tokens.scatter(1, shown, value[:, None])
    others = {FINDS: next_slot.tokens, COPIES: replaced}
    return Trial(
        plain=replace(rows, roles=roles),
        others={move: replace(rows, tokens=tokens, roles=roles) for move, tokens in others.items()},
        wanted={FINDS: next_slot.answers, COPIES: value},
        before=rows.answers,
    )


def _drawn(rows: Batch, task: InContextRecall) -> Int[Tensor, " row"]:
    """For each row one of the values that do not stand in it, drawn by lot: no word that a network prefers will do."""
    values = torch.tensor(task.answers)
    absent = ~(rows.tokens[:, :, None] == values).any(1)
    return values[by_lot(absent)]
