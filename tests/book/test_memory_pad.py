"""The pad of pairs in Chromium: Python's numbers to the printed digit, an address, a keyboard, and bad input."""

import json
import math
import re

import numpy as np
import pytest
from axe_checks import seriously_wrong
from conftest import opened_alone, page_with
from test_pages import LUMINANCE

from livingpaper.explorer import memory_pad_still
from livingpaper.explorer.memory_pad import SCRIPTS, STATIC, MemoryPad, Stored
from livingpaper.explorer.memory_sums import WAYS, filled, recall

WIDTHS, N_PAIRS, STEPS = (4, 8), 40, (1, 30)
PAGE = (
    "<!doctype html><html lang='en' data-theme='light'><meta charset='utf-8'>"
    "<title>pad</title><main><h1>A page</h1>{}</main></html>"
)
FOUND = """([data, state]) => {
    const pad = new memoryRules.Pad(data), of = kind => memoryRules.rows(data[kind][state.width], state.width);
    pad.set(state);
    const vectors = { [state.width]: { inputs: of('inputs'), outputs: of('outputs') } };
    const found = memoryRules.found(pad, vectors);
    const kept = memoryRules.keptBySums(of('inputs'), of('outputs')), told = found.pairs.map(memoryRules.told);
    return { memory: found.memory.map(row => [...row]), summary: memoryRules.summary(pad, found), told, kept };
}"""


def kept_by_sums(inputs, outputs):
    """How many of the first 1, 2, ... pairs their sum recalls: of a draw, what a closed form says of all draws."""
    by_input, by_output = inputs @ inputs.T, outputs @ outputs.T
    scores, found = np.zeros_like(by_input), []
    for size in range(1, len(inputs) + 1):
        scores += np.outer(by_input[size - 1], by_output[size - 1])  # [asked, answer]
        part = scores[:size, :size].copy()
        own = part.diagonal().copy()
        np.fill_diagonal(part, -np.inf)
        found.append(int((own > part.max(1)).sum()))
    return np.array(found)


def told(number, found):
    """What is known of one pair; numbers begin at 1."""
    margin = found.margins[number - 1]
    if math.isnan(margin):
        return f"Pair {number}: recalled; it has no rival."
    if margin > 0:
        return f"Pair {number}: recalled, margin {memory_pad_still.fixed(margin, 2)}."
    answer = found.answers[number - 1] + 1
    return f"Pair {number}: forgotten, margin {memory_pad_still.fixed(margin, 2)}; the answer is output {answer}."


def vectors(width, seed):
    drawn = np.random.default_rng(seed).normal(size=(N_PAIRS, width))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def a_pad(**changed):
    given = {
        "name": "pad-test", "title": "It <forgets>.", "rate": 3.0, "steps": STEPS,
        "inputs": {d: vectors(d, d) for d in WIDTHS}, "outputs": {d: vectors(d, d + 1) for d in WIDTHS},
        "predicted": {d: [None, None, *np.linspace(1, 0.1234, N_PAIRS - 2).tolist()] for d in WIDTHS},
        "opening": Stored(width=8, pairs=14, steps=30),
    }  # fmt: skip
    return MemoryPad(**{**given, **changed})


@pytest.fixture(scope="module")
def blank(browser):
    yield from page_with(browser, *(STATIC / script for script in SCRIPTS))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("pad") / "pad.html"
    path.write_text(PAGE.format(a_pad().html), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    yield from opened_alone(browser, address)


@pytest.fixture
def live(opened):
    return opened.page.locator(".memory-pad-live")


def press(live, name):
    live.get_by_role("button", name=name, exact=True).click()


def said(live):
    return live.get_by_role("status").inner_text()


def labels(live):
    return live.locator(".memory-pad-pairs button").evaluate_all("all => all.map(one => one.ariaLabel)")


def stored(live):
    return live.get_by_role("textbox").input_value()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pairs", [0, 1, 2, 3, 14, N_PAIRS])
def test_the_page_says_what_python_says_to_the_printed_digit(blank, way, pairs):
    pad = a_pad()
    for width in WIDTHS:
        for steps in STEPS if way == "descent" else STEPS[:1]:
            state = Stored(width=width, pairs=pairs, way=way, steps=steps)
            asked = {"width": width, "pairs": pairs, "way": way, "steps": steps}
            page = blank.evaluate(FOUND, [json.loads(json.dumps(pad.payload())), asked])
            memory, found = pad.reading(state)
            assert np.allclose(page["memory"], memory, atol=1e-9)
            assert page["summary"] == memory_pad_still.summary(pad.told_of(state), found)
            assert page["told"] == [told(number, found) for number in range(1, pairs + 1)]
            assert page["kept"] == kept_by_sums(*(t[width].astype(float) for t in (pad.inputs, pad.outputs))).tolist()


def test_what_is_recalled_is_counted_pair_by_pair():
    """Against loops over single scores, and the curve of sums against the sums themselves."""
    inputs, outputs = vectors(8, 0).astype(float), vectors(8, 1).astype(float)
    for size in (1, 2, 7, N_PAIRS):
        e, u = inputs[:size], outputs[:size]
        memory = sum(np.outer(u[i], e[i]) for i in range(size))
        found = recall(filled("sum", e, u), e, u)
        for i in range(size):
            scores = [u[k] @ memory @ e[i] for k in range(size)]
            best = max(range(size), key=scores.__getitem__)
            assert found.answers[i] == best and found.is_recalled[i] == (best == i)
            rivals = scores[:i] + scores[i + 1 :]
            assert not rivals or found.margins[i] == pytest.approx(scores[i] - max(rivals))
        assert kept_by_sums(inputs, outputs)[size - 1] == found.is_recalled.sum()


def test_it_opens_on_the_still_and_paper_and_readers_without_scripts_get_that(browser, opened, live, address):
    still = opened.page.locator(".memory-pad-still")
    assert still.locator("p").first.text_content() == said(live)
    assert not still.is_visible() and still.locator("li").count() == 14
    assert opened.page.get_by_text("It <forgets>.").is_visible()
    opened.page.emulate_media(media="print")
    assert still.is_visible() and not live.is_visible()
    context = browser.new_context(viewport={"width": 400, "height": 900}, java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.get_by_role("img").is_visible() and page.get_by_text("14 pairs in 8 × 8").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    context.close()


def test_a_reader_stores_and_takes_away(opened, live):
    press(live, "Store one more")
    assert said(live).startswith("15 pairs") and stored(live) == "15"
    press(live, "Store 10")
    assert said(live).startswith("25 pairs")
    press(live, "Take one away")
    assert said(live).startswith("24 pairs") and "#pad-test?d=8&pairs=24&way=sum" in opened.page.url
    live.get_by_role("button", name=re.compile("^Pair 3:")).click()
    press(live, "Take pair 3 away")
    assert said(live).startswith("23 pairs") and "out=3&pair=3" in opened.page.url
    assert live.get_by_role("button", name="Pair 3: taken away.", exact=True).count() == 1
    shown = said(live), live.locator(".memory-pad-pairs button").evaluate_all("all => all.map(one => one.ariaLabel)")
    opened.page.reload()
    assert (
        said(live),
        live.locator(".memory-pad-pairs button").evaluate_all("all => all.map(x => x.ariaLabel)"),
    ) == shown
    press(live, "Store pair 3 again")
    assert said(live).startswith("24 pairs")
    live.get_by_role("combobox", name="Filled by").select_option("gradient descent")
    live.get_by_role("combobox", name="Steps").select_option("1")
    assert "by 1 step of gradient descent" in said(live) and "For a sum, noise alone" in said(live)
    live.get_by_role("combobox", name="Matrix").select_option("4 × 4")
    assert "in 4 × 4 numbers" in said(live)
    press(live, "Start over")
    assert said(live).startswith("14 pairs in 8 × 8 numbers") and "sum of outer products" in said(live)


TYPED = {
    "abc": "“abc” is no number of pairs: 0 to 40, in digits. Still 14 pairs.",
    "-3": "“-3” is no number of pairs",
    "1.5": "“1.5” is no number",
    "": "“” is no number",
    "41": "41 are more than the 40 pairs of this page. Still 14 pairs.",
    "9999999": "“9999999” is no number",
}
ASKED = {
    "d=9": "The address has d = “9”; it can be 4, 8. What is shown stays.",
    "pairs=99": "The address has pairs = “99”; it can be 0 to 40.",
    "way=magic": "The address has way = “magic”",
    "steps=2": "The address has steps = “2”",
    "out=15": "The address has out = “15”; it can be 1 to 14",
    "pair=0": "The address has pair = “0”",
}


def test_bad_input_gets_a_sentence_and_the_last_state_stays(opened, live):
    before, field = said(live), live.get_by_role("textbox")
    for typed, sentence in TYPED.items():
        field.fill(typed)
        field.press("Enter")
        assert live.get_by_role("alert").inner_text().startswith(sentence)
        assert said(live) == before and field.input_value() == typed and field.get_attribute("aria-invalid") == "true"
    field.fill("40")
    field.press("Enter")
    assert said(live).startswith("40 pairs") and live.get_by_role("alert").inner_text() == ""
    press(live, "Store 10")
    assert live.get_by_role("alert").inner_text() == "This page has 40 pairs, of which none are left."
    field.fill("0")
    field.press("Tab")
    assert said(live) == "Nothing is stored in 8 × 8 numbers."
    press(live, "Store one more")
    assert live.get_by_role("button", name="Pair 1: recalled; it has no rival.", exact=True).count() == 1


def test_an_address_that_cannot_be_says_so(opened, live):
    for asked, sentence in ASKED.items():
        opened.page.evaluate("asked => { location.hash = `#pad-test?${asked}`; }", asked)
        live.get_by_role("alert").filter(has_text=sentence).wait_for()
        assert said(live).startswith("14 pairs in 8 × 8")


def test_a_keyboard_alone_fills_and_reads_it(opened, live):
    keys = opened.page.keyboard
    live.get_by_role("button", name="Store one more").focus()
    keys.press("Enter")
    keys.press(" ")
    assert said(live).startswith("16 pairs")
    live.get_by_role("button", name=re.compile("^Pair 1:")).focus()
    keys.press("End")
    label = opened.page.evaluate("document.activeElement.ariaLabel")
    assert label.startswith("Pair 16:") and live.locator(".memory-pad-readout").inner_text() == label
    assert opened.page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
    keys.press("Enter")
    assert opened.page.evaluate("document.activeElement.ariaPressed") == "true"
    assert live.get_by_role("button", name="Take pair 16 away").is_visible()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (400, "dark")])
def test_every_width_and_theme_is_read(opened, live, width, theme):
    page = opened.page
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    ground, text = ("#14181e", "#fff") if theme == "dark" else ("#fff", "#14181e")
    page.add_style_tag(content=f"html, h1 {{ background: {ground}; color: {text} }}")
    live.get_by_role("textbox").fill("x")
    live.get_by_role("textbox").press("Enter")
    live.get_by_role("button", name=re.compile("^Pair 2:")).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = live.locator("p").evaluate_all("all => all.map(one => getComputedStyle(one).color)")
    ink = [page.evaluate(LUMINANCE, colour) for colour in set(colours)]
    assert max(ink) < 0.5 if theme == "light" else min(ink) > 0.5
    assert seriously_wrong(page) == []


def test_a_live_notebook_mounts_it_again_and_damage_leaves_the_still(browser):
    page = browser.new_page()
    page.set_content(PAGE.format(a_pad().html + a_pad(name="pad-other").html))
    assert page.locator(".memory-pad.is-live").count() == 2
    page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    before = page.url
    page.get_by_role("button", name="Store one more").first.click()
    assert page.get_by_role("status").first.inner_text().startswith("15 pairs") and page.url == before
    damaged = re.sub(r'"inputs":\{"4":"....', '"inputs":{"4":"', a_pad().html)
    page.set_content(PAGE.format(damaged))
    assert page.locator(".memory-pad-still").is_visible() and page.locator(".memory-pad-live").count() == 0
    assert "The pad cannot run here: " in page.locator(".memory-pad-without").inner_text()
    page.close()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "Pad 1"}, "lower-case words"),
        ({"opening": Stored(width=5, pairs=3)}, "allowed: widths"),
        ({"opening": Stored(width=8, pairs=41)}, "41 pairs; allowed: 0 to 40"),
        ({"opening": Stored(width=8, pairs=4, steps=2)}, "allowed: widths"),
        ({"predicted": {d: [None] for d in WIDTHS}}, "one number of pairs"),
    ],
)
def test_a_pad_that_cannot_be_is_refused(changed, words):
    with pytest.raises(ValueError, match=words):
        a_pad(**changed)


def test_the_scripts_are_small_and_write_only_text():
    sources = [(STATIC / script).read_text() for script in SCRIPTS]
    assert sum(map(len, sources)) < 30_000
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?://(?!www.w3.org)",
                         "".join(sources))  # fmt: skip
    assert not re.search(r"url\(|@import|https?:", (STATIC / "memory_pad.css").read_text())
