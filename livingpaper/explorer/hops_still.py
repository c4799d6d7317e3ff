"""The opening of the stage of vector rows as plain HTML, for paper and for readers without JavaScript."""

import html
from typing import Any

from livingpaper.explorer.hops import HopExhibit
from livingpaper.explorer.hops_circuit import HopTest
from livingpaper.figures.circuit_drawing import drawing_html, small_drawings_html


def still_html(exhibit: HopExhibit) -> str:
    """What the first stop says, the circuit drawn, what the network says, and what was tested of it."""
    state = exhibit.first_frame
    run, step, chain = state["run"], state["step"], _chain(exhibit, state)
    others = exhibit.beside(run, step, chain)
    words = "".join(
        f"<p><strong>{_text(stop.title)}</strong> {_text(' '.join((stop.text, *exhibit.verdicts(stop))))}</p>"
        for stop in exhibit.path[:1]
    )
    small = small_drawings_html(others) if len(others) > 1 else ""
    drawn = f"{drawing_html(exhibit.circuit(run, step, chain))}{_answers(exhibit, run, step, chain)}"
    return (
        f'<div class="explorer-still">{words}{drawn}{_tests(exhibit, run, step)}{small}'
        '<p class="explorer-without">This is the opening. With JavaScript every checkpoint can be used here.</p></div>'
    )


def _text(words: object) -> str:
    return html.escape(str(words))


def _table(caption: str, headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in headings)
    body = "".join(
        f'<tr><th scope="row">{_text(first)}</th>{"".join(f"<td>{_text(one)}</td>" for one in rest)}</tr>'
        for first, *rest in rows
    )
    return f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _chain(exhibit: HopExhibit, state: dict[str, Any]) -> int:
    """The chain that a state follows, by its letter."""
    return exhibit.form.chains.index(exhibit.row.words[state["follow"]][0])


def _answers(exhibit: HopExhibit, run_id: str, step: int, chain: int) -> str:
    rows = [(one.wanted, one.nearest, f"{one.error:.2f}") for one in exhibit.says(run_id, step, chain)]
    return _table("What the query is answered.", ("wanted", "nearest to", "squared error"), rows)


def _tests(exhibit: HopExhibit, run_id: str, step: int) -> str:
    found = exhibit.find(run_id).tests.get(step, ())
    rows = [(*_named(exhibit, one), f"{one.rise:z.2f}", "yes" if one.supported else "no") for one in found]
    headings = ("move", "heads", "from", "to", "rise of the error without it", "supported")
    return _table("Links that were tested of this network at this step.", headings, rows) if rows else ""


def _named(exhibit: HopExhibit, one: HopTest) -> tuple[str, ...]:
    name = next(hop.name for hop in exhibit.hops if one.link in hop.links)
    return (name, ", ".join(one.heads), *(role.replace("_", " ") for role in one.link))
