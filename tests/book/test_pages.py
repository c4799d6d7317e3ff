"""The book as a reader meets it: every page, opened from a file and from a server, with the network off."""

import re
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from itertools import cycle
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from axe_checks import illegible, unsound
from conftest import BOOK_PAGES, ROOT, Opened
from playwright.sync_api import Locator, Page

from livingpaper.book.notebooks import APPENDIX, TIERS
from livingpaper.book.page_sizes import MAX_PAGE

OFFLINE = ("file:", "http://127.0.0.1:", "data:", "blob:")
LUMINANCE = """colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
    return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}"""
ALL_PAGES = [*BOOK_PAGES, "search", "genindex"]
CHAPTERS = [name for name in BOOK_PAGES if (ROOT / "params" / f"{Path(name).name}{TIERS['published']}").exists()]

# An appendix is made of what chapters are made of: it is opened in one way, and in one of the two looks that differ
# most, in turn.
APPENDICES = [name for name in BOOK_PAGES if Path(name).parent.name == APPENDIX]
WAYS = [f"{way} {name}" for name in ALL_PAGES for way in (("file",) if name in APPENDICES else ("file", "http"))]
everywhere = pytest.mark.parametrize("opened", WAYS, indirect=True)
every_chapter = pytest.mark.parametrize("opened", [f"file {name}" for name in CHAPTERS], indirect=True)
both_ways = pytest.mark.parametrize("opened", [f"{way} {BOOK_PAGES[0]}" for way in ("file", "http")], indirect=True)


def test_every_chapter_has_a_smoke_tier():
    assert CHAPTERS, "no page of _toc.yml has parameters in params/"
    missing = [name for name in CHAPTERS if not (ROOT / f"params/{Path(name).name}{TIERS['smoke']}").exists()]
    assert not missing


def test_every_notebook_is_in_the_book():
    notebooks = {path.relative_to(ROOT).with_suffix("") for path in (ROOT / "book").rglob("*.ipynb")}
    assert {path.as_posix() for path in notebooks if path.parts[-2] in ("book", APPENDIX)} <= set(BOOK_PAGES)


@everywhere
def test_nothing_is_asked_of_the_network(opened: Opened):
    assert [url for url in opened.requests if not url.startswith(OFFLINE)] == []
    assert opened.failures == []


MAX_WORDS, MAX_WORDS_BEFORE_CHAPTERS = 450, 250  # of the front page, without pictures and what stands under them


@pytest.mark.parametrize("opened", ["file book/index"], indirect=True)
def test_the_front_page_shows_rather_than_tells(opened: Opened):
    """The smoke tier's sentences are as long as the published ones, or longer: none of them is decided."""
    words = """article => {
        const copy = article.cloneNode(true);
        const left_out = 'svg, script, style, figure, .explorer, .headerlink';
        copy.querySelectorAll(left_out).forEach(element => element.remove());
        return [copy.textContent, copy.querySelector('a[href^="symbolic_kv"]').closest('p').textContent];
    }"""
    text, first_chapter = opened.page.locator(".bd-article").evaluate(words)
    before = text[: text.index(first_chapter)]
    assert len(text.split()) <= MAX_WORDS and len(before.split()) <= MAX_WORDS_BEFORE_CHAPTERS
    assert opened.page.locator("svg.circuit-wide, svg.circuit-small, .vl-chart").count() >= 3


@everywhere
def test_mathematics_is_set(opened: Opened):
    formulas = opened.page.locator(".bd-article .math")
    assert opened.page.locator(".bd-article .math mjx-container").count() >= formulas.count()
    if formulas.count():
        at_once = opened.page.evaluate("window.MathJax.config.startup.typeset")
        assert at_once is False, "formulas are set a few at a time"
    assert opened.page.locator("[data-mml-node='merror']").count() == 0


@pytest.mark.parametrize("opened", [f"file {CHAPTERS[0]}"], indirect=True)
def test_a_chart_is_a_still_until_it_comes_near(opened: Opened):
    charts = opened.page.locator(".vl-chart")
    vega = [url for url in opened.requests if "/vega-" in url]
    assert charts.evaluate_all("all => all.filter(chart => chart.matches('.is-live')).length") < charts.count() - 1
    assert charts.last.locator(".vl-still").is_visible() and len(vega) <= 1
    charts.last.scroll_into_view_if_needed()
    opened.settle()
    assert charts.last.locator(".vl-live svg").is_visible()
    assert len([url for url in opened.requests if "/vega-" in url]) == 1


FIGURES = ".bd-article figure:has(.vl-chart)"


def one_each(elements: Locator, said: str) -> list[str]:
    """What elements say of themselves, of which every figure has one."""
    figure = f"[...document.querySelectorAll('{FIGURES}')].indexOf(element.closest('figure'))"
    found = elements.evaluate_all(f"all => all.map(element => [{figure}, element.{said}])")
    assert [place for place, _ in found] == list(range(elements.page.locator(FIGURES).count())), elements
    return [words for _, words in found]


@every_chapter
def test_every_figure_is_numbered_captioned_described_and_sourced(opened: Opened):
    figures = opened.page.locator(FIGURES)
    assert figures.count() == opened.page.locator(".vl-chart").count() >= 1
    captions = one_each(figures.locator("figcaption"), "innerText")
    pictures = one_each(figures.locator("img.vl-still"), "getAttribute('alt')")
    data = one_each(figures.get_by_role("link", name=re.compile("data", re.IGNORECASE)), "href")
    codes = one_each(figures.locator("details:has(summary:text-is('code')) pre"), "textContent")
    texts = figures.all_text_contents()
    for caption, picture, address, code, text in zip(captions, pictures, data, codes, texts, strict=True):
        assert re.search(r"^Fig\. \d+\.\d+\s+\S", caption), caption
        assert len(picture) >= 20, caption
        header, *rows = Path(unquote(urlsplit(address).path)).read_text().splitlines()
        assert address.endswith(".csv") and "," in header and rows, caption
        assert "def " in code, caption
        runs = re.search(r"\b[a-z_]+-[0-9a-f]{12}\b", text)
        assert runs or "no training run enters" in text, f"no run id: {caption}"


def is_alive(page: Page) -> list[str]:
    """Charts without marks, in the layout for phones, or with a legend that is told twice."""
    told = """chart => {
        const drawn = kind => [...chart.querySelectorAll('.vl-live svg .role-' + kind)];
        const legends = drawn('legend').map(legend =>
            [...legend.querySelectorAll('.role-legend-label text')].map(label => label.textContent).join());
        return [
            drawn('mark').some(mark => mark.querySelector('path, rect, line, text, circle')) || 'nothing is drawn',
            Number(chart.querySelector('.vl-still').getAttribute('width')) <= chart.clientWidth || 'a phone has it so',
            new Set(legends).size === legends.length || 'a legend is told twice: ' + legends,
        ].filter(words => words !== true);
    }"""
    return [words for chart in page.locator(".vl-chart").all() for words in chart.evaluate(told)]


def is_within_a_phone(page: Page) -> list[str]:
    """What a phone would have to scroll to sideways, the page itself or a thing within it."""
    width = page.evaluate("document.documentElement.scrollWidth")
    cut_off = """() => [...document.querySelectorAll('.vl-chart, .bd-article table, .bd-article pre, mjx-container')]
        .filter(el => el.getBoundingClientRect().right > 401)
        .filter(el => {
            for (let box = el.parentElement; box; box = box.parentElement)
                if (['auto', 'scroll'].includes(getComputedStyle(box).overflowX)) return false;
            return true;
        }).map(el => el.outerHTML.slice(0, 200))"""
    return [f"the page is {width} px wide"] * (width > 400) + page.evaluate(cut_off)


def is_inked(page: Page) -> list[str]:
    """The theme, where the ink of text or of a chart's axes is not of it."""
    words = page.locator(".vl-live svg .role-axis text")
    colours = words.evaluate_all("all => all.map(word => getComputedStyle(word).fill)")
    colours.append(page.evaluate("getComputedStyle(document.body).color"))
    ink = [page.evaluate(LUMINANCE, colour) for colour in set(colours)]
    theme = page.evaluate("document.documentElement.dataset.theme")
    right = max(ink) < 0.5 if theme == "light" else min(ink) > 0.5
    return [] if right else [f"{theme}: {colours}"]


def is_printed(page: Page) -> list[str]:
    """Charts that paper gets no still of, and ink that is not dark."""
    without = """all => all.filter(chart => {
        const {width, height} = chart.querySelector('img.vl-still').getBoundingClientRect();
        const {width: more} = chart.querySelector('.vl-live')?.getBoundingClientRect() ?? {width: 0};
        return width <= 100 || height <= 40 || more > 0;
    }).map(chart => 'no still: ' + chart.outerHTML.slice(0, 200))"""
    found = page.locator(".vl-chart").evaluate_all(without)
    words = page.locator(".bd-article :is(h1, p, td, pre, figcaption):visible")
    ink = words.evaluate_all("all => all.map(word => getComputedStyle(word).color)")
    return found + [colour for colour in set(ink) if page.evaluate(LUMINANCE, colour) >= 0.5]


# A look on the screen draws all charts of a page anew, which takes longer than most checks: each is taken once, and
# that which the page is opened in comes first.
LOOKS = {
    (1280, "light", "screen"): (is_inked, illegible),
    (1280, "dark", "screen"): (is_inked, illegible, is_alive),
    (400, "light", "screen"): (is_within_a_phone, unsound),
    (400, "dark", "screen"): (is_within_a_phone,),
    (1280, "light", "print"): (is_printed,),
    (1280, "dark", "print"): (is_printed,),
}


FIRST = next(iter(LOOKS))
"""A page is opened in it, and draws the charts that are near; all are drawn as wide in the dark, and once narrow."""
OF_APPENDICES = ((400, "light", "screen"), (1280, "dark", "screen"))
# A dark phone is as wide as a light one, and paper as white: one page shows whether that holds.
ONCE = ((400, "dark", "screen"), (1280, "dark", "print"))


def looked_at(pages: list[str], looks: Iterable[tuple]) -> Callable:
    """A test of some pages in some looks, each page opened once for these and for what all pages are tested for."""

    def marked(test: Callable) -> Callable:
        each_look = pytest.mark.parametrize("look", list(looks), ids=str)
        return pytest.mark.parametrize("opened", pages, indirect=True)(each_look(test))

    return marked


def assert_right(opened: Opened, look: tuple) -> None:
    page = opened.look(*look)
    if look[2] == "screen" and look != FIRST:
        assert opened.draw_all() == [], "charts that need other room than their stills"
    assert {check.__name__: check(page) for check in LOOKS[look]} == {check.__name__: [] for check in LOOKS[look]}


@pytest.mark.parametrize("opened", [f"file {CHAPTERS[0]}" if CHAPTERS else "file book/index"], indirect=True)
def test_one_faint_paragraph_among_many_is_found(opened: Opened):
    page = opened.look()
    assert illegible(page) == []
    paragraph = page.locator(".bd-article p:visible").last
    for style in ("color: #bbb", "background: #777"):
        paragraph.evaluate("(element, style) => { element.style = style; }", style)
        found = illegible(page)
        paragraph.evaluate("element => element.removeAttribute('style')")
        assert len(found) == 1 and found[0].startswith("color-contrast: <p"), style


@looked_at([f"file {name}" for name in ALL_PAGES if name not in APPENDICES], [one for one in LOOKS if one not in ONCE])
def test_every_look_is_right(opened: Opened, look):
    assert_right(opened, look)


@looked_at([f"http {CHAPTERS[0]}"] if CHAPTERS else [], ONCE)
def test_looks_that_are_as_others_are_right_too(opened: Opened, look):
    assert_right(opened, look)


@looked_at([f"http {name}" for name in (*BOOK_PAGES[:1], *CHAPTERS[:1])], [(1280, "light", "screen")])
def test_what_a_phone_has_no_room_for_is_sound_too(opened: Opened, look):
    """Menus beside the text, and drawings in their wide form: of one make on all pages."""
    assert unsound(opened.look(*look)) == []


@pytest.mark.parametrize(
    ("opened", "look"),
    [(f"file {name}", look) for name, look in zip(APPENDICES, cycle(OF_APPENDICES), strict=False)],
    indirect=["opened"],
    ids=str,
)
def test_an_appendix_is_right_in_the_look_whose_turn_it_is(opened: Opened, look):
    assert_right(opened, look)


@everywhere
def test_the_console_stayed_silent(opened: Opened):
    opened.look()
    assert opened.complaints == []


@both_ways
def test_search_finds_a_word(opened: Opened):
    page = opened.page
    page.keyboard.press("Control+k")
    page.keyboard.type("retrieval")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=retrieval*")
    page.locator("ul.search li a").first.wait_for()
    page.locator("ul.search li a").first.click()
    page.wait_for_selector(".bd-article h1")
    opened.settle()
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith(OFFLINE)] == []


@pytest.mark.parametrize("opened", [f"file {CHAPTERS[0]}" if CHAPTERS else "file book/index"], indirect=True)
def test_the_theme_button_recolours_the_charts(opened: Opened):
    page = opened.look()
    page.locator(".vl-chart").first.scroll_into_view_if_needed()
    opened.settle()
    colour = "() => getComputedStyle(document.querySelector('.vl-live svg .role-axis text')).fill"
    light = page.evaluate(LUMINANCE, page.evaluate(colour))
    for _ in range(3):  # the button goes through light, dark and the system's choice
        page.locator("button.theme-switch-button:visible").first.click()
        if page.evaluate("document.documentElement.dataset.theme") == "dark":
            break
    page.wait_for_timeout(100)
    opened.settle()
    assert light < 0.5 < page.evaluate(LUMINANCE, page.evaluate(colour))


class _References(HTMLParser):
    """Collects what a page loads, what it links to, and the anchors it has."""

    def __init__(self, page: Path):
        super().__init__()
        self.loads, self.links, self.anchors = [], [], set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical",) or tag != "a":
            self.loads += [given[name] for name in ("src", "href", "srcset", "poster") if name in given]


@pytest.fixture(scope="module")
def references(site) -> dict[Path, _References]:
    pages = [site / "index.html", *(site / f"{name}.html" for name in ALL_PAGES)]
    return {page: _References(page) for page in pages}


def test_pages_are_small_and_have_each_table_once(site):
    """A chart has its rows inside; the same rows as a table to download, and the stills, are files beside the page.

    Pages of published runs are longer: whoever builds them is refused one above ``MAX_PAGE`` (``page_sizes``).
    """
    pages = {name: (site / f"{name}.html").read_text(encoding="utf-8") for name in BOOK_PAGES}
    assert {name: len(text.encode()) for name, text in pages.items() if len(text.encode()) > MAX_PAGE} == {}
    assert [name for name, text in pages.items() if re.search("data:text/csv|vl-still[^>]*data:image", text)] == []


def test_no_page_loads_anything_from_elsewhere(references):
    outside = re.compile(r"^\s*(https?:)?//", re.IGNORECASE)
    loads = [(page.name, load) for page, found in references.items() for load in found.loads]
    assert [(name, load) for name, load in loads if outside.match(load)] == []


def test_no_style_sheet_loads_anything_from_elsewhere(site):
    outside = re.compile(r"""(?:@import\s+|url\()\s*["']?(?:https?:)?//""")
    sheets = list(site.rglob("*.css"))
    assert sheets
    assert [sheet.name for sheet in sheets if outside.search(sheet.read_text(encoding="utf-8"))] == []


def test_no_page_names_a_folder_of_this_machine(site):
    folders = {str(ROOT), str(site.parents[1]), str(Path.home())} - {"/"}
    pages = [page for page in site.rglob("*.html") if any(folder in page.read_text() for folder in folders)]
    assert pages == []


def test_every_link_within_the_book_leads_somewhere(references, site):
    broken = []
    for page, found in references.items():
        for link in found.links + found.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file():
                broken.append(f"{page.relative_to(site)}: {link[:100]}")
            elif parts.fragment and target in references and unquote(parts.fragment) not in references[target].anchors:
                broken.append(f"{page.relative_to(site)}: {link[:100]}")
    assert broken == []
