"""The stage as a reader uses it, by mouse and by keyboard, beside what ``probe`` says; and how much room it takes."""

import random
import re
from urllib.parse import quote

import pytest
from axe_checks import seriously_wrong
from explorer_page import (
    LAST,
    PROMPT,
    RUN,
    SECOND,
    SOURCE,
    ask,
    assert_reads,
    closed,
    opening,
    panel,
    panes,
    press,
    problems,
    published,
    staged,
    story,
    switch,
    tab_to,
    write_pages,
    write_stage,
    write_weights,
)

from circuitcore.tasks.forms import PromptError, matching
from livingpaper.explorer.probe import probe
from livingpaper.explorer.widget import block_of, exhibit_of
from livingpaper.figures.circuit import likely

NAME = "explorer-staged"
LONG = ("story-e6a34a3a5d93", "balanced_stream-949aa3df1f58")
"""Networks whose prompts are long."""
STEPS = published(RUN).steps
SUPPORTED = "1 tags (L0H0), 2 carries (L0H1), 3 matches (L1H*)"
ASKED_KEY, ASKED_VALUE, QUERY = 7, 8, 11
"""Positions in the prompt."""
MATCHES = [f"cut(L1H{head}:{LAST}->{ASKED_VALUE})" for head in (0, 1)]
POINT = """([name, key]) => {
    const node = [...document.querySelectorAll(`#${name} [data-key]`)].find(one => one.dataset.key === key);
    node.scrollIntoView({ block: 'center' });
    const line = node.querySelector('.line'), size = node.getBoundingClientRect();
    const shares = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.15, 0.85];
    const at = share => {
        if (!line) return [size.x + size.width * share, size.y + size.height / 2];
        const { x, y } = line.getPointAtLength(line.getTotalLength() * share).matrixTransform(line.getScreenCTM());
        return [x, y];
    };
    const isOn = point => document.elementFromPoint(...point)?.closest('[data-key]') === node;
    return shares.map(at).find(isOn) ?? null;
}"""
N_PROMPTS, N_ADDRESSES = 120, 80
TRIED = """async ([prompts, addresses]) => {
    const box = document.querySelector('.explorer.is-live'), found = [];
    const field = box.querySelector('input.explorer-prompt');
    const told = () => [...box.querySelectorAll('[role=alert]')].map(one => one.textContent).filter(Boolean);
    const shown = () => box.querySelector('.explorer-stage').outerHTML + box.querySelector('.explorer-next').outerHTML;
    const wait = () => new Promise(done => setTimeout(done));
    const before = shown(), n = box.querySelectorAll('*').length;
    const note = text => found.push([text, told(), shown() === before, box.querySelectorAll('*').length - n]);
    for (const text of prompts) {
        field.value = text;
        field.dispatchEvent(new Event('change'));
        await wait();
        note(text);
    }
    for (const text of addresses) {
        const came = new Promise(done => addEventListener('hashchange', done, { once: true }));
        location.hash = text;
        await came;
        await wait();
        note(text);
    }
    return found;
}"""
POINTED = """([name, events]) => {
    const found = [];
    for (const [type, position, more] of events) {
        const node = document.querySelector(`#${name} [data-position="${position}"]`);
        node.scrollIntoView({ block: 'nearest' });
        const { x, y, width, height } = node.getBoundingClientRect();
        const at = { clientX: x + width / 2, clientY: y + height / 2, pointerId: 5, bubbles: true, ...more };
        node.dispatchEvent(new PointerEvent(type, at));
        found.push(document.querySelectorAll(`#${name} .is-dragged`).length);
    }
    return found;
}"""
ORDER = """name => [...document.querySelectorAll(`#${name} .explorer-stage [data-key]`)].map(one => one.dataset.key)"""
FOCUSED = "document.activeElement.dataset.key ?? document.activeElement.outerHTML.slice(0, 80)"
BOTTOM = """name => {
    const box = document.querySelector(`#${name}`), top = box.getBoundingClientRect().top;
    return box.querySelector('.explorer-place').getBoundingClientRect().bottom - top;
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return write_stage(tmp_path_factory.mktemp("stage"))


@pytest.fixture(scope="module")
def address(site):
    return (site / "book/stage.html").as_uri()


@pytest.fixture(scope="module")
def opened(browser, address):
    """One page for all tests; each begins anew."""
    with opening(browser, address) as opened:
        explorer = closed(opened, NAME)
        panel(explorer, "Every number").locator("summary").click()
        panes(explorer).first.locator("canvas").first.wait_for()
        yield opened


@pytest.fixture
def explorer(opened):
    explorer = closed(opened, NAME)
    press(explorer, "Start again")
    explorer.get_by_label("Press to replace by").first.select_option("zero")
    opened.page.evaluate("document.activeElement.blur()")
    return explorer


@pytest.fixture
def pane(explorer):
    return panes(explorer).first


def at(explorer, key):
    """What on the stage can be pressed, by its key."""
    return explorer.locator(f'.explorer-stage [data-key="{key}"]').first


def point(explorer, key):
    """Where a mouse meets it, on the screen; nothing else may lie on all of it."""
    found = explorer.page.evaluate(POINT, [NAME, key])
    assert found, f"nowhere can {key} be pressed"
    return found


def click(explorer, key):
    explorer.page.mouse.click(*point(explorer, key))


def drag(explorer, source, target):
    """A token onto another."""
    mouse, nodes = explorer.page.mouse, [explorer.locator(f'[data-position="{one}"]').first for one in (source, target)]
    nodes[0].scroll_into_view_if_needed()
    (x1, y1), (x2, y2) = (
        (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in (node.bounding_box() for node in nodes)
    )
    mouse.move(x1, y1)
    mouse.down()
    mouse.move((x1 + x2) / 2, (y1 + y2) / 2)
    mouse.move(x2, y2)
    mouse.up()


def readout(explorer):
    return explorer.locator(".explorer-shown > .explorer-readout").first.inner_text()


def classes(node):
    return node.get_attribute("class").split()


# ---- arrows, names, tokens ----


def test_pressing_an_arrow_cuts_its_edge_in_all_heads_of_its_link_and_again_restores_it(explorer, pane):
    key = f"3 1 {ASKED_VALUE} {LAST}"
    click(explorer, key)
    assert_reads(pane, edits=MATCHES)
    assert "is-cut" in classes(at(explorer, key)) and at(explorer, key).get_attribute("aria-pressed") == "true"
    assert at(explorer, key).get_attribute("aria-label").endswith(", cut")
    click(explorer, key)
    assert_reads(pane)
    assert "is-cut" not in classes(at(explorer, key)) and at(explorer, key).get_attribute("aria-pressed") == "false"
    tags = f"1 0 {ASKED_KEY} {ASKED_VALUE}"
    click(explorer, tags)
    click(explorer, key)
    assert_reads(pane, edits=[f"cut(L0H0:{ASKED_VALUE}->{ASKED_KEY})", *MATCHES])


def test_attention_alone_is_cut_in_its_own_head_and_stays_to_be_restored(explorer, pane):
    explorer.get_by_role("slider").press("Home")  # of a network of which nothing was tested
    assert_reads(pane, step=0)
    assert explorer.locator(".explorer-stage .link").count() == 0
    looks = explorer.locator('.explorer-stage [data-key^="look 1 "]')
    key, label = looks.first.get_attribute("data-key"), looks.first.get_attribute("aria-label")
    _, layer, source, target = key.split(" ")
    head = label.split(":")[0]
    assert head.startswith(f"L{layer}H")
    at(explorer, key).focus()
    assert "No test speaks of it: attention, no part of a mechanism." in readout(explorer)
    explorer.page.keyboard.press("Enter")
    edit = f"cut({head}:{target}->{source})"
    assert_reads(pane, step=0, edits=[edit])
    cut = explorer.locator(".explorer-stage .is-cut")
    cut.first.wait_for()
    cut.first.focus()
    explorer.page.keyboard.press("Enter")
    assert_reads(pane, step=0)


def test_a_step_without_tests_has_attention_alone(explorer):
    assert explorer.locator(".explorer-stage .link").count() == 4
    explorer.get_by_role("slider").press("Home")
    assert explorer.locator(".explorer-stage .name").count() == 0
    explorer.get_by_role("slider").press("ArrowRight")
    assert explorer.locator(".explorer-stage .name").count() == 4


def test_a_name_takes_its_heads_away_and_puts_them_back(explorer, pane):
    click(explorer, "name 3")
    assert_reads(pane, edits=["zero(L1H0)@all", "zero(L1H1)@all"])
    gone = explorer.locator(".explorer-stage .is-removed")
    assert gone.count() >= 2  # its arrow and its name, and those of the other move of these heads
    assert at(explorer, "name 3").get_attribute("aria-pressed") == "true"
    switch(explorer, "L1H0", "off").wait_for()
    click(explorer, "name 3")
    assert_reads(pane)
    assert gone.count() == 0
    click(explorer, "name 1")
    click(explorer, "name 2")
    assert_reads(pane, edits=["zero(L0H0)@all", "zero(L0H1)@all"])


def test_what_writes_the_answer_is_taken_away_by_its_arrow_too(explorer, pane):
    click(explorer, f"answer {LAST}")
    assert_reads(pane, edits=["zero(L1H0)@all", "zero(L1H1)@all"])


@pytest.mark.parametrize(
    ("kind", "edit", "more"),
    [
        ("zero", "zero(L0H0)@all", {}),
        ("mean", "mean(L0H0)@all", {}),
        ("resample", "resample(L0H0)@all", {"resample": 0}),
        ("patch", "patch(L0H0.z<-source)@all", {"source": SOURCE}),
    ],
)
def test_what_is_pressed_is_replaced_by_what_the_menu_says(explorer, pane, kind, edit, more):
    second = explorer.get_by_label("Second prompt", exact=True)
    assert not second.is_visible()
    explorer.get_by_label("Press to replace by").first.select_option(kind)
    assert second.is_visible() == (kind == "patch")
    if kind == "patch":
        ask(explorer, SOURCE, "Second prompt")
    click(explorer, "name 1")
    assert_reads(pane, edits=[edit], **more)
    assert switch(explorer, "L0H0", "off").get_attribute("aria-pressed") == "true"
    explorer.get_by_label("Press to replace by").first.select_option("zero")
    click(explorer, "name 1")  # however it was taken away
    assert_reads(pane)


def test_pressing_a_key_asks_for_it(explorer, pane):
    assert at(explorer, f"token {ASKED_KEY}").count() == 0  # it is asked for already
    click(explorer, "token 1")
    assert_reads(pane, prompt=SOURCE)
    assert explorer.get_by_label("Prompt", exact=True).input_value() == SOURCE


def test_a_token_is_dragged_onto_another(explorer, pane):
    drag(explorer, 4, QUERY)
    assert_reads(pane, prompt=PROMPT.replace("Q K7", "Q K6"))
    assert problems(explorer) == []


def test_a_drop_that_makes_no_prompt_says_why_and_the_numbers_stay(explorer, pane):
    drag(explorer, 2, QUERY)
    words = PROMPT.split()
    words[QUERY] = words[2]
    with pytest.raises(PromptError) as python:
        matching(staged().task.forms, words)
    assert problems(explorer) == [f"{str(python.value)[0].upper()}{str(python.value)[1:]}."]
    assert_reads(pane)
    assert explorer.locator(".explorer-stage .is-dragged").count() == 0
    drag(explorer, 4, QUERY)
    assert problems(explorer) == []


def pointer(explorer, *events):
    """Pointer events over tokens, each (type, position) or with more of it; how many are dragged after each."""
    return explorer.page.evaluate(POINTED, [NAME, [[*event, {}][:3] for event in events]])


def test_a_scroll_that_begins_on_a_token_is_no_drag_and_leaves_nothing_behind(explorer, pane):
    found = pointer(
        explorer, ("pointerdown", 4), ("pointercancel", 4), ("pointerdown", QUERY), ("pointerup", QUERY)
    )  # a drag from 4 to the query would ask for another key
    assert problems(explorer) == []
    assert_reads(pane)
    assert found == [1, 0, 1, 0]


@pytest.mark.parametrize("type", ["pointerup", "pointercancel"])
def test_another_finger_does_not_end_a_drag(explorer, pane, type):
    assert pointer(explorer, ("pointerdown", 4), (type, 1, {"pointerId": 6})) == [1, 1]
    assert_reads(pane)
    pointer(explorer, ("pointerup", QUERY))
    assert_reads(pane, prompt=PROMPT.replace("Q K7", "Q K6"))
    assert explorer.locator(".explorer-stage .is-dragged").count() == 0


def test_a_press_of_the_right_button_drags_nothing(explorer, pane):
    found = pointer(explorer, ("pointerdown", 4, {"button": 2}), ("pointerdown", QUERY), ("pointerup", QUERY))
    assert_reads(pane)
    assert found == [0, 1, 0]


# ---- undo ----


def test_undo_goes_back_and_a_walk_through_training_is_one_step(opened, explorer, pane):
    slider, keys = explorer.get_by_role("slider"), opened.page.keyboard
    click(explorer, "name 1")
    slider.focus()
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowRight"):
        keys.press(key)
    assert_reads(pane, step=STEPS[3], edits=["zero(L0H0)@all"])
    click(explorer, "token 1")
    assert_reads(pane, step=STEPS[3], prompt=SOURCE, edits=["zero(L0H0)@all"])
    keys.press("Control+z")
    assert_reads(pane, step=STEPS[3], edits=["zero(L0H0)@all"])
    press(explorer, "Undo")
    assert_reads(pane, edits=["zero(L0H0)@all"])
    slider.focus()
    keys.press("Control+z")
    assert_reads(pane)


def test_a_text_field_keeps_its_own_undo(opened, explorer, pane):
    click(explorer, "name 1")
    field = explorer.get_by_label("Prompt", exact=True)
    field.focus()
    opened.page.keyboard.press("Control+z")
    assert_reads(pane, edits=["zero(L0H0)@all"])
    press(explorer, "Undo")
    assert_reads(pane)


# ---- the keyboard ----


def test_one_tab_stop_leads_to_all_that_can_be_pressed_and_the_focus_survives(opened, explorer, pane):
    keys, page = opened.page.keyboard, opened.page
    stops = explorer.locator('.explorer-stage svg [tabindex="0"]')
    assert stops.count() == 1
    explorer.get_by_role("button", name="Next").focus()
    tab_to(opened, r"reads|^\d, |^Ask for")
    order = page.evaluate(ORDER, NAME)
    keys.press("Home")
    walked = [page.evaluate(FOCUSED)]
    for _ in order[1:]:
        keys.press("ArrowRight")
        walked.append(page.evaluate(FOCUSED))
    assert walked == order
    assert {key.split(" ")[0] for key in order} == {"1", "2", "3", "look", "token", "name", "answer"}
    keys.press("End")
    assert page.evaluate(FOCUSED) == order[-1]
    while page.evaluate(FOCUSED) != "name 2":
        keys.press("ArrowLeft")
    keys.press("Enter")
    assert_reads(pane, edits=["zero(L0H1)@all"])
    assert page.evaluate(FOCUSED) == "name 2" and stops.count() == 1
    keys.press(" ")
    assert_reads(pane)
    assert page.evaluate(FOCUSED) == "name 2"
    tab_to(opened, "^Seed")
    tab_to(opened, "^2, carries", "Shift+Tab")


# ---- what is said ----


def test_the_readout_tells_what_is_pointed_at_and_what_its_test_found(explorer):
    told = {
        f"1 0 {ASKED_KEY} {ASKED_VALUE}": r"1, tags: L0H0: V0 reads K7, attention [01]\.\d\d\. "
        r"On this network: moves the answer on 100 % of prompts, supported\. Press to cut it\.$",
        f"3 1 {ASKED_VALUE} {LAST}": r"3, matches: L1H\*: -> reads V0, attention [01]\.\d\d\. "
        r"On this network: moves the answer on 90 % of prompts, supported\. Press to cut it\.$",
        "name 4": r"4, copies: L1H\* copies that value into the answer\. "
        r"On this network: moves the answer on 0 % of prompts, not supported\. Press to take it away\.$",
        "token 1": r"Ask for K1: press it\.$",
    }
    for key, words in told.items():
        explorer.page.mouse.move(*point(explorer, key))
        assert re.match(words, readout(explorer)), readout(explorer)
    reading = probe(RUN, prompt=PROMPT)
    explorer.page.mouse.move(*point(explorer, f"1 0 {ASKED_KEY} {ASKED_VALUE}"))
    attention = reading.patterns[0][0][ASKED_VALUE, ASKED_KEY].item()
    assert float(re.search(r"attention ([\d.]+)\.", readout(explorer))[1]) == pytest.approx(attention, abs=0.0051)


def test_the_readout_is_of_what_is_shown_when_an_edit_is_undone(explorer):
    at(explorer, f"3 1 {ASKED_VALUE} {LAST}").focus()
    explorer.page.keyboard.press("Enter")
    assert readout(explorer).endswith("Press to put it back.")
    press(explorer, "Undo")
    assert re.search(r"attention [01]\.\d\d\. .*Press to cut it\.$", readout(explorer))


def test_before_anything_is_pointed_at_it_says_what_can_be_done_and_what_holds_of_the_tests(browser, address):
    with opening(browser, address) as fresh:
        explorer = closed(fresh, NAME)
        hint = readout(explorer)
        assert hint.startswith("Width: attention. Grey: attention that no test speaks of. Point at an arrow")
        assert hint.endswith(" L1H*: the heads of layer 1, tested together. Both are published.")
        label = explorer.locator(".explorer-room").first.get_attribute("aria-label")
        assert label.startswith("Asked for K7, it says V0, > 99 %. Supported at this step: 1 tags (L0H0), 2 carries (")
        assert label.endswith("; not: 4 copies (L1H*).")
        # Nothing of the panels is there before one is opened; their module may be, for the networks beside each other.
        blobs = [url for url in fresh.requests if url.startswith("blob:")]
        assert 1 <= len(blobs) <= 2 and explorer.locator("canvas, .explorer-composer").count() == 0
        panel(explorer, "More edits").locator("summary").click()
        explorer.locator(".explorer-composer").wait_for()
        panel(explorer, "Scores through training").locator("summary").click()
        explorer.locator("details svg.explorer-strip").first.wait_for()
        blobs = [url for url in fresh.requests if url.startswith("blob:")]
        assert len(blobs) == 2 and explorer.locator("canvas").count() == 0


def test_the_stage_is_drawn_before_all_else_is_loaded(browser, address):
    script = """() => {
        const make = URL.createObjectURL.bind(URL), count = what => document.querySelectorAll(what).length;
        globalThis.seen = [];
        URL.createObjectURL = blob => {
            seen.push([count('.is-live .explorer-stage .link'), count('.explorer-live input.explorer-prompt')]);
            return make(blob);
        };
    }"""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(f"({script})()")
    page.goto(address)
    page.locator(".explorer-live input.explorer-prompt").first.wait_for()
    first, second = page.evaluate("seen")
    assert (first, second) == ([0, 0], [4, 0])
    context.close()


def test_what_is_pressed_before_it_is_loaded_waits_for_it(browser, address):
    script = """() => {
        const make = URL.createObjectURL.bind(URL);
        URL.createObjectURL = blob => {
            document.querySelector('.explorer-live [data-key="name 1"]')?.dispatchEvent(
                new MouseEvent('click', { bubbles: true }));
            return make(blob);
        };
    }"""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(f"({script})()")
    page.goto(address)
    page.locator('.explorer-stage [data-key="name 1"][aria-pressed="true"]').wait_for()
    assert page.locator(".explorer-switch").first.inner_text().endswith("L0H0 off")
    context.close()


def told_of(step=STEPS[-1], prompt=PROMPT, edits=(), off=""):
    """The sentence of a state that no stop has, from ``probe``; ``off``: its edits in words."""
    reading = probe(published(RUN), prompt=prompt, step=step, edits=edits)
    said, wanted = reading.likeliest, reading.target
    wrong = "" if said == wanted else f", not {wanted}"
    asked, sure = prompt.split()[QUERY], likely(reading.probability_of(said))
    tested = f"Supported at this step: {SUPPORTED}; not: 4 copies (L1H*)."
    how = f"Asked for {asked}{off and f', with {off}'}"
    return f"{how}, it says {said}, {sure}{wrong}. {tested if step else 'No test speaks of it.'}"


def test_the_sentence_is_of_what_is_shown_as_soon_as_it_is_not_the_stops(explorer):
    first = story(explorer)
    assert first.startswith("It works. Asked for K7")
    explorer.get_by_role("slider").press("Home")
    assert story(explorer) == told_of(step=0)
    explorer.get_by_role("slider").press("ArrowRight")
    assert story(explorer) == told_of(step=STEPS[1])
    assert "1 of 6, changed by you" in explorer.inner_text()
    explorer.get_by_role("slider").press("End")
    assert story(explorer) == first
    click(explorer, "name 1")
    assert story(explorer) == told_of(edits=["zero(L0H0)@all"], off="L0H0 off")
    press(explorer, "Undo")
    click(explorer, f"3 1 {ASKED_VALUE} {LAST}")
    assert story(explorer) == told_of(edits=MATCHES, off=", ".join(MATCHES))
    press(explorer, "Undo")
    drag(explorer, 4, QUERY)
    assert story(explorer) == told_of(prompt=PROMPT.replace("Q K7", "Q K6"))
    press(explorer, "Next")
    assert story(explorer).startswith("See it appear. ")
    press(explorer, "Back")
    assert story(explorer) == first
    press(explorer, "Compare with another")
    assert story(explorer) == f"{told_of()} Compared with: {told_of(step=0)}"


def test_one_live_region_says_it_and_the_drawings_label_is_the_same(explorer):
    live = explorer.locator(".explorer-path, .explorer-shown").locator("[aria-live]")
    assert live.count() == 1 and "explorer-story" in classes(live)
    explorer.get_by_role("slider").press("Home")
    room = explorer.locator(".explorer-room").first
    assert room.get_attribute("aria-label") == story(explorer) == told_of(step=0)
    arrow = at(explorer, explorer.locator('.explorer-stage [data-key^="look "]').first.get_attribute("data-key"))
    arrow.focus()
    assert readout(explorer) == arrow.get_attribute("aria-label") + arrow.get_attribute("aria-description")
    same = """name => {
        const text = document.querySelector(`#${name} .explorer-story`);
        window.said = 0;
        new MutationObserver(all => { window.said += all.length; }).observe(text, { subtree: true, childList: true });
    }"""
    explorer.page.evaluate(same, NAME)
    press(explorer, "strict")
    explorer.get_by_role("slider").press("Home")
    assert explorer.page.evaluate("window.said") == 0  # what stays the same is not read aloud again


def lit(explorer):
    return [classes(one)[1] for one in explorer.locator(".explorer-stage .link.is-lit").all()]


def test_the_arrows_that_are_spoken_of_are_lit_and_none_that_no_test_supports(explorer):
    assert lit(explorer) == ["move-3"]  # of the stop's, which speaks of what is not supported too
    explorer.get_by_role("slider").press("ArrowLeft")
    assert lit(explorer) == ["move-1", "move-2", "move-3"]
    press(explorer, "Undo")
    assert lit(explorer) == ["move-3"]
    press(explorer, "Next")
    assert lit(explorer) == []


def test_without_a_path_the_sentence_is_of_what_is_shown_and_there_is_nowhere_to_go(browser, tmp_path):
    exhibit = exhibit_of(published(RUN))
    write_weights(tmp_path, [exhibit])
    write_pages(tmp_path, {"bare": ("light", block_of(exhibit).page_html)})
    with opening(browser, (tmp_path / "book/bare.html").as_uri()) as fresh:
        explorer = closed(fresh, exhibit.name)
        reading = probe(RUN, prompt=exhibit.start["prompt"])
        assert story(explorer) == (
            f"Asked for {reading.words[QUERY]}, it says {reading.likeliest}, "
            f"{likely(reading.probability_of(reading.likeliest))}. No test speaks of it."
        )
        assert not explorer.get_by_role("button", name="Next").is_visible()


def test_a_network_beside_it_is_put_on_the_stage(opened, explorer, pane):
    others = explorer.locator(".explorer-other")
    others.last.scroll_into_view_if_needed()
    assert others.count() == 2
    opened.page.wait_for_function(
        "[...document.querySelectorAll('.explorer-other .explorer-quiet')].every(one => one.textContent === '3 of 4')"
    )
    current = explorer.locator('.explorer-other[aria-current="true"]')
    assert f"seed {published(RUN).recipe.init_seed}" in current.inner_text()
    explorer.locator(".explorer-other", has_text=f"seed {published(SECOND).recipe.init_seed}").click()
    explorer.locator(".explorer-time").get_by_text(f"of {published(SECOND).final_step:,}").first.wait_for()
    opened.page.wait_for_function(
        f"document.querySelector('.explorer-other[aria-current=true]').textContent.includes("
        f"'seed {published(SECOND).recipe.init_seed}')"
    )
    assert_reads(pane, run=SECOND)
    press(explorer, "Undo")
    assert_reads(pane)


# ---- by which rule births are dated ----


def births(explorer):
    return explorer.locator(".explorer-place svg.explorer-strip").first.get_attribute("aria-label")


def rules(explorer):
    """The switch under the strip: what can be pressed, and which of them holds."""
    toolbar = explorer.get_by_role("toolbar", name="What counts as born").first
    found = toolbar.get_by_role("button")
    return found.all_inner_texts(), toolbar.locator('[aria-current="true"]').all_inner_texts()


def test_births_move_to_where_another_rule_dates_them(opened, explorer, pane):
    ours = f"routes born between step {STEPS[1]:,} and {STEPS[2]:,}; copies born between step {STEPS[0]:,} and "
    strict = f"routes born between step {STEPS[2]:,} and {STEPS[3]:,}; copies not born"
    assert births(explorer) == f"Through training, by the rule “ours”: {ours}{STEPS[1]:,}"
    assert rules(explorer) == (["ours", "strict"], ["ours"])
    story = explorer.locator(".explorer-story").inner_text()
    press(explorer, "strict")
    assert explorer.locator(".explorer-story").inner_text() == story, "what the network says is the same"
    assert births(explorer) == f"Through training, by the rule “strict”: {strict}"
    assert rules(explorer)[1] == ["strict"]
    strip = explorer.locator(".explorer-place svg.explorer-strip").first
    assert strip.locator(".birth").count() == 1 and strip.locator("text").last.text_content() == "not born: copies"
    assert_reads(pane)
    press(explorer, "Undo")
    assert rules(explorer)[1] == ["ours"] and strip.locator(".birth").count() == 2


def test_the_rule_is_chosen_by_keyboard_stays_while_comparing_and_is_in_the_address(opened, explorer, pane):
    keys, page = opened.page.keyboard, opened.page
    tab_to(opened, "^ours$")
    keys.press("ArrowRight")
    keys.press("Enter")
    page.wait_for_function("location.hash.includes('rule=strict')")
    assert page.evaluate("document.activeElement.textContent") == "strict"
    press(explorer, "Compare with another")
    explorer.get_by_role("slider").last.wait_for()
    strips = explorer.locator(".explorer-place svg.explorer-strip")
    assert strips.count() == 2
    assert all("“strict”" in strip.get_attribute("aria-label") for strip in strips.all())
    explorer.get_by_role("toolbar", name="What counts as born").last.get_by_role("button", name="ours").click()
    assert all("“ours”" in strip.get_attribute("aria-label") for strip in strips.all())
    press(explorer, "Stop comparing")
    page.wait_for_function("!location.hash.includes('rule')")  # the address follows a little later
    page.evaluate(f"location.hash = '{NAME}?rule=strict'")
    page.wait_for_function("document.querySelector('.explorer-rule[aria-current=true]').textContent === 'strict'")


# ---- one screen ----


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (400, 860)])
@pytest.mark.parametrize("theme", ["stage", "stage-dark"])
def test_stage_and_slider_are_one_screen_and_axe_finds_nothing_serious(browser, site, width, height, theme):
    url = (site / f"book/{theme}.html").as_uri()
    with opening(browser, url, viewport={"width": width, "height": height}, reduced_motion="reduce") as fresh:
        explorer = closed(fresh, NAME)
        tall = fresh.page.evaluate(BOTTOM, NAME)
        print(f"\n{width} x {height}: path, stage, slider and births take {tall:.0f} px")
        assert tall <= height
        assert explorer.locator(f".explorer-stage .circuit-{'wide' if width > 600 else 'tall'}").count() == 1
        assert seriously_wrong(fresh.page) == []
        click(explorer, "name 1")
        click(explorer, f"3 1 {ASKED_VALUE} {LAST}")
        assert fresh.page.evaluate("document.getAnimations().length") == 0
        explorer.evaluate("box => box.querySelectorAll('details').forEach(panel => { panel.open = true; })")
        explorer.locator(".explorer-composer").wait_for()
        explorer.locator("canvas").first.wait_for()
        assert seriously_wrong(fresh.page) == []
        assert fresh.page.evaluate("document.documentElement.scrollWidth") <= width
        right = "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"
        assert explorer.locator("*:visible").evaluate_all(right) <= width


@pytest.mark.parametrize("run_id", LONG)
def test_a_long_prompt_leaves_a_phone_room_for_the_path_and_the_slider(browser, tmp_path, run_id):
    exhibit = exhibit_of(published(run_id))
    write_weights(tmp_path, [exhibit])
    write_pages(tmp_path, {"long": ("light", block_of(exhibit).page_html)})
    assert len(exhibit.start["prompt"].split()) > 20
    with opening(browser, (tmp_path / "book/long.html").as_uri(), viewport={"width": 400, "height": 860}) as fresh:
        explorer = closed(fresh, exhibit.name)
        height = explorer.locator(".explorer-stage svg").first.bounding_box()["height"]
        assert 300 < height <= 860 - 264
        assert fresh.page.evaluate(BOTTOM, exhibit.name) <= 860
        assert fresh.page.evaluate("document.documentElement.scrollWidth") <= 400


# ---- what cannot be followed ----


def bad_prompts(dice):
    """Texts that are no prompts: Python says so."""
    task, hostile = (
        staged().task,
        ["<img src=x onerror=window.struck=1>", "<b>K1</b>", "K99", "é", "k1", "'", "\u0000", "%"],
    )
    while True:
        words = PROMPT.split()
        for _ in range(dice.randint(1, 4)):
            place, how = dice.randrange(len(words)), dice.choice(["swap", "drop", "double", "new", "cut", "hostile"])
            if how == "drop" and len(words) > 1:
                del words[place]
            elif how == "double":
                words.insert(place, words[place])
            elif how == "cut":
                del words[place + 1 :]
            else:
                words[place] = dice.choice(hostile if how == "hostile" else task.vocab)
        text = dice.choice([" ", "  ", "\u00a0"]).join(words)
        try:
            matching(task.forms, text.split())
        except PromptError:
            yield text


def bad_addresses(dice):
    """Parts that no state has; each once."""
    wrong = {
        "run": ["nothing", RUN[:-1], "<b>", ""],
        "step": ["x", "-1", "1.5", "", "1e3", "<b>"],
        "resample": ["x", "-2", "0x1"],
        "edits": [
            "zero(L9H0)@all",
            "zero(L0H0)",
            "cut(L0H0:1->2)",
            "patch(L0H0.z<-source)@all",
            "<img src=x>",
            "%E0%A4",
        ],
        "other": ["nothing 0", RUN, f"{RUN} x", "<b> 1"],
        "prompt": ["K99", "<svg onload=window.struck=1>", "<bos>"],
        "constructor": ["1"],
        "__proto__": ["1"],
        "colour": ["red", "<i>"],
        "rule": ["lax", "<b>", "Ours"],
    }
    while True:
        name = dice.choice(sorted(wrong))
        yield f"{NAME}?{name}={quote(dice.choice(wrong[name]))}&{name}={quote(dice.choice(wrong[name]))}"


def some(n, makes):
    """That many different ones."""
    found = {}
    for one in makes:
        found[one] = None
        if len(found) == n:
            return list(found)
    return list(found)


def test_two_hundred_that_are_none_get_a_sentence_each_and_nothing_else_changes(opened, explorer, pane):
    dice = random.Random(200)
    asked = some(N_PROMPTS, bad_prompts(dice)), some(N_ADDRESSES, bad_addresses(dice))
    found = opened.page.evaluate(TRIED, asked)
    assert len(found) == N_PROMPTS + N_ADDRESSES
    for text, told, is_same, n_more in found:
        assert len(told) == 1, (text, told)
        assert re.fullmatch(r"[A-Z0-9<'\"].*[^.\s]\.", told[0], re.DOTALL), (text, told)
        assert is_same and n_more == 0, (text, told)
    assert opened.page.evaluate("window.struck") is None
    assert explorer.locator("img, b, i:not(.explorer-bar):not(.explorer-before)").count() == 0
    press(explorer, "Start again")
    assert problems(explorer) == []
    assert_reads(pane)


@pytest.mark.parametrize("text", ["<img src=x onerror=window.struck=1>", "<bos> K99", ""])
def test_what_is_typed_stays_in_its_field_with_its_sentence_and_the_stage_stays(opened, explorer, pane, text):
    ask(explorer, text)
    assert len(problems(explorer)) == 1
    assert explorer.get_by_label("Prompt", exact=True).input_value() == text
    assert explorer.locator("img").count() == 0 and opened.page.evaluate("window.struck") is None
    assert_reads(pane)
    click(explorer, "token 1")
    assert_reads(pane, prompt=SOURCE)
    assert problems(explorer) == []
