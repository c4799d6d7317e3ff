"""What happens to stored runs on a bad day: kills, full disks, rotten bits, swapped files, two at once."""

import contextlib
import dataclasses
import errno
import json
import os
import pickle
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch
from toy.recall import ALLOWED, toy_recipe
from toy.workers import count_trained_steps

from circuitcore.training import CheckpointError, RunStore, StoreError
from circuitcore.training.store import run_store
from circuitcore.training.store.checkpoint import pack, unpack
from circuitcore.training.store.durable import write_durably
from circuitcore.training.store.ledger import HISTORY_NAME, RESUME_NAME, Ledger
from circuitcore.training.store.places import steps_done
from circuitcore.training.store.verify import verify
from livingpaper.commands import cli

ROOT = Path(__file__).resolve().parents[3]
SUPPORT = ROOT / "tests/support"
KILLS = 2  # one of each kind
N_RUNS, N_STEPS = 3, 180  # of the sweep that is killed: six steps an epoch
SWEPT = "seeds: [0, 1, 2]\nepochs: 30\nevery: 3\n"
PATIENCE = 300  # seconds; a busy machine is slow to start a process
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{SUPPORT}"}


def start(*words, **options):
    """The command line in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "livingpaper.commands.cli", *map(str, words)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        **options,
    )


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def runs_in(root):
    return {path.name: files(path) for path in root.glob("toy-*")}


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(data)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two finished runs and a table each, made once; tests work on copies."""
    root = tmp_path_factory.mktemp("trained")
    store = RunStore(root, None)
    for seed in (0, 1):
        run = store.get_or_train(toy_recipe(seed))
        store.save_table(run, "scores-v1", pd.DataFrame({"step": [0, 36], "value": [0.25, 1.0]}))
    return root


@pytest.fixture
def store(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "runs")
    return RunStore(tmp_path / "runs", None)


@pytest.fixture
def run(store):
    return store.find(toy_recipe(0))


# Kills


def test_a_sweep_killed_twice_ends_bit_identical(tmp_path):
    """SIGKILL at random moments, of one process and then of a pool; then the same command once more, in this process.

    The workers of the pool are not killed and have to end by themselves.
    """
    (tmp_path / "recall.yaml").write_text(SWEPT)
    command = ["sweep", "toy.recall", "--no-published", "--params", tmp_path, "--runs"]
    pool, serial = ["--workers", "2"], ["--executor", "serial"]
    chance = random.Random()
    for kill in range(KILLS):
        goal = progress_of(tmp_path / "killed") + chance.randrange(1, N_RUNS * N_STEPS // 10)
        process = start(*command, tmp_path / "killed", *(pool if kill % 2 else serial))
        until(lambda: process.poll() is not None or progress_of(tmp_path / "killed") >= goal)  # noqa: B023
        time.sleep(chance.uniform(0, 0.05))
        assert process.poll() is None, f"the sweep ended before kill {kill}:\n{process.communicate()[0]}"
        process.kill()
        process.communicate()
    for root in (tmp_path / "killed", tmp_path / "whole"):
        assert cli.main([*map(str, command), str(root), *serial]) == 0
    whole, killed = runs_in(tmp_path / "whole"), runs_in(tmp_path / "killed")
    assert len(whole) == N_RUNS and whole == killed
    assert cli.main(["verify", "--allow-task", *ALLOWED, str(tmp_path / "killed")]) == 0


def progress_of(root):
    """Steps in all checkpoints that a next attempt can go on from."""
    return sum(max(steps_done(path), N_STEPS * (path / HISTORY_NAME).exists()) for path in root.glob("toy-*"))


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.02)


def test_a_table_that_two_processes_measure_is_never_missing(tmp_path, monkeypatch):
    store, table = RunStore(tmp_path, None), pd.DataFrame({"value": [0.5]})
    run, seen = store.get_or_train(toy_recipe(0)), []
    store.save_table(run, "scores-v1", table)

    def looked_at(path, data):
        seen.append(store.find(run.recipe).table("scores-v1"))
        write_durably(path, data)

    monkeypatch.setattr(run_store, "write_durably", looked_at)
    store.save_table(run, "scores-v1", table)
    pd.testing.assert_frame_equal(*seen, table)
    store.save_table(run, "scores-v1", table.assign(value=0.25))
    assert seen[-1] is None  # one that changes is none until it is whole
    assert store.find(run.recipe).table("scores-v1")["value"].tolist() == [0.25]


def test_two_processes_on_one_recipe(tmp_path, monkeypatch):
    """One trains, the other waits; nobody trains a step twice."""
    root = tmp_path / "both"
    program = (
        "from toy.recall import toy_recipe; from toy.workers import count_trained_steps; from pathlib import Path;"
        f"print(count_trained_steps(Path({str(root)!r}), toy_recipe()))"
    )
    first = subprocess.Popen([sys.executable, "-c", program], env=ENVIRONMENT, text=True, stdout=subprocess.PIPE)
    until(lambda: any(root.glob(f"*/{RESUME_NAME}")))
    said = []

    def go_on(message, *names):
        said.append(message % names)
        (root / "go").touch()

    monkeypatch.setattr(run_store.LOG, "warning", go_on)
    assert count_trained_steps(root, toy_recipe()) == 0
    assert int(first.communicate(timeout=PATIENCE)[0]) == 36
    (told,) = said
    assert told.startswith("another process works on toy-recall")
    alone = RunStore(tmp_path / "alone", None).get_or_train(toy_recipe())
    assert runs_in(root) == {alone.run_id: files(alone.path)}


# A full disk


def test_a_full_disk_names_file_and_remedy_and_harms_nothing(store, run, monkeypatch):
    recipe, other = toy_recipe(2), files(run.path)
    fsync, calls = os.fsync, []

    def fill_up(descriptor):
        calls.append(descriptor)
        if len(calls) > 16:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fill_up)
    with pytest.raises(StoreError, match=r"No space left on device.*Free disk space.*same command") as caught:
        store.get_or_train(recipe)
    folder = store.root / recipe.run_id
    assert str(folder) in str(caught.value)
    assert not list(store.root.rglob("*.tmp")), "temporary files are left"
    assert Ledger.read(folder).entries and not verify(folder, allow_tasks=ALLOWED), (
        "checkpoints written before are readable"
    )
    assert files(run.path) == other and not verify(run.path, allow_tasks=ALLOWED)
    monkeypatch.setattr(os, "fsync", fsync)
    resumed = store.get_or_train(recipe)
    assert files(resumed.path) == files(RunStore(store.root / "again", None).get_or_train(recipe).path)


def test_a_disk_that_fills_up_within_a_file(run, capsys):
    """The kernel refuses the rest of a file (here through a limit on file sizes); the command says which and why."""
    command = ["train", "toy.recall", "--seed", "9", "--no-published", "--params", str(SUPPORT / "toy/params")]
    command, others = [*command, "--runs", str(run.path.parent)], runs_in(run.path.parent)
    with files_of_at_most(34_000):
        assert cli.main(command) == 1
    output = "".join(capsys.readouterr())
    assert "could not be written (File too large)" in output and RESUME_NAME in output and "ulimit" in output
    assert "Traceback" not in output
    assert not list(run.path.parent.rglob("*.tmp"))
    now = runs_in(run.path.parent)
    (begun,) = set(now) - set(others)
    assert {name: now[name] for name in others} == others
    assert steps_done(run.path.parent / begun) > 0 and not verify(run.path.parent / begun, allow_tasks=ALLOWED)
    assert cli.main(command) == 0, "".join(capsys.readouterr())


@contextlib.contextmanager
def files_of_at_most(n_bytes):
    """No file of this process grows beyond that."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# Damaged checkpoints


def middle(run):
    return run.path / run.ledger.entry(run.steps[1]).file


def truncate(run, store):
    os.truncate(middle(run), middle(run).stat().st_size // 2)


def flip_tensor_bit(run, store):
    flip(middle(run), -5)


def flip_header_bit(run, store):
    flip(middle(run), 3)


def flip_name_bit(run, store):
    flip(middle(run), 60)


def swap_steps(run, store):
    shutil.copy(run.path / run.ledger.entry(run.steps[2]).file, middle(run))


def swap_runs(run, store):
    shutil.copy(store.find(toy_recipe(1)).path / middle(run).name, middle(run))


def empty(run, store):
    middle(run).write_bytes(b"")


def remove(run, store):
    middle(run).unlink()


def offer_pickle(run, store):
    middle(run).write_bytes(pickle.dumps({"embed.W_E": [1.0]}))


def offer_torch_save(run, store):
    torch.save(run.weights(run.steps[1]), middle(run))


DAMAGES = {
    truncate: "cut short",
    flip_tensor_bit: "bytes have changed",
    flip_header_bit: "header is damaged",
    flip_name_bit: "",
    swap_steps: "another checkpoint under this name",
    swap_runs: "another checkpoint under this name",
    empty: "header is damaged",
    remove: "No such file",
    offer_pickle: "refused. This is a pickle",
    offer_torch_save: "refused. This is a pickle",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_checkpoint_is_named_by_every_reader(store, run, damage, capsys):
    damage(run, store)
    path = middle(run)
    for read in (
        lambda: run.weights(run.steps[1]),
        lambda: run.stack(run.steps),
        lambda: store.publish(run, store.root / "published", run.steps),
    ):
        with pytest.raises(CheckpointError) as caught:
            read()
        assert str(path) in str(caught.value) and DAMAGES[damage] in str(caught.value)
    assert [problem.path for problem in verify(run.path, allow_tasks=ALLOWED)] == [path]
    assert cli.main(["verify", "--allow-task", *ALLOWED, str(store.root)]) == 1
    output = capsys.readouterr().out
    assert f"BAD  {path}: " in output and "1 ok, 1 bad" in output
    assert cli.main(["verify", "--allow-task", *ALLOWED, str(path)]) == 1
    run.weights(run.steps[0]), run.weights(run.steps[2])


def test_a_checkpoint_renamed_to_another_step_is_named(store, run):
    first, second = (run.path / run.ledger.entry(step).file for step in run.steps[:2])
    kept = first.read_bytes()
    second.replace(first)
    with pytest.raises(CheckpointError, match=f"{first.name}: another checkpoint under this name"):
        run.weights(run.steps[0])
    assert {problem.path for problem in verify(run.path, allow_tasks=ALLOWED)} == {first, second}
    first.write_bytes(kept)
    stranger = run.path / "step-0000099.safetensors"
    stranger.write_bytes(kept)
    second.write_bytes(files(store.find(toy_recipe(0)).path)[first.name])
    assert {problem.path for problem in verify(run.path, allow_tasks=ALLOWED)} == {second, stranger}
    assert "does not know this file" in str(verify(stranger, allow_tasks=ALLOWED)[0])


def test_no_flipped_byte_gets_through(run):
    path, chance = middle(run), random.Random(0)
    kept = path.read_bytes()
    for offset in [*range(0, 200, 7), *(chance.randrange(len(kept)) for _ in range(100))]:
        flip(path, offset)
        with pytest.raises(CheckpointError, match=path.name):
            run.weights(run.steps[1])
        path.write_bytes(kept)
    assert not verify(run.path, allow_tasks=ALLOWED)


def test_a_wrong_loss_in_the_ledger_is_found_by_computing_it_again(store, run):
    """A ledger rewritten with valid hashes still has to agree with what the weights do."""
    entries = [dataclasses.replace(entry, loss=entry.loss * 1.01) for entry in run.ledger.entries[:1]]
    dataclasses.replace(run.ledger, entries=(*entries, *run.ledger.entries[1:])).write(run.path)
    (problem,) = verify(run.path, allow_tasks=ALLOWED)
    assert problem.path == run.path / "step-0000000.safetensors" and "when recomputed" in problem.message


# Other damaged files


def test_every_flipped_byte_of_the_ledger_is_noticed(store, run):
    path = run.path / "ledger.json"
    kept = path.read_bytes()
    for offset in range(0, len(kept), 13):
        flip(path, offset)
        if json_value(path.read_bytes()) != json_value(kept):  # a changed space is no damage
            for read in (lambda: store.find(toy_recipe(0)), store.runs, lambda: store.get_or_train(toy_recipe(0))):
                with pytest.raises(StoreError, match="ledger.json"):
                    read()
            assert verify(run.path, allow_tasks=ALLOWED)[0].path == path
        path.write_bytes(kept)


def json_value(data):
    try:
        return json.loads(data)
    except ValueError:
        return None


@pytest.mark.parametrize("name", ["recipe.json", "history.parquet", "tables/scores-v1.parquet"])
def test_damage_to_any_other_file_is_named(store, run, name):
    path = run.path / name
    flip(path, path.stat().st_size // 2)
    assert [problem.path for problem in verify(run.path, allow_tasks=ALLOWED)] == [path]
    read = {
        "recipe.json": lambda: store.get(run.run_id).recipe,
        "history.parquet": lambda: run.history,
        "tables/scores-v1.parquet": lambda: store.load_table(run, "scores-v1"),
    }[name]
    with pytest.raises(StoreError, match=path.name):
        read()


def test_a_damaged_or_foreign_resume_state_is_named(tmp_path):
    store, recipe = RunStore(tmp_path, None), toy_recipe(0)

    def stop(step):
        if step == 20:
            raise InterruptedError

    for seed in (0, 1):
        with pytest.raises(InterruptedError):
            store.get_or_train(toy_recipe(seed), stop)
    path = tmp_path / recipe.run_id / RESUME_NAME
    kept = path.read_bytes()
    chance = random.Random(0)
    for offset in [*range(0, 300, 37), *(chance.randrange(len(kept)) for _ in range(30))]:
        flip(path, offset)
        with pytest.raises(StoreError, match=f"{RESUME_NAME}: .*Delete .*{RESUME_NAME}: the run then starts again"):
            store.get_or_train(recipe)
        path.write_bytes(kept)
    shutil.copy(tmp_path / toy_recipe(1).run_id / RESUME_NAME, path)
    with pytest.raises(StoreError, match="belongs to another run"):
        store.get_or_train(recipe)
    path.write_bytes(kept)
    flip(tmp_path / recipe.run_id / "step-0000012.safetensors", -1)
    with pytest.raises(StoreError, match="step-0000012.safetensors: its bytes have changed"):
        store.get_or_train(recipe)
    path.unlink()
    assert not verify(store.get_or_train(recipe).path, allow_tasks=ALLOWED), "the remedy works"


def test_a_run_in_a_folder_of_another_name_is_named(store, run):
    other = store.find(toy_recipe(1)).path
    shutil.rmtree(other)
    shutil.copytree(run.path, other)
    with pytest.raises(StoreError, match="in a folder of another name"):
        store.get_or_train(toy_recipe(1))


# Tables and publishing


def test_tables_come_back_as_they_were(store, run):
    table = pd.DataFrame(
        {
            "layer": pd.array([0, None], dtype="Int64"),
            "metric": pd.Series(["a", ""]).astype("category"),
            "value": [0.1, float("nan")],
        }
    )
    table.attrs["battery"] = "v1"
    assert store.load_table(run, "battery-v1") is None
    store.save_table(run, "battery-v1", table)
    store.save_table(run, "battery-v1", table.iloc[:1])
    store.save_table(run, "battery-v1", table)
    back = store.load_table(run, "battery-v1")
    pd.testing.assert_frame_equal(back, table)
    assert back.attrs == table.attrs and set(store.get(run.run_id).tables) == {"scores-v1", "battery-v1"}
    with pytest.raises(StoreError, match="table key '../x'"):
        store.save_table(run, "../x", table)


def test_a_published_run_keeps_the_whole_ledger_and_some_weights(store, run, tmp_path, capsys):
    published = store.publish(run, tmp_path / "published", [0, run.final_step])
    published = store.publish(run, tmp_path / "published", [0, 12, run.final_step])  # again, in its place
    assert published.steps == (0, 12, 36) and published.all_steps == run.all_steps
    assert not verify(published.path, allow_tasks=ALLOWED) and not list((tmp_path / "published").glob(".*"))
    fresh = RunStore(tmp_path / "elsewhere", tmp_path / "published")
    found = fresh.get_or_train(toy_recipe(0))
    assert found.origin == "published" and fresh.runs()[0].run_id == run.run_id
    pd.testing.assert_frame_equal(found.history, run.history)
    assert len(fresh.load_table(found, "scores-v1")) == 2
    with pytest.raises(CheckpointError, match="does not keep step 24; the nearest one here is 12"):
        found.weights(24)
    with pytest.raises(CheckpointError, match="no checkpoint was taken at step 7"):
        found.weights(7)
    with pytest.raises(CheckpointError, match=r"no weights here for step\(s\) \[24\]"):
        found.only([0, 24])
    assert RunStore(tmp_path / "elsewhere", None).find(toy_recipe(0)) is None
    with pytest.raises(StoreError, match=f"did you mean '{run.run_id}'"):
        fresh.get(run.run_id[:-1])


@pytest.mark.parametrize("n_bytes", range(1, 400, 8))
def test_no_length_of_header_makes_a_checkpoint_look_like_a_pickle(n_bytes, tmp_path):
    """The file starts with that length; 640 bytes, for one, is how a pickle starts, too."""
    data = pack({"w": torch.arange(3.0)}, {"run_id": "x" * (500 + n_bytes)})
    tensors, _ = unpack(tmp_path / "given", data)
    assert tensors["w"].tolist() == [0, 1, 2]
