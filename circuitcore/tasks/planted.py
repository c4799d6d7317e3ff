"""Random words in which phrases come twice: the control in which retrieval can be learnt, and nothing else can.

Made like the rows of ``story``, so that the same battery measures both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.random import PCG64
from torch import Tensor

from circuitcore.tasks.base import Batch, TaskError
from circuitcore.tasks.kv_sampling import random_bits, random_choice
from circuitcore.tasks.limits import refuse_sizes
from circuitcore.tasks.next_word import SPLITS, NextWord


@dataclass(frozen=True, kw_only=True)
class PlantedRepeats(NextWord):
    """Rows such as ``<bos> w3 w8 w2 w5 w1 w9 w5 w1 w8``, answered by ``w2``: what followed ``w8`` when it came before.

    (But with 24 words.) Each row has phrases of its own, drawn anew, whose words are all different. Every phrase stands
    twice, in random order and with other words between; the last word of the row's last phrase is left out and wanted.
    Trained on are all words that the row tells: those that followed the word before them already once. Scored is the
    wanted one.

    Attributes:
        n_words: words to draw from.
        n_phrases: phrases in a row.
        n_phrase: words of a phrase.
        n_train, n_val, n_test, n_ood: rows of each split, all drawn independently.
        generator_seed: decides the rows of every split.

    Raises:
        TaskError: parameters that leave no room, with the numbers.
    """

    name: ClassVar[str] = "planted_repeats"

    n_words: int = 32
    n_phrases: int = 6
    n_phrase: int = 2
    n_train: int = 20_000
    n_val: int = 500
    n_test: int = 500
    n_ood: int = 500
    generator_seed: int = 7

    def __post_init__(self):
        super().__post_init__()
        asked = {name: getattr(self, name) for name in ("n_train", "n_val", "n_test", "n_ood")}
        refuse_sizes(asked, words={"n_words": self.n_words}, length={"n_context_ood": self.max_length})
        asked_for = f"n_phrases = {self.n_phrases}, n_phrase = {self.n_phrase}"
        if self.n_phrases < 1 or self.n_phrase < 2:
            raise TaskError(f"{asked_for}: {self.n_phrases} phrases of {self.n_phrase} words; at least 1 of at least 2")
        taken = self.n_phrases * self.n_phrase
        if taken >= self.n_words:
            raise TaskError(
                f"{asked_for}, n_words = {self.n_words}; the phrases of a row take {taken}, and one must be left"
            )
        if 2 * taken > self.n_context + 1:
            raise TaskError(f"n_context = {self.n_context}; phrases of {taken} words, each twice, need {2 * taken - 1}")
        for name, (split, n_rows) in zip(asked, self.sizes.items(), strict=True):
            if n_rows < 1:
                raise TaskError(f"{name}: split {split} has {n_rows} rows; no split is empty")
        if self.generator_seed < 0:
            raise TaskError(f"generator_seed = {self.generator_seed}; must be at least 0: seeds are not negative")

    @property
    def sizes(self) -> Mapping[str, int]:
        """Split -> rows."""
        return dict(zip(SPLITS, (self.n_train, self.n_val, self.n_test, self.n_ood), strict=True))

    @property
    def vocab(self) -> tuple[str, ...]:
        """``<bos>``, then the words."""
        return ("<bos>", *(f"w{word}" for word in range(self.n_words)))

    @property
    def variables(self) -> Mapping[str, int]:
        """Those of ``NextWord`` that differ between rows: here the context always holds the target."""
        return {name: n for name, n in super().variables.items() if name != "target_seen_in_context"}

    @property
    def chance(self) -> Mapping[str, float]:
        """One over the words: somebody who does not look at the context."""
        return dict.fromkeys(self.splits, 1 / self.n_words)

    def contexts(self) -> Mapping[str, tuple[Int[Tensor, "row word"], Int[Tensor, " row"]]]:
        """All splits, each from a stream of its own."""
        made = {}
        for split, n_rows in self.sizes.items():
            n_context = self.n_context_ood if split == "ood" else self.n_context
            made[split] = self._draw(random_bits(self.generator_seed, f"planted {split}"), n_rows, n_context)
        return made

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits; the loss counts every word that the row tells."""
        return {split: replace(batch, loss_mask=_told(batch)) for split, batch in super().make_splits().items()}

    def shortened(self, batch: Batch, n_words: int) -> Int[Tensor, "row word"]:
        """The last words of each context; a cut that would lose the planted pair carries it to its own start."""
        cut = batch.tokens[:, -n_words:].clone()
        lost = batch.roles["last_copy"] <= batch.tokens.shape[1] - n_words
        pair = torch.stack([batch.tokens[:, -1], batch.answers], 1)
        cut[lost, :2] = pair[lost]
        return cut

    def _draw(self, bits: PCG64, n_rows: int, n_context: int) -> tuple[Int[Tensor, "row word"], Int[Tensor, " row"]]:
        """Contexts and the words wanted, as token ids (word w has id 1 + w)."""
        m, length, every = self.n_phrases, self.n_phrase, np.arange(n_rows)[:, None]
        phrases = random_choice(bits, m * length, np.ones((n_rows, self.n_words), dtype=bool))
        words = (bits.random_raw(n_rows * (n_context + 1)) % np.uint64(self.n_words - m * length)).astype(np.int64)
        words = words.reshape(n_rows, n_context + 1)
        for taken in np.sort(phrases, axis=1).T:  # other words are none of the phrases': skip them, the smallest first
            words += words >= taken[:, None]
        # Every phrase twice and the other words, in random order; the first phrase's second place is at the end.
        blocks = 2 * m - 1
        sizes = np.array([length] * blocks + [1] * (n_context + 1 - 2 * m * length))
        order = np.argsort(bits.random_raw(n_rows * len(sizes)).reshape(n_rows, -1), axis=1, kind="stable")
        starts = np.empty_like(order)
        starts[every, order] = np.cumsum(sizes[order], axis=1) - sizes[order]
        places = np.column_stack([starts[:, :blocks], np.full(n_rows, n_context + 1 - length)])
        twice = np.tile(phrases.reshape(n_rows, m, length), (1, 2, 1))[:, [*range(1, 2 * m), 0]]
        words[every, (places[..., None] + np.arange(length)).reshape(n_rows, -1)] = twice.reshape(n_rows, -1)
        return torch.from_numpy(1 + words[:, :-1]), torch.from_numpy(1 + words[:, -1])


def _told(batch: Batch) -> Bool[Tensor, "row pos"]:
    """Positions whose word stood before, with the same word after it."""
    same = [(values[:, :, None] == values[:, None]) for values in (batch.tokens, batch.targets)]
    return (same[0] & same[1]).tril(-1).any(2)
