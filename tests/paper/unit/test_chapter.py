import ast
import dataclasses
import json
import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Annotated

import pandas as pd
import pytest
from myst_nb.core.variables import format_plain_text
from pydantic import BaseModel, ConfigDict, Field

from circuitcore.ground import provenance
from circuitcore.ground.contents import Contents
from circuitcore.ground.progress import Watch
from circuitcore.metrics.instruments.battery import BatterySpec
from circuitcore.metrics.instruments.standard import standard
from circuitcore.training.errors import StoreError
from livingpaper.book import chapter, page
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.parameters import ParameterError
from livingpaper.claims.claim import Claim, Says
from livingpaper.claims.reading import Reading, at_end
from livingpaper.claims.results import Results, SelectionError
from livingpaper.claims.units import PROMPTS, at_least, at_most
from livingpaper.claims.verdict import Status, from_json, to_json
from livingpaper.claims.view import View
from livingpaper.commands.reproduction import comparison_table
from livingpaper.commands.rerun import compared
from livingpaper.figures import bars
from livingpaper.figures.verdict_text import AMONG_MANY, verdict_words

SEEDS = {"paper": range(5), "rerun": (11, 12)}


class Params(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    seeds: tuple[Annotated[int, Field(ge=0)], ...]
    rate: Annotated[float, Field(gt=0, le=1)] = 0.1


def final_accuracy(results):
    """Accuracy of each seed at the end."""
    rows = results.at_final("accuracy", "trained").assign(group="test")
    return View(rows[["group", "init_seed", "value"]], "accuracy", "test", "95 % interval")


def only_published(results):
    if results.origin == "rerun":
        raise SelectionError("no arm 'control'")
    return final_accuracy(results)


def rows_of_published(results):
    whole = final_accuracy(results)
    return View(whole.table[[results.origin == "paper"] * len(whole.table)], whole.unit, whole.split)


def fixed_counts(results):
    return View(pd.DataFrame({"group": ["a"], "value": [3.0]}), "rows", "train")


def summary(results):
    return View(
        pd.DataFrame({"quantity": ["networks"], "value": [len(final_accuracy(results).table)]}), "networks", "test"
    )


def numbers(results):
    rows = final_accuracy(results).table
    return View(rows.rename(columns={"group": "quantity"}).assign(source=0.5), "as named", "test")


SAYS = Says(holds="It learns.", fails="It does not learn.", whether="whether it learns")


def claim(claim_id, bound=at_least, arm="trained"):
    reading = Reading("accuracy", PROMPTS, at_end("accuracy", arm))
    return Claim(id=claim_id, says=SAYS, reading=reading, bound=bound(0.8, "four of five"))


STUDY = ModuleType("toy_package.toy")
STUDY.Params = Params
STUDY.recipes = lambda params: {}
STUDY.instruments = lambda params, arm: standard(BatterySpec())
STUDY.CLAIMS = (claim("C1"), claim("C1.published", at_most), claim("C3", arm="control"))
STUDY.VIEWS = {
    "final": final_accuracy,
    "part": only_published,
    "rows": rows_of_published,
    "counts": fixed_counts,
    "summary": summary,
    "numbers": numbers,
}


def results_of(origin):
    rows = [("trained", seed, f"toy-{origin}-{seed}", 7, "accuracy", 0.9 + seed / 1000) for seed in SEEDS[origin]]
    table = pd.DataFrame(rows, columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    return Results(table, table, origin)


class Measured(Evidence):
    """Evidence whose results are made up: what a chapter needs, without a run."""

    study = STUDY
    origins = ("paper", "rerun")

    def gather(self, watch, executor="processes"):
        return tuple(map(results_of, self.origins))

    def run_ids(self, origin):
        return {"trained": tuple(f"toy-{origin}-{seed}" for seed in SEEDS[origin])}


@pytest.fixture
def shown(monkeypatch):
    """Everything a chapter displays, in order: (data, metadata)."""
    seen = []
    for module in (chapter, page):
        monkeypatch.setattr(module, "display", lambda data, raw, metadata=None: seen.append((data, metadata)))
    return seen


@pytest.fixture
def measured(tmp_path):
    return Measured("toy", Params(seeds=(11, 12)), Folders(tmp_path, tmp_path / "runs", tmp_path / "published"))


def glued_as(text, kind="plain"):
    """What a page keeps of a number, or, as Markdown, of words with links in them."""
    return {f"application/papermill.record/text/{kind}": repr(text) if kind == "plain" else text}


@pytest.fixture
def paper(measured, tmp_path, shown, monkeypatch):
    monkeypatch.setenv("PAPER_RESULTS", str(tmp_path / "results"))
    opened = chapter.Chapter(measured)
    opened.prepare()
    shown.clear()
    return opened


# ---- parameters --------------------------------------------------------------------------------------------------


@pytest.fixture
def kernel(monkeypatch, shown):
    """A notebook's namespace in which cells can be run, and ``chapter.open`` called."""
    namespace = {"In": [""]}
    monkeypatch.setitem(sys.modules, "toy_package", ModuleType("toy_package"))
    monkeypatch.setitem(sys.modules, "toy_package.toy", STUDY)
    monkeypatch.setattr(chapter, "get_ipython", lambda: SimpleNamespace(user_ns=namespace))
    monkeypatch.setenv("PAPER_BUILD", "1")

    def run(*cells):
        for cell in cells:
            namespace["In"].append(cell)
            for statement in ast.parse(cell).body:
                if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant | ast.List):
                    namespace[statement.targets[0].id] = ast.literal_eval(statement.value)
        namespace["In"].append("from livingpaper.book import chapter\npaper = chapter.open('toy_package.toy')")
        return chapter.open("toy_package.toy")

    return run


OWN = "# Parameters\nseeds = [0, 1]\nrate = 0.5"


def test_open_takes_the_parameters_of_the_notebook(kernel, shown):
    assert kernel(OWN).params == Params(seeds=(0, 1), rate=0.5)
    assert "run(s)" in shown[0][0]["text/plain"], "the cost is said before anything is spent"


def test_the_injected_cell_overrides_and_lines_before_it_do_not_matter(kernel):
    opened = kernel("import os", OWN, "# Parameters\nseeds = [7]\n")
    assert opened.params == Params(seeds=(7,), rate=0.5)


@pytest.mark.parametrize(
    ("injected", "words"),
    [
        ("sed = [7]", ["sed: given [7]", "rate, seeds", "did you mean 'seeds'"]),
        ("seeds = 'all'", ["seeds", "'all' (str)", "list of"]),
        ("seeds = [-1]", ["seeds", "-1", ">= 0"]),
        ("rate = 2.0", ["rate", "2.0", "<= 1"]),
        ("rate = True", ["rate", "True (bool)"]),
    ],
)
def test_a_wrong_parameter_stops_in_the_first_cell(kernel, shown, injected, words):
    with pytest.raises(ParameterError) as error:
        kernel(OWN, f"# Parameters\n{injected}")
    assert all(word in str(error.value) for word in words), str(error.value)
    assert not shown, "nothing is said or spent"


def test_a_missing_parameter_is_named(kernel):
    with pytest.raises(ParameterError, match="seeds: given nothing"):
        kernel("# Parameters\nrate = 0.5")


def test_a_corrected_cell_run_again_replaces_the_wrong_one(kernel):
    with pytest.raises(ParameterError):
        kernel("# Parameters\nseeds = [0]\nrat = 0.5")
    assert kernel(OWN).params == Params(seeds=(0, 1), rate=0.5)


def test_what_a_parameters_cell_computes_is_no_parameter(kernel):
    opened = kernel(OWN + "\npaper = open_chapter()\nseeds2: list = [i for i in range(3)]")
    assert opened.params == Params(seeds=(0, 1), rate=0.5)


def test_a_live_notebook_gets_vega_and_styles_once(kernel, shown, monkeypatch):
    monkeypatch.delenv("PAPER_BUILD")
    kernel(OWN)
    assert "vegaEmbed" in shown[0][0]["text/html"] and ".paper-claim" in shown[0][0]["text/html"]
    assert len(shown) == 2


@pytest.mark.parametrize("in_book", [True, False])
def test_an_appendix_of_a_book_takes_what_its_chapter_has_read(kernel, monkeypatch, in_book):
    monkeypatch.setattr(chapter, "require_for_a_book", lambda _: None)
    monkeypatch.setattr(Evidence, "cost", lambda _: "")
    chapter._opened.cache_clear()
    if not in_book:
        monkeypatch.delenv("PAPER_BUILD")
    first = kernel(OWN).evidence
    assert (chapter.appendix("toy_package.toy").evidence is first) == in_book
    assert kernel(f"{OWN}\nseeds = [2]").evidence is not first, "other parameters, other runs"


def test_outside_a_notebook_open_says_so(monkeypatch):
    monkeypatch.setattr(chapter, "get_ipython", lambda: None)
    for begin in (chapter.open, chapter.appendix):
        with pytest.raises(chapter.ChapterError, match=f"chapter.{begin.__name__} reads a notebook's parameters"):
            begin("symbolic_kv")


# ---- views and figures ---------------------------------------------------------------------------------------------


def test_everything_before_prepare_says_what_to_do(measured):
    opened = chapter.Chapter(measured)
    for call in (lambda: opened.view("final"), lambda: opened.claim("C1"), opened.close):
        with pytest.raises(chapter.ChapterError, match=r"paper\.prepare\(\)"):
            call()


def test_prepare_keeps_the_number_of_networks_of_each_arm(measured, shown):
    chapter.Chapter(measured).prepare()
    (glued,) = [data for data, metadata in shown if metadata and metadata["scrapbook"]["name"] == "n_trained"]
    assert glued == glued_as("5")


def test_a_view_holds_both_origins_the_papers_first(paper):
    table = paper.view("final").table
    assert table["origin"].tolist() == ["paper"] * 5 + ["rerun"] * 2
    assert table["init_seed"].tolist() == [0, 1, 2, 3, 4, 11, 12]


def test_a_view_that_one_side_lacks_says_so_in_its_note(paper):
    view = paper.view("part")
    assert set(view.table["origin"]) == {"paper"}
    assert view.note == "Not drawn: your runs (no arm 'control')"


def test_a_view_that_has_rows_of_one_side_only_says_so_too(paper):
    view = paper.view("rows")
    assert set(view.table["origin"]) == {"paper"}
    assert view.note == "Not drawn: your runs (no such networks among them)"


def test_a_view_without_runs_is_not_doubled(paper):
    assert len(paper.view("counts").table) == 1


def test_a_summary_of_runs_is_told_of_both(paper):
    table = paper.view("summary").table
    assert table["origin"].tolist() == ["paper", "rerun"] and table["value"].tolist() == [5, 2]


def test_a_view_that_nobody_can_draw_raises(measured, shown):
    measured.__dict__["origins"] = ("rerun",)
    opened = chapter.Chapter(measured)
    opened.prepare()
    with pytest.raises(SelectionError, match="control"):
        opened.view("part")


@pytest.mark.parametrize("name", ["finl", "Final"])
def test_an_unknown_view_is_named_with_a_guess(paper, name):
    with pytest.raises(chapter.ChapterError, match="did you mean 'final'"):
        paper.view(name)


def test_a_figure_is_glued_and_shown_with_number_runs_and_code(paper, shown):
    for number in (1, 2):
        view = paper.view("final")
        paper.figure(f"fig-{number}", bars.seeds(view), view, takeaway="They learn.", alt="Points.")
    (glued, metadata), (bundle, _) = shown[2:]
    assert metadata["scrapbook"] == {"name": "fig-2-chart", "mime_prefix": "application/papermill.record/"}
    assert "vl-spec" in glued["application/papermill.record/text/html"]
    assert "{glue:figure} fig-2-chart" in bundle["text/markdown"] and "Figure 2." in bundle["text/html"]
    for word in ("trained (published)", "toy-paper-4", "trained (yours)", "toy-rerun-12", "def final_accuracy"):
        assert word in bundle["text/markdown"]


def test_in_a_book_a_figure_is_not_shown_a_second_time_for_a_live_notebook(paper, shown, monkeypatch, tmp_path):
    monkeypatch.setenv("PAPER_BUILD", "1")
    view = paper.view("final")
    paper.figure("fig-a", bars.seeds(view), view, takeaway="They learn.", alt="Points.")
    (glued, _), (bundle, _) = shown
    assert {*bundle} == {"text/markdown", "text/plain"}
    assert 'src="figure-files/fig-a.svg"' in glued["application/papermill.record/text/html"]
    assert (tmp_path / "figures/fig-a.svg").is_file(), "beside the folder of results"


def test_a_figure_that_is_shown_again_keeps_its_number(paper, shown):
    view = paper.view("final")
    for name in ("fig-a", "fig-b", "fig-a", "fig-c"):
        paper.figure(name, bars.seeds(view), view, takeaway="They learn.", alt="Points.")
    said = [data["text/html"] for data, _ in shown if "text/html" in data]
    assert [re.search(r"Figure (\d)\.", html)[1] for html in said] == ["1", "2", "1", "3"]


def test_a_figure_can_be_shared_with_other_pages(paper, tmp_path):
    view = paper.view("final")
    paper.figure("fig-a-b", bars.seeds(view), view, takeaway="They learn.", alt="Points.")
    with pytest.raises(chapter.ChapterError, match="did you mean 'fig-a-b'"):
        paper.share("fig-ab")
    paper.share("fig-a-b")
    paper.close()
    html = json.loads((tmp_path / "results/toy.json").read_text())["numbers"]["fig_a_b"]
    assert html.startswith('<div class="vl-chart"><picture>') and "\n" not in html


def test_runs_of_a_figure_are_those_it_draws(paper, shown):
    view = paper.view("part")
    paper.figure("fig-part", bars.seeds(view), view, takeaway="They learn.", alt="Points.")
    assert "toy-paper-0" in shown[1][0]["text/markdown"] and "toy-rerun" not in shown[1][0]["text/markdown"]


def test_a_table_is_shown_in_every_form(paper, shown):
    paper.table(paper.comparison("numbers"))
    assert "| quantity | source |" in shown[0][0]["text/markdown"] and "<table" in shown[0][0]["text/html"]


def test_what_the_note_of_a_view_says_stands_below_its_table(paper, shown):
    view = dataclasses.replace(paper.view("part"), note="Points, <= 1")
    paper.table(view, hide=["init_seed"])
    told = shown[0][0]
    assert told["text/markdown"].endswith("|\n\nPoints, \\<= 1.\n") and " seed " not in told["text/markdown"]
    assert told["text/html"].endswith("<p>Points, &lt;= 1.</p>") and told["text/plain"].endswith("\nPoints, <= 1.")
    with pytest.raises(chapter.ChapterError, match="did you mean 'init_seed'"):
        paper.table(view, hide=["initseed"])


# ---- claims and numbers --------------------------------------------------------------------------------------------


def test_a_claim_shows_the_papers_verdict_and_the_readers(paper, shown):
    paper.claim("C1")
    text = shown[0][0]["text/plain"]
    assert "paper: Supported" in text and "your seeds: Undecided" in text
    paper.claim("C3")
    assert "Not checked" in "".join(data.get("text/plain", "") for data, _ in shown)
    with pytest.raises(chapter.ChapterError, match="unknown claim 'C9'"):
        paper.claim("C9")


def test_a_claim_that_would_not_stand_among_the_others_says_so(paper, shown, monkeypatch):
    near = at_least(0.8999, "three standard errors below the mean of these")
    claims = [claim("C1"), *(claim(name, lambda *_: near) for name in ("C4", "C5"))]
    monkeypatch.setattr(STUDY, "CLAIMS", tuple(claims))
    for one in claims:
        assert paper.verdicts(one.id)[0].status is Status.SUPPORTED
        paper.claim(one.id)
    cards = [data["text/plain"] for data, _ in shown if "text/plain" in data and "Claimed:" in data["text/plain"]]
    assert [AMONG_MANY in card for card in cards] == [False, True, True]


def test_what_a_claim_came_to_is_there_for_the_prose_in_words(paper, shown):
    for claim_id, name in (("C1", "C1"), ("C1.published", "C1_published"), ("C3", "C3")):
        shown.clear()
        paper.claim(claim_id)
        glued = {metadata["scrapbook"]["name"]: data for data, metadata in shown if metadata}
        words = verdict_words(paper.verdicts(claim_id)[0])
        assert {"status", "says", "found", "percent"} <= set(words) and "count" not in words
        for kind, text in words.items():
            assert glued[f"{name}_{kind}"] == glued_as(text, "markdown" if kind in ("told", "badge") else "plain")
    words = verdict_words(paper.verdicts("C1")[0])
    assert (words["status"], words["says"], words["percent"]) == ("Supported", "It learns.", "90 %")
    assert words["found"] == "90.2 % [90.0, 90.4], 5 seeds"
    assert verdict_words(paper.verdicts("C3")[0])["found"] == "(not measured)"
    effects = {data.get("application/papermill.record/text/plain") for data, metadata in shown if metadata}
    assert "'(not measured)'" in effects and "'nan'" not in effects


def test_a_caption_can_say_what_a_verdict_allows(paper):
    assert paper.says("C1") == paper.verdicts("C1")[0].sentence == "It learns."
    with pytest.raises(chapter.ChapterError, match="unknown claim 'C9'"):
        paper.says("C9")


def test_an_appendix_shows_the_same_results_and_leaves_the_verdicts_to_its_chapter(
    measured, shown, tmp_path, monkeypatch
):
    monkeypatch.setenv("PAPER_RESULTS", str(tmp_path / "results"))
    opened = chapter.Appendix(measured)
    opened.prepare()
    assert opened.view("final").table["init_seed"].tolist() == [0, 1, 2, 3, 4, 11, 12]
    with pytest.raises(chapter.ChapterError, match="C1 is shown in the chapter of toy"):
        opened.claim("C1")
    view = opened.view("final")
    opened.figure("fig-a", bars.seeds(view), view, takeaway="They learn.", alt="Points.")
    with pytest.raises(chapter.ChapterError, match="figure fig-a.*chapter of toy"):
        opened.share("fig-a")
    shown.clear()
    opened.close()
    assert "toy-paper-4" in shown[0][0]["text/html"] and not (tmp_path / "results").exists()


def record(paper, **changes):
    """Record the paper's verdicts, some of them wrongly."""
    verdicts = [paper.evidence.judged(claim, paper._results[0]) for claim in STUDY.CLAIMS]
    records = json.loads(to_json(verdicts))
    for found in records:
        if found["claim"]["id"] in changes:
            found["finding"], found["status"] = None, str(Status.NOT_CHECKED)
    path = paper.evidence.folders.published / "verdicts" / "toy.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(records))


def test_a_recorded_verdict_that_still_holds_passes(paper):
    record(paper)
    paper.claim("C1")


def test_a_published_verdict_that_changed_stops_the_chapter(paper):
    record(paper, C1="changed")
    with pytest.raises(
        chapter.ChapterError, match="C1 is now Supported, but toy.json records Not checked.*Results changed"
    ):
        paper.claim("C1")
    with pytest.raises(chapter.ChapterError):
        paper.close()


def test_a_record_of_another_version_stops_the_chapter_in_a_sentence(paper):
    """Version 0.8.0 had other verdicts, in another form."""
    record(paper)
    path = paper.evidence.folders.published / "verdicts" / "toy.json"
    old = {"check": None, "claim": {"id": "C1", "sentence": "It learns."}, "origin": "paper", "status": "Hypothesis"}
    path.write_text(json.dumps([old]))
    with pytest.raises(StoreError) as told:
        paper.claim("C1")
    said = str(told.value)
    assert said.startswith(f"{path}: these are no verdicts that this version of the book reads (0.claim.")
    assert said.endswith("Publish the study again: python -m livingpaper.commands.publish toy.")
    assert len(said.splitlines()) == 1


def test_a_number_is_glued_as_it_will_be_printed(paper, shown):
    paper.number("val_accuracy", 0.95234, ".3f")
    assert shown[0][0] == glued_as("0.952")
    with pytest.raises(chapter.ChapterError, match="Python name"):
        paper.number("val accuracy", 1)


@pytest.mark.parametrize("text", ["1,200", "7,000", "4,096", "0.950", "1e3", "12"])
def test_a_number_is_printed_as_it_was_written(paper, shown, text):
    """The book's builder evaluates what is glued: of "1,200" it made "(1, 200)", of "0.950" 0.95."""
    paper.number("steps", text)
    (glued,) = shown[0][0].values()
    assert format_plain_text(glued, "") == text


def test_close_leaves_numbers_verdicts_and_provenance(paper, shown, tmp_path):
    paper.number("val_accuracy", 0.95234, ".3f")
    paper.close()
    left = json.loads((tmp_path / "results" / "toy.json").read_text())
    assert left["numbers"]["val_accuracy"] == "0.952" and left["values"]["val_accuracy"] == 0.95234
    counts = {name: left["numbers"][f"n_{name}"] for name in ("claims", "supported", "refuted", "not_checked", "runs")}
    assert counts == {"claims": "3", "supported": "1", "refuted": "1", "not_checked": "1", "runs": "5"}
    assert [left["numbers"][f"n_{name}"] for name in ("undecided", "control_failed", "void")] == ["0"] * 3
    verdicts = from_json(json.dumps(left["verdicts"]))
    assert [(verdict.claim.id, verdict.origin) for verdict in verdicts] == [
        (claim.id, origin) for claim in STUDY.CLAIMS for origin in ("paper", "rerun")
    ]
    assert left["runs"]["rerun"] == {"trained": ["toy-rerun-11", "toy-rerun-12"]}
    assert left["contents"] is None and "Published contents" not in shown[-1][0]["text/html"]
    listed = Contents({"bench/results": "0" * 64})
    paper.evidence.folders.published.mkdir()
    (paper.evidence.folders.published / "contents.json").write_text(listed.to_json())
    paper.close()
    assert f"<summary><code>{listed.root[:12]}</code></summary><code>{listed.root}</code>" in shown[-1][0]["text/html"]
    assert left["parameters"] == {"seeds": [11, 12], "rate": 0.1}
    footer = shown[-1][0]["text/html"]
    for word in ("toy-paper-0", "seeds = [11, 12]", "torch", left["commit"]):
        assert word in footer


# ---- comparison of a rerun -----------------------------------------------------------------------------------------


def test_a_rerun_is_compared_claim_by_claim(paper):
    verdicts = [verdict for claim in STUDY.CLAIMS for verdict in paper.verdicts(claim.id)]
    records = compared(json.loads(to_json(verdicts)))
    assert [record["claim"] for record in records] == ["C1", "C1.published", "C3"]
    assert records[0]["paper"]["status"] == "Supported" and records[0]["rerun"]["status"] == "Undecided"
    assert [record["same"] for record in records] == [False, False, True]
    assert records[0]["rerun"]["n"] == 2 and records[2]["rerun"]["effect"] is None
    assert records[0]["rerun"]["low"] == "-inf" and records[0]["paper"]["low"] == pytest.approx(0.902, abs=0.01)
    assert records[0]["sentence"] == SAYS.holds and records[0]["paper"]["sentence"] == "It learns."
    table = comparison_table(records).splitlines()
    assert len(table) == 4 and "Supported  0.902 [" in table[1] and table[1].endswith("DIFFERS")
    assert table[3].split() == ["C3", *["Not", "checked"] * 2, "agrees"]
    alone = compared(json.loads(to_json(paper.verdicts("C1")[1:])))
    assert alone[0]["paper"] is None and alone[0]["same"] is None
    assert comparison_table(alone).endswith("nothing to compare with")


def test_provenance_outside_a_repository_says_so(tmp_path):
    assert provenance.commit(tmp_path).startswith("unknown")
    assert provenance.versions()["circuitcore"] != "not installed"


def test_folders_are_named_by_the_environment_and_passed_on(tmp_path, monkeypatch):
    folders = Folders.from_environment({"CIRCUITCORE_RUNS": str(tmp_path), "CIRCUITCORE_PUBLISHED": "elsewhere"})
    assert folders.runs == tmp_path and folders.published == folders.root / "elsewhere"
    monkeypatch.delenv("CIRCUITCORE_RUNS", raising=False)
    with folders.exported():
        assert Folders.from_environment() == folders
    assert Folders.from_environment().runs.name == "runs"


def test_what_was_said_on_opening_is_not_said_again(measured, shown, monkeypatch):
    def gather(self, watch, executor="processes"):
        assert watch == Watch(bar=watch.bar)
        return (results_of("paper"),)

    monkeypatch.setattr(Measured, "gather", gather)
    chapter.Chapter(measured).prepare()
    said = [data["text/plain"] for data, metadata in shown if metadata is None]
    assert said == []
