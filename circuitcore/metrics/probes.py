"""Linear probes: what can be read off a site, which is not yet what the model uses.

Ridge regression onto one-hot labels, all sites and checkpoints solved as one batch.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

Features = Float[Tensor, "*lead row d"]
TestFeatures = Float[Tensor, "*lead test_row d"]
RIDGE = 1e-3


def fit_predict(
    train: Features, labels: Int[Tensor, " row"], test: TestFeatures, n_classes: int, ridge: float = RIDGE
) -> Int[Tensor, "*lead test_row"]:
    """Fit on ``train``, predict the class of each row of ``test``.

    Features are standardised by the training rows; the intercept is the mean of the one-hot labels; the penalty is
    ``ridge`` times the number of rows.
    """
    mean, std = train.mean(-2, keepdim=True), train.std(-2, keepdim=True).clamp_min(1e-6)
    x, target = ((train - mean) / std).double(), functional.one_hot(labels, n_classes).double()
    centre = target.mean(0)
    gram = x.mT @ x + ridge * len(labels) * torch.eye(x.shape[-1], dtype=x.dtype)
    solution = torch.linalg.solve(gram, x.mT @ (target - centre))
    return ((((test - mean) / std).double() @ solution) + centre).argmax(-1)


def published_fit_predict(
    train: Features, labels: Int[Tensor, " row"], test: TestFeatures, n_classes: int
) -> Int[Tensor, "*lead test_row"]:
    """The source's probe: no intercept, and a penalty of 1e-3 that does not grow with the rows."""
    mean, std = train.mean(-2, keepdim=True), train.std(-2, keepdim=True).clamp_min(1e-6)
    x, target = ((train - mean) / std).double(), functional.one_hot(labels, n_classes).double()
    gram = x.mT @ x + 1e-3 * torch.eye(x.shape[-1], dtype=x.dtype)
    return (((test - mean) / std).double() @ torch.linalg.solve(gram, x.mT @ target)).argmax(-1)


def cross_validated_accuracy(
    features: Features, labels: Int[Tensor, " row"], n_classes: int, folds: int = 4
) -> Float[Tensor, "*lead"]:
    """Accuracy on held-out folds of the training rows: what a site is chosen by. Chance: the largest class share.

    Raises:
        ValueError: fewer than two rows per fold.
    """
    if len(labels) < 2 * folds:
        raise ValueError(f"{folds} folds need at least {2 * folds} rows, got {len(labels)}")
    fold = torch.arange(len(labels)) % folds
    hits = [
        (
            fit_predict(features[..., fold != i, :], labels[fold != i], features[..., fold == i, :], n_classes)
            == labels[fold == i]
        )
        for i in range(folds)
    ]
    return torch.cat(hits, -1).float().mean(-1)
