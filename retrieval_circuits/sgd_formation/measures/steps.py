"""At which checkpoints a network is looked at: the settings that several instruments share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run


@dataclass(frozen=True, kw_only=True)
class AtSteps:
    """Checkpoints at which a network is looked at, whose weights must be here; its last one is always among them."""

    steps: tuple[int, ...]

    def of(self, run: "Run") -> tuple[int, ...]:
        """Those of a run, increasing; a step at which it took no checkpoint is passed over."""
        return tuple(step for step in run.all_steps if step in (*self.steps, run.final_step))


def last_below(values: Float[Tensor, " ckpt"], bound: float) -> int | None:
    """The last checkpoint before a number first reaches a bound: the last of all where it never does.

    None where the first checkpoint has reached it.
    """
    reached = (values >= bound).nonzero()[:, 0].tolist()
    first = reached[0] if reached else len(values)
    return first - 1 if first else None
