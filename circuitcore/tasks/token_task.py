"""Tasks whose rows hold words."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.base import Need, Task, record_id, room
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.forms import PromptForm


@dataclass(frozen=True, kw_only=True)
class TokenTask(Task):
    """A task whose rows are words of a vocabulary and whose answers are words.

    Beside what ``Task`` asks for it must give ``vocab``, ``answers`` and ``chance``.
    """

    @property
    @abstractmethod
    def vocab(self) -> tuple[str, ...]:
        """The tokens as words, in the order of their ids."""

    @property
    @abstractmethod
    def answers(self) -> tuple[int, ...]:
        """Token ids that can be an answer."""

    @property
    @abstractmethod
    def chance(self) -> Mapping[str, float]:
        """Split -> accuracy of somebody who knows the rules but guesses."""

    @property
    def model_needs(self) -> tuple[Need, ...]:
        """Room for every word and for the longest row."""
        words = len(self.vocab)
        return (
            Need("d_vocab", words, math.inf, f"at least the task's {words} tokens"),
            room(self),
            Need("d_in", 0, 0, f"0, since rows of task {self.name!r} are words"),
        )

    @property
    def forms(self) -> tuple[PromptForm, ...]:
        """What prompts look like that a reader may type: unless a task says more, any words up to ``max_length``."""
        return (PromptForm("words", (), open_words=self.vocab, most=self.max_length),)

    def records(self, split: str) -> Iterator[dict[str, Any]]:
        """The rows of a split as plain values, one JSON object each: what ``circuitcore dataset`` writes.

        Keys: id (``test_000012``), task, split, prompt, targets (the words wanted at the scored positions, in their
        order), variables (name -> class index). A task with a published format of its own overrides this.

        Raises:
            TaskError: a name that is not in ``splits``.
        """
        batch = self.split(split)
        variables, vocab = {name: values.tolist() for name, values in batch.variables.items()}, self.vocab
        for row, tokens in enumerate(batch.tokens):
            wanted = batch.targets[row, batch.loss_mask[row]]
            yield {
                "id": record_id(split, row),
                "task": self.name,
                "split": split,
                "prompt": self.decode(tokens),
                "targets": [vocab[token] for token in wanted.tolist()],
                "variables": {name: values[row] for name, values in variables.items()},
            }

    def decode(self, tokens: Int[Tensor, " pos"]) -> str:
        """Token ids as text, words separated by one space.

        Raises:
            TaskError: an id outside the vocabulary.
        """
        ids, vocab = tokens.tolist(), self.vocab
        for token in ids:
            if not 0 <= token < len(vocab):
                raise TaskError(f"token id {token} is outside the vocabulary 0..{len(vocab) - 1}")
        return " ".join(vocab[token] for token in ids)

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
