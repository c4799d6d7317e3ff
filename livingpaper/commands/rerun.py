"""A chapter run again with other seeds: one self-contained page, and a comparison of every verdict."""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from circuitcore.ground.durations import UNKNOWN_SECONDS, Durations, Work, expected
from circuitcore.ground.progress import SILENT, Watch
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.new_runs import brings_new
from livingpaper.book.notebooks import BookError, Job, kernel_environment, run_notebook
from livingpaper.book.single_page import build_page
from livingpaper.claims.predictions import Prediction, predict, summary
from livingpaper.claims.verdict import Verdict, from_json
from livingpaper.figures.verdict_text import NOTHING_NEW

NUMBERS = ("effect", "low", "high", "n", "p_value")
EMPTY = MappingProxyType(dict.fromkeys(("inside", "prediction", "says", "paper", "rerun", "same")))


@dataclass(frozen=True)
class Rerun:
    """What a rerun leaves.

    Attributes:
        page: the chapter as one HTML file.
        comparison: JSON file of ``compared``: both numbers and verdicts for each claim.
        verdicts: records of ``claims.to_json``.
        changed: parameters, other than seeds and engine, that were not as published.
        old: ids of claims that read no run but published ones.
    """

    page: Path
    comparison: Path
    verdicts: tuple[dict[str, Any], ...]
    changed: tuple[str, ...] = ()
    old: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """How many effects lie where the published seeds expect them; nothing, where none are published."""
        found = _predictions(self.verdicts)
        if not found:
            return "There are no published verdicts to compare with."
        return summary(
            {claim: prediction for claim, prediction in found.items() if claim not in self.old}, self.changed
        )


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
        tier: parameter file for everything else ("published", "quick" or "smoke").
        out: folder of ``NAME.html`` and ``compare.json``; None for ``build/rerun/NAME``.
        watch: told expected times and progress; None for silence.

    Raises:
        StudyError, ParameterError: before a kernel starts, and before anything is trained.
        BookError: the notebook failed, its page did not build, or ``out`` cannot be made, which is said first.
    """
    folders = Folders.from_environment()
    studies.load(study)  # a misspelt study is named as one, not as a missing parameter file
    name = study.rpartition(".")[2]
    values = studies.read_params(study, tier) | instead
    notebook = folders.root / "book" / f"{name}.ipynb"
    if not notebook.is_file():
        raise BookError(f"study {study!r} has no chapter: {notebook} is not there")
    evidence = Evidence(study, studies.validate(study, values), folders)
    out = _made(out or folders.root / "build" / "rerun" / name)
    if watch is not None:
        watch.say(evidence.situation())
        say_total(evidence, watch)
        watch = watch.as_part()
    evidence.gather(watch)  # here and not in the kernel, where nobody would see the progress
    page, verdicts = make_page(folders, notebook, values, tier, watch)
    old = tuple(claim.id for claim in evidence.study.CLAIMS if not brings_new(evidence, claim))
    made = write_pages(page, verdicts, name, out, old)
    return replace(made, changed=evidence.changed)


def _made(out: Path) -> Path:
    """The folder, there; hours of training should not end at a place where none can be made."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BookError(
            f"{out}: no folder can be made there ({error.strerror}); name another with --out. Nothing has been run yet."
        ) from error
    return out


def say_total(evidence: Evidence, watch: Watch) -> None:
    """Say how long training and measuring what is missing, and making the chapter's page, should take together."""
    durations = Durations.of(evidence.folders.root)
    watch.say(expected([*evidence.left(), *_page_work(evidence.name.rpartition(".")[2])], durations))


def make_page(
    folders: Folders, notebook: Path, values: Mapping[str, Any], tier: str, watch: Watch | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """Execute a chapter against some folders of runs; returns its page and its verdict records.

    Raises:
        BookError: the notebook failed, did not end with ``paper.close()``, or its page did not build.
    """
    name, durations = notebook.stem, Durations.of(folders.root)
    execution, building = parts = [part.name for part in _page_work(name)]
    seconds = dict.fromkeys(parts, UNKNOWN_SECONDS) | durations.expected(parts)
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


def write_pages(
    page: str, verdicts: Sequence[Mapping[str, Any]], name: str, out: Path, old: tuple[str, ...] = ()
) -> Rerun:
    """Write a chapter's page, and the comparison of its verdicts, into ``out``; ``old`` as in ``compared``."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.html").write_text(page, encoding="utf-8")
    return Rerun(out / f"{name}.html", write_comparison(verdicts, out, old), tuple(verdicts), old=old)


def _page_work(name: str) -> list[Work]:
    """What ``make_page`` does, in order."""
    return [Work("the chapter's notebook", f"rerun {name}"), Work("its page", "page")]


def write_comparison(verdicts: Iterable[Mapping[str, Any]], out: Path, old: Collection[str] = ()) -> Path:
    """Write ``compare.json`` into ``out``; see ``compared``."""
    path = out / "compare.json"
    path.write_text(json.dumps(compared(verdicts, old), indent=1) + "\n", encoding="utf-8")
    return path


def compared(verdicts: Iterable[Mapping[str, Any]], old: Collection[str] = ()) -> list[dict[str, Any]]:
    """One record a claim from verdict records (``claims.to_json``): the paper's and the rerun's number and verdict.

    Args:
        verdicts: records of both origins.
        old: ids of claims that read no run but published ones: nothing of the reader's is held against anything there.

    Keys: ``claim sentence inside prediction says paper rerun same``. ``inside`` is whether the rerun's effect lies in
    ``prediction``, the (low, high) that the published seeds predict for as many new ones; both None where they predict
    nothing, and ``says`` has either in words. ``paper`` and ``rerun`` hold ``status sentence effect low high n
    p_value controls`` (each control in words, and whether it holds), or None. ``same`` is whether the statuses agree,
    None where one is missing; few seeds decide little, so that it says little of them.
    """
    found = []
    for claim, both in _sides(verdicts).items():
        sentence = next(iter(both.values())).claim.says.holds
        record = {"claim": claim, "sentence": sentence, **EMPTY}
        record |= {origin: _side(verdict) for origin, verdict in both.items()}
        if len(both) == 2:
            prediction = predict(both["paper"], both["rerun"])
            record["same"] = both["paper"].status == both["rerun"].status
            record |= {"inside": prediction.inside, "prediction": prediction.interval, "says": prediction.sentence}
        if claim in old:
            record |= {"inside": None, "prediction": None, "says": f"N{NOTHING_NEW[1:]}."}
        found.append(record)
    return found


def _side(verdict: Verdict) -> dict[str, Any]:
    """One origin's verdict in plain values."""
    found = verdict.estimate
    numbers = {name: getattr(found, name) if found else None for name in NUMBERS}
    numbers |= {end: str(numbers[end]) for end in ("low", "high") if found and math.isinf(numbers[end])}
    guards = verdict.finding.guards if verdict.finding else ()
    controls = [{"asked": str(guard.held.asked), "holds": guard.held.outcome} for guard in guards]
    return {"status": verdict.status, "sentence": verdict.sentence, **numbers, "controls": controls}


def _predictions(verdicts: Iterable[Mapping[str, Any]]) -> dict[str, Prediction]:
    """By claim, where there is a verdict of both the paper and the rerun."""
    return {claim: predict(both["paper"], both["rerun"]) for claim, both in _sides(verdicts).items() if len(both) == 2}


def _sides(records: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Verdict]]:
    """The verdicts in some records, by claim and origin."""
    sides: dict[str, dict[str, Verdict]] = {}
    for verdict in from_json(json.dumps(list(records))):
        sides.setdefault(verdict.claim.id, {})[verdict.origin] = verdict
    return sides
