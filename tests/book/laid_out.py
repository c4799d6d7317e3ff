"""Where the page puts everything of a drawn circuit, and where Python does."""

import itertools

import pytest

from livingpaper.figures.circuit_layout import Layout
from livingpaper.figures.circuit_names import names

FORMS = ("wide", "tall", "small")
NEAR = 0.05
"""Units of the view box, as large as nobody sees."""
SHARES = (0.0, 0.25, 0.6, 1.0)
LAID_OUT = """([circuits, forms, shares]) => circuits.map(circuit => forms.map(form => {
    const layout = new circuitLayout.Layout(circuit, form), rows = Array.from({ length: circuit.layers + 1 }, (_, i) => i);
    const arrows = [...circuit.links.flatMap(link => link.arrows), ...circuit.looks];
    return {
        extent: [layout.width, layout.height], upright: layout.isUpright, answer: layout.answer,
        answerHalf: layout.answerHalf, pitches: layout.pitches,
        points: circuit.tokens.map((_, at) => rows.map(row => layout.point(at, row))),
        arrows: arrows.map(arrow => ({
            ends: layout.ends(arrow), curve: layout.curve(arrow, layout.ends(arrow)[1]), width: layout.lineWidth(arrow),
            tip: layout.beforeTip(arrow, 7), on: shares.map(share => layout.onCurve(arrow, share)),
        })),
        marks: [...layout.marks.values()].map(({ at }) => [...at, layout.halfMarkAcross(at), Number(layout.isLabelled(at))]),
        brought: [...layout.marks.values()].map(({ arrow }) => arrow.brings), markHalf: layout.markHalf,
        fitting: [...layout.fitting].sort(),
        names: form === 'small' ? [] : circuitNames.namesOf(layout).map(({ link, badge, words, anchor, box, around }) =>
            [link.move.name, anchor, [...badge, ...words, ...box, ...around]]),
    };
}))"""  # noqa: E501


def for_page(circuit):
    """As ``circuitMoves`` makes it."""

    def arrow(of):
        return {name: getattr(of, name) for name in ("layer", "source", "target", "weight", "brings")}

    links = [
        {
            "move": {"name": link.move}, "number": link.number, "head": link.head, "isSupported": link.supported,
            "arrows": [arrow(one) for one in link.arrows],
        }
        for link in circuit.links
    ]  # fmt: skip
    said = circuit.answer
    return {
        "layers": circuit.n_layers,
        "tokens": [{"word": token.word, "tone": token.tone} for token in circuit.tokens],
        "links": links,
        "looks": [arrow(one) for one in circuit.looks],
        "answer": {"word": said.word, "tone": said.tone, "probability": said.probability, "wanted": said.wanted},
    }


def assert_same_places(page, circuit, form):
    layout = Layout(circuit, form)

    def near(found, expected):
        assert found == pytest.approx(expected, abs=NEAR), (circuit, form)

    near(page["extent"], list(layout.extent))
    near(page["answer"], list(layout.answer))
    near([page["answerHalf"], page["markHalf"]], [layout.answer_half, layout.mark_half])
    near(page["pitches"], list(layout.pitches))
    assert page["upright"] == layout.is_upright
    for position, row in itertools.product(range(len(circuit.tokens)), range(circuit.n_layers + 1)):
        near(page["points"][position][row], list(layout.point(position, row)))
    arrows = [*(arrow for link in circuit.links for arrow in link.arrows), *circuit.looks]
    for found, arrow in zip(page["arrows"], arrows, strict=True):
        tip = layout.ends(arrow)[1]
        near(sum(found["ends"], []), [x for point in layout.ends(arrow) for x in point])
        near(sum(found["curve"], []), [x for point in layout.curve(arrow, tip) for x in point])
        near(sum(found["on"], []), [x for share in SHARES for x in layout.on_curve(arrow, share)])
        near([found["width"], *found["tip"]], [layout.width(arrow), *layout.before_tip(arrow, 7)])
    marks = [[*at, layout.half_mark_across(at), int(layout.is_labelled(at))] for at in layout.marks]
    near(sum(page["marks"], []), sum(marks, []))
    assert page["brought"] == [arrow.brings for arrow, _ in layout.marks.values()]
    assert page["fitting"] == sorted(" ".join(map(str, at)) for at in layout.fitting)
    if form != "small":
        named = [[name.link.move, name.anchor] for name in names(layout)]
        assert [found[:2] for found in page["names"]] == named, (circuit, form)
        for found, name in zip(page["names"], names(layout), strict=True):
            near(found[2], [*name.badge, *name.words, *name.box, *name.words_box])
