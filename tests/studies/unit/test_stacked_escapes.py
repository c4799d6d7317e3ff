"""Stacked heads: networks that leave the shortcut are counted, and those that do not are watched to their end."""

import math

import pandas as pd
import pytest

from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads.design import LAST_ALONE, ONE
from retrieval_circuits.stacked_heads.figures.escapes import escapes


def results(leaves):
    """Networks ``arm -> steps`` at which each leaves the shortcut; checkpoints every 100 steps."""
    rows = [
        {"arm": str(arm), "init_seed": seed, "run_id": f"{arm} {seed}", "metric": "partial_loss", "step": step,
         "variable": f"x_{arm.n_steps}", "value": 0.75 if step < left else 0.25}
        for arm, steps in leaves.items()
        for seed, left in enumerate(steps, 1)
        for step in range(0, 1001, 100)
    ]  # fmt: skip
    return Results(pd.DataFrame(rows), pd.DataFrame(), "paper")


def test_those_that_left_and_those_that_did_not_are_told_apart():
    table = escapes(results({ONE[1]: [200, 300, 400], LAST_ALONE[0]: [9999, 9999]})).table.set_index("look-ups")
    assert table["networks that left"].to_dict() == {1: "3 of 3", 2: "0 of 2"}
    assert table["steps, the middle one"].to_dict() == {1: "250", 2: ""}, "between 200 and 300, lines are straight"
    waits = table["mean wait at least, if chance is constant"]
    assert waits[2] == "670", "two networks, 1,000 steps each, over -log(0.05)"
    assert waits[1] == "", "where all left, any short wait is possible"
    assert 2_000 / 670 == pytest.approx(-math.log(0.05), rel=0.01)
