"""Which rows each step trains on: a pure function of the recipe, so that a resumed run meets the same batches."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice, pairwise

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from circuitcore.ground.hashed import later
from circuitcore.tasks.base import Batch, Task
from circuitcore.training.errors import RecipeError

# torch's CPU generator reads only the low 32 bits of its seed (seeds 5 and 5 + 2**32 give one stream), so the
# data seed takes the upper half of those bits and the epoch the lower: no two pairs share a shuffle.
SEED_BITS = 16
MAX_DATA_SEED = MAX_EPOCHS = 2**SEED_BITS - 1


@dataclass(frozen=True)
class Stage:
    """A stretch of training on some splits.

    Several splits are shuffled together. Rows of different length never share a batch.

    Attributes:
        splits: names of the task's splits.
        epochs: how often.
        fresh: rows that each epoch draws anew (``Task.draw``) from the one split there then is; 0: an epoch is all
            rows of the splits, once.
    """

    splits: tuple[str, ...]
    epochs: int
    fresh: int = later(0)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to train on, all of one length: a whole group of them, or one batch."""

    tokens: Shaped[Tensor, "batch pos *d_in"]
    targets: Shaped[Tensor, "batch pos *d_out"]
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
        Rows(*(_joined([getattr(batch, name) for batch in group]) for name in ("tokens", "targets", "loss_mask")))
        for _, group in sorted(groups.items())
    )


def _joined(parts: list[Tensor]) -> Tensor:
    """One after the other; a single part is not copied, as it is asked for at every checkpoint."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def drawn(task: Task, stage: Stage, seed: int) -> Rows:
    """The fresh rows of one epoch of ``stage``."""
    batch = task.draw(stage.splits[0], stage.fresh, seed)
    return Rows(batch.tokens, batch.targets, batch.loss_mask)


@dataclass(frozen=True)
class Schedule:
    """The batches of a whole training, epoch by epoch.

    Epoch ``e`` (from 0) shuffles with a generator seeded by ``data_seed * 2**16 + e`` and by nothing else. Each
    length group is permuted and cut into batches (its last, short one is kept); where there are several groups
    the batches are then shuffled. An epoch of fresh rows draws them by that seed and leaves them in their order.

    Attributes:
        task: whose rows.
        stages: of the training, in order.
        batch_size: rows of a batch at most.
        data_seed: of the order.
        end: updates of the whole training, where it ends inside the last epoch; None for all of that epoch's.
        start: updates that a parent has done already: steps, and ``end``, count from there.
    """

    task: Task
    stages: tuple[Stage, ...]
    batch_size: int
    data_seed: int
    end: int | None = None
    start: int = 0

    @cached_property
    def epoch_ends(self) -> tuple[int, ...]:
        """Steps done after 0, 1, ... epochs, the last of which may be left unfinished.

        Epochs that a parent has ended lie before step 0; those that are never begun all end at the last step.

        Raises:
            RecipeError: training ends before the last epoch, or behind it; with a parent, behind it.
        """
        per_epoch = [0]
        for stage in self.stages:
            sizes = [stage.fresh] if stage.fresh else self._sizes(stage)
            per_epoch += [sum(-(-n_rows // self.batch_size) for n_rows in sizes)] * stage.epochs
        ends = [at - self.start for at in accumulate(per_epoch)]
        if self.end is None:
            return tuple(ends)
        least = 1 if self.start else ends[-2] + 1
        if not least <= self.end <= ends[-1]:
            where, begun = (
                ("", f" from the parent's step {self.start} on") if self.start else (" of the last epoch", "")
            )
            raise RecipeError(
                f"checkpoint_at ends training at step {self.end}{begun}; allowed: a step{where}, {least} to "
                f"{ends[-1]}, as all stages together have {self.n_epochs} epochs"
            )
        return tuple(min(at, self.end) for at in ends)

    def _sizes(self, stage: Stage) -> list[int]:
        """Rows of each length, of which an epoch makes batches."""
        sizes = Counter()
        for n_rows, n_pos in map(self.task.shape, stage.splits):
            sizes[n_pos] += n_rows
        return list(sizes.values())

    @property
    def n_epochs(self) -> int:
        """Epochs over all stages."""
        return sum(stage.epochs for stage in self.stages)

    @property
    def n_epochs_begun(self) -> int:
        """Epochs that have at least one of the steps."""
        return sum(after > max(before, 0) for before, after in pairwise(self.epoch_ends))

    @property
    def n_steps(self) -> int:
        """Optimizer updates over all stages."""
        return self.epoch_ends[-1]

    def batches(self, start: int = 0) -> Iterator[Rows]:
        """All batches after the first ``start`` of them, in training order."""
        first = bisect_right(self.epoch_ends, start) - 1
        for epoch in range(first, self.n_epochs):
            done, end = self.epoch_ends[epoch : epoch + 2]
            if done == self.n_steps:
                return
            yield from islice(self.epoch(epoch), max(start - done, 0), end - done)

    def epoch(self, epoch: int) -> Iterator[Rows]:
        """The batches of one epoch, counted from 0, in training order; of the last one those behind the end, too."""
        stage, groups = self._stage_of(epoch)
        seed = (self.data_seed << SEED_BITS) | epoch
        if stage.fresh:
            return iter(self._batches(drawn(self.task, stage, seed)))
        generator, batches = torch.Generator().manual_seed(seed), []
        for rows in groups:
            batches += self._batches(rows.pick(torch.randperm(len(rows), generator=generator)))
        if len(groups) > 1:
            batches = [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
        return iter(batches)

    def _batches(self, rows: Rows) -> list[Rows]:
        starts = range(0, len(rows), self.batch_size)
        return [rows.pick(slice(start, start + self.batch_size)) for start in starts]

    @cached_property
    def _groups(self) -> tuple[tuple[Rows, ...], ...]:
        return tuple(() if stage.fresh else rows_by_length(self.task, stage.splits) for stage in self.stages)

    def _stage_of(self, epoch: int) -> tuple[Stage, tuple[Rows, ...]]:
        for stage, groups in zip(self.stages, self._groups, strict=True):
            if epoch < stage.epochs:
                return stage, groups
            epoch -= stage.epochs
        raise IndexError(f"epoch {epoch} is past the last of {self.n_epochs}")
