"""One chapter as one HTML file: built by the book's own toolchain, then everything it loads written into it."""

import itertools
import json
import mimetypes
import re
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from livingpaper.book.notebooks import BookError
from livingpaper.figures.figure_files import inside

# Navigation between pages means nothing in a file that is alone. Its icons are a script of 1.5 MB.
ELSEWHERE = (
    "header.bd-header", "div.bd-header-article", "div.bd-sidebar-primary", "div.bd-sidebar-secondary",
    "footer.prev-next-footer", "div.prev-next-footer", "footer.bd-footer", "dialog#pst-search-dialog",
    "div.search-button__wrapper", "form.bd-search", "input.sidebar-toggle", "label.overlay",
    "div#pst-scroll-pixel-helper", "div.pst-async-banner-revealer", "button#pst-back-to-top",
    "a.skip-link", "div#pst-skip-link", "noscript",
    'meta[property^="og:image"]',
)  # fmt: skip
NAVIGATION_SCRIPTS = (
    "fontawesome", "bootstrap", "pydata-sphinx-theme", "sphinx-book-theme", "searchtools", "language_data",
    "searchindex", "sphinx_highlight", "design-tabs",
)  # fmt: skip
# The theme's own script, which is left out, would set this.
THEME = (
    "const dark = matchMedia('(prefers-color-scheme: dark)');"
    "const follow = () => { document.documentElement.dataset.theme = dark.matches ? 'dark' : 'light'; };"
    "dark.addEventListener('change', follow); follow();"
)
LAYOUT = ".bd-article-container { max-width: 50rem; margin-inline: auto; }"
MOST_WEIGHTS = 16_000_000
"""Bytes of networks' weights that one file takes along: of what explorers open on, then of their paths, then of the
reader's runs."""
# In the book the references are a page of their own.
REFERENCES = "## References\n\n```{bibliography}\n:filter: docname in docnames\n```\n"
TOC = "format: jb-book\nroot: book/{name}\n"


def build_page(root: Path, name: str, executed: Path) -> str:
    """The chapter ``name`` as one HTML text that needs no other file and no network.

    Args:
        root: the folder of the book (``_config.yml``, ``book/``).
        name: the notebook's name without its ending.
        executed: the folder that holds its executed copy.

    Raises:
        BookError: the page did not build, or needs a file that is not there.
    """
    from jupyter_book.sphinx import build_sphinx

    with TemporaryDirectory() as folder, warnings.catch_warnings():
        # Sphinx looks at every object there is; among torch's are some that warn when looked at.
        warnings.simplefilter("ignore", FutureWarning)
        source, out = Path(folder, "source"), Path(folder, "out")
        _copy_sources(root, name, source)
        code = build_sphinx(
            source,
            out,
            noconfig=True,
            path_config=source / "_config.yml",
            # Links to pages that are not here become plain words.
            confoverrides={
                "latex_individualpages": False,
                "paper_executed": str(executed.resolve()),
                "suppress_warnings": ["ref", "myst", "toc", "bibtex", "paper.size"],
            },
            doctreedir=Path(folder, "doctrees"),
            freshenv=True,
            quiet=True,
        )
        page = out / "book" / f"{name}.html"
        if code or not page.is_file():
            raise BookError(f"the page of {name} did not build; the messages are above")
        return inlined(page)


def _copy_sources(root: Path, name: str, to: Path) -> None:
    """The least of the book that one page is built from."""
    (to / "book").mkdir(parents=True)
    shutil.copy(root / "_config.yml", to)
    for file in (root / "book").glob("*.bib"):
        shutil.copy(file, to / "book")
    notebook = json.loads((root / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))
    if any("{cite" in "".join(cell["source"]) for cell in notebook["cells"]):
        notebook["cells"].append({"cell_type": "markdown", "id": "references", "metadata": {}, "source": REFERENCES})
    (to / "book" / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    shutil.copytree(root / "book" / "_static", to / "book" / "_static")
    (to / "_toc.yml").write_text(TOC.format(name=name), encoding="utf-8")


def inlined(page: Path) -> str:
    """The page with its style sheets, scripts and pictures inside it, without the navigation of a site.

    Raises:
        BookError: it loads a file that is not there.
    """
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    for selector in ELSEWHERE:
        for element in soup.select(selector):
            element.decompose()
    _inline_scripts(soup, page)
    _inline_weights(soup, page)
    _inline_links(soup, page)
    for attribute, elements in (("src", "img"), ("srcset", "source"), ("href", "a[download]")):
        for element in soup.select(elements):
            if _is_local(element[attribute]):
                element[attribute] = _text_or_data(_file(element[attribute], page)).replace(" ", "%20")
    here = {element["id"] for element in soup.find_all(id=True)}
    for link in soup.find_all("a", href=True):
        elsewhere = link["href"].startswith("#") and link["href"][1:] not in {"", *here}
        if elsewhere or _is_local(link["href"]):
            link.unwrap()
    return str(soup)


def _inline_scripts(soup: BeautifulSoup, page: Path) -> None:
    deferred = []
    needs_math = bool(soup.select(".math"))
    for script in soup.find_all("script", src=True):
        file = _file(script["src"], page)
        unused = file.stem in NAVIGATION_SCRIPTS or ("mathjax" in file.stem and not needs_math)
        late = script.has_attr("defer") or script.has_attr("async")
        if unused:
            script.decompose()
            continue
        text = _script_text(file)
        inline = soup.new_tag("script")
        inline.string = re.sub(r"//# sourceMappingURL=\S+", "", text)
        if bundle := script.get("data-vega"):  # run by the first chart that comes near
            vega = soup.new_tag("script", type="text/plain", attrs={"class": "vega-bundle"})
            vega.string = _script_text(_file(bundle, file))
            soup.body.append(vega)
        # Only a script with an address can wait for the page, so what waited goes to its end.
        if late:
            script.decompose()
            deferred.append(inline)
        else:
            script.replace_with(inline)
    theme = soup.new_tag("script")
    theme.string = THEME
    soup.head.append(theme)
    for script in deferred:
        soup.body.append(script)


def _script_text(file: Path) -> str:
    return file.read_text(encoding="utf-8").replace("</script", "<\\/script")


def _inline_weights(soup: BeautifulSoup, page: Path) -> None:
    """What explorers load, as texts that they find in the page; each is told which runs found no room."""
    boxes = soup.select("div.explorer")
    exhibits = [json.loads(box.select_one("script.explorer-data").string) for box in boxes]
    wanted, room, taken = [_wanted_runs(exhibit) for exhibit in exhibits], MOST_WEIGHTS, set()
    # An explorer further down needs its opening more than the first one needs all its runs.
    for run in dict.fromkeys(run for rank in range(3) for runs in wanted for run in runs[rank]):
        text = _file(f"../_static/explorer/{run}.js", page).read_text(encoding="utf-8")
        if len(text) <= room:
            room -= len(text)
            taken.add(run)
            weights = soup.new_tag("script", type="text/plain", attrs={"class": "explorer-weights", "data-run": run})
            weights.string = text
            # Before the script that looks for them, in the first explorer that shows the run.
            first = next(box for box, runs in zip(boxes, wanted, strict=True) if run in runs[-1])
            first.select_one("script.explorer-data").insert_before(weights)
    for box, exhibit in zip(boxes, exhibits, strict=True):
        if left_out := [run["id"] for run in exhibit["runs"] if run["id"] not in taken]:
            box["data-left-out"] = " ".join(left_out)


def _wanted_runs(exhibit: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """The runs an explorer opens on, those of its path, and all: the last, which are the reader's, first."""
    states = [{**exhibit["opening"], **stop["state"]} for stop in exhibit["path"]] or [exhibit["opening"]]
    shown = [[place["run"] for place in (state, state.get("other")) if place] for state in states]
    return shown[0], list(itertools.chain(*shown)), [run["id"] for run in reversed(exhibit["runs"])]


def _inline_links(soup: BeautifulSoup, page: Path) -> None:
    for link in soup.find_all("link"):
        kind = link.get("rel", [""])[0]
        if kind == "stylesheet":
            file = _file(link["href"], page)
            style = soup.new_tag("style")
            style.string = _styles_of(file)
            link.replace_with(style)
        elif kind == "icon":
            link["href"] = _data(_file(link["href"], page))
        else:
            link.decompose()
    layout = soup.new_tag("style")
    layout.string = LAYOUT
    soup.head.append(layout)


def _styles_of(file: Path) -> str:
    """A style sheet with what it imports and its local files inside; icon fonts are dropped with the icons."""
    css = file.read_text(encoding="utf-8")
    imported = r"@import\s+(?:url\()?['\"]([^'\"]+)['\"]\)?\s*;"
    css = re.sub(imported, lambda match: _styles_of(_file(match[1], file)), css)
    css = re.sub(r"@font-face\s*{[^}]*fontawesome[^}]*}", "", css, flags=re.IGNORECASE)

    def data(match: re.Match) -> str:
        address = match[2]
        return f'url("{_data(_file(address, file))}")' if _is_local(address) else match[0]

    css = re.sub(r"url\((['\"]?)([^'\")]+)\1\)", data, css)
    return re.sub(r"/\*# sourceMappingURL=.*?\*/", "", css)


def _is_local(address: str) -> bool:
    parts = urlsplit(address)
    return not parts.scheme and not parts.netloc and bool(parts.path)


def _file(address: str, beside: Path) -> Path:
    file = (beside.parent / unquote(urlsplit(address).path)).resolve()
    if not file.is_file():
        raise BookError(f"{beside.name} needs {address}, which is not there")
    return file


def _text_or_data(file: Path) -> str:
    text = file.suffix in (".svg", ".csv")
    return inside(file.name, _kind(file), file.read_text(encoding="utf-8")) if text else _data(file)


def _data(file: Path) -> str:
    return inside(file.name, _kind(file), file.read_bytes())


def _kind(file: Path) -> str:
    return mimetypes.guess_type(file.name)[0] or "application/octet-stream"
