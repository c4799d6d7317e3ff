"""Somebody outside the package writes one short file, and has a task trained, measured, judged and drawn."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat

from circuitcore.tasks import TASKS
from circuitcore.training.store.verify import verify
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.claims.rules import Outcome
from livingpaper.claims.verdict import Status
from livingpaper.explorer.widget import block_of, exhibit_of
from livingpaper.figures import curves
from livingpaper.figures.bundle import Figure

ROOT = Path(__file__).resolve().parents[3]
TOY = "tests.support.toy_task"
SEEDS = [0, 1, 2, 3, 4]


def evidence_of(seeds, folder):
    folders = Folders(folder, folder / "runs", folder / "published")
    return Evidence(TOY, studies.validate(TOY, {"seeds": seeds}), folders)


def test_the_file_is_short_and_the_package_does_not_know_it():
    assert len((ROOT / "tests/support/toy_task.py").read_text().splitlines()) <= 60
    assert "first_word" not in TASKS
    floors = ("circuitcore", "livingpaper", "retrieval_circuits")
    assert not any("toy_task" in path.read_text() for floor in floors for path in (ROOT / floor).rglob("*.py"))


def test_it_is_trained_measured_judged_and_drawn(tmp_path):
    evidence = evidence_of(SEEDS, tmp_path)
    (results,) = evidence.gather(None, "serial")

    runs = evidence.store.runs()
    assert sorted(run.recipe.init_seed for run in runs) == SEEDS
    assert {run.recipe.task for run in runs} == {f"{TOY}:FirstWord"}
    assert all(run.steps == (0, 24, 72) for run in runs)
    assert all(not verify(run.path, allow_tasks=[f"{TOY}:FirstWord"]) for run in runs)
    losses = results.history.groupby("init_seed")["loss"].agg(["first", "last"])
    assert (losses["last"] < losses["first"] / 4).all()

    assert (results.final_values("accuracy", "trained", split="test") > 0.95).all()
    assert (results.final_values("accuracy", "trained", split="train") > 0.95).all()
    both_heads_off = results.at_final("ablated_accuracy", edit="zero@all", site="L0H0+L0H1")["value"]
    assert (both_heads_off < 0.5).all()

    claim = evidence.study.CLAIMS[0]
    verdict = evidence.judged(claim, results)
    assert (verdict.status, verdict.estimate.n) == (Status.SUPPORTED, 5)
    assert [guard.held.outcome for guard in verdict.finding.guards] == [Outcome.YES]

    stage = block_of(exhibit_of(runs[0])).page_html
    assert "circuit-wide" in stage and all(text in stage for text in runs[0].recipe.make_task().vocab)

    view = evidence.study.VIEWS["learning"](results)
    chart = curves.training(view)
    figure = Figure(name="fig-toy", chart=chart, view=view, takeaway="It learns.", alt_text="Two curves.", number=1,
                    runs=evidence.run_ids("rerun"))  # fmt: skip
    shown = figure.mimebundle()["text/html"]
    assert all(text in shown for text in ("It learns.", "n = 5 seeds", "data:image/svg", "vl-chart"))
    assert all(run.run_id in shown for run in runs)


def test_too_few_seeds_judge_nothing(tmp_path):
    evidence = evidence_of([0, 1], tmp_path)
    (results,) = evidence.gather(None, "serial")
    assert evidence.judged(evidence.study.CLAIMS[0], results).status == Status.UNDECIDED


CELLS = (
    "# Parameters\nseeds = [0, 1]",
    f"from livingpaper.book import chapter\nfrom livingpaper.figures import curves\npaper = chapter.open('{TOY}')",
    "paper.prepare()",
    "view = paper.view('learning')\n"
    "paper.figure('fig-toy', curves.training(view), view, takeaway='It learns.', alt='Two rising curves.')",
    "paper.claim('T1')",
    "paper.close()",
)


def test_it_has_a_chapter_that_papermill_reruns(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    notebook.cells[0].metadata.tags = ["parameters"]
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, tmp_path / "toy.ipynb")
    places = {"RUNS": "runs", "PUBLISHED": "published"}
    environment = os.environ | {f"CIRCUITCORE_{key}": str(tmp_path / name) for key, name in places.items()}
    environment |= {"PYTHONPATH": str(ROOT), "PAPER_RESULTS": str(tmp_path / "results")}
    command = [sys.executable, "-m", "papermill", "toy.ipynb", "out.ipynb", "-p", "seeds", "[7]"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr

    record = json.loads((tmp_path / "results/toy_task.json").read_text())
    assert record["parameters"] == {"seeds": [7]}
    assert [verdict["status"] for verdict in record["verdicts"]] == ["Undecided"]
    outputs = (tmp_path / "out.ipynb").read_text()
    assert "fig-toy" in outputs and "It learns." in outputs and "Undecided" in outputs
    assert record["runs"]["rerun"]["trained"][0] in outputs


def test_the_recipes_name_files_and_tests_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for recipe in text.split("\n## ")[1:4]:
        assert "python -m pytest" in recipe, f"no test proves it: {recipe.splitlines()[0]}"
    named = re.findall(r"`((?:[\w./]+/)[\w.]+\.\w+)`", text)
    named += [path for line in re.findall(r"python -m pytest (.+)", text) for path in line.split()]
    assert len(named) > 15
    assert [path for path in named if "NAME" not in path and not (ROOT / path).exists()] == []
    for module in re.findall(r"python -m ((?:circuitcore|livingpaper)[.\w]*)", text):
        assert importlib.util.find_spec(module), module
