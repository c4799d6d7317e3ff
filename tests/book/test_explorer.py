"""The explorer as a reader uses it: every control, beside what ``probe`` says."""

import pytest
from explorer_page import (
    LAST,
    PROMPT,
    RUN,
    SECOND,
    SOURCE,
    ask,
    assert_reads,
    compose,
    live,
    numbers,
    opening,
    panes,
    press,
    problems,
    published,
    square,
    story,
    switch,
    write_site,
)

from circuitcore.tasks.forms import PromptError, matching
from livingpaper.explorer.probe import probe

LONGER = PROMPT.replace(" ; Q", " ; K2 V2 ; Q")
STEPS = published(RUN).steps
HOLD = """() => {
    const tell = paperWeights, held = [];
    globalThis.paperWeights = Object.assign((...words) => held.push(words), { wanted: tell.wanted });
    window.release = () => { globalThis.paperWeights = tell; held.forEach(words => tell(...words)); };
}"""
TASK = published(RUN).recipe.make_task()


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


# ---- training ----


def test_it_opens_on_the_first_stop_of_the_path(explorer, pane):
    assert_reads(pane)
    assert story(explorer).startswith("It works. Asked for K7, the network says V0")
    births, curves = (explorer.locator(f"{where} svg.explorer-strip").first for where in (".explorer-place", "details"))
    assert births.get_attribute("aria-label") == (
        f"Through training: routes born between step 0 and {STEPS[3]:,}; copies not born"
    )
    assert curves.get_attribute("aria-label") == "Through training: accuracy"
    key = explorer.locator("details .explorer-key-line line").first
    assert key.evaluate("line => getComputedStyle(line).stroke") != "none", "the legend draws its lines"
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


def test_what_is_changed_while_another_run_loads_is_changed_of_that_run(opened, explorer, pane):
    opened.page.evaluate(HOLD)
    explorer.get_by_role("combobox", name="Seed", exact=True).first.select_option(
        str(published(SECOND).recipe.init_seed)
    )
    switch(explorer, "L0H1", "on").click()
    switch(explorer, "L1H0", "on").click()
    explorer.get_by_role("slider").press("Home")
    ask(explorer, SOURCE)
    assert_reads(pane)
    opened.page.evaluate("release()")
    switch(explorer, "L0H1", "off").wait_for()
    assert problems(explorer) == []
    assert_reads(pane, run=SECOND, step=0, prompt=SOURCE, edits=["zero(L0H1)@all", "zero(L1H0)@all"])


def test_a_prompt_that_is_refused_while_another_run_loads_does_not_keep_that_run_away(opened, explorer, pane):
    opened.page.evaluate(HOLD)
    explorer.get_by_role("combobox", name="Seed", exact=True).first.select_option(
        str(published(SECOND).recipe.init_seed)
    )
    ask(explorer, "<bos> K99")
    opened.page.evaluate("release()")
    explorer.get_by_role("alert").filter(has_text="Token 1").wait_for()
    assert len(problems(explorer)) == 1
    assert explorer.get_by_label("Prompt", exact=True).input_value() == "<bos> K99"
    assert_reads(pane, run=SECOND)
    ask(explorer, SOURCE)
    assert problems(explorer) == []
    assert_reads(pane, run=SECOND, prompt=SOURCE)


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
    for text in ("<bos> K99", LONGER):
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
        switch(explorer, part, "on").click()
    edits = ["zero(L0H1)@all", "zero(L1MLP)@all"]
    assert_reads(pane, edits=edits)
    assert "before the edits" in pane.locator(".explorer-margin").inner_text()
    off = switch(explorer, "L0H1", "off")
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


def test_a_prompt_of_another_length_drops_the_patches_alone_and_says_so(explorer, pane):
    explorer.get_by_label("What to do").select_option("patch")
    ask(explorer, SOURCE, "Second prompt")
    compose(explorer, "patch", "L1H0.q<-source", "all")
    switch(explorer, "L0H1", "on").click()
    assert_reads(pane, edits=["patch(L1H0.q<-source)@all", "zero(L0H1)@all"], source=SOURCE)
    ask(explorer, f"{LONGER} K99")
    assert problems(explorer) == ["Token 16: 'K99' is no word of this task."]
    assert_reads(pane, edits=["patch(L1H0.q<-source)@all", "zero(L0H1)@all"], source=SOURCE)
    ask(explorer, LONGER)
    told = "Patches are removed: the prompt has 16 tokens, the second one 13; they must have as many."
    assert problems(explorer) == [told]
    assert_reads(pane, prompt=LONGER, edits=["zero(L0H1)@all"])
    assert explorer.get_by_label("Second prompt", exact=True).input_value() == SOURCE
    ask(explorer, PROMPT)
    assert problems(explorer) == []


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
        switch(explorer, part, "on").click()
    explorer.locator(".explorer-chip").nth(1).focus()
    opened.page.keyboard.press("Enter")
    assert_reads(pane, edits=["zero(L0H0)@all", "zero(L1MLP)@all"])
    focused = "document.activeElement.closest('.explorer-part')?.textContent ?? 'nothing'"
    assert "Add edit" in opened.page.evaluate(focused)
    press(explorer, "Undo all edits")
    assert_reads(pane)
    assert explorer.locator(".explorer-chip:visible").count() == 0
    assert "Add edit" in opened.page.evaluate(focused)
