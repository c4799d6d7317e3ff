"""Retrieval with D steps: chains of symbols hidden in a sequence of pairs, several at once.

Source: Musat, "Mechanism and Emergence of Stacked Attention Heads in Multi-Layer Transformers" (ICLR 2025), sections 3
and 7. A chain x_0, x_1, ..., x_D is told as pairs (x_k, x_k+1); the query is x_0, the answer x_D. What the source
leaves open (the order of the blocks, where positions start) is decided here and said below.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int
from numpy.random import PCG64
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.kv_sampling import random_bits
from circuitcore.tasks.symbol_chains import SymbolChains, normal_numbers, orders


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
class ChainRetrieval(SymbolChains):
    """``n_chains`` chains of ``n_steps`` look-ups each; a symbol is a fresh vector of ``d_symbol`` normal numbers.

    A row holds one block of pairs a step, the farthest from the query first: the pairs (x_D-1, x_D) of all chains,
    ..., the pairs (x_0, x_1), then the queries x_0; inside a block, chains stand in an order of their own. So the
    position tells the step, never the chain. Beside its symbol each position shows a code of where it stands
    (``symbol_chains.position_code``).

    A target that knows the step and not the chain is at best the mean of the ``n_chains`` candidates: squared error
    1 - 1/n_chains (0.75 for four). Predicting 0 costs 1.

    Attributes:
        n_chains: chains in a row, all of them asked for.
        n_steps: look-ups from the query to the answer, D.
        targets: which symbols of the chain are wanted, 1 to D; none: all of them (the source's "implicit
            curriculum"). Only the last one is the source's "non-IC".
        d_symbol, n_train, n_test, seed: as ``SymbolChains`` has them.

    Raises:
        TaskError: a number that makes no rows, or a target that the chain does not have.
    """

    name: ClassVar[str] = "chain_retrieval"
    counted: ClassVar[tuple[str, int]] = ("n_chains", 1)
    called: ClassVar[str] = "steps of the chain"

    n_chains: int = 4
    n_steps: int = 3

    @property
    def on_the_way(self) -> int:
        """One symbol a step."""
        return self.n_steps

    @property
    def max_length(self) -> int:
        """Two positions a pair, and one a query."""
        return self.n_chains * (2 * self.n_steps + 1)

    @property
    def plateau(self) -> float:
        """Squared error of whoever knows the step of each position and not its chain."""
        return 1 - 1 / self.n_chains

    def make_rows(self, split: str, n_rows: int, seed: int) -> Batch:
        """``n_rows`` fresh rows; every split has the same distribution and a stream of its own."""
        return self.rows_of(*self._drawn(n_rows, random_bits(seed, f"chains, {split}")))

    def rows_of(self, symbols: Float[Tensor, "batch chain place d_symbol"], at: Layout) -> Batch:
        """The rows in which these chains stand at these positions.

        Roles: ``read_out`` (the last query), ``queries`` [batch chain], and for each step k ``key_k``, ``value_k``
        [batch chain]: the positions of x_k and x_k+1 in the pair that says that one follows the other.
        """
        steps = range(self.n_steps)
        told = {"queries": 0} | {f"key_{k}": k for k in steps} | {f"value_{k}": k + 1 for k in steps}
        roles = {"queries": at.queries}
        roles |= {f"key_{k}": at.keys[..., k] for k in steps} | {f"value_{k}": at.values[..., k] for k in steps}
        return self._shown(symbols, told, roles)

    @property
    def links(self) -> list[tuple[str, str]]:
        """Inside each pair, from its value to its key; and from query and values to every value farther along."""
        values = [f"value_{k}" for k in range(self.n_steps)]
        return [(value, f"key_{k}") for k, value in enumerate(values)] + list(combinations(("queries", *values), 2))

    def _drawn(self, n_rows: int, bits: PCG64) -> tuple[Tensor, Layout]:
        """Symbols, and an order of the chains for every block and for the queries, drawn independently."""
        symbols = normal_numbers(bits, (n_rows, self.n_chains, self.n_steps + 1, self.d_symbol))
        slots = orders(bits, (n_rows, self.n_steps + 1, self.n_chains))
        begin = 2 * self.n_chains * (self.n_steps - 1 - torch.arange(self.n_steps))
        keys = (begin[:, None] + 2 * slots[:, :-1]).transpose(1, 2)
        return symbols, Layout(keys, 2 * self.n_chains * self.n_steps + slots[:, -1])
