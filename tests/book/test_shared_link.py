"""What is shown where the address of a page is shared: on every page of the smoke book, and piece by piece."""

import base64
import re

import pytest
from bs4 import BeautifulSoup
from conftest import BOOK_PAGES
from drawn import drawn_circuit

from livingpaper.book.painted_svg import INK, painted
from livingpaper.book.shared_link import STYLES, address, file_of, first_sentences, picture
from livingpaper.figures.circuit_drawing import draw

WANTED = {
    "description", "twitter:card", "og:type", "og:title", "og:description", "og:site_name", "og:image",
    "og:image:alt", "og:image:type", "og:image:width", "og:image:height",
}  # fmt: skip
# Width and height of a picture, and the shares of its upper and its lower half that are not white.
INKED = """async address => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const { width, height } = image;
    const context = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d');
    context.drawImage(image, 0, 0);
    const share = y => {
        const pixels = context.getImageData(0, y, width, height / 2).data;
        return pixels.filter((part, i) => i % 4 === 0 && part < 200).length / (pixels.length / 4);
    };
    return [width, height, share(0), share(height / 2)];
}"""


def inked(browser, png: bytes) -> list[float]:
    page = browser.new_page()
    found = page.evaluate(INKED, f"data:image/png;base64,{base64.b64encode(png).decode()}")
    page.close()
    return found


@pytest.fixture(scope="module")
def pages(site) -> dict[str, BeautifulSoup]:
    texts = {name: (site / f"{name}.html").read_text(encoding="utf-8") for name in BOOK_PAGES}
    short = {name: re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL) for name, text in texts.items()}
    return {name: BeautifulSoup(text, "html.parser") for name, text in short.items()}


def told(page: BeautifulSoup) -> dict[str, str]:
    """What a page's head tells; each once."""
    tags = [
        (tag.get("property") or tag.get("name"), tag["content"]) for tag in page.head.find_all("meta", content=True)
    ]
    tags = [(name, text) for name, text in tags if re.match("og:|twitter:|description", name or "")]
    assert len(dict(tags)) == len(tags)
    return dict(tags)


def test_every_page_tells_its_title_its_first_sentence_and_a_picture(pages):
    found = {name: told(page) for name, page in pages.items()}
    assert {name: WANTED ^ set(tags) for name, tags in found.items() if set(tags) != WANTED} == {}
    for name, tags in found.items():
        title = pages[name].h1.get_text().removesuffix("#").strip()
        assert title.endswith(tags["og:title"]), "a page's heading may have its number before it"
        assert tags["og:description"] == tags["description"]
        assert all(text.strip() and not re.search(r"[{}\\\n]|not set\b", text) for text in tags.values()), name
        begin = " ".join(tags["description"].split()[:3])
        assert begin in " ".join(pages[name].article.get_text().split())


def test_its_picture_is_the_drawing_that_the_page_opens_with_or_the_front_pages(pages, site, browser):
    front, found = file_of(BOOK_PAGES[0]), {}
    for name, page in pages.items():
        tags, own = told(page), bool(page.select("svg.circuit-wide"))
        path = (site / f"{name}.html").parent / tags["og:image"]
        assert path.name == (file_of(name) if own else front)
        found[path.resolve()] = (int(tags["og:image:width"]), int(tags["og:image:height"]))
    assert len(found) > 1
    for path, size in found.items():
        *drawn, above, below = inked(browser, path.read_bytes())
        assert tuple(drawn) == size == (1200, 630)
        assert min(above, below) > 0.005, f"{path.name} is blank, or a title alone"


def test_a_picture_is_the_drawing_under_its_title(browser):
    for title in ("Short", "A title that is much too long for one line of a picture, and for the second one as well"):
        *size, above, below = inked(browser, picture(f"{title} <&>", draw(drawn_circuit())))
        assert size == [1200, 630] and above > 0.01 and below > 0.02
    empty = picture("", '<svg class="circuit-wide" viewBox="0 0 9 9"></svg>')
    assert inked(browser, empty) == [1200, 630, 0, 0]


def styles_of(svg: str, selector: str) -> dict[str, str]:
    """What the first element that fits is told."""
    return dict(
        part.split(":", 1) for part in BeautifulSoup(svg, "html.parser").select_one(selector)["style"].split(";")
    )


def test_colours_are_those_of_the_style_sheet():
    svg = painted(draw(drawn_circuit(supported=(True, False, True, True))), STYLES.read_text(encoding="utf-8"))
    assert "var(" not in svg and "color-mix" not in svg and "currentcolor" not in svg and "viewBox=" in svg
    assert (
        styles_of(svg, ".move-1 .line")["stroke"] == "#c28500" and styles_of(svg, ".move-4 .head")["fill"] == "#b4568e"
    )
    assert styles_of(svg, ".is-unsupported .head").items() >= {"fill": "#fff", "stroke": "#2b8fd0"}.items()
    assert styles_of(svg, ".token.tone-1 rect")["stroke"] == "#0072b2"
    assert styles_of(svg, ".answer text")["fill"] == "#fff" and styles_of(svg, ".answer text")["font-size"] == "19px"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("var(--a)", "#123456"),
        ("var(--b, var(--a))", "#123456"),
        ("var(--b, 3px)", "3px"),
        ("var(--b)", ""),
        ("currentcolor", INK),
        ("color-mix(in srgb, black 25%, #fff)", "#bfbfbf"),
        ("color-mix(in srgb, var(--a), white 100%)", "#ffffff"),
        ("color-mix(in srgb, #000, #fff)", "#808080"),
    ],
)
def test_variables_and_mixed_colours_become_plain_ones(value, plain):
    svg = '<svg><g class="x"><path class="y"/></g></svg>'
    styles = f"/* .y {{ fill: red }} */ .x {{ --a: #123456; }} .y {{ fill: {value}; }}"
    styles += "@media print { .y { fill: red; } }"
    assert styles_of(painted(svg, styles), "path") == {"fill": plain}


def test_sentences_are_whole_and_keep_their_verdicts():
    assert first_sentences("One.  Two\nand a half? Three") == "One. Two and a half? Three"
    assert first_sentences("x" * 400 + ". Two.") == "x" * 400 + "."
    assert first_sentences("A" * 200 + ". " + "B" * 200 + ".") == "A" * 200 + "."
    judged = "A" * 290 + " holds. (✔ supported) B does not. (✘ refuted)"
    assert first_sentences(f"{judged} C. {judged}") == f"{judged} C.", "no sentence without its verdict"


def test_a_pictures_address_is_whole_where_the_book_knows_its_own():
    assert address("book/index", "book/index", "") == "../_static/shared/book-index.png"
    assert address("book/appendix/laws", "book/index", "") == "../../_static/shared/book-index.png"
    assert address("page", "page", "") == "_static/shared/page.png"
    for base in ("https://example.org/b", "https://example.org/b/"):
        assert address("book/a", "book/a", base) == "https://example.org/b/_static/shared/book-a.png"
