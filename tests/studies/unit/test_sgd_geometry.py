"""Singular values and gradients of single reads: planted matrices, planted gradients, and gradients one at a time."""

import pytest
import torch
from torch.nn import functional

from circuitcore.models import ModelConfig, forward, init_weights
from retrieval_circuits.sgd_formation.measures.geometry import OneRead, common, read_gradients
from retrieval_circuits.sgd_formation.measures.spectra import circuits, shuffled, summary

CONFIG = ModelConfig(d_vocab=12, n_ctx=8, n_layers=2, n_heads=2, d_model=8, d_mlp=16, tied=True)


def planted(values):
    """A matrix with these singular values."""
    n, generator = len(values), torch.Generator().manual_seed(0)
    u, v = (torch.linalg.qr(torch.randn(n, n, generator=generator).double())[0] for _ in range(2))
    return u @ torch.diag(torch.tensor(values).double()) @ v


@pytest.mark.parametrize(
    ("values", "largest", "effective", "top"),
    [([5.0, 0, 0, 0], 5, 1, 1), ([2.0] * 6, 2, 6, 0.5), ([3.0, 1, 0, 0], 3, 1.6, 1)],
)
def test_a_planted_spectrum_is_read_off(values, largest, effective, top):
    found = summary(torch.linalg.svdvals(planted(values)))
    assert found["largest"].item() == pytest.approx(largest)
    assert found["effective_rank"].item() == pytest.approx(effective)
    assert found["top_three"].item() == pytest.approx(top)


def test_shuffling_keeps_the_numbers_and_takes_a_planted_direction_away():
    generator = torch.Generator().manual_seed(0)
    channels, inside = (torch.randn(2, 1, n, generator=generator).double() for n in (40, 8))
    noise = 0.1 * torch.randn(2, 1, 40, 8, generator=generator).double()
    left, right = channels[..., None] * inside[:1, :, None] + noise  # both write along one direction of the head
    right = right.mT
    lots = shuffled(left, generator), shuffled(right, generator)
    assert torch.equal(lots[0].flatten(1).sort(1).values, left.flatten().sort().values.expand(len(lots[0]), -1))
    own, lot = (summary(torch.linalg.svdvals(a @ b)) for a, b in ((left, right), lots))
    assert own["effective_rank"].item() < 1.5 and lot["effective_rank"].min() > 3
    assert own["largest"].item() > 1.5 * lot["largest"].max()


def test_circuits_are_products_of_a_head_s_own_matrices():
    weights = {name: value[None] for name, value in init_weights(CONFIG, 0).items()}
    q, k, v, out = (weights[f"blocks.1.attn.W_{part}"][0, 1].double() for part in "QKVO")
    found = {name: (left @ right)[0, 1] for name, (left, right) in circuits(weights, 1).items()}
    torch.testing.assert_close(found, {"QK": q @ k.T, "OV": v @ out})


def test_gradients_of_reads_are_those_of_each_alone():
    generator = torch.Generator().manual_seed(1)
    reads = OneRead(
        torch.randint(12, (3, 6), generator=generator), torch.tensor([3, 5, 4]), torch.tensor([1, 7, 2]), {}
    )
    weights = init_weights(CONFIG, 0)
    found, given = read_gradients(CONFIG, weights, reads)
    assert found.shape == (3, sum(value.numel() for value in weights.values())), "tied weights stand there once"
    for row in range(3):
        alone = {name: value.clone().requires_grad_() for name, value in weights.items()}
        logits = forward(CONFIG, alone, reads.tokens[row : row + 1]).logits[0, reads.at[row]]
        functional.cross_entropy(logits[None], reads.answers[row : row + 1]).backward()
        wanted = torch.cat([value.grad.flatten() for value in alone.values()])
        torch.testing.assert_close(found[row], wanted, rtol=1e-4, atol=1e-7)
        assert given[row] == logits.argmax()


@pytest.mark.parametrize("planted", [True, False])
def test_what_gradients_have_in_common_is_found_where_it_is_planted_alone(planted):
    generator = torch.Generator().manual_seed(2)
    label = torch.arange(60) % 5
    gradients = torch.randn(60, 400, generator=generator)
    if planted:
        gradients += 0.5 * torch.randn(5, 400, generator=generator)[label]
    unit = functional.normalize(gradients, dim=1)
    found = common(unit @ unit.T, label)
    assert found["unlike"] == pytest.approx(0, abs=0.02)
    assert found["alike"] == pytest.approx(0.2 if planted else 0, abs=0.03)
    assert (found["alike"] - found["unlike"] > found["by_lot"]) == planted
    assert 0 < found["by_lot"] < 0.02


@pytest.mark.parametrize("label", [torch.zeros(4, dtype=torch.long), torch.arange(4)])
def test_a_label_that_tells_no_pairs_apart_is_refused(label):
    with pytest.raises(ValueError, match="among 4 rows; allowed: pairs of both kinds"):
        common(torch.eye(4), label)
