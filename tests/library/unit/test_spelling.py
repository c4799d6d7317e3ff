"""The first few of many names."""

import pytest

from circuitcore.ground.spelling import MOST_NAMED, first_of


@pytest.mark.parametrize(("n", "ending"), [(1, "n0"), (MOST_NAMED, "n4"), (MOST_NAMED + 1, "n4 and 1 more")])
def test_the_first_few_names_are_told_and_how_many_more_there_are(n, ending):
    told = first_of([f"n{place}" for place in range(n)])
    assert told.startswith("n0") and told.endswith(ending) and told.count(",") == min(n, MOST_NAMED) - 1
