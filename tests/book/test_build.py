"""What the build executes again, what it refuses, and that nothing refused is published.

On a small project of three pages whose chapter writes one number. Every build is a process of its own, as a reader's.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest
from docutils.nodes import document
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from packed_index import write_index
from sphinx.environment import BuildEnvironment

import paper
from circuitcore.ground.contents import Contents
from circuitcore.ground.environment import n_cores
from circuitcore.ground.interruption import INTERRUPTED
from circuitcore.ground.packed import INDEX_NAME
from livingpaper.book.build import _of_figures, main
from livingpaper.book.merging import merge, overlay_values
from livingpaper.book.notebooks import BookError, Job, code_cells, declared_parameters, read_parameters
from livingpaper.book.numbered_references import _PagesKept
from livingpaper.book.sphinx_ext import vega_bundle
from livingpaper.figures import figure_files
from livingpaper.figures.vega import javascript

LISTED = Contents({"run/run/recipe": "0" * 64, "run/packed/recipe": "0" * 64})
TOC = "{format: jb-book, root: book/index, chapters: [{file: book/chapter}, {file: book/claims}]}"
CELLS = {
    "title": "# A chapter\n\nA first sentence.",
    "parameters": "# Parameters\nseeds = [0]  # which networks\nwidth = 8",
    "compute": (
        "import json, os, pathlib\n"
        "results = pathlib.Path(os.environ['PAPER_RESULTS'])\n"
        "numbers = {'n_seeds': str(len(seeds)), 'n_claims': '2'}\n"
        "(results / 'chapter.json').write_text(json.dumps({'chapter': 'chapter', 'numbers': numbers}))\n"
        "print('seeds', seeds, os.environ['PAPER_TIER'], os.environ['PAPER_BUILD'])"
    ),
}
STALE = (
    "from livingpaper.book.build import find_jobs; from pathlib import Path; root = Path.cwd();"
    "found = find_jobs(root, 'published', root / 'build/executed/published');"
    "print(*sorted(job.source.stem for jobs in found for job in jobs if not job.is_current))"
)
READS_RESULTS = (
    "import json, os, pathlib\n"
    "results = pathlib.Path(os.environ['PAPER_RESULTS'])\n"
    "print('read', json.loads((results / 'chapter.json').read_text()))\n"
    "(results / 'claims.json').write_text(json.dumps({'numbers': {'abstract': 'Two claims.'}}))"
)


def write_notebook(path: Path, cells: dict[str, str]) -> None:
    """Write a notebook; cells are named by their id, and those that start with a heading are prose."""
    made = []
    for name, source in cells.items():
        cell = (new_markdown_cell if source.startswith("# A") else new_code_cell)(source, id=name)
        cell.metadata["tags"] = ["parameters"] if name == "parameters" else []
        made.append(cell)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=made, metadata={"kernelspec": kernel}), path)


class Project:
    """A book of its own in a temporary folder."""

    def __init__(self, root: Path):
        self.root = root
        source = Path(paper.__file__).parent
        for folder in ("book", "params", "published/run", "published/pack"):
            (root / folder).mkdir(parents=True)
        for name in ("_config.yml", "requirements.txt"):
            shutil.copy(source / name, root / name)
        shutil.copytree(source / "book/_static", root / "book/_static")
        # A library of its own, so that one may edit the real one while the tests run.
        for package in ("circuitcore", "livingpaper", "retrieval_circuits"):
            shutil.copytree(source / package, root / package)  # with its bytecode, or each project would compile it
        self.write("_toc.yml", TOC)
        self.write("book/references.bib", "")
        self.write(
            "book/index.md",
            "# A book\n\nIt rests on {{ chapter_n_seeds }} seeds. {{ abstract }} In all {{ n_claims }}. "
            "Its root is {{ published_root }}.\n",
        )
        self.write("params/chapter.yaml", "seeds: [3, 4]\n")
        self.write("published/run/ledger.json", "{}")
        (root / "published/pack").mkdir(parents=True, exist_ok=True)
        write_index(root / "published/pack" / INDEX_NAME, '{"run_id": "packed", "arm": "trained"}')
        self.write("published/contents.json", LISTED.to_json())
        vega = root / "_build/html/_static" / vega_bundle()  # made once for all books: it takes a second and a half
        vega.parent.mkdir(parents=True)
        vega.write_text(javascript(), encoding="utf-8")
        self.chapter(**CELLS)
        write_notebook(root / "book/claims.ipynb", {"title": "# All claims", "read": READS_RESULTS})

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def chapter(self, **cells: str) -> None:
        write_notebook(self.root / "book/chapter.ipynb", cells)

    def build(self, *options: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "livingpaper.book.build", *options]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)

    def executed(self) -> dict[str, bool]:
        """Build, which must succeed; whether each notebook was executed."""
        before = self.published()
        done = self.build()
        assert done.returncode == 0, done.stdout + done.stderr
        assert self.published() == before, "a build writes nothing there"
        lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ".ipynb: " in line)
        return {name.removesuffix(".ipynb"): words.startswith("executed") for name, words in lines.items()}

    def stale(self) -> list[str]:
        """The notebooks that a build would execute now."""
        done = subprocess.run([sys.executable, "-c", STALE], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.split()

    def published(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in (self.root / "published").rglob("*") if path.is_file()}

    def page(self, name: str) -> str:
        return (self.root / f"_build/html/book/{name}.html").read_text()


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


BOTH = {"chapter": True, "claims": True}
CHAPTER = {"chapter": True, "claims": False}
NEITHER = {"chapter": False, "claims": False}


def test_a_notebook_is_executed_only_when_what_it_computes_from_has_changed(project):
    assert project.executed() == BOTH
    assert "It rests on 2 seeds. Two claims. In all 2." in project.page("index")
    assert f"Its root is {LISTED.root[:12]}." in project.page("index")
    assert "seeds [3, 4] published 1" in project.page("chapter")
    (named,) = re.findall('property="og:image" content="([^"]*)"', project.page("chapter"))
    assert (project.root / "_build/html/book" / named).is_file(), "a book without circuits has a picture, too"

    project.chapter(**CELLS | {"title": "# A chapter\n\nA better sentence."})
    project.write("book/_static/paper.css", "/* new */")
    assert project.executed() == NEITHER
    assert "A better sentence." in project.page("chapter")
    assert "seeds [3, 4] published 1" in project.page("chapter")
    assert (project.root / "_build/html/_static/paper.css").read_text() == "/* new */", "a style reaches the site"

    project.chapter(**CELLS | {"compute": CELLS["compute"] + "\nprint('more')"})
    assert project.executed() == CHAPTER, "its results are the same, so the claims are"

    project.write("params/chapter.yaml", "seeds: [5]\n")
    assert project.executed() == BOTH
    assert "It rests on 1 seeds." in project.page("index")

    hook = "livingpaper/book/sphinx_ext.py"
    by_hand = "build/executed/published/results/chapter.json"
    for name, text, stale in (
        ("published/run/ledger.json", '{"step": 1}', ["chapter", "claims"]),
        ("circuitcore/__init__.py", "# a new library", ["chapter", "claims"]),
        (hook, (project.root / hook).read_text() + "# it only assembles pages", []),
        (by_hand, '{"numbers": {"n_seeds": "99"}}', ["chapter", "claims"]),
    ):
        before = (project.root / name).read_text()
        assert project.stale() == []
        project.write(name, text)
        assert project.stale() == stale, name
        project.write(name, before)


WAITS = "import os, time\nopen('waiting', 'w').write(str(os.getpid()))\ntime.sleep(600)"
INTERRUPTS = """
import os, signal

def setup(app):
    os.kill(os.getpid(), signal.SIGINT)
"""
ENDED = "The book was not built: interrupted. The same command goes on from the notebooks that are executed."


@pytest.mark.parametrize("how", ["in a build, by another thread", "in a rerun, by the main one"])
def test_ctrl_c_while_a_notebook_is_executed_ends_all_and_its_kernel_at_once(project, how):
    project.chapter(**CELLS, wait=WAITS)
    program = WITH_CTRL_C if "build" in how else ALONE_WITH_CTRL_C
    waiting, command = project.root / "waiting", [sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=project.root, stderr=subprocess.PIPE, text=True) as build:
        until(lambda: build.poll() is not None or (waiting.is_file() and waiting.read_text()))
        assert build.poll() is None
        build.send_signal(signal.SIGINT)
        assert build.wait(10) == INTERRUPTED
        said = build.stderr.read()
    assert said.splitlines()[-1] == ENDED and "Traceback" not in said
    until(lambda: not is_alive(int(waiting.read_text())))
    project.chapter(**CELLS)
    assert project.executed()["chapter"]


def test_ctrl_c_while_pages_are_made_is_a_sentence_too(project):
    # A kernel that ends may write an error of its sockets where the build writes; here none is started.
    assert project.executed() == BOTH
    config, last = (project.root / "_config.yml").read_text(), "      - livingpaper.book.sphinx_ext\n"
    project.write("interrupts.py", INTERRUPTS)
    project.write("_config.yml", config.replace(last, f"{last}      - interrupts\n"))
    command = [sys.executable, "-c", WITH_CTRL_C]
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)
    assert done.returncode == INTERRUPTED and done.stderr.splitlines()[-1] == ENDED
    assert not {"Traceback", "Interrupted!"} & set(done.stderr.split())
    project.write("_config.yml", config)
    assert project.executed() == NEITHER


NOTES_WHO = """
import os
from pathlib import Path

def noted(what):
    return lambda app, *given: Path(f"{what}-{os.getpid()}").touch()

def setup(app):
    app.connect("source-read", noted("read"))
    app.connect("html-page-context", noted("wrote"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
"""


@pytest.mark.skipif(n_cores() == 1, reason="one core reads and writes all")
def test_pages_are_read_and_written_by_all_cores(project):
    config, last = (project.root / "_config.yml").read_text(), "      - livingpaper.book.sphinx_ext\n"
    project.write("_config.yml", config.replace(last, f"{last}      - notes_who\n"))
    project.write("notes_who.py", NOTES_WHO)
    names = [f"book/more{number}" for number in range(4)]
    for name in names:
        project.write(f"{name}.md", "# More\n\n{numref}`fig-a`\n")
    project.chapter(**CELLS | {"draw": DRAWS})
    more = ", ".join(f"{{file: {name}}}" for name in names)
    project.write("_toc.yml", TOC.replace("}]}", f"}}, {more}]}}"))
    assert project.executed() == BOTH
    for what in ("read", "wrote"):
        assert len(list(project.root.glob(f"{what}-*"))) > 1, what
    assert re.findall(NUMBERED, project.page("more3")) == [("chapter.html#fig-a", "Fig. 1")]


# As in a terminal: whoever runs these tests in the background has Ctrl-C ignored.
WITH_CTRL_C = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "runpy.run_module('livingpaper.book.build', run_name='__main__', alter_sys=True)"
)

ALONE_WITH_CTRL_C = f"""
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from circuitcore.ground.interruption import ended_by_ctrl_c
from livingpaper.book.notebooks import Job, kernel_environment, run_notebook

root = Path.cwd()
job = Job(source=root / "book/chapter.ipynb", parameters=dict(), executed=root / "out/chapter.ipynb", inputs="")
(root / "out/results").mkdir(parents=True)
with ended_by_ctrl_c({ENDED!r}), kernel_environment("published", root / "out"):
    run_notebook(job, root)
"""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(true) -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("nothing happened in a minute")


def test_a_cell_that_raises_fails_the_build_every_time_and_nothing_is_built(project):
    project.chapter(**CELLS, bad="{}['the missing key']")
    for _ in range(2):
        done = project.build()
        assert done.returncode == 1
        assert "chapter.ipynb failed" in done.stderr
        assert "KeyError: 'the missing key'" in done.stderr
    assert [path.name for path in (project.root / "_build").rglob("*") if path.is_file()] == [Path(vega_bundle()).name]
    project.chapter(**CELLS)
    assert project.executed()["chapter"]


def test_a_number_nobody_computed_fails_the_build_every_time(project):
    project.write("book/index.md", "# A book\n\nIt rests on {{ chapter_n_sedes }} seeds.\n")
    for _ in range(2):
        done = project.build()
        assert done.returncode == 1
        assert "chapter_n_sedes" in done.stderr


def test_a_misspelt_parameter_stops_before_a_kernel_starts(project):
    project.write("params/chapter.yaml", "seed: [3]\n")
    done = project.build()
    assert done.returncode == 1
    assert "unknown parameter 'seed'; did you mean 'seeds'?" in done.stderr
    assert not list(project.root.glob("build/executed/published/*.ipynb"))


def test_a_tier_without_parameters_of_its_own_is_refused(project):
    done = project.build("--tier", "smoke")
    assert done.returncode == 1
    assert "params/chapter.smoke.yaml is missing" in done.stderr


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda folder: shutil.rmtree(folder / "run"), "missing: run."),
        (lambda folder: write_index(folder / "pack" / INDEX_NAME, ""), "missing: packed."),
        (lambda folder: write_index(folder / "pack" / INDEX_NAME, "{"), f"{INDEX_NAME}: line 1 is damaged"),
        (lambda folder: (folder / "pack" / INDEX_NAME).write_text("{"), f"{INDEX_NAME}: damaged"),
        (lambda folder: shutil.copytree(folder / "run", folder / "more"), "never published: more."),
        (lambda folder: (folder / "contents.json").unlink(), "contents.json: missing"),
        (lambda folder: (folder / "contents.json").write_text("{}"), "contents.json: damaged"),
    ],
)
def test_published_runs_that_are_not_those_listed_stop_it_before_a_kernel_starts(project, capsys, damage, told):
    damage(project.root / "published")
    with contextlib.chdir(project.root):
        assert main([]) == 1
    error = capsys.readouterr().err
    assert "The book was not built." in error and told in error and str(project.root / "published") in error
    assert not (project.root / "build").exists()


def test_the_command_must_run_in_the_books_folder(project):
    (project.root / "_config.yml").unlink()
    done = project.build()
    assert done.returncode == 1
    assert "no _config.yml" in done.stderr


def test_a_notebook_without_parameters_needs_no_params_file(project):
    assert read_parameters(project.root, project.root / "book/claims.ipynb", "smoke") == {}


def test_what_is_wrong_with_the_parameters_of_an_appendix_names_the_appendix(tmp_path):
    (tmp_path / "params").mkdir()
    (tmp_path / "params/kv.yaml").write_text("seeds: [0]\nepochs: 3\n")
    path = tmp_path / "book/appendix/kv.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(
        nbformat.writes(new_notebook(cells=[new_code_cell("seeds = [0]", metadata={"tags": ["parameters"]})]))
    )
    with pytest.raises(BookError, match=r"epochs.* in appendix/kv\.ipynb"):
        read_parameters(tmp_path, path, "published")
    with pytest.raises(BookError, match=r"appendix/kv\.ipynb has parameters for another tier only"):
        read_parameters(tmp_path, path, "smoke")


def test_a_notebook_without_cell_ids_is_refused(tmp_path):
    path = tmp_path / "old.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": "1", "metadata": {}}]}))
    with pytest.raises(BookError, match=r"old\.ipynb: cells \[0\] have no id"):
        code_cells(path)
    path.write_text("# not JSON")
    with pytest.raises(BookError, match=r"old\.ipynb is not a Jupyter notebook"):
        code_cells(path)


def test_only_the_parameters_cell_declares_parameters(project):
    assert declared_parameters(project.root / "book/chapter.ipynb") == {"seeds", "width"}


def test_merging_keeps_the_sources_prose_and_shows_the_values_used(project, tmp_path):
    source, executed = project.root / "book/chapter.ipynb", tmp_path / "executed.ipynb"
    done = nbformat.read(source, as_version=4)
    widget = {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "a bar"}
    done.cells[2].outputs = [
        nbformat.v4.new_output("stream", text="computed"),
        nbformat.v4.new_output("display_data", data=widget),
    ]
    done.cells[0].source = "# An older title"
    injected = new_code_cell("# Parameters\nseeds = [3, 4]\n", id="injected")
    injected.metadata["tags"] = ["injected-parameters"]
    done.cells.insert(2, injected)
    nbformat.write(done, executed)
    title, parameters, compute = nbformat.reads(merge(source, executed), as_version=4).cells
    assert title.source == CELLS["title"]
    assert parameters.source == "# Parameters\nseeds = [3, 4]  # which networks\nwidth = 8"
    assert [output.get("text") for output in compute.outputs] == ["computed"]


@pytest.mark.parametrize(
    ("before", "injected", "after"),
    [
        ("a = 1\nb = 2", "b = 3", "a = 1\nb = 3"),
        ("a = [\n    1,\n    2,\n]  # why\nb = 2\n", "a = [5]\nb = 'x'", "a = [5]  # why\nb = 'x'\n"),
        ("# é ü\na = 'é'; b = 2  # ñ", "b = {'k': None}", "# é ü\na = 'é'; b = {'k': None}  # ñ"),
        ("a = 1", "# Parameters\n", "a = 1"),
    ],
)
def test_injected_values_replace_values_and_nothing_else(before, injected, after):
    assert overlay_values(before, injected) == after


DRAWS = (
    "import pandas as pd\nfrom livingpaper.book import chapter\nfrom livingpaper.claims.view import View\n"
    "from livingpaper.figures import bars\n"
    "rows = pd.DataFrame({'group': ['a'] * 3, 'init_seed': [0, 1, 2], 'value': [.1, .2, .3]})\n"
    "view = View(rows, 'share', 'test')\n"
    "chapter.page().figure('fig-a', bars.seeds(view), view, takeaway='A is low.', alt='Points.')"
)


def test_a_figure_has_its_files_beside_its_page_those_of_now_and_no_others(project):
    project.chapter(**CELLS | {"title": "# A chapter\n\nSee {numref}`fig-a`, and {numref}`fig-a`.", "draw": DRAWS})
    front = (project.root / "book/index.md").read_text()
    project.write("book/index.md", f"{front}\nSee {{numref}}`fig-a`.\n")
    project.executed()
    site, made = project.root / "_build/html", project.root / "build/executed/published/figures"
    addresses = set(re.findall(r'(?:src|srcset|href)="(\.\./_static/figures/[^"]*)"', project.page("chapter")))
    files = {(site / "book" / address).resolve() for address in addresses}
    assert {file.name for file in files} == {"fig-a.svg", "fig-a.narrow.svg", "fig-a.csv"}
    before = {file: file.read_bytes() for file in files}
    found = {name: re.findall(NUMBERED, project.page(name)) for name in ("chapter", "index")}
    assert found == {"chapter": [("#fig-a", "Fig. 1")] * 2, "index": [("chapter.html#fig-a", "Fig. 1")]}

    (made / "fig-a.csv").unlink()
    (made / "fig-a.svg").write_text("<svg/>")
    assert project.executed() == CHAPTER, "what a page needs is there again, and unaltered"
    assert {file: file.read_bytes() for file in files} == before

    project.chapter(**CELLS | {"draw": DRAWS.replace(".3]", ".9]").replace("fig-a", "fig-b")})
    project.write("book/index.md", front)
    assert project.executed() == CHAPTER
    for folder in (made, site / "_static/figures"):
        found = {file.name.replace("fig-b", "fig-a"): file.read_bytes() for file in folder.iterdir()}
        assert found.keys() == {file.name for file in before} and not set(found.values()) & set(before.values())


def test_two_figures_of_one_name_are_refused(tmp_path):
    """Each would have the other's files, and references the number of one of them."""
    executed = {"a": ["fig-x"], "b": ["fig-y"], "appendix/b": ["fig-x", "fig-z"]}
    jobs = [Job(source=Path(f"book/{name}.ipynb"), parameters={}, executed=tmp_path / f"{name}.ipynb", inputs="")
            for name in executed]  # fmt: skip
    for job in jobs:
        job.executed.parent.mkdir(exist_ok=True)
        files = (f"{name}.{ending}" for name in executed[job.name] for ending in ("svg", "narrow.svg", "csv"))
        job.executed.write_text(" ".join(f'"{figure_files.ADDRESS}/{file}"' for file in files))
    assert set(_of_figures(jobs[:2]).values()) == {"a", "b"} and len(_of_figures(jobs[:2])) == 6
    with pytest.raises(BookError, match="figure 'fig-x' is in a and in appendix/b: no two of a book have one name"):
        _of_figures(jobs)


NUMBERED = r'href="([^"]*)"><span class="std std-numref">([^<]*)<'


def test_references_to_figures_read_each_page_once():
    env = Mock(spec=BuildEnvironment, config="theirs")
    env.get_doctree.side_effect = lambda name: document(None, None, docname=name)
    kept = _PagesKept(env)
    assert [kept.get_doctree(name)["docname"] for name in "aba"] == ["a", "b", "a"]
    assert env.get_doctree.call_count == 2 and kept.config == "theirs"


def test_a_page_that_is_too_long_fails_the_build_every_time_and_names_its_largest_figures(project):
    figures = "".join(
        f'<figure class="a" id="fig-{name}"><script type="application/json">{"x" * size}</script></figure>\n\n'
        for name, size in {"small": 10, "large": 1_200_000, "middle": 700_000, "fourth": 90, "other": 300_000}.items()
    )
    front = (project.root / "book/index.md").read_text()
    project.write("book/index.md", f"{front}\n{figures}")
    for _ in range(2):
        done = project.build()
        assert done.returncode == 1
        told = r"book/index: 2,2\d\d,\d{3} bytes, and a page has at most 2,000,000; its largest figures: "
        assert re.search(f"{told}fig-large 1,200,0.., fig-middle 700,0.., fig-other 300,0..\\b(?!,)", done.stderr)
    project.write("book/index.md", front)
    assert project.executed() == NEITHER
