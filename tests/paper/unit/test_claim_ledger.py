"""The list of all claims: each beside its twin under the source's definition, read from what chapters left."""

import json
import re
from collections import Counter
from html.parser import HTMLParser

import jsonschema
import pytest
from judged import control, judged
from sphinx.application import Sphinx

from circuitcore.training.errors import StoreError
from livingpaper.book import book_order, chapter, sphinx_ext
from livingpaper.claims.claim import Says
from livingpaper.claims.verdict import Status, from_json, schema, to_json
from livingpaper.figures.badges import ICONS, status_class
from livingpaper.figures.claim_ledger import difference, ledger_html, ledger_rows, ledger_text
from livingpaper.figures.verdict_text import anchor, claim_html, claim_markdown

HIGH, MIDDLE, LOW = [0.9, 0.91, 0.92, 0.93, 0.94], [0.1, 0.3, 0.5, 0.7, 0.9], [0.09, 0.1, 0.11, 0.12, 0.1]
TAGGED = Says(holds="It <works>.", fails="It does <not> work.", whether="whether it <works>")


def seen(source_verdict="Seen once", **changes):
    return {"source": "source", "source_verdict": source_verdict, **changes}


PAIR = [judged(LOW, "K1.published", says=TAGGED, **seen()), judged(HIGH, "K1", says=TAGGED), judged(MIDDLE, "K2")]
ONE_OF_EACH = [
    judged(HIGH, "A1"),
    judged(LOW, "A2"),
    judged(MIDDLE, "A3"),
    judged(HIGH, "A4", controls=(control(HIGH),)),
    judged(HIGH, "A5", void="nothing could show it."),
    judged(None, "A6"),
]
TITLES = {"kv": "Keys & values", "story": "Stories"}


def shown(**chapters):
    return ledger_html(chapters, TITLES)


class Parts(HTMLParser):
    """The start tags of a page with their attributes; complains about a page whose tags do not match."""

    void = {"input", "rect", "line", "circle"}

    def __init__(self, page):
        super().__init__()
        self.found, self.open = [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def of(self, name):
        return [attributes for tag, attributes in self.found if tag == name]


def rows(page):
    """The rows of a list by the claim they link to."""
    parts = re.findall(r"<article .*?</article>", page)
    return {re.search(r'#(claim-[\w-]+)"', part)[1]: part for part in parts}


# ---- claims and twins ------------------------------------------------------------------------------------------------


def test_a_twin_stands_beside_its_claim():
    assert [(found.claim.id, twin and twin.claim.id) for found, twin in ledger_rows(PAIR)] == [
        ("K1", "K1.published"),
        ("K2", None),
    ]


def test_a_twin_without_its_claim_is_refused():
    with pytest.raises(ValueError, match="K1.published repeats K1"):
        ledger_rows(PAIR[:1])


def test_every_row_says_what_each_definition_gave():
    found = rows(shown(kv=PAIR))
    assert list(found) == ["claim-k1", "claim-k2"]
    first, second = found.values()
    ours, source = re.findall(r'<p class="ledger-found">.*?</p>', first)
    assert ">ours</span>" in ours and "Supported" in ours and "92 %" in ours and "5 seeds" in ours
    assert "the source's definition</span>" in source and "Refuted" in source and "10 %" in source
    assert "The source: Seen once." in first and "Undecided" in second
    assert "ledger-source" not in second and "ledger-difference" not in second and "ledger-whose" not in second


@pytest.mark.parametrize(
    ("ours", "source", "words"),
    [
        (HIGH, LOW, "The definition decides: Refuted under the source's, Supported under ours."),
        (MIDDLE, HIGH, "The definition decides: Supported under the source's, Undecided under ours."),
        (LOW, [0.2, 0.21, 0.22, 0.2, 0.2], "Both definitions come to the same."),
        (None, LOW, "The definition decides: Refuted under the source's, Not checked under ours."),
    ],
)
def test_which_definition_made_the_difference_is_said(ours, source, words):
    verdict, twin = judged(ours, "K1"), judged(source, "K1.published", **seen())
    assert difference(verdict, twin) == words and difference(verdict, None) == ""
    assert f'<p class="ledger-difference">{words}</p>' in shown(kv=[twin, verdict])


def test_a_claim_of_the_sources_alone_is_said_to_be_on_our_runs():
    (row,) = rows(shown(kv=[judged(HIGH, "K3", **seen("Found: 0.9"))])).values()
    assert "on our runs</span>" in row and "The source: Found: 0.9." in row and "source-source" in row


def test_sentences_are_no_html():
    page = shown(kv=PAIR)
    assert "It &lt;works&gt;." in page and "<works>" not in page and "Keys &amp; values" in page
    Parts(page)


# ---- order, links, totals, filters -----------------------------------------------------------------------------------


def test_chapters_and_claims_stand_in_the_order_given():
    second = [judged(HIGH, "S2"), judged(LOW, "S1")]
    page = shown(story=second, kv=PAIR)
    assert re.findall(r'<h2[^>]*><a href="([^"]*)">([^<]*)', page) == [
        ("story.html", "Stories"),
        ("kv.html", "Keys &amp; values"),
    ]
    assert list(rows(page)) == ["claim-s2", "claim-s1", "claim-k1", "claim-k2"]
    lines = ledger_text({"story": second, "kv": PAIR}).splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["story:", "S2"],
        ["story:", "S1"],
        ["kv:", "K1.published"],
        ["kv:", "K1"],
        ["kv:", "K2"],
    ]
    assert lines[1] == "story: S1 Refuted: Heads do not route: 10 %."


@pytest.mark.parametrize("ending", [".html", ".ipynb"])
def test_links_lead_to_what_the_cards_are_called(ending):
    chapters = {"kv": [judged(HIGH, "K1.x_y"), judged(LOW, "K.1-B")], "story": PAIR}
    links = [tag["href"] for tag in Parts(ledger_html(chapters, TITLES, ending)).of("a")]
    for name, verdicts in chapters.items():
        assert f"{name}{ending}" in links
        for verdict, _ in ledger_rows(verdicts):
            target = anchor(verdict.claim)
            assert f"{name}{ending}#{target}" in links
            assert f":name: {target}\n" in claim_markdown([verdict])
            assert f'id="{target}"' in claim_html([verdict])
    assert len(links) == 2 + 2 + 2, "a link a chapter and a link a row, and no other"


def test_totals_add_up():
    page = shown(kv=ONE_OF_EACH, story=PAIR)
    counts = Counter(str(verdict.status) for verdict in (*ONE_OF_EACH, *PAIR))
    assert set(counts) == set(map(str, Status))
    bar = re.search(r'<div class="ledger-totals".*?</div>', page)[0]
    parts = re.findall(r'class="(status-[\w-]+)" style="flex-grow: (\d+)" title="(\d+) ([\w ]+)"', bar)
    assert [(kind, int(n)) for kind, n, _, _ in parts] == [
        (status_class(status), counts[str(status)]) for status in Status
    ]
    assert all(grow == said and kind == status_class(Status(word)) for kind, grow, said, word in parts)
    assert [ICONS[word] for *_, word in parts] == re.findall(r'aria-hidden="true">(.)</span>', bar)
    words = "2 Supported, 2 Refuted, 2 Undecided, 1 Control failed, 1 Void, 1 Not checked"
    assert f"<p>9 claims: {words}.</p>" in page


def test_a_status_that_no_claim_has_is_not_counted():
    page = shown(kv=[judged(HIGH, "K1")])
    assert "<p>1 claim: 1 Supported.</p>" in page and "Refuted" not in page and "status-void" not in page


def test_there_is_a_filter_for_every_status_that_is_there_and_each_finds_rows():
    page = shown(kv=PAIR)
    shows = [tag["data-shows"] for tag in Parts(page).of("input")]
    assert shows == ["status-supported", "status-refuted", "status-undecided", "source-source", "source-ours"]
    classes = [tag["class"].split() for tag in Parts(page).of("article")]
    assert {kind for row in classes for kind in row} == {"ledger-row", *shows}
    assert all("checked" in tag and tag["type"] == "checkbox" for tag in Parts(page).of("input"))
    # A row of two verdicts is found under either.
    assert {"status-supported", "status-refuted", "source-source"} <= set(classes[0])
    every = [tag["data-shows"] for tag in Parts(shown(kv=ONE_OF_EACH)).of("input")]
    assert every[:-2] == [status_class(status) for status in Status]


def test_the_style_sheet_hides_the_rows_of_every_filter():
    """Filters need no script: a rule of the style sheet for each of them."""
    from livingpaper.figures.chart_html import STATIC

    css = (STATIC / "figures.css").read_text()
    for kind in [tag["data-shows"] for tag in Parts(shown(kv=[*ONE_OF_EACH, *PAIR])).of("input")]:
        assert f'[data-shows="{kind}"]' in css and f".{kind}" in css, kind


def test_the_pictures_are_those_of_what_was_found():
    page = rows(shown(kv=ONE_OF_EACH))
    drawn = {name: Parts(row).of("svg") for name, row in page.items()}
    assert [len(found) for found in drawn.values()] == [1, 1, 1, 1, 1, 0]
    assert drawn["claim-a2"][0]["aria-label"] == "10 % [9, 12], 5 seeds; claimed: at least 50 %"


# ---- luck ------------------------------------------------------------------------------------------------------------


def test_what_survives_a_correction_for_many_claims_is_said():
    # Holm: of two p values, the smaller is doubled.
    close = judged([0.5024, 0.5224, 0.5424, 0.5624, 0.5824], "K1")  # three standard errors above one half
    assert close.status == Status.SUPPORTED and 0.025 < close.estimate.p_value < 0.05
    other = judged([0.3, 0.7, 0.4, 0.6, 0.5], "K2")
    page = shown(kv=[close, other])
    assert "2 of them were tested against their bound." in page
    assert "Of the 1 of these that are decided 1 would not survive Holm" in page and "chapter: K1. 0 more are" in page
    assert "decided all would survive Holm" in shown(kv=[close], story=[other])
    assert "1 more are decided without such a test" in shown(kv=[judged([1.0] * 5, "K3")])
    assert "about 1 would be Supported by luck" in shown(kv=[judged(HIGH, f"K{n}") for n in range(40)])


# ---- from what chapters left -----------------------------------------------------------------------------------------


def left(folder, name, verdicts, **more):
    record = {"chapter": name, "verdicts": json.loads(to_json(verdicts, samples=True)), **more}
    (folder / f"{name}.json").write_text(json.dumps(record))


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A book of two chapters, ``story`` before ``kv``, and their appendices the other way round."""
    (tmp_path / "results").mkdir()
    (tmp_path / "book").mkdir()
    parts = {"A": ["story", "kv"], "B": ["appendix/kv", "appendix/story"]}
    listed = {name: "".join(f"      - file: book/{page}\n" for page in pages) for name, pages in parts.items()}
    toc = "".join(f"  - caption: {name}\n    chapters:\n{pages}" for name, pages in listed.items())
    (tmp_path / "_toc.yml").write_text(f"format: jb-book\nparts:\n{toc}")
    cells = [{"cell_type": "markdown", "source": ["Before.\n", "# Told **stories**\n"]}]
    (tmp_path / "book/story.ipynb").write_text(json.dumps({"cells": cells}))
    return tmp_path


def test_the_book_reads_what_chapters_left(tmp_path, monkeypatch):
    shown_there = []
    monkeypatch.setattr(chapter, "display", lambda data, raw: shown_there.append(data))
    monkeypatch.setenv("PAPER_RESULTS", str(tmp_path))
    with pytest.raises(chapter.ChapterError, match="no chapter has left its verdicts"):
        chapter.ledger()
    left(tmp_path, "kv", PAIR)
    for build, ending in ((None, ".ipynb"), ("1", ".html")):
        monkeypatch.setenv("PAPER_BUILD", build) if build else monkeypatch.delenv("PAPER_BUILD", raising=False)
        chapter.ledger()
        assert shown_there[-1]["text/html"] == ledger_html({"kv": PAIR}, {"kv": "kv"}, ending)
        assert shown_there[-1]["text/plain"] == ledger_text({"kv": PAIR})


def test_chapters_come_in_the_order_of_the_book_with_the_papers_verdicts(root):
    mine = [judged(LOW, verdict.claim.id, origin="rerun") for verdict in PAIR[1:]]
    left(root / "results", "kv", [PAIR[1], mine[0], PAIR[2], mine[1]])
    left(root / "results", "story", [judged(HIGH, "S1", origin="rerun")])
    left(root / "results", "another", [judged(HIGH, "Z1")])
    (root / "results/bench.json").write_text('{"numbers": {}}')
    found = book_order.recorded_verdicts(root, root / "results")
    assert list(found) == ["story", "kv", "another"]
    assert found["kv"] == PAIR[1:] and [verdict.origin for verdict in found["story"]] == ["rerun"]
    assert book_order.title_of(root, "story") == "Told **stories**" and book_order.title_of(root, "kv") == "kv"


OLD = {
    "check": {
        "control_passed": True,
        "control_value": "untrained: at most 0.000",
        "effect": 1.0,
        "interval": [1.0, 1.0],
        "n_seeds": 5,
        "note": "",
    },
    "claim": {
        "control": "the untrained networks stay below 0.4",
        "direction": "at_least",
        "id": "KV1",
        "metric": "test accuracy",
        "min_seeds": 5,
        "sentence": "It retrieves.",
        "smallest_effect": 0.9,
        "source": "ours",
        "source_verdict": "",
    },
    "origin": "paper",
    "status": "Supported",
}
"""A verdict as version 0.8.0 recorded it."""


def test_verdicts_that_another_version_left_are_refused_in_a_sentence(root):
    path = root / "results/kv.json"
    path.write_text(json.dumps({"verdicts": [OLD]}))
    with pytest.raises(StoreError) as told:
        book_order.recorded_verdicts(root, root / "results")
    said = str(told.value)
    assert said.startswith(f"{path}: these are no verdicts that this version of the book reads (0.claim.")
    assert said.endswith("Delete it and execute the chapter again.") and len(said.splitlines()) == 1


def test_a_verdict_that_was_not_earned_is_named(root):
    left(root / "results", "kv", PAIR)
    path = root / "results/kv.json"
    path.write_text(path.read_text().replace('"Undecided"', '"Supported"'))
    with pytest.raises(StoreError, match="claim K2: status Supported given, but what was found earns Undecided"):
        book_order.recorded_verdicts(root, root / "results")


def test_a_notebook_outside_the_books_folder_is_warned_of_like_any_other(root, monkeypatch):
    """Only notebooks of ``book/`` are executed."""
    (root / "notes").mkdir()
    warned, source = [], ["as it is"]
    monkeypatch.setattr(sphinx_ext.LOG, "warning", lambda words, name: warned.append(words % name))
    app = Built(root)
    app.env = type("Env", (), {"doc2path": lambda self, name: str(root / f"{name}.ipynb")})()
    for name in ("notes/other", "book/story"):
        sphinx_ext.show_outputs(app, name, source)
    assert source == ["as it is"] and [words.split()[0] for words in warned] == ["notes/other", "book/story"]


# ---- the same as data ------------------------------------------------------------------------------------------------


class Built(Sphinx):
    """As much of a Sphinx application as ``add_claims`` looks at."""

    def __init__(self, root, builder="html"):
        self.srcdir, self.outdir = root, root / "out"
        self.config = type("Config", (), {"paper_executed": str(root)})
        self.builder = type("Builder", (), {"format": builder})


def test_the_book_ships_its_verdicts_as_data_that_fit_their_schema(root):
    few = judged([0.9], "A7", controls=(control([0.1]),))  # an interval without ends
    left(root / "results", "kv", [*PAIR, few])
    left(root / "results", "story", ONE_OF_EACH)
    sphinx_ext.add_claims(Built(root), None)
    data = json.loads((root / "out/book/claims.json").read_text())
    against = json.loads((root / "out/book/claims.schema.json").read_text())
    assert against == schema()
    jsonschema.Draft202012Validator.check_schema(against)
    jsonschema.validate(data, against)
    assert list(from_json(json.dumps(data))) == [*ONE_OF_EACH, *PAIR, few], "in the order of the book"
    assert data[-1]["finding"]["held"]["estimate"]["low"] == "-Infinity"
    assert "values" not in json.dumps(data), "no numbers of single seeds"


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(status="Negative"),
        lambda record: record.pop("origin"),
        lambda record: record["claim"].update(sentence="It works."),
        lambda record: record["claim"]["asked"]["bound"].pop("why"),
        lambda record: record["finding"]["held"]["estimate"].update(low="nan"),
        lambda record: record["finding"]["held"]["asked"]["unit"].update(of=1),
    ],
)
def test_data_that_are_no_verdicts_fit_neither_the_schema_nor_the_reader(change):
    (record,) = json.loads(to_json([judged(HIGH)]))
    jsonschema.validate([record], schema())
    change(record)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([record], schema())
    with pytest.raises(ValueError, match="validation error"):
        from_json(json.dumps([record]))


def test_data_are_written_for_pages_of_finished_books_alone(root):
    left(root / "results", "kv", PAIR)
    sphinx_ext.add_claims(Built(root), RuntimeError("a page failed"))
    sphinx_ext.add_claims(Built(root, "latex"), None)
    assert not (root / "out").exists()


def test_the_made_up_claims_are_one_of_each_status():
    assert [verdict.status for verdict in ONE_OF_EACH] == list(Status)
