"""The prompts of ``chain_prompts`` as rows of words, for small networks that are trained on nothing else.

A row holds what the lines of a prompt say, word by word, without the words that are the same in every line ("lives",
"in", "="), then questions. So a network need not learn English, and has the same links to look up.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar

import torch

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.base import Batch
from circuitcore.tasks.chain_prompts import draw_world, formulation
from circuitcore.tasks.chain_prompts.worlds import Formulation, World
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.kv_sampling import random_bits
from circuitcore.tasks.limits import refuse_sizes
from circuitcore.tasks.token_task import TokenTask

ASKS = "?"
"""Stands before what is asked for, which could be the key of a line otherwise."""
SPLITS = ("train", "val", "test")
WANTED = ("questions", "every line")
LEVELS = ("F1", "F2", "F3")
"""Formulations in which each block's lines are links of what is asked to the answer, level by level."""
WORDS_OF = {"F4": "F1"}
"""Formulation -> the one whose words it uses: both are of letters and digits."""


@dataclass(frozen=True, kw_only=True)
class ChainWords(TokenTask):
    """Rows such as ``c 1 a 0 d 2 b 3 g b e d f a h c ? h ? e``: ``h`` is ``c`` is 1, ``e`` is ``d`` is 2.

    Links, order of lines and questions are those of ``draw_world``; the source asks one question a prompt, here several
    may follow each other, without the answers. Rows of fewer look-ups are shorter and padded on the right. Chains of
    one look-up are few enough to come again: ``n_questions`` and the orders aside, F1 has 24 of them.

    Attributes:
        formulation: "F1" to "F5".
        depths: look-ups of the chains, in turn; none: those of the source's example.
        n_questions: asked in each row, all different, in random order.
        wanted: "questions", the answer at each question; or "every line": where a line ends, too, what it comes to in
            the end (``g b`` is what ``b`` is), so that every step of a chain is rewarded. Of F1 to F3 alone.
        n_train: rows of "train". Training draws its own rows (``draw``) unless its recipe says otherwise.
        n_test: rows of "val", and of "test".
        seed: of all rows.

    Raises:
        TaskError: a formulation, depth, word or number of questions that there are not, or a number that makes no
            rows.
    """

    name: ClassVar[str] = "chain_words"

    formulation: str = "F1"
    depths: tuple[int, ...] = (2, 3)
    n_questions: int = 4
    wanted: str = "questions"
    n_train: int = 256
    n_test: int = 256
    seed: int = 0

    def __post_init__(self):
        found, _ = formulation(self.formulation)
        if not self.depths:
            object.__setattr__(self, "depths", (found.depth,))
        for depth in self.depths:
            formulation(self.formulation, depth)
        if list(self.depths) != sorted(set(self.depths)):
            raise TaskError(f"depths = {list(self.depths)}; allowed: each once, increasing")
        for name, value in {"n_train": self.n_train, "n_test": self.n_test}.items():
            if value < 1:
                raise TaskError(f"{name} = {value}; allowed: an integer >= 1")
        if self.wanted not in WANTED:
            raise TaskError(f"wanted: {unknown('word', self.wanted, WANTED)}")
        if self.wanted == "every line" and self.formulation not in LEVELS:
            raise TaskError(f"wanted = 'every line' of {self.formulation}; not every line there comes to an answer")
        most = len(found.asks(self._longest))
        if not 1 <= self.n_questions <= most:
            raise TaskError(f"n_questions = {self.n_questions}; {self.formulation} has 1 to {most} of them")
        refuse_sizes(
            rows={"n_train": self.n_train, "n_test": self.n_test},
            words={},
            length={f"depths = {list(self.depths)}": self.max_length},
        )
        if self.seed < 0:
            raise TaskError(f"seed = {self.seed}; allowed: an integer >= 0")

    @property
    def kind(self) -> Formulation:
        """The formulation itself."""
        return formulation(self.formulation)[0]

    @property
    def vocab(self) -> tuple[str, ...]:
        """The sign of a question, then every word of the formulation at all of its depths."""
        return _vocab(WORDS_OF.get(self.formulation, self.formulation))

    @property
    def answers(self) -> tuple[int, ...]:
        """Every answer of the right kind."""
        return tuple(self.vocab.index(word) for word in self.kind.acceptable)

    @property
    def chance(self) -> Mapping[str, float]:
        """Of guessing among the answers of the right kind; who reads some links may get more (``part_lines``)."""
        return dict.fromkeys(SPLITS, 1 / len(self.answers))

    @property
    def variables(self) -> Mapping[str, int]:
        """Which of the depths a row has."""
        return {"depth": len(self.depths)}

    @property
    def splits(self) -> tuple[str, ...]:
        """Rows to train on, to choose by, and to report."""
        return SPLITS

    @property
    def max_length(self) -> int:
        """The lines of the longest chains, and the questions."""
        words = sum(len(entry) for entries in self._longest.blocks.values() for entry in entries)
        return words + self.n_questions * (1 + len(self._longest.asked))

    @property
    def _longest(self) -> World:
        return draw_world(self.formulation, self.depths[-1])

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits; each is a series of prompts of its own."""
        sizes = {"train": self.n_train, "val": self.n_test, "test": self.n_test}
        return {name: self.make_rows(name, size, self.seed) for name, size in sizes.items()}

    def make_rows(self, split: str, n_rows: int, seed: int) -> Batch:
        """``n_rows`` prompts of a series of their own, the depths in turn."""
        series = int(random_bits(seed, f"chain words, {split}").random_raw(1)[0] >> 11)
        depths = [self.depths[number % len(self.depths)] for number in range(n_rows)]
        worlds = [draw_world(self.formulation, depth, series, number) for number, depth in enumerate(depths)]
        asked = [
            Random(f"questions {series} {number}").sample(self.kind.asks(world), self.n_questions)
            for number, world in enumerate(worlds)
        ]
        return self.rows_of(worlds, asked)

    def rows_of(self, worlds: list[World], asked: list[list[tuple[str, ...]]]) -> Batch:
        """The rows that say these links and ask these questions, ``n_questions`` each.

        Roles: ``questions`` [batch question], the last word of each; ``read_out``, that of the last.

        Raises:
            TaskError: a world of another depth than the task's.
        """
        ids = {word: token for token, word in enumerate(self.vocab)}
        tokens = torch.zeros(len(worlds), self.max_length, dtype=torch.long)
        targets, at, depth = torch.full_like(tokens, -1), [], []
        blocks_of = {len(draw_world(self.formulation, one).blocks): i for i, one in enumerate(self.depths)}
        for row, (world, questions) in enumerate(zip(worlds, asked, strict=True)):
            if len(world.blocks) not in blocks_of:
                raise TaskError(f"prompt {row} has {len(world.blocks)} blocks of lines; the task has {[*blocks_of]}")
            words, ends = self._worded(world, questions)
            tokens[row, : len(words)] = torch.tensor([ids[word] for word in words])
            targets[row, list(ends)] = torch.tensor([ids[word] for word in ends.values()])
            at.append(list(ends)[-self.n_questions :])
            depth.append(blocks_of[len(world.blocks)])
        questions = torch.tensor(at)
        return Batch(
            tokens=tokens,
            targets=targets.clamp(min=0),
            loss_mask=targets >= 0,
            roles={"read_out": questions[:, -1], "questions": questions},
            variables={"depth": torch.tensor(depth)},
        )

    def _worded(self, world: World, asked: list[tuple[str, ...]]) -> tuple[list[str], dict[int, str]]:
        """The words of a row, and what is wanted at which positions, in their order."""
        words, wanted, known = [], {}, {}
        for entry in (entry for entries in world.blocks.values() for entry in entries):
            words += entry
            if self.wanted == "every line":
                known[entry[0]] = wanted[len(words) - 1] = known.get(entry[1], entry[1])
        for question in asked:
            words += [ASKS, *question]
            wanted[len(words) - 1] = self.kind.walk(world.look, replace(world, asked=question))[-1]
        return words, wanted


@functools.cache
def _vocab(name: str) -> tuple[str, ...]:
    found, _ = formulation(name)
    blocks = draw_world(name, found.depths[-1]).blocks.values()
    words = {word for entries in blocks for entry in entries for word in entry}
    return (ASKS, *sorted(words))
