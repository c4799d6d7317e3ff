"""README's findings: those of the recorded verdicts, written between two marks, nothing else touched."""

import json
from pathlib import Path

import pytest
from judged import judged

import paper
from circuitcore.ground.contents import Contents
from circuitcore.training.errors import StoreError
from livingpaper.book import build
from livingpaper.book.findings import BEGIN, END, findings, write_findings
from livingpaper.claims.claim import Says
from livingpaper.claims.verdict import to_json
from livingpaper.figures.verdict_text import in_prose

LEARNT = (0.9, 0.91, 0.92, 0.93, 0.94)
ROOT = Path(paper.__file__).resolve().parent


@pytest.fixture
def book(tmp_path):
    """A book of two chapters, of which the front page tells one claim each."""
    for name, claim_id in (("late", "B1"), ("early", "A1.published")):
        (tmp_path / "published/verdicts").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"published/verdicts/{name}.json").write_text(to_json([judged(LEARNT, claim_id)]))
        (tmp_path / "book").mkdir(exist_ok=True)
        cells = [{"cell_type": "markdown", "source": [f"# The {name} chapter"]}]
        (tmp_path / f"book/{name}.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "_toc.yml").write_text("parts: [{chapters: [{file: book/early}, {file: book/late}]}]")
    (tmp_path / "book/index.md").write_text("{{ late_B1_told }} {{ early_A1_published_told }} {{ early_n_seeds }}")
    (tmp_path / "README.md").write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    return tmp_path


def test_the_readme_of_this_book_says_what_the_verdicts_allow():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip("\n") == findings(ROOT), "run python3 paper.py book"


def test_only_what_stands_between_the_marks_is_written_and_only_once(book):
    assert write_findings(book)
    text = (book / "README.md").read_text()
    assert text.startswith(f"before\n{BEGIN}\n**[The early chapter](book/early.ipynb)** ")
    assert text.endswith(f"\n{END}\nafter\n") and "old" not in text
    assert not write_findings(book)


def test_a_verdict_that_flips_changes_its_sentence_and_its_badge(book):
    before = findings(book)
    record = book / "published/verdicts/late.json"
    record.write_text(to_json([judged([value - 0.8 for value in LEARNT], "B1")]))
    after = findings(book)
    (late,) = [line for line in after.splitlines() if "late" in line]
    assert "*(supported)*" in before and "*(our claim is refuted)*" in late and after != before


@pytest.mark.parametrize(
    ("stance", "words"),
    [
        ("claimed", "the source’s claim is refuted"),
        ("elsewhere", "the claim does not hold here"),
        ("by another definition", "refuted by our definition"),
        ("left open", "refuted"),
    ],
)
def test_a_source_is_refuted_by_its_own_definition_on_such_networks_as_its_own(stance, words):
    below, source = [value - 0.8 for value in LEARNT], {"source": "source", "source_verdict": "Shown"}
    assert in_prose(judged(below, **source, source_stance=stance)) == words
    assert in_prose(judged(LEARNT, **source, source_stance=stance)) == "supported"
    assert in_prose(judged(below)) == "our claim is refuted"
    assert in_prose(judged(below, **source, source_stance=stance), lost=True) == f"{words}, taken alone"


def test_the_front_page_may_tell_what_is_not_published_yet(book):
    page = book / "book/index.md"
    page.write_text(page.read_text() + " {{ next_C1_told }} {{ early_A2_told }}")
    before = findings(book)
    assert len(before.splitlines()) == 3
    (book / "published/verdicts/late.json").unlink()
    assert findings(book) == before.splitlines()[0]


def test_ids_may_be_of_any_form_and_stand_in_the_front_pages_order(book):
    (book / "published/verdicts/late.json").write_text(
        to_json(
            [
                judged(LEARNT, name, says=Says(holds=f"{name}.", fails="No.", whether="whether it is"))
                for name in ("b_1", "x.2.y")
            ]
        )
    )
    (book / "book/index.md").write_text("{{late_x_2_y_told}}\n{{  late_b_1_told }}")
    assert findings(book) == "**[The late chapter](book/late.ipynb)** x.2.y. *(supported)* b_1. *(supported)*"


def test_marks_in_the_wrong_order_leave_a_readme_alone(book):
    wrong = f"before\n{END}\nbetween\n{BEGIN}\nafter\n"
    (book / "README.md").write_text(wrong)
    assert not write_findings(book) and (book / "README.md").read_text() == wrong


def test_a_record_of_another_version_stops_the_build_in_a_sentence(book, monkeypatch, capsys):
    (book / "published/verdicts/late.json").write_text('[{"claim": "B1"}]')
    monkeypatch.setattr(build, "build", lambda root, *_: write_findings(root))
    monkeypatch.chdir(book)
    assert build.main([]) == 1
    assert "late.json: these are no verdicts that this version" in capsys.readouterr().err


def test_a_record_that_was_not_published_is_told_nowhere(book):
    (book / "published/contents.json").write_text(Contents({"verdicts/late": "0" * 64}).to_json())
    with pytest.raises(StoreError, match="early.json: it was not published"):
        findings(book)


def test_a_readme_without_marks_and_a_book_without_readme_are_left_alone(book):
    (book / "README.md").write_text("mine")
    assert not write_findings(book) and (book / "README.md").read_text() == "mine"
    (book / "README.md").unlink()
    assert not write_findings(book) and not (book / "README.md").exists()
