"""A chapter made from scratch, as if nothing were published, and compared with what is: every number, every verdict."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from circuitcore.ground.progress import Watch
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.claims.verdict import to_json
from livingpaper.commands.rerun import Rerun, make_page, say_total, write_pages

HEADINGS = ("claim", "published", "reproduced", "verdict")


def reproduce(study: str, folder: Path, watch: Watch | None = None) -> Rerun:
    """Train, measure and show a study with its published parameters, and none of its published runs.

    Args:
        study: the study's name; its notebook is ``book/NAME.ipynb``.
        folder: gets ``runs/``, ``NAME.html``, ``compare.json``; an interrupted reproduction's goes on where it stopped.
        watch: told expected times and progress; None for silence.

    Returns:
        The page, the comparison, and the verdict records of both sides.

    Raises:
        StudyError, ParameterError: no such study, or unusable published parameters.
        StoreError, ExecutorError: runs that could not be trained or kept.
        BookError: the chapter failed, or its page did not build.
    """
    here = Folders.from_environment()
    name, params = study.rpartition(".")[2], studies.load_params(study)
    alone = Folders(here.root, folder / "runs", folder / "nothing-is-published")
    fresh = Evidence(study, params, alone)
    if watch is not None:
        say_total(fresh, watch)
        watch = watch.as_part()
    fresh.gather(watch)
    notebook = here.root / "book" / f"{name}.ipynb"
    page, verdicts = make_page(alone, notebook, studies.read_params(study), "published", watch)
    return write_pages(page, [*published_verdicts(Evidence(study, params, here)), *verdicts], name, folder)


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
