"""Random words in which one pair comes twice: the control in which retrieval can be learnt, and nothing else can.

Made like the rows of ``story``, so that the same battery measures both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from circuitcore.tasks.base import Batch, TaskError
from circuitcore.tasks.kv_sampling import random_bits
from circuitcore.tasks.next_word import SPLITS, NextWord

FEWEST_WORDS = 4  # cue, target and something to fill the context with


@dataclass(frozen=True, kw_only=True)
class PlantedRepeats(NextWord):
    """Rows such as ``<bos> w3 w7 w2 w9 w9 w5 w0 w7``, answered by ``w2``: what followed ``w7`` when it came before.

    (But with 24 words.) Cue and target are drawn anew in every row, so no row says anything about another one. The cue
    is the last word and stands at one earlier place, chosen uniformly; the other words are neither it nor the target.

    Attributes:
        n_words: words to draw from.
        n_train, n_val, n_test, n_ood: rows of each split, all drawn independently.
        generator_seed: decides the rows of every split.
    """

    name: ClassVar[str] = "planted_repeats"

    n_words: int = 32
    n_train: int = 20_000
    n_val: int = 500
    n_test: int = 500
    n_ood: int = 500
    generator_seed: int = 7

    def __post_init__(self):
        super().__post_init__()
        if self.n_words < FEWEST_WORDS:
            raise TaskError(f"n_words = {self.n_words}; must be at least {FEWEST_WORDS}")
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
            made[split] = _draw(self.n_words, n_rows, n_context, self.generator_seed, split)
        return made

    def shortened(self, batch: Batch, n_words: int) -> Int[Tensor, "row word"]:
        """The last words of each context; a cut that would lose the planted pair carries it to its own start."""
        cut = batch.tokens[:, -n_words:].clone()
        lost = batch.roles["last_copy"] <= batch.tokens.shape[1] - n_words
        pair = torch.stack([batch.tokens[:, -1], batch.answers], 1)
        cut[lost, :2] = pair[lost]
        return cut


def _draw(n_words: int, n_rows: int, n_context: int, seed: int, split: str) -> tuple[Tensor, Tensor]:
    """Contexts and the words wanted, as token ids (word w has id 1 + w)."""
    bits = random_bits(seed, f"planted {split}")

    def below(limit: int, *shape: int) -> np.ndarray:
        drawn = bits.random_raw(int(np.prod(shape))).reshape(shape)
        return (drawn % np.uint64(limit)).astype(np.int64)

    cue, other = below(n_words, n_rows), below(n_words - 1, n_rows)
    target = other + (other >= cue)
    words = below(n_words - 2, n_rows, n_context)
    for taken in (np.minimum(cue, target), np.maximum(cue, target)):  # skip both, the smaller one first
        words += words >= taken[:, None]
    rows, at = np.arange(n_rows), below(n_context - 2, n_rows)
    words[rows, at], words[rows, at + 1], words[:, -1] = cue, target, cue
    return torch.from_numpy(1 + words), torch.from_numpy(1 + target)
