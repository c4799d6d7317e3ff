"""Stacked heads: the tables of what is trained, and of what prompts share with training rows."""

import pandas as pd
import pytest

from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import FRESH, ONE, REWARDED, share_repeated
from retrieval_circuits.stacked_heads.figures import VIEWS
from retrieval_circuits.stacked_heads.readings.rests import least_error, most_error

NOTHING = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])


def test_arms_that_differ_in_layers_alone_stand_in_one_row_of_what_is_trained():
    seeds = {ONE[0]: (1, 2, 3), REWARDED[0]: (1, 2, 3), REWARDED[3]: (1, 2, 3), FRESH: (11, 13)}
    rows = [
        {"arm": str(arm), "init_seed": seed, "run_id": f"{arm}{seed}", "step": step, "metric": "partial_loss",
         "value": 1.0, "variable": "x_1"}
        for arm, of_arm in seeds.items() for seed in of_arm for step in (0, 1500 if arm == FRESH else 3000)
    ]  # fmt: skip
    view = VIEWS["trained"](Results(pd.DataFrame(rows), pd.DataFrame(), "paper"))
    assert view.table.to_numpy().tolist() == [
        [1, "every symbol rewarded", "1", "3,000", "3 (1 to 3)"],
        [2, "every symbol rewarded", "1, 4", "3,000", "3 (1 to 3)"],
        [2, "the same, fresh seeds", "4", "1,500", "2 (11, 13)"],
    ]
    assert set(view.arms) == set(map(str, seeds)), "all networks that it speaks of are behind it"


@pytest.mark.parametrize("reading, expected", [(least_error, {1: 0.1, 2: 0.3}), (most_error, {1: 0.4, 2: 0.9})])
def test_the_best_and_the_worst_depth_of_a_seed_is_taken(reading, expected):
    """Of seeds that have every depth, of the symbol asked for, at the end."""
    ends = {(0, 1): 0.1, (1, 1): 0.4, (0, 2): 0.9, (1, 2): 0.3, (0, 3): 0.2}
    rows = [
        {"arm": str(ONE[depth]), "init_seed": seed, "run_id": f"{depth} {seed}", "step": step, "metric": "partial_loss",
         "value": end if step and variable == "x_1" else 0.75, "variable": variable}
        for (depth, seed), end in ends.items() for step in (0, 50) for variable in ("x_1", "x_2")
    ]  # fmt: skip
    results = Results(pd.DataFrame(rows), pd.DataFrame(), "paper")
    assert reading(1, *ONE[:2])(results).to_dict() == expected


def test_two_look_ups_have_as_many_bijections_as_one_has_lines():
    """Two blocks of four links are 24 times 24 sets of links; one block is 24 of them in 24 orders."""
    table = VIEWS["repeated"](Results(NOTHING, pd.DataFrame(), "paper")).table.set_index("look-ups")
    lines, links = table.columns
    assert table.loc[1, lines] == table.loc[2, links] == f"{100 * share_repeated():.0f} %"
    assert share_repeated() == pytest.approx(1 - (1 - 1 / 576) ** (4096 / 3))
    assert table.loc[3, lines] == "below 0.1 %"
