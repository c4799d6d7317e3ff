import itertools

import pandas as pd
import pytest

from circuitcore.emergence.births import BirthInterval
from circuitcore.emergence.order import OrderError, compare, orders


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ((0, 5), (5, 10), "before"),  # touching, half-open: ordered
        ((5, 10), (0, 5), "after"),
        ((0, 5), (0, 5), "undecided"),
        ((0, 10), (5, 20), "undecided"),
        ((None, 0), (0, 5), "before"),  # born at the first checkpoint
        ((None, 0), (None, 0), "undecided"),
        ((5, 10), (80, None), "before"),  # never born comes after anything born
        ((80, None), (5, 10), "after"),
        ((80, None), (80, None), "undecided"),
        ((40, None), (40, 80), "undecided"),  # reached at the very end without being seen to hold: may be earlier
        ((None, None), (0, 5), "undecided"),  # never measured
    ],
)
def test_compare(first, second, wanted):
    assert compare(BirthInterval(*first), BirthInterval(*second)) == wanted


def test_compare_is_antisymmetric_and_the_table_agrees_with_it():
    ends = [None, 0, 5, 10]
    spans = [(after, by) for after, by in itertools.product(ends, ends) if after is None or by is None or after < by]
    mirrored = {"before": "after", "after": "before", "undecided": "undecided"}
    pairs = list(itertools.product(spans, spans))
    rows = []
    for seed, (first, second) in enumerate(pairs):
        assert (
            compare(BirthInterval(*first), BirthInterval(*second))
            == mirrored[compare(BirthInterval(*second), BirthInterval(*first))]
        )
        rows += [("m", seed, "a", *first), ("m", seed, "b", *second)]
    table = orders(births_table(rows))
    wanted = [compare(BirthInterval(*first), BirthInterval(*second)) for first, second in pairs]
    assert table["order"].tolist() == wanted


def births_table(rows):
    table = pd.DataFrame(rows, columns=["arm", "init_seed", "motif", "after", "by"])
    return table.astype({"after": "Int64", "by": "Int64", "arm": "category"})


def five_seeds():
    rows = []
    for seed in range(5):
        rows += [("m", seed, "copying", 0, 5), ("m", seed, "routing", 5 if seed else 0, 10)]
    return births_table(rows)


def test_pairs_arms_and_runs_that_lack_a_motif():
    rows = [("m", 0, "a", 0, 5), ("m", 0, "b", 5, 10), ("m", 0, "c", 10, 20), ("n", 0, "a", 0, 5), ("n", 0, "b", 0, 5)]
    table = orders(births_table(rows))
    assert len(table) == 4  # three pairs in m, one in n
    assert set(orders(births_table(rows), pairs=[("c", "a")])["order"]) == {"after"}
    assert table[table["arm"] == "n"]["order"].tolist() == ["undecided"]


def test_refusals():
    with pytest.raises(OrderError, match="unknown motif 'coping'; did you mean 'copying'"):
        orders(five_seeds(), pairs=[("coping", "routing")])
    with pytest.raises(OrderError, match="several births in one run"):
        orders(pd.concat([five_seeds(), five_seeds()]))


def test_empty_tables_stay_empty_with_their_columns():
    table = orders(five_seeds().iloc[:0])
    assert table.empty and "order" in table
