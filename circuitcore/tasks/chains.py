"""Retrieval with D steps: chains of symbols hidden in a sequence of pairs, several at once.

Source: Musat, "Mechanism and Emergence of Stacked Attention Heads in Multi-Layer Transformers" (ICLR 2025), sections 3
and 7. A chain x_0, x_1, ..., x_D is told as pairs (x_k, x_k+1); the query is x_0, the answer x_D. What the source
leaves open (the order of the blocks, where positions start) is decided here and said below.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.random import PCG64
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.kv_sampling import random_bits
from circuitcore.tasks.limits import refuse_sizes
from circuitcore.tasks.looks import Look, role_look
from circuitcore.tasks.vector_task import VectorTask

SPLITS = ("train", "val", "test")
CODE_BASE = 10_000.0
MAX_WIDTH = 1_024
NORMAL_BITS = 16
GRID = 2.0**-12  # of symbols; processors differ in the last bits of a logarithm or cosine, not in these
CODE_GRID = 2.0**-20


class Layout(NamedTuple):
    """Where each chain stands in each row.

    Attributes:
        keys: position of the first symbol of pair ``k``, which is x_k; ``[batch chain step]``.
        queries: position of the query of each chain, ``[batch chain]``.
    """

    keys: Int[Tensor, "batch chain step"]
    queries: Int[Tensor, "batch chain"]

    @property
    def values(self) -> Int[Tensor, "batch chain step"]:
        """Position of the second symbol of pair ``k``, which is x_k+1: right behind its key."""
        return self.keys + 1


@dataclass(frozen=True, kw_only=True)
class ChainRetrieval(VectorTask):
    """``n_chains`` chains of ``n_steps`` look-ups each; a symbol is a fresh vector of ``d_symbol`` normal numbers.

    A row holds one block of pairs a step, the farthest from the query first: the pairs (x_D-1, x_D) of all chains,
    ..., the pairs (x_0, x_1), then the queries x_0; inside a block, chains stand in an order of their own. So the
    position tells the step, never the chain. Beside its symbol each position shows a code of where it stands
    (``position_code``).

    A target that knows the step and not the chain is at best the mean of the ``n_chains`` candidates: squared error
    1 - 1/n_chains (0.75 for four). Predicting 0 costs 1.

    Attributes:
        n_chains: chains in a row, all of them asked for.
        d_symbol: width of a symbol, and of the code of positions; even.
        n_steps: look-ups from the query to the answer, D.
        targets: which symbols of the chain are wanted, 1 to D; none: all of them (the source's "implicit
            curriculum"). Only the last one is the source's "non-IC".
        n_train: rows of "train". Training draws its own rows (``draw``) unless its recipe says otherwise.
        n_test: rows of "val", and of "test".
        seed: of all rows.

    Raises:
        TaskError: a number that makes no rows, or a target that the chain does not have.
    """

    name: ClassVar[str] = "chain_retrieval"

    n_chains: int = 4
    d_symbol: int = 4
    n_steps: int = 3
    targets: tuple[int, ...] = ()
    n_train: int = 256
    n_test: int = 256
    seed: int = 0

    def __post_init__(self):
        counts = {"n_chains": self.n_chains, "n_steps": self.n_steps, "n_train": self.n_train, "n_test": self.n_test}
        for name, value in counts.items():
            if value < 1:
                raise TaskError(f"{name} = {value}; allowed: an integer >= 1")
        if not 2 <= self.d_symbol <= MAX_WIDTH or self.d_symbol % 2:
            raise TaskError(
                f"d_symbol = {self.d_symbol}; allowed: an even integer in 2..{MAX_WIDTH} (codes come in cos, sin pairs)"
            )
        refuse_sizes(
            rows={"n_train": self.n_train, "n_test": self.n_test},
            words={},
            length={f"n_chains = {self.n_chains} with n_steps = {self.n_steps}": self.max_length},
        )
        if self.seed < 0:
            raise TaskError(f"seed = {self.seed}; allowed: an integer >= 0")
        if list(self.targets) != sorted(set(self.targets) & set(range(1, self.n_steps + 1))):
            raise TaskError(
                f"targets = {list(self.targets)}; allowed: steps of the chain, 1..{self.n_steps}, increasing, or none "
                "for all of them"
            )

    @property
    def asked(self) -> tuple[int, ...]:
        """The symbols of a chain that are wanted, by their place in it."""
        return self.targets or tuple(range(1, self.n_steps + 1))

    @property
    def d_in(self) -> int:
        """A symbol and the code of its position."""
        return 2 * self.d_symbol

    @property
    def d_out(self) -> int:
        """The wanted symbols, one behind the other."""
        return self.d_symbol * len(self.asked)

    @property
    def max_length(self) -> int:
        """Two positions a pair, and one a query."""
        return self.n_chains * (2 * self.n_steps + 1)

    @property
    def splits(self) -> tuple[str, ...]:
        """Rows to train on, to choose by, and to report."""
        return SPLITS

    @property
    def plateau(self) -> float:
        """Squared error of whoever knows the step of each position and not its chain."""
        return 1 - 1 / self.n_chains

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits; each has a stream of random numbers of its own."""
        sizes = {"train": self.n_train, "val": self.n_test, "test": self.n_test}
        return {name: self.draw(name, size, self.seed) for name, size in sizes.items()}

    def draw(self, split: str, n_rows: int, seed: int) -> Batch:
        """``n_rows`` fresh rows; every split has the same distribution and a stream of its own."""
        return self.rows_of(*self._drawn(n_rows, random_bits(seed, f"chains, {split}")))

    def rows_of(self, symbols: Float[Tensor, "batch chain place d_symbol"], at: Layout) -> Batch:
        """The rows in which these chains stand at these positions.

        Roles: ``read_out`` (the last query), ``queries`` [batch chain], and for each step k ``key_k``, ``value_k``
        [batch chain]: the positions of x_k and x_k+1 in the pair that says that one follows the other.
        """
        n_rows, steps = len(symbols), range(self.n_steps)
        row, n_pos = torch.arange(n_rows)[:, None], self.max_length
        shown = torch.zeros(n_rows, n_pos, self.d_symbol)
        for k in steps:
            shown[row, at.keys[..., k]] = symbols[:, :, k]
            shown[row, at.values[..., k]] = symbols[:, :, k + 1]
        shown[row, at.queries] = symbols[:, :, 0]
        code = position_code(n_pos, self.d_symbol).expand(n_rows, -1, -1)
        targets = torch.zeros(n_rows, n_pos, self.d_out)
        targets[row, at.queries] = symbols[:, :, list(self.asked)].flatten(2)
        mask = torch.zeros(n_rows, n_pos, dtype=torch.bool)
        mask[:, -self.n_chains :] = True
        roles = {"read_out": torch.full((n_rows,), n_pos - 1), "queries": at.queries}
        roles |= {f"key_{k}": at.keys[..., k] for k in steps} | {f"value_{k}": at.values[..., k] for k in steps}
        return Batch(tokens=torch.cat((shown, code), -1), targets=targets, loss_mask=mask, roles=roles)

    def looks(self, batch: Batch) -> Mapping[str, Look]:
        """Inside each pair, from its value to its key; and from query and values to every value farther along.

        Right is the position of the same chain, and the alternatives are those of all chains.
        """
        values = [f"value_{k}" for k in range(self.n_steps)]
        links = [(value, f"key_{k}") for k, value in enumerate(values)] + list(combinations(("queries", *values), 2))
        n_pos = batch.tokens.shape[1]
        return {f"{query}>{key}": role_look(dict(batch.roles), n_pos, query, (key,)) for query, key in links}

    def _drawn(self, n_rows: int, bits: PCG64) -> tuple[Tensor, Layout]:
        """Symbols, and an order of the chains for every block and for the queries, drawn independently."""
        symbols = normal_numbers(bits, (n_rows, self.n_chains, self.n_steps + 1, self.d_symbol))
        words = bits.random_raw(n_rows * (self.n_steps + 1) * self.n_chains)
        slots = torch.from_numpy(words.reshape(n_rows, self.n_steps + 1, self.n_chains).argsort(-1))
        begin = 2 * self.n_chains * (self.n_steps - 1 - torch.arange(self.n_steps))
        keys = (begin[:, None] + 2 * slots[:, :-1]).transpose(1, 2)
        return symbols, Layout(keys, 2 * self.n_chains * self.n_steps + slots[:, -1])


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


@functools.cache
def _quantiles() -> Float[Tensor, " level"]:
    n_levels = 2**NORMAL_BITS
    levels = (torch.arange(n_levels, dtype=torch.float64) + 0.5) / n_levels
    return ((torch.special.ndtri(levels) / GRID).round() * GRID).float()
