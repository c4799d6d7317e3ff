"""No sentence with a badge says more than its badge: the pages' prose, read against the recorded verdicts."""

import json
import re
from pathlib import Path

import pytest

import paper
from livingpaper.book import studies

ROOT = Path(paper.__file__).resolve().parent
PAGES = ("index.md", *(f"{name}.ipynb" for name in studies.names()))
# On the front page a badge is {{ symbolic_kv_KV1_status }}, in a chapter {glue:text}`KV1_status`.
BADGE = re.compile(r"\{\{ (?:[a-z_]+?_)?([A-Z]+\d+(?:_published)?)_status \}\}|\{glue:text\}`(\w+)_status`")
# How a sentence says that the claim beside it is not settled.
OPEN = re.compile(r"not decide|undecided|not settled|not decided|leaves? open|no verdict|is open", re.IGNORECASE)
# How one says that it was refuted.
REFUTED = re.compile(r"\bnot?\b|\bnone\b|refute|miss|wrong", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z{*])|\n")


def recorded() -> dict[str, str]:
    """Claim -> its recorded verdict on the published runs."""
    files = (ROOT / "published/verdicts").glob("*.json")
    return {record["claim"]["id"]: record["status"] for path in files for record in json.loads(path.read_text())}


def prose(page: str) -> str:
    """The text of a page, without its code."""
    path = ROOT / "book" / page
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def says_too_much(text: str, statuses: dict[str, str]) -> list[str]:
    """Sentences of ``text`` that carry the badge of a claim that is not settled and do not say so."""
    found = []
    for sentence in SENTENCE.split(text):
        claims = [(front or chapter).replace("_", ".") for front, chapter in BADGE.findall(sentence)]
        unsettled = [claim for claim in claims if statuses[claim] in ("Unsupported", "Hypothesis")]
        refuted = [claim for claim in claims if statuses[claim] == "Negative"]
        if (unsettled and not OPEN.search(sentence)) or (refuted and not REFUTED.search(sentence)):
            found.append(sentence)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_sentence_with_the_badge_of_an_unsettled_claim_says_that_it_is(page):
    assert says_too_much(prose(page), recorded()) == []


def test_every_badge_in_prose_is_found():
    """A badge that the pattern overlooks would be checked by nobody."""
    for page in PAGES:
        text = prose(page)
        assert len(BADGE.findall(text)) == len(re.findall(r"_status\b", text)), page
    assert len(BADGE.findall(prose("index.md"))) >= 10


def test_a_bare_assertion_beside_an_unsettled_claim_is_caught():
    statuses = {"SR18": "Unsupported", "SR5.published": "Unsupported", "SC4": "Negative", "KV1": "Supported"}
    bare = "Two layers are needed even where the answer is read at the key (SR18: {{ six_run_matrix_SR18_status }})."
    assert says_too_much(bare, statuses) == [bare]
    assert says_too_much("They are far apart (SR5.published: {glue:text}`SR5_published_status`).", statuses)
    assert says_too_much("It finds what is there (SC4: {glue:text}`SC4_status`).", statuses)
    fine = (
        "It retrieves (KV1: {glue:text}`KV1_status`). Whether depth is needed, these seeds do not decide "
        "(SR18: {glue:text}`SR18_status`). It misses most (SC4: {glue:text}`SC4_status`)."
    )
    assert says_too_much(fine, statuses) == []
