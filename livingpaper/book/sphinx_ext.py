"""Sphinx extension of the book: executed outputs, computed numbers, and nothing fetched from outside.

- ``env-before-read-docs``: what is read anew is forgotten first.
- ``source-read``: a notebook's source gets the outputs of its executed copy, cell by cell; its first stage is put
  where the first cell says ``<!-- stage -->``, before the code that made it.
- ``config-inited``: the numbers that chapters left in ``results/NAME.json`` become MyST substitutions:
  ``{{ NAME_n_seeds }}`` in a Markdown page is ``numbers["n_seeds"]`` of ``results/NAME.json``;
  ``{{ published_root }}`` begins the root hash of what is published, ``{{ reproduced }}`` is the table of chapters that
  were made again from nothing.
- ``builder-inited``: Vega and MathJax are copied into the site from installed packages, and from beside the executed
  notebooks the weights that explorers load, the stills and the tables of figures.
- ``html-page-context``: figures get the addresses of their files; Vega is named only on the pages that have a chart;
  bibliographies read well aloud.
- ``build-finished``: every verdict as data, ``book/claims.json``, with its schema.
"""

import hashlib
import importlib.util
import json
import re
import shutil
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from circuitcore.ground.contents import Contents
from livingpaper.book import merging, numbered_references, painted_svg, reproductions, shared_link, studies
from livingpaper.book.book_order import counted_as, in_book_order, recorded_verdicts, title_of
from livingpaper.book.page_sizes import check_sizes
from livingpaper.claims.verdict import Status, schema, to_json
from livingpaper.figures import figure_files

# Counts that add up over chapters.
TOTALS = ("n_claims", "n_decided", "n_lost", *map(counted_as, Status))
FIGURES = Path(__file__).resolve().parents[1] / "figures" / "static"
MATHJAX = "vendor/mathjax-tex-svg.js"
TAKEN_ALONG = {"explorer": "*.js", figure_files.FOLDER: "*"}
"""Folders beside the executed notebooks whose files go into the site, and which files."""
ASSEMBLING = (sys.modules[__name__], merging, numbered_references, shared_link, painted_svg)
"""What makes pages, and whose change makes them all anew."""
SAY_NOTHING = {"sphinx_multitoc_numbering", "sphinx_jupyterbook_latex"}
"""Extensions that do not say whether pages can be read side by side, for which Sphinx would read them one by one.

They can: the first numbers sections when every page has been read, the second looks at one page at a time.
"""
LOG = logging.getLogger(__name__)


def forget_pages(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Forget every page that will be read anew before the first is: a figure may have moved from one to another."""
    for docname in docnames:
        app.emit("env-purge-doc", env, docname)
        env.clear_doc(docname)


def show_outputs(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the executed outputs into a notebook before it is parsed; a missing copy is a warning."""
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".ipynb":
        return
    book = Path(app.srcdir, "book")
    copied = path.relative_to(book) if path.is_relative_to(book) else path.name
    executed = Path(app.config.paper_executed, copied)
    if not executed.with_suffix(".stamp.json").exists():  # written last, and only if no cell raised
        LOG.warning("%s has not been executed: run python -m livingpaper.book.build", docname)
        return
    app.env.note_dependency(str(executed))
    source[0] = merging.merge(path, executed)


def add_numbers(app: Sphinx, config: Config) -> None:
    """Make every computed number available to Markdown pages: ``CHAPTER_NAME``, or ``NAME`` from other notebooks.

    Without a chapter's name, a count of claims (``n_supported``) is the sum over all chapters.
    """
    config.paper_executed = str(Path(app.srcdir, config.paper_executed))
    numbers = dict(config.myst_substitutions)
    totals = Counter()
    for result in sorted(Path(config.paper_executed, "results").glob("*.json")):
        record = json.loads(result.read_text(encoding="utf-8"))
        prefix, computed = (f"{result.stem}_" if "chapter" in record else ""), record.get("numbers", {})
        numbers |= {f"{prefix}{name}": value for name, value in computed.items()}
        if prefix:
            totals.update({name: int(computed[name]) for name in TOTALS if name in computed})
    if listed := Contents.of(Path(app.srcdir, "published")):
        numbers["published_root"] = listed.root[:12]
        names = in_book_order(Path(app.srcdir), studies.names())
        titles = {name: title_of(Path(app.srcdir), name) for name in names}
        n_runs = {name: int(numbers[key]) for name in names if (key := f"{name}_n_runs") in numbers}
        numbers["reproduced"] = reproductions.as_table(Path(app.srcdir, "published"), titles, n_runs)
    config.myst_substitutions = {name: str(total) for name, total in totals.items()} | numbers


def note_assets(app: Sphinx, config: Config) -> None:
    """Make an edited style sheet or script, or a new Vega, reach every page (Sphinx follows documents only)."""
    files = [Path(module.__file__) for module in ASSEMBLING]
    for folder in config.html_static_path:
        files += sorted(path for path in Path(app.confdir, folder).rglob("*") if path.is_file())
    digest = hashlib.sha256(vega_bundle().encode())
    for path in files:
        digest.update(path.name.encode() + path.read_bytes())
    config.paper_assets = digest.hexdigest()


def add_figure_styles(app: Sphinx, config: Config) -> None:
    """Figures, badges and provenance look in the book as in a live notebook."""
    config.html_static_path.append(str(FIGURES))


def read_side_by_side(app: Sphinx, config: Config) -> None:
    """Say for extensions that do not say it, now that all are loaded, that pages can be read side by side."""
    for name in SAY_NOTHING & set(app.extensions):
        app.extensions[name].parallel_read_safe = True


def vega_bundle() -> str:
    """The file name of the Vega bundle, below ``_static``; it names what decides the file's content."""
    return f"vendor/vega-altair-{version('altair')}-vl-convert-{version('vl-convert-python')}.js"


def add_vendored_scripts(app: Sphinx) -> None:
    """Write Vega (with Altair's version of Vega-Lite) and MathJax into the site, unless they are there."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    (static / "vendor").mkdir(parents=True, exist_ok=True)
    vega, mathjax = static / vega_bundle(), static / MATHJAX
    if not vega.exists():
        from livingpaper.figures.vega import javascript  # slow to import, and rarely needed

        vega.write_text(javascript(), encoding="utf-8")
    if not mathjax.exists():
        # Only one file of the package: as a Sphinx extension it would copy 24 MB of fonts.
        package = importlib.util.find_spec("sphinx-mathjax-offline")
        shutil.copyfile(Path(package.origin).parent / "static/mathjax/tex-svg.js", mathjax)


def add_files(app: Sphinx) -> None:
    """Copy what explorers load and the files of figures into the site, where they are new or have changed.

    Those that are not made any more are taken away.
    """
    if app.builder.format != "html":
        return
    for folder, which in TAKEN_ALONG.items():
        to = Path(app.outdir, "_static", folder)
        to.mkdir(parents=True, exist_ok=True)
        made = sorted(Path(app.config.paper_executed, folder).glob(which))
        for gone in {path.name for path in to.iterdir()} - {path.name for path in made}:
            (to / gone).unlink()
        for path in made:
            copy = to / path.name
            if not copy.exists() or copy.read_bytes() != path.read_bytes():
                shutil.copyfile(path, copy)


def add_claims(app: Sphinx, error: Exception | None) -> None:
    """Write every verdict as data beside the page of claims, with the schema."""
    results = Path(app.config.paper_executed, "results")
    if error or app.builder.format != "html" or not results.is_dir():
        return
    chapters = recorded_verdicts(Path(app.srcdir), results)
    beside = Path(app.outdir, "book")
    everything = [verdict for verdicts in chapters.values() for verdict in verdicts]
    beside.mkdir(parents=True, exist_ok=True)
    (beside / "claims.json").write_text(to_json(everything), encoding="utf-8")
    (beside / "claims.schema.json").write_text(json.dumps(schema(), indent=1) + "\n", encoding="utf-8")


def check_files(app: Sphinx, body: str, pagename: str) -> None:
    """Warn of weights that an explorer of the page names, and of figures' files, that were not made."""
    needed = {f"explorer/{run}.js": f"the weights of run {run}" for run in _runs_shown(body)}
    needed |= {
        f"{figure_files.FOLDER}/{name}": f"the figure's file {name}" for name in figure_files.NAMED.findall(body)
    }
    for file, what in needed.items():
        if not Path(app.config.paper_executed, file).is_file():
            LOG.warning("%s: %s is not there; delete build/executed and build again", pagename, what)


def _runs_shown(body: str) -> list[str]:
    return re.findall(r'"id":"([\w-]+)","condition"', body) if 'class="explorer"' in body else []


def finish_page(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: object) -> None:  # noqa: PLR0913
    """Give figures the addresses of their files, name Vega on pages with a chart, and mend the bibliography's roles.

    The signature is Sphinx's.
    """
    body = context.get("body", "")
    check_files(app, body, pagename)
    figures = context["pathto"](f"_static/{figure_files.FOLDER}", 1)
    body = figure_files.NAMED.sub(lambda file: f"{figures}/{file[1]}", body)
    vega = {"data-vega": vega_bundle()} if "vl-chart" in body else {}
    # Deferred scripts run in this order: before MathJax (500), whose settings, not deferred, are there already.
    app.add_js_file("mount.js", loading_method="defer", priority=400, **vega)
    # docutils makes a list of things that are no list items, which screen readers announce as an empty list.
    context["body"] = body.replace('<div role="list" class="citation-list">', '<div class="citation-list">').replace(
        ' role="doc-biblioentry"', ""
    )


def setup(app: Sphinx) -> dict[str, object]:
    """Connect the hooks; called by Sphinx."""
    app.add_config_value("paper_executed", "build/executed/published", "env")
    app.add_config_value("paper_assets", "", "env")
    app.connect("config-inited", add_numbers)
    app.connect("config-inited", add_figure_styles)
    app.connect("config-inited", read_side_by_side)
    app.connect("config-inited", note_assets)
    app.connect("env-before-read-docs", forget_pages)
    app.connect("source-read", show_outputs)
    app.connect("builder-inited", add_vendored_scripts)
    app.connect("builder-inited", add_files)
    app.connect("html-page-context", finish_page)
    app.connect("html-page-context", shared_link.describe_page)
    app.connect("build-finished", add_claims)
    app.connect("build-finished", check_sizes)
    numbered_references.setup(app)
    app.add_css_file("figures.css")
    app.add_css_file("circuit.css")
    app.add_css_file("paper.css")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
