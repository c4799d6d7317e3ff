"""Rises of a curve: what was planted is found, noise alone has none, and bad curves are refused by name."""

import numpy as np
import pandas as pd
import pytest

from circuitcore.emergence import rises

STEPS = np.arange(0, 6400, 100)


def curve(values):
    return pd.DataFrame({"step": STEPS, "value": values})


def test_what_was_planted_is_found_however_the_rows_are_ordered():
    noise = np.random.default_rng(0).normal(0, 0.002, len(STEPS))
    planted = 0.3 * (STEPS >= 1000) + 0.1 * (STEPS >= 1100) + 0.2 * (STEPS >= 2000) - 0.2 * (STEPS >= 2500) + noise
    found = rises(curve(planted).sample(frac=1, random_state=1), quiet_from=3200)
    assert found[["start", "stop"]].to_numpy().tolist() == [[900, 1100], [1900, 2000]]
    assert found["rise"].to_numpy() == pytest.approx([0.4, 0.2], abs=0.01)


def test_the_first_and_the_last_change_can_be_rises():
    found = rises(curve(np.where(STEPS > 0, 1.0, 0.0)), quiet_from=3200)
    assert found.to_numpy().tolist() == [[0, 100, 1]]
    late = np.where(STEPS == STEPS[-1], 1.0, 0.0)
    assert rises(curve(late), quiet_from=3200).empty, "what changes there is the measure of quiet"


def test_noise_alone_hardly_ever_rises_and_without_the_factor_it_does():
    draws = np.random.default_rng(0).normal(size=(1000, len(STEPS)))
    found = {times: sum(not rises(curve(values), 3200, times).empty for values in draws) for times in (1.0, 2.0)}
    assert found[2.0] <= 10, "one in two hundred is said"
    assert found[1.0] > 100


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: pd.concat([rows, rows.tail(1)]), "two values at one step"),
        (lambda rows: rows.assign(value=rows["value"].where(rows["step"] > 0)), "one that is missing"),
        (lambda rows: rows[rows["step"] < 3400], "2 checkpoints from step 3200 on"),
    ],
)
def test_a_curve_that_cannot_be_judged_is_refused(change, says):
    with pytest.raises(ValueError, match=says):
        rises(change(curve(np.linspace(0, 1, len(STEPS)))), quiet_from=3200)
