"""All claims of the book in one table: what the source said, its definition on our runs, the corrected one."""

import html
from collections.abc import Mapping, Sequence

from livingpaper.claims.verdict import Verdict
from livingpaper.figures.badges import badge
from livingpaper.figures.caption import escape_markdown
from livingpaper.figures.verdict_text import anchor, effect_words

TWIN = ".published"
"""Ends the id of a claim that repeats another one under the source's own definition."""
HEADINGS = ("claim", "the source", "its definition, our runs", "corrected or ours, our runs")


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


def ledger_markdown(chapters: Mapping[str, Sequence[Verdict]]) -> str:
    """The table in MyST, a row a claim; ids link to the places where claims are made."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|:--|:--|:--|:--|"]
    for verdict, twin in _rows(chapters):
        claim = verdict.claim
        name = f"{{ref}}`{claim.id} <{anchor(claim)}>` {claim.sentence}"
        cells = [name, escape_markdown(_source(verdict, twin)), _found(twin), _found(verdict)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def ledger_html(chapters: Mapping[str, Sequence[Verdict]]) -> str:
    """The same table for a live notebook."""
    body = ""
    for verdict, twin in _rows(chapters):
        claim = verdict.claim
        name = f"<b>{html.escape(claim.id)}</b> {html.escape(claim.sentence)}"
        cells = [name, html.escape(_source(verdict, twin)), _found(twin), _found(verdict)]
        body += f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    return f"<table><thead><tr>{''.join(f'<th>{name}</th>' for name in HEADINGS)}</tr></thead>{body}</table>"


def _rows(chapters: Mapping[str, Sequence[Verdict]]) -> list[tuple[Verdict, Verdict | None]]:
    return [row for verdicts in chapters.values() for row in ledger_rows(verdicts)]


def _source(verdict: Verdict, twin: Verdict | None) -> str:
    """What the source concluded, said on the claim or on its twin."""
    return verdict.claim.source_verdict or (twin.claim.source_verdict if twin else "") or "–"


def _found(verdict: Verdict | None) -> str:
    """Badge and numbers of one verdict, on one line."""
    if verdict is None:
        return "–"
    return badge(verdict.status) + (f" {effect_words(verdict.check)}" if verdict.check else "")
