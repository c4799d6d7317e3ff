"""The explorer in its page: how soon it lives, how fast it answers, damaged weights, paper, a phone."""

import functools
import hashlib
import re
import shutil
import threading
from http.server import ThreadingHTTPServer

import pytest
from axe_checks import seriously_wrong
from conftest import _QuietHandler
from explorer_page import (
    LARGE,
    LAST,
    PROMPT,
    RUN,
    SECOND,
    ask,
    assert_reads,
    closed,
    compare_seeds,
    live,
    numbers,
    opening,
    panel,
    panes,
    press,
    problems,
    published,
    small,
    stopwatch,
    switch,
    write_site,
)

from livingpaper.book.single_page import inlined
from livingpaper.explorer.block import weights_script
from livingpaper.explorer.probe import probe
from livingpaper.explorer.widget import STATIC

SEED = str(published(SECOND).recipe.init_seed)
LIVE_AT = """() => new MutationObserver((_, watch) => {
    if (!document.querySelector('.explorer.is-live')) return;
    window.liveAt = performance.now();
    watch.disconnect();
}).observe(document, { subtree: true, childList: true, attributes: true })"""
READY = """async () => {
    window.steps = JSON.parse(document.querySelector('.explorer-data').textContent).runs[0].steps;
    window.shown = () => document.querySelector('.explorer-stage svg').innerHTML;
    const frame = () => new Promise(requestAnimationFrame), task = () => new Promise(done => setTimeout(done));
    window.painted = () => frame().then(task); // what stands then is painted
    window.before = shown();
    await painted();
}"""
STEP = """async i => {
    const slider = document.querySelector('.explorer-slider'), start = performance.now();
    slider.value = steps[i % steps.length];
    slider.dispatchEvent(new Event('input'));
    await painted();
    return performance.now() - start;
}"""
IS_NEW = "() => before !== (window.before = shown())"
LIVE_MS, STEP_MS, STEP_BESIDE_MS = 1000, 34, 50
"""What a page may compute until it lives, and at the 95th percentile for a step to be painted; the latter beside every
number, too."""
ROUNDS, N_STEPS = 3, 40
"""The best of some rounds counts: another process on the same core makes computing slower, and never faster."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return write_site(tmp_path_factory.mktemp("explorer"))


def address(site, name="small"):
    return (site / f"book/{name}.html").as_uri()


@pytest.fixture
def damaged(site, tmp_path):
    """A copy of the site in which one run's weights are changed."""

    def damage(run, change):
        copy = tmp_path / "damaged"
        shutil.copytree(site, copy)
        file = copy / f"_static/explorer/{run}.js"
        text = change(file.read_text())
        file.unlink() if text is None else file.write_text(text)
        return copy

    return damage


def percentile(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def told(values):
    return ", ".join(f"{value:.0f}" for value in values)


# ---- time ----


@pytest.mark.parametrize("name", ["small", "large"])
def test_it_lives_within_a_second_of_opening_from_a_disk(browser, site, name):
    """In computing 1 s; by the clock a busy machine gets 3."""
    found, computed = [], []
    for _ in range(3):
        page = browser.new_page()
        page.add_init_script(f"({LIVE_AT})()")
        clock = stopwatch(page)
        page.goto(address(site, name))
        page.locator(".explorer.is-live").wait_for()
        computed.append(clock())
        found.append(page.evaluate("window.liveAt"))
        page.close()
    print(f"\n{name}: live after {told(found)} ms, {told(computed)} of them computing; the goal is {LIVE_MS}")
    assert min(computed) < LIVE_MS and min(found) < 3000


@pytest.mark.parametrize(
    ("opens", "goal"), [((), STEP_MS), (("Every number",), STEP_BESIDE_MS)], ids=["stage", "every number"]
)
def test_a_step_of_the_slider_is_painted_before_it_is_felt(browser, site, opens, goal):
    """In computing; by the clock a busy machine gets 250 ms."""
    with opening(browser, address(site, "large")) as opened:
        explorer = closed(opened, "explorer-large")
        for words in opens:
            panel(explorer, words).locator("summary").click()
            panel(explorer, words).locator("canvas").first.wait_for()
        page, clock, rounds, n_new = opened.page, stopwatch(opened.page), [], 0
        page.evaluate(READY)
        for _ in range(ROUNDS):
            times, computed = [], []
            for i in range(N_STEPS):
                start = clock()
                times.append(page.evaluate(STEP, i))
                computed.append(clock() - start)
                n_new += page.evaluate(IS_NEW)
            rounds.append((percentile(computed, 0.95), percentile(times, 0.95)))
    print(f"\nslider to paint, 95th percentile: {told(ms for ms, _ in rounds)} ms of computing, "
          f"{told(ms for _, ms in rounds)} by the clock; the goal is {goal}")  # fmt: skip
    assert n_new >= 0.9 * ROUNDS * N_STEPS
    assert min(ms for ms, _ in rounds) < goal and min(ms for _, ms in rounds) < 250


def test_all_sets_of_heads_take_100_ms(browser, site):
    """The goal is 100 ms for the 16 sets of a 2 x 2 network; a busy machine gets 500."""
    with opening(browser, address(site)) as opened:
        explorer = live(opened)
        table = panel(explorer, "Every set of heads").locator("table")
        table.wait_for()
        rows = table.locator("tbody tr").all()
        assert len(rows) == 16
        for row in (rows[0], rows[5], rows[15]):
            off = row.locator("th").inner_text()
            p, margin, likeliest = row.locator("td:not(.explorer-track)").all_inner_texts()
            edits = [] if off == "none" else [f"zero({head})@all" for head in off.split(", ")]
            reading = probe(RUN, prompt=PROMPT, edits=edits)
            assert float(p.lstrip("<>")) == pytest.approx(reading.probability_of("V0"), abs=1.1e-3)
            assert float(margin.replace("\u2212", "-")) == pytest.approx(reading.margin, abs=0.011)
            assert likeliest == reading.likeliest
        sweep = """() => [...Array(9)].map(() => {
            const all = [...document.querySelectorAll('details')];
            const sweep = all.find(one => one.innerText.startsWith('Every set'));
            const start = performance.now();
            sweep.ontoggle();
            return performance.now() - start;
        })"""
        found = opened.page.evaluate(sweep)
    print(f"\nall 16 sets of heads: median {percentile(found, 0.5):.0f}, most {max(found):.0f} ms")
    assert percentile(found, 0.5) < 500


# ---- opening ----


def test_it_lives_over_http_too(browser, site):
    handler = functools.partial(_QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with opening(browser, f"http://127.0.0.1:{server.server_port}/book/small.html") as opened:
            assert_reads(panes(live(opened)).first)
            assert [url for url in opened.requests if SECOND in url] == []
        server.shutdown()


def test_two_explorers_of_a_page_leave_each_other_alone(browser, site):
    with opening(browser, address(site, "both")) as opened:
        small = live(opened)
        opened.page.locator("#explorer-large").scroll_into_view_if_needed()
        large = live(opened, "explorer-large")
        before = numbers(panes(large).first)
        switch(small, "L1H0", "on").click()
        compare_seeds(small)
        assert_reads(panes(small).first, edits=["zero(L1H0)@all"])
        assert_reads(panes(small).last, run=SECOND, edits=["zero(L1H0)@all"])
        assert numbers(panes(large).first) == before
        large.get_by_role("slider").press("Home")
        assert_reads(panes(small).first, edits=["zero(L1H0)@all"])
        prompt = large.get_by_label("Prompt", exact=True).input_value()
        assert_reads(panes(large).first, run=LARGE, prompt=prompt, step=0)
        opened.page.wait_for_function("location.hash.startsWith('#explorer-large?step=0')")


def test_an_address_opens_an_explorer_that_is_further_down(browser, site):
    with opening(browser, f"{address(site, 'both')}#explorer-large?step=0") as opened:
        large = live(opened, "explorer-large")
        prompt = large.get_by_label("Prompt", exact=True).input_value()
        assert_reads(panes(large).first, run=LARGE, prompt=prompt, step=0)
        # The page scrolls there a moment after the explorer is live.
        shown = "node => node.getBoundingClientRect().top < innerHeight"
        opened.page.wait_for_function(shown, arg=large.element_handle(), timeout=5_000)


SCROLLS = """() => {
    window.scrolls = [];
    Element.prototype.scrollIntoView = function () { scrolls.push(this.id); };
}"""
GROW = """async () => {
    scrolls.length = 0;
    document.body.append(Object.assign(document.createElement('div'), { style: 'height: 50px' }));
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
    return [...scrolls];
}"""


@pytest.fixture
def sought(browser, site):
    """The page of two explorers, opened at the address of the second; it notes what would be scrolled to."""
    page = browser.new_page()
    page.add_init_script(f"({SCROLLS})()")
    page.goto(f"{address(site, 'both')}#explorer-large?step=0")
    page.locator("#explorer-large.is-live").wait_for()
    yield page
    page.close()


@pytest.mark.parametrize(("hash", "scrolled"), [("explorer-small?step=0", {"explorer-small"}), ("elsewhere", set())])
def test_an_explorer_is_held_in_view_until_the_address_is_another(sought, hash, scrolled):
    assert set(sought.evaluate(GROW)) == {"explorer-large"}
    sought.evaluate("hash => new Promise(done => { onhashchange = done; location.hash = hash; })", hash)
    assert set(sought.evaluate(GROW)) <= scrolled


def test_an_explorer_is_held_in_view_until_nothing_has_grown_for_a_while(sought):
    assert set(sought.evaluate(GROW)) == {"explorer-large"}
    sought.wait_for_timeout(6_000)
    assert sought.evaluate(GROW) == []


# ---- damaged weights ----


DAMAGES = {
    "missing": (lambda text: None, "the weights of run {} are not here"),
    "cut off": (lambda text: text[: len(text) // 2], "the weights of run {} are damaged"),
    "empty": (lambda text: "", "the weights of run {} are damaged"),
    "of another run": (lambda text: text.replace('Weights("', 'Weights("x'), "the weights of run {} are damaged"),
    "no checkpoints": (lambda text: re.sub(r'(?<=checkpoints\\":\[).*(?=\])', "", text), "run {} are damaged"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_still_stays_and_tells_what_is_wrong_with_the_weights(browser, damaged, damage):
    change, words = DAMAGES[damage]
    with opening(browser, address(damaged(RUN, change)), is_clean=False) as opened:
        still = opened.page.locator(".explorer-still")
        still.get_by_text(re.compile("The explorer cannot run here: ")).wait_for()
        assert words.format(RUN).lower() in still.inner_text().lower()
        assert still.get_by_role("cell", name="> 99 %").first.is_visible()


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_last_good_state_stays_when_another_runs_weights_are_damaged(browser, damaged, damage):
    change, words = DAMAGES[damage]
    with opening(browser, address(damaged(SECOND, change)), is_clean=False) as opened:
        explorer = live(opened)
        seed = explorer.get_by_role("combobox", name="Seed", exact=True).first
        before = seed.input_value()
        seed.select_option(SEED)
        explorer.get_by_role("alert").get_by_text(re.compile("weights")).wait_for()
        assert words.format(SECOND).lower() in problems(explorer)[0].lower()
        assert seed.input_value() == before
        assert_reads(panes(explorer).first)
        ask(explorer, PROMPT.replace("Q K7", "Q K1"))
        assert problems(explorer) == []
        assert_reads(panes(explorer).first, prompt=PROMPT.replace("Q K7", "Q K1"))


def changed(text, place):
    """One character of the weights that a browser would still take for weights."""
    return text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]


def places_in(text):
    """Where a character is changed: the call, the run's id, the config, each checkpoint's numbers, the end."""
    ends = [match.end() for match in re.finditer(r'data\\":\\"', text)]
    assert len(ends) == len(published(RUN).steps)
    return [2, text.index(RUN) + 20, text.index("n_ctx"), *(end + 40 for end in ends), *range(len(text) - 4, len(text))]


def test_one_changed_character_anywhere_leaves_the_still(browser, site, damaged):
    copy = damaged(RUN, lambda text: text)
    file = copy / f"_static/explorer/{RUN}.js"
    text = file.read_text()
    context = browser.new_context()
    for place in places_in(text):
        file.write_text(changed(text, place))
        page = context.new_page()
        page.goto(address(copy))
        page.get_by_text(f"The explorer cannot run here: The weights of run {RUN} are damaged").wait_for()
        assert not page.locator(".explorer.is-live").count()
        page.close()
    context.close()


@pytest.mark.parametrize("secure", [True, False], ids=["its own", "none"])
def test_the_sentence_says_that_they_are_not_the_pages(browser, damaged, secure):
    """Also where the browser keeps its own SHA-256 to itself, as on a page from another machine over plain http."""
    copy = damaged(RUN, lambda text: changed(text, len(text) // 2))
    for name, words in ((RUN, "not those that this page was built with"), (SECOND, "")):
        with opening(browser, "about:blank", is_clean=False) as opened:
            if not secure:
                opened.page.add_init_script("Object.defineProperty(crypto, 'subtle', { value: undefined })")
            opened.page.goto(address(copy if name == RUN else damaged_free(copy, RUN)))
            if words:
                opened.page.get_by_text(words).wait_for()
                assert opened.page.locator(".explorer-still").get_by_role("cell", name="> 99 %").first.is_visible()
            else:
                assert_reads(panes(live(opened)).first)
            assert opened.page.evaluate("crypto.subtle !== undefined") == secure


def damaged_free(copy, run):
    """The damaged site with its weights mended."""
    (copy / f"_static/explorer/{run}.js").write_text(weights_script(small().find(run)))
    return copy


def test_one_self_contained_file_checks_its_weights_too(browser, site, damaged):
    for text, words in ((lambda text: text, ""), (lambda text: changed(text, len(text) // 2), "damaged")):
        shutil.rmtree(site.parent / "one", ignore_errors=True)
        copy = shutil.copytree(site, site.parent / "one")
        file = copy / f"_static/explorer/{RUN}.js"
        file.write_text(text(file.read_text()))
        page = copy / "book/one.html"
        page.write_text((copy / "book/small.html").read_text().replace('<link rel="icon" href="data:,">', ""))
        page.write_text(inlined(page))
        shutil.rmtree(copy / "_static")
        with opening(browser, page.as_uri(), is_clean=False) as opened:
            if words:
                opened.page.get_by_text(f"The weights of run {RUN} are {words}").wait_for()
            else:
                assert_reads(panes(live(opened)).first)


def test_the_pages_own_sha256_is_right_and_quick(browser, site):
    texts = ["", *("x" * n for n in (1, 55, 56, 63, 64, 65, 119, 120, 1000)), "ü€😀" * 50]
    script = (STATIC / "sha256.js").read_text()
    page = browser.new_page()
    page.goto("about:blank")  # no secure place: the browser gives none of its own
    assert page.evaluate("crypto.subtle") is None
    page.add_script_tag(content=script)
    found = page.evaluate("texts => Promise.all(texts.map(paperSha256))", texts)
    assert found == [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    seconds = page.evaluate(
        "async () => { const start = performance.now(); await paperSha256('x'.repeat(6e6));"
        " return performance.now() - start; }"
    )
    print(f"\n6 MB of weights hashed by the page itself in {seconds:.0f} ms")
    assert seconds < 2000
    page.close()


# ---- without JavaScript, on paper, on a phone ----


def test_without_javascript_the_still_shows_the_same_numbers(browser, site):
    with opening(browser, address(site)) as opened:
        rows = live(opened).locator(".explorer-next").first.locator("tbody tr").all()
        found = [row.locator("th, td").all_inner_texts() for row in rows]
    context = browser.new_context(viewport={"width": 400, "height": 900}, java_script_enabled=False)
    page = context.new_page()
    page.goto(address(site))
    rows = page.locator(".explorer-still table").first.locator("tbody tr").all()
    still = [row.locator("th, td").all_inner_texts() for row in rows]
    assert [(word.split()[0], p) for word, _, p in still] == [(word.split()[0], p) for word, _, p in found]
    assert found[0][2] == "> 99 %" and len(found) == 3
    assert page.locator(".explorer-still .circuit-tall .token").count() == LAST + 1
    assert page.locator(".explorer-still .circuits li").count() == 2
    assert "It works." in page.locator(".explorer-still").inner_text()
    assert page.locator(".explorer").bounding_box()["width"] <= 400
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    context.close()


def test_paper_gets_the_still(browser, site):
    with opening(browser, address(site)) as opened:
        explorer = live(opened)
        opened.page.emulate_media(media="print")
        assert explorer.locator(".explorer-still").is_visible()
        assert not explorer.locator(".explorer-live").is_visible()


def used(explorer):
    """Everything a reader can open stands there: two networks, edits, the sweep, a problem, the copied text."""
    explorer.get_by_label("What to do").select_option("patch")
    ask(explorer, PROMPT.replace("Q K7", "Q K1"), "Second prompt")
    press(explorer, "Add edit")
    explorer.get_by_label("What to do").select_option("resample")
    press(explorer, "Compare with another")
    press(explorer, "Copy as Python")
    ask(explorer, "<bos> K99")
    assert len(problems(explorer)) == 1


@pytest.mark.parametrize("name", ["small", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_nothing_serious(browser, site, name, width):
    with opening(browser, address(site, name), viewport={"width": width, "height": 900}) as opened:
        explorer = live(opened)
        for act in (lambda explorer: None, used):
            act(explorer)
            assert seriously_wrong(opened.page) == []


def test_a_phone_never_scrolls_sideways(browser, site):
    with opening(browser, address(site), viewport={"width": 400, "height": 900}) as opened:
        explorer = live(opened)
        used(explorer)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400
        right = "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"
        assert explorer.locator("*:visible").evaluate_all(right) <= 400
