"""Tables of the appendix on bigrams, on numbers made up."""

import pandas as pd
import pytest

from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.figures.tables import comparison
from retrieval_circuits.bigrams_and_composition import design, readings
from retrieval_circuits.bigrams_and_composition.measures import ATTENTION, MLP
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2
from retrieval_circuits.bigrams_and_composition.published import PUBLISHED

VIEWS = studies.load("bigrams_and_composition").VIEWS


def results(**tables):
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    named = {name: table.assign(arm=name) for name, table in tables.items()}
    return Results(empty, pd.DataFrame(), "paper", named, tuple(named))


def trained(**end):
    """Three measurements of one network for each way: memories fill one after another, up to what is given."""
    shares = {O2: (0, 1, 1), K2: (0, 0, 0.4), K1: (0, 0, 0.05), "accuracy": (0, 0.5, 0.9), **end}
    rows = pd.DataFrame({"init_seed": 1, "step": [0, 10, 20], **shares})
    known = {"entropy": 3.0, "pair_entropy": 2.0, "predicted": 0.5}
    return pd.concat([rows.assign(way=way.name, **known) for way in design.WAYS], ignore_index=True)


def test_a_memory_that_stays_nearly_empty_has_no_time_of_forming():
    table = VIEWS["every_network"](results(learning=trained())).table
    assert list(table["way"]) == [way.name for way in design.WAYS if way.name != design.ONE]
    for _, row in table.iterrows():
        assert (row["W_O2 forms"], row["W_K2 forms"], row["W_K1 forms"]) == ("10", "20", "")
        assert (row["W_K2 recalls"], row["W_K1 recalls"], row["accuracy"]) == ("0.40", "0.05", "0.90")


def test_orders_are_judged_by_their_worst_matrix_for_each_number_of_rows():
    orders = [readings.IN_ORDER, *readings.OTHERS]
    rows = pd.DataFrame({"order": orders, "samples": 64, "init_seed": 1, O2: 1.0, K2: 0.5, K1: 0.7})
    table = VIEWS["by_samples"](results(three_steps=pd.concat([rows, rows.assign(samples=8, **{K1: 0.1})]))).table
    means = table.groupby("series")["value"].mean()
    assert means.to_dict() == pytest.approx({"8 rows a step": 0.1, "64 rows a step": 0.5})
    assert set(table["group"]) == set(orders)


def test_numbers_stand_beside_all_that_the_source_has():
    learning, letters = trained(**{K1: (0, 0, 0)}), trained()
    noisy = pd.DataFrame({"init_seed": 1, "step": [0, 20], "cut": "none", "noise": [0.0, 0.4]})
    rows = pd.DataFrame({"rows": [1, 2, 4], "init_seed": 1})
    parts = [
        rows.assign(n_tokens=n, part=part, leads=(0.0, 0.0, 1.0) if part == ATTENTION and n == 32 else 1.0)
        for n in (16, 32)
        for part in (MLP, ATTENTION)
    ]
    given = results(learning=learning, letters=letters, noisy=noisy, samples=pd.concat(parts, ignore_index=True))
    table = comparison(VIEWS["numbers"](given)).set_index("quantity")
    ours = table.iloc[:, -1]
    assert list(table.index) == list(PUBLISHED)
    assert ours["power of N of the rows that the MLP needs"] == 0
    assert ours["power of N of the rows that attention needs"] == pytest.approx(2)
    assert ours["steps from the first memory to the second"] == 10
    assert ours["probability of the noise token at the end"] == 0.4
    assert ours["entropy of a letter, nats"] == 3 and ours["accuracy of two layers, generated tokens"] == 0.9
