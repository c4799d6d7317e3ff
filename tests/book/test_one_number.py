"""One quantity, one number: cards, the page of claims, prose and ``claims.json`` say the same of every verdict."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from conftest import BOOK_PAGES

from livingpaper.claims.verdict import Verdict, from_json
from livingpaper.figures.badges import ICONS, status_class
from livingpaper.figures.interval_mark import as_counted
from livingpaper.figures.verdict_text import AMONG_MANY, anchor, in_prose


@pytest.fixture(scope="module")
def verdicts(site: Path) -> dict[str, Verdict]:
    """By anchor, what the data beside the page of claims say."""
    return {anchor(found.claim): found for found in from_json((site / "book/claims.json").read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def articles(site: Path) -> dict[str, BeautifulSoup]:
    """What is written on each page; the words inside pictures of intervals are left out."""
    found = {}
    for name in BOOK_PAGES:
        page = BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        for picture in page.select("svg.interval-mark"):
            picture.decompose()
        found[name] = page.select_one(".bd-article")
    return found


@pytest.fixture(scope="module")
def cards(articles) -> dict[str, list[Tag]]:
    """Every card of a claim, on whichever page it stands, by its anchor."""
    found = {}
    for card in (card for article in articles.values() for card in article.select(".paper-claim")):
        found.setdefault(card.get("id"), []).append(card)
    return found


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def test_every_verdict_has_one_card_which_says_what_the_data_say(cards, verdicts):
    assert len(verdicts) > 50
    for name, verdict in verdicts.items():
        (card,) = cards[name]
        # Where the smoke tier stands beside the published runs, their verdict comes first, as in the data.
        assert status_class(verdict.status) in card.select_one(".status-badge")["class"]
        said = [squeezed(found.text) for found in card.select(".claim-found")]
        assert said[:1] == ([as_counted(verdict.finding.held)] if verdict.finding else []), name


def test_the_page_of_claims_says_what_the_data_say(articles, verdicts):
    rows = articles["book/claims"].select("article.ledger-row")
    said = {
        row.a["href"].partition("#")[2]: [squeezed(found.text) for found in row.select(".ledger-found")] for row in rows
    }
    for name, verdict in verdicts.items():
        shown = said.get(name) or said[name.removesuffix("-published")]
        numbers = as_counted(verdict.finding.held) if verdict.finding else ""
        wanted = squeezed(f"{ICONS[verdict.status]} {verdict.status} {numbers}")
        assert any(found.endswith(wanted) for found in map(squeezed, shown)), (name, wanted, shown)


def test_prose_has_the_badges_of_the_data(articles, cards, verdicts):
    links = [link for article in articles.values() for link in article.select("a[href*='#claim-']")]
    badges = [link for link in links if any(sign in link.text for sign in ICONS.values())]
    assert len(badges) >= 20
    assert [name for name, article in articles.items() if "<claim-" in article.text] == [], "a link that is none"
    for link in badges:
        verdict = verdicts[link["href"].partition("#")[2]]
        (card,) = cards[anchor(verdict.claim)]
        lost = AMONG_MANY in squeezed(card.text).replace("’", "'")
        assert squeezed(link.text) == f"{ICONS[verdict.status]} {in_prose(verdict, lost=lost)}"
        sentence = squeezed(link.find_parent("p").text)
        if sentence.endswith(f"({squeezed(link.text)})") and link.find_parent("p").a.find_next("a") is link:
            continue  # beside a title, which rests on the claim: ``test_sentences`` has it so
        assert squeezed(verdict.sentence).replace("'", "’") in sentence.replace("'", "’"), sentence
