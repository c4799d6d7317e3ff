"""When a curve gets to a level: between checkpoints, curve by curve, and never where it does not."""

import numpy as np
import pandas as pd
import pytest

from circuitcore.emergence import by_the_end, crossing_times


@pytest.mark.parametrize(
    ("values", "how", "wanted"),
    [
        ([0.0, 0.2, 0.8, 0.9], {}, 150.0),
        ([0.6, 0.2, 0.8, 0.9], {}, 0.0),  # from the start, and what comes later does not matter
        ([0.0, 0.1, 0.2, 0.3], {}, np.inf),
        ([0.0, 0.5, 0.5, 0.9], {}, 100.0),  # at the level is there
        ([0.0, 0.5, 0.5, 0.9], {"strictly": True}, 200.0),  # from where it leaves the level
        ([0.5, 0.5, 0.5, 0.5], {"strictly": True}, np.inf),
        ([1.0, 0.8, 0.3, 0.1], {"below": True}, 160.0),  # from 0.8 at 100 to 0.3 at 200
        ([1.0, 0.9, 0.8, 0.7], {"below": True}, np.inf),
        ([0.5, 0.5, 0.5, 0.5], {"below": True}, 0.0),
        ([0.5, 0.5, 0.5, 0.5], {"below": True, "strictly": True}, np.inf),
    ],
)
def test_a_crossing_is_found_between_checkpoints(values, how, wanted):
    curve = pd.DataFrame({"step": [0, 100, 200, 300], "value": values, "init_seed": 7})
    assert crossing_times(curve.sample(frac=1, random_state=0), 0.5, **how)[7] == pytest.approx(wanted)


def test_curves_may_have_levels_and_checkpoints_of_their_own():
    curves = pd.DataFrame({"step": [0, 100, 0, 50], "value": [0.0, 1.0, 0.0, 1.0], "init_seed": [1, 1, 2, 2]})
    assert crossing_times(curves, pd.Series({2: 0.2, 1: 0.6})).to_dict() == {1: 60.0, 2: pytest.approx(10.0)}


def test_curves_may_be_told_apart_by_several_columns():
    curves = pd.DataFrame({"step": [0, 100] * 2, "value": [0.0, 1.0, 1.0, 1.0], "init_seed": 1, "place": [1, 1, 2, 2]})
    found = crossing_times(curves, 0.5)
    assert found.index.names == ["init_seed", "place"]
    assert found.to_dict() == {(1, 1): 50.0, (1, 2): 0.0}


def test_a_curve_whose_name_is_missing_in_part_is_a_curve():
    curves = pd.DataFrame(
        {"step": [0, 100] * 2, "value": [0.0, 1.0, 0.0, 0.5], "arm": "a", "head": [0.0, 0.0, None, None]}
    )
    assert crossing_times(curves, 0.5).tolist() == [50.0, 100.0]


@pytest.mark.parametrize(
    ("values", "wanted"), [([0.0, np.nan, 1.0], 100.0), ([np.nan, 0.6, 1.0], 100.0), ([0.0, 0.2, np.nan], np.inf)]
)
def test_a_value_that_was_not_measured_is_passed_over(values, wanted):
    curve = pd.DataFrame({"step": [0, 100, 200], "value": values, "init_seed": 7})
    assert crossing_times(curve, 0.5)[7] == wanted


def test_a_curve_that_was_never_measured_has_no_time_at_all():
    curve = pd.DataFrame({"step": [0, 100], "value": np.nan, "init_seed": 7})
    assert np.isnan(crossing_times(curve, 0.5)[7])


def test_two_values_at_one_step_are_refused():
    curve = pd.DataFrame({"step": [0, 0], "value": [0.0, 1.0], "arm": "a", "init_seed": 7})
    with pytest.raises(ValueError, match="two values of one curve at one step .arm=a, init_seed=7, step=0."):
        crossing_times(curve, 0.5)


def test_what_cannot_be_told_apart_or_has_no_level_is_refused():
    curve = pd.DataFrame({"step": [0, 100], "value": [0.0, 1.0]})
    with pytest.raises(ValueError, match=r"columns \['step', 'value'\]; allowed: one more"):
        crossing_times(curve, 0.5)
    with pytest.raises(ValueError, match=r"no level for the curve 3; there are some for \[1\]"):
        crossing_times(curve.assign(init_seed=3), pd.Series({1: 0.5}))


def test_what_comes_by_the_end_is_there_and_what_does_not_stands_at_the_end():
    found = by_the_end(pd.Series([10.0, 50.0, np.inf]), 50)
    assert found["value"].tolist() == [10.0, 50.0, 50.0] and found["there"].tolist() == [True, True, False]
    of_each = by_the_end(pd.Series([30.0, 30.0]), pd.Series([20, 40]))
    assert of_each["value"].tolist() == [20.0, 30.0] and of_each["there"].tolist() == [False, True]
