"""Linear probes: what can be read off a site, which is not yet what the model uses.

Ridge regression onto one-hot labels, all sites and checkpoints solved as one batch. What does not depend on the labels
is made once (``Fit``), since one site is probed for many variables.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

Features = Float[Tensor, "*lead row d"]
TestFeatures = Float[Tensor, "*lead test_row d"]
RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Fit:
    """Training rows ready for any labels: standardised by their own mean and deviation, with their products.

    ``x [*lead row d]`` and ``gram [*lead d d]`` in float64; ``mean`` and ``std`` ``[*lead 1 d]``.
    """

    x: Tensor
    gram: Tensor
    mean: Tensor
    std: Tensor

    @classmethod
    def of(cls, train: Features) -> "Fit":
        """The fit to these rows."""
        mean, std = train.mean(-2, keepdim=True), train.std(-2, keepdim=True).clamp_min(1e-6)
        x = ((train - mean) / std).double()
        return cls(x, x.mT @ x, mean, std)

    def seen(self, rows: TestFeatures) -> TestFeatures:
        """Other rows as the fit sees them: standardised by the training rows."""
        return ((rows - self.mean) / self.std).double()

    def predict(
        self, labels: Int[Tensor, " row"], rows: TestFeatures, n_classes: int, ridge: float = RIDGE
    ) -> Int[Tensor, "*lead test_row"]:
        """The class of each of ``rows``, which are as ``seen`` gives them.

        The intercept is the mean of the one-hot labels; the penalty is ``ridge`` times the number of training rows.
        """
        target = functional.one_hot(labels, n_classes).double()
        centre = target.mean(0)
        return ((rows @ self._solution(target - centre, ridge * len(labels))) + centre).argmax(-1)

    def published_predict(
        self, labels: Int[Tensor, " row"], rows: TestFeatures, n_classes: int
    ) -> Int[Tensor, "*lead test_row"]:
        """The source's probe: no intercept, and a penalty of 1e-3 that does not grow with the rows."""
        return (rows @ self._solution(functional.one_hot(labels, n_classes).double(), 1e-3)).argmax(-1)

    def _solution(self, target: Tensor, penalty: float) -> Tensor:
        penalties = penalty * torch.eye(self.x.shape[-1], dtype=self.x.dtype)
        return torch.linalg.solve(self.gram + penalties, self.x.mT @ target)


OFTEN = 10
"""Rows a fold that a class has on average before a fold without it is no accident."""


def _lacks_a_class(labels: Int[Tensor, " row"], fold: Int[Tensor, " row"], folds: int) -> bool:
    counts = torch.bincount(labels.long() * folds + fold, minlength=folds * (int(labels.max()) + 1)).view(-1, folds)
    return bool(((counts == 0).any(1) & (counts.sum(1) >= OFTEN * folds)).any())


@dataclass(frozen=True, eq=False)
class Folds:
    """Training rows split for cross-validation: for each fold the fit to the others, and its rows as that sees them."""

    fold: Int[Tensor, " row"]
    fits: tuple[Fit, ...]
    held_out: tuple[Tensor, ...]

    @classmethod
    def of(cls, features: Features, labels: Iterable[Int[Tensor, " row"]] = (), folds: int = 4) -> "Folds":
        """Row i goes into fold i modulo ``folds``; where a fold then lacks a class, folds are rows that follow another.

        Rows that ask for each of four slots in turn would be told apart by their fold, and a fit to the other folds
        would never have seen the slot that it is asked for.

        Args:
            features: of the rows.
            labels: all that will be asked of them, one class a row each.
            folds: how many.

        Raises:
            ValueError: fewer than two rows per fold.
        """
        n_rows = features.shape[-2]
        if n_rows < 2 * folds:
            raise ValueError(f"{folds} folds need at least {2 * folds} rows, got {n_rows}")
        fold = torch.arange(n_rows) % folds
        if any(_lacks_a_class(one, fold, folds) for one in labels):
            fold = torch.arange(n_rows) * folds // n_rows
        fits = tuple(Fit.of(features[..., fold != i, :]) for i in range(folds))
        return cls(fold, fits, tuple(fit.seen(features[..., fold == i, :]) for i, fit in enumerate(fits)))

    def accuracy(self, labels: Int[Tensor, " row"], n_classes: int) -> Float[Tensor, "*lead"]:
        """Accuracy on held-out folds: what a site is chosen by. Chance: the largest class share."""
        hits = [
            fit.predict(labels[self.fold != i], rows, n_classes) == labels[self.fold == i]
            for i, (fit, rows) in enumerate(zip(self.fits, self.held_out, strict=True))
        ]
        return torch.cat(hits, -1).float().mean(-1)
