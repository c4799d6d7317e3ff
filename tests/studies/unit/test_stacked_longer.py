"""Three layers that are trained on: what they have learnt by when, and what they make with a look forbidden."""

import pandas as pd
import pytest

from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.claims.longer import TRAINED_ON
from retrieval_circuits.stacked_heads.design import LONG_SCARCE
from retrieval_circuits.stacked_heads.figures.longer import longer_numbers, three_before, three_longer, three_needs

ARM = str(LONG_SCARCE)
AHEAD, HOP = "value_1>value_2", "queries>value_2"
STEPS = (0, 100, 200, 300, 400)
THIRD = {1: (1.0, 0.1, 0.1, 0.1, 0.1), 2: (1.0, 0.75, 0.75, 0.2, 0.1), 3: (1.0, 0.75, 0.75, 0.75, 0.74)}
"""Three networks: one that has learnt the third symbol by a quarter, one that learns it later, one that does not."""


@pytest.fixture
def planted():
    curves = [
        {"arm": ARM, "init_seed": seed, "run_id": f"x {seed}", "metric": "partial_loss", "variable": f"x_{place}",
         "step": step, "value": value if place == 3 else 0.1}
        for seed, values in THIRD.items() for step, value in zip(STEPS, values, strict=True) for place in (1, 2, 3)
    ]  # fmt: skip
    needed = [
        {"arm": ARM, "init_seed": seed, "run_id": f"x {seed}", "step": 400, "metric": metric, "variable": f"x_{place}",
         "site": site, "layer": 1, "head": head, "value": error if place == 3 else 0.1}
        for seed, metric, site, head, error in (
            (1, "error_with_all", "", 0, 0.1), (1, "error_without", AHEAD, 0, 0.2), (1, "error_without", AHEAD, 1, 0.9),
            (2, "error_with_all", "", 0, 0.1), (2, "error_without", HOP, 0, 0.8),
            (3, "error_with_all", "", 0, 0.74), (3, "error_without", AHEAD, 0, 0.76),
        )
        for place in (1, 2, 3)
    ]  # fmt: skip
    return Results(pd.DataFrame(curves), pd.DataFrame(), "paper", {"needed": pd.DataFrame(needed)})


def test_a_network_had_learnt_the_symbol_where_others_of_its_arm_were_stopped(planted):
    view = three_before(planted)
    table = view.table.set_index("init_seed")
    assert table["value"].to_dict() == {1: True, 2: True, 3: False}
    assert table["before"].to_dict() == {1: True, 2: False, 3: False}
    assert table["step"].to_dict() == pytest.approx({1: 100 * 5 / 9, 2: 200 + 100 * 5 / 11, 3: 400})
    assert longer_numbers(view) == {
        "n_long_learnt": "2 of 3",
        "n_long_before": "1",
        "last_learnt": "245",
        "n_long_hop": "1 of 2",
    }
    assert len(three_longer(planted).table) == len(THIRD) * len(STEPS) * 3


def test_an_error_is_that_without_the_look_that_is_needed_most(planted):
    table = three_needs(planted).table.pivot(index="init_seed", columns="group", values="value")
    assert table["without second answer to third"].to_dict() == {1: 0.9, 2: 0.1, 3: 0.76}
    assert table["without query to third answer"].to_dict() == {1: 0.1, 2: 0.8, 3: 0.74}
    assert table["as it is"].to_dict() == {1: 0.1, 2: 0.1, 3: 0.74}


def test_the_claim_asks_those_alone_that_have_learnt_the_symbol(planted):
    needs = next(claim for claim in TRAINED_ON if claim.id == "SH61")
    assert needs.reading.of(planted).to_dict() == {1: 0.9, 2: 0.1}
    second, hop, _ = needs.controls
    assert second.reading.of(planted).to_dict() == {1: 0.1, 2: 0.1}
    assert hop.reading.of(planted).to_dict() == {1: 0.1, 2: 0.8}
