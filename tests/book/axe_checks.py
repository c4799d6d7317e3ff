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
HIDE_DRAWINGS = "off => document.querySelectorAll('.vl-live svg').forEach(svg => { svg.style.visibility = off; })"
# Screen readers are told nothing of a live chart's drawing. Of what is in there axe has rules for what takes the focus,
# and for names, roles, languages and ids, but it goes through thousands of marks for each of its rules. Drawings of
# marks that have none of these are empty meanwhile, and as large as they are.
EMPTY_DRAWINGS = """() => {
    const marks = 'g, path, rect, line, circle, text, tspan, defs, defs *';
    const told = name => /^(role|tabindex|on.*|lang|xml:lang|.*href|aria-(?!hidden$).*)$/.test(name);
    const isMark = element => element.matches(marks) && !element.getAttributeNames().some(told)
        && !(element.id && !element.closest('defs'));
    window.emptied = [...document.querySelectorAll('.vl-live svg[aria-hidden=true]')]
        .filter(svg => [...svg.querySelectorAll('*')].every(isMark)).map(svg => [svg, [...svg.childNodes]]);
    window.emptied.forEach(([svg]) => svg.replaceChildren());
}"""
FILL_DRAWINGS = "() => window.emptied.forEach(([svg, children]) => svg.replaceChildren(...children))"
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
    page.evaluate(HIDE_DRAWINGS, "hidden")
    page.evaluate(OF_EACH_KIND)
    found = _found(page, "{include: window.ofEachKind}", {"runOnly": [CONTRAST]})
    page.evaluate(HIDE_DRAWINGS, "")
    return found


def _found(page: Page, where: str, rules: Mapping[str, object]) -> list[str]:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    page.evaluate(EMPTY_DRAWINGS)
    found = page.evaluate(AXE_RUN.format(where=where), dict(rules))["violations"]
    page.evaluate(FILL_DRAWINGS)
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
    return [f"{rule['id']}: {node['html'][:300]}" for rule in serious for node in rule["nodes"]]
