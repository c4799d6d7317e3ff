"""Starts that are trained twice: each pair differs in its rows alone, and whose winner joins what is told by hand."""

import dataclasses

import pytest

from livingpaper.book import studies
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import NETWORKS, TWICE
from tests.support import planted_forks as planted
from tests.support.planted_forks import EVEN, of_forks, won

PUBLISHED = studies.load_params("sgd_selection")
STUDY = studies.load("sgd_selection")
ARMS = STUDY.recipes(PUBLISHED)


def test_a_start_that_is_trained_twice_reads_other_rows_and_nothing_else_changes():
    known = {recipe.init_seed: recipe for recipe in ARMS[NETWORKS]}
    once, again = (ARMS[arm] for arm in TWICE)
    assert len(once) == 20
    for one, other in zip(once, again, strict=True):
        assert one.data_seed != other.data_seed and one.init_seed not in known
        assert dataclasses.replace(other, data_seed=one.data_seed) == one
        assert one.model == dataclasses.replace(known[1].model, init="torch") and one.checkpoint_at == (0, 3000)
    rows = [recipe.data_seed for arm in TWICE for recipe in ARMS[arm]]
    others = {recipe.data_seed for arm, found in ARMS.items() if arm not in TWICE for recipe in found}
    assert len({*rows}) == 40 and not others & {*rows}


def test_a_start_whose_seed_is_another_with_more_added_is_trained_once():
    beside = PUBLISHED.model_copy(update={"seeds": (6, 106)})
    arms = STUDY.recipes(beside)
    assert [recipe.init_seed for recipe in arms[TWICE[0]]] == [106, 206, 306]


def test_what_the_winner_of_one_training_joins_after_the_other():
    """Three starts with winners; one has none after its second training and is left out, for itself and others."""
    ends = {1: (won(2, 0.8), won(2, 0.6)), 2: (won(0, 0.9), won(1, 0.7)), 3: (won(3, 0.5), won(3, 0.9))}
    ends[4] = (won(1, 0.9), won(1, 0.4))
    first, second = TWICE
    rows = [
        planted.fork(arm, seed, [0, 9], [EVEN, trained[which]], [0, 1])
        for which, arm in enumerate((first, second))
        for seed, trained in ends.items()
    ]
    own = readings.joins_again(first, second)(of_forks(rows))
    assert own.to_dict() == pytest.approx({1: (0.6 + 0.8) / 2, 2: (0.05 + 0.05) / 2, 3: (0.9 + 0.5) / 2})
    anothers = readings.joins_again(first, second, anothers=True)(of_forks(rows))
    by_hand = {1: 0.05, 2: 0.05, 3: 0.05}
    assert anothers.to_dict() == pytest.approx(by_hand), "no start has a head that another has"
    alone = [row for row in rows if row[0]["init_seed"] == 1]
    assert readings.joins_again(first, second, anothers=True)(of_forks(alone)).empty
    assert readings.joins_again(first, second)(of_forks(alone)).to_dict() == pytest.approx({1: 0.7})


def test_a_head_that_wins_whatever_the_start_is_seen():
    first, second = TWICE
    rows = [planted.fork(arm, seed, [0, 9], [EVEN, won(2, 0.8)], [0, 1]) for arm in (first, second) for seed in (1, 2)]
    assert readings.joins_again(first, second, anothers=True)(of_forks(rows)).to_list() == pytest.approx([0.8, 0.8])
