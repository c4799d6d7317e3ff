"""A chapter from inside its notebook, which it opens, fills and closes.

A notebook holds a ``# Parameters`` cell of plain literals, then::

    paper = chapter.open("STUDY")   # checks the parameters, says what it will cost
    paper.prepare()                 # trains and measures what is missing
    view = paper.view("training")
    paper.figure("fig-training", curves.training(view), view, takeaway="...", alt="...")
    paper.claim("CLAIM")
    paper.close()
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
from IPython import get_ipython
from IPython.display import display
from pydantic import BaseModel
from tqdm.auto import tqdm

from circuitcore.ground import provenance
from circuitcore.ground.progress import Watch
from circuitcore.ground.spelling import unknown
from circuitcore.training.store.sealed import contents_of
from livingpaper.book import studies
from livingpaper.book.book_order import counted_as, recorded_verdicts, title_of
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.gathering import runs_behind
from livingpaper.book.new_runs import brings_new
from livingpaper.book.page import ChapterError, Page, bring_charts_to_life, explorer_of, page, show_explorer
from livingpaper.book.parameter_cells import parameters
from livingpaper.book.price import price
from livingpaper.book.situation import require_for_a_book
from livingpaper.claims.claim import Claim
from livingpaper.claims.multiplicity import Many, many
from livingpaper.claims.results import Results
from livingpaper.claims.verdict import Status, Verdict, to_json
from livingpaper.claims.view import View
from livingpaper.explorer.widget import block_of
from livingpaper.figures.claim_ledger import ledger_html, ledger_text
from livingpaper.figures.provenance_html import provenance_html
from livingpaper.figures.tables import comparison
from livingpaper.figures.verdict_text import NOT_MEASURED, claim_html, claim_markdown, claim_text, key_of, verdict_words

__all__ = ["Appendix", "Chapter", "ChapterError", "appendix", "ledger", "open", "page"]


def open(study: str) -> "Chapter":  # noqa: A001 - read as chapter.open
    """Begin a chapter: take the notebook's parameters, check them, and say what they will cost.

    Args:
        study: a study's name, or the import path of one outside this package.

    Raises:
        ParameterError: names every parameter that the study lacks or cannot use; nothing has been spent then.
        StudyError: no such study.
        ChapterError: called outside a notebook.
    """
    return Chapter(_evidence(study, "chapter.open"))


def appendix(study: str) -> "Appendix":
    """Begin the appendix of a chapter, with the same parameters and results; arguments and errors as ``open``."""
    return Appendix(_evidence(study, "chapter.appendix"))


def ledger() -> None:
    """Show every claim of the chapters executed before this one, as they left them in ``$PAPER_RESULTS``.

    Raises:
        ChapterError: no chapter has left its verdicts yet.
    """
    root = Folders.from_environment().root
    chapters = recorded_verdicts(root, _results_folder(root))
    if not chapters:
        raise ChapterError("no chapter has left its verdicts yet: execute the chapters first (python3 paper.py book)")
    titles = {name: title_of(root, name) for name in chapters}
    ending = ".html" if "PAPER_BUILD" in os.environ else ".ipynb"
    display({"text/html": ledger_html(chapters, titles, ending), "text/plain": ledger_text(chapters)}, raw=True)


def _evidence(study: str, called: str) -> Evidence:
    """What a study has under the notebook's parameters; says what it will cost. ``called`` is who asks, for errors."""
    shell = get_ipython()
    if shell is None:
        raise ChapterError(f"{called} reads a notebook's parameters; outside one, use evidence.Evidence")
    given = parameters(shell.user_ns, tuple(studies.load(study).Params.model_fields))
    asked = study, studies.validate(study, given), Folders.from_environment()
    bring_charts_to_life()
    in_book = "PAPER_BUILD" in os.environ
    evidence = _opened(*asked) if in_book else Evidence(*asked)
    if in_book:
        require_for_a_book(evidence)
    _say(evidence.cost())
    return evidence


@lru_cache(maxsize=1)
def _opened(study: str, params: BaseModel, folders: Folders) -> Evidence:
    """What a page stands on; the next one that this process opens with the same finds read what is published."""
    return Evidence(study, params, folders)


def _results_folder(root: Path) -> Path:
    return Path(os.environ.get("PAPER_RESULTS", root / "build/results"))


class Chapter(Page):
    """An open chapter; made by ``open``, used from top to bottom of a notebook."""

    def __init__(self, evidence: Evidence):
        super().__init__()
        self.evidence = evidence
        self._results: tuple[Results, ...] = ()
        self._said_alarms = False
        self._made_by: dict[int, tuple[View, Callable]] = {}  # views by identity, kept alive so that it stays theirs

    @property
    def params(self) -> Any:
        """The validated parameters."""
        return self.evidence.params

    def prepare(self) -> None:
        """Train, compute and measure what is missing, then load all results. Interrupted, it goes on where it stopped.

        The number of networks in each arm is there for the prose afterwards: ``n_one_layer`` for an arm "one layer".
        So is that of an experiment's seeds.
        """
        self._results = self.evidence.gather(Watch(bar=tqdm))  # the cost was said on opening
        first = self._results[0]
        for arm in first.arms:
            self.number(f"n_{re.sub(r'[^0-9A-Za-z]+', '_', arm)}", len(first.seeds(arm)))

    def view(self, name: str) -> View:
        """One of the study's views, of the published results and the reader's under each other (``origin`` says which).

        Raises:
            ChapterError: no such view, or called before ``prepare``.
            SelectionError: the results hold nothing for it.
        """
        makers = self.evidence.makers
        if name not in makers:
            raise ChapterError(unknown("view", name, makers))
        view = self.evidence.view(name, self._ready())
        self._made_by[id(view)] = (view, makers[name])
        return view

    def explorer(self, name: str) -> None:
        """Show one of the study's ``EXPLORERS``: trained networks that the reader can use in the page.

        Raises:
            ChapterError: no such explorer, or called before ``prepare``.
            SelectionError, StoreError: weights that it needs are not here.
        """
        show_explorer(self.evidence, self._ready(), name)

    def share_explorer(self, name: str) -> None:
        """Keep one of the study's ``EXPLORERS`` for other pages, ``{{ CHAPTER_NAME }}``; errors as ``explorer``."""
        if "PAPER_BUILD" in os.environ:  # nobody else needs it, nor its weights
            self._keep(name, block_of(explorer_of(self.evidence, self._ready(), name)).book_html)

    def comparison(self, name: str) -> pd.DataFrame:
        """The source's numbers beside ours, as a table to show with ``table``.

        Args:
            name: a view with columns ``quantity``, ``source``, ``init_seed``, ``value``.
        """
        return comparison(self.view(name))

    def claim(self, claim_id: str, *more: str) -> None:
        """Show claims: the badge that each earned, and the numbers it earned it by; with a rerun, both verdicts.

        Beside the first claim of a page that a circuit exists stands how often the battery reports one where there is
        none. A verdict that the number of claims would undo says so.

        What was found becomes words for the prose, those of the published runs where they are here: ``KV1_told`` (the
        sentence that its status allows, and its badge), ``KV1_badge`` (that alone), ``KV1_says`` (the sentence alone),
        ``KV1_status``, ``KV1_found``, ``KV1_effect``, ``KV1_percent`` (of a share), ``KV1_count`` (of seeds); dots as
        underscores.

        Raises:
            ChapterError: no such claim; or the published verdict is not the recorded one.
        """
        for name in (claim_id, *more):
            self._show(name, self.verdicts(name))

    def _show(self, claim_id: str, verdicts: list[Verdict]) -> None:
        new = len(verdicts) == 1 or brings_new(self.evidence, self._claims[claim_id])
        beside = None if self._said_alarms else self.evidence.false_alarms(claim_id)
        self._said_alarms = self._said_alarms or beside is not None
        shown = verdicts, beside, price(self.evidence, verdicts[0])
        forms = {"text/markdown": claim_markdown, "text/html": claim_html, "text/plain": claim_text}
        lost = claim_id in self._many().lost
        display({kind: form(*shown, new=new, lost=lost) for kind, form in forms.items()}, raw=True)
        name, found = key_of(verdicts[0].claim), verdicts[0].estimate
        self.number(f"{name}_effect", found.effect if found else NOT_MEASURED, ".2f" if found else "")
        for unit, text in verdict_words(verdicts[0], lost=lost).items():
            keep = self.words if unit in ("told", "badge") else self.number
            keep(f"{name}_{unit}", text)

    def says(self, claim_id: str) -> str:
        """The sentence that the verdict on a claim allows, for a caption; errors as ``claim``."""
        return self.verdicts(claim_id)[0].sentence

    def verdicts(self, claim_id: str) -> list[Verdict]:
        """The verdicts on one claim, the paper's first; errors as ``claim``."""
        if claim_id not in self._claims:
            raise ChapterError(unknown("claim", claim_id, self._claims))
        found = [self.evidence.judged(self._claims[claim_id], results) for results in self._ready()]
        for verdict in found:
            if verdict.origin == "paper":
                self._require_recorded(verdict)
        return found

    def close(self) -> None:
        """Show what the chapter stands on, and leave its numbers and verdicts in ``$PAPER_RESULTS/NAME.json``."""
        verdicts = [verdict for claim in self.evidence.study.CLAIMS for verdict in self.verdicts(claim.id)]
        record = self._record() | self._judged(verdicts)
        name = self.evidence.name.rpartition(".")[2]
        path = _results_folder(self.evidence.folders.root) / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        display({"text/html": provenance_html(record), "text/plain": f"numbers and verdicts: {path}"}, raw=True)

    def _record(self) -> dict[str, Any]:
        """What the page stands on."""
        evidence = self.evidence
        return {
            "chapter": evidence.name,
            "parameters": evidence.params.model_dump(mode="json"),
            "runs": {results.origin: evidence.run_ids(results.origin) for results in self._ready()},
            "versions": provenance.versions(),
            "commit": provenance.commit(evidence.folders.root),
            "contents": listed.root if (listed := contents_of(evidence.folders.published)) else None,
        }

    def _judged(self, verdicts: list[Verdict]) -> dict[str, Any]:
        """What the page found: its numbers and verdicts, and how many there are of each."""
        first = self._ready()[0]
        ours = self._all_verdicts()
        counts = Counter(verdict.status for verdict in ours)
        numbers = {name: text for name, (_, text) in self._numbers.items()}
        numbers |= {counted_as(status): str(counts[status]) for status in Status}
        numbers |= {
            "n_decided": str(self._many().n_decided),
            "n_lost": str(len(self._many().lost)),
            "n_claims": str(len(self.evidence.study.CLAIMS)),
            "n_runs": str(first.runs["run_id"].nunique()),
            "n_seeds": str(first.runs["init_seed"].nunique()),
        }
        return {
            "numbers": numbers,
            "values": {name: value for name, (value, _) in self._numbers.items()},
            "verdicts": json.loads(to_json(verdicts, samples=True)),
        }

    def _all_verdicts(self) -> list[Verdict]:
        """Those of the first results, the published ones where they are here, on all claims."""
        first = self._ready()[0]
        return [self.evidence.judged(claim, first) for claim in self.evidence.study.CLAIMS]

    def _many(self) -> Many:
        return many([self._all_verdicts()])

    @property
    def _claims(self) -> dict[str, Claim]:
        return {claim.id: claim for claim in self.evidence.study.CLAIMS}

    def _ready(self) -> tuple[Results, ...]:
        if not self._results:
            raise ChapterError("nothing is loaded yet: call paper.prepare() first")
        return self._results

    def _makers_of(self, view: View) -> tuple[Callable, ...]:
        return (self._made_by[id(view)][1],) if id(view) in self._made_by else ()

    def _runs_of(self, view: View) -> dict[str, tuple[str, ...]]:
        return runs_behind(view, self._results)

    def _require_recorded(self, verdict: Verdict) -> None:
        recorded, name = self.evidence.recorded, self.evidence.name.rpartition(".")[2]
        before = recorded[verdict.claim.id].status if verdict.claim.id in recorded else None
        if recorded and before != verdict.status:
            raise ChapterError(
                f"claim {verdict.claim.id} is now {verdict.status}, but {name}.json records "
                f"{before or 'nothing for it'}. If this is meant, write it under 'Results changed' in CHANGELOG.md "
                f"and publish the study again (python -m livingpaper.commands.publish {name})"
            )


class Appendix(Chapter):
    """The appendix of a chapter, made by ``appendix``: what its chapter shows, at length. Verdicts stand there.

    It leaves no record: its numbers are for its own prose, ``{glue:text}`name```, and stay on the page.
    """

    def claim(self, claim_id: str, *more: str) -> None:
        """Refused: a claim has one card, in its chapter; prose has its words as ``{{ STUDY_CLAIM_told }}``."""
        named = ", ".join((claim_id, *more))
        raise ChapterError(f"claim {named} is shown in the chapter of {self.evidence.name}, not in its appendix")

    def share(self, name: str) -> None:
        """Refused: other pages have the pictures of chapters alone."""
        raise ChapterError(f"figure {name} stays in the appendix; share one of the chapter of {self.evidence.name}")

    def close(self) -> None:
        """Show what the appendix stands on."""
        display({"text/html": provenance_html(self._record()), "text/plain": ""}, raw=True)


def _say(line: str) -> None:
    display({"text/plain": line}, raw=True)
