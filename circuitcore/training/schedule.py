"""Which rows each step trains on: a pure function of the recipe, so that a resumed run meets the same batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from circuitcore.tasks.base import Batch, Task

# torch's CPU generator reads only the low 32 bits of its seed (seeds 5 and 5 + 2**32 give one stream), so the
# data seed takes the upper half of those bits and the epoch the lower: no two pairs share a shuffle.
SEED_BITS = 16
MAX_DATA_SEED = MAX_EPOCHS = 2**SEED_BITS - 1


@dataclass(frozen=True)
class Stage:
    """A stretch of training on some splits.

    Several splits are shuffled together. Rows of different length never share a batch.
    """

    splits: tuple[str, ...]
    epochs: int


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to train on, all of one length: a whole group of them, or one batch."""

    tokens: Shaped[Tensor, "batch pos *d_in"]
    targets: Int[Tensor, "batch pos"]
    loss_mask: Bool[Tensor, "batch pos"]

    def __len__(self) -> int:
        return len(self.tokens)

    def pick(self, index: slice | Int[Tensor, " picked"]) -> "Rows":
        """The rows that ``index`` picks, in its order."""
        return Rows(self.tokens[index], self.targets[index], self.loss_mask[index])


def rows_by_length(task: Task, splits: Sequence[str]) -> tuple[Rows, ...]:
    """The rows of ``splits``, one group per length, shortest first; in a group in the order of ``splits``."""
    groups: dict[int, list[Batch]] = {}
    for name in splits:
        batch = task.split(name)
        groups.setdefault(batch.tokens.shape[1], []).append(batch)
    return tuple(
        Rows(
            torch.cat([batch.tokens for batch in groups[length]]),
            torch.cat([batch.targets for batch in groups[length]]),
            torch.cat([batch.loss_mask for batch in groups[length]]),
        )
        for length in sorted(groups)
    )


@dataclass(frozen=True)
class Schedule:
    """The batches of a whole training, epoch by epoch.

    Epoch ``e`` (from 0) shuffles with a generator seeded by ``data_seed * 2**16 + e`` and by nothing else. Each
    length group is permuted and cut into batches (its last, short one is kept); where there are several groups
    the batches are then shuffled.
    """

    task: Task
    stages: tuple[Stage, ...]
    batch_size: int
    data_seed: int

    @cached_property
    def epoch_ends(self) -> tuple[int, ...]:
        """Steps done after 0, 1, ... epochs."""
        per_epoch = [0]
        for stage, groups in zip(self.stages, self._groups, strict=True):
            per_epoch += [sum(-(-len(rows) // self.batch_size) for rows in groups)] * stage.epochs
        return tuple(accumulate(per_epoch))

    @property
    def n_epochs(self) -> int:
        """Epochs over all stages."""
        return sum(stage.epochs for stage in self.stages)

    @property
    def n_steps(self) -> int:
        """Optimizer updates over all stages."""
        return self.epoch_ends[-1]

    def epoch(self, epoch: int) -> Iterator[Rows]:
        """The batches of one epoch, counted from 0, in training order."""
        groups = self._groups_of(epoch)
        generator = torch.Generator().manual_seed((self.data_seed << SEED_BITS) | epoch)
        batches = []
        for rows in groups:
            shuffled = rows.pick(torch.randperm(len(rows), generator=generator))
            starts = range(0, len(rows), self.batch_size)
            batches += [shuffled.pick(slice(start, start + self.batch_size)) for start in starts]
        if len(groups) > 1:
            batches = [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
        return iter(batches)

    @cached_property
    def _groups(self) -> tuple[tuple[Rows, ...], ...]:
        return tuple(rows_by_length(self.task, stage.splits) for stage in self.stages)

    def _groups_of(self, epoch: int) -> tuple[Rows, ...]:
        for stage, groups in zip(self.stages, self._groups, strict=True):
            if epoch < stage.epochs:
                return groups
            epoch -= stage.epochs
        raise IndexError(f"epoch {epoch} is past the last of {self.n_epochs}")
