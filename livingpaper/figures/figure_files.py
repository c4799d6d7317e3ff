"""The files of figures, stills and tables: inside the page, or beside it.

In a notebook a figure carries its files as ``data:`` addresses. Where a book is built they are written beside the
executed notebooks, and Sphinx takes them into the site: a page then loads a still when it comes near, and a table when
somebody asks for it, and nothing that makes pages has to read them.
"""

import base64
import os
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

ADDRESS = "figure-files"
"""Where the address of a file begins that lies beside the page; Sphinx knows from where each page sees that folder."""
NAMED = re.compile(rf'(?<="){ADDRESS}/([\w.-]+)(?=\\?")')
"""Such an address in HTML, also where that is a text of JSON, and the file's name in it."""
FOLDER = "figures"
"""The folder of those files, beside executed notebooks as in the site."""
SAFE = " !$&'()*+,-./:;=?@_~{}[]|^`"
"""Characters that a ``data:`` address can carry as they are inside double quotes."""

Keep = Callable[[str, str, str | bytes], str]
"""Keeps a file, by its name, its kind (MIME type) and what it holds, and gives the address by which a page has it."""


def inside(_: str, kind: str, content: str | bytes) -> str:
    """A file as a ``data:`` address; text is percent-encoded rather than base64, which compresses far worse."""
    if isinstance(content, bytes):
        return f"data:{kind};base64,{base64.b64encode(content).decode()}"
    return f"data:{kind};charset=utf-8," + quote(content, safe=SAFE)


def beside(name: str, _: str, content: str | bytes) -> str:
    """A file written beside the executed notebooks of a book, which must be under way; names are unique in a book."""
    folder = Path(os.environ["PAPER_RESULTS"]).parent / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return f"{ADDRESS}/{name}"
