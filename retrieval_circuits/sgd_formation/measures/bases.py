"""The source's sparse autoencoder of states, and one that learns from all of training.

Source: nelson960, "From Retrieval Motifs To SGD Circuit Selection". It has half as many features as channels, learns
from standardised states of three late checkpoints, and has no seed; ours has one, the same for all networks.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.scores.sparse import Autoencoders, Descent

LATE, ALL = "late checkpoints", "all checkpoints"
"""What an autoencoder learns from: the source's does from three of the second half of training."""
N_FEATURES, L1, RATE, BATCH = 64, 1e-3, 1e-3, 256
UPDATES = {LATE: 400, ALL: 4_000}
"""Of each: the source's, and ten times as many for over twenty times as many rows."""
SEED = 0


@dataclass(frozen=True, eq=False)
class Basis:
    """An autoencoder of standardised states.

    Attributes:
        models: a stack of one; its centre is 0, as the source's decoder has no bias.
        mean: of each channel over the rows it learnt from.
        scale: their standard deviation.
    """

    models: Autoencoders
    mean: Float[Tensor, " d"]
    scale: Float[Tensor, " d"]

    def features(self, states: Float[Tensor, "*lead read d"]) -> Float[Tensor, "*lead read feature"]:
        """What is active in each state."""
        rows = ((states - self.mean) / self.scale).flatten(0, -2)
        return self.models.features(rows[None])[0].unflatten(0, states.shape[:-1])

    def explained(self, states: Float[Tensor, "row d"]) -> float:
        """Share of the variance of standardised states that it explains."""
        return self.models.explained_variance(((states - self.mean) / self.scale)[None]).item()


class _Uncentred(Descent):
    """Descent of an autoencoder whose decoder has no bias."""

    def gradients(self, x: Float[Tensor, "site row d"]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        *others, by_centre = super().gradients(x)
        return (*others, torch.zeros_like(by_centre))


def learnt(
    states: Float[Tensor, "row d"], n_updates: int, *, n_features: int = N_FEATURES, l1: float = L1, seed: int = SEED
) -> Basis:
    """An autoencoder; each update takes a batch of rows drawn anew."""
    generator = torch.Generator().manual_seed(seed)
    mean, scale = states.mean(0), states.std(0, correction=0).clamp(min=1e-6)
    rows, d = (states - mean) / scale, states.shape[-1]

    def drawn(*shape: int, fan_in: int) -> Tensor:
        return (2 * torch.rand(shape, generator=generator) - 1) / fan_in**0.5

    decoder = drawn(1, d, n_features, fan_in=n_features)
    models = Autoencoders(
        encoder=drawn(1, n_features, d, fan_in=d),
        threshold=drawn(1, 1, n_features, fan_in=d),
        decoder=decoder / decoder.norm(dim=1, keepdim=True),
        centre=torch.zeros(1, 1, d),
    )
    descent = _Uncentred(models, torch.full((1,), l1), RATE)
    for _ in range(n_updates):
        descent.step(rows[torch.randperm(len(rows), generator=generator)[:BATCH]][None])
    return Basis(models, mean, scale)
