"""SGD selection, trained by SGD: starts and rows are Adam's, the rate is the best tried, and each reading can fail."""

import dataclasses
from pathlib import Path

import pytest
import torch

import paper
from circuitcore.training.recipe import Stage
from circuitcore.training.store.run_store import RunStore
from livingpaper.book import studies
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import (
    DESCENT,
    MOMENTA,
    NETWORKS,
    RATED,
    RATES,
    SLOWER,
    TUNED,
)
from retrieval_circuits.sgd_selection.measures import called, pushes, reached
from tests.support.planted_forks import EVEN, fork, of_forks, won

STUDY = studies.load("sgd_selection")
PUBLISHED = studies.load_params("sgd_selection")
ARMS = STUDY.recipes(PUBLISHED)
ROOT = Path(paper.__file__).resolve().parent


def test_networks_by_sgd_differ_from_adams_in_their_rule_and_steps_alone():
    for by_sgd, by_adam in zip(ARMS[DESCENT], ARMS[NETWORKS], strict=True):
        assert by_sgd.n_steps == SLOWER * by_adam.n_steps
        assert by_sgd.checkpoint_at == tuple(SLOWER * step for step in by_adam.checkpoint_at)
        rule = by_sgd.optimizer
        assert (rule.name, rule.lr, rule.momentum) == ("sgd", *TUNED)
        kept = ("optimizer", "stages", "checkpoint_at")
        assert dataclasses.replace(by_adam, **{name: getattr(by_sgd, name) for name in kept}) == by_sgd


def test_every_rate_was_tried_with_every_momentum_on_a_start_that_is_in_no_other_arm():
    tried = {(recipe.optimizer.lr, recipe.optimizer.momentum) for recipe in ARMS[RATED]}
    assert tried == {(rate, momentum) for rate in RATES for momentum in MOMENTA} and len(ARMS[RATED]) == len(tried)
    assert len(RATES) >= 8 and len(MOMENTA) == 2
    (seed,) = {recipe.init_seed for recipe in ARMS[RATED]}
    assert seed not in {recipe.init_seed for recipe in (*ARMS[NETWORKS], *ARMS[DESCENT])}


@pytest.fixture
def short(tmp_path):
    """A narrow network, trained by SGD for a few steps."""
    recipe = STUDY.recipes(studies.load_params("sgd_selection", "smoke"))[RATED][0]
    recipe = dataclasses.replace(recipe, engine="torch", stages=(Stage(("train",), 1, 10 * 64),))
    return RunStore(tmp_path, None).get_or_train(dataclasses.replace(recipe, checkpoint_at=(0, 5, 10)))


def test_the_loss_that_a_rate_is_chosen_by_is_the_one_whose_gradient_pushes(short):
    """Computed with gradients and without."""
    (one,) = STUDY.instruments(PUBLISHED, RATED)
    counts = dataclasses.replace(one.settings, n_rows=32, n_looked=32)
    without, beside = (measure(short, counts, lambda done: None) for measure in (reached, pushes))
    without = without.set_index("step")["value"]
    expected = beside[beside["metric"] == "loss"].set_index("step")["value"]
    assert without.index.tolist() == [0, 5, 10] and len(expected) == 2
    assert without[expected.index].tolist() == pytest.approx(expected.tolist(), rel=1e-5)
    assert without[10] < without[0] < 1.05 * torch.tensor(float(short.recipe.model.d_vocab)).log().item()


def _pushed(arm, steps, joins, first=(), losses=()):
    """Rows of pushes of one network: at each step what four heads join, the head pushed most, and the loss."""
    run, rows = {"arm": arm, "init_seed": 1, "run_id": arm}, []
    for place, step in enumerate(steps):
        if losses:
            rows.append({**run, "step": step, "metric": "loss", "head": None, "value": losses[place]})
        for head, value in enumerate(joins[place]):
            rows.append({**run, "step": step, "metric": "joins", "head": head, "value": value})
            if first:
                rows.append({**run, "step": step, "metric": "push", "head": head, "value": float(head == first[place])})
    return rows


def _both(heads):
    """Networks of both kinds, by start: who wins by Adam, and by SGD."""
    kinds = enumerate((NETWORKS, DESCENT))
    return of_forks(
        fork(arm, seed, [0, 9], [EVEN, EVEN if won_by[kind] is None else won(won_by[kind])], [0, 1])
        for kind, arm in kinds
        for seed, won_by in heads.items()
    )


def test_starts_that_keep_their_winner_are_told_from_those_that_do_not_and_from_those_without_one():
    results = _both({1: (2, 2), 2: (0, 1), 3: (1, None), 4: (None, 3), 5: (2, 0)})
    assert readings.shares_winner(results).to_dict() == {1: 1, 2: 0, 5: 0}


NOBODY = readings.NOBODY


@pytest.mark.parametrize(("ends", "head"), [(won(2, 0.3), 2), (won(2, 0.2), NOBODY), ([0.3, 0.05, 0.35, 0.05], NOBODY)])
def test_a_quarter_is_enough_where_sgd_trains_with_a_lead(ends, head):
    results = of_forks(fork(arm, 1, [0, 9], [EVEN, ends], [0, 1]) for arm in (NETWORKS, DESCENT))
    assert readings.winners(results, DESCENT).to_dict() == {1: head}
    assert readings.winners(results, NETWORKS).to_dict() == {1: NOBODY}


@pytest.mark.parametrize(("ends", "right", "less"), [(1.3, 1, -0.2), (1.5, 1, None), (1.3, 0.8, None)])
def test_what_is_joined_is_compared_at_one_loss_and_of_networks_that_read(ends, right, less):
    """SGD falls from 1.5 to ``ends`` while 0.3 becomes 0.5; Adam from 1.9 to 0.9 while 0.5 becomes 0.7."""
    adam = _pushed(NETWORKS, [0, 1, 2], [EVEN, won(2, 0.5), won(2, 0.7)], losses=[4, 1.9, 0.9])
    sgd = _pushed(DESCENT, [0, 3, 6], [EVEN, won(1, 0.3), won(1, 0.5)], losses=[4, 1.5, ends])
    runs = [fork(arm, 1, [0, 9], [EVEN, won(2)], [0, share]) for arm, share in {NETWORKS: 1, DESCENT: right}.items()]
    found = readings.joins_at_equal_loss(of_forks(runs, adam + sgd)).to_dict()
    assert found == ({} if less is None else {1: pytest.approx(less)})


def test_forecasts_of_sgd_count_its_steps_as_many_to_one():
    """Its winner has a quarter at 3,000; up to 300 steps before, and not 3,000 or more before, checkpoints count."""
    steps = [0, 300, 1500, 2400, 2850, 3300]
    network = fork(DESCENT, 1, [0, 2700, 3300, 9000], [EVEN, won(2, 0.05), won(2, 0.45), won(2)], [0, 0, 1, 1])
    joins = [EVEN, won(0, 0.1), won(2, 0.1), won(0, 0.1), won(2, 0.2), won(2, 0.45)]
    results = of_forks([network], _pushed(DESCENT, steps, joins, [0, 2, 2, 0, 2, 2]))
    assert readings.joined(results, DESCENT)[1] == pytest.approx(3000)
    assert readings.ranked_first("push", DESCENT)(results)[1] == pytest.approx(2 / 4)  # 0 and 2,850 are outside
    assert readings.ranked_first("joins", DESCENT)(results)[1] == pytest.approx(1 / 4)
    # Of 300 to 2,850 the head pushed most gains most next at 300 (2) and 2,850 (2), not at 1,500 (0) and 2,400 (2).
    assert readings.selection_law(DESCENT)(results)[1] == pytest.approx(2 / 4)
    assert readings.selection_law(DESCENT, "joins")(results)[1] == pytest.approx(1 / 4)  # 2,850


def _tried(loss):
    """Rows of networks of every rate and momentum, whose loss is given."""
    return [
        {"arm": RATED, "init_seed": 99, "run_id": f"{rate}-{momentum}", "step": 9, "metric": "loss",
         "variable": called(rate, momentum), "value": loss(rate, momentum)}
        for rate in RATES for momentum in MOMENTA
    ]  # fmt: skip


def test_losses_are_told_apart_by_rate_and_momentum():
    table = readings.tuned(of_forks([_tried(lambda rate, momentum: rate + momentum)]))
    assert table.loc[0.3, 0.9] == pytest.approx(1.2) and table.shape == (8, 2)


def test_the_rate_is_the_one_of_the_lowest_loss_of_those_published():
    store = RunStore(ROOT / "none", ROOT / "published", only_published=True)
    (one,) = STUDY.instruments(PUBLISHED, RATED)
    ends = {}
    for recipe in ARMS[RATED]:
        rows = store.find(recipe).table(one.key)
        ends[recipe.optimizer.lr, recipe.optimizer.momentum] = rows.loc[rows["step"].idxmax(), "value"]
    assert min(ends, key=ends.get) == TUNED
