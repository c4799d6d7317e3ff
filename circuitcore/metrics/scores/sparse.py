"""Sparse autoencoders, a whole stack of them trained as one batch: as published, and to convergence.

An autoencoder writes ``x`` as ``b + D f`` with features ``f = relu(W (x - b) + c)`` and decoder columns of length 1.
Its loss is the mean squared error over rows and channels, plus an L1 weight times the mean feature.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.training.engines.update import TORCH_RULES

Rows = Float[Tensor, "site row d"]
Features = Float[Tensor, "site row feature"]

WIDTH = 2  # features per channel
PUBLISHED_L1, PUBLISHED_RATE, PUBLISHED_EPOCHS, PUBLISHED_BATCH = 1e-3, 1e-2, 5, 128


@dataclass(frozen=True, eq=False)
class Autoencoders:
    """The parameters of a stack of autoencoders, one per site."""

    encoder: Float[Tensor, "site feature d"]  # W
    threshold: Float[Tensor, "site 1 feature"]  # c
    decoder: Float[Tensor, "site d feature"]  # D
    centre: Float[Tensor, "site 1 d"]  # b

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All four, in the order of the fields."""
        return self.encoder, self.threshold, self.decoder, self.centre

    def features(self, x: Rows) -> Features:
        """What is active on each row; never negative."""
        return torch.baddbmm(self.threshold, x - self.centre, self.encoder.mT).relu_()

    def rebuilt(self, features: Features) -> Rows:
        """The rows as the features describe them."""
        return torch.baddbmm(self.centre, features, self.decoder.mT)

    def losses(self, x: Rows) -> tuple[Float[Tensor, " site"], Float[Tensor, " site"]]:
        """Mean squared error over rows and channels, and the mean feature."""
        features = self.features(x)
        return (self.rebuilt(features) - x).square().mean((1, 2)), features.mean((1, 2))

    def explained_variance(self, x: Rows) -> Float[Tensor, " site"]:
        """1 - residual / total sum of squares about the mean row: 1 perfect, 0 no better than the mean row.

        NaN, or far below 0, where the rows do not differ.
        """
        residual = (self.rebuilt(self.features(x)) - x).square().sum((1, 2))
        return 1 - residual / (x - x.mean(1, keepdim=True)).square().sum((1, 2))

    @classmethod
    def published_start(cls, n_sites: int, d: int, generator: torch.Generator) -> "Autoencoders":
        """PyTorch's defaults for linear layers, and the centre at 0: the source names no other."""
        n_features = WIDTH * d
        encoder = _uniform((n_sites, n_features, d), d, generator)
        threshold = _uniform((n_sites, 1, n_features), d, generator)
        decoder = _of_length_one(_uniform((n_sites, d, n_features), n_features, generator))
        return cls(encoder, threshold, decoder, torch.zeros(n_sites, 1, d))

    @classmethod
    def tied_start(cls, n_sites: int, d: int, generator: torch.Generator) -> "Autoencoders":
        """Decoder columns in random directions, each read by its own transpose; threshold and centre at 0."""
        decoder = _of_length_one(torch.randn(n_sites, d, WIDTH * d, generator=generator))
        return cls(decoder.mT.contiguous(), torch.zeros(n_sites, 1, WIDTH * d), decoder, torch.zeros(n_sites, 1, d))


class Descent:
    """Adam on a stack of autoencoders, which it changes in place.

    The gradients are written out: automatic differentiation takes twice as long over products this small.

    Raises:
        ValueError: parameters that are not contiguous, which the fused Adam would read in the wrong order.
    """

    def __init__(self, models: Autoencoders, l1: Float[Tensor, " site"], rate: float):
        if not all(tensor.is_contiguous() for tensor in models.tensors):
            raise ValueError("the parameters of autoencoders to be trained must be contiguous")
        self.models, self.l1 = models, l1
        self._adam = TORCH_RULES["adam"](models.tensors, lr=rate, fused=True)

    def set_rate(self, rate: float) -> None:
        """Go on at another learning rate."""
        self._adam.param_groups[0]["lr"] = rate

    def step(self, x: Rows) -> None:
        """One update on a batch of rows, and decoder columns back to length 1."""
        for tensor, gradient in zip(self.models.tensors, self.gradients(x), strict=True):
            tensor.grad = gradient
        self._adam.step()
        self.models.decoder.div_(self.models.decoder.norm(dim=1, keepdim=True))

    def gradients(self, x: Rows) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Derivatives of each site's loss by its own parameters, as ``Autoencoders.tensors`` orders them."""
        models = self.models
        features = models.features(x)
        error = (models.rebuilt(features) - x).mul_(2 / x[0].numel())  # derivative by the rebuilt rows
        per_feature = self.l1[:, None, None] / features[0].numel()
        back = torch.baddbmm(per_feature, error, models.decoder).mul_(features > 0)
        by_threshold = back.sum(1, keepdim=True)
        by_centre = error.sum(1, keepdim=True) - by_threshold @ models.encoder
        return back.mT @ (x - models.centre), by_threshold, error.mT @ features, by_centre

    def losses(self, x: Rows) -> Float[Tensor, " site"]:
        """The loss of each site on all of these rows."""
        error, active = self.models.losses(x)
        return error + self.l1 * active


def train_as_published(x: Rows, seed: int) -> Autoencoders:
    """The source's autoencoders: 5 epochs of Adam at 1e-2 on batches of 128 raw rows.

    Args:
        x: training rows of each site; the source's 1024 rows make 40 steps, which is far from convergence.
        seed: of the run; decides initial weights and order.
    """
    generator = torch.Generator().manual_seed(seed)
    models = Autoencoders.published_start(len(x), x.shape[-1], generator)
    descent = Descent(models, torch.full((len(x),), PUBLISHED_L1), PUBLISHED_RATE)
    for _ in range(PUBLISHED_EPOCHS):
        for rows in torch.randperm(x.shape[1], generator=generator).split(PUBLISHED_BATCH):
            descent.step(x[:, rows])
    return models


def _uniform(shape: tuple[int, ...], fan_in: int, generator: torch.Generator) -> Tensor:
    return (2 * torch.rand(shape, generator=generator) - 1) / fan_in**0.5


def _of_length_one(decoder: Tensor) -> Tensor:
    return decoder / decoder.norm(dim=1, keepdim=True)
