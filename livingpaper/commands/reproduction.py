"""A chapter made from scratch, as if nothing were published, and compared with what is: every number, every verdict."""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from circuitcore.ground import durable
from circuitcore.ground.processor import processor
from circuitcore.ground.progress import Watch
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.reproductions import Reproduction, furthest
from livingpaper.claims.verdict import to_json
from livingpaper.commands.equal_runs import equal_runs, makers
from livingpaper.commands.rerun import Rerun, make_page, say_total, write_pages

SPENT = "spent.json"
KEPT_EVERY = 20.0  # seconds
HEADINGS = ("claim", "published", "reproduced", "verdict")


def reproduce(study: str, folder: Path, watch: Watch | None = None) -> Rerun:
    """Train, measure and show a study with its published parameters, and none of its published runs.

    Args:
        study: the study's name; its notebook is ``book/NAME.ipynb``.
        folder: gets ``runs/``, ``NAME.html``, ``compare.json``, ``spent.json`` (seconds by the clock); an interrupted
            reproduction's goes on where it stopped.
        watch: told expected times and progress; None for silence.

    Returns:
        The page, the comparison, and the verdict records of both sides.

    Raises:
        StudyError, ParameterError: no such study, or unusable published parameters.
        StoreError, ExecutorError: runs that could not be trained or kept.
        BookError: the chapter failed, or its page did not build.
    """
    here = Folders.from_environment()
    name, params, alone = study.rpartition(".")[2], studies.load_params(study), alone_in(folder)
    fresh = Evidence(study, params, alone)
    if watch is not None:
        say_total(fresh, watch)
        watch = watch.as_part()
    with timed(folder / SPENT):
        fresh.gather(watch)
    notebook = here.root / "book" / f"{name}.ipynb"
    page, verdicts = make_page(alone, notebook, studies.read_params(study), "published", watch)
    return write_pages(page, [*published_verdicts(Evidence(study, params, here)), *verdicts], name, folder)


def alone_in(folder: Path) -> Folders:
    """Folders in which nothing is published."""
    return Folders(Folders.from_environment().root, folder / "runs", folder / "nothing-is-published")


def record_of(study: str, folder: Path, compared: Sequence[Mapping[str, Any]]) -> Reproduction:
    """What came of a finished reproduction in ``folder``, to be kept.

    Args:
        study: what was reproduced, wholly or its first seeds.
        folder: where.
        compared: records of ``rerun.compared``; none where first seeds alone were trained, which judge nothing.
    """
    here, name = Folders.from_environment(), study.rpartition(".")[2]
    shipped = shipped_by_name(Evidence(study, studies.load_params(study), here))
    new = [run for run in RunStore(folder / "runs", None).runs() if run.run_id in shipped]
    records = [record for record in compared if record["same"] is not None]
    largest, moved = furthest(records)
    return Reproduction(
        chapter=name,
        finished=time.strftime("%Y-%m-%d"),
        processor=processor(),
        made_with=makers(new),
        published_with=makers(shipped[run.run_id] for run in new),
        runs=len(new),
        published=len(shipped),
        equal=equal_runs(new, shipped),
        claims=len(records),
        differing=tuple(record["claim"] for record in records if not record["same"]),
        largest=largest,
        moved=moved,
        hours=spent(folder / SPENT) / 3600,
        cores=os.cpu_count() or 1,
    )


def shipped_by_name(evidence: Evidence) -> dict[str, Run]:
    """The published runs that are here, by their names."""
    return {run.run_id: run for run in evidence.shipped.values()}


@contextmanager
def timed(path: Path) -> Iterator[None]:
    """Add to a file the seconds by the clock that something takes: at its end, and before, as it may be killed."""
    before, start, ended = spent(path), time.perf_counter(), threading.Event()
    path.parent.mkdir(parents=True, exist_ok=True)

    def keep() -> None:
        durable.write(path, json.dumps(before + time.perf_counter() - start).encode())

    def keep_now_and_then() -> None:
        while not ended.wait(KEPT_EVERY):
            keep()

    keeper = threading.Thread(target=keep_now_and_then, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()
        keep()


def spent(path: Path) -> float:
    """The seconds in a file of ``timed``; none where it is not there yet."""
    return float(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else 0.0


def published_verdicts(evidence: Evidence) -> list[dict[str, Any]]:
    """Verdict records of the published runs, judged again from their tables; none when they are not here."""
    if not evidence.has_published:
        return []
    results = evidence.gather(None)[0]
    return json.loads(to_json((evidence.judged(claim, results) for claim in evidence.study.CLAIMS), samples=True))


def comparison_table(records: Sequence[Mapping[str, Any]]) -> str:
    """The records of ``rerun.compared`` as lines of text: both numbers, both verdicts, whether they agree."""
    words = {True: "agrees", False: "DIFFERS", None: "nothing to compare with"}
    rows = [HEADINGS]
    rows += [
        (record["claim"], _side(record["paper"]), _side(record["rerun"]), words[record["same"]]) for record in records
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _side(found: Mapping[str, Any] | None) -> str:
    """``Supported  0.952 [0.94, 0.96] n=5``."""
    if found is None:
        return "-"
    if found["effect"] is None:
        return found["status"]
    low, high = (float(found[end]) for end in ("low", "high"))
    return f"{found['status']}  {found['effect']:.3g} [{low:.3g}, {high:.3g}] n={found['n']}"
