"""A stored table is computed again from weights, and each number that differs is found."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from toy.recall import ALLOWED, toy_recipe

import paper
from circuitcore.training import CheckpointError, RunStore, StoreError
from circuitcore.training.store.run import Run
from livingpaper.book import studies
from livingpaper.commands import cli
from livingpaper.commands.recompute import paired, recompute

STORE = RunStore("runs", "published")
LAST_ALONE = "symbolic_kv-468f9b126cea"
"""A network of which the last weights are published, and no others."""


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(paper.ROOT)


def table(values, steps=(0, 5, 5)):
    return pd.DataFrame(
        {"run_id": "r", "step": list(steps), "head": pd.array([0, 1, None], "Int64"), "value": list(values)}
    )


def test_rows_meet_by_what_they_name_and_missing_ones_are_left_out():
    found = paired(table([1.0, 2.0, 3.0]), table([30.0, 20.0, 9.0], steps=(5, 5, 7)).iloc[[1, 0, 2]])
    assert found[["step", "head", "stored", "now"]].values.tolist() == [["5", "1", 2.0, 20.0]]
    twice = paired(pd.concat([table([1, 2, 3])] * 2), pd.concat([table([4, 5, 6]), table([7, 8, 9])]))
    assert twice[["stored", "now"]].values.tolist() == [[1, 4], [2, 5], [3, 6], [1, 7], [2, 8], [3, 9]]


def test_a_published_table_is_what_its_weights_give(capsys):
    assert cli.main(["recompute", LAST_ALONE[:16], "snapshots"]) == 0
    found = recompute(LAST_ALONE, "snapshots", STORE)
    at_end = found.run.table(found.key).query("step == @found.run.final_step")
    assert len(found.rows) == len(at_end) > 100, "its last weights are here, and no others"
    assert found.apart.max() < 1e-4, "processors differ in the last bits"
    said = capsys.readouterr().out
    assert said == "\n".join(found.lines()) + "\n"
    assert f"{len(at_end):,} of {found.n_stored:,} stored numbers computed again" in said


def test_a_number_that_the_weights_do_not_give_is_named(monkeypatch):
    read = Run.table

    def edited(run, key):
        stored = read(run, key)
        place = stored.index[(stored["step"] == run.final_step) & (stored["kind"] == "OV")][3]
        stored.loc[place, "value"] += 0.25
        stored.loc[place + 1, "value"] = np.nan
        return stored

    monkeypatch.setattr(Run, "table", edited)
    found = recompute(LAST_ALONE, "snapshots", STORE)
    assert sorted(found.apart.nlargest(2)) == [pytest.approx(0.25, abs=1e-4), float("inf")]
    assert "Largest difference: inf." in found.lines()[1] and "nan stored" in found.lines()[2]
    assert "kind OV, head L0H0" in found.lines()[3]


@pytest.mark.parametrize(
    ("name", "key", "error", "told"),
    [
        (LAST_ALONE, "atention", StoreError, "unknown table 'atention'.*known: battery-v1"),
        (LAST_ALONE, "", StoreError, "unknown table ''"),
        (
            "textual_kv-04bc58c83f41",
            "battery",
            CheckpointError,
            "none of its weights.*circuitcore sweep story_con",
        ),
        ("symbolic_kv-x", "battery", StoreError, "no run 'symbolic_kv-x'"),
    ],
)
def test_what_cannot_be_computed_is_said_in_a_sentence(name, key, error, told):
    with pytest.raises(error, match=told):
        recompute(name, key, STORE)


def test_a_table_that_no_study_asks_for_is_not_guessed_at(tmp_path):
    store = RunStore(tmp_path, None, ALLOWED)
    run = store.get_or_train(toy_recipe())
    store.save_table(run, "battery-v1-01234567", table([1, 2, 3]))
    with pytest.raises(StoreError, match="no study's parameters ask for its table 'battery-v1-01234567'"):
        recompute(run.run_id, "battery", dataclasses.replace(store))


def test_a_run_of_a_readers_own_seed_is_measured_as_those_of_its_task(tmp_path):
    params = studies.load_params("symbolic_kv", "smoke").model_copy(update={"seeds": (77,)})
    study = studies.load("symbolic_kv")
    (recipe,) = study.recipes(params)["trained"]
    store = RunStore(tmp_path, None)
    run = store.get_or_train(recipe)
    asked = next(one for one in study.instruments(params, "trained") if one.key.startswith("battery"))
    store.save_table(run, asked.key, asked.measure(run))
    found = recompute(run.run_id, "battery", store)
    assert len(found.rows) == found.n_stored > 100 and found.apart.max() == 0
