"""A circuit as a picture: the prompt's tokens, the layers above them, and an arrow for each thing that a head moves.

Three forms of one geometry: ``wide`` for a page (tokens along the bottom), ``tall`` for a phone (tokens down the left),
``small`` for many networks beside each other (no words). Colours are the style sheet's, by class: of moves by their
number, of words by their tone; without it a drawing is legible in one ink. A supported link is solid, any other dashed,
pale and with an open head.
"""

import html
from collections.abc import Sequence

from livingpaper.figures.circuit import (
    Arrow,
    Circuit,
    Link,
    Token,
    in_short,
    in_words,
    takeaway,
    takeaway_of_many,
)
from livingpaper.figures.circuit_layout import (
    ANSWER,
    MARK,
    NODE,
    SMALL_ANSWER,
    Form,
    Layout,
    Length,
    Point,
)
from livingpaper.figures.circuit_names import BADGE, Name, names

NO_FILL = ' fill="none" stroke="currentColor"'
DASHED = ' stroke-dasharray="6 4" opacity="0.6"'
DASHED_SMALL = ' stroke-dasharray="2 1.6" opacity="0.6"'
FAINT = ' opacity="0.22"'


def draw(circuit: Circuit, form: Form = "wide") -> str:
    """One inline ``svg`` in one line; its label says in words what it shows."""
    layout = Layout(circuit, form)
    width, height = layout.extent
    label = html.escape(in_short(circuit) if form == "small" else in_words(circuit), quote=True)
    links = sorted(circuit.links, key=lambda link: link.supported)  # solid over dashed
    if form == "small":
        looks = [] if circuit.n_supported else _looks(layout)  # there is no room for both
        inside = [*_ticks(layout), *looks, *(_link(layout, link) for link in links), _small_answer(layout)]
    else:
        inside = [
            *_columns(layout), *_rows(layout), *_looks(layout), *(_link(layout, link) for link in links),
            *_marks(layout), *_tokens(layout), *_answer(layout), *_names(layout),
        ]  # fmt: skip
    return (
        f'<svg class="circuit-{form}" role="img" aria-label="{label}" viewBox="-1 -1 {_n(width + 2)} {_n(height + 2)}" '
        f'fill="currentColor">{"".join(inside)}</svg>'
    )


def drawing_html(circuit: Circuit) -> str:
    """The figure of a page, in one line: the drawing as page and phone need it, and one line that says what it does."""
    svgs = "".join(draw(circuit, form) for form in ("wide", "tall"))
    words = html.escape(takeaway(circuit))
    return f'<figure class="circuit"><div class="circuit-room">{svgs}</div><figcaption>{words}</figcaption></figure>'


def small_drawings_html(circuits: Sequence[Circuit]) -> str:
    """Several networks beside each other, in one line: under each its name and how many of its links are supported."""
    each = "".join(
        f"<li>{draw(circuit, 'small')}<span>{html.escape(circuit.name)}</span><span>{circuit.score}</span></li>"
        for circuit in circuits
    )
    return (
        f'<figure class="circuit"><div class="circuit-room"><ul class="circuits">{each}</ul></div>'
        f"<figcaption>{html.escape(takeaway_of_many(circuits))}</figcaption></figure>"
    )


def _columns(layout: Layout) -> list[str]:
    """A pale line from every token through the layers, with a dot where an arrow meets it."""
    arrows = [*(arrow for link in layout.circuit.links for arrow in link.arrows), *layout.circuit.looks]
    met = {(arrow.source, arrow.layer) for arrow in arrows} | {(arrow.target, arrow.layer + 1) for arrow in arrows}
    drawn = []
    for position in range(len(layout.circuit.tokens)):
        points = [layout.point(position, row) for row in range(layout.circuit.n_layers + 1)]
        (x1, y1), (x2, y2) = points[0], points[-1]
        drawn.append(f'<line class="stream" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>')
        dots = [point for row, point in enumerate(points) if row and (position, row) in met - set(layout.marks)]
        drawn += [f'<circle class="node" cx="{_n(x)}" cy="{_n(y)}" r="{NODE}"/>' for x, y in dots]
    return drawn


def _rows(layout: Layout) -> list[str]:
    """What the rows are called, at the edge before the first token."""
    between = [layout.point(0, row) for row in range(layout.circuit.n_layers + 1)]
    drawn = []
    for layer, (here, after) in enumerate(zip(between, between[1:], strict=False)):
        middle = (here[0] + after[0]) / 2, (here[1] + after[1]) / 2
        at = (middle[0], 14) if layout.form == "tall" else (0, middle[1] + 4)
        drawn.append(_text(f"layer {layer}", at, "quiet", "middle" if layout.form == "tall" else "start"))
    prompt = (layout.token_width / 2, 14) if layout.form == "tall" else (0, layout.point(0, 0)[1] + 20)
    return [*drawn, _text("prompt", prompt, "quiet", "middle" if layout.form == "tall" else "start")]


def _looks(layout: Layout) -> list[str]:
    """What is attention alone: faint lines without heads."""
    lines = "".join(_line(layout, arrow, layout.ends(arrow)[1], FAINT) for arrow in layout.circuit.looks)
    return [f'<g class="looks tone-0">{lines}</g>'] if lines else []


def _link(layout: Layout, link: Link) -> str:
    """All arrows of a link."""
    status = "is-supported" if link.supported else "is-unsupported"
    arrows = "".join(_arrow(layout, link, arrow) for arrow in link.arrows)
    return f'<g class="link move-{link.number} {status}">{arrows}</g>'


def _arrow(layout: Layout, link: Link, arrow: Arrow) -> str:
    """A line that leaves and arrives along the rows' own direction, and outside the small form its head."""
    tip, width, is_small = layout.ends(arrow)[1], layout.width(arrow), layout.form == "small"
    length, half = (0.0, 0.0) if is_small else (min(9.0, 5 + width / 2), width / 2 + 3.2)
    x, y = base = layout.before_tip(arrow, length)
    sideways = layout.form == "tall" and arrow.target is not None
    corners = ((x, y - half), (x, y + half)) if sideways else ((x - half, y), (x + half, y))
    line = _line(layout, arrow, base, "" if link.supported else DASHED_SMALL if is_small else DASHED)
    head = f'<path class="head" d="M{_at(corners[0])}L{_at(tip, corners[1])}Z"{"" if link.supported else NO_FILL}/>'
    return line if is_small else line + head


def _line(layout: Layout, arrow: Arrow, end: Point, looks: str) -> str:
    """What leads from where an arrow starts to ``end``; ``looks`` are more attributes."""
    start, *bends, end = layout.curve(arrow, end)
    return (
        f'<path class="line" d="M{_at(start)}C{_at(*bends, end)}" fill="none" stroke="currentColor" '
        f'stroke-width="{_n(layout.width(arrow))}"{looks}/>'
    )


def _marks(layout: Layout) -> list[str]:
    """What has been brought to a position, on the token that stands there; filled where a later link finds its like."""
    fitting, drawn = layout.fitting, []
    for at, (arrow, link) in layout.marks.items():
        x, y = layout.point(*at)
        token, mark = (layout.circuit.tokens[position] for position in (at[0], arrow.source))
        half = (layout.mark_half if layout.form == "tall" else layout.half_mark_across(at)), MARK
        if layout.is_labelled(at):
            beside = (x + 2 * half[0], y) if layout.form == "tall" else (x, y - 2 * half[1])
            drawn.append(f'<g class="brought tone-{token.tone} is-supported">{_labelled(token.word, beside, half)}</g>')
        names = f"tone-{mark.tone} {'is-supported' if link.supported else 'is-unsupported'}"
        names += " is-alike" if at in fitting and link.supported else ""
        drawn.append(f'<g class="brought {names}">{_labelled(arrow.brings, (x, y), half)}</g>')
    return drawn


def _labelled(word: str, middle: Point, half: Point) -> str:
    return _box(middle, half, 3) + _text(word, (middle[0], middle[1] + 4.5))


def _tokens(layout: Layout) -> list[str]:
    return [_token(layout, position, token) for position, token in enumerate(layout.circuit.tokens)]


def _token(layout: Layout, position: int, token: Token) -> str:
    x, y = layout.point(position, 0)
    across = layout.token_width / 2
    if layout.form == "tall":
        middle, half = (x - across, y), (across, min(14, layout.pitches[position] / 2 - 1))
    elif layout.is_upright:
        middle, half = (x, y + across), (layout.pitches[position] / 2 - 2, across)
    else:
        middle, half = (x, y + layout.size.token / 2), (layout.pitches[position] / 2 - 4, layout.size.token / 2)
    box = _box(middle, half, 5) if token.tone else ""
    if layout.is_upright:
        at = f"{_n(x + 4.5)} {_n(y + 7)}"
        word = f'<text transform="translate({at}) rotate(-90)" text-anchor="end">{html.escape(token.word)}</text>'
    else:
        word = _text(token.word, (middle[0], middle[1] + 5))
    return f'<g class="token tone-{token.tone}">{box}{word}</g>'


def _answer(layout: Layout) -> list[str]:
    said, (x, y) = layout.circuit.answer, layout.answer
    half = layout.answer_half
    beside = f"{said.sureness}{f', not {said.wanted}' if said.is_wrong else ''}"
    names = f"answer tone-{said.tone}{' is-wrong' if said.is_wrong else ''}"
    return [
        f'<g class="{names}">{_box((x, y), (half, ANSWER), 6)}{_text(said.word, (x, y + 7))}</g>',
        _text(f"answer, {beside}", (x - half - 8, y + 5), "quiet", "end"),
    ]


def _names(layout: Layout) -> list[str]:
    """Those of supported links over the others."""
    return [_name(name) for name in sorted(names(layout), key=lambda name: name.link.supported)]


def _name(name: Name) -> str:
    """The number of a link, and beside it the move and who makes it."""
    (x, y), link = name.badge, name.link
    status = "is-supported" if link.supported else "is-unsupported"
    return (
        f'<g class="name move-{link.number} {status}"><circle cx="{_n(x)}" cy="{_n(y)}" r="{BADGE}"/>'
        f'{_text(str(link.number), (x, y + 4.5))}<text class="move" x="{_n(name.words[0])}" y="{_n(name.words[1])}" '
        f'text-anchor="{name.anchor}">{html.escape(link.move)}'
        f'<tspan class="who" dx="5">{html.escape(link.head)}</tspan></text></g>'
    )


def _ticks(layout: Layout) -> list[str]:
    """Tokens of the small form."""
    drawn = []
    for position, token in enumerate(layout.circuit.tokens):
        x, y = layout.point(position, 0)
        drawn.append(
            f'<rect class="tick tone-{token.tone}" x="{_n(x - 1.8)}" y="{_n(y + 0.6)}" width="3.6" height="3.6"/>'
        )
    return drawn


def _small_answer(layout: Layout) -> str:
    x, y = layout.answer
    return f'<circle class="tick tone-{layout.circuit.answer.tone}" cx="{_n(x)}" cy="{_n(y)}" r="{SMALL_ANSWER}"/>'


def _box(middle: Point, half: Point, radius: Length) -> str:
    (x, y), (across, up) = middle, half
    return (
        f'<rect x="{_n(x - across)}" y="{_n(y - up)}" width="{_n(2 * across)}" height="{_n(2 * up)}" '
        f'rx="{_n(radius)}"{NO_FILL}/>'
    )


def _text(words: str, at: Point, name: str = "", anchor: str = "middle") -> str:
    named = f' class="{name}"' if name else ""
    return f'<text{named} x="{_n(at[0])}" y="{_n(at[1])}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _at(*points: Point) -> str:
    """Points of a path."""
    return " ".join(f"{_n(x)} {_n(y)}" for x, y in points)


def _n(number: Length) -> str:
    """A coordinate with one decimal at most."""
    return f"{number:.1f}".removesuffix(".0")
