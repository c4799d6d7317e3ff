"""Training runs in step changes nothing about them: their files, their kills, their failures are their own."""

import io
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from filelock import FileLock, Timeout
from toy.recall import ALLOWED, toy_recipe
from tqdm import tqdm

from circuitcore.ground.progress import Watch
from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.training import DivergedError, ExecutorError, Optimizer, RunStore, Stage, StoreError
from circuitcore.training.engines.stacked import run_losses
from circuitcore.training.loop import Training
from circuitcore.training.store.checkpoint import read_sealed, seal
from circuitcore.training.store.ledger import LEDGER_NAME, RESUME_NAME
from circuitcore.training.store.verify import verify
from circuitcore.training.sweeps.sweep import train_all, train_stacks
from circuitcore.training.sweeps.together import stacks, step_bytes, train_together

ROOT = Path(__file__).resolve().parents[3]
SUPPORT = ROOT / "tests/support"
N_RUNS = 3


def recipe_of(seed, engine="stacked", **changes):
    """Rows of two lengths in an order of its own; 36 steps, checkpoints at 0, 18, 30 and 36."""
    fields = {"stages": (Stage(("train", "long"), 2), Stage(("train",), 3)), "checkpoint_epochs": (0, 2, 4, 5)}
    return toy_recipe(seed, epochs=5, engine=engine, **fields | changes)


RECIPES = [recipe_of(seed) for seed in range(N_RUNS)]


class Killed(BaseException):
    """Stands for whatever ends a process; no run's own failure."""


def files(root):
    """Name -> bytes of everything in the folders of the runs."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.glob("toy-*/**/*") if path.is_file()}


def folders(root, recipes=RECIPES):
    return {recipe: root / recipe.run_id for recipe in recipes}


def kill_after(n_steps):
    steps = itertools.count(1)

    def kill(updated):
        if next(steps) == n_steps:
            raise Killed

    return kill


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The store of an undisturbed training of ``RECIPES``."""
    root = tmp_path_factory.mktemp("whole")
    assert train_together(RECIPES, folders(root)) == {}
    return root


def test_each_run_is_what_the_torch_engine_makes_of_it(whole, tmp_path):
    for recipe in RECIPES:
        run = RunStore(whole, None).find(recipe)
        alone = RunStore(tmp_path, None).get_or_train(recipe_of(recipe.init_seed, engine="torch"))
        assert not verify(run.path, allow_tasks=ALLOWED)
        assert run.steps == alone.steps == recipe.checkpoint_steps
        for ours, theirs in zip(run.ledger.entries, alone.ledger.entries, strict=True):
            assert ours.loss == pytest.approx(theirs.loss, abs=1e-5)
        for step in run.steps:
            for name, value in alone.weights(step).items():
                torch.testing.assert_close(run.weights(step)[name], value, rtol=1e-5, atol=1e-5)
        exact = ["step", "epoch", "tokens_seen"]
        assert run.history[exact].equals(alone.history[exact])
        torch.testing.assert_close(
            *(torch.tensor(one.history[["loss", "grad_norm"]].to_numpy()) for one in (run, alone)), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("attempts", [[1], [18], [19, 1, 12, 17]], ids=str)
def test_a_killed_stack_ends_bit_identical(whole, tmp_path, attempts):
    """Each attempt is killed after so many steps of the stack, before the checkpoints that may then be due."""
    for n_steps in attempts:
        with pytest.raises(Killed):
            train_together(RECIPES, folders(tmp_path), report=kill_after(n_steps))
        assert not any(RunStore(tmp_path, None).find(recipe) for recipe in RECIPES)
    assert train_together(RECIPES, folders(tmp_path)) == {}
    assert files(tmp_path) == files(whole)


@pytest.mark.parametrize("before", range(1, 4 * N_RUNS, 2))
def test_a_stack_killed_between_two_runs_checkpoints_ends_bit_identical(whole, tmp_path, monkeypatch, before):
    """The runs come back at different steps: those ahead wait, in their places, for those behind."""
    checkpoint, count = Training.checkpoint, itertools.count()

    def until_killed(training):
        if next(count) == before:
            raise Killed
        checkpoint(training)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Training, "checkpoint", until_killed)
        train_together(RECIPES, folders(tmp_path))
    done = {RunStore(tmp_path, None).steps_done(recipe) for recipe in RECIPES}
    assert len(done) == (2 if before > N_RUNS and before % N_RUNS else 1)
    assert train_together(RECIPES, folders(tmp_path)) == {}
    assert files(tmp_path) == files(whole)


def test_a_process_killed_with_its_stack_loses_nothing_else(whole, tmp_path):
    program = (
        "import itertools, os, signal; from pathlib import Path; import test_together as t\n"
        "steps = itertools.count(1)\n"
        "kill = lambda updated: next(steps) == 25 and os.kill(os.getpid(), signal.SIGKILL)\n"
        f"t.train_together(t.RECIPES, t.folders(Path({str(tmp_path)!r})), report=kill)"
    )
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{SUPPORT}:{Path(__file__).parent}"}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert {RunStore(tmp_path, None).steps_done(recipe) for recipe in RECIPES} == {18}
    train_stacks(RunStore(tmp_path, None), RECIPES, "cpu")
    assert files(tmp_path) == files(whole)


def test_a_run_that_is_trained_again_has_the_same_bits_if_its_stack_is_the_same(whole, tmp_path):
    """Runs that are there already keep their places."""
    store = RunStore(tmp_path, None)
    for name, data in files(whole).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    lost = store.find(RECIPES[1]).path
    for path in lost.iterdir():
        path.unlink()
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("toy-*/*")}
    assert train_stacks(store, RECIPES, "cpu") == [recipe.run_id for recipe in RECIPES]
    assert files(tmp_path) == files(whole)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_run_that_fails_is_dropped_and_the_others_go_on(whole, tmp_path):
    """Of four: one whose weights stop being numbers, one whose ledger is damaged."""
    recipes = [*RECIPES, recipe_of(3)]
    with pytest.raises(Killed):
        train_together(recipes, folders(tmp_path, recipes), report=kill_after(20))
    sick, torn = (tmp_path / recipes[place].run_id for place in (0, 2))
    state, identity = read_sealed(sick / RESUME_NAME)
    state["engine.weights.embed.W_E"] *= torch.nan
    (sick / RESUME_NAME).write_bytes(seal(state, identity))
    (torn / LEDGER_NAME).write_text("{}")
    store, before = RunStore(tmp_path, None), files(torn.parent)
    with pytest.raises(StoreError):
        store.find(recipes[2])
    failures = train_together(recipes, folders(tmp_path, recipes))
    assert set(failures) == {recipes[0], recipes[2]}
    assert isinstance(failures[recipes[0]], DivergedError) and "the loss of step 19 is nan" in str(failures[recipes[0]])
    assert isinstance(failures[recipes[2]], StoreError) and torn.name in str(failures[recipes[2]])
    assert {name: data for name, data in files(torn.parent).items() if name.startswith(torn.name)} == {
        name: data for name, data in before.items() if name.startswith(torn.name)
    }
    undisturbed = tmp_path / "undisturbed"
    assert train_together(recipes, folders(undisturbed, recipes)) == {}
    for place in (1, 3):
        name = recipes[place].run_id
        assert store.find(recipes[place]) and not verify(tmp_path / name, allow_tasks=ALLOWED)
        for path in (undisturbed / name).iterdir():
            assert path.read_bytes() == (tmp_path / name / path.name).read_bytes(), path.name


def test_failed_runs_are_named_as_by_the_other_executors(tmp_path, monkeypatch):
    note = Training.note

    def diverge(training, rows, stats):
        note(training, rows, stats._replace(loss=float("inf")) if training.recipe.init_seed == 1 else stats)

    monkeypatch.setattr(Training, "note", diverge)
    with pytest.raises(ExecutorError, match="1 of 3 runs failed, the others are done") as caught:
        train_stacks(RunStore(tmp_path, None), RECIPES, "cpu")
    assert list(caught.value.failures) == [RECIPES[1].run_id]
    assert isinstance(caught.value.failures[RECIPES[1].run_id], DivergedError)
    assert [bool(RunStore(tmp_path, None).find(recipe)) for recipe in RECIPES] == [True, False, True]


def test_a_stack_that_cannot_be_trained_does_not_stop_the_next(tmp_path, monkeypatch):
    """As when a device has no memory for it."""
    wide = [recipe_of(seed, model=ModelConfig(d_vocab=6, n_ctx=4, n_layers=1, d_model=32)) for seed in (0, 1)]
    from circuitcore.training.sweeps import together

    class TooSmall(together.StackedTorch):
        def step(self, batches):
            if self._model.d_model == 32:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().step(batches)

    monkeypatch.setattr(together, "StackedTorch", TooSmall)
    with pytest.raises(ExecutorError, match="2 of 4 runs failed") as caught:
        train_stacks(RunStore(tmp_path, None), [*wide, *RECIPES[:2]], "cpu")
    assert set(caught.value.failures) == {recipe.run_id for recipe in wide}
    assert all(RunStore(tmp_path, None).find(recipe) for recipe in RECIPES[:2])


def test_runs_are_locked_while_their_stack_is_trained(tmp_path, monkeypatch):
    seen = []

    def look(recipes, folders, device, report, state_of):
        for recipe in recipes:
            with pytest.raises(Timeout):
                FileLock(tmp_path / ".locks" / f"{recipe.run_id}.lock").acquire(timeout=0)
            seen.append(recipe)
        return train_together(recipes, folders, device, report)

    monkeypatch.setattr("circuitcore.training.sweeps.sweep.train_together", look)
    train_stacks(RunStore(tmp_path, None), RECIPES, "cpu")
    assert seen == RECIPES
    FileLock(tmp_path / ".locks" / f"{RECIPES[0].run_id}.lock").acquire(timeout=0)


def test_recipes_of_another_engine_are_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(ExecutorError, match=r"toy-recall-\w+ \('torch'\).*serial, processes"):
        train_stacks(RunStore(tmp_path, None), [*RECIPES, recipe_of(7, engine="torch")], "cpu")
    assert files(tmp_path) == {}


def test_recipes_are_stacked_by_shape_as_high_as_memory_allows(monkeypatch):
    longer = [recipe_of(seed, stages=(Stage(("train",), 5),)) for seed in range(2)]
    faster = [recipe_of(seed, optimizer=Optimizer(lr=2e-2)) for seed in range(2)]
    mixed = [longer[0], RECIPES[0], faster[0], RECIPES[1], longer[1], faster[1], RECIPES[2]]
    assert stacks(mixed) == [tuple(longer), tuple(RECIPES), tuple(faster)]
    one = step_bytes(RECIPES[0].model, RECIPES[0].batch_size, 4)
    monkeypatch.setattr("circuitcore.training.sweeps.together.STACK_BYTES", 2 * one)
    assert stacks(RECIPES) == [tuple(RECIPES[:2]), tuple(RECIPES[2:])]
    monkeypatch.setattr("circuitcore.training.sweeps.together.STACK_BYTES", 1)
    assert stacks(RECIPES) == [(recipe,) for recipe in RECIPES]
    with pytest.raises(ValueError, match="these are of 2"):
        train_together([RECIPES[0], longer[0]], {})


@pytest.mark.parametrize(
    ("model", "rows", "positions"),
    [
        (ModelConfig(d_vocab=20, n_ctx=16), 64, 16),
        (ModelConfig(d_vocab=12, n_ctx=16, norm="layer", positions="learned", mlp="gelu", bias="all"), 32, 16),
        (ModelConfig(d_vocab=32, n_ctx=64, n_layers=6, d_model=64, mlp="none", norm="none"), 8, 64),
        (ModelConfig(d_vocab=15, n_ctx=48, n_heads=4, d_model=64, d_mlp=192, norm_position="post"), 8, 48),
    ],
)
def test_the_memory_a_step_needs_is_not_underestimated(model, rows, positions):
    """What autograd keeps is counted, storage by storage."""
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage
        return tensor

    weights = {name: value[None].requires_grad_() for name, value in init_weights(model, 0).items()}
    tokens = torch.zeros(1, rows, positions, dtype=torch.int64)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        logits = forward(model, weights, tokens).logits
        losses = run_losses(logits, tokens, torch.ones_like(tokens, dtype=torch.bool))
    assert losses.isfinite().all()
    parameters = {value.untyped_storage().data_ptr(): value.numel() for value in weights.values()}
    activations = sum(storage.nbytes() for pointer, storage in kept.items() if pointer not in parameters)
    needed = activations + 4 * 4 * sum(parameters.values())
    assert needed <= step_bytes(model, rows, positions) <= 3 * needed


def test_a_machine_without_the_device_says_what_it_has(tmp_path, monkeypatch):
    store = RunStore(tmp_path, None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ExecutorError, match=r"'cuda': torch finds no CUDA device.*allowed: serial, processes"):
        train_all(store, RECIPES, "cuda")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ExecutorError, match="'cuda:2': this machine has cuda:0, cuda:1; allowed: cuda:0, cuda:1, ser"):
        train_all(store, RECIPES, "cuda:2")
    assert files(tmp_path) == {}


def test_a_finished_store_needs_no_device(whole):
    assert [run.run_id for run in train_all(RunStore(whole, None), RECIPES, "cuda:99")] == [
        recipe.run_id for recipe in RECIPES
    ]


def test_stacks_state_their_cost_first_and_show_how_far_they_are(whole, tmp_path, monkeypatch):
    """The way of ``executor="cuda"`` from end to end, on the CPU."""
    monkeypatch.setattr("circuitcore.training.sweeps.sweep.stacked_device", lambda executor: {"cuda": "cpu"}[executor])
    said, bars = [], []

    class Bar(tqdm):
        def __init__(self, **options):
            assert said, "what there is to do is said before anything starts"
            super().__init__(**options, file=io.StringIO())
            bars.append(self)

    store = RunStore(tmp_path, None)
    with pytest.raises(Killed):
        train_together(RECIPES, folders(tmp_path), report=kill_after(20))
    runs = train_all(store, [*RECIPES, RECIPES[0]], "cuda", watch=Watch(said.append, Bar))
    assert [run.run_id for run in runs] == [recipe.run_id for recipe in (*RECIPES, RECIPES[0])]
    assert said == ["Training 3 run(s), 54 steps, in 1 stack(s) on cpu."]
    assert [(bar.total, bar.initial, bar.n) for bar in bars] == [(108, 54, 108)]
    assert files(tmp_path) == files(whole)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_trains_the_same_runs_and_repeats_itself(whole, tmp_path):
    for place in ("first", "again"):
        train_all(RunStore(tmp_path / place, None), RECIPES, "cuda")
    assert files(tmp_path / "first") == files(tmp_path / "again")
    for recipe in RECIPES:
        run, on_cpu = (RunStore(root, None).find(recipe) for root in (tmp_path / "first", whole))
        assert not verify(run.path, allow_tasks=ALLOWED)
        for step in run.steps:
            for name, value in on_cpu.weights(step).items():
                torch.testing.assert_close(run.weights(step)[name], value, rtol=1e-4, atol=1e-4)
