"""Claims as pages show them: one line with badge, sentence and picture, and what they rest on, folded away."""

import html
import re
from html.parser import HTMLParser

import pytest
from judged import control, judged

from livingpaper.claims.claim import Says
from livingpaper.claims.predictions import predict
from livingpaper.claims.rules import EvenOdds, Every, Share
from livingpaper.claims.units import EPOCHS, PROMPTS, RUNS, SEEDS, at_least, at_most
from livingpaper.claims.verdict import Status
from livingpaper.figures.badges import ICONS, badge, status_class
from livingpaper.figures.interval_mark import interval_mark
from livingpaper.figures.verdict_text import (
    AMONG_MANY,
    BY_ITS_POINT,
    NOTHING_NEW,
    anchor,
    claim_html,
    claim_lines,
    claim_markdown,
    claim_text,
    verdict_words,
    what_would_decide,
)

HIGH, MIDDLE, LOW = [0.9, 0.91, 0.92, 0.93, 0.94], [0.1, 0.3, 0.5, 0.7, 0.9], [0.09, 0.1, 0.11, 0.12, 0.1]
OF_STATUS = {
    Status.SUPPORTED: judged(HIGH),
    Status.REFUTED: judged(LOW),
    Status.UNDECIDED: judged(MIDDLE),
    Status.CONTROL_FAILED: judged(HIGH, controls=(control(HIGH),)),
    Status.VOID: judged(HIGH, void="nothing could show it."),
    Status.NOT_CHECKED: judged(None),
}
SENTENCES = {
    Status.SUPPORTED: "Heads *route*.",
    Status.REFUTED: "Heads do not route: 10 %.",
    Status.UNDECIDED: "It is not decided whether heads route.",
    Status.CONTROL_FAILED: "It cannot be said whether heads route: a control failed.",
    Status.VOID: "It cannot be said by this definition whether heads route: nothing could show it.",
    Status.NOT_CHECKED: "It was not checked on these runs whether heads route.",
}


class Outside(HTMLParser):
    """The words of a card that are there before it is unfolded; complains about tags that do not match."""

    def __init__(self, card):
        super().__init__()
        self.words, self.open = "", []
        self.feed(card)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "details" not in self.open and "title" not in self.open:
            self.words += data


# ---- one line, and the rest ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", Status)
def test_a_card_says_what_its_status_allows_and_no_more(status):
    verdict = OF_STATUS[status]
    assert verdict.status == status and verdict.sentence == SENTENCES[status]
    words = Outside(claim_html([verdict])).words
    # The badge is about the claim: where that is refuted, it stands first.
    said = f"“Heads *route*.” {SENTENCES[status]}" if status == Status.REFUTED else SENTENCES[status]
    shown = said.replace("*", "")
    assert words.startswith(f"{ICONS[status]} {status} C1. {shown}")
    for form in (claim_markdown, claim_html):
        assert badge(status) in form([verdict]) and f"paper-claim {status_class(status)}" in form([verdict])
    assert claim_text([verdict]).splitlines()[0] == f"C1 (paper: {status}): {said}"
    assert ("Heads route" in words) == (status in (Status.SUPPORTED, Status.REFUTED))
    assert ("Heads do not" in words) == (status == Status.REFUTED)


@pytest.mark.parametrize("status", [status for status in Status if status != Status.NOT_CHECKED])
def test_the_line_has_the_picture_and_its_numbers(status):
    verdict = OF_STATUS[status]
    picture, words = interval_mark(verdict.finding.held), verdict_words(verdict)["found"]
    assert words == {Status.REFUTED: "10 % [9, 12], 5 seeds", Status.UNDECIDED: "50 % [11, 89], 5 seeds"}.get(
        status, "92 % [90, 94], 5 seeds"
    )
    for form in (claim_markdown, claim_html):
        assert form([verdict]).count(picture) == 1 and f"{picture} {words}</span>" in form([verdict])
    assert Outside(claim_html([verdict])).words.endswith(words)


def test_a_verdict_that_the_number_of_claims_would_undo_says_so_on_its_face():
    verdict = OF_STATUS[Status.SUPPORTED]
    assert Outside(claim_html([verdict], lost=True)).words.endswith(f"5 seeds{AMONG_MANY}")
    for form in (claim_markdown, claim_html, claim_text):
        assert form([verdict], lost=True).count(AMONG_MANY) == 1 and AMONG_MANY not in form([verdict])
    both = [verdict, judged(HIGH, origin="rerun")]
    assert f"Paper: {AMONG_MANY}" in Outside(claim_html(both, lost=True)).words
    before, folded = claim_markdown([verdict], lost=True).split("<details>")
    assert AMONG_MANY in before and AMONG_MANY not in folded


def test_what_was_not_checked_has_no_picture():
    for form in (claim_markdown, claim_html):
        assert "<svg" not in form([OF_STATUS[Status.NOT_CHECKED]])
    assert "Not checked on these runs." in claim_lines([OF_STATUS[Status.NOT_CHECKED]])


@pytest.mark.parametrize("status", Status)
def test_everything_else_is_folded_and_in_every_form(status):
    verdict = OF_STATUS[status]
    lines = claim_lines([verdict])
    for form in (claim_markdown, claim_html):
        folded = re.search(
            r"<details><summary>What was asked and found</summary>(.*?)</details>", form([verdict]), re.DOTALL
        )
        plain = html.unescape(re.sub(r"\\(.)", r"\1", re.sub("<p>|</p>", "\n", folded[1])))
        assert [line for line in plain.splitlines() if line] == lines
    assert claim_text([verdict]).splitlines()[1:] == lines


def test_a_card_is_a_box_of_its_own_that_can_be_linked_to():
    card = claim_markdown([judged(HIGH, "KV2.published")])
    lines = card.splitlines()
    assert lines[0] == "::::{container} paper-claim status-supported" and lines[-1] == "::::"
    assert lines[1] == ":name: claim-kv2-published" == f":name: {anchor(judged(HIGH, 'KV2.published').claim)}"
    # A blank line on both sides of the tags: what stands between them is MyST and no HTML.
    assert "\n\n<details><summary>What was asked and found</summary>\n\n" in card and "\n\n</details>\n" in card
    assert 'id="claim-kv2-published"' in claim_html([judged(HIGH, "KV2.published")])


# ---- what stands in the fold -----------------------------------------------------------------------------------------


def test_what_was_asked_is_said_as_it_was_fixed():
    lines = claim_lines([judged(HIGH)])
    assert lines[1] == (
        "Fixed beforehand: routing at least 50 % over 5 seeds or more. The rule: on average. Why this bound: "
        "more often than not."
    )
    each = judged([0.9] * 6, rule=Share(each=at_least(0.8, "x")), bound=at_least(0.5, "most"))
    assert (
        "at least 50 % of seeds have routing at least 80 % over 5 seeds or more. The rule: share of seeds"
        in (claim_lines([each])[1])
    )


def test_what_was_found_has_interval_seeds_and_p_value():
    found = claim_lines([judged([0.6, 0.62, 0.64, 0.66, 0.68])])[2]
    assert re.fullmatch(r"Found: 64 % \[60, 68\], 5 seeds; p = 0\.00058 against the bound\.", found)
    assert claim_lines([judged([0.9] * 3)])[2] == "Found: 90 %, 3 seeds. Too few for a verdict: 5 needed."


def test_the_source_and_a_void_definition_are_named():
    verdict = judged(HIGH, source="source", source_verdict="Seen in one network.", void="it counts nothing.")
    assert claim_lines([verdict])[-2:] == [
        "Void, whatever is found: it counts nothing.",
        "The source: Seen in one network.",
    ]
    assert not any("Void" in line or "source" in line for line in claim_lines([judged(HIGH)]))


WIDE = [0.0, 0.2, 0.4, 0.6, 0.8]  # mean 0.4, half width 0.39


@pytest.mark.parametrize(
    ("values", "bound", "came", "status"),
    [
        ([0.1, 0.11, 0.12, 0.13, 0.14], 0.4, "It holds: 12 % [10, 14], 5 seeds.", Status.SUPPORTED),
        (
            WIDE,
            0.45,
            "It holds on these seeds, though its interval does not exclude that it fails: 40 % [1, 79], 5 seeds.",
            Status.SUPPORTED,
        ),
        (
            WIDE,
            0.35,
            "It misses its bound, though its interval does not exclude that it holds: 40 % [1, 79], 5 seeds.",
            Status.UNDECIDED,
        ),
        (HIGH, 0.4, "It FAILED: 92 % [90, 94], 5 seeds.", Status.CONTROL_FAILED),
    ],
)
def test_what_a_control_came_to_is_said_in_words(values, bound, came, status):
    verdict = judged(HIGH, controls=(control(values, bound=at_most(bound, "a guess")),))
    (line,) = [line for line in claim_lines([verdict]) if line.startswith("Control")]
    asked = f"Control, needed for a yes: untrained routing at most {100 * bound:.0f} %. "
    assert verdict.status == status and line == asked + came


@pytest.mark.parametrize(
    ("spoils", "words", "high", "low"),
    [
        ("yes", "for a yes", Status.CONTROL_FAILED, Status.REFUTED),
        ("no", "for a no", Status.SUPPORTED, Status.CONTROL_FAILED),
        ("either", "for any answer", Status.CONTROL_FAILED, Status.CONTROL_FAILED),
    ],
)
def test_what_a_control_is_needed_for_is_said_and_meant(spoils, words, high, low):
    for values, status in ((HIGH, high), (LOW, low)):
        verdict = judged(values, controls=(control(HIGH, spoils=spoils),))
        assert verdict.status == status
        assert any(line.startswith(f"Control, needed {words}: ") for line in claim_lines([verdict]))


def test_every_control_has_its_line():
    verdict = judged(HIGH, controls=(control(LOW), control([1.0] * 6, at_least(0.5, "most"), Every(), "no")))
    lines = [line for line in claim_lines([verdict]) if line.startswith("Control")]
    assert len(lines) == 2
    assert "else the interval must say at least 50 %). It holds: 100 % [54, 100], 6 seeds." in lines[1]


# ---- what would decide -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (judged([0.5, 0.55, 0.6, 0.65, 0.45]), "8 more seeds would decide it if the effect stays."),
        (judged([1.0] * 5, rule=Share(), unit=SEEDS), "1 more seed would decide it if the effect stays."),
        (judged([0.9] * 2), "3 more seeds would decide it if the effect stays."),
        (
            judged(MIDDLE),
            "No number of seeds that could be paid for would decide it if the effect stays: it lies too near the "
            "bound.",
        ),
    ],
)
def test_how_many_seeds_would_decide_is_said(verdict, words):
    assert what_would_decide(verdict) == words and claim_lines([verdict])[-1] == words
    if words[0] != "N":
        priced = what_would_decide(verdict, "about 3 h here")
        assert priced == words[:-1] + " (about 3 h here)."
        assert claim_lines([verdict], "about 3 h here")[-1] == priced


@pytest.mark.parametrize("status", [status for status in Status if status != Status.UNDECIDED])
def test_what_is_decided_or_never_will_be_needs_no_seeds(status):
    assert what_would_decide(OF_STATUS[status], "about 3 h here") == ""
    for form in (claim_markdown, claim_html, claim_text):
        assert "would decide" not in form([OF_STATUS[status]], None, "about 3 h here")


# ---- the reader's runs -----------------------------------------------------------------------------------------------


def test_both_origins_have_their_badges_pictures_and_lines():
    both = [judged(HIGH), judged([0.93, 0.9], origin="rerun")]
    words = Outside(claim_html(both)).words
    of_paper = f"paper: {ICONS[Status.SUPPORTED]} Supported 92 % [90, 94], 5 seeds"
    yours = f"your seeds: {ICONS[Status.UNDECIDED]} Undecided 92 %, 2 seeds"
    assert " ".join(words.split()) == f"C1. Heads route. {of_paper} {yours}"
    for form in (claim_markdown, claim_html):
        assert form(both).count("<svg") == 2 and f"paper-claim {status_class(Status.SUPPORTED)}" in form(both)
    lines = claim_lines(both, "about 3 h here")
    assert sum(line.startswith("Paper: ") for line in lines) == 1
    yours = [line for line in lines if line.startswith("Your seeds: ")]
    assert yours[0] == "Your seeds: Found: 92 %, 2 seeds. Too few for a verdict: 5 needed."
    assert predict(*both).sentence in lines
    assert not any("about 3 h here" in line for line in yours), "the price is that of the published design"


@pytest.mark.parametrize("form", [claim_markdown, claim_html])
def test_seeds_that_decide_otherwise_say_so_beside_their_badge(form):
    for published, yours, words in ((HIGH, LOW, "Heads do not route: 10 %."), (LOW, HIGH, "route")):
        card = form([judged(published), judged(yours, origin="rerun")]).partition("<details>")[0]
        assert words in card.rpartition("claim-of")[2]
    agreeing = form([judged(HIGH), judged(HIGH, origin="rerun")]).partition("<details>")[0]
    assert "route" not in agreeing.rpartition("claim-of")[2]


def test_runs_that_are_the_published_ones_earn_no_second_badge():
    both = [judged(HIGH), judged(HIGH, origin="rerun")]
    for form in (claim_markdown, claim_html, claim_text):
        card = form(both, new=False)
        assert NOTHING_NEW in card and card.count("Supported") == 1 and "Your seeds: " not in card


def test_two_pictures_of_a_claim_have_one_scale():
    card = claim_html([judged([1, 2, 3, 2, 2], unit=EPOCHS), judged([90.0], origin="rerun", unit=EPOCHS)])
    assert len(set(re.findall(r'class="bound" x1="([\d.]+)"', card))) == 1


def test_a_rerun_alone_speaks_for_itself():
    alone = [judged(LOW, origin="rerun")]
    assert claim_text(alone).startswith("C1 (your seeds: Refuted): “Heads *route*.” Heads do not route: 10 %.")
    words = Outside(claim_html(alone)).words
    assert "Your seeds" not in "".join(claim_lines(alone)) and words.startswith("your seeds: ✖ Refuted")
    assert words.endswith("5 seeds")


# ---- words -----------------------------------------------------------------------------------------------------------


def test_words_for_the_prose():
    runs = judged([1.0] * 6 + [0.0] * 14, rule=Share(), unit=RUNS)
    words = verdict_words(runs)
    assert (words["percent"], words["count"], words["status"]) == ("30 %", "6 of 20", "Undecided")
    assert words["found"] == "30 % [12, 54], 20 seeds"
    none = verdict_words(judged(None))
    assert none["percent"] == none["found"] == "(not measured)" and none["status"] == "Not checked"
    assert verdict_words(judged(None, rule=Share(), unit=SEEDS))["count"] == "(not measured)"


def test_what_is_found_stands_in_the_sentence_on_its_side_of_the_bound():
    says = Says(
        holds="At least half.",
        fails="Less: {effect}, {against} of {n} do not.",
        whether="whether half",
    )
    assert judged([0.4999] * 5, says=says).sentence == "Less: 49.99 %, 0 of 5 do not."
    below = judged([1.0] * 1 + [0.0] * 9, says=says, rule=Share(), unit=SEEDS)
    assert below.sentence == "Less: 10 %, 9 of 10 do not."
    assert judged([1.0] * 9 + [0.0], says=says, rule=Share(), unit=SEEDS).sentence == "At least half."


def test_words_of_a_claim_are_no_markup():
    says = Says(holds="It <works> for $5 & more.", fails="It does not.", whether="whether it <works>")
    verdict = judged(HIGH, says=says, unit=PROMPTS)
    assert "It &lt;works&gt; for $5 &amp; more." in claim_html([verdict]) and "<works>" not in claim_html([verdict])
    assert r"It \<works\> for \$5 & more." in claim_markdown([verdict])


def test_only_a_share_is_told_in_percent_and_only_one_of_seeds_as_a_count():
    def told(values, **changes):
        return {"percent", "count"} & set(verdict_words(judged(values, **changes)))

    some = [0.6, 0.7, 0.8, 0.9, 0.8]
    assert told(some, unit=PROMPTS) == told(some, unit=RUNS) == {"percent"}  # a mean: not so many of five seeds
    for rule in (Share(), Every(), Share(each=at_least(0.7, "enough"))):
        assert told(some, rule=rule, unit=RUNS) == {"percent", "count"}
    assert told([1.0] * 5, rule=EvenOdds(), unit=SEEDS, bound=at_most(0.1, "about half")) == {"percent"}
    assert told([6, 7, 8, 9, 8], unit=EPOCHS, bound=at_least(5, "five")) == set()


def test_what_tempers_a_verdict_stands_on_the_face_of_its_card():
    """A remark, that a control holds by its point alone, and that the claim was declared after results."""
    remark = "Networks were added *twice*."
    shaky = control([0.4, 0.6, 0.5, 0.7, 0.45], at_least(0.5, "half"))
    verdict = judged(HIGH, controls=(shaky,), declared="after", remark=remark)
    assert verdict.status == Status.SUPPORTED
    for form in (claim_markdown, claim_html):
        face, folded = form([verdict]).split("<details>")
        assert face.count("claim-many") == 2 and BY_ITS_POINT in face and "Networks were added" in face
        assert "Fixed, at least in part, after results were seen: " in folded and "Fixed beforehand" not in folded
    assert "*twice*" in claim_html([verdict]), "a remark is text"
    assert "claim-many" not in claim_html([judged(HIGH)])
