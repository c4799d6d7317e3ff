"""What the bench prints and writes."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.designs import DESIGNS
from benchmarks.measuring import Plan, Row
from benchmarks.workloads import GOALS, Goal

COLUMNS = ("workload", "design", "cpu ms", "x eager", "x lens", "of peak", "spread (smallest to largest)")
JUDGED = "native"  # the design the goals are about


def reached(goal: Goal, rows: Sequence[Row]) -> float | None:
    """What was measured of a goal's quantity; None where it was not."""
    row = next((row for row in rows if (row.workload, row.design) == (goal.workload, JUDGED)), None)
    return None if row is None else row.extra.get(goal.quantity, getattr(row, goal.quantity, None))


def met(goal: Goal, value: float | None) -> bool | None:
    """Whether a value meets a goal; None where nothing was measured."""
    if value is None:
        return None
    return value <= goal.least if goal.quantity == "minutes" else value >= goal.least


def goals(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Every goal with what was reached."""
    found = [(goal, reached(goal, rows)) for goal in GOALS]
    return [{**dataclasses.asdict(goal), "reached": value, "met": met(goal, value)} for goal, value in found]


def record(plan: Plan, rows: Sequence[Row], peaks: Sequence[dict], machine: dict[str, Any]) -> dict[str, Any]:
    """Everything that was measured, as JSON literals."""
    method = {
        "rounds": plan.rounds, "seconds_per_round": plan.seconds, "smoke": plan.smoke,
        "time": "process CPU time of one thread pinned to one core", "value": "median over rounds",
        "spread": "smallest and largest round",
    }  # fmt: skip
    found = {name: [peak[name] for peak in peaks if peak[name] is not None] or None for name in ("fma", "torch_matmul")}
    return {
        "machine": machine,
        "method": method,
        "peak_gflops": {name: summary(values) for name, values in found.items()},
        "designs": dict(DESIGNS),
        "rows": [dataclasses.asdict(row) for row in rows],
        "goals": goals(rows),
    }


def summary(values: list[float] | None) -> dict[str, float] | None:
    """Median and ends of some values."""
    if values is None:
        return None
    ordered = sorted(values)
    return {"median": ordered[len(ordered) // 2], "least": ordered[0], "most": ordered[-1]}


def write(path: Path, made: dict[str, Any]) -> None:
    """Leave the record in a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The record's rows as text in columns; what is missing says why."""
    lines = [COLUMNS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS) - 1)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, [*widths, 0], strict=True)).rstrip() for line in lines
    )


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    name = f"{row['workload']} {row['title']}"
    if row["cpu_ms_per_step"] is None:
        return (name, row["design"], "-", "-", "-", "-", row["status"])
    ratios = ("-" if row[key] is None else f"{row[key]:.2f}" for key in ("ratio_to_eager", "ratio_to_lens"))
    share = "-" if row["share_of_peak"] is None else f"{row['share_of_peak']:.0%}"
    low, high = row["spread"]
    time, ends = f"{row['cpu_ms_per_step']:.3g}", f"{low:.3g} to {high:.3g}"
    return (name, row["design"], time, *ratios, share, ends + _more(row))


def _more(row: Mapping[str, Any]) -> str:
    """What a row says besides its times."""
    extra, words = row["extra"], "" if row["status"] == "measured" else f"; {row['status']}"
    if "minutes" in extra:
        done, all_ = extra["epochs_measured"], extra["epochs"]
        how = f"extrapolated from {done} of {all_}" if extra["extrapolated"] else f"measured over all {all_}"
        words += f"; {extra['minutes']:.1f} min ({extra['cpu_minutes']:.1f} of CPU time a core), {how} epochs a run"
    if "throughput_ratio" in extra:
        words += f"; two cores do {extra['throughput_ratio']:.2f} times the work of one"
    return words


def goal_lines(made: Mapping[str, Any]) -> str:
    """Every goal in a line: met, not met, or not measured."""
    lines = []
    for goal in made["goals"]:
        verdict = {True: "met", False: "NOT met", None: "not measured"}[goal["met"]]
        seen = "" if goal["reached"] is None else f", reached {goal['reached']:.3g}"
        side = "at most" if goal["quantity"] == "minutes" else "at least"
        lines.append(f"{verdict:14}{goal['words']}: {side} {goal['least']:g}{seen}")
    return "\n".join(lines)


def rates(made: Mapping[str, Any]) -> str:
    """The machine's best rates in a line."""
    words = {"fma": "fused multiply-adds on registers", "torch_matmul": "the best of torch's matrix products"}
    found = [(words[name], rate) for name, rate in made["peak_gflops"].items()]
    said = [f"{name} {rate['median']:.0f} GFLOP/s" if rate else f"{name} not measured" for name, rate in found]
    return f"One core of this machine: {', '.join(said)}."
