"""The opening of the stage of vector rows as plain HTML, for paper and for readers without JavaScript."""

import html

from livingpaper.explorer.hops import HopExhibit, HopTest


def still_html(exhibit: HopExhibit) -> str:
    """What the first stop says, the row, what the network says of its first chain, and what was tested of it."""
    state = exhibit.first_frame
    words = "".join(
        f"<p><strong>{_text(stop.title)}</strong> {_text(' '.join((stop.text, *exhibit.verdicts(stop))))}</p>"
        for stop in exhibit.path[:1]
    )
    row = f"<p>The row: {_text(' '.join(exhibit.row.words))}</p>"
    return (
        f'<div class="explorer-still">{words}{row}{_answers(exhibit)}{_tests(exhibit, state["run"], state["step"])}'
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


def _answers(exhibit: HopExhibit) -> str:
    state = exhibit.first_frame
    chain = exhibit.form.chains.index(str(state["row"]).split()[state["follow"]][0])
    rows = [(one.wanted, one.nearest, f"{one.error:.2f}") for one in exhibit.says(state["run"], state["step"], chain)]
    return _table("What the query is answered.", ("wanted", "nearest to", "squared error"), rows)


def _tests(exhibit: HopExhibit, run_id: str, step: int) -> str:
    found = exhibit.find(run_id).tests.get(step, ())
    rows = [(*_named(exhibit, one), f"{one.rise:.2f}", "yes" if one.supported else "no") for one in found]
    headings = ("move", "heads", "from", "to", "rise of the error without it", "supported")
    return _table("Links that were tested of this network at this step.", headings, rows) if rows else ""


def _named(exhibit: HopExhibit, one: HopTest) -> tuple[str, ...]:
    name = next(hop.name for hop in exhibit.hops if one.link in hop.links)
    return (name, ", ".join(one.heads), *(role.replace("_", " ") for role in one.link))
