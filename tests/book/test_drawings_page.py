"""Drawn circuits in a browser: nothing written runs into anything else, and everything can be read."""

import itertools

import pytest
from drawn import drawn_circuit, looking_circuit, one_layer_circuit

from livingpaper.explorer.widget import STATIC
from livingpaper.figures.circuit_drawing import drawing_html, small_drawings_html

STYLES = (STATIC.parents[1] / "figures" / "static" / "circuit.css").read_text()
FOUND = """() => [...document.querySelectorAll('.circuit svg')].filter(svg => svg.checkVisibility()).map(svg => ({
    name: svg.getAttribute('class'),
    box: svg.getBoundingClientRect().toJSON(),
    texts: [...svg.querySelectorAll('text')].map(text => ({
        words: text.textContent,
        box: text.getBoundingClientRect().toJSON(),
        size: parseFloat(getComputedStyle(text).fontSize) * svg.getScreenCTM().a,
    })),
    rects: [...svg.querySelectorAll('.token rect, .brought rect, .answer rect')].map(
        rect => rect.getBoundingClientRect().toJSON()),
    colours: [...new Set([...svg.querySelectorAll('.link .line')].map(line => getComputedStyle(line).stroke))],
    tones: [...new Set([...svg.querySelectorAll('.token rect')].map(rect => getComputedStyle(rect).stroke))],
}))"""
PROMPTS = (
    "a K2 V1 ; K3 V6 ; Q K3 ->",
    "a K2 V1 ; K3 V6 ; Q K2 ->",
    "<bos> Mara amber ; Theo ochre ; ask Theo ->",
    "<bos> Mara saffron ; Theo indigo ; Enzo granite ; Q Theo ->",
)
CIRCUITS = (
    *(drawn_circuit(prompt, said=said) for prompt in PROMPTS for said in (None, "V1")),
    looking_circuit(),
    *(one_layer_circuit(place) for place in range(4)),
)
WIDTHS = {1280: "circuit-wide", 400: "circuit-tall"}


@pytest.fixture(scope="module")
def page(browser):
    context = browser.new_context()
    yield context.new_page()
    context.close()


def shown(page, html, width, theme="light"):
    """What is visible of a page of the book's width that holds some HTML."""
    page.set_viewport_size({"width": width, "height": 900})
    page.set_content(
        f'<html data-theme="{theme}"><style>{STYLES}</style>'
        f'<main style="max-width: 42rem; margin: auto; font: 16px sans-serif">{html}</main></html>'
    )
    return page.evaluate(FOUND)


def overlap(one, other):
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return across > 0.5 and down > 0.5


def inside(inner, outer):
    return all(inner[side] >= outer[side] - 1 for side in ("left", "top")) and all(
        inner[side] <= outer[side] + 1 for side in ("right", "bottom")
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("circuit", CIRCUITS, ids=[circuit.prompt[:20] for circuit in CIRCUITS])
def test_no_text_runs_into_another_or_out_of_the_picture(page, circuit, width):
    (drawing,) = shown(page, drawing_html(circuit), width)
    assert drawing["name"] == WIDTHS[width]
    for one, other in itertools.combinations(drawing["texts"], 2):
        assert not overlap(one["box"], other["box"]), (one["words"], other["words"])
    for text in drawing["texts"]:
        assert inside(text["box"], drawing["box"]), text["words"]
        within = [rect for rect in drawing["rects"] if overlap(rect, text["box"])]
        assert len(within) <= 1, text["words"]
        assert all(rect["left"] < text["box"]["left"] and text["box"]["right"] < rect["right"] for rect in within)
        assert text["size"] >= 11, text["words"]


@pytest.mark.parametrize(("width", "columns"), [(1280, 10), (400, 5)])
def test_ten_networks_stand_beside_each_other(page, width, columns):
    circuits = [drawn_circuit(supported=(seed % 2 == 0, True, True, True)) for seed in range(10)]
    drawings = shown(page, small_drawings_html(circuits), width)
    assert len(drawings) == 10
    tops = [drawing["box"]["top"] for drawing in drawings]
    assert tops.count(tops[0]) == columns
    assert all(drawing["box"]["width"] >= 50 for drawing in drawings)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_each_theme_has_its_own_colours_of_moves_and_of_words(page):
    light, dark = (shown(page, drawing_html(drawn_circuit()), 1280, theme)[0] for theme in ("light", "dark"))
    assert len(light["colours"]) == len(dark["colours"]) == 4 and not set(light["colours"]) & set(dark["colours"])
    assert len(light["tones"]) == len(dark["tones"]) == 2 and not set(light["tones"]) & set(dark["tones"])
    for drawing in (light, dark):
        assert not set(drawing["colours"]) & set(drawing["tones"])


def test_a_move_keeps_its_colour_whether_its_test_supports_it_or_not(page):
    whole, none = (
        shown(page, drawing_html(drawn_circuit(supported=(holds,) * 4)), 1280)[0]["colours"] for holds in (True, False)
    )
    assert whole == none and len(whole) == 4
