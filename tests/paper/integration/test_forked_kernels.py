"""Kernels that begin as forks: what they are given, and that they end as kernels do."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import paper
from circuitcore.ground.environment import WORKERS, n_cores, n_workers
from circuitcore.training.sweeps.executor import width
from livingpaper.book.notebooks import kernel_environment

ROOT = Path(paper.__file__).resolve().parent
PATIENCE = 120  # seconds; a busy machine is slow to import
KERNELS = """
import json, sys, time
from pathlib import Path
from jupyter_client.manager import start_new_kernel
from livingpaper.book.notebooks import kernel_environment

ASK = '''
import json, os, sys
imported = "livingpaper.book.chapter" in sys.modules
print(json.dumps({"pid": os.getpid(), "parent": os.getppid(), "group": os.getpgid(0), "name": __name__,
    "folder": os.getcwd(), "imported": imported, "tier": os.environ["PAPER_TIER"], "argv": sys.argv[1:2]}))
'''
def ask(client, code):
    said = []
    client.execute_interactive(code, output_hook=lambda message: said.append(message["content"].get("text", "")))
    return "".join(said)

with kernel_environment("smoke", Path("executed"), 2, forked=True):
    kernels = [start_new_kernel(kernel_name="python3", cwd=sys.argv[1]) for _ in range(2)]
print(json.dumps([json.loads(ask(client, ASK)) for _, client in kernels]), flush=True)
(first, client), (second, _) = kernels
client.stop_channels()
first.shutdown_kernel()
print(json.dumps([first.is_alive(), second.is_alive()]), flush=True)
time.sleep(600)
"""

needs_forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork server here")


def is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@needs_forks
def test_forked_kernels_are_as_any_and_end_when_told_and_with_whoever_started_them(tmp_path):
    command = [sys.executable, "-c", KERNELS, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            first, second = json.loads(process.stdout.readline())
            alive = json.loads(process.stdout.readline())
            there = [is_there(kernel["pid"]) for kernel in (first, second)]
        finally:
            process.kill()
    assert first["imported"] and second["imported"], "before a cell imported anything"
    assert first["parent"] == second["parent"] != process.pid, "forks of one process"
    for kernel in (first, second):
        assert kernel["group"] == kernel["pid"], "killing it kills its workers and nobody else"
        assert kernel["name"] == "__main__" and kernel["argv"] == ["-f"]
        assert Path(kernel["folder"]) == tmp_path and kernel["tier"] == "smoke"
    assert alive == there == [False, True], "one was shut down"
    end = time.monotonic() + PATIENCE
    while is_there(second["pid"]) or is_there(second["parent"]):
        assert time.monotonic() < end, "a kernel outlived the book"
        time.sleep(0.1)


def test_kernels_share_the_cores(tmp_path):
    with kernel_environment("smoke", tmp_path, side_by_side=n_cores()):
        assert n_workers() == width("processes") == 1
        assert width("processes", workers=3) == 3, "what is asked for is had"
    with kernel_environment("smoke", tmp_path):
        assert width("processes") == n_cores()


@pytest.mark.parametrize("given", ["0", "-1", "two", ""])
def test_a_number_of_workers_that_is_none_is_refused(monkeypatch, given):
    monkeypatch.setenv(WORKERS, given)
    with pytest.raises(ValueError, match=f"{WORKERS} = '{given}'; allowed: a whole number of at least 1"):
        width("processes")
