"""One design in a process of its own: ``python -m benchmarks.worker DESIGN CORE``, driven by lines of JSON.

Every line read is a command, every line written its answer; an answer with ``unavailable`` or ``error`` says why there
is none. One thread, one core: the process's CPU time is then the cost of the work, whatever else the machine does.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks import battery, machine, matrix
from benchmarks.designs import Unavailable, make_battery, make_step
from benchmarks.workloads import WORKLOADS, Workload, batches, shrunk


class StepSubject:
    """A workload of training steps."""

    def __init__(self, design: str, workload: Workload):
        self.trainer, self.batches, self.done = make_step(design, workload), batches(workload), 0
        self.check_steps = workload.check_steps

    def unit(self) -> float:
        """One step; its loss."""
        rows = self.batches[self.done % len(self.batches)]
        self.done += 1
        return self.trainer.step(*rows)

    def check(self, _path: str) -> dict[str, Any]:
        """The losses of the first steps."""
        return {"losses": [self.unit() for _ in range(self.check_steps)]}


class BatterySubject:
    """All conditions on one checkpoint."""

    def __init__(self, design: str, workload: Workload):
        self.measurer, self.prompts = make_battery(design, workload), battery.prompts(workload)
        self.conditions = battery.conditions(workload.model, workload.n_pos)

    def unit(self) -> torch.Tensor:
        """One checkpoint measured: logits ``[condition prompt d_vocab]``."""
        return self.measurer.measure(*self.prompts, self.conditions)

    def check(self, path: str) -> dict[str, Any]:
        """Leave the logits in a file."""
        np.save(path, self.unit().numpy())
        return {"file": path}


class MachineSubject:
    """The machine itself: what it is, and how fast it can multiply at best."""

    def check(self, _path: str) -> dict[str, Any]:
        """What it is."""
        return machine.description()

    def round(self, seconds: float) -> dict[str, Any]:
        """The best rates just now, in GFLOP/s; None where no means of measuring is at hand."""
        return {"fma": machine.peak_gflops(seconds / 2), "torch_matmul": machine.matmul_gflops(seconds / 2)}


Subject = StepSubject | BatterySubject | MachineSubject | matrix.MatrixSubject


def timed(unit: Callable[[], object], seconds: float) -> dict[str, float]:
    """Repeat until so much CPU time is spent; CPU and wall seconds of one unit, and how many there were."""
    count, start, wall = 0, time.process_time(), time.perf_counter()
    while (spent := time.process_time() - start) < seconds or not count:
        unit()
        count += 1
    return {"cpu": spent / count, "wall": (time.perf_counter() - wall) / count, "count": count}


def make_subject(design: str, workload: str, *, kind: str, smoke: bool) -> Subject:
    """What a design is to do.

    Args:
        design: a name in ``DESIGNS``, or "machine".
        workload: a name in ``WORKLOADS``.
        kind: "own" (the workload's own kind) or "matrix".
        smoke: whether to shrink it.
    """
    if design == "machine":
        return MachineSubject()
    wanted = shrunk(WORKLOADS[workload]) if smoke else WORKLOADS[workload]
    if kind == "matrix":
        if smoke:
            return matrix.MatrixSubject(design, wanted, shrunk(WORKLOADS["W5"]), steps=2)
        return matrix.MatrixSubject(design, wanted, WORKLOADS["W5"])
    return (BatterySubject if wanted.kind == "battery" else StepSubject)(design, wanted)


class Desk:
    """Does commands, one after the other, for one design."""

    def __init__(self, design: str):
        self.design = design
        self.subject: Subject | None = None

    def do(self, command: dict[str, Any]) -> dict[str, Any]:
        """One command: "load" a workload, "check" its results, time a "round" of it."""
        word, details = command["do"], {name: value for name, value in command.items() if name != "do"}
        if word == "load":
            self.subject = None  # its memory goes before the next one's comes
            self.subject = make_subject(self.design, **details)
            return {}
        if word == "check":
            return self.subject.check(details["path"])
        if hasattr(self.subject, "round"):
            return self.subject.round(details["amount"])
        return timed(self.subject.unit, details["amount"])

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """The same, with what went wrong in words: the bench goes on without this design, and says so."""
        try:
            return self.do(command)
        except Unavailable as reason:
            return {"unavailable": str(reason)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answer commands until the input ends."""
    design, core = sys.argv[1:]
    # Whatever a library prints must not be taken for an answer.
    answers, sys.stdout = os.fdopen(os.dup(1), "w", buffering=1), sys.stderr
    os.dup2(2, 1)
    torch.set_num_threads(1)
    if core != "any":
        os.sched_setaffinity(0, {int(core)})
    desk = Desk(design)
    for line in sys.stdin:
        print(json.dumps(desk.answer(json.loads(line))), file=answers)


if __name__ == "__main__":
    main()
