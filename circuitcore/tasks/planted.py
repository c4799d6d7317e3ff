"""Random words in which one phrase comes twice: the control in which retrieval can be learnt, and nothing else can.

Made like the rows of ``story``, so that the same battery measures both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Int, Int64
from numpy.random import PCG64
from torch import Tensor

from circuitcore.tasks.base import Batch, TaskError
from circuitcore.tasks.kv_sampling import random_bits, random_choice
from circuitcore.tasks.next_word import SPLITS, NextWord


@dataclass(frozen=True, kw_only=True)
class PlantedRepeats(NextWord):
    """Rows such as ``<bos> w3 w8 w7 w2 w9 w9 w5 w8 w7``, answered by ``w2``: what followed ``w7`` when it came before.

    (But with 24 words.) A phrase of different words, drawn anew in every row, stands somewhere in the row and comes
    again at its end; its last word is left out there and wanted. The first place is chosen uniformly, so the distance
    does not tell; the other words are none of the phrase. Trained on, but not scored, are the other words of the phrase
    that can be known when it comes again.

    Attributes:
        n_words: words to draw from.
        n_phrase: words of the phrase.
        n_train, n_val, n_test, n_ood: rows of each split, all drawn independently.
        generator_seed: decides the rows of every split.
    """

    name: ClassVar[str] = "planted_repeats"

    n_words: int = 32
    n_phrase: int = 8
    n_train: int = 20_000
    n_val: int = 500
    n_test: int = 500
    n_ood: int = 500
    generator_seed: int = 7

    def __post_init__(self):
        super().__post_init__()
        if not 2 <= self.n_phrase < self.n_words:
            raise TaskError(f"n_phrase = {self.n_phrase}; must be at least 2, and less than n_words = {self.n_words}")
        if 2 * self.n_phrase - 1 > self.n_context:
            raise TaskError(f"n_context = {self.n_context}; too few words for a phrase of {self.n_phrase} twice")
        for split, n_rows in self.sizes.items():
            if n_rows < 1:
                raise TaskError(f"split {split} has {n_rows} rows; no split is empty")

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
        """One over the words: the target is uniform, and the commonest word of the context is rarely it."""
        return dict.fromkeys(self.splits, 1 / self.n_words)

    def contexts(self) -> Mapping[str, tuple[Int[Tensor, "row word"], Int[Tensor, " row"]]]:
        """All splits, each from a stream of its own."""
        made = {}
        for split, n_rows in self.sizes.items():
            n_context = self.n_context_ood if split == "ood" else self.n_context
            made[split] = self._draw(random_bits(self.generator_seed, f"planted {split}"), n_rows, n_context)
        return made

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits; the loss counts every word of the repeated phrase but its first, which cannot be known."""
        return {split: replace(batch, loss_mask=self._known(batch)) for split, batch in super().make_splits().items()}

    def _known(self, batch: Batch) -> Bool[Tensor, "row pos"]:
        from_end = torch.arange(batch.tokens.shape[1]).flip(0)
        return (from_end < self.n_phrase - 1).expand(len(batch), -1)

    def shortened(self, batch: Batch, n_words: int) -> Int[Tensor, "row word"]:
        """The last words of each context; a cut that would lose the planted pair carries it to its own start."""
        cut = batch.tokens[:, -n_words:].clone()
        lost = batch.roles["last_copy"] <= batch.tokens.shape[1] - n_words
        pair = torch.stack([batch.tokens[:, -1], batch.answers], 1)
        cut[lost, :2] = pair[lost]
        return cut

    def _draw(self, bits: PCG64, n_rows: int, n_context: int) -> tuple[Int[Tensor, "row word"], Int[Tensor, " row"]]:
        """Contexts and the words wanted, as token ids (word w has id 1 + w)."""

        def below(limit: int, *shape: int) -> Int64[np.ndarray, "..."]:
            return (bits.random_raw(int(np.prod(shape))).reshape(shape) % np.uint64(limit)).astype(np.int64)

        phrase = random_choice(bits, self.n_phrase, np.ones((n_rows, self.n_words), dtype=bool))
        words = below(self.n_words - self.n_phrase, n_rows, n_context)
        for taken in np.sort(phrase, axis=1).T:  # skip the phrase's words, the smallest one first
            words += words >= taken[:, None]
        again = self.n_phrase - 1
        first = below(n_context - again - self.n_phrase + 1, n_rows)
        words[np.arange(n_rows)[:, None], first[:, None] + np.arange(self.n_phrase)] = phrase
        words[:, n_context - again :] = phrase[:, :-1]
        return torch.from_numpy(1 + words), torch.from_numpy(1 + phrase[:, -1])
