"""Weights kept after numbers of updates: training may end inside an epoch, and goes on from inside one."""

import itertools

import pytest
import torch
from killing import Killed, files, killed_at
from toy.recall import ALLOWED, toy_recipe

from circuitcore.native import why_not
from circuitcore.training import Optimizer, RunStore, Stage, loop
from circuitcore.training.store.ledger import RESUME_NAME, checkpoint_name
from circuitcore.training.store.verify import verify
from circuitcore.training.sweeps.status import sweep_status

KEPT = (0, 1, 7, 8, 26)  # epochs of 6 steps: the last is the second of the fifth
ENGINE_NAMES = ["torch", pytest.param("native", marks=pytest.mark.skipif(bool(why_not()), reason="no C++ here"))]


def recipe(**changes):
    """Five epochs, the last of which is cut."""
    plan = {"checkpoint_epochs": (), "checkpoint_at": KEPT, "stages": (Stage(("train",), 5),)}
    rule = Optimizer(name="adamw", lr=1e-2, warmup=9, weight_decay=0.1, clip_norm=0.5)
    return toy_recipe(optimizer=rule, **plan | changes)


@pytest.fixture()
def saved_every_fourth_step(monkeypatch):
    """A clock that goes on by a quarter of the cadence whenever it is read: once a step, and once for a state."""
    ticks = itertools.count(step=loop.RESUME_SECONDS / 4)
    monkeypatch.setattr(loop, "monotonic", lambda: next(ticks))


def test_weights_are_those_of_the_run_by_epochs_at_the_same_steps(tmp_path):
    by_epoch = RunStore(tmp_path, None).get_or_train(recipe(checkpoint_at=(), checkpoint_epochs=(0, 1, 5)))
    by_step = RunStore(tmp_path, None).get_or_train(recipe(checkpoint_at=(0, 6, 26)))
    assert by_step.steps == (0, 6, 26) and by_epoch.steps == (0, 6, 30)
    for step in (0, 6):
        ours, theirs = by_step.weights(step), by_epoch.weights(step)
        assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    history, longer = by_step.history, by_epoch.history
    assert history["step"].tolist() == list(range(1, 27)) and history["epoch"].tolist()[-3:] == [4, 5, 5]
    assert history["loss"].tolist() == longer["loss"].tolist()[:26]
    assert not verify(by_step.path, allow_tasks=ALLOWED)


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("moments", [[5], [8, 11, 12, 20], [26]])
def test_a_run_killed_inside_an_epoch_ends_bit_identical(tmp_path, saved_every_fourth_step, engine, moments):
    asked = recipe(engine=engine)
    undisturbed = RunStore(tmp_path / "whole", None).get_or_train(asked)
    store = RunStore(tmp_path / "interrupted", None)
    for step in moments:
        with pytest.raises(Killed):
            store.get_or_train(asked, killed_at(step))
        done = store.steps_done(asked)
        assert step - 5 <= done < step and (done % 6 or step > 10), "it goes on from inside an epoch"
        (status,) = sweep_status(store, {"all": [asked]}).runs
        assert (status.n_steps, status.steps) == (26, done)
    resumed = store.get_or_train(asked)
    assert resumed.steps == KEPT and files(resumed) == files(undisturbed)
    assert not verify(resumed.path, allow_tasks=ALLOWED)


def test_checkpoints_behind_the_state_to_go_on_from_are_made_again(tmp_path, saved_every_fourth_step):
    """A kill after checkpoints that no state followed: they are trained and written once more, to the same bits."""
    whole = RunStore(tmp_path / "whole", None).get_or_train(recipe())
    store, asked = RunStore(tmp_path / "interrupted", None), recipe()
    with pytest.raises(Killed):
        store.get_or_train(asked, killed_at(9))
    assert (store.root / asked.run_id / checkpoint_name(8)).exists() and 0 < store.steps_done(asked) < 8
    assert files(store.get_or_train(asked)) == files(whole)


def test_a_state_is_written_by_the_clock_and_not_with_each_checkpoint(tmp_path, monkeypatch):
    """Checkpoints by step may be dense: what they cost is their weights. Those by epoch have a state each."""
    saved, write = [], loop.Training._write_resume_state
    monkeypatch.setattr(loop.Training, "_write_resume_state", lambda self: (saved.append(self.step), write(self)))
    RunStore(tmp_path, None).get_or_train(recipe())
    assert saved == []
    RunStore(tmp_path, None).get_or_train(recipe(checkpoint_at=(), checkpoint_epochs=(0, 1, 5)))
    assert saved == [0, 6, 30]
    monkeypatch.setattr(loop, "RESUME_SECONDS", 0.0)
    saved.clear()
    run = RunStore(tmp_path / "again", None).get_or_train(recipe())
    assert saved == list(range(27)) and not (run.path / RESUME_NAME).exists()
