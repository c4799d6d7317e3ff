"""At which checkpoints a network is looked at: the settings that several instruments share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.scores.behavior import correct
from retrieval_circuits.sgd_formation.measures.asked import asked

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run


@dataclass(frozen=True, kw_only=True)
class AtSteps:
    """Checkpoints at which a network is looked at, whose weights must be here; its last one is always among them."""

    steps: tuple[int, ...]

    def of(self, run: "Run") -> tuple[int, ...]:
        """Those of a run, increasing; a step at which it took no checkpoint is passed over."""
        return tuple(step for step in run.all_steps if step in (*self.steps, run.final_step))


def right_at_each(run: "Run", n_rows: int, progress: Callable[[int], None]) -> Float[Tensor, " ckpt"]:
    """Share of the reads of the reported split answered right at every checkpoint, in [0, 1], on its first rows."""
    task = run.recipe.make_task()
    found, right = asked(task, task.reported, n_rows), []
    for steps, net in stacks(run):
        right.append(correct(found.at_reads(net.run(found.batch).logits), found.reads.answer).double().mean(-1))
        progress(len(steps))
    return torch.cat(right)


def rise(values: Float[Tensor, " ckpt"], begins: float, ends: float) -> tuple[int, int]:
    """The last checkpoint before a number reaches ``begins``, and the first that has ``ends``.

    The first of all stands for the one before where it has reached that, the last of all for the other where none has.
    """
    before, not_yet = (last_below(values, bound) for bound in (begins, ends))
    return before or 0, 0 if not_yet is None else min(not_yet + 1, len(values) - 1)


def last_below(values: Float[Tensor, " ckpt"], bound: float) -> int | None:
    """The last checkpoint before a number first reaches a bound: the last of all where it never does.

    None where the first checkpoint has reached it.
    """
    reached = (values >= bound).nonzero()[:, 0].tolist()
    first = reached[0] if reached else len(values)
    return first - 1 if first else None
