"""What a task is: splits of rows, what they want of a model, and counterfactuals with known answers.

``Batch`` and ``Interchange`` are the only things a task hands to the rest of the library. A task
itself is a frozen dataclass whose fields are its parameters, so that two tasks with the same
parameters are the same value and give the same rows. Rows hold words (``TokenTask``) or vectors (``VectorTask``).
"""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from circuitcore.ground.hashed import canonical
from circuitcore.ground.spelling import unknown
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.looks import Look


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Rows of token ids or of vectors, and what is known about each row.

    Rows have one number of positions. A shorter row may be padded on the right with anything: no position sees what
    is ahead of it, so that padding reaches nothing that is scored.

    Attributes:
        tokens: vocabulary indices ``[batch pos]``, or vectors ``[batch pos d_in]``.
        targets: what is wanted at each position, read only where ``loss_mask``: the next token ``[batch pos]``, or a
            vector ``[batch pos d_out]``.
        loss_mask: positions that are trained on and scored.
        roles: name -> position (or one position per slot) in the row. Always holds ``read_out``,
            shape [batch]: the last position at which an answer is wanted, and the last that is scored unless every
            next word is. A row with several read-outs names all of them by a role of its own, [batch read_out].
        variables: name -> class index of a causal variable, shape [batch].
        base: id of the row a counterfactual was made from. A batch that holds no counterfactuals
            numbers its own rows, which is also the default.

    Raises:
        TaskError: shapes that disagree, a missing ``read_out``, a role outside the row.
    """

    tokens: Shaped[Tensor, "batch pos *d_in"]
    targets: Shaped[Tensor, "batch pos *d_out"]
    loss_mask: Bool[Tensor, "batch pos"]
    roles: Mapping[str, Int[Tensor, "batch ..."]]
    variables: Mapping[str, Int[Tensor, " batch"]] = field(default_factory=dict)
    base: Int[Tensor, " batch"] | None = None

    def __post_init__(self):
        rows = n_rows, n_pos = self.tokens.shape[:2]
        if self.base is None:
            object.__setattr__(self, "base", torch.arange(n_rows))
        if self.targets.shape[:2] != rows or self.loss_mask.shape != rows:
            raise TaskError(
                f"targets {tuple(self.targets.shape)} and loss_mask {tuple(self.loss_mask.shape)} "
                f"must have the rows and positions of tokens {tuple(self.tokens.shape)}"
            )
        for name, values in {"tokens": self.tokens, "targets": self.targets}.items():
            if values.is_floating_point() != (values.ndim == 3):
                raise TaskError(
                    f"{name} are {values.dtype} {tuple(values.shape)}; allowed: ids [batch pos], integers, or vectors "
                    "[batch pos width], floats"
                )
        if "read_out" not in self.roles:
            raise TaskError(f"roles must name 'read_out'; got: {', '.join(self.roles) or 'none'}")
        per_row = {"base": self.base, **self.roles, **self.variables}
        for name, values in per_row.items():
            if values.ndim < 1 or len(values) != n_rows:
                raise TaskError(f"{name!r} has shape {tuple(values.shape)}; the batch has {n_rows} rows")
        for name, values in self.roles.items():
            if values.numel() and (values.min() < 0 or values.max() >= n_pos):
                raise TaskError(
                    f"role {name!r} points to positions {int(values.min())}..{int(values.max())}; "
                    f"rows have positions 0..{n_pos - 1}"
                )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def answers(self) -> Shaped[Tensor, "batch *d_out"]:
        """Token (or vector) wanted at ``read_out``, one per row."""
        return self.targets[torch.arange(len(self)), self.roles["read_out"]]

    def rows(self, index: slice | Int[Tensor, " picked"]) -> "Batch":
        """The rows that ``index`` picks, in its order; repeats are allowed."""
        return Batch(
            tokens=self.tokens[index],
            targets=self.targets[index],
            loss_mask=self.loss_mask[index],
            roles={name: values[index] for name, values in self.roles.items()},
            variables={name: values[index] for name, values in self.variables.items()},
            base=self.base[index],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Interchange:
    """Pairs of rows for patching, with the answer each hypothesis predicts.

    Run ``base``, put in an activation taken from ``source``, read the answer. If the activation
    carries variable ``v`` the answer should be ``expected[v]``.

    Attributes:
        name: what is varied between base and source.
        base: rows that are run.
        source: rows the activation is taken from, same shape as base.
        expected: hypothesis (for an interchange: a variable) -> predicted answer token, [batch].

    Raises:
        TaskError: base, source and expected that differ in shape.
    """

    name: str
    base: Batch
    source: Batch
    expected: Mapping[str, Int[Tensor, " batch"]]

    def __post_init__(self):
        if self.base.tokens.shape != self.source.tokens.shape:
            raise TaskError(
                f"interchange {self.name!r}: base has shape {tuple(self.base.tokens.shape)}, "
                f"source {tuple(self.source.tokens.shape)}; rows are patched position by position"
            )
        for hypothesis, answers in self.expected.items():
            if answers.shape != (len(self.base),):
                raise TaskError(
                    f"interchange {self.name!r}: expected[{hypothesis!r}] has shape "
                    f"{tuple(answers.shape)}; there are {len(self.base)} rows"
                )

    def __len__(self) -> int:
        return len(self.base)


class Need(NamedTuple):
    """What a task asks of a model: a field of its ``ModelConfig``, the least and the most it may be, and why."""

    field: str
    least: int
    most: float
    allowed: str


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One task. Subclass it as a frozen dataclass whose fields are JSON literals.

    Subclass ``TokenTask`` where rows hold words, ``VectorTask`` where they hold vectors. A task must give ``name``,
    ``max_length``, ``splits``, ``model_needs`` and either ``make_splits`` (cached for it) or ``split``. The rest has
    empty defaults: a task without counterfactuals can be trained and scored, it just has no causal tests.
    """

    name: ClassVar[str]
    reported: ClassVar[str] = "test"
    """The split on which networks are measured beyond their scores, and from which ``bases`` come."""
    rows_are_sorted: ClassVar[bool] = False
    """Whether the rows of a split stand in the order of what they ask, so that its first ones are no sample of it."""

    @property
    @abstractmethod
    def max_length(self) -> int:
        """Number of positions in the longest row of any split or family."""

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """Names that ``split`` accepts; the first one is trained on."""

    @property
    @abstractmethod
    def model_needs(self) -> tuple[Need, ...]:
        """What a model must be, so that it can be trained on this task."""

    @property
    def variables(self) -> Mapping[str, int]:
        """Causal variable -> number of classes."""
        return {}

    @property
    def params(self) -> dict[str, Any]:
        """Every parameter with its value, defaults included; ``make_task(name, params)`` undoes it.

        One that was added later (``hashed.later``) only where it is not its default: no recipe changes its name.
        """
        return canonical(self)

    def make_splits(self) -> Mapping[str, Batch]:
        """Make all splits. Called once per task value; must depend on the parameters alone."""
        raise NotImplementedError(f"{type(self).__name__} must define make_splits or split")

    def split(self, name: str) -> Batch:
        """One split. The rows are cached and shared: do not write into them.

        Raises:
            TaskError: a name that is not in ``splits``.
        """
        self.refuse_split(name)
        return _cached_splits(self)[name]

    def shape(self, split: str) -> tuple[int, int]:
        """Rows of a split, and their positions. A task that knows them makes no rows for it.

        Raises:
            TaskError: a name that is not in ``splits``.
        """
        n_rows, n_pos = self.split(split).tokens.shape[:2]
        return n_rows, n_pos

    def refuse_split(self, name: str) -> None:
        """Refuse a split that there is not.

        Raises:
            TaskError: which, and which there are.
        """
        if name not in self.splits:
            raise TaskError(unknown("split", name, self.splits))

    def few(self, split: str, n_rows: int) -> Batch:
        """At most so many rows of a split's kind: its first ones, unless a task makes others for less than all take.

        Raises:
            TaskError: a name that is not in ``splits``, or fewer than one row.
        """
        _refuse_none(n_rows)
        return self.split(split).rows(slice(0, n_rows))

    def draw(self, split: str, n_rows: int, seed: int) -> Batch:
        """``n_rows`` rows of a split's distribution, drawn anew: a function of these arguments and the parameters.

        Raises:
            TaskError: a task whose splits are all there is, a name that is not in ``splits``, or fewer than one row.
        """
        self.refuse_split(split)
        _refuse_none(n_rows)
        return self.make_rows(split, n_rows, seed)

    def make_rows(self, split: str, n_rows: int, seed: int) -> Batch:  # noqa: ARG002 - the signature of those that can
        """What ``draw`` gives, by a task that can."""
        raise TaskError(f"task {self.name!r} draws no fresh rows; train on its splits (fresh = 0)")

    def bases(self, n_bases: int) -> Batch:
        """The first ``n_bases`` rows of the split ``reported``, from which counterfactuals are made.

        Raises:
            TaskError: fewer than one, or more than there are.
        """
        batch = self.split(self.reported)
        if not 1 <= n_bases <= len(batch):
            raise TaskError(f"n_bases = {n_bases}; the {self.reported} split allows 1..{len(batch)}")
        return batch.rows(slice(0, n_bases))

    def families(self, n_bases: int) -> Mapping[str, Batch]:
        """Counterfactual families made from ``bases(n_bases)``: name -> rows."""
        return {}

    def interchanges(self, n_bases: int) -> tuple[Interchange, ...]:
        """Interchange experiments made from ``bases(n_bases)``."""
        return ()

    def edge_tests(self, n_bases: int) -> tuple[Interchange, ...]:
        """Base/source pairs for path patching; ``expected`` holds "source_answer" alone."""
        return ()

    def looks(self, batch: Batch) -> Mapping[str, Look]:
        """What heads may look at in rows of this task: name -> the choices, for ``metrics.instruments.looks``."""
        return {}

    @abstractmethod
    def records(self, split: str) -> Iterator[dict[str, Any]]:
        """The rows of a split as plain values, one JSON object each: what ``circuitcore dataset`` writes.

        Keys: id (``test_000012``), task, split, what is read and what is wanted, variables (name -> class index).

        Raises:
            TaskError: a name that is not in ``splits``.
        """


def room(task: Task) -> Need:
    """Positions for the longest row."""
    return Need("n_ctx", task.max_length, math.inf, f"at least the task's longest row, {task.max_length}")


def record_id(split: str, row: int) -> str:
    """Name of a row of a split, rows counted from 0: ``val_000012``."""
    return f"{split}_{row:06d}"


def _refuse_none(n_rows: int) -> None:
    if n_rows < 1:
        raise TaskError(f"n_rows = {n_rows}; allowed: 1 or more")


# Sixteen tasks are more than any chapter compares; a task's rows are a few megabytes.
@functools.lru_cache(maxsize=16)
def _cached_splits(task: Task) -> Mapping[str, Batch]:
    made = task.make_splits()
    if tuple(made) != tuple(task.splits):
        raise TaskError(f"{task.name}: make_splits gave {tuple(made)}, splits says {tuple(task.splits)}")
    return made
