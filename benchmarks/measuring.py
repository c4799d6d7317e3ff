"""Rounds: designs in turn, so that a slow minute of the machine hits all of them, medians over rounds in the end."""

import dataclasses
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.designs import DESIGNS, ECONOMY, REFERENCE
from benchmarks.flops import step_flops
from benchmarks.pool import Crew, Stopped, Worker
from benchmarks.workloads import WORKLOADS, Workload, shrunk

LOSS_TOLERANCE = 1e-4  # relative, after the checked steps
LOGIT_TOLERANCE = 1e-5  # absolute
NOT_MEASURED = "not measured: "
FEW_EPOCHS = 2


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How the bench measures.

    Attributes:
        rounds: times every design is timed.
        seconds: CPU seconds a timing takes at least.
        epochs: epochs of each of the six runs of the native design; fewer than the matrix has are extrapolated.
        smoke: tiny shapes, whose numbers mean nothing.
    """

    rounds: int = 5
    seconds: float = 0.4
    epochs: int = FEW_EPOCHS
    smoke: bool = False

    def epochs_of(self, design: str) -> int:
        """Epochs of each of the six runs; the fallback would take an hour for all of them, so it does a few."""
        return self.epochs if design == "native" else min(self.epochs, FEW_EPOCHS)

    def workload(self, name: str) -> Workload:
        """A workload in the size this plan wants."""
        return shrunk(WORKLOADS[name]) if self.smoke else WORKLOADS[name]


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one design did at one workload. Times in CPU milliseconds of one unit (step, checkpoint, or epoch of a run).

    ``spread``: smallest and largest of the rounds, in the unit of ``cpu_ms_per_step``. Ratios are medians over rounds
    of the other's time by this one's in the same round; None where the two did not compute the same, or one is missing.
    ``ratio_spread`` has the ends of ``ratio_to_eager`` over the rounds, and
    ``difference`` is the distance from eager torch: relative in the last checked loss, or absolute in logits.
    """

    workload: str
    title: str
    design: str
    per: str
    status: str = "measured"
    cpu_ms_per_step: float | None = None
    ratio_to_eager: float | None = None
    ratio_to_lens: float | None = None
    share_of_peak: float | None = None
    spread: tuple[float, float] | None = None
    ratio_spread: tuple[float, float] | None = None
    difference: float | None = None
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def without(self, reason: str) -> "Row":
        """The row of a design that could not be measured."""
        return dataclasses.replace(self, status=NOT_MEASURED + reason)

    def timed(self, milliseconds: list[float], **fields: Any) -> "Row":
        """The row with the median and the ends of some timings."""
        ends = (min(milliseconds), max(milliseconds))
        return dataclasses.replace(self, cpu_ms_per_step=median(milliseconds), spread=ends, **fields)


@dataclass
class Session:
    """The designs at one workload: who is still in, and why the others are not."""

    workload: Workload
    plan: Plan
    workers: dict[str, Worker]
    reasons: dict[str, str]

    def ask(self, design: str, do: str, **details: Any) -> dict[str, Any] | None:
        """Ask a design; one that fails is out, with its reason."""
        try:
            return self.workers[design].ask(do, **details)
        except Stopped as reason:
            self.reasons[design] = str(reason)
            del self.workers[design]
            return None

    def load(self) -> None:
        """Let everyone get ready."""
        for design in list(self.workers):
            self.ask(design, "load", workload=self.workload.name, kind="own", smoke=self.plan.smoke)

    def differences(self) -> dict[str, float]:
        """How far each design's results lie from the reference's; {} without a reference."""
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for design in list(self.workers):
                answer = self.ask(design, "check", path=str(Path(folder, f"{design}.npy")))
                if answer is not None:
                    found[design] = np.load(answer["file"]) if "file" in answer else np.array(answer["losses"])
        if REFERENCE not in found:
            return {}
        reference = found[REFERENCE]
        if self.workload.kind == "battery":
            return {design: float(np.abs(logits - reference).max()) for design, logits in found.items()}
        return {design: float(abs(losses[-1] / reference[-1] - 1)) for design, losses in found.items()}


@dataclass(frozen=True)
class Timings:
    """What the rounds gave: CPU seconds of a unit by design, the machine's best rates, distances from the reference."""

    seconds: Mapping[str, list[float]]
    peaks: list[dict[str, Any]]
    differences: Mapping[str, float]


def measure(
    crew: Crew, plan: Plan, name: str, reasons: Mapping[str, str], tick: Callable[[], Any]
) -> tuple[list[Row], list[dict[str, Any]]]:
    """All designs at one workload, in rounds.

    Args:
        crew: the workers; that of the machine among them.
        plan: how often and how long.
        name: the workload.
        reasons: designs that were not started, and why.
        tick: called after the check, and after every timing.

    Returns:
        A row a design, and the machine's best rates of each round.
    """
    machine = crew.at("machine")[0]
    workers = {design: crew.at(design)[0] for design in DESIGNS if design not in reasons}
    session = Session(plan.workload(name), plan, workers, dict(reasons))
    session.load()
    differences = session.differences()
    tick()
    seconds, peaks = {design: [] for design in session.workers}, []
    for _ in range(plan.rounds):
        peaks.append(machine.ask("round", amount=plan.seconds))
        for design in list(session.workers):
            answer = session.ask(design, "round", amount=plan.seconds)
            if answer is not None:
                seconds[design].append(answer["cpu"])
            tick()
    seconds = {design: seconds[design] for design in session.workers}
    timings = Timings(seconds, peaks, differences)
    return [row_of(session.workload, design, timings, session.reasons) for design in DESIGNS], peaks


def row_of(workload: Workload, design: str, timings: Timings, reasons: Mapping[str, str]) -> Row:
    """Median, ratios and share of one design; no ratio between designs that did not compute the same."""
    battery = workload.kind == "battery"
    row = Row(workload=workload.name, title=workload.title, design=design, per="checkpoint" if battery else "step")
    if design in reasons:
        return row.without(reasons[design])
    own, differences = timings.seconds[design], timings.differences
    row = row.timed([1e3 * spent for spent in own], difference=differences.get(design))
    allowed = LOGIT_TOLERANCE if battery else LOSS_TOLERANCE
    if row.difference is None or not row.difference <= allowed:  # not <=: a NaN is no agreement
        seen = "nothing to compare with" if row.difference is None else f"differs by {row.difference:.1e}"
        return dataclasses.replace(row, status=f"not the same computation: {seen}, allowed {allowed:.0e}")
    same = {peer: spent for peer, spent in timings.seconds.items() if differences[peer] <= allowed}
    ratios = {peer: [a / b for a, b in zip(spent, own, strict=True)] for peer, spent in same.items()}
    return dataclasses.replace(
        row,
        **{f"ratio_to_{peer}": median(ratios[peer]) for peer in ("eager", "lens") if peer in ratios},
        ratio_spread=(min(ratios[REFERENCE]), max(ratios[REFERENCE])),
        share_of_peak=None if battery else share_of_peak(workload, design, own, timings.peaks),
    )


def share_of_peak(workload: Workload, design: str, seconds: list[float], peaks: list[dict[str, Any]]) -> float | None:
    """Executed operations a second by what one core can do at best, round by round; None without a peak."""
    if not all(peak["fma"] for peak in peaks):
        return None
    flops = step_flops(workload, **ECONOMY.get(design, {}))
    return median(flops / spent / (1e9 * peak["fma"]) for spent, peak in zip(seconds, peaks, strict=True))
