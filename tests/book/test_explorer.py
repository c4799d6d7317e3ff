"""The explorer as a reader uses it: every control, beside what ``probe`` says."""

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
    ask,
    assert_reads,
    compare_seeds,
    live,
    margin,
    numbers,
    opening,
    panes,
    press,
    problems,
    published,
    square,
    tab_to,
    write_site,
)

from circuitcore.explorer.probe import probe
from circuitcore.tasks.forms import PromptError, matching

STEPS = published(RUN).steps
TASK = published(RUN).recipe.make_task()
SOURCE = PROMPT.replace("Q K7", "Q K1")


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


@pytest.fixture
def pane(explorer):
    return panes(explorer).first


def sentence(error):
    """As the page writes it beside a field."""
    return f"{str(error)[0].upper()}{str(error)[1:]}."


def story(explorer):
    return explorer.locator(".explorer-story").inner_text()


def compose(explorer, kind, part, where):
    explorer.get_by_label("What to do").select_option(kind)
    explorer.get_by_label("Which part").select_option(part)
    explorer.get_by_label("At which position").select_option(where)
    press(explorer, "Add edit")


# ---- training ----


def test_it_opens_on_the_first_stop_of_the_path(explorer, pane):
    assert_reads(pane)
    assert story(explorer).startswith("It works. Asked for K7, the network says V0")
    assert "accuracy" in explorer.locator("svg[role=img]").first.get_attribute("aria-label")
    assert not explorer.locator(".explorer-still").is_visible()
    assert problems(explorer) == []


def test_arrows_go_from_checkpoint_to_checkpoint(opened, explorer, pane):
    slider, keys = explorer.get_by_role("slider"), opened.page.keyboard
    slider.focus()
    keys.press("Home")
    for step in STEPS:
        assert f"step {step:,} of {STEPS[-1]:,}" in slider.get_attribute("aria-valuetext")
        assert_reads(pane, step=step)
        keys.press("ArrowRight")
    assert_reads(pane, step=STEPS[-1])
    keys.press("PageDown")
    assert_reads(pane, step=STEPS[-2])
    slider.fill(str(STEPS[2] + 1))  # between two: the nearer
    assert_reads(pane, step=STEPS[2])


def test_play_goes_through_training_and_stops(opened, explorer):
    press(explorer, "Play")
    value = explorer.get_by_role("slider").get_attribute
    opened.page.wait_for_function(f"document.querySelector('.explorer-slider').value === '{STEPS[1]}'")
    press(explorer, "Stop")
    found = value("aria-valuetext")
    opened.page.wait_for_timeout(1000)
    assert value("aria-valuetext") == found and f"step {STEPS[-1]:,} of" not in found
    assert explorer.get_by_role("button", name="Play", exact=True).is_visible()


# ---- prompts ----


BAD = [
    *("", "   ", "<bos> K99 V1", PROMPT.lower(), "<bos> K1 ->", f"{PROMPT} {PROMPT}", "<img src=x onerror=go>"),
    *(PROMPT.replace("K6", "K1"), PROMPT.replace("Q K7", "Q K0"), PROMPT.replace(";", "->")),
]


@pytest.mark.parametrize("text", BAD)
def test_a_prompt_that_is_none_gets_pythons_sentence_and_the_numbers_stay(explorer, pane, text):
    with pytest.raises(PromptError) as python:
        matching(TASK.forms, text.split())
    before = numbers(pane)
    ask(explorer, text)
    assert problems(explorer) == [sentence(python.value)]
    assert numbers(pane) == before
    beside = explorer.get_by_label("Prompt", exact=True).locator("xpath=ancestor::*[contains(@class, 'explorer-ask')]")
    assert beside.get_by_role("alert").inner_text() == sentence(python.value)
    ask(explorer, SOURCE)
    assert problems(explorer) == []
    assert_reads(pane, prompt=SOURCE)


def test_a_second_prompt_that_is_none_is_told_beside_its_field(explorer, pane):
    explorer.get_by_label("What to do").select_option("patch")
    for text in ("<bos> K99", PROMPT.replace(" ; Q", " ; K2 V2 ; Q")):
        ask(explorer, text, "Second prompt")
        beside = explorer.get_by_label("Second prompt", exact=True).locator(
            "xpath=ancestor::*[contains(@class, 'explorer-ask')]"
        )
        assert beside.get_by_role("alert").inner_text() == problems(explorer)[0]
    assert "The second prompt has 16 tokens, the first 13; they must have as many." in problems(explorer)
    assert_reads(pane)


def test_typed_markup_never_becomes_an_element(opened, explorer, pane):
    markup = "<img src=x onerror=window.struck=1>"
    explorer.get_by_label("What to do").select_option("patch")
    for label in ("Prompt", "Second prompt"):
        ask(explorer, markup.replace(" ", "\u00a0"), label)
        ask(explorer, markup, label)
    opened.page.evaluate("text => { location.hash = 'explorer-small?edits=' + text; }", markup)
    opened.page.wait_for_timeout(200)
    assert problems(explorer) and explorer.locator("img").count() == 0
    assert opened.page.evaluate("window.struck") is None
    assert_reads(pane)


def test_shuffle_and_examples_give_prompts_of_the_task(explorer, pane):
    field, seen = explorer.get_by_label("Prompt", exact=True), set()
    for _ in range(8):
        press(explorer, "Shuffle: prompt")
        seen.add(field.input_value())
        assert_reads(pane, prompt=field.input_value())
    assert len(seen) > 4 and problems(explorer) == []
    explorer.get_by_label("Examples of prompts").select_option("asks K1")
    assert_reads(pane, prompt=SOURCE)


# ---- edits ----


def test_switches_turn_parts_off_and_on(explorer, pane):
    for part in ("L0H1", "L1MLP"):
        explorer.get_by_role("button", name=f"{part} on", exact=True).click()
    edits = ["zero(L0H1)@all", "zero(L1MLP)@all"]
    assert_reads(pane, edits=edits)
    assert "before the edits" in pane.locator(".explorer-margin").inner_text()
    off = explorer.get_by_role("button", name="L0H1 off", exact=True)
    assert off.get_attribute("aria-pressed") == "true"
    off.click()
    assert_reads(pane, edits=edits[1:])


@pytest.mark.parametrize(
    ("chosen", "more"),
    [
        (("zero", "L0H0", "10"), {}),
        (("mean", "L0MLP", "all"), {}),
        (("mean", "L1H1", str(LAST)), {}),
        (("resample", "L1H0", "all"), {"resample": 5}),
        (("patch", "L1.resid_pre<-source", str(LAST)), {"source": SOURCE}),
        (("patch", "L1H0.q<-source", "all"), {"source": SOURCE}),
    ],
)
def test_the_composer_adds_what_probe_reads(explorer, pane, chosen, more):
    kind, part, where = chosen
    explorer.get_by_label("What to do").select_option(kind)
    if "source" in more:
        ask(explorer, more["source"], "Second prompt")
    if "resample" in more:
        ask(explorer, str(more["resample"]), "Reference prompt")
    compose(explorer, *chosen)
    edit = f"{kind}({part})@{where}"
    assert explorer.locator(".explorer-chip").all_inner_texts() == [f"{edit} \u00d7"]
    assert_reads(pane, edits=[edit], **more)


def test_what_cannot_be_made_is_told_and_the_numbers_stay(explorer, pane):
    compose(explorer, "patch", "L0H0.z<-source", "all")
    assert problems(explorer) == ["A patch needs a second prompt to take the activation from."]
    explorer.get_by_label("What to do").select_option("resample")
    ask(explorer, "99", "Reference prompt")
    compose(explorer, "resample", "L0H0", "all")
    assert problems(explorer) == ["Reference prompt 99: there are 0 to 31."]
    assert_reads(pane)


def test_a_mouse_cuts_an_edge_and_restores_it(explorer, pane):
    canvas = pane.locator("canvas").nth(2)
    canvas.scroll_into_view_if_needed()
    canvas.hover(position=square(canvas, LAST, 8))
    reading = probe(RUN, prompt=PROMPT)
    attention = f"{reading.patterns[1][0][LAST, 9]:.3f}"
    told = f"L1H0: -> (arrow, position {LAST}) reads ; (separator, position 9): {attention}. Press to cut"
    canvas.hover(position=square(canvas, LAST, 9))
    assert pane.locator(".explorer-readout").inner_text().startswith(told)
    canvas.click(position=square(canvas, LAST, 9))
    assert_reads(pane, edits=[f"cut(L1H0:{LAST}->9)"])
    assert "position 9): cut" in pane.locator(".explorer-readout").inner_text()
    canvas.click(position=square(canvas, 2, 9))  # above the diagonal there is no edge
    assert_reads(pane, edits=[f"cut(L1H0:{LAST}->9)"])
    canvas.click(position=square(canvas, LAST, 9))
    assert_reads(pane)


def test_a_keyboard_cuts_an_edge(opened, explorer, pane):
    canvas = pane.locator("canvas").nth(1)
    canvas.focus()
    for key in ("End", "ArrowUp", "Home", "ArrowRight", "ArrowRight"):
        opened.page.keyboard.press(key)
    opened.page.keyboard.press("Enter")
    edit = f"cut(L0H1:{LAST - 1}->2)"
    assert_reads(pane, edits=[edit])
    assert canvas.get_attribute("aria-label").endswith(": cut")
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press(" ")
    assert_reads(pane, edits=[edit, f"cut(L0H1:{LAST}->2)"])


def test_every_key_of_a_query_cannot_be_cut(opened, explorer, pane):
    canvas = pane.locator("canvas").first
    canvas.click(position=square(canvas, 0, 0))
    assert "leave a query with no key" in problems(explorer)[0]
    assert_reads(pane)


def test_chips_remove_edits_and_keep_the_focus(opened, explorer, pane):
    for part in ("L0H0", "L0H1", "L1MLP"):
        explorer.get_by_role("button", name=f"{part} on", exact=True).click()
    explorer.locator(".explorer-chip").nth(1).focus()
    opened.page.keyboard.press("Enter")
    assert_reads(pane, edits=["zero(L0H0)@all", "zero(L1MLP)@all"])
    focused = "document.activeElement.closest('.explorer-part')?.textContent ?? 'nothing'"
    assert "Add edit" in opened.page.evaluate(focused)
    press(explorer, "Undo all edits")
    assert_reads(pane)
    assert explorer.locator(".explorer-chip:visible").count() == 0
    assert "Add edit" in opened.page.evaluate(focused)


# ---- comparing, sharing ----


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
    explorer.get_by_role("button", name="L1H0 on", exact=True).click()
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
    margins = [float(number) for number in re.findall(r"margin over \S+: (\S+)", printed.getvalue())]
    assert margins == pytest.approx([margin(panes(explorer).nth(i)) for i in (0, 1)], abs=0.011)


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
    explorer.get_by_role("button", name="L0H0 on", exact=True).click()
    assert "5 of 6, changed by you" in explorer.inner_text()
    press(explorer, "Start again")
    assert_reads(panes(explorer).first)
    assert "1 of 6" in explorer.inner_text()


def test_tab_alone_reaches_every_control(opened, explorer):
    everything(explorer)
    explorer.locator("summary").click()
    opened.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    explorer.get_by_role("button", name="Next").focus()
    controls = (
        *(
            "^Condition",
            "^Step of training, Network",
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
