"""A chapter run again with other seeds: one self-contained page, and a comparison of every verdict."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from circuitcore import studies
from circuitcore.book_build import BookError, Job, kernel_environment, run_notebook
from circuitcore.durations import UNKNOWN_SECONDS, Durations
from circuitcore.evidence import Evidence, Folders
from circuitcore.progress import SILENT, Watch, in_all
from circuitcore.single_page import build_page

NUMBERS = ("effect", "interval", "n_seeds", "control_passed", "control_value")


@dataclass(frozen=True)
class Rerun:
    """What a rerun leaves.

    Attributes:
        page: the chapter as one HTML file.
        comparison: JSON file of ``compared``: both numbers and verdicts for each claim.
        verdicts: records of ``claims.to_json``.
    """

    page: Path
    comparison: Path
    verdicts: tuple[dict[str, Any], ...]


def rerun(
    study: str,
    instead: Mapping[str, Any],
    tier: str = "published",
    out: Path | None = None,
    watch: Watch | None = None,
) -> Rerun:
    """Train, measure and show a chapter with other seeds beside the published runs.

    Args:
        study: the study's name; its notebook is ``book/NAME.ipynb``.
        instead: parameters in place of those of the parameter file, such as ``{"seeds": [11, 12]}``.
        tier: parameter file for everything else ("published" or "smoke").
        out: folder of ``NAME.html`` and ``compare.json``; None for ``build/rerun/NAME``.
        watch: told expected times and progress; None for silence.

    Raises:
        StudyError, ParameterError: before a kernel starts, and before anything is trained.
        BookError: the notebook failed, or its page did not build.
    """
    folders = Folders.from_environment()
    studies.load(study)  # a misspelt study is named as one, not as a missing parameter file
    name = study.rpartition(".")[2]
    values = studies.read_params(study, tier) | instead
    evidence = Evidence(study, studies.validate(study, values), folders)
    notebook = folders.root / "book" / f"{name}.ipynb"
    if not notebook.is_file():
        raise BookError(f"study {study!r} has no chapter: {notebook} is not there")
    if watch is not None:
        watch.say(evidence.situation())
        say_total(evidence, watch)
        watch = watch.told()
    evidence.gather(watch)  # here and not in the kernel, where nobody would see the progress
    page, verdicts = make_page(folders, notebook, values, tier, watch)
    return write_pages(page, verdicts, name, out or folders.root / "build" / "rerun" / name)


def say_total(evidence: Evidence, watch: Watch) -> None:
    """Say how long training and measuring what is missing, and making the chapter's page, should take together."""
    parts: dict[str, float | None] = {part.what: part.seconds for part in evidence.forecasts()}
    name = evidence.name.rpartition(".")[2]
    seconds = Durations.of(evidence.folders.root).expected(_page_stages(name))
    known = len(seconds) == len(_page_stages(name))
    watch.say(in_all(parts | {"the chapter's notebook and page": sum(seconds.values()) if known else None}))


def make_page(
    folders: Folders, notebook: Path, values: Mapping[str, Any], tier: str, watch: Watch | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """Execute a chapter against some folders of runs; returns its page and its verdict records.

    Raises:
        BookError: the notebook failed, did not end with ``paper.close()``, or its page did not build.
    """
    name, durations = notebook.stem, Durations.of(folders.root)
    seconds = {stage: durations.expected([stage]).get(stage, UNKNOWN_SECONDS) for stage in _page_stages(name)}
    execution, building = seconds
    with TemporaryDirectory() as folder, (watch or SILENT).over(seconds, "page") as stages:
        executed = Path(folder)
        job = Job(source=notebook, parameters=values, executed=executed / notebook.name, inputs="")
        with kernel_environment(tier, executed), folders.exported():
            with stages.stage(execution), durations.timed(execution):
                run_notebook(job, folders.root)
        if not job.results.is_file():
            raise BookError(f"{notebook.name} left no results: its last cell must call paper.close()")
        verdicts = json.loads(job.results.read_text(encoding="utf-8"))["verdicts"]
        with stages.stage(building), durations.timed(building):
            page = build_page(folders.root, name, executed)
    return page, verdicts


def write_pages(page: str, verdicts: Sequence[Mapping[str, Any]], name: str, out: Path) -> Rerun:
    """Write a chapter's page, and the comparison of its verdicts, into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.html").write_text(page, encoding="utf-8")
    return Rerun(out / f"{name}.html", write_comparison(verdicts, out), tuple(verdicts))


def _page_stages(name: str) -> list[str]:
    """What ``make_page`` does, in order, by the names its seconds are kept under."""
    return [f"rerun {name}", "page"]


def write_comparison(verdicts: Iterable[Mapping[str, Any]], out: Path) -> Path:
    """Write ``compare.json`` into ``out``; see ``compared``."""
    path = out / "compare.json"
    path.write_text(json.dumps(compared(verdicts), indent=1) + "\n", encoding="utf-8")
    return path


def compared(verdicts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One record a claim from verdict records (``claims.to_json``): the paper's and the rerun's number and verdict.

    Keys: ``claim sentence paper rerun same``; ``paper`` and ``rerun`` hold ``status effect interval n_seeds
    control_passed control_value``, or None. ``same`` says whether the statuses agree, None where one is missing.
    """
    found: dict[str, dict[str, Any]] = {}
    for verdict in verdicts:
        claim, check = verdict["claim"], verdict["check"] or {}
        empty = {"claim": claim["id"], "sentence": claim["sentence"], "paper": None, "rerun": None, "same": None}
        record = found.setdefault(claim["id"], empty)
        record[verdict["origin"]] = {"status": verdict["status"], **{name: check.get(name) for name in NUMBERS}}
    for record in found.values():
        if record["paper"] and record["rerun"]:
            record["same"] = record["paper"]["status"] == record["rerun"]["status"]
    return list(found.values())
