"""Stacked heads: networks trained otherwise differ in the one thing that is named; claims on their wait."""

import dataclasses
import math

import pandas as pd
import pytest

from livingpaper.book import studies
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads import design
from retrieval_circuits.stacked_heads.claims.wait import CAN_GROW, CAN_SHRINK, WAIT
from retrieval_circuits.stacked_heads.design import FOLLOWED
from retrieval_circuits.stacked_heads.design.wait import CHANGES, FASTER, FIXED, LESS_NOISE, NO_DECAY, TINY
from retrieval_circuits.stacked_heads.figures.wait import TRAINED, waits

ARMS = design.recipes(studies.load_params("stacked_heads"))
ALWAYS_OTHER = {"checkpoint_at", "checkpoint_epochs", "stages"}
DIFFERS = {
    NO_DECAY: {"optimizer"},
    LESS_NOISE: {"batch_size"},
    FIXED: {"task_params"},
    FASTER: {"optimizer"},
    TINY: set(),
}


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_change_is_the_followed_network_but_for_one_thing(change):
    followed = {recipe.init_seed: recipe for recipe in ARMS[str(FOLLOWED)]}
    for recipe in ARMS[str(change)]:
        plain = followed[recipe.init_seed]
        names = {field.name for field in dataclasses.fields(recipe)}
        other = {name for name in names if getattr(recipe, name) != getattr(plain, name)}
        assert other - ALWAYS_OTHER == DIFFERS[change]
    plain, recipe = plain.optimizer, recipe.optimizer
    wanted = {NO_DECAY: {"weight_decay": 0.0}, FASTER: {"lr": 3e-3}}.get(change, {})
    assert recipe == dataclasses.replace(plain, **wanted)


def test_rows_are_fresh_as_in_the_followed_cell_or_fixed():
    stages = {change: ARMS[str(change)][0].stages[0] for change in CHANGES}
    plain = ARMS[str(FOLLOWED)][0].stages[0]
    assert {stages[change].fresh for change in (NO_DECAY, FASTER)} == {plain.fresh}
    assert stages[LESS_NOISE].fresh == 4 * plain.fresh and stages[FIXED].fresh == stages[TINY].fresh == 0
    sizes = {change: len(ARMS[str(change)][0].make_task().split("train")) for change in (FIXED, TINY)}
    assert sizes == {FIXED: 2**14, TINY: 2**8}


def results(networks):
    """Networks ``arm -> (step at the shortcut, step at which the first symbol is learnt)``, one a seed, to step 1,000.

    Checkpoints every 100 steps; what comes after the last one is never seen.
    """
    rows = [
        {"arm": str(arm), "init_seed": seed, "run_id": f"{arm} {seed}", "metric": "partial_loss", "variable": "x_1",
         "step": step, "value": 0.875 if step < shortcut else 0.75 if step < learnt else 0.25}
        for arm, times in networks.items()
        for seed, (shortcut, learnt) in enumerate(times, 1)
        for step in range(0, 1001, 100)
    ]  # fmt: skip
    return Results(pd.DataFrame(rows), pd.DataFrame(), "paper")


def doublings(followed, changed):
    found = results({FOLLOWED: [followed], NO_DECAY: [changed]})
    values = WAIT[0].reading.values(found)
    return values.item() if len(values) else None


@pytest.mark.parametrize(
    ("followed", "changed", "wanted"),
    [
        ((300, 700), (300, 700), 0),
        ((100, 500), (700, 1000), math.log2(300 / 400)),  # what comes before the shortcut is not the wait
        ((300, 500), (300, 700), 1),
        ((300, 700), (300, 500), -1),
        ((300, 700), (300, 9999), math.log2(750 / 400)),  # it has waited to the end, from 250 on, at least
        ((300, 700), (9999, 9999), math.log2(1000 / 400)),  # so has one that is not even at the shortcut
        ((300, 9999), (300, 9999), None),  # of which neither tells which is longer
    ],
)
def test_the_wait_is_counted_from_the_shortcut_and_in_doublings(followed, changed, wanted):
    assert doublings(followed, changed) == (wanted if wanted is None else pytest.approx(wanted))


def test_a_longer_training_is_cut_where_the_shorter_one_ends():
    rows = results({FOLLOWED: [(300, 800)], NO_DECAY: [(300, 9999)]}).measurements
    cut = rows[(rows["arm"] == str(FOLLOWED)) | (rows["step"] <= 500)]
    values = WAIT[0].reading.values(Results(cut, pd.DataFrame(), "paper"))
    assert values.empty, "neither had learnt anything at step 500"


def test_claims_and_controls_ask_of_the_arms_that_they_name():
    arms = {claim.id: set(claim.reading.values.arms) - {str(FOLLOWED)} for claim in WAIT}
    assert arms == {"SH52": {str(NO_DECAY)}, "SH53": {str(LESS_NOISE)}, "SH54": {str(FIXED)}}
    assert [set(one.reading.values.arms) - {str(FOLLOWED)} for one in (CAN_SHRINK, CAN_GROW)] == [
        {str(FASTER)}, {str(TINY)}
    ]  # fmt: skip


def test_the_figure_has_the_wait_of_every_network_open_where_it_has_not_ended():
    table = waits(results({arm: [(200, 300), (200, 9999), (9999, 9999)] for arm in TRAINED})).table
    assert table["group"].drop_duplicates().tolist() == list(TRAINED.values()), "all are trained as long here"
    assert table.groupby("there")["value"].unique().map(list).to_dict() == {True: [100], False: [850, 1000]}
