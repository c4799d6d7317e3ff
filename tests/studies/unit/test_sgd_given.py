"""SGD selection, heads that are told where to look: they are in training and when measured, and readings can fail."""

import dataclasses

import pytest
import torch

from circuitcore.metrics.network import Network
from circuitcore.training import RunStore, Stage
from circuitcore.training.during import Clamp, edits_of
from circuitcore.training.engines import intervene, make_engine
from livingpaper.book import studies
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.scores import Counts
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import GIVEN, GIVEN_TWO, HEADS, LAYER, NETWORKS, TOLD
from retrieval_circuits.sgd_selection.figures.given import given
from retrieval_circuits.sgd_selection.measures.routes import as_trained, routes
from tests.support.planted_forks import EVEN, fork, of_forks, won

PUBLISHED = studies.load_params("sgd_selection")
ARMS = studies.load("sgd_selection").recipes(PUBLISHED)
TIMES = [0, 100, 200, 400]


@pytest.mark.parametrize(("arm", "behind", "steps"), [(GIVEN, 1, 2_500), (GIVEN_TWO, 2, 4_000)])
def test_they_are_the_free_networks_but_for_the_head_that_is_told(arm, behind, steps):
    free = {one.init_seed: one for one in ARMS[NETWORKS]}
    assert [one.init_seed for one in ARMS[arm]] == list(PUBLISHED.frozen_seeds)
    for one in ARMS[arm]:
        theirs = free[one.init_seed]
        assert one.during == (Clamp(parts=("L0H0",), behind=behind),) and one.n_steps == steps
        assert one.engine == "torch" and one.stages[0].fresh == theirs.stages[0].fresh > 0
        assert set(one.checkpoint_at) <= set(theirs.checkpoint_at)
        longer = {"stages": theirs.stages, "checkpoint_at": theirs.checkpoint_at}
        assert dataclasses.replace(one, during=(), engine=theirs.engine, **longer) == theirs


def test_those_of_the_smoke_tier_end_at_a_checkpoint():
    small = studies.load("sgd_selection").recipes(studies.load_params("sgd_selection", "smoke"))
    assert {arm: [one.n_steps for one in small[arm]] for arm in (GIVEN, GIVEN_TWO)} == {GIVEN: [50], GIVEN_TWO: [100]}


@pytest.mark.parametrize("behind", [1, 2])
def test_what_is_measured_is_the_pass_that_training_makes(behind):
    recipe = dataclasses.replace(ARMS[GIVEN][0], during=(Clamp(parts=(f"L{LAYER}H{TOLD}",), behind=behind),))
    engine = make_engine(recipe)
    intervene(recipe, engine)
    batch = recipe.make_task().split("test").rows(slice(0, 8))
    net = Network(recipe.model, {name: value[None] for name, value in engine.weights().items()})
    seen = as_trained(net, batch, edits_of(recipe.during), ["pattern.0", "pattern.1"])
    scored = batch.loss_mask
    losses = torch.nn.functional.cross_entropy(seen.logits[0][scored], batch.targets[scored])
    assert engine.step(batch.tokens, batch.targets, batch.loss_mask).loss == pytest.approx(losses.item(), rel=1e-5)
    at, clean = torch.arange(behind, batch.tokens.shape[1]), net.run(batch, ["pattern.0"])
    assert (seen.cache["pattern.0"][0, :, TOLD, at, at - behind] == 1).all()
    others = [head for head in HEADS if head != TOLD]
    torch.testing.assert_close(seen.cache["pattern.0"][:, :, others], clean.cache["pattern.0"][:, :, others])
    assert not torch.allclose(seen.logits, clean.logits, atol=1e-4), "the edit makes a difference"


@pytest.mark.parametrize("behind", [1, 2])
def test_the_table_is_of_networks_whose_head_is_told(tmp_path, behind):
    small = studies.load("sgd_selection").recipes(studies.load_params("sgd_selection", "smoke"))[GIVEN][0]
    told = Clamp(parts=(f"L{LAYER}H{TOLD}",), behind=behind)
    briefly = {"stages": (Stage(("train",), 2, small.batch_size),), "checkpoint_at": (0, 2)}
    few = dataclasses.replace(small, during=(told,), **briefly)
    run = RunStore(tmp_path, None).get_or_train(few)
    table = routes(run, Counts(n_rows=8, n_looked=8), lambda done: None)
    joins = table[(table["metric"] == "joins") & (table["layer"] == LAYER)].set_index(["step", "head"])["value"]
    assert joins[:, TOLD].to_dict() == dict.fromkeys((0, 2), 1.0 if behind == 1 else 0.0)
    assert joins.drop(TOLD, level="head").between(0, 0.5, inclusive="neither").all()
    read = asked(few.make_task(), "test", 8)
    for step, value in table[table["metric"] == "accuracy"].set_index("step")["value"].items():
        logits = as_trained(Network(few.model, run.stack((step,))), read.batch, edits_of(few.during)).logits
        assert value == (read.at_reads(logits).argmax(-1) == read.reads.answer).double().mean().item()


def planted(told, free, two=()):
    """Accuracies by step and seed: of networks told to look one back, of free ones, and of those told two back."""
    forks = [fork(GIVEN, seed, TIMES, [EVEN, EVEN, EVEN, won(2)], curve) for seed, curve in told.items()]
    forks += [fork(NETWORKS, seed, TIMES, [EVEN] * 4, curve) for seed, curve in free.items()]
    return of_forks(forks + [fork(GIVEN_TWO, seed, TIMES, [EVEN] * 4, curve) for seed, curve in dict(two).items()])


def test_time_is_held_against_the_free_network_of_the_same_seed():
    results = planted({1: [0, 1, 1, 1], 2: [0, 0, 0, 0]}, {1: [0, 0, 1, 1], 2: [0, 0, 1, 1], 3: [0, 1, 1, 1]})
    assert readings.share_of_time(GIVEN, NETWORKS)(results).to_dict() == pytest.approx({1: 50 / 150, 2: 400 / 150})
    assert readings.comes_to_read(GIVEN)(results).to_dict() == {1: 1.0, 2: 0.0}


def test_a_network_that_never_reads_is_drawn_open_at_its_last_step():
    told, free = {1: [0, 1, 1, 1], 2: [0, 0, 0, 0]}, {1: [0, 0, 1, 1], 2: [0, 0, 1, 1]}
    view = given(planted(told, free, two={1: [0, 0, 0, 1], 9: [0, 0, 0, 1]}))
    rows = view.table.set_index(["group", "init_seed"])
    assert rows["value"].to_dict() == pytest.approx(
        {("one word back", 1): 100 / 3, ("one word back", 2): 800 / 3, ("two words back", 1): 200.0}
    )
    assert rows["there"].to_dict() == {
        ("one word back", 1): True, ("one word back", 2): False, ("two words back", 1): True
    }  # fmt: skip


def test_the_head_that_is_told_is_not_among_those_that_come_to_join():
    forks = [fork(GIVEN, 1, [0, 9], [EVEN, won(TOLD)], [0, 1]), fork(GIVEN, 2, [0, 9], [EVEN, won(3)], [0, 1])]
    found = readings.others_join(GIVEN)(of_forks(forks))
    assert found[1] < found[2] == max(won(3))
