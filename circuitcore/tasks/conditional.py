"""Conditional retrieval: hops that depend on several symbols found before, not on the last one alone.

Source: Musat, "Mechanism and Emergence of Stacked Attention Heads in Multi-Layer Transformers" (ICLR 2025), section
3.1, whose one example is ``x y z ... a y ... a x ... a``: the answer is z, which x and y name together. It defines no
rows of vectors for it. These are made as its rows of chains are (``ChainRetrieval``), so that neither of the two
symbols is enough.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from numpy.random import PCG64
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.kv_sampling import random_bits
from circuitcore.tasks.symbol_chains import SymbolChains, normal_numbers, orders

OF_A_HOP = 3
"""Symbols that a hop retrieves: left, right, and the answer that both name."""
BLOCKS = {"by": 3, "right": 2, "left": 2}
"""Blocks of one hop in the order of the row -> positions of an entry."""


@dataclass(frozen=True, kw_only=True)
class ConditionalRetrieval(SymbolChains):
    """Chains of hops, ``n_options`` ** 2 of them in a row; a hop from x goes by two symbols that x is told with.

    One hop is told in three entries: (x, left), (x, right) and (left, right, next x). There are ``n_options`` left
    symbols a hop and as many right ones, and each pair of them belongs to one chain: who knows one of both has
    ``n_options`` candidates left. A row holds three blocks a hop, those farthest from the query first: the triples of
    all chains, their right pairs, their left pairs; at the end come the queries, the first x of all chains. Inside a
    block, chains stand in an order of their own. Beside its symbol each position shows a code of where it stands.

    Squared error of who knows the block alone: 1 - 1/n_options**2, three quarters for two options; of who knows one of
    the two symbols, too: 1 - 1/n_options, one half.

    Attributes:
        n_options: left symbols of a hop, and right ones.
        n_steps: hops from the query to the answer.
        targets: which symbols are wanted, 1 to 3 ``n_steps``, in the order in which they are retrieved: left, right and
            next x of the first hop, of the second, ...; none: all of them.
        d_symbol, n_train, n_test, seed: as ``SymbolChains`` has them.

    Raises:
        TaskError: a number that makes no rows, or a target that the chain does not have.
    """

    name: ClassVar[str] = "conditional_retrieval"
    counted: ClassVar[tuple[str, int]] = ("n_options", 2)
    called: ClassVar[str] = "symbols on the way"

    n_options: int = 2

    @property
    def n_chains(self) -> int:
        """Chains in a row, all of them asked for: one for each pair of a left and a right symbol."""
        return self.n_options**2

    @property
    def on_the_way(self) -> int:
        """Left, right and next x of each hop."""
        return OF_A_HOP * self.n_steps

    @property
    def max_length(self) -> int:
        """Seven positions a hop and chain, and one a query."""
        return self.n_chains * (sum(BLOCKS.values()) * self.n_steps + 1)

    def make_rows(self, split: str, n_rows: int, seed: int) -> Batch:
        """``n_rows`` fresh rows; every split has the same distribution and a stream of its own.

        Roles: ``read_out`` (the last query), ``queries`` [batch chain], and for each hop k, all [batch chain]:
        ``left_key_k``, ``left_k`` (x and its left symbol), ``right_key_k``, ``right_k`` (x and its right one), and
        ``by_left_k``, ``by_right_k``, ``answer_k`` (the triple that both name).
        """
        bits = random_bits(seed, f"conditional chains, {split}")
        way, at = self._way(n_rows, bits), self._places(n_rows, bits)
        told = {role: place for k in range(self.n_steps) for role, place in _told(k).items()}
        return self._shown(way, told | {"queries": 0}, at)

    @property
    def links(self) -> list[tuple[str, str]]:
        """Inside each entry from its last position to those before, and from the queries to all that is retrieved."""
        links = []
        for k in range(self.n_steps):
            links += [(f"{side}_{k}", f"{side}_key_{k}") for side in ("left", "right")]
            links += [(f"answer_{k}", f"by_{side}_{k}") for side in ("left", "right")]
            links += [("queries", f"{found}_{k}") for found in ("left", "right", "answer")]
        return links

    def _way(self, n_rows: int, bits: PCG64) -> Float[Tensor, "batch chain place d_symbol"]:
        """What each chain retrieves: its first x, then left, right and next x of every hop."""
        own = normal_numbers(bits, (n_rows, self.n_chains, self.n_steps + 1, self.d_symbol))
        sides = normal_numbers(bits, (n_rows, 2, self.n_options, self.n_steps, self.d_symbol))
        pair = orders(bits, (n_rows, self.n_steps, self.n_chains)).transpose(1, 2)  # [batch chain step]
        row, step = torch.arange(n_rows)[:, None, None], torch.arange(self.n_steps)
        left, right = sides[row, 0, pair // self.n_options, step], sides[row, 1, pair % self.n_options, step]
        hops = torch.stack((left, right, own[:, :, 1:]), 3).flatten(2, 3)
        return torch.cat((own[:, :, :1], hops), 2)

    def _places(self, n_rows: int, bits: PCG64) -> dict[str, Int[Tensor, "batch chain"]]:
        """Where every role stands: an order of the chains for each block and for the queries, drawn independently."""
        slots = orders(bits, (n_rows, len(BLOCKS) * self.n_steps + 1, self.n_chains)).unbind(1)
        found, begin, block = {}, 0, 0
        for k in reversed(range(self.n_steps)):
            for name, width in BLOCKS.items():
                first = begin + width * slots[block]
                parts = ("by_left", "by_right", "answer") if name == "by" else (f"{name}_key", name)
                found |= {f"{part}_{k}": first + offset for offset, part in enumerate(parts)}
                begin, block = begin + width * self.n_chains, block + 1
        return found | {"queries": begin + slots[-1]}


def _told(k: int) -> dict[str, int]:
    """Role of hop ``k`` -> which symbol on the way stands there."""
    x = OF_A_HOP * k
    sides = {"left_key": x, "left": x + 1, "right_key": x, "right": x + 2}
    return {f"{name}_{k}": at for name, at in {**sides, "by_left": x + 1, "by_right": x + 2, "answer": x + 3}.items()}
