"""The parent's side of the workers: one process a design, asked one at a time."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# One thread in every library that might start more.
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
# TransformerLens' relatives would otherwise look for the network.
OFFLINE = {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled", "TOKENIZERS_PARALLELISM": "false"}


class Stopped(RuntimeError):
    """A design that cannot go on with a workload; the message says why, in the words of a report."""


class Worker:
    """One design in a process of its own, on one core; "any" where the system pins nothing."""

    def __init__(self, design: str, core: str, python: Path | None = None):
        self._messages = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [str(python or sys.executable), "-m", "benchmarks.worker", design, core],
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD, **OFFLINE, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            text=True,
        )

    def send(self, do: str, **details: Any) -> None:
        """Give a command without waiting for its answer."""
        with contextlib.suppress(BrokenPipeError):  # its last words are still to be read
            self._process.stdin.write(json.dumps({"do": do, **details}) + "\n")
            self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Wait for the next answer.

        Raises:
            Stopped: there is none, and why. So does ``ask``.
        """
        line = self._process.stdout.readline()
        if not line:
            self._messages.seek(0)
            last = self._messages.read().strip().splitlines()[-1:]
            raise Stopped(f"its process ended ({' '.join(last) or 'no message'})")
        answer = json.loads(line)
        if reason := answer.get("unavailable") or answer.get("error"):
            raise Stopped(reason)
        return answer

    def ask(self, do: str, **details: Any) -> dict[str, Any]:
        """One command and its answer."""
        self.send(do, **details)
        return self.receive()

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._messages.close()


class Crew:
    """All workers, by design and place: place 0 is the core every design is timed on, place 1 another core."""

    def __init__(self, designs: list[str], *, pairs: tuple[str, ...] = (), pythons: dict[str, Path] | None = None):
        self.cores, pythons = cores(), pythons or {}
        wanted = [(design, 0) for design in designs]
        wanted += [(design, 1) for design in pairs if len(self.cores) > 1]
        # Started all at once: each spends its first seconds importing.
        self._workers = {(d, place): Worker(d, self.cores[place], pythons.get(d)) for d, place in wanted}

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.close()

    def at(self, design: str) -> list[Worker]:
        """A design's workers, the one on the common core first; none if it was not started."""
        return [worker for (name, _), worker in self._workers.items() if name == design]


def cores() -> list[str]:
    """The two cores to use, as words for ``Worker``; one where the machine lends one or pins nothing."""
    if not hasattr(os, "sched_setaffinity"):
        return ["any"]
    return [str(core) for core in sorted(os.sched_getaffinity(0), reverse=True)[:2]]
