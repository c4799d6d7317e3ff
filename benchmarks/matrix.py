"""The six-run matrix, end to end: train, keep every checkpoint, measure every checkpoint."""

import tempfile
import time
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from benchmarks import battery
from benchmarks.designs import EngineStep
from benchmarks.workloads import Workload, batches

RUNS, EPOCHS, STEPS_PER_EPOCH = 6, 150, 94  # 12,000 prompts in batches of 128


class MatrixSubject:
    """One process's share of the runs, epoch by epoch."""

    def __init__(self, design: str, workload: Workload, measured: Workload, steps: int = STEPS_PER_EPOCH):
        self.design, self.workload = design, workload
        self.measured, self.batches, self.prompts = measured, batches(workload), battery.prompts(measured)
        self.conditions, self.steps = battery.conditions(workload.model, workload.n_pos), steps
        self._run(1, steps=3)  # what the first call pays for (a compiler, memory) is paid before the clock starts

    def round(self, epochs: int) -> dict[str, Any]:
        """Train one run for some epochs, a checkpoint and a battery after each; seconds, and what the parts took."""
        start, wall = time.process_time(), time.perf_counter()
        parts = self._run(epochs, self.steps)
        return {"cpu": time.process_time() - start, "wall": time.perf_counter() - wall, "parts": parts}

    def check(self, _path: str) -> dict[str, Any]:
        """Nothing of its own: its step and its battery are checked by themselves."""
        return {}

    def _run(self, epochs: int, steps: int) -> dict[str, float]:
        engine, parts = EngineStep(self.design, self.workload), dict.fromkeys(("train", "keep", "measure"), 0.0)
        with tempfile.TemporaryDirectory() as folder:
            for epoch in range(epochs):
                clock = [time.process_time()]
                for step in range(steps):
                    engine.step(*self.batches[step % len(self.batches)])
                clock.append(time.process_time())
                weights = engine.engine.weights()
                save_file(weights, Path(folder) / f"epoch-{epoch}.safetensors")
                clock.append(time.process_time())
                self._measure(weights)
                clock.append(time.process_time())
                for name, before, after in zip(parts, clock, clock[1:], strict=False):
                    parts[name] += after - before
        return parts

    def _measure(self, weights) -> tuple[float, ...]:
        """Accuracy of every condition, reduced at once: the logits of 900 checkpoints would be 23 GB."""
        measurer = battery.LibraryBattery(self.measured, weights, self.design)
        logits = measurer.measure(*self.prompts, self.conditions)
        answers = self.prompts[0][:, 0]
        return tuple((logits.argmax(-1) == answers).float().mean(-1).tolist())
