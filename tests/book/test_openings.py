"""How chapters open: with their finding drawn, on the first screen; and the colours that names keep in all figures."""

import json
import re

import pytest
from conftest import BOOK_PAGES, Opened
from test_pages import APPENDICES, CHAPTERS

from livingpaper.figures.style import lasting_colours

DRAWN = """() => {
    const box = document.querySelector('.explorer, .memory-pad, .matrix-film');
    const drawn = document.querySelector('.explorer.is-live .explorer-stage svg') ?? box.querySelector('svg, canvas');
    return [box.getBoundingClientRect().top, drawn.getBoundingClientRect().bottom].map(y => y + scrollY);
}"""
BOTTOM = "element => element.getBoundingClientRect().bottom + scrollY"
BELOW_A_PICTURE = 60
"""Pixels of a pad's picture that may stand below the first screen: of a map any part shows what it is."""


@pytest.mark.parametrize("opened", [f"file {name}" for name in CHAPTERS if name not in APPENDICES], indirect=True)
def test_a_chapter_opens_with_its_finding_drawn_on_the_first_screen(opened: Opened):
    page = opened.page
    has_network = page.locator(".explorer").count() > 0
    code = page.locator(".cell details, .cell .cell_input").first
    for width, height, form in ((1280, 800, "wide"), (400, 860, "tall")):
        page.set_viewport_size({"width": width, "height": height})
        if has_network:
            page.locator(f".explorer.is-live .explorer-stage svg.circuit-{form}").first.wait_for()
        top, bottom = page.evaluate(DRAWN)
        assert page.locator(".bd-article h1").evaluate(BOTTOM) < top < height / 2
        assert top < code.evaluate(BOTTOM)
        if width > height:
            assert bottom <= height + (0 if has_network else BELOW_A_PICTURE)
        if has_network:  # path, drawing and slider are one screen
            assert page.locator(".explorer-place").first.evaluate(BOTTOM) - top <= height


def color_scales(node):
    """Every list of names that a specification gives colours."""
    if isinstance(node, dict):
        scale = node["color"].get("scale") if isinstance(node.get("color"), dict) else None
        if isinstance(scale, dict) and isinstance(scale.get("domain"), list):
            yield scale["domain"]
        for part in node.values():
            yield from color_scales(part)
    elif isinstance(node, list):
        for part in node:
            yield from color_scales(part)


def test_a_name_has_one_colour_in_all_figures(site):
    kept, seen = lasting_colours(), set()
    for name in BOOK_PAGES:
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        for spec in re.findall(r'class="vl-spec">(.*?)</script>', text, flags=re.DOTALL):
            for domain in color_scales(json.loads(spec)):
                found = {one: place for place, one in enumerate(domain) if one in kept}
                assert found == {one: kept[one] for one in found}, (name, domain)
                seen |= set(found)
    assert set(kept) - seen == set(), "no figure has these"
