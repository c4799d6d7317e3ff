"""How long the bench should take here, before it starts, and how the bar moves meanwhile."""

import time
from collections.abc import Sequence

from benchmarks.designs import DESIGNS
from benchmarks.matrix import RUNS, STEPS_PER_EPOCH
from benchmarks.measuring import Plan
from benchmarks.together import OWN
from benchmarks.workloads import WORKLOADS, Workload

# Time of a unit by eager torch's (``Workload.seconds``), as first measured.
STEP = {"eager": 1.0, "lens": 2.5, "torch": 1.7, "native": 0.25}
BATTERY = {"eager": 1.0, "lens": 1.2, "torch": 0.2, "native": 0.1}
START_SECONDS = 8  # all workers importing torch, two at a time
LENS_SECONDS = 50  # making TransformerLens' environment
LOOPS = 40
REFERENCE_SECONDS = 0.0033  # a loop of ``slowness`` on the machine those figures are from


def slowness() -> float:
    """How much longer this machine takes now than the one the figures above are from; a third at least, at most ten.

    A loop of plain Python tells: it is at hand before anything is loaded, and uses one core as the designs do.
    """
    start = time.perf_counter()
    for _ in range(LOOPS):
        sum(number * number for number in range(100_000))
    return min(10, max(1 / 3, (time.perf_counter() - start) / LOOPS / REFERENCE_SECONDS))


def unit(workload: Workload, design: str) -> float:
    """Seconds of one step or checkpoint."""
    return workload.seconds * (BATTERY if workload.kind == "battery" else STEP)[design]


def timing(plan: Plan, name: str, design: str) -> float:
    """Seconds of one timing: what a tick of the bar stands for."""
    if name == "W6":
        epoch = STEPS_PER_EPOCH * unit(plan.workload("W1"), design) + unit(plan.workload("W5"), design)
        return 3 + RUNS / 2 * plan.epochs_of(design) * epoch * plan.slowness
    if name == "W7":
        return 1 + 2 * plan.rounds * plan.seconds
    # A timing ends after the first unit that passes the limit; the machine's own timing comes before the designs'.
    units = unit(plan.workload(name), design) * plan.slowness
    return max(plan.seconds + units / 2, units) + plan.seconds / len(DESIGNS)


def checking(plan: Plan, name: str, designs: Sequence[str]) -> float:
    """Seconds until the designs have been compared."""
    workload = plan.workload(name)
    checks = workload.check_steps if workload.kind == "step" else 1
    return checks * plan.slowness * sum(unit(workload, design) for design in designs if design in STEP)


def expected(plan: Plan, names: Sequence[str], *, with_lens: bool) -> float:
    """Seconds all of it should take once the workers are made.

    Args:
        plan: how often and how long.
        names: workloads.
        with_lens: whether TransformerLens takes part.
    """
    designs = [design for design in DESIGNS if with_lens or design != "lens"]
    total = START_SECONDS * plan.slowness
    for name in names:
        if name not in WORKLOADS:
            total += sum(timing(plan, name, design) for design in OWN)
            continue
        total += checking(plan, name, designs)
        total += sum(plan.rounds * timing(plan, name, design) for design in designs)
    return total
