"""Next words of one short story: a task that a small network can only learn by heart.

The negative control of "Retrieval Motif Emergence in Small Transformers" (Alex 2026), over a story of our own. Its
story has 1168 tokens and 547 types; ours has 1168 and 545.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from circuitcore.tasks.base import Batch, TaskError
from circuitcore.tasks.next_word import NextWord

WORD = re.compile(r"\w+|[^\w\s]")
TRAIN_SHARE, VAL_SHARE = 0.8, 0.1  # of the text, in its order; the rest is "test"


@dataclass(frozen=True, kw_only=True)
class Story(NextWord):
    """Rows such as ``<bos> She explained the oar , the ladder and the``, answered by ``bell`` (but with 24 words).

    A token is a word or one punctuation mark, as written. Wanted words of "train" come from the first 80 % of the
    text, those of "val" from the next 10 %, those of "test" from the last; a context may reach back into the split
    before. "ood" asks for the words of "test" with a longer context.
    """

    name: ClassVar[str] = "story"

    def __post_init__(self):
        super().__post_init__()
        if self.n_context_ood >= TRAIN_SHARE * len(words()):
            raise TaskError(f"n_context_ood = {self.n_context_ood}; the story trained on has fewer words")

    @property
    def vocab(self) -> tuple[str, ...]:
        """``<bos>``, then the types of the story in the order in which they appear."""
        return ("<bos>", *dict.fromkeys(words()))

    @property
    def chance(self) -> Mapping[str, float]:
        """Share of rows that want the commonest word of "train": what always saying that word scores."""
        commonest = self.split("train").answers.bincount().argmax()
        return {split: float((self.split(split).answers == commonest).float().mean()) for split in self.splits}

    def contexts(self) -> Mapping[str, tuple[Int[Tensor, "row word"], Int[Tensor, " row"]]]:
        """Every word of the story with the words before it; the first ``n_context`` have too few and are not wanted."""
        place = {word: number for number, word in enumerate(self.vocab)}
        text = torch.tensor([place[word] for word in words()])
        ends = [round(share * len(text)) for share in (TRAIN_SHARE, TRAIN_SHARE + VAL_SHARE)]
        ranges = {"train": (0, ends[0]), "val": ends, "test": (ends[1], len(text)), "ood": (ends[1], len(text))}
        made = {}
        for split, (start, end) in ranges.items():
            n_context = self.n_context_ood if split == "ood" else self.n_context
            wanted = torch.arange(max(start, n_context), end)
            made[split] = text[wanted[:, None] + torch.arange(-n_context, 0)], text[wanted]
        return made

    def shortened(self, batch: Batch, n_words: int) -> Int[Tensor, "row word"]:
        """The last words of each context."""
        return batch.tokens[:, -n_words:]


@functools.cache
def words() -> tuple[str, ...]:
    """The story as words and punctuation marks."""
    return tuple(WORD.findall((files("circuitcore.tasks") / "story.txt").read_text(encoding="utf-8")))
