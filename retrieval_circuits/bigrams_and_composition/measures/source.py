"""Sequences with triggers: a Markov chain in which a few tokens are always followed by what the sequence chose.

Task of Bietti et al. (NeurIPS 2023). Theirs counts characters of a corpus; here the chain is generated, with
frequencies by Zipf's law and rows by Dirichlet's, so that a seed draws it as well.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

CONCENTRATION = 0.2
"""Of the rows, by token: entropies come out near those of the source's corpus (3.3 nats of tokens, 2.5 of pairs)."""

DECIMALS = 12
"""Of frequencies; solvers agree to more."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A chain and its triggers, the most frequent tokens.

    Attributes:
        chain: pi_b, row ``i`` the law of what follows token ``i``.
        n_triggers: K.
        noise: the token that follows a trigger in place of its output, or -1 for none.
        share: how often it does, 0 to 1.
    """

    chain: Float[Tensor, "token next"]
    n_triggers: int
    noise: int = -1
    share: float = 0.0

    @cached_property
    def frequency(self) -> Float[Tensor, " token"]:
        """pi_u, the chain's stationary law."""
        return stationary(self.chain)

    @cached_property
    def triggers(self) -> Int[Tensor, " trigger"]:
        """The most frequent tokens, the most frequent first; of those that tie, the first."""
        return self.frequency.argsort(descending=True, stable=True)[: self.n_triggers]

    @cached_property
    def others(self) -> Int[Tensor, " output"]:
        """What an output may be: no trigger, and not the noise token."""
        free = torch.ones(len(self.chain), dtype=torch.bool)
        free[self.triggers] = False
        if self.noise >= 0:
            free[self.noise] = False
        return free.nonzero()[:, 0]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sequences:
    """Rows of tokens, and what follows each trigger in them."""

    tokens: Int[Tensor, "row pos"]
    outputs: Int[Tensor, "row trigger"]

    def __getitem__(self, rows: slice) -> "Sequences":
        return Sequences(tokens=self.tokens[rows], outputs=self.outputs[rows])


def even_source(n_tokens: int, n_triggers: int) -> Source:
    """All tokens follow each other equally often, so that all are equally frequent."""
    return Source(chain=torch.full((n_tokens, n_tokens), 1 / n_tokens, dtype=torch.float64), n_triggers=n_triggers)


def draw_source(n_tokens: int, n_triggers: int, chance: np.random.Generator) -> Source:
    """A chain whose rows are Dirichlet around Zipf's law, p(z) ~ 1/z.

    Raises:
        ValueError: fewer than two tokens beside the triggers.
    """
    if not 1 <= n_triggers <= n_tokens - 2:
        raise ValueError(f"{n_triggers} triggers among {n_tokens} tokens; allowed: 1 to {n_tokens - 2}")
    zipf = 1 / np.arange(1, n_tokens + 1)
    rows = chance.dirichlet(CONCENTRATION * n_tokens * zipf / zipf.sum(), size=n_tokens)
    return Source(chain=torch.from_numpy(rows), n_triggers=n_triggers)


def stationary(chain: Float[Tensor, "token next"]) -> Float[Tensor, " token"]:
    """The law that the chain keeps, by solving pi P = pi with sum 1.

    Rounded, so that tokens that are equally frequent tie: what a solver leaves of them differs from call to call.
    """
    n = len(chain)
    system = torch.cat([chain.double().T - torch.eye(n, dtype=torch.float64), torch.ones(1, n, dtype=torch.float64)])
    target = torch.zeros(n + 1, 1, dtype=torch.float64)
    target[-1] = 1
    return torch.linalg.lstsq(system, target).solution[:, 0].clamp(min=0).round(decimals=DECIMALS)


def entropies(source: Source) -> tuple[float, float]:
    """Of a token, and of a token given the one before, in nats."""
    law, rows = source.frequency, source.chain.double()
    return torch.special.entr(law).sum().item(), (law @ torch.special.entr(rows).sum(1)).item()


def draw(source: Source, n_rows: int, length: int, generator: torch.Generator) -> Sequences:
    """Sequences drawn anew: outputs uniform over ``source.others``, one for each trigger and row.

    Args:
        source: chain and triggers.
        n_rows: sequences.
        length: tokens of each.
        generator: of all chance.
    """
    n, k = len(source.chain), source.n_triggers
    place = torch.randint(len(source.others), (n_rows, k), generator=generator)
    outputs = source.others[place]
    which = torch.full((n,), -1)
    which[source.triggers] = torch.arange(k)
    ladder = (source.chain.double().cumsum(1).clamp(max=1) + torch.arange(n)[:, None]).flatten()
    tokens = torch.empty(n_rows, length, dtype=torch.long)
    tokens[:, 0] = torch.multinomial(source.frequency, n_rows, replacement=True, generator=generator)
    uniform = torch.rand(n_rows, length, dtype=torch.float64, generator=generator)
    noisy = torch.rand(n_rows, length, generator=generator) < source.share
    rows = torch.arange(n_rows)
    for at in range(1, length):
        before = tokens[:, at - 1]
        free = torch.searchsorted(ladder, before + uniform[:, at], right=True) - before * n
        trigger = which[before]
        told = torch.where(noisy[:, at], source.noise, outputs[rows, trigger.clamp(min=0)])
        tokens[:, at] = torch.where(trigger >= 0, told, free.clamp(max=n - 1))
    return Sequences(tokens=tokens, outputs=outputs)


def scored(source: Source, tokens: Int[Tensor, "row pos"]) -> Bool[Tensor, "row pos"]:
    """Where a trigger stands that has stood before in its row: its output has been seen."""
    found = torch.zeros(tokens.shape, dtype=torch.bool)
    for trigger in source.triggers:
        here = tokens == trigger
        found |= here & (here.cumsum(1) >= 2)
    return found


def some_scored(
    where: Bool[Tensor, "row pos"], most: int, generator: torch.Generator
) -> tuple[Int[Tensor, "row query"], Bool[Tensor, "row query"]]:
    """Up to ``most`` scored positions of each row, at random, and which of them are real."""
    order = torch.rand(where.shape, generator=generator) + where
    top = order.topk(min(most, where.shape[1]), dim=1)
    return top.indices, top.values >= 1
