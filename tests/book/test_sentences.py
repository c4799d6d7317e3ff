"""No sentence with a badge says more than its badge: the pages' prose, read against the recorded verdicts."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

import paper
from livingpaper.book import studies
from livingpaper.book.notebooks import APPENDIX
from livingpaper.claims.verdict import Asked, Declared, Status

ROOT = Path(paper.__file__).resolve().parent
TITLED = ("index.md", *(f"{name}.ipynb" for name in studies.names()))
APPENDICES = tuple(f"{APPENDIX}/{path.name}" for path in sorted((ROOT / "book" / APPENDIX).glob("*.ipynb")))
PAGES = (*TITLED, *APPENDICES)  # an appendix has a title that says what it is of, and rests on nothing
# On the front page a badge is {{ symbolic_kv_KV1_status }}, in a chapter {glue:text}`KV1_status`.
BADGE = re.compile(r"\{\{ (?:[a-z_]+?_)?([A-Z]+\d+(?:_published)?)_status \}\}|\{glue:text\}`(\w+)_status`")
# A sentence that the verdict itself says, badge included, wherever it stands.
TOLD = re.compile(r"\{\{ (?:[a-z_]+?_)?([A-Z]+\d+(?:_published)?)_told \}\}|\{glue:md\}`(\w+)_told:myst`")
# How a sentence says that the claim beside it is not settled, or was refuted.
SAID = {
    Status.UNDECIDED: re.compile(
        r"not decide|undecided|not settled|not decided|leaves? open|no verdict|is open", re.IGNORECASE
    ),
    Status.CONTROL_FAILED: re.compile(r"control (has |have |had )?fail|no verdict|cannot be said", re.IGNORECASE),
    Status.VOID: re.compile(r"\bvoid\b|cannot (be said|say|answer|show|tell)|no verdict", re.IGNORECASE),
    Status.NOT_CHECKED: re.compile(r"not (been )?checked|unchecked|no verdict", re.IGNORECASE),
    Status.REFUTED: re.compile(r"\bnot?\b|\bnone\b|refute|miss|wrong", re.IGNORECASE),
}
CODE_NAME = re.compile(r"\b[a-z]\w*_\w+|[$`]")  # matrices as W_O are the sources' own names
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
    """Sentences of ``text`` that carry the badge of a claim that is not settled, or refuted, and do not say so."""
    found = []
    for sentence in SENTENCE.split(text):
        claims = [(front or chapter).replace("_", ".") for front, chapter in BADGE.findall(sentence)]
        if any(not SAID[statuses[claim]].search(sentence) for claim in claims if statuses[claim] in SAID):
            found.append(sentence)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_sentence_with_the_badge_of_an_unsettled_claim_says_that_it_is(page):
    assert says_too_much(prose(page), recorded()) == []


def test_every_badge_in_prose_is_found():
    """A badge that the pattern overlooks would be checked by nobody."""
    for page in PAGES:
        text = prose(page)
        for pattern, ending in ((BADGE, "status"), (TOLD, "told")):
            assert len(pattern.findall(text)) == len(re.findall(rf"_{ending}\b", text)), page
    assert any(BADGE.search(prose(page)) for page in PAGES), "no page has a badge in its prose: the pattern is idle"
    assert len(TOLD.findall(prose("index.md"))) >= 5
    assert [name for name in studies.names() if not TOLD.findall(prose(f"{name}.ipynb"))] == [], "tell a verdict"


def test_a_badge_beside_a_title_is_one_that_the_title_rests_on():
    """On the front page; elsewhere a badge stands behind the sentence of its verdict."""
    shown = re.findall(r"\[\]\((\w+)\.ipynb\)\*\* \{\{ (\w+?)_([A-Z]+\d+)_badge \}\}", prose("index.md"))
    assert len(shown) == len(re.findall(r"_badge\b", "".join(map(prose, PAGES)))) >= 4
    for page, study, claim in shown:
        assert page == study and f"{claim} " in RESTS_ON.findall(prose(f"{page}.ipynb"))[0], (page, claim)


def test_every_badge_is_one_of_a_claim_that_is_recorded():
    for page in PAGES:
        text, claims = prose(page), recorded()
        named = [front or chapter for front, chapter in (*BADGE.findall(text), *TOLD.findall(text))]
        assert [name for name in named if name.replace("_", ".") not in claims] == [], page


def test_a_way_of_saying_it_is_known_for_every_status_but_one():
    assert [status for status in Status if status not in SAID] == [Status.SUPPORTED]


# Under a title or heading that states a finding: what it rests on, <!-- rests on SR5 Refuted, SR6 Supported -->.
RESTS_ON = re.compile(r"^# .*\n<!-- rests on (.+) -->$", re.MULTILINE)


def falls(text: str, statuses: dict[str, str]) -> list[str]:
    """What the title of a page rests on that the verdicts do not say; a title that rests on nothing falls, too."""
    named = RESTS_ON.findall(text)
    if len(named) != 1:
        return [f"{len(named)} titles with what they rest on; exactly one"]
    rests = [entry.split(" ", 1) for entry in named[0].split(", ")]
    settled = {str(Status.SUPPORTED), str(Status.REFUTED)}
    return [f"{claim} {said}" for claim, said in rests if statuses.get(claim) != said or said not in settled]


@pytest.mark.parametrize("page", TITLED)
def test_a_title_rests_on_verdicts_that_hold(page):
    assert falls(prose(page), recorded()) == []


def test_a_title_falls_with_its_verdict():
    title = "# Births coincide\n<!-- rests on SR5 Refuted, SR6 Supported -->\n\nText."
    assert falls(title, {"SR5": "Refuted", "SR6": "Supported"}) == []
    assert falls(title, {"SR5": "Undecided", "SR6": "Supported"}) == ["SR5 Refuted"]
    assert falls(title.replace("Refuted", "Undecided"), {"SR5": "Undecided", "SR6": "Supported"}) == ["SR5 Undecided"]
    assert falls("# Births coincide\n\nText.", {}) and falls(title.replace("SR6", "SR66"), {"SR5": "Refuted"})


STATUSES = {
    "SR18": "Undecided",
    "SR5.published": "Undecided",
    "SC4": "Refuted",
    "KV1": "Supported",
    "KV8": "Control failed",
    "SR7": "Void",
    "PR2": "Not checked",
}


def test_a_bare_assertion_beside_an_unsettled_claim_is_caught():
    bare = "Two layers are needed even where the answer is read at the key (SR18: {{ six_run_matrix_SR18_status }})."
    assert says_too_much(bare, STATUSES) == [bare]
    assert says_too_much("They are far apart (SR5.published: {glue:text}`SR5_published_status`).", STATUSES)
    assert says_too_much("It finds what is there (SC4: {glue:text}`SC4_status`).", STATUSES)
    assert says_too_much("One layer guesses (KV8: {glue:text}`KV8_status`).", STATUSES)
    assert says_too_much("Whether one layer guesses is undecided (KV8: {glue:text}`KV8_status`).", STATUSES)
    assert says_too_much("One head moves the answer (SR7: {glue:text}`SR7_status`).", STATUSES)
    assert says_too_much("Small models recall (PR2: {glue:text}`PR2_status`).", STATUSES)
    fine = (
        "It retrieves (KV1: {glue:text}`KV1_status`). Whether depth is needed, these seeds do not decide "
        "(SR18: {glue:text}`SR18_status`). It misses most (SC4: {glue:text}`SC4_status`). KV8 has no verdict: its "
        "control failed ({glue:text}`KV8_status`). By its definition SR7 cannot show it ({glue:text}`SR7_status`). PR2 "
        "was not checked ({glue:text}`PR2_status`)."
    )
    assert says_too_much(fine, STATUSES) == []


def test_what_a_verdict_says_itself_needs_no_words_beside_it():
    assert says_too_much("{{ six_run_matrix_SR18_told }} {{ story_control_SC4_told }}", STATUSES) == []
    assert TOLD.findall("{{ six_run_matrix_SR5_published_told }}") == [("SR5_published", "")]


@pytest.mark.parametrize("name", studies.names())
def test_claims_are_told_in_words_and_not_in_names_of_code(name):
    """Cards, tables, alternative texts and a terminal print them as they are: `x_1` would be read as it is written."""
    texts = {
        claim.id: (
            *dataclasses.astuple(claim.says),
            claim.source_verdict,
            claim.void,
            claim.remark,
            *(part for asked in asked_of(claim.in_words) for part in (str(asked), asked.bound.why, asked.draws)),
        )
        for claim in studies.load(name).CLAIMS
    }
    assert {claim: found for claim, of in texts.items() if (found := CODE_NAME.findall(" ".join(of)))} == {}


def asked_of(claim: Declared) -> tuple[Asked, ...]:
    """What a claim asks, and what its controls ask."""
    return (claim.asked, *(asked for asked, _ in claim.controls))
