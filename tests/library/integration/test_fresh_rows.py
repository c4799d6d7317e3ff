"""Epochs of fresh rows: the same rows whenever and by whatever they are trained, other rows in every epoch."""

import math
from functools import partial

import pytest
import torch
from killing import Killed, files, killed_at
from toy import workers

from circuitcore.models import ModelConfig
from circuitcore.native import why_not
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.training import Optimizer, Recipe, RunStore, Stage, StoreError, loop, map_runs
from circuitcore.training.loop import data_sha256
from circuitcore.training.schedule import drawn
from circuitcore.training.store.verify import verify
from circuitcore.training.sweeps.sweep import train_all
from circuitcore.training.sweeps.together import train_together

MODEL = ModelConfig(
    d_vocab=4, n_ctx=5, n_layers=1, n_heads=2, d_model=8, d_mlp=8, norm="layer", norm_position="post",
    positions="learned", mlp="relu", init="encoder", tied=False, bias="all", norm_eps=1e-5,
)  # fmt: skip
N_FRESH, BATCH = 40, 16  # so that the third batch of an epoch is half as long


def recipe(seed=0, **changes):
    """Five epochs, two of the stored rows and three of fresh ones; checkpoints after 0, 2, 4 and 5."""
    fields = {
        "task": "permutation_recall",
        "task_params": {"n_symbols": 3, "n_train": 4, "n_rows": 24},
        "model": MODEL,
        "optimizer": Optimizer(lr=1e-2),
        "batch_size": BATCH,
        "stages": (Stage(("train",), 2), Stage(("train",), 3, N_FRESH)),
        "init_seed": seed,
        "data_seed": seed,
        "checkpoint_epochs": (0, 2, 4, 5),
    }
    return Recipe(**fields | changes)


STEPS = (0, 4, 10, 13)  # two batches of 24 stored rows, three of 40 fresh ones


def rows_of(schedule, epoch):
    batches = list(schedule.epoch(epoch))
    return [len(batch) for batch in batches], torch.cat([batch.tokens for batch in batches])


class TestSchedule:
    def test_an_epoch_is_what_the_task_draws_by_data_seed_and_epoch(self):
        sizes, rows = rows_of(recipe(3).schedule, 2)
        assert sizes == [16, 16, 8]
        task = PermutationRecall(n_symbols=3, n_train=4, n_rows=24)
        assert torch.equal(rows, task.draw("train", N_FRESH, 3 * 2**16 + 2).tokens)

    def test_it_hands_over_targets_and_masks_too(self):
        batches = list(recipe().schedule.epoch(4))
        wanted = drawn(recipe().make_task(), recipe().stages[1], 4)
        for name in ("tokens", "targets", "loss_mask"):
            assert torch.equal(torch.cat([getattr(batch, name) for batch in batches]), getattr(wanted, name))

    def test_nothing_else_decides_what_is_drawn(self):
        """Neither the initial weights, nor the epochs before, nor how many rows a batch has."""
        other = recipe(0, init_seed=9, batch_size=7, stages=(Stage(("test",), 1), Stage(("train",), 4, N_FRESH)))
        assert torch.equal(rows_of(recipe(0).schedule, 3)[1], rows_of(other.schedule, 3)[1])

    def test_no_two_epochs_of_no_two_seeds_share_their_rows(self):
        found = {
            tuple(rows_of(recipe(seed, stages=(Stage(("train",), 5, N_FRESH),)).schedule, epoch)[1].flatten().tolist())
            for seed in (0, 1, 2, 65535)
            for epoch in range(5)
        }
        assert len(found) == 4 * 5

    def test_steps_are_counted_without_drawing(self, monkeypatch):
        monkeypatch.setattr(PermutationRecall, "draw", lambda *_: pytest.fail("drew rows to count them"))
        assert recipe().checkpoint_steps == STEPS
        long = recipe(stages=(Stage(("train",), 50, 100_000),), batch_size=256, checkpoint_epochs=(50,))
        assert long.n_steps == 19_550, "the source's task 2"


@pytest.mark.parametrize(
    "engine",
    ["torch", pytest.param("native", marks=pytest.mark.skipif(bool(why_not()), reason=f"no engine: {why_not()}"))],
)
@pytest.mark.parametrize("moments", [[3], [5], [11], [10, 11, 13]], ids=str)
def test_a_killed_run_ends_bit_identical(tmp_path, engine, moments):
    undisturbed = RunStore(tmp_path / "whole", None).get_or_train(recipe(engine=engine))
    store = RunStore(tmp_path / "killed", None)
    for step in moments:
        with pytest.raises(Killed):
            store.get_or_train(recipe(engine=engine), killed_at(step))
        assert store.steps_done(recipe(engine=engine)) == max(at for at in STEPS if at < step)
    resumed = store.get_or_train(recipe(engine=engine))
    assert files(resumed) == files(undisturbed) and not verify(resumed.path)
    assert resumed.history["tokens_seen"].tolist()[-1] == (2 * 24 + 3 * N_FRESH) * 5 == resumed.tokens_seen(13)
    assert resumed.history["epoch"].tolist() == [1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5]


def test_every_engine_trains_the_same_rows(tmp_path):
    """Torch, C++ and a stack of runs: losses are equal to rounding, as they are for stored rows."""
    store = RunStore(tmp_path, None)
    expected = [store.get_or_train(recipe(seed)) for seed in (0, 1)]
    stacked = [recipe(seed, engine="stacked") for seed in (0, 1)]
    assert train_together(stacked, {one: tmp_path / one.run_id for one in stacked}) == {}
    runs = [store.find(one) for one in stacked]
    if not why_not():
        runs += [store.get_or_train(recipe(seed, engine="native")) for seed in (0, 1)]
    for run, alone in zip(runs, expected * 2, strict=False):
        assert not verify(run.path) and run.ledger.data_sha256 == alone.ledger.data_sha256
        assert run.history["loss"].tolist() == pytest.approx(alone.history["loss"].tolist(), rel=1e-4, abs=1e-5)
        assert run.history["tokens_seen"].equals(alone.history["tokens_seen"])


def test_a_pool_makes_the_same_files(tmp_path):
    recipes = [recipe(0), recipe(1)]
    map_runs(partial(workers.train, tmp_path / "pool"), recipes, "processes", workers=2)
    for one in recipes:
        alone = RunStore(tmp_path / "alone", None).get_or_train(one)
        assert files(RunStore(tmp_path / "pool", None).find(one)) == files(alone)


def test_elimination_is_learnt_from_them(tmp_path):
    """Three symbols, all six permutations: in 200 steps near the floor, a third of ln 6; a guess costs ln 3."""
    learnt = recipe(
        task_params={"n_symbols": 3, "n_train": 6, "n_rows": 24, "repeat_ratio": 0.0}, batch_size=64,
        stages=(Stage(("train",), 4, 3200),), checkpoint_epochs=(4,),
    )  # fmt: skip
    loss = RunStore(tmp_path, None).get_or_train(learnt).history["loss"].tail(20).mean()
    assert math.log(6) / 3 - 0.05 < loss < 0.7


class TestFingerprint:
    def test_rows_that_are_drawn_otherwise_are_noticed(self, tmp_path, monkeypatch):
        store = RunStore(tmp_path, None)
        run = store.get_or_train(recipe())
        before, draw = data_sha256(recipe()), PermutationRecall.draw
        monkeypatch.setattr(PermutationRecall, "draw", lambda task, split, n, seed: draw(task, split, n, seed + 1))
        loop._rows_sha256.cache_clear()  # as in a new process
        assert data_sha256(recipe()) != before
        with pytest.raises(StoreError, match="other rows"):
            store.get_or_train(recipe())
        assert any("other rows" in problem.message for problem in verify(run.path))
        loop._rows_sha256.cache_clear()

    def test_stored_rows_have_no_part_in_it(self, monkeypatch):
        fresh = recipe(stages=(Stage(("train",), 5, N_FRESH),))
        before = data_sha256(fresh)
        monkeypatch.setattr(PermutationRecall, "split", lambda *_: pytest.fail("read a split"))
        loop._rows_sha256.cache_clear()
        assert data_sha256(fresh) == before

    def test_one_of_each_kind_of_recipe_differs(self):
        kinds = [
            recipe(),
            recipe(stages=(Stage(("train",), 5, N_FRESH),)),
            recipe(stages=(Stage(("train",), 5, N_FRESH + 1),)),
            recipe(stages=(Stage(("test",), 5, N_FRESH),)),
            recipe(stages=(Stage(("train",), 5),)),
        ]
        assert len(set(map(data_sha256, kinds))) == len(kinds)


def test_a_sweep_trains_them(tmp_path):
    runs = train_all(RunStore(tmp_path, None), [recipe(0), recipe(1)], "serial")
    assert [run.steps for run in runs] == [STEPS, STEPS]
