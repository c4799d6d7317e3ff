"""The shortest mean wait that few events leave possible."""

import pytest
import scipy

from circuitcore.emergence import shortest_wait


@pytest.mark.parametrize("n_events", [0, 1, 3, 20])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_with_that_wait_so_few_events_are_as_rare_as_the_level_says(n_events, level):
    wait = shortest_wait(n_events, 5_000.0, level)
    assert scipy.stats.poisson.cdf(n_events, 5_000 / wait) == pytest.approx(1 - level)


def test_nothing_seen_follows_the_rule_of_three():
    assert 30_000 / shortest_wait(0, 30_000.0) == pytest.approx(3, rel=0.01)


@pytest.mark.parametrize(("n_events", "watched"), [(-1, 10.0), (0, 0.0)])
def test_what_cannot_be_is_refused_with_its_numbers(n_events, watched):
    with pytest.raises(ValueError, match=f"n_events = {n_events}, watched = {watched}"):
        shortest_wait(n_events, watched)
