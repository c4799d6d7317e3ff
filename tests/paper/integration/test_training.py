"""Training means one thing, wherever and however often it is interrupted."""

import io
import math
import re
import time
from functools import partial
from itertools import islice

import pytest
import torch
from killing import Killed, files, killed_at
from toy.recall import ALLOWED, toy_recipe
from tqdm import tqdm

from circuitcore.ground.durations import Durations, duration, time_in_parallel
from circuitcore.ground.environment import Folders
from circuitcore.ground.progress import Watch
from circuitcore.models import ModelConfig, forward
from circuitcore.training import (
    ENGINE_VERSION,
    DivergedError,
    Optimizer,
    RecipeError,
    RunStore,
    Stage,
    StoreError,
    TorchEngine,
    loop,
)
from circuitcore.training.store.ledger import Ledger
from circuitcore.training.store.verify import verify
from circuitcore.training.sweeps import sweep
from circuitcore.training.sweeps.sweep import left_to_train, train_all
from livingpaper.commands import cli

# Losses of the first 20 steps of ``GOLDEN`` must be ``GOLDEN_LOSSES``. Another processor's rounding, a relative 1e-7 in
# every weight, moves them by less than a relative 1e-6 (measured): the tolerance leaves room for that, for little else.
GOLDEN = toy_recipe(
    seed=7,
    epochs=20,
    model=ModelConfig(d_vocab=6, n_ctx=4, n_layers=2, n_heads=2, d_model=16, d_mlp=16),
    lr=3e-3,
    optimizer=Optimizer(name="adamw", lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1, clip_norm=1.0),
    stages=(Stage(("train", "long"), 20),),
    checkpoint_epochs=(20,),
)
GOLDEN_LOSSES = [
    14.384434,
    15.930019,
    9.4171896,
    13.463333,
    6.4925508,
    12.057495,
    6.1738362,
    9.7450628,
    8.1807098,
    10.476817,
] + [6.5255651, 6.4153972, 6.5782056, 3.0223103, 8.6208181, 1.855178, 4.1074281, 1.7706218, 1.011852, 0.82141435]
GOLDEN_TOLERANCE = 1e-5


def test_golden_trajectory():
    engine = TorchEngine(GOLDEN.model, GOLDEN.optimizer, GOLDEN.init_seed)
    batches = (rows for epoch in range(20) for rows in GOLDEN.schedule.epoch(epoch))
    losses = [engine.step(rows.tokens, rows.targets, rows.loss_mask).loss for rows in islice(batches, 20)]
    assert losses == pytest.approx(GOLDEN_LOSSES, rel=GOLDEN_TOLERANCE, abs=GOLDEN_TOLERANCE), (
        f"The meaning of training has changed: the same recipe gives other weights. Bump ENGINE_VERSION (now "
        f"{ENGINE_VERSION}) in circuitcore/training/recipe.py, so that stored runs are not taken for new ones, then "
        f"store these losses here:\n{[float(f'{loss:.8g}') for loss in losses]}"
    )
    assert GOLDEN.engine_version == ENGINE_VERSION


def test_golden_run_id():
    """Names of stored runs must outlive a rewrite of the code that makes them."""
    assert GOLDEN.run_id == "toy-recall-8923fed34e38", (
        "The text of a recipe has changed, so every stored run has lost its name. If a field was added to Recipe, "
        "ModelConfig or Optimizer, leave it out of the text at its neutral value."
    )


def test_it_learns_and_writes_down_what_happened(tmp_path):
    recipe = toy_recipe(epochs=40)
    run = RunStore(tmp_path, None).get_or_train(recipe)
    history = run.history
    assert list(history) == ["step", "epoch", "tokens_seen", "loss", "grad_norm"]
    assert history["step"].tolist() == list(range(1, recipe.n_steps + 1))
    assert history["epoch"].tolist() == [1 + step // 6 for step in range(recipe.n_steps)]
    assert history["tokens_seen"].iloc[-1] == 40 * 32 * 3 == run.tokens_seen(run.final_step)
    assert run.tokens_seen(0) == 0 and run.tokens_seen(6) == 32 * 3
    assert history["loss"].iloc[0] > math.log(4) and history["loss"].iloc[-6:].mean() < 0.05
    assert run.steps == run.all_steps == recipe.checkpoint_steps and run.final_step == recipe.n_steps
    test = recipe.make_task().split("test")
    logits = forward(recipe.model, run.weights(run.final_step), test.tokens).logits[:, -1]
    assert torch.equal(logits.argmax(-1), test.answers)


def test_weights_stack_in_the_order_asked_for(tmp_path):
    run = RunStore(tmp_path, None).get_or_train(toy_recipe())
    stacked = run.stack([36, 0])
    for name, value in run.weights(0).items():
        assert torch.equal(stacked[name][1], value)
        assert stacked[name].shape == (2, *value.shape)


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_an_engine_goes_on_from_its_state_bit_for_bit(name):
    recipe = toy_recipe(optimizer=Optimizer(name=name, lr=1e-2, weight_decay=0.01, clip_norm=0.5))
    batches = [rows for epoch in range(4) for rows in recipe.schedule.epoch(epoch)]
    whole = TorchEngine(recipe.model, recipe.optimizer, 0)
    halved = TorchEngine(recipe.model, recipe.optimizer, 0)
    for number, rows in enumerate(batches):
        if number in (0, 5, 11):
            state, halved = halved.state(), TorchEngine(recipe.model, recipe.optimizer, 99)
            halved.load(state)
        ours, theirs = (engine.step(rows.tokens, rows.targets, rows.loss_mask) for engine in (whole, halved))
        assert ours == theirs
    final, resumed = whole.state(), halved.state()
    assert final.keys() == resumed.keys() and final["step"] == len(batches)
    assert {name.split(".")[0] for name in final} == {"weights", "exp_avg", "exp_avg_sq", "step"}
    for name, value in final.items():
        assert torch.equal(value, resumed[name]), name


def test_an_engine_refuses_the_state_of_another_model():
    recipe = toy_recipe()
    wide = ModelConfig(d_vocab=6, n_ctx=4, n_layers=1, d_model=32)
    with pytest.raises(ValueError, match="shape"):
        TorchEngine(recipe.model, recipe.optimizer, 0).load(TorchEngine(wide, recipe.optimizer, 0).state())
    with pytest.raises(ValueError, match="tensors differ"):
        TorchEngine(recipe.model, recipe.optimizer, 0).load({"step": torch.tensor(3)})


def test_clipping_bounds_the_update_but_reports_the_whole_gradient():
    rows = next(toy_recipe().schedule.epoch(0))
    free, clipped = (TorchEngine(toy_recipe().model, Optimizer(lr=1e-2, clip_norm=limit), 0) for limit in (None, 1e-3))
    norms = [engine.step(rows.tokens, rows.targets, rows.loss_mask).grad_norm for engine in (free, clipped)]
    assert norms[0] == norms[1] > 1e-3
    first_moments = [
        sum(value.square().sum() for name, value in engine.state().items() if name.startswith("exp_avg.")).sqrt()
        for engine in (free, clipped)
    ]
    assert first_moments[1] / 0.1 == pytest.approx(1e-3, rel=1e-3) and first_moments[0] > 10 * first_moments[1]


@pytest.mark.parametrize("moments", [[1], [12], [13], [11, 12, 13, 30], [35], [36]])
def test_an_interrupted_run_ends_bit_identical(tmp_path, moments):
    recipe = toy_recipe(stages=(Stage(("train", "long"), 2), Stage(("train",), 3)), epochs=5)
    undisturbed = RunStore(tmp_path / "whole", None).get_or_train(recipe)
    store = RunStore(tmp_path / "interrupted", None)
    for step in moments:
        with pytest.raises(Killed):
            store.get_or_train(recipe, killed_at(step))
        assert store.find(recipe) is None
        assert store.steps_done(recipe) == max(at for at in recipe.checkpoint_steps if at < max(step, 1))
    resumed = store.get_or_train(recipe)
    assert files(resumed) == files(undisturbed)
    assert not verify(resumed.path, allow_tasks=ALLOWED)


def test_a_finished_run_is_not_trained_again(tmp_path):
    store, recipe = RunStore(tmp_path, None), toy_recipe()
    before = files(store.get_or_train(recipe))
    assert files(store.get_or_train(recipe, killed_at(1))) == before
    assert store.steps_done(recipe) == recipe.n_steps


def test_a_changed_learning_rate_trains_exactly_its_runs(tmp_path):
    store = RunStore(tmp_path, None)
    before = train_all(store, [toy_recipe(0), toy_recipe(1)], "serial")
    stamps = {path: path.stat().st_mtime_ns for run in before for path in run.path.iterdir()}
    after = train_all(store, [toy_recipe(0), toy_recipe(1, lr=2e-2)], "serial")
    assert after[0].path == before[0].path and after[1].path != before[1].path
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert len(store.runs()) == 3


@pytest.mark.usefixtures("project")
def test_a_changed_comment_or_threshold_trains_nothing(tmp_path, capsys):
    command = ["sweep", "toy.recall", "--params", ".", "--executor", "serial"]
    (tmp_path / "recall.yaml").write_text("seeds: [0, 1]\nepochs: 3\n")
    assert cli.main(command) == 0
    said = capsys.readouterr().out
    assert re.search(r"^Expected: .* \(training 2 run\(s\), 36 steps, ", said)
    assert "Training 2 run(s), 36 steps, on 1 worker(s)." in said
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/toy*/*")}
    (tmp_path / "recall.yaml").write_text("# Another comment\nletters_shown: 2\nepochs: 3\nseeds: [1, 0]\n")
    assert cli.main(command) == 0
    assert not {"Expected", "Training"} & set(re.findall("[A-Z][a-z]+", capsys.readouterr().out))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/toy*/*")} == stamps
    assert cli.main(["train", "toy.recall", "--seed", "5", "--params", ".", "--executor", "serial"]) == 0
    assert len(RunStore().runs()) == 3
    assert cli.main(["status"]) == 0
    assert capsys.readouterr().out.count("finished, 18 steps, 3 of 3 checkpoints here") == 3


def test_a_task_whose_rows_changed_is_noticed(tmp_path, monkeypatch):
    store, recipe = RunStore(tmp_path, None), toy_recipe()
    run = store.get_or_train(recipe)
    rows = type(recipe.make_task()).split
    monkeypatch.setattr("toy.recall.Recall.split", lambda task, name: rows(task, name).rows(slice(1, None)))
    loop._rows_sha256.cache_clear()  # as in a new process
    with pytest.raises(StoreError, match="other rows"):
        store.get_or_train(toy_recipe())
    assert any("other rows" in problem.message for problem in verify(run.path, allow_tasks=ALLOWED))
    loop._rows_sha256.cache_clear()


def test_a_loss_that_is_no_number_stops_the_run(tmp_path):
    recipe = toy_recipe(lr=1e30)
    with pytest.raises(DivergedError, match=r"loss of step \d+ is (nan|inf); learning rate 1e\+30"):
        RunStore(tmp_path, None).get_or_train(recipe)
    assert RunStore(tmp_path, None).find(recipe) is None


def test_weights_whose_loss_is_no_number_are_no_checkpoint(tmp_path):
    """The loss before each update is a number still; the weights after the last one are beyond all."""
    rule = Optimizer(name="sgd", lr=1e30)
    recipe = toy_recipe(optimizer=rule, checkpoint_epochs=(), checkpoint_at=tuple(range(37)))
    with pytest.raises(
        DivergedError, match=r"with the weights of step \d+ the loss is (nan|inf); learning rate 1e\+30"
    ):
        RunStore(tmp_path, None).get_or_train(recipe)
    (folder,) = tmp_path.glob("toy*")
    told = {entry.file for entry in Ledger.read(folder).entries}
    assert {path.name for path in folder.glob("step-*")} == told


@pytest.mark.parametrize(
    ("change", "words"),
    [({"engine": "torhc"}, "did you mean 'torch'"), ({"engine_version": ENGINE_VERSION + 1}, "can be read, not made")],
)
def test_what_this_code_cannot_train_is_refused(tmp_path, change, words):
    with pytest.raises(RecipeError, match=words):
        RunStore(tmp_path, None).get_or_train(toy_recipe(**change))


def test_a_sweep_states_its_cost_first_and_shows_how_far_it_is(tmp_path):
    said, bars = [], []

    class Bar(tqdm):
        def __init__(self, **options):
            assert said, "what there is to do is said before anything starts"
            super().__init__(**options, file=io.StringIO())
            bars.append(self)

    store, watch = RunStore(tmp_path, None), Watch(said.append, Bar)
    with pytest.raises(Killed):
        store.get_or_train(toy_recipe(1), killed_at(20))
    train_all(store, [toy_recipe(0), toy_recipe(1), toy_recipe(0)], "serial", watch=watch)
    assert said == ["Training 2 run(s), 60 steps, on 1 worker(s)."]
    assert [(bar.total, bar.initial, bar.n, bar.disable) for bar in bars] == [(72, 12, 72, True)]
    train_all(store, [toy_recipe(0)], "serial", watch=watch)
    assert len(said) == 1, "nothing to train, nothing to say"


@pytest.mark.parametrize(("workers", "words"), [(1, "about 72 s"), (2, "about 36 s"), (9, "about 36 s")])
def test_the_time_is_expected_for_as_many_workers_as_are_asked_for(tmp_path, monkeypatch, capsys, workers, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Folders, "from_environment", lambda: Folders(tmp_path, tmp_path, tmp_path))
    monkeypatch.setattr(sweep, "train_all", lambda *given: [])
    recipes = [toy_recipe(0), toy_recipe(1)]
    (part,) = left_to_train("toy.recall", RunStore(tmp_path, None), recipes, "processes", workers)
    Durations.of(tmp_path).remember(part.name, 1.0)
    (tmp_path / "recall.yaml").write_text("seeds: [0, 1]\nepochs: 6\n")
    assert cli.main(["sweep", "toy.recall", "--params", ".", "--workers", str(workers)]) == 0
    assert f"Expected: {words} (training 2 run(s), 72 steps, " in capsys.readouterr().out


def test_a_bar_moves_between_two_checkpoints(tmp_path, monkeypatch):
    """Also over what an attempt left behind that was killed at a later step than it goes on from."""
    seen, step, recipe = [], TorchEngine.step, toy_recipe(checkpoint_epochs=(0, 6))

    class Bar(tqdm):
        def update(self, n=1):
            super().update(n)
            seen.append(self.n)

    def slow_step(engine, *batch):
        time.sleep(0.05)
        return step(engine, *batch)

    left_behind = tmp_path / ".steps" / recipe.run_id
    left_behind.parent.mkdir()
    left_behind.write_text("35")
    monkeypatch.setattr(TorchEngine, "step", slow_step)
    watch = Watch(lambda line: None, partial(Bar, file=io.StringIO(), disable=False))
    train_all(RunStore(tmp_path, None), [recipe], "serial", watch=watch)
    assert seen == sorted(seen) and seen[-1] == 36
    assert any(0 < done < 35 for done in seen)
    assert not list(left_behind.parent.iterdir())


def test_a_bar_looks_up_only_what_was_begun_and_what_is_finished_once(tmp_path, monkeypatch):
    """It is asked twice a second, beside the workers whose processors it would take."""
    store, recipes = RunStore(tmp_path), [toy_recipe(seed) for seed in range(4)]
    looked_up, find = [], RunStore.find
    monkeypatch.setattr(RunStore, "find", lambda self, recipe: looked_up.append(recipe) or find(self, recipe))
    done = partial(sweep._steps_done, store, recipes, {})
    assert done() == 0 and not looked_up
    trained = store.get_or_train(recipes[0])
    looked_up.clear()
    assert [done(), done(), done()] == [36, 36, 36] and {*looked_up} == {recipes[0]}
    looked_up.clear()
    assert done() == trained.final_step and not looked_up
    sweep.steps_trail(store, recipes[1]).note(7)
    (tmp_path / recipes[1].run_id).mkdir()
    assert done() == 43 and {*looked_up} == {recipes[1]}


def test_expected_time_is_that_of_the_busiest_worker():
    assert time_in_parallel([3.0, 1.0, 1.0, 1.0], 2) == 3.0
    assert time_in_parallel([1.0, 1.0, 1.0, 3.0], 2) == 4.0, "in their order, as a pool hands them out"
    assert time_in_parallel([2.0, 2.0, 2.0], 2) == 4.0
    assert [duration(s) for s in (0.2, 45.4, 300.0, 9000.0)] == [
        "about 1 s",
        "about 45 s",
        "about 5 min",
        "about 2.5 h",
    ]
