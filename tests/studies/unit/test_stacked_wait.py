"""Stacked heads: networks trained otherwise differ in the one thing that is named; claims on their wait."""

import dataclasses

import pandas as pd
import pytest

from livingpaper.book import studies
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads import design
from retrieval_circuits.stacked_heads.claims.wait import CAN_MOVE, WAIT
from retrieval_circuits.stacked_heads.design import FOLLOWED
from retrieval_circuits.stacked_heads.design.wait import CHANGES, FASTER, FIXED, LESS_NOISE, NO_DECAY
from retrieval_circuits.stacked_heads.figures.wait import TRAINED, waits

ARMS = design.recipes(studies.load_params("stacked_heads"))
ALWAYS_OTHER = {"checkpoint_at", "checkpoint_epochs", "stages"}
DIFFERS = {NO_DECAY: {"optimizer"}, LESS_NOISE: {"batch_size"}, FIXED: {"task_params"}, FASTER: {"optimizer"}}


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_change_is_the_followed_network_but_for_one_thing(change):
    followed = {recipe.init_seed: recipe for recipe in ARMS[str(FOLLOWED)]}
    for recipe in ARMS[str(change)]:
        plain = followed[recipe.init_seed]
        names = {field.name for field in dataclasses.fields(recipe)}
        other = {name for name in names if getattr(recipe, name) != getattr(plain, name)}
        assert other - ALWAYS_OTHER == DIFFERS[change]
    plain, recipe = plain.optimizer, recipe.optimizer
    wanted = {NO_DECAY: {"weight_decay": 0.0}, FASTER: {"lr": 2e-3}}.get(change, {})
    assert recipe == dataclasses.replace(plain, **wanted)


def test_rows_are_fresh_as_in_the_followed_cell_or_fixed():
    stages = {change: ARMS[str(change)][0].stages[0] for change in CHANGES}
    plain = ARMS[str(FOLLOWED)][0].stages[0]
    assert {stages[change].fresh for change in (NO_DECAY, FASTER)} == {plain.fresh}
    assert stages[LESS_NOISE].fresh == 4 * plain.fresh and stages[FIXED].fresh == 0
    assert len(ARMS[str(FIXED)][0].make_task().split("train")) == 2**14


def results(waits):
    """Networks ``arm -> steps`` after which the first symbol is learnt, one a seed; checkpoints every 100 steps."""
    rows = [
        {"arm": str(arm), "init_seed": seed, "run_id": f"{arm} {seed}", "metric": "partial_loss", "variable": "x_1",
         "step": step, "value": 0.9 if step < wait else 0.1}
        for arm, steps in waits.items()
        for seed, wait in enumerate(steps, 1)
        for step in range(0, 1001, 100)
    ]  # fmt: skip
    return Results(pd.DataFrame(rows), pd.DataFrame(), "paper")


def test_what_is_left_of_the_wait_is_told_and_what_is_never_learnt_counts_to_the_end():
    found = results({FOLLOWED: [600, 600], NO_DECAY: [600, 200], LESS_NOISE: [300, 300], FIXED: [600, 9999],
                     FASTER: [300, 300]})  # fmt: skip
    of = {claim.id: claim.reading.values(found).round(2).tolist() for claim in WAIT}
    assert of == {"SH52": [1.0, 0.27], "SH53": [0.45, 0.45], "SH54": [1.0, 0.55]}
    assert CAN_MOVE.reading.values(found).round(2).tolist() == [0.45, 0.45]
    table = waits(found).table
    assert table["group"].drop_duplicates().tolist() == list(TRAINED.values())
    assert table["value"].max() == 1000
