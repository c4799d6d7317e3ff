"""What rows of vectors look like to a reader: symbols of several chains, block by block, each with a name.

``static/vector_rows.js`` draws such rows anew, follows chains in them, and reads answers off a network's outputs.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.tasks.base import Batch


@dataclass(frozen=True, kw_only=True)
class Block:
    """Neighbouring units of a row, one for each chain, in any order.

    Attributes:
        name: what a reader calls it.
        places: of a chain's symbols that a unit holds: (1, 2) says that the third symbol follows the second.
        roles: name of the unit's positions in ``Batch.roles`` ``[batch chain]``, one for each place.
    """

    name: str
    places: tuple[int, ...]
    roles: tuple[str, ...]


class Row(NamedTuple):
    """One row: the symbols by position, and the numbers of each symbol."""

    words: list[str]
    vectors: dict[str, list[float]]


@dataclass(frozen=True, kw_only=True)
class VectorForm:
    """Rows of blocks; the last block asks, the others tell what follows what.

    Each vector is a symbol, then a code of its position that is the same in every row.

    Attributes:
        chains: a letter each; the symbol at place k of chain a is called "ak".
        blocks: in the order in which they stand.
        asked: places of a chain that are wanted at its query, in the order of the outputs.
        width: numbers of a symbol.
    """

    chains: tuple[str, ...]
    blocks: tuple[Block, ...]
    asked: tuple[int, ...]
    width: int

    def __post_init__(self):
        for block in self.blocks:
            if len(block.places) != len(block.roles):
                raise ValueError(f"block {block.name!r} has {len(block.places)} places and {len(block.roles)} roles")

    @property
    def query(self) -> str:
        """The role of what is asked."""
        return self.blocks[-1].roles[0]

    def row(self, batch: Batch, at: int) -> Row:
        """One row of a batch, its symbols named; ValueError where blocks leave a position without a name."""
        words, vectors = [""] * batch.tokens.shape[1], {}
        for block in self.blocks:
            for place, role in zip(block.places, block.roles, strict=True):
                for chain, position in zip(self.chains, batch.roles[role][at].tolist(), strict=True):
                    words[position] = f"{chain}{place}"
                    vectors[words[position]] = batch.tokens[at, position, : self.width].tolist()
        if "" in words:
            raise ValueError(f"no block holds position {words.index('')} of a row")
        return Row(words, vectors)

    def payload(self, batch: Batch, at: int) -> dict[str, Any]:
        """What the page gets: the form, the codes of all positions, and one row."""
        words, vectors = self.row(batch, at)
        return {
            "chains": list(self.chains),
            "blocks": [{"name": one.name, "places": one.places, "roles": one.roles} for one in self.blocks],
            "asked": list(self.asked),
            "width": self.width,
            "codes": batch.tokens[at, :, self.width :].tolist(),
            "first": {"words": words, "vectors": vectors},
        }


class Said(NamedTuple):
    """What a network says of one symbol of a chain: which was wanted, which it is nearest to, mean squared error."""

    wanted: str
    nearest: str
    error: float


def said(form: VectorForm, row: Row, chain: int, outputs: Float[Tensor, " d_out"]) -> list[Said]:
    """What the outputs at a chain's query say, symbol by symbol; errors as in ``static/vector_rows.js``."""
    names, numbers = list(row.vectors), torch.tensor(list(row.vectors.values()))
    found = []
    for place, one in zip(form.asked, outputs.reshape(len(form.asked), form.width), strict=True):
        wanted, gaps = f"{form.chains[chain]}{place}", (numbers - one).square().mean(-1)
        found.append(Said(wanted, names[int(gaps.argmin())], gaps[names.index(wanted)].item()))
    return found
