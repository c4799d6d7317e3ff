"""SGD formation, networks that do not read by the end: they go on with the same stream, and what is told can differ."""

import dataclasses

import pandas as pd
import pytest
import torch

from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.claims.units import POINTS, STEPS
from retrieval_circuits.sgd_formation.design import FRESH, TRAINED_ON
from retrieval_circuits.sgd_formation.figures.chapter import by_lag
from retrieval_circuits.sgd_formation.figures.late import READS_BY, _told, between, late, waits

PUBLISHED = studies.load_params("sgd_formation")
SMALL = studies.load_params("sgd_formation", "smoke")
STUDY = studies.load("sgd_formation")


def test_they_begin_where_networks_on_fresh_rows_end_and_train_for_as_long_again():
    arms = STUDY.recipes(PUBLISHED)
    first = {one.init_seed: one for one in arms[FRESH]}
    assert [one.init_seed for one in arms[TRAINED_ON]] == list(PUBLISHED.late_seeds)
    for one in arms[TRAINED_ON]:
        was = first[one.init_seed]
        assert one.parent == (was.sha256, PUBLISHED.steps) and one.n_steps == PUBLISHED.steps == one.checkpoint_at[-1]
        assert dataclasses.replace(one, parent=None, stages=was.stages, checkpoint_at=was.checkpoint_at) == was


def test_their_rows_are_those_that_twice_as_long_a_training_would_see_next():
    arms = STUDY.recipes(SMALL)
    straight = STUDY.recipes(SMALL.model_copy(update={"steps": 2 * SMALL.steps}))[FRESH][0]
    (late_one,) = arms[TRAINED_ON]
    pairs = zip(late_one.schedule.batches(), straight.schedule.batches(SMALL.steps), strict=True)
    assert all(torch.equal(one.tokens, other.tokens) for one, other in pairs)
    assert not torch.equal(next(straight.schedule.batches()).tokens, next(late_one.schedule.batches()).tokens)


@pytest.mark.parametrize(("seeds", "asked", "made"), [((1, 100), (1, 16), [1]), ((100,), (16, 20), []), ((1,), (), [])])
def test_networks_are_trained_on_that_are_trained_at_all(seeds, asked, made):
    arms = STUDY.recipes(SMALL.model_copy(update={"seeds": seeds, "late_seeds": asked}))
    assert [one.init_seed for one in arms[TRAINED_ON]] == made


def rows(arm, seed, step, metric, value, **more):
    at = {"layer": pd.NA, "head": pd.NA, "site": "", "variable": "", "edit": "", "split": "test", "family": "", **more}
    return {"arm": arm, "init_seed": seed, "run_id": f"{arm} {seed}", "step": step, "tokens_seen": step, "n": 64,
            "metric": metric, "value": value, **at}  # fmt: skip


def network(arm, seed, curve, held_out, stays=0.5):
    """A network by step: how much it reads; at every step what stays, and what two heads look at."""
    table = [rows(arm, seed, max(curve), "accuracy", held_out, split="heldout_pairs")]
    for step, read in curve.items():
        table += [rows(arm, seed, step, "accuracy", read), rows(arm, seed, step, "unmoved", stays, split="test")]
        table += [rows(arm, seed, step, "accuracy", read, variable=f"lag {lag}") for lag in (0, 3, 6, 9)]
        table += [
            rows(arm, seed, step, "attention", look, layer=1, head=head, site=site)
            for head, look in enumerate((0.1, 0.2))
            for site in ("support", "answered", "stale")
        ]
    return table


def planted(*networks):
    table = pd.DataFrame([row for of_one in networks for row in of_one])
    return Results(table.astype({"layer": "Int64", "head": "Int64"}), pd.DataFrame(), "paper")


SLOW = (
    *network(FRESH, 1, {0: 0.0, 500: 1.0}, 0.9), *network(FRESH, 2, {0: 0.0, 500: 0.4}, 0.1, 0.25),
    *network(FRESH, 3, {0: 0.0, 400: 0.4, 500: 0.6}, 0.2), *network(FRESH, 4, {0: 0.0, 500: 0.2}, 0.0),
)  # fmt: skip


def test_each_is_told_at_the_end_of_both_parts_of_its_training():
    on = (network(TRAINED_ON, 2, {0: 0.4, 250: 0.8, 500: 1.0}, 0.8), network(TRAINED_ON, 3, {0: 0.6, 500: 0.7}, 0.3))
    found = late(planted(SLOW, *on)).table.drop(columns="arm").set_index(["init_seed", "step"])
    assert found.index.tolist() == [(2, "500"), (2, "1,000"), (3, "500"), (3, "1,000"), (4, "500")]
    assert found.loc[2, "500"].to_dict() == {
        "right": "40%", "stays": "25%", "attention": "40%", "held-out pairs": "10%", READS_BY: "not yet"
    }  # fmt: skip
    assert found.loc[2, "1,000"].to_dict() == {
        "right": "100%", "stays": "50%", "attention": "40%", "held-out pairs": "80%", READS_BY: "875"
    }  # fmt: skip
    assert list(found.loc[3, READS_BY]) == ["not yet", "not yet"]


def test_without_networks_that_are_trained_on_those_that_do_not_read_are_told():
    assert list(late(planted(SLOW)).table["init_seed"]) == [2, 3, 4]


def test_the_wait_is_that_of_networks_that_read_and_of_all_where_none_does():
    fast, slow = (network(FRESH, seed, {0: 0.0, end: 1.0}, 0.9) for seed, end in ((1, 3_000), (5, 4_000)))
    never = network(FRESH, 2, {0: 0.0, 9_000: 0.4}, 0.1)
    assert between(waits(planted(fast, slow, never))) == {"half_first": "1,500", "half_last": "2,000"}
    assert between(waits(planted(never))) == {"half_first": "9,000", "half_last": "9,000"}


def test_lags_are_drawn_of_networks_that_read_and_of_all_where_none_does():
    reads = network(FRESH, 1, {0: 0.0, 50: 0.4, 100: 1.0, 150: 1.0}, 0.9)
    never = network(FRESH, 2, {0: 0.0, 50: 0.1, 100: 0.6, 150: 0.7}, 0.1)
    assert set(by_lag(planted(reads, never)).table["init_seed"]) == {1}
    assert set(by_lag(planted(never)).table["init_seed"]) == {2}, "a reader's short trial"


def test_what_claims_ask_is_told_of_all_and_of_those_that_read():
    assert _told(POINTS, pd.Series([0.1, 0.2, 0.3])) == "20 points [−5, 45]"
    assert _told(STEPS, pd.Series([4.0])) == "4 steps" and _told(STEPS, pd.Series([], dtype=float)) == "none"
