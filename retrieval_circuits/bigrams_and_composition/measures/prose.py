"""The same task on letters: the chain is counted in this book's own text, as the source counts a corpus.

``letters.csv`` holds the counts, so that an edit of a page moves no result.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int

from retrieval_circuits.bigrams_and_composition.measures.source import Source
from retrieval_circuits.bigrams_and_composition.measures.training import Learning, learnt_on

SYMBOLS = " abcdefghijklmnopqrstuvwxyz"
SMOOTHING = 1e-3
"""Added to every share, so that every letter can follow every other."""
COUNTS = Path(__file__).with_name("letters.csv")
"""Row: a symbol; column: how often each followed it."""


@dataclass(frozen=True, kw_only=True)
class Letters(Learning):
    """Ways of learning letters.

    Attributes:
        counts: of pairs, a row a symbol.
    """

    counts: tuple[tuple[int, ...], ...]


def letters(asked: Letters, seed: int) -> list[dict[str, Any]]:
    """As ``learning``, with this book's letters as the one source of all seeds."""
    return learnt_on(source_of(asked), asked, seed)


def source_of(asked: Letters) -> Source:
    """The chain of these counts, its triggers the most frequent symbols."""
    counts = torch.tensor(asked.counts, dtype=torch.float64)
    chain = counts / counts.sum(1, keepdim=True) + SMOOTHING
    return Source(chain=chain / chain.sum(1, keepdim=True), n_triggers=asked.n_triggers)


def counted(text: str) -> Int[np.ndarray, "symbol next"]:
    """How often each symbol follows each: small letters, and one space for whatever stands between them."""
    read = re.sub("[^a-z]+", " ", text.lower())
    place = np.array([SYMBOLS.index(symbol) for symbol in read])
    found = np.zeros((len(SYMBOLS), len(SYMBOLS)), dtype=int)
    np.add.at(found, (place[:-1], place[1:]), 1)
    return found


def counts() -> tuple[tuple[int, ...], ...]:
    """Those of ``letters.csv``."""
    return tuple(tuple(map(int, line.split(","))) for line in COUNTS.read_text(encoding="utf-8").splitlines())
