"""What a reader of the explorer compares, takes along and follows: addresses, Python, tables, the path, Tab."""

import contextlib
import csv
import io
import re

import pytest
from explorer_page import (
    LAST,
    PROMPT,
    RUN,
    SECOND,
    SOURCE,
    ask,
    assert_reads,
    compare_seeds,
    compose,
    live,
    margin,
    margin_over_answer_words,
    opening,
    panes,
    press,
    problems,
    published,
    story,
    switch,
    tab_to,
    write_site,
)

from livingpaper.explorer.probe import probe

STEPS = published(RUN).steps


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return (write_site(tmp_path_factory.mktemp("explorer")) / "book/small.html").as_uri()


@pytest.fixture
def opened(browser, address):
    with opening(browser, address) as opened:
        yield opened


@pytest.fixture
def explorer(opened):
    return live(opened)


def test_another_run_is_loaded_when_it_is_asked_for(opened, explorer):
    def loaded():
        return [url.rpartition("/")[2] for url in opened.requests if url.endswith(".js")]

    assert loaded() == [f"{RUN}.js"]
    press(explorer, "Compare with another")
    assert loaded() == [f"{RUN}.js"]
    assert_reads(panes(explorer).last, step=0)
    press(explorer, "Stop comparing")
    compare_seeds(explorer)
    assert_reads(panes(explorer).last, run=SECOND)
    assert_reads(panes(explorer).first)
    assert loaded() == [f"{RUN}.js", f"{SECOND}.js"]
    switch(explorer, "L1H0", "on").click()
    assert_reads(panes(explorer).first, edits=["zero(L1H0)@all"])
    assert_reads(panes(explorer).last, run=SECOND, edits=["zero(L1H0)@all"])
    press(explorer, "Stop comparing")
    assert panes(explorer).count() == 1


def everything(explorer):
    """Change every part of the state."""
    explorer.get_by_role("slider").fill(str(STEPS[3]))
    explorer.get_by_label("What to do").select_option("patch")
    ask(explorer, SOURCE)
    ask(explorer, PROMPT, "Second prompt")
    compose(explorer, "patch", "L1H0.v<-source", "all")
    explorer.get_by_label("What to do").select_option("resample")
    ask(explorer, "7", "Reference prompt")
    compose(explorer, "resample", "L0H1", "12")
    compare_seeds(explorer)
    asked = {"prompt": SOURCE, "source": PROMPT, "resample": 7}
    return {**asked, "edits": ["patch(L1H0.v<-source)@all", "resample(L0H1)@12"]}


def test_the_address_restores_everything(browser, opened, explorer):
    asked = everything(explorer)
    press(explorer, "Copy link")
    link = explorer.get_by_label("Copied text").input_value()
    opened.page.wait_for_url(link)
    with opening(browser, link) as again:
        second = live(again)
        assert_reads(panes(second).first, step=STEPS[3], **asked)
        assert_reads(panes(second).last, run=SECOND, **asked)
        texts = [one.locator(".explorer-both").inner_text() for one in (explorer, second)]
        assert texts[0] == texts[1]
        assert problems(second) == []


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("run=nothing", "there is no run nothing here"),
        ("step=abc", "step"),
        ("resample=x", "resample"),
        ("prompt=K99", "token 0: 'K99' is no word of this task"),
        ("edits=zero(L9H0)@all", "no such part to edit"),
        ("edits=%E0%A4%A", "edit"),
        ("other=nothing+0", "there is no run nothing here"),
        (f"other={RUN}", "step"),
        ("colour=red", 'a part "colour"; it may have run, step'),
        ("constructor=1", 'a part "constructor"'),
    ],
)
def test_a_broken_address_gets_a_sentence_and_the_page_opens(browser, address, part, words):
    with opening(browser, f"{address}#explorer-small?{part}") as opened:
        explorer = live(opened)
        [told] = problems(explorer)
        assert told.startswith("The address could not be followed: ") and words.lower() in told.lower()
        assert not told.endswith("..")
        assert_reads(panes(explorer).first)


def test_the_python_that_is_copied_prints_the_numbers_of_the_page(opened, explorer):
    everything(explorer)
    press(explorer, "Copy as Python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(explorer.get_by_label("Copied text").input_value(), {})
    for name, of_page in (("margin", margin), ("margin over answer words", margin_over_answer_words)):
        margins = [float(number) for number in re.findall(rf"^{name}: (\S+) \(over", printed.getvalue(), re.MULTILINE)]
        assert margins == pytest.approx([of_page(panes(explorer).nth(i)) for i in (0, 1)], abs=0.011)


def test_the_table_that_is_downloaded_holds_the_numbers_of_the_page(opened, explorer):
    asked = everything(explorer)
    with opened.page.expect_download() as download:
        press(explorer, "Download CSV")
    assert download.value.suggested_filename == "explorer-small.csv"
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    readings = {(RUN, STEPS[3]): None, (SECOND, published(SECOND).steps[-1]): None}
    assert {(row["run"], int(row["step"])) for row in rows} == readings.keys()
    for run, step in readings:
        reading, own = probe(run, step=step, **asked), [row for row in rows if row["run"] == run]
        values = {(row["table"], row["part"], row["position"], row["token"]): float(row["value"]) for row in own}
        assert len(values) == len(own)
        for token, word in enumerate(reading.vocab):
            assert values["probability", "", str(LAST), word] == pytest.approx(reading.probability_of(word), abs=1e-5)
            assert values["logit", "", str(LAST), word] == pytest.approx(reading.logits[-1, token].item(), abs=1e-4)
        at = "margin", "", str(LAST), f"{reading.favoured} over {reading.runner_up}"
        assert values[at] == pytest.approx(reading.margin, abs=1e-4)
        at = "margin over answer words", "", str(LAST), f"{reading.favoured} over {reading.runner_up_answer}"
        assert values[at] == pytest.approx(reading.margin_over_answer_words, abs=1e-4)
        attention = values["attention", "L1H1", str(LAST), f"3 {reading.words[3]}"]
        assert attention == pytest.approx(reading.patterns[1][1][LAST, 3].item(), abs=1e-5)
        assert sum(row["table"] == "attention" for row in own) == 4 * (LAST + 1) * (LAST + 2) / 2
        assert sum(row["table"] == "attribution" for row in own) == len(reading.attribution)


def test_the_path_goes_on_and_back(opened, explorer):
    stops = opened.page.evaluate("JSON.parse(document.querySelector('.explorer-data').textContent).path")
    for number, stop in enumerate(stops, 1):
        explorer.get_by_text(f"{number} of {len(stops)}", exact=True).wait_for()
        assert story(explorer) == f"{stop['title']} {stop['text']}"
        asked = {key: value for key, value in stop["state"].items() if key != "other"}
        assert_reads(panes(explorer).first, **asked)
        if number < len(stops):
            press(explorer, "Next")
    assert explorer.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
    press(explorer, "Back")
    switch(explorer, "L0H0", "on").click()
    assert "5 of 6, changed by you" in explorer.inner_text()
    press(explorer, "Start again")
    assert_reads(panes(explorer).first)
    assert "1 of 6" in explorer.inner_text()


def test_tab_alone_reaches_every_control(opened, explorer):
    everything(explorer)
    opened.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    explorer.get_by_role("button", name="Next").focus()
    controls = (
        *(
            "^layer|reads|^1, |^Ask for",
            "^Seed",
            "^Step of training, Network",
            "^Press to replace by",
            "^L0H0 o",
            "^Step of training, Compared",
            "^Prompt",
            "^Shuffle",
            "^Examples",
        ),
        *("^Second prompt", "^L0H0 o", "^Which part", "^What to do", "^At which", "^Add edit", "^Reference", "^patch"),
        *("^Attention of L0H0", "^Attention of L1H1", "^Every set", "^Copy link", "^Copy as", "^Download", "^Start"),
    )
    for pattern in controls:
        tab_to(opened, pattern)
        outline = opened.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", pattern
    tab_to(opened, "^Back", "Shift+Tab")
