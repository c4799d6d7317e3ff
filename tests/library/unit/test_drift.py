"""Measures of drift: plain formulas, invariances, and pairs in time order."""

import numpy as np
import pytest
import torch

from circuitcore.metrics.instruments.drift import drift, linear_cka, mean_cosine, pairs, relative_change
from circuitcore.metrics.instruments.tracked import Sweep


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def plain_cka(left, right):
    """From the two Gram matrices of rows, centred: the definition, which the product of channels only shortens."""
    n = len(left)
    centre = np.eye(n) - np.ones((n, n)) / n
    grams = [centre @ (side.numpy() @ side.numpy().T) @ centre for side in (left, right)]
    return (grams[0] * grams[1]).sum() / np.sqrt((grams[0] ** 2).sum() * (grams[1] ** 2).sum())


def test_cka_is_that_of_the_gram_matrices():
    left, right = drawn(3, 40, 6) + 1, drawn(3, 40, 4, seed=1)
    right = right + left[..., :4]
    for i in range(3):
        assert float(linear_cka(left, right)[i]) == pytest.approx(plain_cka(left[i], right[i]))


def test_cka_ignores_rotation_scale_and_shift_but_not_stretching():
    x = drawn(60, 5)
    rotation = torch.linalg.qr(drawn(5, 5, seed=1)).Q
    assert float(linear_cka(x, -3 * x @ rotation + 7)) == pytest.approx(1)
    assert float(linear_cka(x, x * torch.tensor([10.0, 1, 1, 1, 1]))) < 0.9
    assert float(linear_cka(x, drawn(60, 5, seed=2))) < 0.3
    assert torch.isnan(linear_cka(x, torch.ones(60, 5).double()))


def test_mean_cosine_and_relative_change_written_out():
    left, right = drawn(30, 4) + 1, drawn(30, 4, seed=1)
    a, b = left.numpy().mean(0), right.numpy().mean(0)
    assert float(mean_cosine(left, right)) == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    change = np.sqrt(((right - left).numpy() ** 2).sum()) / np.sqrt((left.numpy() ** 2).sum())
    assert float(relative_change(left, right)) == pytest.approx(change)
    assert float(relative_change(left, left)) == 0 and float(relative_change(left, 3 * left)) == pytest.approx(2)


def test_each_pair_once():
    assert pairs(1) == []
    assert pairs(2) == [(0, 1), (1, 0)]
    assert pairs(4) == [(0, 3), (1, 0), (1, 3), (2, 0), (2, 3), (2, 1), (3, 0), (3, 2)]


def test_change_is_relative_to_the_earlier_checkpoint():
    rows = drawn(20, 3)
    sweep = Sweep((), {}, torch.full((20,), 13), torch.arange(20))
    found = drift(torch.stack([rows, 2 * rows, 5 * rows]), sweep, [(0, 2), (1, 0), (2, 1)])
    assert found["relative_change"].tolist() == pytest.approx([4, 1, 1.5])
    assert found["cka"].tolist() == pytest.approx([1, 1, 1]) and found["mean_cosine"].tolist() == pytest.approx([1] * 3)


def test_nothing_is_aligned_with_a_constant_site():
    rows = drawn(20, 3)
    length = torch.tensor([13] * 15 + [16] * 5)
    by_length = (length - 14.0)[:, None] + 1e-7 * drawn(20, 3, seed=1)
    sweep = Sweep((), {}, length, torch.arange(20))
    found = drift(torch.stack([by_length, rows, 2 * rows]), sweep, [(1, 0), (2, 1)])
    assert torch.isnan(found["cka"][0]) and float(found["cka"][1]) == pytest.approx(1)
    assert found["relative_change"].isfinite().all()
