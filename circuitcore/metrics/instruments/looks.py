"""One instrument for what heads look at, for every task that declares it: mass, routing, copying, and their chance."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.operators import copies
from circuitcore.metrics.table import Rows, head_labels
from circuitcore.tasks.base import Batch, Task
from circuitcore.tasks.looks import Look
from circuitcore.tasks.token_task import TokenTask
from circuitcore.training.fields import is_count, shown

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Looked:
    """Where looks are taken.

    Attributes:
        split: whose rows.
        n_rows: the first so many of them, at most.

    Raises:
        ValueError: fewer than one.
    """

    split: str
    n_rows: int

    def __post_init__(self):
        if not is_count(self.n_rows):
            raise ValueError(f"n_rows = {shown(self.n_rows)}; allowed: an integer >= 1")


def looks(how: Looked, when: str = "each") -> Instrument:
    """The instrument of that name; any study may ask for it, whose task declares looks."""
    return Instrument(name="looks", version=VERSION, measures=look_scores, when=when, settings=how)


def look_scores(run: "Run", how: Looked, progress: Callable[[int], None]) -> pd.DataFrame:
    """Every look of the task (variable: its name), by every head, at the checkpoints that are here.

    Metrics, each a mean over the look's entries, with its level of chance beside it, which is of no head:

    * ``mass``: attention on the right alternative. ``mass_chance``: that of a head that looks evenly.
    * ``routing``: whether the right alternative has most attention of all; ties go to the first. ``routing_chance``:
      one over the alternatives.
    * ``copying``: whether the head's OV circuit, given what stands at the right alternative, raises the right answer
      most among all answers; of tasks of words, before-norm decoders, and looks that name what is copied.
      ``copying_chance``: one over the answers.

    Raises:
        ValueError: the task declares no look.
    """
    task = run.recipe.make_task()
    batch = task.split(how.split).rows(slice(0, how.n_rows))
    tables = []
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        add_looks(task, net, batch, rows, split=how.split)
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


def add_looks(task: Task, net: Network, batch: Batch, rows: Rows, **common: str) -> None:
    """Rows of ``look_scores`` on any rows of the task; ValueError where it declares no look."""
    declared = task.looks(batch)
    if not declared:
        raise ValueError(f"task {task.name!r} declares no look; looks are what Task.looks gives")
    keys = net.pattern_keys
    cache = net.record(batch, keys)
    pattern, labels = torch.cat([cache[key] for key in keys], -3), head_labels(net.heads)
    for name, look in declared.items():
        slots = slot_attention(pattern, look)
        found = {"mass": right_mass(slots, look), "routing": routes(slots, look).double()}
        chance = {"mass": look.chance_of_mass, "routing": look.chance_of_routing}
        if look.copied is not None and isinstance(task, TokenTask) and net.config.norm_position == "pre":
            found["copying"] = _copies(task, net, batch, look)
            chance["copying"] = torch.full((len(look),), 1 / len(task.answers))
        for metric, values in found.items():
            rows.add(metric, values.mean(-2), len(look), labels, variable=name, **common)
            level = chance[metric].double().mean().expand(values.shape[0])
            rows.add(f"{metric}_chance", level, len(look), variable=name, **common)


def slot_attention(
    pattern: Float[Tensor, "ckpt batch head query key"], look: Look
) -> Float[Tensor, "ckpt look head slot"]:
    """Attention from who looks to each alternative, its positions summed."""
    seen = pattern.movedim(-3, -2)[:, look.row, look.at]  # [ckpt look head key]
    return torch.einsum("clhk,lsk->clhs", seen, look.seen.to(seen.dtype))


def right_mass(slots: Float[Tensor, "ckpt look head slot"], look: Look) -> Float[Tensor, "ckpt look head"]:
    """Attention on the right alternative, in [0, 1]."""
    at = look.right[:, None, None].expand(*slots.shape[:-1], 1)
    return slots.gather(-1, at).squeeze(-1)


def routes(slots: Float[Tensor, "ckpt look head slot"], look: Look) -> Tensor:
    """Whether the right alternative has most attention of those that can be chosen, ``[ckpt look head]``."""
    return slots.masked_fill(~look.open[:, None], -1.0).argmax(-1) == look.right[:, None]


def _copies(task: TokenTask, net: Network, batch: Batch, look: Look) -> Float[Tensor, "ckpt look head"]:
    answers, layers = torch.tensor(task.answers), range(net.config.n_layers)
    cache, found = net.record(batch, [f"resid_pre.{layer}" for layer in layers]), []
    for layer in layers:
        given = net.normed(cache[f"resid_pre.{layer}"][:, look.row, look.copied], f"blocks.{layer}.ln1")
        found.append(copies(net, layer, given, answers) == look.answer[:, None])
    return torch.cat(found, -1).double()
