import json
import subprocess
import sys
from types import ModuleType

import pandas as pd
import pytest
from drawn import drawn_circuit
from pydantic import BaseModel

from circuitcore.ground.environment import Folders
from livingpaper.book import chapter
from livingpaper.book.drawings import DrawingError, drawn
from livingpaper.book.evidence import Evidence
from livingpaper.claims.results import Results
from livingpaper.figures.circuit import in_words
from livingpaper.figures.circuit_drawing import drawing_html, small_drawings_html

CIRCUITS = (drawn_circuit(), drawn_circuit(supported=(False, True, True, True)))
STUDY = ModuleType("toy_package.toy")
STUDY.DRAWINGS = {
    "circuit": lambda material: CIRCUITS if material.origin == "paper" else CIRCUITS[1:],
    "nothing": lambda material: (),
}


class Params(BaseModel):
    """A study's without any."""


class Measured(Evidence):
    """Evidence without a run: what a drawing asks of it."""

    study = STUDY


@pytest.fixture
def evidence(tmp_path):
    return Measured("toy", Params(), Folders(tmp_path, tmp_path / "runs", tmp_path / "published"))


def results_of(origin):
    columns = ["arm", "init_seed", "run_id", "step", "metric", "value"]
    rows = pd.DataFrame([("trained", 7, "toy-7", 0, "accuracy", 1.0)], columns=columns)
    return Results(rows, rows, origin)


def test_a_drawing_is_shown_large_and_left_for_other_pages(evidence):
    large, kept = drawn(evidence, (results_of("paper"),), "circuit")
    assert large == [{"text/html": drawing_html(CIRCUITS[0]), "text/plain": in_words(CIRCUITS[0])}]
    assert kept == {"circuit": drawing_html(CIRCUITS[0]), "circuits": small_drawings_html(CIRCUITS)}


def test_the_readers_own_network_is_shown_below_and_the_published_one_left(evidence):
    large, kept = drawn(evidence, (results_of("paper"), results_of("rerun")), "circuit")
    assert [bundle["text/html"] for bundle in large] == [drawing_html(circuit) for circuit in CIRCUITS]
    assert kept["circuit"] == large[0]["text/html"]


@pytest.mark.parametrize(("name", "word"), [("circle", "circuit"), ("nothing", "no network to draw")])
def test_what_cannot_be_shown_says_why(evidence, name, word):
    with pytest.raises(DrawingError, match=word):
        drawn(evidence, (results_of("paper"),), name)


def test_a_chapter_shows_it_and_keeps_it_among_its_numbers(evidence, monkeypatch):
    seen = []
    monkeypatch.setattr(chapter, "display", lambda data, raw, metadata=None: seen.append(data))
    paper = chapter.Chapter(evidence)
    with pytest.raises(chapter.ChapterError, match="prepare"):
        paper.drawing("circuit")
    paper._results = (results_of("paper"),)
    paper.drawing("circuit")
    assert [data["text/html"] for data in seen] == [drawing_html(CIRCUITS[0])]  # and no copy of it for this page
    assert {name: text for name, (_, text) in paper._numbers.items()} == drawn(evidence, paper._results, "circuit")[1]


@pytest.mark.slow
def test_a_markdown_page_shows_it_as_it_was_drawn(evidence, tmp_path):
    """By the substitutions that the book makes of a chapter's numbers."""
    source, out, results = tmp_path / "source", tmp_path / "out", tmp_path / "results"
    source.mkdir()
    results.mkdir()
    _, kept = drawn(evidence, (results_of("paper"),), "circuit")
    (results / "toy.json").write_text(json.dumps({"chapter": "toy", "numbers": kept}))
    (source / "conf.py").write_text(CONF.format(executed=str(tmp_path)))
    (source / "index.md").write_text(
        "# One\n\nBefore.\n\n{{ toy_circuit }}\n\nBetween.\n\n{{ toy_circuits }}\n\nAfter.\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-b", "html", str(source), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (out / "index.html").read_text()
    for html in kept.values():
        assert page.count(html) == 1
    assert page.index("Before.") < page.index(kept["circuit"]) < page.index("Between.") < page.index(kept["circuits"])


CONF = """
from livingpaper.book.sphinx_ext import add_numbers

extensions = ["myst_parser"]
myst_enable_extensions = ["substitution"]
paper_executed = {executed!r}


def setup(app):
    app.add_config_value("paper_executed", "", "env")
    app.connect("config-inited", add_numbers, priority=1)
"""
