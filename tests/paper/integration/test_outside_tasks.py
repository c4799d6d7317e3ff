"""Reading a run imports no code that the caller has not named: neither its store, nor a command, nor the explorer."""

import dataclasses
import multiprocessing.reduction
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from forging import change_recipe, reseal
from test_damaged_runs import recipe
from toy.recall import ALLOWED, toy_recipe

from circuitcore.tasks import OutsideTaskError, TaskError
from circuitcore.training import Recipe, RunStore, StoreError
from circuitcore.training.store.ledger import Ledger
from circuitcore.training.store.run import read_recipe
from circuitcore.training.store.verify import verify
from circuitcore.training.sweeps.sweep import obtainable
from livingpaper.commands import cli
from livingpaper.explorer import probe
from livingpaper.explorer.widget import exhibit_of

ROOT = Path(__file__).resolve().parents[3]
PAYLOAD = """from pathlib import Path
from circuitcore.tasks.permutation import PermutationRecall as X
Path(__file__).with_name("ran").touch()
"""
TASK = "runs.payload:X"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder as somebody may offer it: a run whose recipe names a task, that task's code, and a good run."""
    root = tmp_path_factory.mktemp("offered") / "runs"
    store = RunStore(root, None)
    for seed in (0, 1):
        store.save_table(store.get_or_train(recipe(seed)), "scores-v1", pd.DataFrame({"value": [1.0]}))
    change_recipe(root / recipe(0).run_id, task=TASK)
    (root / "payload.py").write_text(PAYLOAD)
    return root


@pytest.fixture
def root(made, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CIRCUITCORE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("CIRCUITCORE_PUBLISHED", str(tmp_path / "published"))
    yield Path(shutil.copytree(made, tmp_path / "runs"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "runs"]:
        del sys.modules[name]


@pytest.fixture
def run(root):
    return next(folder for folder in root.glob("permutation_recall-*") if folder.name != recipe(1).run_id)


def unfinished(run):
    """As if training had been stopped after the last checkpoint but one."""
    (run / "step-0000008.safetensors").unlink()
    (run / "history.parquet").unlink()
    ledger = Ledger.read(run)
    reseal(run, finished=False, history_sha256=None, entries=[vars(entry) for entry in ledger.entries[:-1]])


REFUSE = {
    "Run.recipe": lambda run: RunStore(run.parent, None).get(run.name).recipe,
    "Run.recipe of all": lambda run: [found.recipe for found in RunStore(run.parent, None).runs()],
    "Run.recipe, published": lambda run: RunStore("none", run.parent).get(run.name).recipe,
    "Run.recipe, others allowed": lambda run: RunStore(run.parent, None, ["runs.other:X"]).get(run.name).recipe,
    "read_recipe": lambda run: read_recipe(run, Ledger.read(run)),
    "Recipe.from_json": lambda run: Recipe.from_json((run / "recipe.json").read_text()),
    "probe": lambda run: probe(RunStore(run.parent, None).get(run.name), prompt="1 2 3"),
    "probe by name": lambda run: probe(run.name, prompt="1 2 3"),
    "explorer": lambda run: exhibit_of(RunStore(run.parent, None).get(run.name)),
    "publish": lambda run: RunStore(run.parent, None).publish(RunStore(run.parent).get(run.name), Path("to"), [0]),
}
READ = {
    "runs": lambda run: [found.history for found in RunStore(run.parent, None).runs()],
    "weights": lambda run: RunStore(run.parent, None).get(run.name).weights(8),
    "load_table": lambda run: RunStore(run.parent, None).load_table(RunStore(run.parent).get(run.name), "scores-v1"),
    "find another": lambda run: RunStore(run.parent, None).find(recipe(1)),
    "obtainable": lambda run: obtainable(RunStore(run.parent, None), [recipe(0), recipe(1)]),
    "verify": lambda run: verify(run),
    "verify a file": lambda run: verify(run / "step-0000004.safetensors"),
}


@pytest.mark.parametrize("name", REFUSE)
def test_what_needs_the_task_refuses_it_by_name(run, name):
    with pytest.raises((StoreError, TaskError)) as caught:
        REFUSE[name](run)
    text = str(caught.value)
    assert all(words in text for words in (TASK, "none was imported", "allow_tasks=", f"--allow-task {TASK}"))
    assert not (run.parent / "ran").exists() and "runs.payload" not in sys.modules


@pytest.mark.parametrize("name", READ)
def test_what_needs_no_task_reads_on_without_it(run, name):
    READ[name](run)
    assert not (run.parent / "ran").exists() and "runs.payload" not in sys.modules


def test_verify_names_it_and_checks_the_rest(run):
    (problem,) = verify(run)
    assert problem.path == run / "recipe.json" and TASK in problem.message
    (run / "step-0000004.safetensors").unlink()
    assert [problem.path.name for problem in verify(run)] == ["recipe.json", "step-0000004.safetensors"]


def test_it_is_imported_where_it_is_allowed_by_name(run, capsys):
    assert verify(run, allow_tasks=[TASK]) == []
    assert (run.parent / "ran").exists()
    found = RunStore(run.parent, None, allow_tasks=(TASK,)).get(run.name)
    assert found.recipe.task == TASK and found.only([0]).recipe == found.recipe
    assert RunStore(run.parent, None, (TASK,)).absolute().get(run.name).recipe == found.recipe
    assert cli.main(["verify", "--allow-task", TASK, "--allow-task", "runs.other:X"]) == 0


@pytest.mark.parametrize("end", [lambda run: None, unfinished])
def test_the_commands_say_so_and_go_on(run, capsys, end):
    end(run)
    assert cli.main(["verify"]) == 1
    output = capsys.readouterr().out
    assert f"--allow-task {TASK}" in output and f"ok   runs/{recipe(1).run_id}" in output and "1 ok, 1 bad." in output
    assert cli.main(["status"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (named,) = [line for line in lines if run.name in line]
    assert TASK in named and "imported" in named and lines[-1] == "2 run(s)."
    assert not (run.parent / "ran").exists()
    assert cli.main(["status", "--allow-task", TASK]) == 0
    assert "BAD" not in capsys.readouterr().out


@pytest.mark.parametrize("named", [lambda run: run.name, str])
def test_export_takes_the_option_that_it_names(run, capsys, named):
    words = ["export", named(run), "--to", "transformer-lens", "--out", "exported"]
    assert cli.main(words) == 1
    assert f"--allow-task {TASK}" in capsys.readouterr().err
    assert not (run.parent / "ran").exists() and not Path("exported").exists()
    assert cli.main([*words, "--allow-task", TASK]) == 0
    assert (run.parent / "ran").exists() and Path("exported/weights.safetensors").is_file()


@pytest.mark.parametrize("command", ["verify", "status"])
def test_the_command_in_the_folder_above_runs_nothing_of_it(run, command):
    """As one does with a download: unpack it, and check it from where it lies."""
    words = [sys.executable, "-W", "error", "-m", "livingpaper.commands.cli", command, "runs"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == (1 if command == "verify" else 0), done.stderr
    assert TASK in done.stdout and "imported" in done.stdout and "Traceback" not in done.stderr
    assert not (run.parent / "ran").exists()


# Where the caller has named the task himself


def test_a_recipe_in_hand_vouches_for_its_task(tmp_path):
    store, wanted = RunStore(tmp_path / "runs", None), toy_recipe()
    trained = store.get_or_train(wanted)
    assert trained.recipe == wanted and store.find(wanted).recipe == wanted
    published = store.publish(trained, tmp_path / "published", [0])
    assert published.recipe == wanted and RunStore("none", tmp_path / "published").find(wanted).recipe == wanted
    with pytest.raises(StoreError, match="none was imported"):
        _ = store.get(wanted.run_id).recipe
    assert RunStore(store.root, None, ALLOWED).get(wanted.run_id).recipe == wanted


def test_a_recipe_takes_its_task_along_to_other_processes():
    wanted = toy_recipe()
    sent = multiprocessing.reduction.ForkingPickler.dumps(wanted)
    assert multiprocessing.reduction.ForkingPickler.loads(sent) == wanted
    assert dataclasses.replace(wanted, init_seed=3).task == wanted.task
    with pytest.raises(OutsideTaskError):
        Recipe.from_json(wanted.to_json())
    assert Recipe.from_json(wanted.to_json(), ALLOWED) == wanted


@pytest.mark.parametrize("wrong", ["toy.recall:Recall", ["toy.recall"], ["toy.recall:Recall;"], [".toy:X"], [3]])
def test_what_is_allowed_is_a_list_of_import_paths(wrong, tmp_path, capsys):
    for read in (lambda: RunStore(tmp_path, None, wrong), lambda: verify(tmp_path, allow_tasks=wrong)):
        with pytest.raises(Exception, match=r"allow_tasks|Type-check") as caught:
            read()
        assert isinstance(caught.value, TaskError) or wrong == [3]
    if wrong == ["toy.recall"]:
        assert cli.main(["verify", str(tmp_path), "--allow-task", *wrong]) == 1
        assert "'toy.recall' is no import path" in capsys.readouterr().err
