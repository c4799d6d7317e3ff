"""The verdicts that are published: of the claims as they stand, in a form that pages and other programs can read."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

import paper
from livingpaper.book import studies
from livingpaper.book.notebooks import APPENDIX
from livingpaper.claims.rules import Outcome
from livingpaper.claims.verdict import Status, from_json, schema, to_json
from livingpaper.figures.claim_ledger import ledger_html, ledger_rows
from livingpaper.figures.verdict_text import claim_html, claim_lines, claim_markdown, claim_text, key_of, verdict_words

ROOT = Path(paper.__file__).resolve().parent
VERDICTS, BOOK = ROOT / "published/verdicts", ROOT / "book"
NAMES = studies.names()
PRINTED = re.compile(rf"\b((?:{'|'.join(NAMES)})_)?([A-Z]+\d+(?:_published)?)_(count|percent)\b")


def published(name):
    return from_json((VERDICTS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_they_are_of_the_claims_as_they_stand(name):
    """A claim that was changed after it was judged is another claim."""
    wanted = {claim.id: claim.in_words for claim in studies.load(name).CLAIMS}
    found = {verdict.claim.id: verdict.claim for verdict in published(name)}
    assert list(found) == list(wanted)
    assert [claim for claim in wanted if found[claim] != wanted[claim]] == []
    assert {verdict.origin for verdict in published(name)} == {"paper"}


@pytest.mark.parametrize("name", NAMES)
def test_they_are_written_as_they_are_read_and_fit_the_schema(name):
    text = (VERDICTS / f"{name}.json").read_text(encoding="utf-8")
    assert to_json(from_json(text)) == text
    jsonschema.validate(json.loads(text), schema())


@pytest.mark.parametrize("name", NAMES)
def test_each_was_checked_and_every_page_can_show_it(name):
    for verdict in published(name):
        assert verdict.status != Status.NOT_CHECKED, verdict.claim.id
        shown = [claim_markdown([verdict]), claim_html([verdict]), claim_text([verdict]), *claim_lines([verdict])]
        shown += [verdict.sentence, *verdict_words(verdict).values()]
        for text in shown:
            assert not re.search(r"\b(nan|inf|None)\b|\{(effect|n|against|reached)\}", text), (verdict.claim.id, text)


def test_every_share_and_count_that_a_page_prints_is_a_word_of_its_verdict():
    of_chapter = {name: {key_of(v.claim): verdict_words(v) for v in published(name)} for name in NAMES}
    printed = []
    for path in (BOOK / page for name in NAMES for page in (f"{name}.ipynb", f"{APPENDIX}/{name}.ipynb")):
        for prefix, key, word in PRINTED.findall(path.read_text(encoding="utf-8") if path.is_file() else ""):
            assert word in of_chapter[prefix.rstrip("_") or path.stem][key], (path, key, word)
            printed.append(word)
    assert {"count", "percent"} <= set(printed)


def test_all_of_them_make_one_list():
    chapters = {name: published(name) for name in NAMES}
    page = ledger_html(chapters, dict.fromkeys(chapters, "A chapter"))
    n_rows = sum(len(ledger_rows(verdicts)) for verdicts in chapters.values())
    assert page.count("<article ") == n_rows
    totals = re.search(r"<p>(\d+) claims: ([^<]*)\.</p>", page)
    counts = {word: int(n) for n, word in re.findall(r"(\d+) ([A-Z][\w ]+?)(?=,|$)", totals[2])}
    assert int(totals[1]) == sum(counts.values()) == sum(map(len, chapters.values()))
    assert set(counts) <= set(map(str, Status))


def test_no_supported_claim_hangs_on_a_control_that_misses_its_bound():
    for name in NAMES:
        for verdict in published(name):
            if verdict.status == Status.SUPPORTED:
                needed = [guard for guard in verdict.finding.guards if guard.spoils in ("yes", "either")]
                assert all(guard.leans is Outcome.YES for guard in needed), verdict.claim.id
