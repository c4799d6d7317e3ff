"""How chapters open: with their finding drawn, on the first screen; and the colours that names keep in all figures."""

import json
import re

import pytest
from conftest import BOOK_PAGES, Opened
from test_pages import CHAPTERS

from livingpaper.figures.style import lasting_colours

DRAWN = """() => {
    const box = document.querySelector('.explorer, .memory-pad, .matrix-film');
    const drawn = document.querySelector('.explorer.is-live .explorer-stage svg') ?? box.querySelector('svg, canvas');
    return [box.getBoundingClientRect().top, drawn.getBoundingClientRect().bottom].map(y => y + scrollY);
}"""
BELOW_A_PICTURE = 60
"""Pixels of a pad's picture that may stand below the first screen: of a map any part shows what it is."""


@pytest.mark.parametrize("opened", [f"file {name}" for name in CHAPTERS], indirect=True)
def test_a_chapter_opens_with_its_finding_drawn_on_the_first_screen(opened: Opened):
    page = opened.page
    assert page.locator(":is(.explorer, .memory-pad, .matrix-film)").count() >= 1
    if page.locator(".explorer").count():
        page.locator(".explorer.is-live").first.wait_for()
    title = page.locator("h1").evaluate("h1 => h1.getBoundingClientRect().bottom + scrollY")
    code = page.locator(".cell details, .cell .cell_input").first
    assert page.evaluate(DRAWN)[0] < code.evaluate("cell => cell.getBoundingClientRect().top + scrollY")
    for width, height in ((1280, 800), (400, 860)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(100)  # it is drawn anew where its width is another
        top, bottom = page.evaluate(DRAWN)
        assert title < top < height / 2
        if width > height:
            assert bottom <= height + (0 if page.locator(".explorer").count() else BELOW_A_PICTURE)


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
