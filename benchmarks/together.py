"""What takes two cores: the six-run matrix from start to end, and two processes against one."""

import dataclasses
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.designs import DESIGNS
from benchmarks.matrix import EPOCHS, RUNS, STEPS_PER_EPOCH
from benchmarks.measuring import Plan, Row
from benchmarks.pool import Crew, Stopped, Worker

OWN = ("torch", "native")  # designs of this library


def measure_matrix(crew: Crew, plan: Plan, tick: Callable[[], Any]) -> list[Row]:
    """Six runs on two cores, one run a core at a time; wall and CPU time of so many epochs of each."""
    rows = []
    for design in DESIGNS:
        row = Row(workload="W6", title="six runs end to end", design=design, per="epoch of a run")
        if design not in OWN:
            rows.append(row.without("follows from its step and its battery"))
            continue
        rows.append(_tried(_matrix_row, crew, plan, row))
        tick()
    return rows


def measure_two_cores(crew: Crew, plan: Plan, tick: Callable[[], Any]) -> list[Row]:
    """Steps a second of two processes on two cores by those of one, in the same round."""
    rows = []
    for design in DESIGNS:
        row = Row(workload="W7", title="two cores against one, textual KV", design=design, per="step")
        if design not in OWN:
            rows.append(row.without("the question is how this library scales"))
        elif len(crew.at(design)) < 2:
            rows.append(row.without("this machine lends one core, or pins none"))
        else:
            rows.append(_tried(_two_cores_row, crew, plan, row))
        tick()
    return rows


def _tried(measured: Callable[[list[Worker], Plan, Row], Row], crew: Crew, plan: Plan, row: Row) -> Row:
    try:
        return measured(crew.at(row.design), plan, row)
    except Stopped as reason:
        return row.without(str(reason))


def _load(workers: list[Worker], plan: Plan, kind: str) -> None:
    for worker in workers:
        worker.send("load", workload="W1", kind=kind, smoke=plan.smoke)
    _all(workers)


def _all(workers: list[Worker]) -> list[dict]:
    """Everybody's answer, the failed ones' too, before a failure is raised: no answer may be left unread."""
    answers, failure = [], None
    for worker in workers:
        try:
            answers.append(worker.receive())
        except Stopped as reason:
            failure = reason
    if failure is not None:
        raise failure
    return answers


def _matrix_row(workers: list[Worker], plan: Plan, row: Row) -> Row:
    _load(workers, plan, "matrix")
    epochs, wall, cpu, parts = plan.epochs_of(row.design), 0.0, [], []
    for _ in range(0, RUNS, len(workers)):
        for worker in workers:
            worker.send("round", amount=epochs)
        answers = _all(workers)
        wall += max(answer["wall"] for answer in answers)  # the slower core decides
        cpu += [1e3 * answer["cpu"] / epochs for answer in answers]
        parts += [answer["parts"] for answer in answers]
    extra = {
        "minutes": wall / 60 * EPOCHS / epochs,
        # What the same work takes where nothing else wants the cores.
        "cpu_minutes": sum(cpu) / 60_000 * EPOCHS / len(workers),
        "epochs_measured": epochs,
        "epochs": EPOCHS,
        "steps_per_epoch": STEPS_PER_EPOCH,
        "runs": RUNS,
        "cores": len(workers),
        "extrapolated": epochs < EPOCHS,
        "cpu_seconds_per_epoch": {name: median(part[name] for part in parts) / epochs for name in parts[0]},
    }
    return row.timed(cpu, extra=extra)


def _two_cores_row(workers: list[Worker], plan: Plan, row: Row) -> Row:
    _load(workers, plan, "own")
    for worker in workers:
        worker.ask("check", path="")
    ratios, cpu = [], []
    for _ in range(plan.rounds):
        alone = workers[0].ask("round", amount=plan.seconds)
        for worker in workers:
            worker.send("round", amount=plan.seconds)
        both = _all(workers)
        ratios.append(sum(1 / answer["wall"] for answer in both) * alone["wall"])
        cpu += [1e3 * answer["cpu"] for answer in both]
    extra = {"throughput_ratio": median(ratios), "throughput_spread": (min(ratios), max(ratios))}
    return dataclasses.replace(row.timed(cpu), extra=extra)
