"""A long run is published with one row of history per epoch, and the copy's ledger says so."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy.recall import ALLOWED, toy_recipe

import circuitcore
from circuitcore.training import RunStore, Stage, StoreError
from circuitcore.training.store import history as history_module
from circuitcore.training.store.history import LONGEST_WHOLE, per_epoch
from circuitcore.training.store.ledger import HISTORY_NAME, LEDGER_NAME, Ledger
from circuitcore.training.store.packing import pack
from circuitcore.training.store.parquet import to_parquet
from circuitcore.training.store.verify import verify

# Epochs of unlike lengths (6, 9 and 3 steps), as in a curriculum.
RECIPE = toy_recipe(stages=(Stage(("train",), 2), Stage(("train", "long"), 3), Stage(("long",), 1)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return RunStore(tmp_path_factory.mktemp("runs"), None).get_or_train(RECIPE)


def published(run, monkeypatch, to, longest):
    monkeypatch.setattr(history_module, "LONGEST_WHOLE", longest)
    return RunStore(run.path.parent, None).publish(run, to, [0, run.final_step])


def thinned_by_hand(history):
    """One row per epoch, by plain loops."""
    rows = []
    for epoch in sorted(set(history["epoch"])):
        steps = [row for row in history.to_dict("records") if row["epoch"] == epoch]
        means = {name: sum(float(row[name]) for row in steps) / len(steps) for name in ("loss", "grad_norm")}
        last = max(steps, key=lambda row: row["step"])
        rows.append({"step": last["step"], "epoch": epoch, "tokens_seen": last["tokens_seen"], **means})
    return rows


def test_the_copy_has_one_row_per_epoch_and_says_so(run, monkeypatch, tmp_path):
    whole = run.history
    copy = published(run, monkeypatch, tmp_path, RECIPE.n_steps - 1)
    thin = copy.history
    assert copy.ledger.history_thinned and not run.ledger.history_thinned
    assert list(thin) == list(whole) and thin.dtypes.equals(whole.dtypes)
    assert thin["step"].tolist() == list(RECIPE.schedule.epoch_ends[1:])
    for made, expected in zip(thin.to_dict("records"), thinned_by_hand(whole), strict=True):
        assert made == pytest.approx(expected, rel=1e-6)
    assert verify(copy.path, allow_tasks=ALLOWED) == [] and verify(run.path, allow_tasks=ALLOWED) == []
    pd.testing.assert_frame_equal(RunStore(tmp_path, None).find(RECIPE).history, thin)
    assert run.history.equals(whole), "the run itself keeps every step"
    assert (copy.path / HISTORY_NAME).stat().st_size < (run.path / HISTORY_NAME).stat().st_size


def test_tokens_are_known_at_every_checkpoint_of_the_copy(run, monkeypatch, tmp_path):
    copy = published(run, monkeypatch, tmp_path, RECIPE.n_steps - 1)
    assert [copy.tokens_seen(step) for step in copy.all_steps] == [run.tokens_seen(step) for step in run.all_steps]
    with pytest.raises(StoreError, match="one row per epoch, and none for step 7"):
        copy.tokens_seen(7)
    with pytest.raises(StoreError, match="one row per step, and none for step 1000"):
        run.tokens_seen(1000)


def test_a_run_that_is_not_too_long_is_copied_as_it_is(run, monkeypatch, tmp_path):
    copy = published(run, monkeypatch, tmp_path, RECIPE.n_steps)
    assert (copy.path / HISTORY_NAME).read_bytes() == (run.path / HISTORY_NAME).read_bytes()
    assert not copy.ledger.history_thinned
    assert "history_thinned" not in json.loads((copy.path / LEDGER_NAME).read_text())


def test_what_is_packed_whole_is_shortened_where_it_is_packed_again(run, monkeypatch, tmp_path):
    published(run, monkeypatch, tmp_path, RECIPE.n_steps)
    weights, found = run.only([0, run.final_step]).ledger.weights, []
    for longest in (RECIPE.n_steps, 1, 1):
        monkeypatch.setattr(history_module, "LONGEST_WHOLE", longest)
        pack(tmp_path, "toy", {"arm": [run.run_id]})
        packed = RunStore(tmp_path, None, allow_tasks=ALLOWED).get(run.run_id)
        assert not verify(packed.path, allow_tasks=ALLOWED) and packed.ledger.weights == weights
        found.append((packed.ledger.history_thinned, packed.history))
    assert not found[0][0] and found[0][1].equals(run.history)
    for thinned, history in found[1:]:
        assert thinned
        pd.testing.assert_frame_equal(history, per_epoch(run.history))


def test_a_copy_of_a_copy_is_the_same(run, monkeypatch, tmp_path):
    first = published(run, monkeypatch, tmp_path / "first", 1)
    second = published(first, monkeypatch, tmp_path / "second", 1)
    for name in (HISTORY_NAME, LEDGER_NAME):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes()


def test_damage_to_a_thin_history_and_a_changed_mark_are_noticed(run, monkeypatch, tmp_path):
    copy = published(run, monkeypatch, tmp_path, 1)
    ledger = copy.path / LEDGER_NAME
    text = ledger.read_text()
    ledger.write_text(text.replace('"history_thinned": true', '"history_thinned": false'))
    with pytest.raises(StoreError, match="seal"):
        Ledger.read(copy.path)
    ledger.write_text(text)
    (copy.path / HISTORY_NAME).write_bytes((run.path / HISTORY_NAME).read_bytes())
    assert [problem.path for problem in verify(copy.path, allow_tasks=ALLOWED)] == [copy.path / HISTORY_NAME]


def test_published_ledgers_of_before_are_read_and_keep_their_seal():
    runs = [
        run for run in RunStore(Path(circuitcore.__file__).parents[1] / "published", None).runs() if run.ledger.trained
    ]
    assert runs and not any(run.ledger.history_thinned for run in runs if run.final_step <= LONGEST_WHOLE)


def test_a_history_of_eighty_thousand_steps_becomes_small():
    steps = np.arange(1, 84_421)
    random = np.random.default_rng(0)
    numbers = {name: random.random(len(steps)).astype("float32") for name in ("loss", "grad_norm")}
    history = pd.DataFrame({"step": steps, "epoch": 1 + (steps - 1) // 563, "tokens_seen": steps * 832, **numbers})
    thin = per_epoch(history)
    assert len(thin) == 150 and len(to_parquet(thin)) < 15_000 < len(to_parquet(history)) / 20
