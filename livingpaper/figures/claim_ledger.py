"""All claims of the book in one list: what the source said, its definition on our runs, the corrected one."""

import html
from collections import Counter
from collections.abc import Mapping, Sequence

from livingpaper.claims.multiplicity import Many, many
from livingpaper.claims.verdict import Status, Verdict
from livingpaper.figures.badges import ICONS, badge, status_class
from livingpaper.figures.interval_mark import estimate_html
from livingpaper.figures.verdict_text import anchor, with_refuted

TWIN = ".published"
"""Ends the id of a claim that repeats another one under the source's own definition."""
SOURCES = {"source": "claims of a source", "ours": "claims of ours"}


def ledger_rows(verdicts: Sequence[Verdict]) -> list[tuple[Verdict, Verdict | None]]:
    """Each claim with its twin under the source's definition, if it has one, in the order of the verdicts.

    Raises:
        ValueError: a twin whose claim is missing.
    """
    by_id = {verdict.claim.id: verdict for verdict in verdicts}
    for name in by_id:
        if name.endswith(TWIN) and name.removesuffix(TWIN) not in by_id:
            raise ValueError(f"claim {name} repeats {name.removesuffix(TWIN)}, which is not declared")
    return [(verdict, by_id.get(name + TWIN)) for name, verdict in by_id.items() if not name.endswith(TWIN)]


def ledger_html(chapters: Mapping[str, Sequence[Verdict]], titles: Mapping[str, str], ending: str = ".html") -> str:
    """The list as HTML: totals, filters that need no script, a section a chapter, a row a claim.

    Args:
        chapters: verdicts by chapter, in the book's order.
        titles: what the chapters are called.
        ending: of the chapters' files: ".html" in the book, ".ipynb" in a live notebook.
    """
    everything = [verdict for verdicts in chapters.values() for verdict in verdicts]
    sections = "".join(
        f'<section><h2 class="ledger-chapter"><a href="{name}{ending}">{html.escape(titles[name])}</a></h2>'
        f"{''.join(_row(verdict, twin, name + ending) for verdict, twin in ledger_rows(verdicts))}</section>"
        for name, verdicts in chapters.items()
    )
    head = _totals(everything) + _luck(many(list(chapters.values()))) + _filters(everything)
    return f'<div class="claim-ledger">{head}{sections}</div>'


def ledger_text(chapters: Mapping[str, Sequence[Verdict]]) -> str:
    """The same for a terminal, a line a claim."""
    return "\n".join(
        f"{name}: {verdict.claim.id} {verdict.status}: {verdict.sentence}"
        for name, verdicts in chapters.items()
        for verdict in verdicts
    )


def difference(verdict: Verdict, twin: Verdict | None) -> str:
    """Which definition made the difference, in a sentence; "" for a claim without a twin."""
    if twin is None:
        return ""
    if verdict.status == twin.status:
        return "Both definitions come to the same."
    return f"The definition decides: {twin.status} under the source's, {verdict.status} under ours."


def _totals(verdicts: Sequence[Verdict]) -> str:
    """A bar whose parts are the statuses, and the counts in words."""
    counts = Counter(verdict.status for verdict in verdicts)
    parts = "".join(
        f'<span class="{status_class(status)}" style="flex-grow: {counts[status]}" title="{counts[status]} {status}">'
        f'<span aria-hidden="true">{ICONS[status]}</span></span>'
        for status in Status
        if counts[status]
    )
    words = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
    many_claims = "1 claim" if len(verdicts) == 1 else f"{len(verdicts)} claims"
    return f'<div class="ledger-totals" aria-hidden="true">{parts}</div><p>{many_claims}: {words}.</p>'


def _luck(found: Many) -> str:
    lost = f"{len(found.lost)} would not survive" if found.lost else "all would survive"
    which = f": {', '.join(found.lost)}" if found.lost else ""
    return (
        f"<p>{found.n_tested} of them were tested against their bound. If the truth lay exactly at every bound, about "
        f"{found.by_luck:.0f} would be Supported by luck. Of the {found.n_decided} of these that are decided {lost} "
        f"Holm's correction over the claims of their chapter{html.escape(which)}. {found.n_untested} more are decided "
        f"without such a test: one seed decides, all draws are equal, or it is a count.</p>"
    )


def _filters(verdicts: Sequence[Verdict]) -> str:
    present = {verdict.status for verdict in verdicts}
    boxes = [(status_class(status), str(status)) for status in Status if status in present]
    boxes += [(f"source-{name}", words) for name, words in SOURCES.items()]
    labels = "".join(
        f'<label><input type="checkbox" checked data-shows="{kind}"/> {words}</label>' for kind, words in boxes
    )
    return f'<fieldset class="ledger-filter"><legend>Show</legend>{labels}</fieldset>'


def _row(verdict: Verdict, twin: Verdict | None, page: str) -> str:
    claim = verdict.claim
    statuses = " ".join(dict.fromkeys(status_class(one.status) for one in (verdict, twin) if one))
    source = claim.source_verdict or (twin.claim.source_verdict if twin else "")
    whose = "source" if source else "ours"
    said = f'<p class="ledger-source">The source: {html.escape(source.rstrip("."))}.</p>' if source else ""
    ours = "ours" if twin else ("on our runs" if source else "")
    found = _found(verdict, ours) + (_found(twin, "the source's definition") if twin else "")
    note = f'<p class="ledger-difference">{difference(verdict, twin)}</p>' if twin else ""
    name = f'<a href="{page}#{anchor(claim)}">{html.escape(claim.id)}</a>'
    return (
        f'<article class="ledger-row source-{whose} {statuses}"><p class="ledger-sentence">{name} '
        f"{html.escape(with_refuted(verdict))}</p>{found}{said}{note}</article>"
    )


def _found(verdict: Verdict, whose: str) -> str:
    """Badge, picture and numbers of one verdict."""
    label = f'<span class="ledger-whose">{whose}</span> ' if whose else ""
    picture = estimate_html(verdict.finding.held) if verdict.finding else ""
    return f'<p class="ledger-found">{label}{badge(verdict.status)} {picture}</p>'
