"""Choosing the leading head: highest value, ties to the lower head, one choice per case."""

import pandas as pd

from circuitcore.emergence.leaders import leading_head, of_leader


def rows(values, step=0, seed=0):
    table = pd.DataFrame({"layer": [0, 0, 1, 1], "head": [0, 1, 0, 1], "site": ["L0H0", "L0H1", "L1H0", "L1H1"]})
    return table.assign(arm="a", init_seed=seed, step=step, value=values)


def test_the_highest_head_leads_and_by_how_much():
    (best,) = leading_head(rows([0.1, 0.9, 0.4, 0.2])).to_dict("records")
    assert (best["site"], best["value"], round(best["lead"], 9)) == ("L0H1", 0.9, 0.5)


def test_a_tie_goes_to_the_lower_layer_then_the_lower_head():
    assert leading_head(rows([0.2, 0.7, 0.7, 0.7]))["site"].tolist() == ["L0H1"]
    assert leading_head(rows([0.7, 0.7, 0.7, 0.7]))["site"].tolist() == ["L0H0"]


def test_every_checkpoint_and_seed_has_its_own_leader():
    table = pd.concat([rows([1, 0, 0, 0], step=5), rows([0, 0, 0, 1], step=2, seed=1), rows([0, 0, 1, 0], step=9)])
    led = leading_head(table).set_index(["init_seed", "step"])["site"].to_dict()
    assert led == {(0, 5): "L0H0", (0, 9): "L1H0", (1, 2): "L1H1"}


def test_a_single_head_leads_by_nothing_known():
    only = leading_head(rows([1, 0, 0, 0]).head(1))
    assert only["site"].tolist() == ["L0H0"] and only["lead"].isna().all()


def test_other_rows_follow_the_choice():
    chosen = leading_head(rows([0, 1, 0, 0]))
    assert of_leader(rows([10, 11, 12, 13]), chosen)["value"].tolist() == [11]


def test_one_column_tells_cases_apart_as_well():
    table = pd.concat([rows([0.2, 0.5, 0.1, 0.0]), rows([0.9, 0.1, 0.0, 0.0], step=1)])
    assert leading_head(table, case=("step",))["lead"].round(9).to_list() == [0.3, 0.8]
