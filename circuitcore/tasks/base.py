"""What a task is: a vocabulary, splits of token rows, and counterfactuals with known answers.

``Batch`` and ``Interchange`` are the only things a task hands to the rest of the library. A task
itself is a frozen dataclass whose fields are its parameters, so that two tasks with the same
parameters are the same value and give the same rows.
"""

import dataclasses
import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.forms import PromptForm


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Rows of token ids, all of one length (never padded), and what is known about each row.

    Attributes:
        tokens: vocabulary indices.
        targets: token wanted as the next one at each position; read only where ``loss_mask``.
        loss_mask: positions that are trained on and scored.
        roles: name -> position (or one position per slot) in the row. Always holds ``read_out``,
            shape [batch]: the last scored position.
        variables: name -> class index of a causal variable, shape [batch].
        base: id of the row a counterfactual was made from. A batch that holds no counterfactuals
            numbers its own rows, which is also the default.

    Raises:
        TaskError: shapes that disagree, a missing ``read_out``, a role outside the row.
    """

    tokens: Int[Tensor, "batch pos"]
    targets: Int[Tensor, "batch pos"]
    loss_mask: Bool[Tensor, "batch pos"]
    roles: Mapping[str, Int[Tensor, "batch ..."]]
    variables: Mapping[str, Int[Tensor, " batch"]] = field(default_factory=dict)
    base: Int[Tensor, " batch"] | None = None

    def __post_init__(self):
        n_rows, n_pos = self.tokens.shape
        if self.base is None:
            object.__setattr__(self, "base", torch.arange(n_rows))
        if self.targets.shape != self.tokens.shape or self.loss_mask.shape != self.tokens.shape:
            raise TaskError(
                f"targets {tuple(self.targets.shape)} and loss_mask {tuple(self.loss_mask.shape)} "
                f"must have the shape of tokens {tuple(self.tokens.shape)}"
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
    def answers(self) -> Int[Tensor, " batch"]:
        """Token wanted at ``read_out``, one per row."""
        return self.targets.gather(1, self.roles["read_out"][:, None])[:, 0]

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


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One task. Subclass it as a frozen dataclass whose fields are JSON literals.

    A subclass must give ``name``, ``vocab``, ``max_length``, ``splits``, ``answers``, ``chance`` and
    either ``make_splits`` (cached for it) or ``split``. The rest has empty defaults: a task without
    counterfactuals can be trained and scored, it just has no causal tests.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def vocab(self) -> tuple[str, ...]:
        """The tokens as words, in the order of their ids."""

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
    def answers(self) -> tuple[int, ...]:
        """Token ids that can be an answer."""

    @property
    @abstractmethod
    def chance(self) -> Mapping[str, float]:
        """Split -> accuracy of somebody who knows the rules but guesses."""

    @property
    def variables(self) -> Mapping[str, int]:
        """Causal variable -> number of classes."""
        return {}

    @property
    def params(self) -> dict[str, Any]:
        """Every parameter with its value, defaults included; ``make_task(name, params)`` undoes it."""
        return {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}

    @property
    def forms(self) -> tuple[PromptForm, ...]:
        """What prompts look like that a reader may type: unless a task says more, any words up to ``max_length``."""
        return (PromptForm("words", (), open_words=self.vocab, most=self.max_length),)

    def make_splits(self) -> Mapping[str, Batch]:
        """Make all splits. Called once per task value; must depend on the parameters alone."""
        raise NotImplementedError(f"{type(self).__name__} must define make_splits or split")

    def split(self, name: str) -> Batch:
        """One split. The rows are cached and shared: do not write into them.

        Raises:
            TaskError: a name that is not in ``splits``.
        """
        if name not in self.splits:
            raise TaskError(unknown("split", name, self.splits))
        return _cached_splits(self)[name]

    def draw(self, split: str, n_rows: int, seed: int) -> Batch:  # noqa: ARG002 - the signature of those that can
        """``n_rows`` rows of a split's distribution, drawn anew: a function of these arguments and the parameters.

        Raises:
            TaskError: a task whose splits are all there is.
        """
        raise TaskError(f"task {self.name!r} draws no fresh rows; train on its splits (fresh = 0)")

    def bases(self, n_bases: int) -> Batch:
        """The first ``n_bases`` rows of the split "test", from which counterfactuals are made.

        Raises:
            TaskError: fewer than one, or more than "test" has.
        """
        available = len(self.split("test"))
        if not 1 <= n_bases <= available:
            raise TaskError(f"n_bases = {n_bases}; the test split allows 1..{available}")
        return self.split("test").rows(slice(0, n_bases))

    def families(self, n_bases: int) -> Mapping[str, Batch]:
        """Counterfactual families made from ``bases(n_bases)``: name -> rows."""
        return {}

    def interchanges(self, n_bases: int) -> tuple[Interchange, ...]:
        """Interchange experiments made from ``bases(n_bases)``."""
        return ()

    def edge_tests(self, n_bases: int) -> tuple[Interchange, ...]:
        """Base/source pairs for path patching; ``expected`` holds "source_answer" alone."""
        return ()

    def records(self, split: str) -> Iterator[dict[str, Any]]:
        """The rows of a split as plain values, one JSON object each: what ``circuitcore dataset`` writes.

        Keys: id (``test_000012``), task, split, prompt, targets (the words wanted at the scored positions, in their
        order), variables (name -> class index). A task with a published format of its own overrides this.

        Raises:
            TaskError: a name that is not in ``splits``, or rows that are no words.
        """
        batch = self.split(split)
        if batch.tokens.ndim != 2 or batch.tokens.is_floating_point():
            raise TaskError(f"task {self.name!r}: split {split!r} has rows of vectors; only rows of words are written")
        variables = {name: values.tolist() for name, values in batch.variables.items()}
        for row, tokens in enumerate(batch.tokens):
            wanted = batch.targets[row, batch.loss_mask[row]]
            yield {
                "id": record_id(split, row),
                "task": self.name,
                "split": split,
                "prompt": self.decode(tokens),
                "targets": [self.vocab[token] for token in wanted.tolist()],
                "variables": {name: values[row] for name, values in variables.items()},
            }

    def decode(self, tokens: Int[Tensor, " pos"]) -> str:
        """Token ids as text, words separated by one space.

        Raises:
            TaskError: an id outside the vocabulary.
        """
        ids = tokens.tolist()
        for token in ids:
            if not 0 <= token < len(self.vocab):
                raise TaskError(f"token id {token} is outside the vocabulary 0..{len(self.vocab) - 1}")
        return " ".join(self.vocab[token] for token in ids)

    def encode(self, text: str) -> Int[Tensor, " pos"]:
        """Token ids of a text whose tokens are separated by spaces.

        Raises:
            TaskError: a word that is not in the vocabulary, or no word at all.
        """
        ids = {word: token for token, word in enumerate(self.vocab)}
        words = text.split()
        if not words:
            raise TaskError("the text has no tokens; separate tokens by spaces")
        for place, word in enumerate(words):
            if word not in ids:
                raise TaskError(f"at token {place}: {unknown('token', word, self.vocab)}")
        return torch.tensor([ids[word] for word in words])


def record_id(split: str, row: int) -> str:
    """Name of a row of a split, rows counted from 0: ``val_000012``."""
    return f"{split}_{row:06d}"


# Sixteen tasks are more than any chapter compares; a task's rows are a few megabytes.
@functools.lru_cache(maxsize=16)
def _cached_splits(task: Task) -> Mapping[str, Batch]:
    made = task.make_splits()
    if tuple(made) != tuple(task.splits):
        raise TaskError(f"{task.name}: make_splits gave {tuple(made)}, splits says {tuple(task.splits)}")
    return made
