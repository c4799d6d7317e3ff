"""Sparse autoencoders: a published step by hand, gradients, a planted dictionary, what is said of a dictionary."""

import math

import numpy as np
import pytest
import torch

from circuitcore.metrics.scores import sparse_converged
from circuitcore.metrics.scores.sparse import (
    PUBLISHED_L1,
    PUBLISHED_RATE,
    Autoencoders,
    Descent,
    train_as_published,
)
from circuitcore.metrics.scores.sparse_converged import LengthKeepingDescent, train_to_convergence
from circuitcore.metrics.scores.superposition import activity, geometry, held_out


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def planted(n_rows, d, n_atoms, per_row, seed):
    """Rows that are each a sum of a few of ``n_atoms`` random directions, and those directions."""
    g = generator(seed)
    atoms = torch.randn(n_atoms, d, generator=g)
    atoms /= atoms.norm(dim=1, keepdim=True)
    there = torch.rand(n_rows, n_atoms, generator=g) < per_row / n_atoms
    return (there * (0.5 + torch.rand(n_rows, n_atoms, generator=g))) @ atoms, atoms


# Training as published.


def numpy_step(x, w, c, d, b):
    """One update of the source's autoencoder, written with loops over rows and features where it is not obvious."""
    n, width = x.shape
    features = np.maximum((x - b) @ w.T + c, 0)
    error = features @ d.T + b - x
    g_w, g_c, g_d, g_b = (np.zeros_like(part) for part in (w, c, d, b))
    for row in range(n):
        by_rebuilt = 2 * error[row] / (n * width)
        g_b += by_rebuilt
        for i in range(len(c)):
            g_d[:, i] += by_rebuilt * features[row, i]
            if features[row, i] > 0:
                by_feature = by_rebuilt @ d[:, i] + PUBLISHED_L1 / (n * len(c))
                g_w[i] += by_feature * (x[row] - b)
                g_c[i] += by_feature
                g_b -= by_feature * w[i]
    # The first step of Adam: both means are corrected to the gradient and its square.
    w, c, d, b = (
        part - PUBLISHED_RATE * g / (np.abs(g) + 1e-8)
        for part, g in zip((w, c, d, b), (g_w, g_c, g_d, g_b), strict=True)
    )
    return w, c, d / np.linalg.norm(d, axis=0), b


def test_a_published_step_is_that_written_out():
    x = torch.randn(3, 20, 4, generator=generator(1), dtype=torch.float64)
    start = Autoencoders.published_start(3, 4, generator())
    models = Autoencoders(*(tensor.double() for tensor in start.tensors))
    expected = [numpy_step(x[i].numpy(), *(t[i].numpy().squeeze() for t in models.tensors)) for i in range(3)]
    Descent(models, torch.full((3,), PUBLISHED_L1).double(), PUBLISHED_RATE).step(x)
    for site in range(3):
        for found, wanted in zip(models.tensors, expected[site], strict=True):
            # Where a gradient is as small as Adam's 1e-8 the two orders of summation may differ.
            assert np.allclose(found[site].numpy().squeeze(), wanted, atol=1e-6)


def test_gradients_are_those_of_automatic_differentiation():
    x, l1 = torch.randn(2, 30, 5, generator=generator(1), dtype=torch.float64), torch.tensor([0.3, 2.0]).double()
    models = Autoencoders(
        *(t.double().requires_grad_() for t in Autoencoders.published_start(2, 5, generator()).tensors)
    )
    features = ((x - models.centre) @ models.encoder.mT + models.threshold).relu()
    error = (features @ models.decoder.mT + models.centre - x).square().mean((1, 2))
    (error + l1 * features.mean((1, 2))).sum().backward()
    with torch.no_grad():
        found = Descent(models, l1, 0.1).gradients(x)
        assert torch.allclose(Descent(models, l1, 0.1).losses(x), error + l1 * features.mean((1, 2)))
    for tensor, gradient in zip(models.tensors, found, strict=True):
        assert torch.allclose(tensor.grad, gradient)


def test_published_training_takes_forty_steps_in_columns_of_length_one(monkeypatch):
    steps = []
    step = Descent.step
    monkeypatch.setattr(Descent, "step", lambda self, x: (steps.append(x.shape), step(self, x)))
    x, _ = planted(1024, 8, 10, 2, 0)
    models = train_as_published(x[None], 0)
    assert steps == [(1, 128, 8)] * 40
    assert models.encoder.shape == (1, 16, 8)
    assert torch.allclose(models.decoder.norm(dim=1), torch.ones(1, 16))
    before = Autoencoders.published_start(1, 8, generator()).losses(x[None])[0]
    assert models.losses(x[None])[0] < before / 2


def test_training_is_a_function_of_the_seed():
    x = planted(256, 8, 10, 2, 0)[0][None]
    first, again, other = (train_as_published(x, seed) for seed in (3, 3, 4))
    assert all(torch.equal(a, b) for a, b in zip(first.tensors, again.tensors, strict=True))
    assert not torch.equal(first.encoder, other.encoder)


def test_sites_of_a_stack_do_not_touch_each_other():
    x = planted(256, 8, 10, 2, 0)[0]
    both = train_as_published(torch.stack([x, 5 - 3 * x]), 0)
    moved = train_as_published(torch.stack([x, x.flip(1)]), 0)
    assert torch.allclose(both.encoder[0], moved.encoder[0]) and not torch.allclose(both.encoder[1], moved.encoder[1])


def test_parameters_that_are_not_contiguous_are_refused():
    models = Autoencoders.tied_start(1, 4, generator())
    turned = Autoencoders(models.decoder.mT, models.threshold, models.decoder, models.centre)
    with pytest.raises(ValueError, match="contiguous"):
        Descent(turned, torch.ones(1), 0.1)


# Training to convergence.


@pytest.fixture(scope="module")
def converged():
    """Two planted dictionaries of 24 atoms in 24 channels, one of them shifted and stretched."""
    drawn = [planted(4608, 24, 24, per_row, seed) for seed, per_row in ((0, 2), (1, 3))]
    rows = torch.stack([drawn[0][0], 40 * drawn[1][0] - 7])
    with torch.inference_mode():
        return train_to_convergence(rows[:, :4096], rows[:, 4096:4352], 0), rows[:, 4352:], [a for _, a in drawn]


def test_a_planted_dictionary_is_recovered(converged):
    trained, unseen, dictionaries = converged
    x = trained.seen(unseen)
    assert (trained.models.explained_variance(x) > 0.95).all()
    for site, atoms in enumerate(dictionaries):
        best = (atoms @ trained.models.decoder[site]).amax(1)
        assert best.median() > 0.98 and best.min() > 0.9
    per_row = activity(trained.models.features(x))["mean_active"]
    assert per_row[0] < 2.5 * 2 and per_row[1] < 2.5 * 3  # of 48 features; 2 and 3 were planted


def test_training_ends_when_the_loss_stands_still(converged):
    trained, _, _ = converged
    assert sparse_converged.SEARCH_STEPS < trained.n_steps < sparse_converged.MOST_STEPS
    assert (trained.gain <= sparse_converged.SMALLEST_GAIN).all()


def test_gradients_that_keep_lengths_are_those_of_columns_divided_by_their_length():
    """Of the loss as a function of directions alone, which training moves; the other three are the plain ones."""
    x, l1 = torch.randn(2, 30, 5, generator=generator(1), dtype=torch.float64), torch.tensor([0.3, 2.0]).double()
    models = Autoencoders(*(tensor.double() for tensor in Autoencoders.tied_start(2, 5, generator()).tensors))
    free = models.decoder.clone().requires_grad_()
    turned = Autoencoders(models.encoder, models.threshold, free / free.norm(dim=1, keepdim=True), models.centre)
    features = ((x - models.centre) @ models.encoder.mT + models.threshold).relu()
    (features @ turned.decoder.mT + models.centre - x).square().mean((1, 2)).sum().backward()
    plain, kept = (kind(models, l1, 0.1).gradients(x) for kind in (Descent, LengthKeepingDescent))
    assert torch.allclose(kept[2], free.grad) and not torch.allclose(kept[2], plain[2])
    assert all(torch.equal(plain[number], kept[number]) for number in (0, 1, 3))


def test_the_weight_follows_what_is_explained(monkeypatch):
    """With half the variance to explain, a larger weight and fewer active features."""
    x = planted(1200, 12, 12, 2, 0)[0][None]
    found = []
    for least in (0.95, 0.5):
        monkeypatch.setattr(sparse_converged, "LEAST_EXPLAINED", least)
        trained = train_to_convergence(x[:, :1024], x[:, 1024:], 0)
        numbers = held_out(trained.models, trained.seen(x[:, 1024:]))
        found.append((float(trained.l1), float(numbers["mean_active"]), float(numbers["explained_variance"])))
    assert found[1][0] > found[0][0] and found[1][1] < found[0][1]
    assert abs(found[0][2] - 0.95) < 0.03 and abs(found[1][2] - 0.5) < 0.1


def test_training_ends_where_it_is_told_to():
    x = torch.randn(2, 256, 8, generator=torch.Generator().manual_seed(1))
    for most, steps in ((50, 50), (1450, 1400), (1600, 1600), (1700, 1600)):
        trained = train_to_convergence(x[:, :192], x[:, 192:], 0, most)
        assert trained.n_steps == steps and trained.gain.isnan().all() == (steps < 1600)
    with pytest.raises(ValueError, match="most_steps: at least 25, .* got 24"):
        train_to_convergence(x[:, :192], x[:, 192:], 0, 24)


def test_a_constant_site_cannot_be_trained():
    x = torch.stack([torch.randn(64, 4, generator=generator()), torch.full((64, 4), 2.0)])
    with pytest.raises(ValueError, match="site 1 of the stack is constant"):
        train_to_convergence(x, x, 0)


# What is said of it.


def test_explained_variance_of_perfect_and_useless_models():
    x = torch.randn(1, 50, 3, generator=generator()).double()
    eye = torch.eye(3).double()
    both_signs = Autoencoders(
        torch.cat([eye, -eye])[None], torch.zeros(1, 1, 6).double(), torch.cat([eye, -eye], 1)[None],
        torch.zeros(1, 1, 3).double(),
    )  # fmt: skip
    assert float(both_signs.explained_variance(x)) == pytest.approx(1)
    silent = Autoencoders(both_signs.encoder, both_signs.threshold - 100, both_signs.decoder, x.mean(1, keepdim=True))
    assert float(silent.explained_variance(x)) == pytest.approx(0)
    residual = (x[0] - 0.5).square().sum() / (x[0] - x[0].mean(0)).square().sum()
    off = Autoencoders(
        both_signs.encoder, both_signs.threshold - 100, both_signs.decoder, torch.full((1, 1, 3), 0.5).double()
    )
    assert float(off.explained_variance(x)) == pytest.approx(float(1 - residual))


def test_activity_written_out():
    features = torch.tensor([[[0.0, 1.0, 0.0, 2.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]])
    found = {name: float(value) for name, value in activity(features).items()}
    assert found == {"active": 2, "mean_active": 1, "density": 0.25}


def test_geometry_of_known_columns():
    orthogonal = geometry(torch.eye(5))
    assert orthogonal["stable_rank"] == pytest.approx(5)
    assert orthogonal["decoder_cos_mean"] == orthogonal["decoder_cos_max"] == orthogonal["decoder_cos_share"] == 0
    parallel = geometry(torch.tensor([[1.0, -1.0, 1.0], [0.0, 0.0, 0.0]]))
    assert all(parallel[name] == pytest.approx(1) for name in parallel)
    assert geometry(torch.ones(4, 1)) == {}


def test_geometry_written_out():
    decoder = torch.randn(6, 9, generator=generator())
    decoder /= decoder.norm(dim=0)
    cosines = [abs(float(decoder[:, i] @ decoder[:, j])) for i in range(9) for j in range(i)]
    found = geometry(decoder)
    assert found["decoder_cos_mean"] == pytest.approx(sum(cosines) / 36, rel=1e-5)
    assert found["decoder_cos_max"] == pytest.approx(max(cosines), rel=1e-5)
    assert found["decoder_cos_share"] == pytest.approx(sum(cosine >= 0.2 for cosine in cosines) / 36)
    largest = np.linalg.svd(decoder.numpy(), compute_uv=False)[0]
    assert found["stable_rank"] == pytest.approx(9 / largest**2, rel=1e-5)


def test_random_directions_score_the_stated_chance():
    decoder = torch.randn(64, 128, generator=generator())
    assert geometry(decoder / decoder.norm(dim=0))["decoder_cos_mean"] == pytest.approx(
        math.sqrt(2 / (math.pi * 64)), abs=0.003
    )
