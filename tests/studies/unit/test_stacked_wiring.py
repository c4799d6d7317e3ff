"""Stacked heads: circuits are drawn as the paths that are left, and a network without one keeps its place."""

import pandas as pd
import pytest

from livingpaper.claims.results import Results, SelectionError
from retrieval_circuits.stacked_heads.design import (
    EVERY_FOUR,
    FOLLOWED,
    FRESH,
    FRESH_FOUR,
    ONE_EACH,
    TO_SPARE,
    WITHOUT_THIRD,
)
from retrieval_circuits.stacked_heads.figures.wiring import AHEAD, HOPS, OTHER, WIRING_VIEWS


def results(networks):
    """Networks ``(arm, seed) -> (final errors, paths (layer, head, site))``."""
    losses = [
        {"arm": str(arm), "init_seed": seed, "run_id": f"{arm} {seed}", "metric": "partial_loss", "step": 100,
         "variable": f"x_{place}", "value": value}
        for (arm, seed), (errors, _) in networks.items()
        for place, value in enumerate(errors, 1)
    ]  # fmt: skip
    paths = [
        {"arm": str(arm), "init_seed": seed, "metric": "path", "layer": layer, "head": head, "site": site, "value": 0.9}
        for (arm, seed), (_, left) in networks.items()
        for layer, head, site in left
    ]
    columns = ["arm", "init_seed", "metric", "layer", "head", "site", "value"]
    return Results(pd.DataFrame(losses), pd.DataFrame(), "paper", {"circuit": pd.DataFrame(paths, columns=columns)})


def test_a_circuit_is_drawn_from_what_is_looked_at_to_what_looks():
    left = [(0, 1, "value_0>key_0"), (1, 2, "value_0>value_1"), (3, 0, "queries>value_0"), (2, 0, "queries>queries")]
    view = WIRING_VIEWS["circuits_of_two"](results({(FOLLOWED, 1): ([0.1, 0.9], left), (FRESH, 11): ([0.1, 0.1], [])}))
    table = view.table
    assert table["panel"].tolist() == ["seed 11: 2 learnt", *["seed 1: 1 learnt"] * 3], "who learnt most comes first"
    assert table["layer"].isna().tolist() == [True, False, False, False]
    drawn = table.dropna(subset=["layer"])
    assert list(zip(drawn["source"], drawn["target"], drawn["series"], strict=True)) == [
        ("k1", "a1", OTHER), ("a2", "a1", AHEAD), ("a1", "q", HOPS)
    ]  # fmt: skip
    assert list(table["source"].cat.categories) == ["k2", "a2", "k1", "a1", "q"], "as they follow each other in a row"
    assert set(table["layers"]) == {4} and view.seeds == (1, 11)


def test_networks_of_several_depths_are_told_apart():
    networks = {(TO_SPARE, 1): ([0.1] * 3, [(5, 0, "queries>value_2")]), (ONE_EACH, 1): ([0.1] * 3, [])}
    table = WIRING_VIEWS["circuits_deeper"](results(networks)).table
    assert table["panel"].tolist() == ["4 layers, seed 1: 3 learnt", "6 layers, seed 1: 3 learnt"]


def test_networks_of_one_depth_are_told_apart_by_what_is_rewarded():
    networks = {
        (EVERY_FOUR, 1): ([0.1] * 4, [(3, 0, "value_1>value_3")]),
        (FRESH_FOUR, 11): ([0.9] * 4, []),
        (WITHOUT_THIRD, 1): ([0.1, 0.1, 0.9], [(4, 0, "queries>value_3")]),
    }
    table = WIRING_VIEWS["circuits_of_four"](results(networks)).table
    assert table["panel"].tolist() == ["seed 1: 4 learnt", "no third, seed 1: 2 learnt", "seed 11: 0 learnt"]
    drawn = table.dropna(subset=["source"])
    assert list(drawn["source"]) == ["a4", "a4"] and list(drawn["target"]) == ["a2", "q"]
    assert list(table["source"].cat.categories) == ["k4", "a4", "k3", "a3", "k2", "a2", "k1", "a1", "q"]


def test_networks_that_are_not_there_are_named():
    with pytest.raises(SelectionError, match="D 3, every step, 3 layers"):
        WIRING_VIEWS["circuits_of_three"](results({(FOLLOWED, 1): ([0.1, 0.1], [])}))
