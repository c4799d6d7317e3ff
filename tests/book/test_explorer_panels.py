"""The second module of an explorer damaged: one sentence where the panels would stand, and a stage that goes on."""

import json
import re

import pytest
from explorer_page import PROMPT, RUN, SECOND, closed, opening, press, problems, published, staged, write_stage

from livingpaper.explorer.probe import probe
from livingpaper.figures.circuit import likely

NAME = "explorer-staged"
STEPS = published(RUN).steps
PANELS = re.compile(r'(?<=class="explorer-panels">).*?(?=</script>)', re.DOTALL)
WORDS = "The panels of this explorer could not be started: "

CHANGED = "([name, before]) => document.querySelector(`#${name} .explorer-stage`).innerHTML !== before"


def source(change):
    """Of a change of the module, that of its text in the page."""
    return lambda text: json.dumps(change(json.loads(text))).replace("<", "\\u003c")


def throwing(before):
    """An exception, whose message has markup in it, in front of a line of the module."""

    def change(module):
        assert module.count(before) == 1, before
        return module.replace(before, f"throw new Error('<b>struck</b>');\n{before}")

    return source(change)


DAMAGES = {
    "no text": (lambda text: text[:-9], "."),
    "cut off": (source(lambda module: module[: len(module) // 2]), "."),
    "empty": (source(lambda module: ""), "."),
    "raises where it is read": (throwing("const circuitMarks ="), r"<b>struck</b>\.$"),
    "raises where panels are made": (throwing("this.told = el("), r"<b>struck</b>\.$"),
    "raises where panels are shown": (throwing("for (const paint of this.#painters)"), r"<b>struck</b>\.$"),
}
"""How the text of the module is changed, and what is told as the reason."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return write_stage(tmp_path_factory.mktemp("panels"))


@pytest.fixture(params=DAMAGES)
def damaged(request, site):
    """The address of the page with the second module damaged, and what is told of it."""
    change, reason = DAMAGES[request.param]
    page = (site / "book/stage.html").read_text(encoding="utf-8")
    assert len(PANELS.findall(page)) == 1
    copy = site / "book/damaged.html"
    copy.write_text(PANELS.sub(lambda found: change(found[0]), page), encoding="utf-8")
    return copy.as_uri(), re.compile(WORDS + reason)


def answers(explorer):
    """Word -> probability, as the table beside the stage has them."""
    rows = explorer.locator(".explorer-next").first.locator("tbody tr").all()
    cells = [row.locator("th, td").all_inner_texts() for row in rows]
    return {word.removesuffix(" answer"): p for word, _, p in cells}


def assert_answers(explorer, run=RUN, step=None):
    reading = probe(run, prompt=PROMPT, step=step)
    found = answers(explorer)
    assert found == {word: likely(reading.probability_of(word)) for word in found}
    assert reading.likeliest in found


def test_the_page_says_so_and_circuit_slider_and_answer_go_on(browser, damaged):
    address, told = damaged
    with opening(browser, address, is_clean=False) as opened:
        explorer, live = closed(opened, NAME), opened.page.locator(f"#{NAME} .explorer-live")
        sentence = explorer.get_by_role("alert").filter(has_text=told)
        sentence.wait_for()
        assert live.locator("> :last-child").inner_text() == sentence.inner_text()  # nothing else came
        assert explorer.locator("details, input.explorer-prompt, b").count() == 0
        slider, links = explorer.get_by_role("slider").first, explorer.locator(".explorer-stage .link")
        assert_answers(explorer)
        assert links.count() == 4
        slider.press("Home")
        assert_answers(explorer, step=STEPS[0])
        assert links.count() == 0
        slider.press("ArrowRight")
        assert_answers(explorer, step=STEPS[1])
        assert links.count() == 4
        before = explorer.locator(".explorer-stage").first.inner_html()
        explorer.get_by_role("combobox", name="Seed", exact=True).first.select_option(
            str(published(SECOND).recipe.init_seed)
        )
        opened.page.wait_for_function(CHANGED, arg=[NAME, before])  # its weights are loaded
        slider.press("End")
        assert_answers(explorer, run=SECOND)
        assert problems(explorer) == [sentence.inner_text()]
        # One complaint in the console, not one at every step.
        assert [told.search(text) is not None for text in opened.complaints] == [True]


@pytest.fixture(scope="module")
def lacking(site):
    """The address of the page without its second module."""
    page = (site / "book/stage.html").read_text(encoding="utf-8")
    copy = site / "book/lacking.html"
    copy.write_text(PANELS.sub('""', page), encoding="utf-8")
    return copy.as_uri()


def assert_told(explorer):
    """One sentence, and that one."""
    assert [text.startswith(WORDS) for text in problems(explorer)] == [True]


def test_what_needs_it_changes_nothing(browser, damaged):
    address, told = damaged
    with opening(browser, address, is_clean=False) as opened:
        explorer = closed(opened, NAME)
        explorer.get_by_role("alert").filter(has_text=told).wait_for()
        assert explorer.locator(".explorer-switch").count() == 0
        nodes = explorer.locator(".explorer-stage [data-key]").all()
        assert len(nodes) > 10
        for node in nodes:
            node.focus()
            opened.page.keyboard.press("Enter")
            assert_told(explorer)
        assert explorer.locator('.explorer-stage [aria-pressed="true"], .explorer-stage .is-cut').count() == 0
        assert_answers(explorer)


def test_the_path_goes_as_far_as_it_can(browser, lacking):
    stops = [stop.state for stop in staged().path]
    needed = [at for at, state in enumerate(stops) if state.get("edits") or state.get("prompt", PROMPT) != PROMPT]
    assert needed[0] > 1
    with opening(browser, lacking, is_clean=False) as opened:
        explorer = closed(opened, NAME)
        for _ in range(needed[0]):
            press(explorer, "Next")
        explorer.get_by_text(f"{needed[0]} of {len(stops)}", exact=True).wait_for()
        assert_told(explorer)
        assert_answers(explorer, step=stops[needed[0] - 1].get("step"))
        press(explorer, "Back")
        explorer.get_by_text(f"{needed[0] - 1} of {len(stops)}", exact=True).wait_for()


def test_an_address_is_not_followed_and_the_page_says_why(browser, lacking):
    with opening(browser, f"{lacking}#{NAME}?step=0", is_clean=False) as opened:
        explorer = closed(opened, NAME)
        explorer.get_by_role("alert").filter(has_text=f"The address could not be followed: {WORDS}").wait_for()
        assert_answers(explorer)
        explorer.get_by_role("slider").first.press("Home")
        assert_answers(explorer, step=STEPS[0])
        assert_told(explorer)
