"""What Python's ``random.Random`` draws, many numbers at once: sources that used it are followed number by number.

It takes 32-bit words from a Mersenne Twister. A number below ``limit`` is a word's leading bits, as many as ``limit``
has; a word that gives ``limit`` or more is passed over. NumPy has the same generator and promises its words.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, Int64, UInt32
from numpy.random import MT19937

WORD_BITS = 32
SPARE = 1.1
"""Words asked for at once, as a multiple of those that are expected to be needed."""


class Rounds(NamedTuple):
    """Rounds of draws, one after the other.

    Attributes:
        drawn: the numbers of each round.
        ends: the place among all words behind each round.
    """

    drawn: Int64[np.ndarray, "round draw"]
    ends: Int64[np.ndarray, " round"]


class PythonRandom:
    """The words of ``random.Random(seed)``, read from ``at`` on; whoever draws moves ``at`` behind what was used."""

    def __init__(self, seed: int):
        *key, position = random.Random(seed).getstate()[1]
        self._twister = MT19937()
        state = {"key": np.array(key, dtype=np.uint32), "pos": position}
        self._twister.state = {"bit_generator": "MT19937", "state": state}
        self._words = np.empty(0, dtype=np.uint32)
        self.at = 0

    def rounds(self, limits: Sequence[int], n_rounds: int) -> Rounds:
        """So many rounds from ``at`` on, each of a number below each of ``limits`` in turn; ``at`` stays.

        As ``[[randrange(limit) for limit in limits] for _ in range(n_rounds)]``: where a round begins decides where it
        ends, so that is found out for every word, and rounds follow each other from word to word.

        Raises:
            ValueError: a limit that takes no word, or more than one.
        """
        wrong = [limit for limit in limits if not 1 <= limit.bit_length() <= WORD_BITS]
        if wrong or not limits:
            raise ValueError(f"limits are 1 to {2**WORD_BITS - 1:,}; got {wrong}")
        expected = sum(2 ** limit.bit_length() / limit for limit in limits)
        n_words = round(SPARE * expected * n_rounds) + WORD_BITS
        while True:
            words = self._from_here(n_words)
            takes = {limit: _next_taken(words, limit) for limit in limits}
            end = takes[limits[0]] + 1
            for limit in limits[1:]:
                end = takes[limit][end] + 1
            starts = _followed(end, n_rounds)
            if starts is not None:
                break
            n_words *= 2
        drawn, at = np.empty((n_rounds, len(limits)), dtype=np.int64), starts[:-1]
        for draw, limit in enumerate(limits):
            place = takes[limit][at]
            drawn[:, draw] = _leading(words[place], limit)
            at = place + 1
        return Rounds(drawn, self.at + starts[1:])

    def _from_here(self, n_words: int) -> UInt32[np.ndarray, " word"]:
        missing = self.at + n_words - len(self._words)
        if missing > 0:
            more = self._twister.random_raw(missing).astype(np.uint32)
            self._words = np.concatenate((self._words, more))
        return self._words[self.at : self.at + n_words]


def _leading(words: UInt32[np.ndarray, " word"], limit: int) -> UInt32[np.ndarray, " word"]:
    return words >> np.uint32(WORD_BITS - limit.bit_length())


def _next_taken(words: UInt32[np.ndarray, " word"], limit: int) -> Int32[np.ndarray, " place"]:
    """Of every place the first one from it on whose word gives a number below ``limit``; ``n_words`` for none.

    Two places more than there are words: behind a place that does not exist is none that does.
    """
    n_words = len(words)
    found = np.full(n_words + 2, n_words, dtype=np.int32)
    np.copyto(found[:-2], np.arange(n_words, dtype=np.int32), where=_leading(words, limit) < limit)
    return np.minimum.accumulate(found[::-1])[::-1]


def _followed(end: Int32[np.ndarray, " place"], n_rounds: int) -> Int64[np.ndarray, " edge"] | None:
    """Where the rounds begin, and the last one ends; None where the words do not reach."""
    ends, places, place = memoryview(end), [0], 0
    for _ in range(n_rounds):
        place = ends[place]
        places.append(place)
    return np.array(places) if place < len(end) - 1 else None
