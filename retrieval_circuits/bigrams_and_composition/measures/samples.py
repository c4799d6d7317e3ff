"""One gradient step on n rows: how many does a linear MLP need to learn what often follows, and how many attention?

Task of Chen, Bruna and Bietti (ICLR 2025) with all tokens equally frequent. Embeddings are at right angles and without
positions, attention is uniform and both matrices are zero, as before training, so that a row is its counts of tokens.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from retrieval_circuits.bigrams_and_composition.measures.source import Source, draw, even_source

MLP, ATTENTION = "linear MLP", "attention"


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Sizes at which it is asked.

    Attributes:
        sizes: N, tokens.
        length: T, tokens of a row; the last is the trigger.
        share: how often the noise token follows it, alpha.
        rows: n, of the gradient.
        n_draws: sets of rows that a seed draws.
        n_test: rows of each draw, without noise, on which the step is read.
    """

    sizes: tuple[int, ...]
    length: int
    share: float
    rows: tuple[int, ...]
    n_draws: int
    n_test: int


class Rows(NamedTuple):
    """Rows that end with the trigger, as a step at zero weights sees them."""

    averages: Float[Tensor, "draw row token"]
    """What uniform attention reads: shares of tokens."""
    missing: Float[Tensor, "draw row token"]
    """Minus the gradient of the logits: the answer less a uniform guess."""


def samples(asked: Samples, seed: int) -> list[dict[str, Any]]:
    """After one step of size 1 on n rows: a row a size, number of rows and part that was stepped.

    ``leads`` is the share of draws and test rows where the noise token has the largest logit, ``lead`` by how much on
    average (below 0 where it has not). Chance of ``leads``: 1/N.
    """
    generator = torch.Generator().manual_seed(seed)
    return [row for n_tokens in asked.sizes for row in _of_size(asked, n_tokens, generator)]


def noisy_source(n_tokens: int, share: float) -> Source:
    """All tokens equally frequent, one trigger, one noise token."""
    even = even_source(n_tokens, 1)
    return replace(even, noise=int(even.others[0]), share=share)


def rows_of(source: Source, asked: Samples, n_rows: int, generator: torch.Generator) -> Rows:
    """Rows drawn anew, their last token the trigger, in as many sets as there are draws."""
    n_tokens, total = len(source.chain), asked.n_draws * n_rows
    drawn = draw(source, total, asked.length, generator)
    drawn.tokens[:, -1] = source.triggers[0]
    noisy = torch.rand(total, generator=generator) < source.share
    answers = torch.where(noisy, source.noise, drawn.outputs[:, 0])
    averages = torch.zeros(total, n_tokens).scatter_add_(1, drawn.tokens, torch.ones(drawn.tokens.shape)) / asked.length
    missing = torch.nn.functional.one_hot(answers, n_tokens) - 1 / n_tokens
    shape = (asked.n_draws, n_rows, n_tokens)
    return Rows(averages=averages.view(shape), missing=missing.view(shape))


def steps(train: Rows, test: Rows, n_rows: int) -> dict[str, Float[Tensor, "draw row token"]]:
    """Logits on test rows after one step on the first ``n_rows``: of the MLP, which sees the trigger, and of W_O2."""
    missing = train.missing[:, :n_rows] / n_rows
    memory = train.averages[:, :n_rows].mT @ missing
    return {MLP: missing.sum(1, keepdim=True), ATTENTION: test.averages @ memory}


def _of_size(asked: Samples, n_tokens: int, generator: torch.Generator) -> Iterator[dict[str, Any]]:
    source = noisy_source(n_tokens, asked.share)
    train = rows_of(source, asked, max(asked.rows), generator)
    test = rows_of(replace(source, share=0.0), asked, asked.n_test, generator)
    for n_rows in asked.rows:
        for part, logits in steps(train, test, n_rows).items():
            rivals = logits.clone()
            rivals[..., source.noise] = -torch.inf
            lead = logits[..., source.noise] - rivals.amax(-1)
            measured = {"leads": (lead > 0).float().mean().item(), "lead": lead.mean().item()}
            yield {"part": part, "n_tokens": n_tokens, "rows": n_rows, **measured}
