"""Three steps by rows and channels: against networks of full width, gradients, and draws of what noise assumes."""

import numpy as np
import pandas as pd
import pytest
import torch

from livingpaper.book import studies
from livingpaper.claims.results import Results
from retrieval_circuits.bigrams_and_composition import readings
from retrieval_circuits.bigrams_and_composition.measures import grid, network, noise_of_step, source, steps, wide
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2
from retrieval_circuits.bigrams_and_composition.measures.training import asked_of

SETTING = {"n_tokens": 6, "n_triggers": 2, "length": 7, "queries": 4, "n_test": 32}
ASKED = grid.Grid(**SETTING, samples=(64, 128, 256), widths=(16, 48), others_to=128)
STUDY = studies.load("bigrams_and_composition")


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def even(n=6):
    return source.Source(chain=torch.full((n, n), 1 / n, dtype=torch.float64), n_triggers=2)


@pytest.fixture
def in_doubles():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("order", [(O2, K2, K1), (K1, O2, K2), (O2, K1, K1)])
def test_steps_in_coordinates_are_those_of_the_network_of_full_width(order, in_doubles):
    given, frozen = even(), wide.random(6, 7, 40, drawn(3))
    moved, products = grid.in_coordinates(frozen)
    whole = steps.Walk(ASKED, given, frozen, 96, drawn(1)).after(order)
    turned = grid.Turned(ASKED, given, moved, 96, drawn(1), products=products).after(order)
    probed = [network.compared(*one, given.triggers, given.others) for one in ((frozen, whole), (moved, turned))]
    for name in (K1, K2, O2):
        one, other = (probe[name].scores / probe[name].scores.abs().max().clamp(min=1e-9) for probe in probed)
        assert torch.allclose(one, other, atol=1e-9)
    test = asked_of(given, source.draw(given, 20, 8, drawn(2)), 7, drawn(2))
    logits = [network.read(*one, test.inputs, test.where).logits for one in ((frozen, whole), (moved, turned))]
    assert logits[0].std() > 0.1
    assert torch.allclose(*logits, atol=1e-9)


def test_steps_that_are_left_out_would_have_moved_nothing():
    assert grid.stepped((K2, K1, O2)) == (K1, O2)
    assert grid.stepped((K1, K2, O2)) == (K1, O2)
    assert grid.stepped((O2, K1, K2)) == (O2, K1, K2)
    moved, products = grid.in_coordinates(wide.random(6, 7, 40, drawn(3)))
    for before in ((), (K1,)):
        walk = grid.Turned(ASKED, even(), moved, 64, drawn(), products=products)
        assert walk.after((*before, K2))[K2].count_nonzero() == 0


def test_a_row_each_of_width_rows_and_order():
    rows = pd.DataFrame(grid.three_steps_by_both(ASKED, 0))
    assert len(rows) == 3 * (2 * 7 + 1)
    assert rows.loc[rows["samples"] == 256, "order"].unique().tolist() == [readings.IN_ORDER]
    assert rows.groupby(["d", "samples"])["predicted"].nunique().eq(1).all()
    assert rows["d"].drop_duplicates().tolist() == [16, 48, grid.RIGHT_ANGLES]


def test_pushes_are_what_the_gradient_is_a_mean_of():
    given, frozen = even(), steps.orthogonal(6, 7)
    asked = asked_of(given, source.draw(given, 30, 8, drawn()), 7, drawn())
    zero = {name: torch.zeros(32, 32) for name in (K1, K2, O2)}
    slope = steps.gradient(frozen, zero, O2, [asked])
    pushed = noise_of_step.pushes(given, asked).sum(0) / asked.real.sum()
    assert torch.allclose(pushed, -slope[26:, :26], atol=1e-6)


def test_the_chance_to_be_highest_is_that_of_draws():
    chance = np.random.default_rng(0)
    own = 0.7 + 1.5 * chance.normal(size=200_000)
    others = 0.8 * chance.normal(size=(200_000, 5))
    right = (own > others.max(1)).mean()
    assert noise_of_step.highest(0.7, 1.5, 0.8, 5) == pytest.approx(right, abs=5e-3)
    assert noise_of_step.highest(0.0, 1.0, 1.0, 9) == pytest.approx(0.1, abs=1e-3)


def test_the_closed_form_has_the_variance_of_random_embeddings_with_random_pushes():
    """The score of a value's own output less that of another one, between random embeddings: to first order in 1/d."""
    width, n_draws, samples, given, chance = 96, 4000, 50, even(), drawn(1)
    asked = asked_of(given, source.draw(given, 4000, 8, drawn()), 4, drawn())
    push, pushed = noise_of_step.push_of(given, asked), noise_of_step.pushes(given, asked)

    def vectors(n):
        return torch.nn.functional.normalize(torch.randn(n_draws, n, width, generator=chance), dim=-1)

    remap, values = (torch.randn(n_draws, width, width, generator=chance) / width**0.5 for _ in range(2))
    plain, outputs = vectors(6 + 7), vectors(6)
    attended = torch.cat([plain, plain @ remap.mT], dim=1) @ values.mT
    noise = torch.randn(n_draws, *pushed.shape[1:], generator=chance) * pushed.std(0) / samples**0.5
    memory = outputs.mT @ (pushed.mean(0) + noise) @ attended
    own, other = given.others[:2].tolist()
    scores = (outputs[:, [own, other]] @ memory @ attended[:, own, :, None])[..., 0]
    always = (push.mean_here + 2 / width * push.mean_elsewhere) / width
    wanted = sum(
        (1 + 5 / width) * (here + 2 / width * push.elsewhere) / samples + always for here in (push.own, push.rival)
    )
    lead = scores[:, 0] - scores[:, 1]
    assert lead.var().item() == pytest.approx(wanted, rel=0.1)
    assert lead.mean().item() == pytest.approx(push.lead, rel=0.1)


def test_readings_of_the_map():
    order = [readings.IN_ORDER, readings.OTHERS[0]]
    rows = pd.DataFrame(
        [(o, d, n) for o in order for d in (64, 0) for n in (256, 4096)], columns=["order", "d", "samples"]
    )
    rows = rows.assign(init_seed=1, predicted=0.5, **{O2: 1.0, K2: 1.0, K1: [0.1, 0.2, 0.3, 0.9, 0.0, 0.4, 0.2, 0.1]})
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    given = Results(empty, pd.DataFrame(), "paper", {"steps_by_both": rows}, ("steps_by_both",))
    assert readings.previous_at("most", "fewest")(given)[1] == 0.2
    assert readings.previous_at("fewest", "right angles")(given)[1] == 0.3
    assert readings.best_on_map(readings.IN_ORDER)(given)[1] == 0.9
    assert readings.best_on_map(*readings.OTHERS)(given)[1] == 0.4
    assert readings.off_noise(O2)(given)[1] == 0.5
    assert readings.off_noise(K1)(given)[1] == pytest.approx((0.4 + 0.3 + 0.2 + 0.4) / 4)
