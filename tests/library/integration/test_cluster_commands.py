"""The commands for Dask on the page "Rerun and extend", as they stand there but for the ports."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from toy.recall import toy_recipe

import paper
from circuitcore.training import ExecutorError, map_runs
from circuitcore.training.sweeps.executor import width

pytest.importorskip("distributed")
dask_config = pytest.importorskip("dask").config
psutil = pytest.importorskip("psutil")  # comes with distributed

ROOT = Path(paper.__file__).resolve().parent
PAGE = (ROOT / "book/rerun_and_extend.md").read_text(encoding="utf-8")
BLOCKS = [block for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) if "dask scheduler" in block]
PATIENCE = 120


def free_ports(count):
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def prepared(lines, folder):
    """The environment after the lines of a block that come before Dask."""
    if any(line.startswith("openssl") for line in lines) and shutil.which("openssl") is None:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up("no openssl, with which the page makes certificates")
    script = "\n".join(["set -eu", *lines, "env -0"])
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DASK_")}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(item.split("=", 1) for item in done.stdout.split("\0") if "=" in item)


class Cluster:
    """A block of the page at work: its scheduler and its worker, each a process."""

    def __init__(self, block, folder):
        ports = dict(zip(("8786", "8787"), map(str, free_ports(2)), strict=True))
        lines = [re.sub("878[67]", lambda found: ports[found.group()], line) for line in block.splitlines()]
        self.commands = [shlex.split(line) for line in lines if line.startswith("dask")]
        # The scheduler's own port is Dask's default on the page; here it must be a free one.
        self.commands[0] += ["--port", ports["8786"]]
        self.address = next(word for word in shlex.split(lines[-1]) if "://" in word)
        before = [line for line in lines if not line.startswith(("dask", "circuitcore", "pip"))]
        self.folder, self.environment, self.processes = folder, prepared(before, folder), []
        self.config = dask_config.merge(dask_config.config, dask_config.collect_env(self.environment))

    def __enter__(self):
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests/support")])
        for words in self.commands:
            log = (self.folder / f"{words[1]}.log").open("w")
            command, environment = [sys.executable, "-m", *words], self.environment | {"PYTHONPATH": path}
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
            log.close()
            self.processes.append(process)
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(PATIENCE)

    def wait_for_worker(self):
        """Until a worker has said that it is there."""
        deadline = time.monotonic() + PATIENCE
        while "Registered to" not in (self.folder / "worker.log").read_text():
            assert time.monotonic() < deadline, (self.folder / "worker.log").read_text()
            time.sleep(0.2)

    def listening(self):
        """Addresses on which the scheduler, the worker and its nanny listen."""
        everyone = [psutil.Process(process.pid) for process in self.processes]
        everyone += [child for process in everyone for child in process.children(recursive=True)]
        return [
            found.laddr
            for process in everyone
            for found in process.net_connections("inet")
            if found.status == psutil.CONN_LISTEN
        ]


@pytest.fixture(scope="module", params=range(2), ids=["open", "tls"])
def cluster(request, tmp_path_factory):
    assert len(BLOCKS) == 2
    with Cluster(BLOCKS[request.param], tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.wait_for_worker()
        yield cluster


def test_nothing_listens_beyond_this_machine(cluster):
    found = cluster.listening()
    assert {address.ip for address in found} == {"127.0.0.1"}
    assert len(found) >= 5  # scheduler, worker, nanny, and a page of each of the first two


def test_runs_go_through_it(cluster):
    recipes = [toy_recipe(0)]
    with dask_config.set(cluster.config):
        assert width(cluster.address) == 1
        found = map_runs("circuitcore.training.recipe:Recipe.to_json", recipes, cluster.address)
    assert found == [recipe.to_json() for recipe in recipes]


@pytest.mark.parametrize("cluster", [1], ids=["tls"], indirect=True)
def test_without_certificates_nobody_is_let_in(cluster, monkeypatch):
    assert cluster.address.startswith("tls")
    monkeypatch.setattr("circuitcore.training.sweeps.executor.CONNECT_SECONDS", 3)
    with pytest.raises(ExecutorError, match="needs certificates: name them in Dask's configuration"):
        width(cluster.address)
    with pytest.raises(ExecutorError, match="no Dask scheduler answers"):
        width(cluster.address.replace("tls", "tcp"))


def test_an_open_address_is_refused_where_encryption_is_required():
    with dask_config.set({"distributed.comm.require-encryption": True}):
        with pytest.raises(ExecutorError, match="is not encrypted, and Dask's configuration"):
            width("tcp://127.0.0.1:9")


def test_certificates_that_cannot_be_read_are_named(tmp_path):
    absent = str(tmp_path / "absent.pem")
    files = {"distributed.comm.tls.ca-file": absent, "distributed.comm.tls.client.cert": absent}
    with dask_config.set(files), pytest.raises(ExecutorError, match="the certificates in Dask's configuration"):
        width("tls://127.0.0.1:9")
