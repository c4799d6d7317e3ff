"""A drawing with its style sheet's values written into it, for what knows neither variables nor mixed colours."""

import re

from bs4 import BeautifulSoup, Tag

INK = "#1d232a"
"""Of text, where a page is light."""
NAMED = {"black": "#000000", "white": "#ffffff", "currentcolor": INK}
LATER = re.compile(r"/\*.*?\*/|@\w+[^{]*\{(?:[^{}]*\{[^{}]*\})*\s*\}", re.DOTALL)
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
VARIABLE = re.compile(r"var\((--[\w-]+)(?:, ([^()]*))?\)")
MIXED = re.compile(r"color-mix\(in srgb, (#?\w+)(?: (\d+)%)?, (#?\w+)(?: (\d+)%)?\)")


def painted(svg: str, styles: str) -> str:
    """A circuit's ``svg`` as it looks on a light page, by ``style`` attributes alone.

    Args:
        svg: one element.
        styles: the style sheet of ``figure.circuit``: of two rules the later wins. Comments, and rules that depend on
            the room there is, are left out.
    """
    page = BeautifulSoup(f'<figure class="circuit">{svg}</figure>', "html.parser")
    told: dict[int, dict[str, str]] = {}
    for selector, block in RULE.findall(LATER.sub("", styles)):
        values = dict(re.findall(r"([\w-]+):\s*([^;]+);", block))
        for element in page.select(selector.strip()):
            told[id(element)] = told.get(id(element), {}) | values
    _paint(page.figure, told, {})
    return str(page.svg).replace(" viewbox=", " viewBox=")  # HTML's parser knows small letters only


def _paint(element: Tag, told: dict[int, dict[str, str]], above: dict[str, str]) -> None:
    """Write styles into an element and all within it, which know the variables of those ``above``."""
    own = told.get(id(element), {})
    known = above | {name: value for name, value in own.items() if name.startswith("--")}
    words = [f"{name}:{_resolved(value, known)}" for name, value in own.items() if not name.startswith("--")]
    if words:
        element["style"] = ";".join(words)
    for child in element.find_all(True, recursive=False):
        _paint(child, told, known)


def _resolved(value: str, known: dict[str, str]) -> str:
    """A value without variables, colours as hexadecimal numbers; nothing where no variable has been set."""
    while found := VARIABLE.search(value):
        value = value.replace(found[0], known.get(found[1], found[2] or ""))
    value = re.sub(r"\bcurrentcolor\b", INK, value)
    return MIXED.sub(lambda mix: _mixed(*mix.groups()), value)


def _mixed(first: str, share: str | None, second: str, other: str | None) -> str:
    """Two colours mixed; a share is in percent, and one that is not said is what the other leaves."""
    part = (float(share) if share else 100 - float(other or 50)) / 100
    return "#" + "".join(
        f"{round(part * a + (1 - part) * b):02x}" for a, b in zip(_rgb(first), _rgb(second), strict=True)
    )


def _rgb(colour: str) -> tuple[int, ...]:
    digits = NAMED.get(colour, colour).removeprefix("#")
    digits = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    return tuple(bytes.fromhex(digits))
