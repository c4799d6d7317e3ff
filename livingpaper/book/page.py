"""A page of the book from inside its notebook: figures, tables, numbers, as Jupyter, papermill and MyST take them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import pandas as pd
from IPython.display import display

from circuitcore.ground.spelling import unknown
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.notebooks import STAGE
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from livingpaper.explorer.exhibit import Exhibit
from livingpaper.explorer.widget import Explorer
from livingpaper.figures.bundle import Figure
from livingpaper.figures.caption import sentence
from livingpaper.figures.chart_html import loader_html
from livingpaper.figures.figure_files import beside, inside
from livingpaper.figures.tables import table_html, table_markdown
from livingpaper.figures.verdict_text import verdict_line

GLUED = "application/papermill.record/"
"""Prefix that hides an output from a notebook and lets a book page find it by name (MyST-NB's glue)."""


class ChapterError(RuntimeError):
    """A chapter used in an order that cannot work, or a published verdict that has changed; says what to do."""


def page() -> "Page":
    """Begin a page that shows figures, tables and numbers of something else than training runs."""
    bring_charts_to_life()
    return Page()


class Page:
    """What figures, tables and numbers a notebook shows; made by ``page``."""

    def __init__(self):
        self._numbers: dict[str, tuple[float | int | str, str]] = {}
        self._pictures: dict[str, str] = {}

    def figure(self, name: str, chart: alt.TopLevelMixin, view: View, *, takeaway: str, alt: str) -> None:
        """Show a numbered figure.

        Args:
            name: ``fig-...``; prose refers to it by ``{numref}``. One per book.
            chart: made from ``view``.
            view: gives data and facts to caption and links.
            takeaway: what the reader should see; opens the caption.
            alt: what is to be seen, in words, for those who cannot see it.
        """
        number = [*self._pictures, name].index(name) + 1  # a cell run again shows the same figure
        in_book = "PAPER_BUILD" in os.environ
        figure = Figure(
            name=name, chart=chart, view=view, takeaway=takeaway, alt_text=alt, number=number,
            made_by=self._makers_of(view), runs=self._runs_of(view),
            keep=beside if in_book else inside,
        )  # fmt: skip
        self._pictures[name] = figure.chart_html
        glue(figure.glue_name, {"text/html": self._pictures[name], "text/plain": alt})
        shown = figure.mimebundle()
        if in_book:  # which would carry the HTML of a live notebook along, and not show it
            del shown["text/html"]
        display(shown, raw=True)

    def share(self, name: str) -> None:
        """Keep a figure's picture for other pages: ``{{ CHAPTER_fig_NAME }}``.

        Raises:
            ChapterError: no figure of that name has been shown.
        """
        if name not in self._pictures:
            raise ChapterError(unknown("figure", name, self._pictures))
        self._keep(name.replace("-", "_"), self._pictures[name])

    def table(self, shown: View | pd.DataFrame, *, hide: Sequence[str] = (), digits: int = 3) -> None:
        """Show a small table; its column names are the headings. What the note of a view says stands below it.

        Args:
            shown: what.
            hide: columns that say nothing to a reader.
            digits: significant digits of numbers that are not whole.

        Raises:
            ChapterError: no such column.
        """
        rows, note = (shown.table, sentence(shown.note)) if isinstance(shown, View) else (shown, "")
        for name in hide:
            if name not in rows:
                raise ChapterError(unknown("column", name, rows))
        rows = rows.drop(columns=list(hide)).drop(columns="data_set", errors="ignore")
        if "origin" in rows and rows["origin"].nunique() == 1:  # says something only beside another
            rows = rows.drop(columns="origin")
        rows = rows.rename(columns={"init_seed": "seed"})
        bundle = {"text/markdown": table_markdown(rows, digits, note), "text/html": table_html(rows, digits, note)}
        display({**bundle, "text/plain": "\n".join([rows.to_string(index=False), *([note] if note else [])])}, raw=True)

    def number(self, name: str, value: float | int | str, form: str = "") -> None:
        """Keep a number for the prose: ``{glue:text}`name``` on this page, ``{{ CHAPTER_name }}`` on others.

        Args:
            name: a Python name.
            value: computed, never typed.
            form: a format such as ".3f".
        """
        text = format(value, form)
        self._keep(name, value, text)
        glue(name, {"text/plain": repr(text)})  # what prints it evaluates it: of "1,200" it made "(1, 200)"

    def words(self, name: str, text: str) -> None:
        """Keep words with MyST in them: ``{glue:md}`name:myst``` on this page; elsewhere as ``number``."""
        self._keep(name, text)
        glue(name, {"text/markdown": text})

    def _keep(self, name: str, value: float | int | str, text: str | None = None) -> None:
        """Keep what other pages may print: ``text``, or the value, which then is one."""
        if not name.isidentifier():
            raise ChapterError(f"a number's name must be a Python name, got {name!r}")
        self._numbers[name] = (value, value if text is None else text)

    def explorer(self, name: str) -> None:
        """Show an explorer of a chapter's published networks: ``STUDY.EXPLORER``.

        Raises:
            ChapterError: no such explorer, or the chapter's published runs are not here.
        """
        study, _, name = name.rpartition(".")
        evidence = Evidence(study, studies.load_params(study), Folders.from_environment())
        if not evidence.is_published:
            raise ChapterError(evidence.situation())
        show_explorer(evidence, evidence.gather(None), name)

    def _makers_of(self, view: View) -> tuple[Callable, ...]:
        """The functions that made a view, as far as they are known."""
        return ()

    def _runs_of(self, view: View) -> dict[str, tuple[str, ...]]:
        """Run ids behind a view, by arm."""
        return {}


def explorer_of(evidence: Evidence, found: tuple[Results, ...], name: str) -> Any:
    """One of a study's ``EXPLORERS``, by name; what an exhibit tells of claims is as the first results have it.

    Raises:
        ChapterError: no such explorer, or a stop of its path names a claim that the study does not have.
    """
    explorers = getattr(evidence.study, "EXPLORERS", {})
    if name not in explorers:
        raise ChapterError(unknown("explorer", name, explorers))
    shown = explorers[name](evidence.material(found))
    if not isinstance(shown, Exhibit):  # a stage of rows of vectors, a pad, a film: each shows itself
        return shown
    claims = {claim.id: claim for claim in evidence.study.CLAIMS}
    asked = {claim_id for stop in shown.path for claim_id in stop.claims}
    if wrong := sorted(asked - set(claims)):
        raise ChapterError(f"{shown.name}: {unknown('claim', wrong[0], claims)}")
    if not asked:  # an exhibit that is made anew computes all its stops again
        return shown
    return replace(shown, told={one: verdict_line(evidence.judged(claims[one], found[0])) for one in asked})


def show_explorer(evidence: Evidence, found: tuple[Results, ...], name: str) -> None:
    """Show one of a study's ``EXPLORERS``, marked as a ``STAGE``; errors as ``explorer_of``."""
    shown = explorer_of(evidence, found, name)
    display(Explorer(shown) if isinstance(shown, Exhibit) else shown, metadata=dict(STAGE))


def glue(name: str, data: dict[str, str]) -> None:
    """An output that a book page can fetch by name."""
    metadata = {"scrapbook": {"name": name, "mime_prefix": GLUED}}
    display({GLUED + kind: text for kind, text in data.items()}, raw=True, metadata=metadata)


def bring_charts_to_life() -> None:
    """A live notebook needs Vega and its styles once; a book page has them."""
    if "PAPER_BUILD" not in os.environ:
        display({"text/html": loader_html(), "text/plain": ""}, raw=True)
