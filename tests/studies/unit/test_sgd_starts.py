"""Starts that are trained twice: each pair differs in its rows alone, and whose winner joins what is told by hand."""

import dataclasses

import numpy as np
import pytest

from livingpaper.book import studies
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import NETWORKS, TWICE, TWICE_SMALL
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
    twice = {*TWICE, *TWICE_SMALL}
    others = {recipe.data_seed for arm, found in ARMS.items() if arm not in twice for recipe in found}
    assert len({*rows}) == 40 and not others & {*rows}


def test_a_start_drawn_small_has_the_seeds_and_rows_of_one_drawn_wide():
    for wide, small in zip(TWICE, TWICE_SMALL, strict=True):
        assert len(ARMS[small]) == 18
        for one, other in zip(ARMS[wide], ARMS[small], strict=False):
            assert (one.init_seed, one.data_seed) == (other.init_seed, other.data_seed)
            assert other.model == ARMS[NETWORKS][0].model and other.checkpoint_at == (0, 5000)


def test_a_start_whose_seed_is_another_with_more_added_is_trained_once():
    beside = PUBLISHED.model_copy(update={"seeds": (6, 106)})
    arms = STUDY.recipes(beside)
    assert [recipe.init_seed for recipe in arms[TWICE[0]]] == [106, 206, 306]


FIRST, SECOND = TWICE
ENDS = {1: (won(2, 0.8), won(2, 0.6)), 2: (won(0, 0.9), won(2, 0.7)), 3: (won(3, 0.5), won(3, 0.4))}
"""What four heads join after both trainings: one start keeps its winner, one has two, one has a winner once."""
LATE = 0.7
"""What a head of the next layer joins after the last of them, and nowhere else."""


def trained(ends):
    """Results of starts that end so."""
    rows = []
    for which, arm in enumerate(TWICE):
        for seed, joins in ends.items():
            run = planted.fork(arm, seed, [0, 9], [EVEN, joins[which]], [0, 1])
            late = LATE if (seed, arm) == (3, SECOND) else 0.0
            rows.append([*run, run[0] | {"layer": 1, "site": "L1H0", "step": 9, "value": late}])
    return of_forks(rows)


def test_what_the_winner_of_one_training_joins_after_the_other():
    own = readings.joins_again(FIRST, SECOND)(trained(ENDS)).to_dict()
    assert own == pytest.approx({1: (0.6 + 0.8) / 2, 2: (0.05 + 0.05) / 2, 3: (0.4 + 0.0) / 2})
    assert readings.same_winner(FIRST, SECOND)(trained(ENDS)).to_dict() == {1: 1.0, 2: 0.0, 3: 0.0}


def test_what_winners_of_other_starts_join():
    """Pair by pair, both trainings and both ways."""
    heads = {1: ([*ENDS[1][0], 0.0], [*ENDS[1][1], 0.0]), 2: ([*ENDS[2][0], 0.0], [*ENDS[2][1], 0.0])}
    heads[3] = ([*ENDS[3][0], 0.0], [*ENDS[3][1], LATE])
    by_hand = {}
    for one, (first, second) in heads.items():
        joined = []
        for other in {*heads} - {one}:
            their_first, their_second = heads[other]
            joined += [first[np.argmax(their_second)], second[np.argmax(their_first)]]
            joined += [their_first[np.argmax(second)], their_second[np.argmax(first)]]
        by_hand[one] = np.mean(joined)
    assert by_hand[1] > 2 * by_hand[3], "1 and 2 share a winner"
    assert readings.joins_again(FIRST, SECOND, anothers=True)(trained(ENDS)).to_dict() == pytest.approx(by_hand)
    assert readings.joins_again(FIRST, SECOND, anothers=True)(trained({1: ENDS[1]})).empty


def test_a_head_that_wins_whatever_the_start_is_seen():
    everywhere = trained({seed: (won(2, 0.8), won(2, 0.8)) for seed in (1, 2)})
    assert readings.joins_again(FIRST, SECOND, anothers=True)(everywhere).to_list() == pytest.approx([0.8, 0.8])


def test_starts_that_did_not_come_to_read_are_left_out():
    """Of three starts one does not read in one of four trainings; the others lose what is told by hand."""
    joins = {"wide": won(2, 0.9), "small": won(1, 0.6)}
    rows = [
        planted.fork(arm, seed, [0, 9], [EVEN, joins[drawn]], [0, 0.5 if (seed, arm) == (3, TWICE_SMALL[1]) else 0.9])
        for drawn, arms in {"wide": TWICE, "small": TWICE_SMALL}.items()
        for arm in arms
        for seed in (1, 2, 3)
    ]
    rows[-2] = planted.fork(TWICE_SMALL[1], 2, [0, 9], [EVEN, won(0, 0.8)], [0, 0.9])
    claim = next(claim for claim in STUDY.CLAIMS if claim.id == "SS42")
    assert claim.reading.of(of_forks(rows)).to_dict() == pytest.approx({1: 0.9 - 0.6, 2: 0.9 - 0.05})
    assert claim.controls[1].reading.of(of_forks(rows)).to_dict() == pytest.approx({1: 0.6, 2: (0.6 + 0.8) / 2})
