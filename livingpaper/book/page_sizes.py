"""No page of the book is too long to load: one that is stops the build, which tells what it is made of."""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

MAX_PAGE = 2_000_000
"""Bytes of a page, without the weights that explorers load from beside it."""
N_NAMED = 3
FIGURE = re.compile(r'<figure[^>]*\bid="([\w-]+)".*?</figure>', re.DOTALL)
LOG = logging.getLogger(__name__)


def check_sizes(app: Sphinx, error: Exception | None) -> None:
    """Warn of every page above ``MAX_PAGE``, also of those that were not written anew."""
    if error or app.builder.format != "html":
        return
    for docname in sorted(app.env.found_docs):
        page = Path(app.builder.get_outfilename(docname))
        if page.is_file() and page.stat().st_size > MAX_PAGE:
            LOG.warning(told(docname, page.read_text(encoding="utf-8")), type="paper", subtype="size")


def told(name: str, text: str) -> str:
    """How long a page is, how long it may be, and its longest figures, each with its bytes."""
    figures = {found[1]: len(found[0].encode()) for found in FIGURE.finditer(text)}
    longest = sorted(figures, key=figures.__getitem__, reverse=True)[:N_NAMED]
    named = ", ".join(f"{figure} {figures[figure]:,}" for figure in longest) or "there is none"
    return f"{name}: {len(text.encode()):,} bytes, and a page has at most {MAX_PAGE:,}; its largest figures: {named}"
