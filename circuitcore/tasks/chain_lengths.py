"""Chains of look-ups in several lengths, whose last symbol alone is wanted: short chains to learn long ones from.

``ChainRetrieval`` rewards the symbols on the way, or not. Here nothing on the way is rewarded, and what may help is
that some rows have shorter chains: in a stage of their own, or among the others.
"""

import dataclasses
import functools
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from circuitcore.tasks.base import Batch
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.tasks.errors import TaskError
from circuitcore.tasks.kv_sampling import random_bits
from circuitcore.tasks.symbol_chains import SPLITS

MIXED = "mixed"


@dataclass(frozen=True, kw_only=True)
class ChainsOfLengths(ChainRetrieval):
    """``ChainRetrieval`` that wants the last symbol, with more splits to train on.

    "train", "val" and "test" hold chains of ``n_steps`` look-ups, and "val" and "test" the same rows as
    ``ChainRetrieval`` has. "train_1", "train_2", ... hold shorter chains: a row of d look-ups is shorter, its queries
    stand earlier, and it is padded on the right with zeros. "mixed" draws the length of each row, all equally often.

    Raises:
        TaskError: as ``ChainRetrieval``, or targets: they are the last symbol.
    """

    name: ClassVar[str] = "chain_lengths"

    def __post_init__(self):
        super().__post_init__()
        if self.targets:
            raise TaskError(f"targets = {list(self.targets)}; allowed: none, each row's last symbol is what is wanted")

    @property
    def asked(self) -> tuple[int, ...]:
        """The last symbol."""
        return (self.n_steps,)

    @property
    def splits(self) -> tuple[str, ...]:
        """Those of ``ChainRetrieval``, one of each shorter length, and one of all lengths."""
        return (*SPLITS, *(f"train_{length}" for length in range(1, self.n_steps)), MIXED)

    def make_rows(self, split: str, n_rows: int, seed: int) -> Batch:
        """``n_rows`` fresh rows of a split."""
        if split in SPLITS:
            return super().make_rows(split, n_rows, seed)
        if split != MIXED:
            return self._short(int(split.removeprefix("train_")), n_rows, seed, "length")
        words = random_bits(seed, "chains, lengths").random_raw(n_rows)
        length = torch.from_numpy((words % self.n_steps).astype("int64")) + 1
        parts = [self._short(n, n_rows, seed, "mixed, length") for n in range(1, self.n_steps + 1)]
        chosen = functools.partial(_chosen, length=length)
        return Batch(
            tokens=chosen([part.tokens for part in parts]),
            targets=chosen([part.targets for part in parts]),
            loss_mask=chosen([part.loss_mask for part in parts]),
            roles={role: chosen([part.roles[role] for part in parts]) for role in ("read_out", "queries")},
        )

    def _short(self, length: int, n_rows: int, seed: int, stream: str) -> Batch:
        """Rows of chains of ``length`` look-ups, padded to the longest row, from a stream of their own."""
        task = ChainRetrieval(
            n_chains=self.n_chains, d_symbol=self.d_symbol, n_steps=length, targets=(length,), n_test=self.n_test
        )
        batch = task.make_rows(f"{stream} {length}", n_rows, seed)
        pad = functools.partial(_padded, n_pos=self.max_length)
        roles = {role: batch.roles[role] for role in ("read_out", "queries")}
        return dataclasses.replace(
            batch, tokens=pad(batch.tokens), targets=pad(batch.targets), loss_mask=pad(batch.loss_mask), roles=roles
        )


def _padded(values: Tensor, n_pos: int) -> Tensor:
    padded = values.new_zeros(len(values), n_pos, *values.shape[2:])
    padded[:, : values.shape[1]] = values
    return padded


def _chosen(parts: list[Tensor], length: Tensor) -> Tensor:
    """Row by row the values of the part that has its length; part 0 has chains of one look-up."""
    return torch.stack(parts, 1)[torch.arange(len(length)), length - 1]
