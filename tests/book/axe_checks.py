"""What axe finds wrong with a page, by the rules that are serious for a reader."""

from collections.abc import Mapping
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
# Without preload: it would fetch style sheets again, some under wrong addresses.
AXE_RUN = "rules => axe.run({where}, {{resultTypes: ['violations'], preload: false, ...rules}})"
CONTRAST = "color-contrast"
# Axe cannot judge the contrast of text in drawings and calls it incomplete, which takes it as long as all the rest
# of a page: test_pages.is_inked looks at that text.
WITHOUT_DRAWINGS = "off => document.querySelectorAll('.vl-live svg').forEach(svg => { svg.style.visibility = off; })"
# Text of one colour, size and weight on the same backgrounds stands out alike: of thousands of cells and links axe
# looks at a few of each kind, which takes it a fourth of the time. Backgrounds of elements that it does not stand in,
# and those of ::before and ::after, make no kind of their own.
OF_EACH_KIND = """() => {
    const kinds = new Map();
    const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const looked = [...document.querySelectorAll('input, select, textarea')];
    for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
        const element = node.parentElement;
        if (!node.textContent.trim() || !element.checkVisibility()) continue;
        const {color, fontSize, fontWeight, textShadow} = getComputedStyle(element);
        const kind = [color, fontSize, fontWeight, textShadow];
        for (let box = element; box; box = box.parentElement) {
            const behind = getComputedStyle(box);
            kind.push(...[behind.backgroundColor, behind.backgroundImage, behind.opacity, behind.filter]
                .filter(value => !['rgba(0, 0, 0, 0)', 'none', '1'].includes(value)));
        }
        const seen = kinds.get(String(kind)) ?? 0;
        if (seen < 3 && !looked.includes(element)) looked.push(element);
        kinds.set(String(kind), seen + 1);
    }
    window.ofEachKind = looked;
}"""


def seriously_wrong(page: Page) -> list[str]:
    """What axe finds that is serious, by all of its rules."""
    return unsound(page) + illegible(page)


def unsound(page: Page) -> list[str]:
    """What axe finds that is serious but for contrast, which no width changes."""
    return _found(page, "document", {"rules": {CONTRAST: {"enabled": False}}})


def illegible(page: Page) -> list[str]:
    """Text that stands out too little from what is behind it: all that a theme can change."""
    page.evaluate(WITHOUT_DRAWINGS, "hidden")
    page.evaluate(OF_EACH_KIND)
    found = _found(page, "{include: window.ofEachKind}", {"runOnly": [CONTRAST]})
    page.evaluate(WITHOUT_DRAWINGS, "")
    return found


def _found(page: Page, where: str, rules: Mapping[str, object]) -> list[str]:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate(AXE_RUN.format(where=where), dict(rules))["violations"]
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
    return [f"{rule['id']}: {node['html'][:300]}" for rule in serious for node in rule["nodes"]]
