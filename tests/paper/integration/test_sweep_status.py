"""What a sweep's status says of runs that are done, running, failed, waiting or lost, and when it expects the end."""

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from toy.recall import ALLOWED, toy_recipe

from circuitcore.models import ModelConfig
from circuitcore.training import DivergedError, ExecutorError, RunStore, StoreError
from circuitcore.training.store.failures import FAILURE_FOLDER
from circuitcore.training.store.ledger import LEDGER_NAME
from circuitcore.training.store.verify import verify
from circuitcore.training.sweeps import sweep
from circuitcore.training.sweeps.status import sweep_status
from circuitcore.training.sweeps.sweep import steps_trail, train_all, train_one, train_stacks
from livingpaper.commands import cli
from livingpaper.commands.forecast import Forecasts
from livingpaper.commands.status_page import status_lines, status_page

ROOT = Path(__file__).resolve().parents[3]
SUPPORT = ROOT / "tests/support"
PARAMS = ["--params", str(SUPPORT / "toy" / "params")]
DIVERGING = toy_recipe(3, lr=1e30)


class Stop(BaseException):
    """As a kill ends a run: nothing in training handles it."""


def stop_at(step):
    def stop(done):
        if done == step:
            raise Stop

    return stop


def half_trained(store, recipe, step):
    with pytest.raises(Stop):
        store.get_or_train(recipe, stop_at(step))


def states(store, recipes):
    return [run.state for run in sweep_status(store, {"arm": recipes}).arms["arm"]]


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs", None)


# States


def test_done_begun_and_untouched_runs(store):
    recipes = [toy_recipe(seed) for seed in range(3)]
    store.get_or_train(recipes[0])
    half_trained(store, recipes[1], 20)
    status = sweep_status(store, {"all": recipes, "first": recipes[:1]})
    done, begun, untouched = status.arms["all"]
    assert (done.state, done.steps, done.n_steps, done.checkpoints) == ("done", 36, 36, 4)
    assert (begun.state, begun.steps, begun.n_steps, begun.checkpoints) == ("waiting", 12, 36, 2)
    assert (untouched.state, untouched.steps, untouched.n_steps, untouched.checkpoints) == ("waiting", 0, 36, 0)
    assert status.arms["first"] == (done,) and len(status.runs) == 3
    assert "unknown, since nothing is running" in status.outlook and status.ends == {}
    assert (status.ends_in(status.arms["first"]), status.ends_in(status.arms["all"])) == ("-", "unknown")


def test_a_published_run_is_done(store, tmp_path):
    run = store.get_or_train(toy_recipe())
    store.publish(run, tmp_path / "published", [36])
    (found,) = sweep_status(RunStore(tmp_path / "other", tmp_path / "published"), {"arm": [toy_recipe()]}).runs
    assert (found.state, found.checkpoints) == ("done", 4)


def test_a_run_is_running_as_long_as_the_process_that_holds_it_lives(store):
    recipe = toy_recipe()
    program = (
        "import sys, time; from toy.recall import toy_recipe; from circuitcore.training import RunStore\n"
        f"def wait(step):\n  if step == 20: print('there', flush=True); time.sleep(600)\n"
        f"RunStore({str(store.root)!r}, None).get_or_train(toy_recipe(), wait)"
    )
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{SUPPORT}"}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline() == b"there\n"
        assert states(store, [recipe]) == ["running"]
        process.send_signal(signal.SIGKILL)
    assert states(store, [recipe]) == ["waiting"], "a killed process has lost its run"
    assert sweep_status(store, {"arm": [recipe]}).runs[0].steps == 12, "and at most one interval of it"


def test_asking_changes_nothing_on_disk(store):
    half_trained(store, toy_recipe(), 20)
    before = {path: path.read_bytes() for path in store.root.rglob("*") if path.is_file()}
    sweep_status(store, {"arm": [toy_recipe(), toy_recipe(1)]})
    assert {path: path.read_bytes() for path in store.root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_run_that_raised_is_failed_until_it_is_taken_up_again(executor, store):
    recipes = [toy_recipe(), DIVERGING, toy_recipe(1)]
    with pytest.raises(ExecutorError, match="1 of 3 runs failed"):
        train_all(store, recipes, executor, workers=2)
    assert states(store, recipes) == ["done", "failed", "done"]
    status = sweep_status(store, {"arm": recipes})
    assert re.search(r"DivergedError: .*loss of step \d+ is (nan|inf)", status.runs[1].error)
    assert status.outlook == "1 failed: the same sweep tries again."
    assert verify(store.root / recipes[0].run_id, allow_tasks=ALLOWED) == [], "the note is beside the runs, not in one"

    def look(step):
        assert states(store, [DIVERGING]) == ["running"] and not list((store.root / FAILURE_FOLDER).iterdir())

    with pytest.raises(DivergedError):
        store.get_or_train(DIVERGING, look)
    assert states(store, [DIVERGING]) == ["failed"]
    half_trained(store, DIVERGING, 1)
    assert states(store, [DIVERGING]) == ["waiting"], "a kill is no failure"


def test_a_note_that_cannot_be_written_does_not_hide_the_failure(store, monkeypatch):
    def full(path, data):
        raise StoreError(f"{path}: no space")

    monkeypatch.setattr("circuitcore.training.store.failures.write_durably", full)
    with pytest.raises(DivergedError):
        store.get_or_train(DIVERGING)


def test_a_run_whose_workers_were_lost_is_failed(store, monkeypatch):
    """Nobody is left in the worker to note it: whoever gave the work out does."""

    def lose(function, recipes, executor, workers):
        raise ExecutorError("lost", {recipes[1].run_id: ExecutorError("its worker process was lost 3 times in a row")})

    monkeypatch.setattr(sweep, "map_runs", lose)
    with pytest.raises(ExecutorError):
        train_all(store, [toy_recipe(), toy_recipe(1)], "serial")
    assert states(store, [toy_recipe(), toy_recipe(1)]) == ["waiting", "failed"]
    train_one(store, toy_recipe(1))
    assert states(store, [toy_recipe(1)]) == ["done"] and not list((store.root / FAILURE_FOLDER).iterdir())


def test_runs_of_a_stack_fail_one_by_one(store):
    recipes = [toy_recipe(seed, lr=lr, engine="stacked") for seed, lr in ((0, 1e-2), (1, 1e30))]
    for _ in range(2):
        with pytest.raises(ExecutorError, match="1 of 2 runs failed"):
            train_stacks(store, recipes, "cpu")
        assert states(store, recipes) == ["done", "failed"]


def test_a_damaged_ledger_is_a_failure_with_its_file(store):
    run = store.get_or_train(toy_recipe())
    (run.path / LEDGER_NAME).write_text("{")
    (found,) = sweep_status(store, {"arm": [toy_recipe()]}).runs
    assert found.state == "failed" and LEDGER_NAME in found.error


# When it should end


def set_times(store, recipe, seconds):
    """Make checkpoints, and the trail if there is one, as old as if written after ``seconds`` (step -> seconds)."""
    for step, at in seconds.items():
        path = store.root / recipe.run_id / f"step-{step:07d}.safetensors"
        path = path if path.exists() else steps_trail(store, recipe).path
        os.utime(path, (1e9 + at, 1e9 + at))


def test_what_is_left_goes_on_as_what_is_running(store):
    """Two run, at 2 and 4 seconds a step; of the waiting, one is like the first, one like the second, one like none."""

    def of_width(d_mlp, seed):
        model = ModelConfig(d_vocab=6, n_ctx=4, n_layers=1, n_heads=2, d_model=16, d_mlp=d_mlp)
        return toy_recipe(seed, model=model)

    fast, slow = of_width(16, 0), of_width(8, 0)
    waiting = [of_width(16, 1), of_width(8, 1), of_width(4, 0)]
    half_trained(store, fast, 30)
    steps_trail(store, fast).note(30)
    set_times(store, fast, {0: 0, 12: 12, 24: 12 + 24, 30: 12 + 24 + 18})  # 1, 2 and 3 seconds a step
    half_trained(store, slow, 15)
    set_times(store, slow, {0: 100, 12: 148})
    recipes = [waiting[0], slow, waiting[1], fast, waiting[2]]
    with ExitStack() as held:
        for recipe in (fast, slow):
            held.enter_context(store.lock(recipe.run_id))
        status = sweep_status(store, {"waiting": waiting, "running": [slow, fast]})
    by_recipe = {run.recipe: run for run in status.runs}
    assert {recipe: by_recipe[recipe].pace for recipe in recipes} == {fast: 2, slow: 4} | dict.fromkeys(waiting)
    assert [by_recipe[recipe].steps for recipe in (fast, slow)] == [30, 12]
    # By hand: the fast one is free after 12 s, the slow one after 96 s; 36 steps each of what waits.
    first = 6 * 2 + 36 * 2
    second = first + 36 * 4  # the fast worker is free again before the slow one
    third = 24 * 4 + 36 * 3
    expected = dict(zip([fast, slow, *waiting], [12, 96, first, second, third], strict=True))
    assert status.ends == {recipe.run_id: seconds for recipe, seconds in expected.items()}
    assert status.ends_in(status.arms["running"]) == "about 2 min"
    assert status.outlook == "Time left: about 4 min, at the pace of the 2 running, and 2 at a time."


def test_a_run_that_was_interrupted_overnight_is_not_taken_for_slow(store):
    recipe = toy_recipe(epochs=10, every=1)
    half_trained(store, recipe, 55)
    set_times(store, recipe, {6 * i: 6 * i + (30_000 if i > 5 else 0) for i in range(10)})
    with store.lock(recipe.run_id):
        (run,) = sweep_status(store, {"arm": [recipe]}).runs
    assert run.pace == 1


def test_a_run_that_has_only_just_begun_has_no_pace_yet(store):
    recipe = toy_recipe()
    with store.lock(recipe.run_id):
        status = sweep_status(store, {"arm": [recipe, toy_recipe(1)]})
    assert [run.state for run in status.runs] == ["running", "waiting"]
    assert "unknown, since what is running has only just begun" in status.outlook
    assert status.ends_in(status.runs) == "unknown"


# The page and the command


class Reader(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def test_the_page_loads_nothing_escapes_what_it_quotes_and_says_when_it_was_written(store):
    with pytest.raises(ExecutorError):
        train_all(store, [toy_recipe(), DIVERGING], "serial")
    note = store.root / FAILURE_FOLDER / DIVERGING.run_id
    note.write_text("ValueError: <b>1 < 2</b>")
    running = toy_recipe(1)
    half_trained(store, running, 20)
    with store.lock(running.run_id):
        status = sweep_status(store, {"<arm>": [toy_recipe(), DIVERGING], "other": [running], "none": []})
    written = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    each = {"<arm>": "about 2 min", "other": "not known yet", "none": "-"}
    forecasts = Forecasts(each, "more than about 1 min", "more than about 2 min")
    page = status_page("Sweep of toy", "circuitcore status toy", status, forecasts, written)
    read = Reader(page)
    assert not {"script", "link", "img", "iframe", "b"} & {tag for tag, _ in read.tags}
    assert not {"src", "href"} & {name for _, attributes in read.tags for name in attributes}
    assert "http" not in page and "url(" not in page and "prefers-color-scheme: dark" in page
    assert "Written 2026-03-04 05:06:07 UTC" in read.text
    assert "ValueError: <b>1 < 2</b>" in read.text and "<arm>" in read.text
    labels = [attributes["aria-label"] for _, attributes in read.tags if attributes.get("role") == "img"]
    assert labels == [
        "1 done, 1 running, 1 failed",
        "1 done, 1 failed",
        "1 running",
        "none",
        "33 per cent of its steps",
    ]
    widths = re.findall(r'<span class="(\w+)" style="width:([\d.]+)%">', page)
    assert widths[3:5] == [("done", "50.00"), ("failed", "50.00")] and widths[-1] == ("running", "33.33")
    assert "2 min" in read.text and "From nothing, all of it: more than about 2 min on this machine." in read.text
    lines = status_lines(status, forecasts)
    assert next(line for line in lines if line.startswith("all, ")).endswith("more than about 1 min")
    assert lines[-1] == "From nothing, all of it: more than about 2 min on this machine."
    assert lines[0].split("  ")[0] == "arm" and any(line.startswith("failed   toy-recall") for line in lines)


@pytest.mark.usefixtures("project")
def test_the_command_shows_a_study_and_lists_folders_as_before(tmp_path, capsys):
    (tmp_path / "recall.yaml").write_text("seeds: [0, 1]\nepochs: 3\n")
    (tmp_path / "recall.tiny.yaml").write_text("seeds: [0]\nepochs: 3\n")

    def command(*words):
        return cli.main(["status", "toy.recall", "--params", ".", *words])

    assert command() == 0
    text, page = capsys.readouterr().out, tmp_path / "build/status/toy.recall.html"
    assert text.endswith("build/status/toy.recall.html\n") and "2 waiting" in page.read_text()
    assert cli.main(["train", "toy.recall", "--seed", "0", "--params", ".", "--executor", "serial"]) == 0
    assert command() == 0
    assert "1 done, 1 waiting" in page.read_text() and "3 of 6 checkpoints" in page.read_text()
    rows = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert rows["trained"][1:5] == ["1", "0", "0", "1"] and rows["first seed"][2:6] == ["1", "0", "0", "0"]
    assert cli.main(["status", "toy.recall", "--params", ".", "--tier", "tiny"]) == 0
    assert "All runs are done." in (tmp_path / "build/status/toy.recall.tiny.html").read_text()
    for folders in ([], ["runs"]):
        capsys.readouterr()
        assert cli.main(["status", *folders]) == 0
        assert "finished, 18 steps, 3 of 3 checkpoints here" in capsys.readouterr().out
    (run,) = (tmp_path / "runs").glob("toy*")
    for words in ([str(run)], ["--runs", "runs"], ["--runs", "runs", "--no-published"]):
        capsys.readouterr()
        assert cli.main(["status", *words]) == 0 and capsys.readouterr().out.endswith("\n1 run(s).\n"), words
    assert cli.main(["status", "--runs", "elsewhere"]) == 0 and capsys.readouterr().out == "0 run(s).\n"
    before = page.read_text()
    assert command("--runs", "elsewhere") == 0 and page.read_text() == before, "a page of the usual store alone"
    assert cli.main(["status", "--tier", "smoke"]) == 1
    assert "--tier says something of one study; allowed: circuitcore status STUDY --tier" in capsys.readouterr().err
    assert cli.main(["status", "symbolic_kw"]) == 1
    assert "unknown study 'symbolic_kw'; did you mean 'symbolic_kv'" in capsys.readouterr().err
    assert cli.main(["status", "./nowhere"]) == 1
    assert "nowhere: there is no such folder" in capsys.readouterr().err


def test_where_there_is_no_checkout_no_page_is_left_behind(project, capsys):
    (project / "_toc.yml").unlink()
    (project / "recall.yaml").write_text("seeds: [0, 1]\nepochs: 3\n")
    before = sorted(project.rglob("*"))
    assert cli.main(["status", "toy.recall", "--params", "."]) == 0
    assert capsys.readouterr().out.startswith("arm ") and sorted(project.rglob("*")) == before


def test_commands_find_what_the_environment_names_from_anywhere(tmp_path, monkeypatch, capsys):
    run = RunStore(tmp_path / "mine", None).get_or_train(toy_recipe())
    monkeypatch.setenv("CIRCUITCORE_RUNS", str(tmp_path / "mine"))
    monkeypatch.setenv("CIRCUITCORE_PUBLISHED", str(tmp_path / "published"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cli.main(["verify", "--allow-task", *ALLOWED]) == 0
    assert f"ok   {run.path}" in capsys.readouterr().out
    assert cli.main(["status"]) == 0 and str(run.path) in capsys.readouterr().out
    assert RunStore().get(run.run_id).path == run.path


def test_where_there_is_nothing_to_check_verify_says_so(project, capsys):
    assert cli.main(["verify"]) == 1
    assert "there is nothing to check: neither runs nor published; name a folder" in capsys.readouterr().err


# The executor on the command line


@pytest.mark.usefixtures("project")
def test_a_misspelt_executor_is_refused_even_where_nothing_is_left_to_do(tmp_path, capsys):
    (tmp_path / "recall.yaml").write_text("seeds: [0]\nepochs: 3\n")
    words = ["sweep", "toy.recall", "--params", ".", "--executor"]
    for executor, code in (("serial", 0), ("procesess", 1)):
        assert cli.main([*words, executor]) == code
    assert "unknown executor 'procesess'; did you mean 'processes'" in capsys.readouterr().err


def test_dask_is_another_word_for_an_executor_and_the_two_do_not_mix(capsys):
    parse = cli._parser().parse_args
    for command in (["sweep", "x"], ["measure", "x"], ["train", "x", "--seed", "1"]):
        assert parse([*command]).executor == "processes"
        assert parse([*command, "--dask", "tcp://h:1"]) == parse([*command, "--executor", "tcp://h:1"])
        for words in (["--dask", "tcp://h:1", "--executor", "serial"], ["--dask", "h:1"]):
            with pytest.raises(SystemExit) as refused:
                parse([*command, *words])
            assert refused.value.code == 2
    errors = capsys.readouterr().err
    assert "not allowed with argument" in errors and "'h:1'; allowed: tcp://HOST:PORT" in errors


def test_without_dask_the_command_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert cli.main(["sweep", "toy.recall", *PARAMS, "--runs", str(tmp_path), "--dask", "tcp://127.0.0.1:9"]) == 1
    assert "pip install 'circuitcore[cluster]'" in capsys.readouterr().err


def test_a_sweep_on_dask_fills_the_store_as_one_on_two_processes(tmp_path):
    distributed = pytest.importorskip("distributed")
    (tmp_path / "recall.yaml").write_text("seeds: [0, 1]\nepochs: 4\n")
    command = ["sweep", "toy.recall", "--params", str(tmp_path), "--runs"]
    assert cli.main([*command, str(tmp_path / "two"), "--workers", "2"]) == 0
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster:
        assert cli.main([*command, str(tmp_path / "dask"), "--dask", cluster.scheduler_address]) == 0
    hashes = [
        {run.run_id: [entry.sha256 for entry in run.ledger.entries] for run in RunStore(tmp_path / name, None).runs()}
        for name in ("two", "dask")
    ]
    assert len(hashes[0]) == 2 and hashes[0] == hashes[1]
