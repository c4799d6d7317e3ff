"""k-fold composition: permutations shown in the row alternate with hidden ones, and a query says how many to follow.

Source: Wang et al., "Learning Compositional Functions with Transformers from Easy-to-Hard Data" (COLT 2025), section 2,
whose function is (s_k o p_k o ... o s_1 o p_1)(x): the s are read, the p are the same in all rows and never shown.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Int
from numpy.random import PCG64
from torch import Tensor

from circuitcore.tasks.base import Batch, Interchange, TaskError
from circuitcore.tasks.forms import PromptForm, Slot
from circuitcore.tasks.kv_sampling import random_bits
from circuitcore.tasks.limits import refuse_sizes
from circuitcore.tasks.token_task import TokenTask

SYMBOLS = "abcdef"  # six have 720 permutations; more of them make tables that nobody needs here
MAX_HOPS = 8


@dataclass(frozen=True, kw_only=True)
class KFoldComposition(TokenTask):
    """Rows such as ``1a>c 1b>a 1c>d 1d>b 2a>b ... 4d>a 1:d 3:b``; the last answer is where b is after three hops.

    The word ``2a>b`` says that the row's second permutation takes a to b. A hop takes x to s_i(p_i(x)), with the row's
    permutation s_i and a hidden one p_i, the same in all rows. Every row shows all k permutations, drawn uniformly, and
    then asks several queries, each of which says how many hops and from where; no answer is shown. Nothing but
    following all hops tells an answer: whoever misses one of the permutations is right in one of N.

    A row is held out where the numbers of its permutations sum to a multiple of N!, so that no row that is drawn to
    train on is ever a test row.

    Attributes:
        n_symbols: N.
        n_hops: k, the most hops that are asked for.
        mixed: the numbers of hops that are asked for in "train", each equally often on average.
        n_queries: queries of a row, drawn independently.
        hidden_seed: decides the hidden permutations.
        n_rows: rows of each split that is no mixture of all; "train" and "test" have as many for each number of hops.

    Raises:
        TaskError: parameters that no rows can meet, with the numbers.
    """

    name: ClassVar[str] = "k_fold_composition"
    rows_are_sorted: ClassVar[bool] = True

    n_symbols: int = 4
    n_hops: int = 4
    mixed: tuple[int, ...] = (1, 2, 3, 4)
    n_queries: int = 8
    hidden_seed: int = 0
    n_rows: int = 500

    def __post_init__(self):
        if not 2 <= self.n_symbols <= len(SYMBOLS):
            raise TaskError(f"n_symbols = {self.n_symbols}; allowed: 2..{len(SYMBOLS)}")
        if not 1 <= self.n_hops <= MAX_HOPS:
            raise TaskError(f"n_hops = {self.n_hops}; allowed: 1..{MAX_HOPS}")
        known = all(1 <= hops <= self.n_hops for hops in self.mixed)
        if not (self.mixed and known and len(set(self.mixed)) == len(self.mixed)):
            raise TaskError(f"mixed = {self.mixed}; allowed: different numbers of hops, 1..{self.n_hops}")
        if self.n_queries < 1:
            raise TaskError(f"n_queries = {self.n_queries}; allowed: 1 or more")
        if self.hidden_seed < 0:
            raise TaskError(f"hidden_seed = {self.hidden_seed}; must be at least 0: seeds are not negative")
        refuse_sizes({"n_rows": self.n_rows * self.n_hops}, words={}, length={"n_hops, n_queries": self.max_length})
        if self.n_rows < 1:
            raise TaskError(f"n_rows = {self.n_rows}; no split is empty")

    @property
    def vocab(self) -> tuple[str, ...]:
        """Symbols, then what a permutation does to a symbol, then queries."""
        symbols = SYMBOLS[: self.n_symbols]
        hops = range(1, self.n_hops + 1)
        shown = (f"{hop}{x}>{y}" for hop in hops for x in symbols for y in symbols)
        return (*symbols, *shown, *(f"{hop}:{x}" for hop in hops for x in symbols))

    @property
    def variables(self) -> Mapping[str, int]:
        """Of the last query: its number of hops less one, and where it stands after 0, 1, ... k hops."""
        return {"hops": self.n_hops, **{f"x_{hop}": self.n_symbols for hop in range(self.n_hops + 1)}}

    @property
    def max_length(self) -> int:
        """What every permutation does to every symbol, and the queries."""
        return self.n_symbols * self.n_hops + self.n_queries

    @property
    def splits(self) -> tuple[str, ...]:
        """Rows that mix numbers of hops, that ask for one number each, for up to so many, and held-out ones for all."""
        alone = (f"hops_{hops}" for hops in range(1, self.n_hops + 1))
        return ("train", *alone, *(f"up_to_{hops}" for hops in range(2, self.n_hops)), "test")

    @property
    def answers(self) -> tuple[int, ...]:
        """The symbols."""
        return tuple(range(self.n_symbols))

    @property
    def chance(self) -> Mapping[str, float]:
        """One over the symbols, for whoever misses any one hop."""
        return dict.fromkeys(self.splits, 1 / self.n_symbols)

    @property
    def forms(self) -> tuple[PromptForm, ...]:
        """All permutations, and one query or all; that a permutation takes no two symbols to one goes unchecked."""
        size, shown = self.n_symbols, self.vocab[self.n_symbols :]
        starts = range(0, self.n_hops * size**2, size)
        slots = [Slot(f"map {at}", shown[start : start + size]) for at, start in enumerate(starts, 1)]
        asked = [Slot(f"query {at}", shown[self.n_hops * size**2 :]) for at in range(1, self.n_queries + 1)]
        by_name = {"one query": 1, "all queries": self.n_queries} if self.n_queries > 1 else {"one query": 1}
        return tuple(PromptForm(name, (*slots, *asked[:n_asked])) for name, n_asked in by_name.items())

    @cached_property
    def hidden(self) -> Int[Tensor, "hop x"]:
        """p_1 to p_k: the symbol that each takes each symbol to. None of them is the identity, which comes first."""
        chosen = random_bits(self.hidden_seed, "hidden permutations").random_raw(self.n_hops)
        return self._permutations[1 + _below(chosen, len(self._permutations) - 1)]

    def make_rows(self, split: str, n_rows: int, seed: int) -> Batch:
        """Fresh rows: permutations, start and number of hops drawn independently and uniformly."""
        return self._drawn(random_bits(seed, f"fresh compositions, {split}"), split, n_rows)

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits.

        "train" joins those that ask for one of the mixed numbers; the last queries of "test" ask for each in turn.
        """
        alone = {
            split: self._drawn(random_bits(0, f"compositions, {split}"), split, self.n_rows)
            for split in self.splits[1:-1]
        }
        parts = [self.read(alone[f"hops_{hops}"]) for hops in self.mixed]
        train = self.rows(*(torch.cat(values) for values in zip(*parts, strict=True)))
        test = self._drawn(random_bits(0, "compositions, test"), "test", self.n_rows * self.n_hops)
        return {"train": train, **alone, "test": test}

    def rows(
        self, shown: Int[Tensor, "row hop x"], start: Int[Tensor, "row query"], hops: Int[Tensor, "row query"]
    ) -> Batch:
        """Rows of given permutations and queries.

        Args:
            shown: s_1 to s_k of each row: the symbol that each takes each symbol to.
            start: the symbols that are asked about.
            hops: how many hops are asked for, 1 to k.

        Returns:
            roles: ``maps_1`` to ``maps_k``, the words of each permutation, [row x]; ``queries``, all read-outs.
        """
        (n_rows, n_queries), size, k = start.shape, self.n_symbols, self.n_hops
        base = size + size * torch.arange(size * k).reshape(k, size)
        asked = size + k * size**2 + (hops - 1) * size + start
        tokens = torch.cat([(base + shown).flatten(1), asked], 1)
        walks = self.walk(shown, start)
        targets, scored = torch.zeros_like(tokens), torch.zeros_like(tokens, dtype=torch.bool)
        targets[:, size * k :], scored[:, size * k :] = walks.gather(2, hops[:, :, None])[:, :, 0], True
        places, queries = torch.arange(size * k).reshape(k, size), size * k + torch.arange(n_queries)
        roles = {f"maps_{hop}": places[hop - 1].expand(n_rows, size) for hop in range(1, k + 1)}
        roles |= {"queries": queries.expand(n_rows, n_queries), "read_out": queries[-1].expand(n_rows)}
        return Batch(
            tokens=tokens,
            targets=targets,
            loss_mask=scored,
            roles=roles,
            variables={"hops": hops[:, -1] - 1, **{f"x_{hop}": walks[:, -1, hop] for hop in range(k + 1)}},
        )

    def walk(
        self, shown: Int[Tensor, "row hop x"], start: Int[Tensor, "row query"]
    ) -> Int[Tensor, "row query hop_from_0"]:
        """Where each query stands after 0, 1, ... k hops."""
        at = [start]
        for hop in range(self.n_hops):
            at.append(shown[:, hop].gather(1, self.hidden[hop][at[-1]]))
        return torch.stack(at, 2)

    def read(self, batch: Batch) -> tuple[Int[Tensor, "row hop x"], Int[Tensor, "row query"], Int[Tensor, "row query"]]:
        """What ``rows`` made a batch from: permutations, starts and numbers of hops."""
        size, k = self.n_symbols, self.n_hops
        shown, asked = batch.tokens[:, : size * k], batch.tokens[:, size * k :] - size - k * size**2
        return ((shown - size) % size).reshape(-1, k, size), asked % size, 1 + asked // size

    def interchanges(self, n_bases: int) -> tuple[Interchange, ...]:
        """From "hops_1" to "hops_k": held-out rows whose last queries ask for so many hops, beside others that do.

        A base row and its source row have nothing else in common. What carries x_h, where a row stands after h hops,
        makes the base row go on from the source row's x_h by its own permutations. x_0 is the start; at the number of
        hops that is asked for x_h is the source row's answer.
        """
        shown, start, asked = self.read(self.bases(n_bases))
        other, elsewhere, _ = self.read(self._drawn(random_bits(0, "compositions, sources"), "test", n_bases))
        made = []
        for hops in range(1, self.n_hops + 1):
            same = torch.cat([asked[:, :-1], torch.full((n_bases, 1), hops)], 1)
            base, source = self.rows(shown, start, same), self.rows(other, elsewhere, same)
            reached = range(hops + 1)
            expected = {f"x_{h}": self.go_on(shown, source.variables[f"x_{h}"], h, hops) for h in reached}
            made.append(Interchange(name=f"hops_{hops}", base=base, source=source, expected=expected))
        return tuple(made)

    def go_on(
        self, shown: Int[Tensor, "row hop x"], at: Int[Tensor, " row"], done: int, hops: int
    ) -> Int[Tensor, " row"]:
        """Where each row stands after ``hops`` hops if it stands at ``at`` after ``done`` of them."""
        every = torch.arange(len(at))
        for hop in range(done, hops):
            at = shown[every, hop, self.hidden[hop, at]]
        return at

    def _drawn(self, bits: PCG64, split: str, n_rows: int) -> Batch:
        n_words, count = self.n_hops + 2 * self.n_queries, len(self._permutations)
        words = bits.random_raw(n_words * n_rows).reshape(n_words, n_rows)
        shown, start, asked = np.split(words, [self.n_hops, self.n_hops + self.n_queries])
        chosen = _below(shown, count)
        # The last permutation makes the sum a multiple of N! in held-out rows, and none in all others.
        rest = 0 if split == "test" else 1 + _below(shown[-1], count - 1)
        chosen[-1] = (rest - chosen[:-1].sum(0)) % count
        numbers = self._asked_for(split)
        hops = torch.tensor(numbers)[_below(asked, len(numbers))].T.contiguous()
        if split == "test":
            hops[:, -1] = 1 + torch.arange(n_rows) % self.n_hops
        return self.rows(self._permutations[chosen.T], _below(start, self.n_symbols).T.contiguous(), hops)

    def _asked_for(self, split: str) -> tuple[int, ...]:
        """The numbers of hops that a split asks for, each equally often on average."""
        if split == "train":
            return self.mixed
        self.refuse_split(split)
        most = self.n_hops if split == "test" else int(split.rpartition("_")[2])
        return (most,) if split.startswith("hops_") else tuple(range(1, most + 1))

    @cached_property
    def _permutations(self) -> Int[Tensor, "permutation x"]:
        return torch.tensor(list(itertools.permutations(range(self.n_symbols))))


def unable_to_stop(n_symbols: int, n_hops: int) -> float:
    """Share of rows answered by whoever follows all hops but guesses at which to stop: uniform over x_1 to x_k.

    One of k guesses is right; at any other stop stands the answer in one of N rows.
    """
    return 1 / n_hops + (1 - 1 / n_hops) / n_symbols


def _below(words: np.ndarray, n: int) -> Int[Tensor, "..."]:
    """Random words as whole numbers below ``n``."""
    return torch.from_numpy((words % np.uint64(n)).astype(np.int64))
