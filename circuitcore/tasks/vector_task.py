"""Tasks whose rows hold vectors."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from circuitcore.tasks.base import Need, Task, record_id, room


@dataclass(frozen=True, kw_only=True)
class VectorTask(Task):
    """A task whose rows are vectors and which wants vectors: squared error, no vocabulary and no accuracy.

    Beside what ``Task`` asks for it must give ``d_in`` and ``d_out``.
    """

    @property
    @abstractmethod
    def d_in(self) -> int:
        """Width of the vectors that are read."""

    @property
    @abstractmethod
    def d_out(self) -> int:
        """Width of the vectors that are wanted."""

    @property
    def model_needs(self) -> tuple[Need, ...]:
        """Inputs and outputs of exactly these widths, and room for the longest row."""
        return (
            Need("d_in", self.d_in, self.d_in, f"{self.d_in}, the width of the vectors that are read"),
            Need("d_vocab", self.d_out, self.d_out, f"{self.d_out}, the width of the vectors that are wanted"),
            room(self),
        )

    def records(self, split: str) -> Iterator[dict[str, Any]]:
        """The rows of a split as plain values, one JSON object each.

        Keys: id, task, split, inputs (a vector a position), targets (the vectors wanted at the scored positions, in
        their order), variables (name -> class index).

        Raises:
            TaskError: a name that is not in ``splits``.
        """
        batch = self.split(split)
        for row, inputs in enumerate(batch.tokens):
            yield {
                "id": record_id(split, row),
                "task": self.name,
                "split": split,
                "inputs": inputs.tolist(),
                "targets": batch.targets[row, batch.loss_mask[row]].tolist(),
                "variables": {name: values[row].item() for name, values in batch.variables.items()},
            }
