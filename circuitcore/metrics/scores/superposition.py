"""What a trained sparse autoencoder says of its site: how much it explains, with how many features, how far apart.

Source: retrieval-motifs study, superposition.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.scores.sparse import Autoencoders, Rows

NEAR = 0.2  # |cosine| from which the source counts two decoder columns as overlapping


def activity(features: Float[Tensor, "site row feature"]) -> dict[str, Float[Tensor, " site"]]:
    """Features active (above 0) on any row, on the mean row, and the latter's share of all features."""
    active = (features > 0).float()
    per_row = active.sum(-1).mean(-1)
    return {
        "active": active.amax(1).sum(-1),
        "mean_active": per_row,
        "density": per_row / features.shape[-1],
    }


def geometry(decoder: Float[Tensor, "d feature"]) -> dict[str, float]:
    """Pairwise |cosine| of decoder columns of length 1 (mean, largest, share of at least 0.2), and the stable rank.

    Stable rank is the squared Frobenius over the squared spectral norm: the number of columns where all are
    orthogonal, 1 where all are parallel. Random directions have a mean |cosine| of about sqrt(2 / (pi d)).

    Returns:
        Nothing where there are fewer than two columns.
    """
    n = decoder.shape[1]
    if n < 2:
        return {}
    row, column = torch.triu_indices(n, n, 1)
    cosine = (decoder.mT @ decoder).abs()[row, column]
    return {
        "decoder_cos_mean": float(cosine.mean()),
        "decoder_cos_max": float(cosine.max()),
        "decoder_cos_share": float((cosine >= NEAR).float().mean()),
        "stable_rank": float(decoder.square().sum() / torch.linalg.matrix_norm(decoder, 2).square()),
    }


def held_out(models: Autoencoders, x: Rows) -> dict[str, Float[Tensor, " site"]]:
    """Explained variance, mean squared error, mean feature, and activity, on rows not trained on."""
    error, mean_feature = models.losses(x)
    return {
        "explained_variance": models.explained_variance(x),
        "mse": error,
        "mean_feature": mean_feature,
        **activity(models.features(x)),
    }
