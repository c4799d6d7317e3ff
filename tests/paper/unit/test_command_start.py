"""The first half second of a command: help needs no torch, wrong words need no wait, Ctrl-C needs no traceback."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from circuitcore.ground.engine_names import ENGINE_NAMES
from circuitcore.ground.interruption import INTERRUPTED, ended_by_ctrl_c, held_back
from circuitcore.ground.task_names import TASK_NAMES
from circuitcore.tasks import TASKS
from circuitcore.training.engines import ENGINES

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = ("train", "sweep", "measure", "rerun", "status", "verify", "dataset", "prompts", "ask")
SLOW = ("torch", "pandas", "numpy", "scipy", "pyarrow", "altair", "jaxtyping")


@pytest.fixture(autouse=True)
def with_ctrl_c():
    """Ctrl-C as in a terminal, wherever these tests run: whoever starts them in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def python(program, *words):
    """What a fresh process made of a program, without the machinery of these tests."""
    command = [sys.executable, "-W", "error", "-c", program, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


WITHOUT_SLOW = """
import resource, sys
from livingpaper.commands.cli import main
try:
    code = main(sys.argv[2:])
except SystemExit as end:
    code = end.code
slow = [name for name in sys.argv[1].split() if name in sys.modules]
used = resource.getrusage(resource.RUSAGE_SELF)
print("STATUS", code, "IMPORTED", *slow, "SECONDS", used.ru_utime + used.ru_stime)
"""


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        *(((*command, "--help"), 0, "show this help message") for command in ((), *((name,) for name in COMMANDS))),
        (("trian",), 2, "invalid choice: 'trian'"),
        ((), 2, "the following arguments are required: COMMAND"),
        (("train", "symbolic_kv"), 2, "the following arguments are required: --seed"),
        (("sweep", "symbolic_vk"), 1, "unknown study 'symbolic_vk'; did you mean 'symbolic_kv'?"),
        (("sweep", "../x"), 1, "unknown study '../x'"),
        (("measure", "symbolic_kv", "--tier", "smok"), 1, "unknown tier 'smok'; did you mean 'smoke'?"),
        (("rerun", "symbolic_vk", "--seeds", "1"), 1, "unknown study 'symbolic_vk'; did you mean 'symbolic_kv'?"),
        (("rerun", "symbolic_kv", "--seeds", "1", "--tier", "smok"), 1, "unknown tier 'smok'; did you mean 'smoke'?"),
        (("rerun", "symbolic_kv", "--seeds", "1", "--engine", "nativ"), 2, "did you mean 'native'?"),
        (("rerun", "symbolic_kv"), 1, "--seeds: none; allowed: some that are not published, such as 101 102"),
        (("rerun", "symbolic_kv", "--seeds", "-1"), 2, "'-1'; allowed: a whole number of at least 0"),
        (("status", "symbolic_kw"), 1, "unknown study 'symbolic_kw'"),
        (("status", "symbolic_kv", "--tier", "smok"), 1, "unknown tier 'smok'; did you mean 'smoke'?"),
        (("status", "symbolic_kv", "--engine", "nativ"), 2, "did you mean 'native'?"),
        (("sweep", "symbolic_kv", "--workers", "0"), 2, "'0'; allowed: a whole number of at least 1"),
        (("status", "no/such/folder"), 1, "no/such/folder: there is no such folder"),
    ],
    ids=str,
)
def test_what_needs_no_torch_imports_none_and_takes_no_time(words, code, shown):
    done = python(WITHOUT_SLOW, " ".join(SLOW), *words)
    assert shown in done.stdout + done.stderr and "Traceback" not in done.stderr
    _, status, _, *slow, _, seconds = done.stdout.splitlines()[-1].split()
    assert (int(status), slow) == (code, [])
    assert float(seconds) < 0.5, "of the processor's time, which other processes do not change by much"


def test_finished_runs_are_listed_without_torch():
    done = python(WITHOUT_SLOW, "torch", "status", "published")
    assert "run(s)." in done.stdout and "BAD" not in done.stdout
    assert "STATUS 0 IMPORTED SECONDS" in done.stdout, "nothing between the two: torch was not imported"


def test_names_of_the_library_are_had_when_they_are_asked_for():
    program = (
        "import sys, circuitcore.training as training; assert 'torch' not in sys.modules\n"
        "assert set(training.__all__) <= set(dir(training))\n"
        "from circuitcore.training import *\n"
        "print(Recipe.__name__, RunStore.__module__, all(getattr(training, name) for name in training.__all__))\n"
        "training.Recipes"
    )
    done = python(program)
    assert done.stdout.split() == ["Recipe", "circuitcore.training.store.run_store", "True"]
    assert "AttributeError: module 'circuitcore.training' has no attribute 'Recipes'" in done.stderr


def test_help_names_every_task_and_study():
    assert tuple(TASKS) == TASK_NAMES and tuple(ENGINES) == ENGINE_NAMES
    assert f"one of: {', '.join(TASKS)}; or" in " ".join(python(WITHOUT_SLOW, "", "dataset", "--help").stdout.split())


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Where commands find no runs, and would put theirs."""
    for folder in ("RUNS", "PUBLISHED"):
        monkeypatch.setenv(f"CIRCUITCORE_{folder}", str(tmp_path))
    return tmp_path


INTERRUPTED_AT_IMPORT = """
import os, runpy, signal, sys

imported, module, *sys.argv[1:] = sys.argv[1:]

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == imported:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
CLI = "livingpaper.commands.cli"


@pytest.mark.parametrize(
    ("imported", "module", "words", "line"),
    [
        *(
            (name, CLI, ("sweep", "symbolic_kv", "--runs", "{tmp}"), "circuitcore: interrupted. Nothing that was")
            for name in ("livingpaper.book.studies", "pydantic", "torch", "torch.autograd", "pandas")
        ),
        ("torch", CLI, ("rerun", "symbolic_kv", "--seeds", "1"), "circuitcore: interrupted."),
        ("torch", "livingpaper.commands.publish", ("symbolic_kv",), "publish: interrupted."),
        (
            "torch",
            "livingpaper.commands.reproduce",
            ("--store", "{tmp}"),
            "reproduce: interrupted. With --store {tmp} ",
        ),
    ],
)
def test_ctrl_c_while_modules_are_imported_is_a_sentence(imported, module, words, line, elsewhere):
    done = python(INTERRUPTED_AT_IMPORT, imported, module, *(word.format(tmp=elsewhere) for word in words))
    assert done.returncode == INTERRUPTED == 130, done.stderr
    (said,) = done.stderr.strip().splitlines()
    assert said.startswith(line.format(tmp=elsewhere)) and not list(elsewhere.iterdir())


INTERRUPTED_AT_WORK = """
import os, signal, sys, tempfile, threading, time
from circuitcore.ground.interruption import ended_by_ctrl_c

with ended_by_ctrl_c("It has ended."):
    threading.Thread(target=time.sleep, args=(600,)).start()
    with tempfile.TemporaryDirectory() as folder:
        print(folder)
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        except (Exception, KeyboardInterrupt):
            print("taken for a failure")
"""


def test_ctrl_c_at_work_unwinds_what_is_under_way_and_waits_for_no_thread():
    done = python(INTERRUPTED_AT_WORK)
    assert (done.returncode, done.stderr) == (INTERRUPTED, "It has ended.\n")
    (folder,) = done.stdout.splitlines()
    assert not Path(folder).exists()


def test_ctrl_c_can_wait():
    before, reached = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt), held_back():
        os.kill(os.getpid(), signal.SIGINT)
        reached.append("the end")
    assert reached and signal.getsignal(signal.SIGINT) is before
    with held_back():
        reached.append("without it")
    assert reached[1:] == ["without it"]


def test_who_handles_ctrl_c_already_keeps_doing_so():
    def handle(number, frame):
        raise AssertionError("nobody sends it")

    before = signal.signal(signal.SIGINT, handle)
    try:
        with ended_by_ctrl_c("not now"):
            assert signal.getsignal(signal.SIGINT) is handle
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_change_no_handling():
    seen = []

    def work():
        with ended_by_ctrl_c("not now"), held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
