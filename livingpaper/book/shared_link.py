"""What a page tells those who show its address: its title, its first sentences, and a picture of how it opens."""

import html
import posixpath
import re
import textwrap
from pathlib import Path

import vl_convert
from docutils import nodes
from sphinx.application import Sphinx

from livingpaper.book.painted_svg import INK, painted

FOLDER = "_static/shared"
WIDTH, HEIGHT, MARGIN = 1200, 630, 50
"""Of a picture, in pixels; what networks show whole."""
LETTERS, LINE, LETTERING = 52, 54, 'font-size="40" font-weight="600"'
"""Of its title: letters in a line, a line's height in pixels, and how they look."""
MOST = 300
"""Letters of a description, unless its first sentence is longer."""
DRAWING = re.compile(r'<svg class="circuit-wide".*?</svg>', re.DOTALL)
LABEL = re.compile('aria-label="([^"]*)"')
STYLES = Path(__file__).resolve().parents[1] / "figures" / "static" / "circuit.css"


def describe_page(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:  # noqa: PLR0913
    """Give a page of the book its tags, and write its picture into the site; the signature is Sphinx's.

    A page that does not open with a circuit is shown by the front page's picture, which there always is: its title, and
    its circuit if it has one.
    """
    if doctree is None or app.builder.format != "html":  # a search is no page of the book
        return
    title, drawn = app.env.titles[pagename].astext(), DRAWING.search(context["body"])
    shown, alt = app.config.root_doc, app.config.html_title
    if drawn or pagename == shown:
        shown, alt = pagename, first_sentences(html.unescape(LABEL.search(drawn[0])[1])) if drawn else title
        to = Path(app.outdir, FOLDER)
        to.mkdir(parents=True, exist_ok=True)
        (to / file_of(shown)).write_bytes(picture(title, drawn[0] if drawn else ""))
    lead = first_sentences(_lead(doctree) or title)
    kind = "website" if pagename == app.config.root_doc else "article"
    named = {"description": lead, "twitter:card": "summary_large_image"}
    properties = {
        "og:type": kind, "og:title": title, "og:description": lead, "og:site_name": app.config.html_title,
        "og:image": address(pagename, shown, app.config.html_baseurl), "og:image:alt": alt,
        "og:image:type": "image/png", "og:image:width": str(WIDTH), "og:image:height": str(HEIGHT),
    }  # fmt: skip
    tags = [("name", *tag) for tag in named.items()] + [("property", *tag) for tag in properties.items()]
    context["metatags"] = context.get("metatags", "") + "".join(
        f'<meta {word}="{name}" content="{html.escape(text)}" />\n' for word, name, text in tags
    )


def address(pagename: str, shown: str, base: str) -> str:
    """Where a page finds the picture of the one that is ``shown``.

    Networks fetch whole addresses only, which the book can name where it is told its own: ``html: {baseurl: ...}`` in
    _config.yml. Until then this is the way from the page.
    """
    picture = f"{FOLDER}/{file_of(shown)}"
    return f"{base.rstrip('/')}/{picture}" if base else posixpath.relpath(picture, posixpath.dirname(pagename))


def file_of(pagename: str) -> str:
    """The name of a page's picture."""
    return f"{pagename.replace('/', '-')}.png"


def first_sentences(text: str) -> str:
    """The first whole sentences, ``MOST`` letters of them, or one that is longer: half of one may say another thing."""
    first, *others = re.split(r"(?<=[.?!]) (?=[^\W_a-z])", " ".join(text.split()))
    for sentence in others:
        if len(first) + 1 + len(sentence) > MOST:
            break
        first += f" {sentence}"
    return first


def _lead(doctree: nodes.document) -> str:
    """The first paragraph under the title; nothing where there is none, or where it has formulas."""
    section = next(doctree.findall(nodes.section), doctree)
    first = next((part for part in section.children if isinstance(part, nodes.paragraph)), None)
    return "" if first is None or next(first.findall(nodes.math), None) else first.astext()


def picture(title: str, svg: str) -> bytes:
    """A PNG, ``WIDTH`` by ``HEIGHT`` pixels: the title over the drawing, in light colours."""
    lines = textwrap.wrap(title, LETTERS)
    words = "".join(
        f'<text x="{MARGIN}" y="{MARGIN + LINE * (n + 1) - 14}" {LETTERING}>{html.escape(line)}</text>'
        for n, line in enumerate(lines)
    )
    above, drawing = MARGIN + LINE * len(lines), painted(svg, STYLES.read_text(encoding="utf-8"))
    room = f'x="{MARGIN}" y="{above}" width="{WIDTH - 2 * MARGIN}" height="{HEIGHT - above - MARGIN // 2}"'
    whole = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" color="{INK}" fill="{INK}" '
        f'font-family="system-ui, Arial, sans-serif"><rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>{words}'
        f"{drawing.replace('<svg ', f'<svg {room} ', 1)}</svg>"
    )
    return vl_convert.svg_to_png(whole, scale=1)
