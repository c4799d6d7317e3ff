"""Chains of symbols hidden in rows of vectors: what their tasks share, whatever is told of a chain and in what order.

Source: Musat, "Mechanism and Emergence of Stacked Attention Heads in Multi-Layer Transformers" (ICLR 2025), sections 3
and 7. Symbols are fresh normal vectors in every row, and each position shows a code of where it stands beside its own.
"""

import functools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.random import PCG64
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.limits import refuse_sizes
from circuitcore.tasks.looks import Look, role_look
from circuitcore.tasks.vector_task import VectorTask

SPLITS = ("train", "val", "test")
CODE_BASE = 10_000.0
MAX_WIDTH = 1_024
NORMAL_BITS = 16
GRID = 2.0**-12  # of symbols; processors differ in the last bits of a logarithm or cosine, not in these
CODE_GRID = 2.0**-20


@dataclass(frozen=True, kw_only=True)
class SymbolChains(VectorTask):
    """Rows that tell several chains of symbols, and end in the queries of all of them: each chain's first symbol.

    A subclass gives ``n_chains``, ``max_length``, ``on_the_way``, ``links`` and ``draw``, and the words of its errors.

    Attributes:
        d_symbol: width of a symbol, and of the code of positions; even.
        n_steps: hops from the query to the answer.
        targets: which symbols on the way are wanted, from 1, increasing; none: all of them.
        n_train: rows of "train". Training draws its own rows (``draw``) unless its recipe says otherwise.
        n_test: rows of "val", and of "test".
        seed: of all rows.

    Raises:
        TaskError: a number that makes no rows, or a target that the chain does not have.
    """

    counted: ClassVar[tuple[str, int]]
    """The parameter that says how many chains there are, and its least value."""
    called: ClassVar[str]
    """What may be a target, in words."""

    d_symbol: int = 4
    n_steps: int = 1
    targets: tuple[int, ...] = ()
    n_train: int = 256
    n_test: int = 256
    seed: int = 0

    def __post_init__(self):
        count, fewest = self.counted
        for name, least in {count: fewest, "n_steps": 1, "n_train": 1, "n_test": 1}.items():
            if getattr(self, name) < least:
                raise TaskError(f"{name} = {getattr(self, name)}; allowed: an integer >= {least}")
        if not 2 <= self.d_symbol <= MAX_WIDTH or self.d_symbol % 2:
            raise TaskError(
                f"d_symbol = {self.d_symbol}; allowed: an even integer in 2..{MAX_WIDTH} (codes come in cos, sin pairs)"
            )
        refuse_sizes(
            rows={"n_train": self.n_train, "n_test": self.n_test},
            words={},
            length={f"{count} = {getattr(self, count)} with n_steps = {self.n_steps}": self.max_length},
        )
        if self.seed < 0:
            raise TaskError(f"seed = {self.seed}; allowed: an integer >= 0")
        if list(self.targets) != sorted(set(self.targets) & set(range(1, self.on_the_way + 1))):
            raise TaskError(
                f"targets = {list(self.targets)}; allowed: {self.called}, 1..{self.on_the_way}, increasing, or none "
                "for all of them"
            )

    @property
    @abstractmethod
    def n_chains(self) -> int:
        """Chains in a row, all of them asked for."""

    @property
    @abstractmethod
    def on_the_way(self) -> int:
        """Symbols that a chain retrieves, the answer among them; its first one is given."""

    @property
    @abstractmethod
    def links(self) -> Sequence[tuple[str, str]]:
        """Pairs of roles: from where a head may look, and where it then finds the same chain's."""

    @property
    def asked(self) -> tuple[int, ...]:
        """The symbols that are wanted, by their place on the way."""
        return self.targets or tuple(range(1, self.on_the_way + 1))

    @property
    def d_in(self) -> int:
        """A symbol and the code of its position."""
        return 2 * self.d_symbol

    @property
    def d_out(self) -> int:
        """The wanted symbols, one behind the other."""
        return self.d_symbol * len(self.asked)

    @property
    def splits(self) -> tuple[str, ...]:
        """Rows to train on, to choose by, and to report."""
        return SPLITS

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits; each has a stream of random numbers of its own."""
        return {name: self.make_rows(name, self.shape(name)[0], self.seed) for name in self.splits}

    def shape(self, split: str) -> tuple[int, int]:
        """Rows as asked for, all of them as long as the longest; a split that chooses or reports has ``n_test``."""
        self.refuse_split(split)
        return self.n_test if split in SPLITS[1:] else self.n_train, self.max_length

    def looks(self, batch: Batch) -> Mapping[str, Look]:
        """By each of ``links``. Right is the position of the same chain, and the alternatives are those of all."""
        n_pos = batch.tokens.shape[1]
        return {f"{query}>{key}": role_look(dict(batch.roles), n_pos, query, (key,)) for query, key in self.links}

    def _shown(
        self,
        way: Float[Tensor, "batch chain place d_symbol"],
        told: Mapping[str, int],
        at: Mapping[str, Int[Tensor, "batch chain"]],
    ) -> Batch:
        """The rows in which each role shows its symbol of the way (``told``), at its positions (``at``).

        One of the roles is "queries", where symbols are wanted: the last ``n_chains`` positions, in some order.
        """
        n_rows, n_pos = len(way), self.max_length
        row = torch.arange(n_rows)[:, None]
        shown = torch.zeros(n_rows, n_pos, self.d_symbol)
        for role, place in told.items():
            shown[row, at[role]] = way[:, :, place]
        targets = torch.zeros(n_rows, n_pos, self.d_out)
        targets[row, at["queries"]] = way[:, :, list(self.asked)].flatten(2)
        mask = torch.zeros(n_rows, n_pos, dtype=torch.bool)
        mask[:, -self.n_chains :] = True
        code = position_code(n_pos, self.d_symbol).expand(n_rows, -1, -1)
        roles = {"read_out": torch.full((n_rows,), n_pos - 1), **at}
        return Batch(tokens=torch.cat((shown, code), -1), targets=targets, loss_mask=mask, roles=roles)


def position_code(n_pos: int, width: int) -> Float[Tensor, "pos width"]:
    """The code of positions 0 to ``n_pos - 1``: cos and sin of t / 10000^(2i / width), for i = 0, 1, ... in turn."""
    rates = CODE_BASE ** (-2 * torch.arange(width // 2, dtype=torch.float64) / width)
    angles = torch.arange(n_pos, dtype=torch.float64)[:, None] * rates
    code = torch.stack((angles.cos(), angles.sin()), -1).flatten(1)
    return ((code / CODE_GRID).round() * CODE_GRID).float()


def normal_numbers(bits: PCG64, shape: tuple[int, ...]) -> Float[Tensor, "*shape"]:
    """Normal numbers of variance 1, the same on every processor: one of 65,536 equally likely quantiles each."""
    n_numbers = int(np.prod(shape))
    words = bits.random_raw(-(-n_numbers * NORMAL_BITS // 64)).view(np.uint16)
    return _quantiles()[torch.from_numpy(words[:n_numbers].astype(np.int32))].reshape(shape)


def orders(bits: PCG64, shape: tuple[int, ...]) -> Int[Tensor, "*shape"]:
    """Orders of the last axis, all equally likely and drawn independently."""
    n_words = torch.Size(shape).numel()
    return torch.from_numpy(bits.random_raw(n_words).reshape(shape).argsort(-1))


@functools.cache
def _quantiles() -> Float[Tensor, " level"]:
    n_levels = 2**NORMAL_BITS
    levels = (torch.arange(n_levels, dtype=torch.float64) + 0.5) / n_levels
    return ((torch.special.ndtri(levels) / GRID).round() * GRID).float()
