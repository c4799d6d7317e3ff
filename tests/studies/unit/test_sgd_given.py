"""SGD selection, heads that are told where to look: they are in training and when measured, and readings can fail."""

import dataclasses
import math

import pytest
import torch

from circuitcore.metrics.network import Network
from circuitcore.training.during import Clamp, edits_of
from circuitcore.training.engines import intervene, make_engine
from livingpaper.book import studies
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import GIVEN, GIVEN_TWO, HEADS, LAYER, NETWORKS, TOLD
from retrieval_circuits.sgd_selection.measures.routes import edited_pass
from tests.support.planted_forks import EVEN, fork, of_forks, won

PUBLISHED = studies.load_params("sgd_selection")
ARMS = studies.load("sgd_selection").recipes(PUBLISHED)
TIMES = [0, 100, 200, 400]


@pytest.mark.parametrize(("arm", "behind", "steps"), [(GIVEN, 1, 2_500), (GIVEN_TWO, 2, 4_000)])
def test_they_are_the_free_networks_but_for_the_head_that_is_told(arm, behind, steps):
    free = {one.init_seed: one for one in ARMS[NETWORKS]}
    assert [one.init_seed for one in ARMS[arm]] == list(PUBLISHED.frozen_seeds)
    for one in ARMS[arm]:
        assert one.during == (Clamp(parts=("L0H0",), behind=behind),) and one.n_steps == steps
        theirs = free[one.init_seed]
        assert (one.model, one.optimizer, one.data_seed, one.batch_size) == (
            theirs.model, theirs.optimizer, theirs.data_seed, theirs.batch_size
        )  # fmt: skip
        assert set(one.checkpoint_at) <= set(theirs.checkpoint_at)


def test_every_one_of_the_smoke_tier_can_be_trained():
    small = studies.load("sgd_selection").recipes(studies.load_params("sgd_selection", "smoke"))
    assert {arm: [one.n_steps for one in small[arm]] for arm in (GIVEN, GIVEN_TWO)} == {GIVEN: [50], GIVEN_TWO: [100]}


@pytest.mark.parametrize("behind", [1, 2])
def test_what_is_measured_is_the_pass_that_training_makes(behind):
    recipe = dataclasses.replace(ARMS[GIVEN][0], during=(Clamp(parts=(f"L{LAYER}H{TOLD}",), behind=behind),))
    engine = make_engine(recipe)
    intervene(recipe, engine)
    batch = recipe.make_task().split("test").rows(slice(0, 8))
    net = Network(recipe.model, {name: value[None] for name, value in engine.weights().items()})
    seen = edited_pass(net, batch, edits_of(recipe.during), ["pattern.0", "pattern.1"])
    scored = batch.loss_mask
    losses = torch.nn.functional.cross_entropy(seen.logits[0][scored], batch.targets[scored])
    assert engine.step(batch.tokens, batch.targets, batch.loss_mask).loss == pytest.approx(losses.item(), rel=1e-5)
    at, clean = torch.arange(behind, batch.tokens.shape[1]), net.run(batch, ["pattern.0"])
    assert (seen.cache["pattern.0"][0, :, TOLD, at, at - behind] == 1).all()
    others = [head for head in HEADS if head != TOLD]
    torch.testing.assert_close(seen.cache["pattern.0"][:, :, others], clean.cache["pattern.0"][:, :, others])
    assert not torch.allclose(seen.logits, clean.logits, atol=1e-4), "the edit makes a difference"


def planted(told, free):
    """Accuracies by step: of networks one of whose heads is told where to look, and of the free ones, by seed."""
    forks = [fork(GIVEN, seed, TIMES, [EVEN, EVEN, EVEN, won(2)], curve) for seed, curve in told.items()]
    return of_forks(forks + [fork(NETWORKS, seed, TIMES, [EVEN] * 4, curve) for seed, curve in free.items()])


def test_time_is_held_against_the_free_network_of_the_same_seed():
    results = planted({1: [0, 1, 1, 1], 2: [0, 0, 0, 0]}, {1: [0, 0, 1, 1], 2: [0, 0, 1, 1], 3: [0, 1, 1, 1]})
    assert readings.share_of_time(GIVEN, NETWORKS)(results).to_dict() == pytest.approx({1: 50 / 150, 2: 400 / 150})
    assert readings.comes_to_read(GIVEN)(results).to_dict() == {1: 1.0, 2: 0.0}


def test_the_head_that_is_told_is_not_among_those_that_come_to_join():
    forks = [fork(GIVEN, 1, [0, 9], [EVEN, won(TOLD)], [0, 1]), fork(GIVEN, 2, [0, 9], [EVEN, won(3)], [0, 1])]
    found = readings.others_join(GIVEN)(of_forks(forks))
    assert found[1] < found[2] == max(won(3)) and not math.isnan(found[1])
