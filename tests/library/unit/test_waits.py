"""The shortest mean wait that few events leave possible."""

import math

import pytest
import scipy

from circuitcore.emergence import shortest_wait


@pytest.mark.parametrize(("n_events", "n_runs"), [(0, 1), (0, 10), (3, 10), (9, 10), (20, 30)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_with_that_wait_so_few_events_are_as_rare_as_the_level_says(n_events, n_runs, level):
    wait = shortest_wait(n_events, n_runs, 500, level)
    share = 1 - math.exp(-500 / wait)
    assert scipy.stats.binom.cdf(n_events, n_runs, share) == pytest.approx(1 - level)


def test_nothing_seen_follows_the_rule_of_three():
    assert 30_000 / shortest_wait(0, 30, 1_000) == pytest.approx(3, rel=0.01)


@pytest.mark.parametrize(("n_events", "n_runs"), [(-1, 10), (10, 10), (0, 0)])
def test_what_cannot_be_is_refused_with_its_numbers(n_events, n_runs):
    with pytest.raises(ValueError, match=f"n_events = {n_events} of n_runs = {n_runs}"):
        shortest_wait(n_events, n_runs, 1_000)


def test_a_level_of_one_and_runs_without_a_step_are_refused():
    with pytest.raises(ValueError, match="level must lie between 0 and 1; got 1.0"):
        shortest_wait(0, 3, 1_000, level=1.0)
    with pytest.raises(ValueError, match="end = -5 steps"):
        shortest_wait(0, 3, -5)
