"""Kernels that begin as forks of one process, which has imported what every chapter imports.

Each kernel of a book would spend five seconds on torch, pandas and altair. The fork server of ``multiprocessing``
imports them once. Jupyter starts kernels through a provisioner, and takes this one by its entry point in
pyproject.toml where ``notebooks.kernel_environment`` says so.
"""

import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Mapping
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import LocalProvisioner

from circuitcore.ground.processes import end_with_parent

IMPORTED = ("livingpaper.book.chapter", "ipykernel.kernelapp", "sqlite3", "scipy.stats")
LAUNCHER = ["-m", "ipykernel_launcher"]


class ForkedProvisioner(LocalProvisioner):
    """Starts a kernel as a fork; in everything else as Jupyter's own."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start the kernel that a command describes; one that is not of ipykernel's launcher by that command."""
        if cmd[1:3] != LAUNCHER:
            return await super().launch_kernel(cmd, **kwargs)
        self.process = _Forked(cmd[3:], kwargs["env"], kwargs.get("cwd") or os.getcwd())
        self.cwd = kwargs.get("cwd")
        self.pid = self.pgid = self.process.pid
        return self.connection_info


class _Forked:
    """A forked kernel with as much of ``subprocess.Popen`` as Jupyter asks for."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: list[str], env: Mapping[str, str], folder: str):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(IMPORTED))
        self._process = context.Process(target=_kernel, args=(arguments, dict(env), str(folder)))
        self._process.start()
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signum)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def _kernel(arguments: list[str], env: Mapping[str, str], folder: str) -> None:
    """Be a kernel until it is shut down."""
    os.setsid()  # whoever kills the kernel kills its group, which must not be the book's
    end_with_parent()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    # It says which process it belongs to, or it would explain itself as one started by hand.
    sys.argv[1:] = [*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
    runpy.run_module(LAUNCHER[1], run_name="__main__", alter_sys=True)
