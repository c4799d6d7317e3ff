"""Sparse autoencoders trained until they change no more, as sparse as about 95 % of explained variance allows.

A sparsity means nothing without the variance it explains, and two can be compared only where that is about the same.
So the L1 weight follows one rule for all sites and runs, fixed before any run was looked at: while the search lasts, a
look at rows not trained on raises the weight where at least ``LEAST_EXPLAINED`` of their variance is explained, and
lowers it where less is. It then stays at the lowest of the last looks, training goes on at a lower rate, and ends when
no loss falls by more than 0.1 % within 200 steps, or after 5000 steps in all, or fewer if so told. What is explained in
the end is reported with the sparsity: the last part of training adds about a per cent to it. Learning rates, and the
descent that keeps lengths, were settled by the loss alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.scores.sparse import Autoencoders, Descent, Rows

OtherRows = Float[Tensor, "site other_row d"]

LEAST_EXPLAINED = 0.95
BATCH = 64  # the cheapest of 32, 64 and 128 on planted dictionaries, at about the same number of steps
FIRST_L1, SEARCH_STEPS, LOOK_EVERY, FACTOR, LAST_LOOKS = 0.1, 1400, 25, 1.1, 10
SEARCH_RATE, RATE = 1e-2, 3e-4
CHECK_EVERY, SMALLEST_GAIN, MOST_STEPS = 200, 1e-3, 5000


@dataclass(frozen=True, eq=False)
class Converged:
    """Autoencoders of standardised rows, one per site.

    Attributes:
        models: their parameters, for rows as ``seen`` gives them.
        mean: of the training rows.
        scale: root mean square of their channels about the mean, one number per site: angles are those of the site.
        l1: the weight that the rule chose.
        gain: share by which the loss fell in the last 200 steps; above 0.001 where all steps were not enough, NaN where
            there were none beside the search.
        n_steps: of the whole stack.
    """

    models: Autoencoders
    mean: Float[Tensor, "site 1 d"]
    scale: Float[Tensor, "site 1 1"]
    l1: Float[Tensor, " site"]
    gain: Float[Tensor, " site"]
    n_steps: int

    def seen(self, x: Rows) -> Rows:
        """Rows as the autoencoders see them."""
        return (x - self.mean) / self.scale


class LengthKeepingDescent(Descent):
    """Descent along which no gradient pulls at the length of a decoder column.

    Longer columns with smaller features would lower the L1 term, so the plain gradient points outwards. Adam, which
    scales every coordinate by its own gradients, would turn that pull into one sideways, and setting the length back to
    1 afterwards does not undo it: the loss then creeps up again instead of standing still.
    """

    def gradients(self, x: Rows) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """As in ``Descent``, less what points along a decoder column."""
        encoder, threshold, by_decoder, centre = super().gradients(x)
        decoder = self.models.decoder
        outwards = (by_decoder * decoder).sum(1, keepdim=True)
        return encoder, threshold, torch.addcmul(by_decoder, decoder, outwards, value=-1), centre


def train_to_convergence(x: Rows, choice: OtherRows, seed: int, most_steps: int = MOST_STEPS) -> Converged:
    """One autoencoder per site, its L1 weight chosen by the rule above.

    Args:
        x: training rows of each site.
        choice: rows not trained on, by which the weight is chosen.
        seed: of the run; decides initial weights and order.
        most_steps: where training ends even if a loss still falls, or up to 200 steps before; the search for the weight
            takes no more either.

    Raises:
        ValueError: a site whose rows are all the same, or too few steps to look at what is explained.
    """
    if most_steps < LOOK_EVERY:
        raise ValueError(f"most_steps: at least {LOOK_EVERY}, after which the L1 weight is looked at; got {most_steps}")
    mean = x.mean(1, keepdim=True)
    scale = (x - mean).square().mean((1, 2), keepdim=True).sqrt()
    if not scale.all():
        raise ValueError(f"site {int(scale.flatten().argmin())} of the stack is constant: there is nothing to explain")
    x, generator = (x - mean) / scale, torch.Generator().manual_seed(seed)
    models = Autoencoders.tied_start(len(x), x.shape[-1], generator)
    descent = LengthKeepingDescent(models, torch.full((len(x),), FIRST_L1), SEARCH_RATE)
    batches = _batches(x, generator)
    searched = min(SEARCH_STEPS, most_steps)
    _search(descent, batches, (choice - mean) / scale, searched)
    descent.set_rate(RATE)
    gain, n_steps = _settle(descent, batches, x, (searched, most_steps))
    return Converged(models, mean, scale, descent.l1, gain, n_steps)


def _search(descent: Descent, batches: Iterator[Rows], choice: Rows, n_steps: int) -> None:
    """Move the L1 weights to where just enough is explained."""
    looks = []
    for step in range(1, n_steps + 1):
        descent.step(next(batches))
        if step % LOOK_EVERY == 0:
            enough = descent.models.explained_variance(choice) >= LEAST_EXPLAINED
            descent.l1 = torch.where(enough, descent.l1 * FACTOR, descent.l1 / FACTOR)
            looks.append(descent.l1)
    descent.l1 = torch.stack(looks[-LAST_LOOKS:]).amin(0)


def _settle(descent: Descent, batches: Iterator[Rows], x: Rows, steps: tuple[int, int]) -> tuple[Tensor, int]:
    """Train with fixed L1 weights until the slowest loss stands still: the last gains, and steps with the search's.

    Args:
        descent: what trains.
        batches: rows for it.
        x: rows whose loss is looked at.
        steps: the search's, and at most with them.
    """
    before, gain, (step, most) = descent.losses(x), torch.full((len(x),), torch.nan), steps
    while step + CHECK_EVERY <= most and not (gain <= SMALLEST_GAIN).all():
        for _ in range(CHECK_EVERY):
            descent.step(next(batches))
        step, loss = step + CHECK_EVERY, descent.losses(x)
        gain, before = 1 - loss / before, loss
    return gain, step


def _batches(x: Rows, generator: torch.Generator) -> Iterator[Rows]:
    """Batches without end, epoch by epoch; every site sees the same rows."""
    while True:
        for rows in torch.randperm(x.shape[1], generator=generator).split(BATCH):
            yield x[:, rows]
