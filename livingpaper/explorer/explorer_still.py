"""The explorer's opening as plain HTML, for paper and for readers without JavaScript."""

import html

from livingpaper.explorer.exhibit import Exhibit
from livingpaper.explorer.probe import Reading
from livingpaper.explorer.reveal_still import asked_html, tables_html
from livingpaper.figures.circuit import likely
from livingpaper.figures.circuit_drawing import drawing_html, small_drawings_html

MOST_ANSWERS = 3
FIRST = "With JavaScript it is a game, and you guess first."


def still_html(exhibit: Exhibit) -> str:
    """What the first stop says, the circuit drawn, and what the network answers."""
    state = exhibit.first_frame
    reading = exhibit.reading(state)
    words = "".join(
        f"<p><strong>{_text(stop.title)}</strong> {_text(' '.join((stop.text, *exhibit.verdicts(stop))))}</p>"
        for stop in exhibit.path[:1]
    )
    others = exhibit.beside(state)
    small = small_drawings_html(others) if len(others) > 1 else ""
    edits = f"<p>Edits: {_text(', '.join(state['edits']))}.</p>" if state["edits"] else ""
    drawn, end = drawing_html(exhibit.circuit(state)), "With JavaScript every checkpoint can be used here."
    if form := exhibit.form:
        shown = exhibit.find(state["run"])
        network = f"{shown.condition}, {shown.when(state['step'])}"
        words += asked_html(form, exhibit.task)
        told = tables_html(form, exhibit.task, reading, network)
        drawn, end = f'<div class="explorer-tells">{drawn}{told}</div>', f"Its answers are told. {FIRST} {end}"
    else:
        drawn += _answers(reading)
    return (
        f'<div class="explorer-still">{words}{edits}{drawn}{small}'
        f'<p class="explorer-without">This is the opening. {end}</p></div>'
    )


def _text(words: object) -> str:
    return html.escape(str(words))


def _answers(reading: Reading) -> str:
    vocab = reading.vocab
    order = reading.probabilities.argsort(descending=True).tolist()[:MOST_ANSWERS]
    if reading.target and (target := vocab.index(reading.target)) not in order:
        order[-1] = target
    rows = "".join(_answer(reading, token, vocab[token]) for token in order)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("token", "probability", ""))
    return f"<table><caption>The next token.</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _answer(reading: Reading, token: int, word: str) -> str:
    p = reading.probabilities[token].item()
    right = ' <span class="explorer-right">answer</span>' if word == reading.target else ""
    bar = f'<span><i class="explorer-bar" style="width:{100 * p:.1f}%"></i></span>'
    return (
        f'<tr><th scope="row">{_text(word)}{right}</th><td class="explorer-track">{bar}</td>'
        f'<td class="explorer-number">{_text(likely(p))}</td></tr>'
    )
