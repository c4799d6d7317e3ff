"""SGD formation, networks that do not read by the end: they go on with the same stream, and what is told can differ."""

import dataclasses

import pandas as pd
import pytest
import torch

from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.claims.view import NoRowsError, View
from retrieval_circuits.sgd_formation.design import FRESH, TRAINED_ON
from retrieval_circuits.sgd_formation.figures.chapter import by_lag
from retrieval_circuits.sgd_formation.figures.late import HALF_BY, RIGHT_AT_END, late, waits

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


def test_each_is_told_by_what_it_has_and_by_what_becomes_of_it():
    found = late(planted(
        network(FRESH, 1, {0: 0.0, 500: 1.0}, 0.9), network(FRESH, 2, {0: 0.0, 500: 0.4}, 0.1),
        network(FRESH, 3, {0: 0.0, 500: 0.3}, 0.2), network(TRAINED_ON, 2, {500: 0.4, 600: 0.6, 700: 1.0}, 0.8, 0.25),
        network(TRAINED_ON, 3, {500: 0.3, 600: 0.3, 700: 0.4}, 0.3),
    )).table.set_index("init_seed")  # fmt: skip
    assert found.loc[2].drop("arm").to_dict() == {
        "right": 0.4, "stays": 0.25, "attention": 0.4, "held-out pairs": 0.1, "half right": "550",
        "nine in ten right": "675", "held-out pairs, at the end": 0.8,
    }  # fmt: skip
    assert list(found.loc[3, ["half right", "nine in ten right"]]) == ["never", "never"] and len(found) == 2


def test_where_none_is_trained_on_there_is_nothing_to_tell():
    with pytest.raises(NoRowsError):
        late(planted(network(FRESH, 1, {0: 0.0, 500: 1.0}, 0.9)))


def test_the_wait_is_that_of_networks_that_read_and_of_all_where_none_does():
    table = pd.DataFrame({"arm": FRESH, "init_seed": [1, 2, 3], HALF_BY: [1500, 2500, 5000]})
    some, none = (
        View(table.assign(**{RIGHT_AT_END: right}), "as named", "test") for right in ([1, 0.95, 0.5], [0.1] * 3)
    )
    assert waits(some) == {"half_first": "1,500", "half_last": "2,500"}
    assert waits(none) == {"half_first": "1,500", "half_last": "5,000"}


def test_who_does_not_read_has_no_half_to_be_drawn_around():
    reads = network(FRESH, 1, {0: 0.0, 50: 0.4, 100: 1.0, 150: 1.0}, 0.9)
    never = network(FRESH, 2, {0: 0.0, 50: 0.1, 100: 0.2, 150: 0.3}, 0.1)
    assert set(by_lag(planted(reads, never)).table["init_seed"]) == {1}
    assert set(by_lag(planted(never)).table["init_seed"]) == {2}, "a reader's short trial"
