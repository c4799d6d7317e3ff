"""``python3 paper.py bench [--smoke] [--rounds N] [--only W1,W3] [--full] [--out FILE]``.

Times the library's training step and battery beside those of eager torch and TransformerLens, on this machine.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks import report
from benchmarks.designs import DESIGNS
from benchmarks.environments import Lens, lens, lens_version
from benchmarks.matrix import EPOCHS
from benchmarks.measuring import FEW_EPOCHS, Plan, measure
from benchmarks.pool import ROOT, Crew
from benchmarks.together import OWN, measure_matrix, measure_two_cores
from benchmarks.workloads import WORKLOADS
from circuitcore.ground.durations import Durations, duration
from circuitcore.ground.spelling import unknown

TOGETHER = {"W6": measure_matrix, "W7": measure_two_cores}
NAMES = (*WORKLOADS, *TOGETHER)
RESULTS = ROOT / "build/bench/results.json"
LENS_FOLDER = ROOT / "build/bench/venv"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write; returns 0 when every row is there, measured or with its reason."""
    options = _parser().parse_args(arguments)
    names = options.only.split(",") if options.only else list(NAMES)
    for name in names:
        if name not in NAMES:
            print(unknown("workload", name, NAMES), file=sys.stderr)
            return 2
    start, plan, durations = time.perf_counter(), _plan(options), Durations.of(ROOT)
    timed = f"bench of {', '.join(names)} in {plan.rounds} round(s) of {plan.epochs} epoch(s){' (smoke)' * plan.smoke}"
    told = "not timed here before" if (known := durations.here().get(timed)) is None else f"expected {duration(known)}"
    print(f"Measuring {', '.join(names)}: {told}.", flush=True)
    found = Lens(None, "a smoke run goes without") if plan.smoke else lens(LENS_FOLDER)
    made = measure_all(plan, names, found)
    report.write(options.out, made)
    durations.remember(timed, time.perf_counter() - start)
    print(report.table(made["rows"]))
    print("\nA smoke run: no number counts." if plan.smoke else f"\n{report.rates(made)}\n\n{report.goal_lines(made)}")
    print(f"\n{options.out} ({time.perf_counter() - start:.0f} s)")
    return 0


def measure_all(plan: Plan, names: Sequence[str], found: Lens) -> dict[str, Any]:
    """Every workload named, as the record that is written."""
    reasons = {} if found.python else {"lens": found.reason}
    designs = ["machine", *(design for design in DESIGNS if design not in reasons)]
    pairs = OWN if set(names) & set(TOGETHER) else ()
    n_timings = {"W6": len(OWN), "W7": len(DESIGNS)}
    total = sum(n_timings.get(name, 1 + plan.rounds * (len(designs) - 1)) for name in names)
    rows, peaks = [], []
    with (
        Crew(designs, pairs=pairs, pythons={"lens": found.python} if found.python else {}) as crew,
        tqdm(total=total, unit="timing") as bar,
    ):
        (machine,) = crew.at("machine")
        machine.ask("load", workload="", kind="own", smoke=plan.smoke)
        described = machine.ask("check", path="") | {"transformer-lens": lens_version(found)}
        for name in names:
            bar.set_description_str(name)
            if name in TOGETHER:
                rows += TOGETHER[name](crew, plan, bar.update)
            else:
                timed, rates = measure(crew, plan, name, reasons, bar.update)
                rows, peaks = rows + timed, peaks + rates
    return report.record(plan, rows, peaks, described)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 paper.py bench", description="Time the library beside its peers.")
    parser.add_argument("--smoke", action="store_true", help="everything tiny, without TransformerLens: does it run?")
    parser.add_argument("--rounds", type=int, help="times every design is timed (5)")
    parser.add_argument("--only", metavar="W1,W3", help=f"some of {', '.join(NAMES)}")
    parser.add_argument("--full", action="store_true", help="W6 whole with the native design, not a few epochs of it")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the results file (build/bench/results.json)")
    return parser


def _plan(options: argparse.Namespace) -> Plan:
    if options.smoke:
        return Plan(rounds=options.rounds or 1, seconds=0.01, epochs=1, smoke=True)
    return Plan(rounds=options.rounds or 5, epochs=EPOCHS if options.full else FEW_EPOCHS)


if __name__ == "__main__":
    sys.exit(main())
