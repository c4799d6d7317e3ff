"""The explorer in its page: how soon it lives, how fast it answers, damaged weights, paper, a phone."""

import functools
import re
import shutil
import threading
from http.server import ThreadingHTTPServer

import pytest
from conftest import _QuietHandler
from explorer_page import (
    LARGE,
    PROMPT,
    RUN,
    SECOND,
    ask,
    assert_reads,
    compare_seeds,
    live,
    numbers,
    opening,
    panes,
    press,
    problems,
    published,
    write_site,
)
from test_pages import AXE, AXE_RUN

from circuitcore.explorer.probe import probe

SEED = str(published(SECOND).recipe.init_seed)
LIVE_AT = """() => new MutationObserver((_, watch) => {
    if (!document.querySelector('.explorer.is-live')) return;
    window.liveAt = performance.now();
    watch.disconnect();
}).observe(document, { subtree: true, childList: true, attributes: true })"""
STEPS = """async () => {
    const slider = document.querySelector('.explorer-slider'), found = [];
    const steps = JSON.parse(document.querySelector('.explorer-data').textContent).runs[0].steps;
    const shown = () => document.querySelector('.explorer-margin').textContent;
    const frame = () => new Promise(requestAnimationFrame), task = () => new Promise(done => setTimeout(done));
    for (let i = 0; i < 60; i++) {
        await frame();
        await task();
        const start = performance.now(), before = shown();
        slider.value = steps[i % steps.length];
        slider.dispatchEvent(new Event('input'));
        await frame(); // what stands then is painted
        await task();
        found.push([performance.now() - start, before !== shown()]);
    }
    return found;
}"""


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


# ---- time ----


@pytest.mark.parametrize("name", ["small", "large"])
def test_it_lives_within_a_second_of_opening_from_a_disk(browser, site, name):
    """The goal is 1 s; a busy machine gets 3."""
    found = []
    for _ in range(3):
        page = browser.new_page()
        page.add_init_script(f"({LIVE_AT})()")
        page.goto(address(site, name))
        page.locator(".explorer.is-live").wait_for()
        found.append(page.evaluate("window.liveAt"))
        page.close()
    print(f"\n{name}: live after {', '.join(f'{ms:.0f}' for ms in found)} ms; the goal is 1000")
    assert min(found) < 3000


def test_a_step_of_the_slider_is_painted_within_50_ms(browser, site):
    """The goal is 50 ms at the 95th percentile; a busy machine gets 250."""
    with opening(browser, address(site, "large")) as opened:
        live(opened, "explorer-large")
        found = opened.page.evaluate(STEPS)
    times = [ms for ms, _ in found]
    print(f"\nslider to paint: median {percentile(times, 0.5):.0f}, 95th percentile {percentile(times, 0.95):.0f} ms")
    assert sum(is_new for _, is_new in found) >= 55
    assert percentile(times, 0.95) < 250


def test_all_sets_of_heads_take_100_ms(browser, site):
    """The goal is 100 ms for the 16 sets of a 2 x 2 network; a busy machine gets 500."""
    with opening(browser, address(site)) as opened:
        explorer = live(opened)
        explorer.locator("summary").click()
        table = explorer.locator(".explorer-sweep table")
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
            assert likeliest == max(reading.answers, key=reading.probability_of)
        sweep = """() => [...Array(9)].map(() => {
            const details = document.querySelector('details'), start = performance.now();
            details.ontoggle();
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
        small.get_by_role("button", name="L1H0 on", exact=True).click()
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
        assert large.evaluate("node => node.getBoundingClientRect().top < innerHeight")


# ---- damaged weights ----


def first_gone(text):
    """Another number of bytes in the first checkpoint."""
    return re.sub(r'"data":"....', '"data":"', text, count=1)


DAMAGES = {
    "missing": (lambda text: None, "the weights of run {} are not here"),
    "cut off": (lambda text: text[: len(text) // 2], "the weights of run {} are damaged"),
    "empty": (lambda text: "", "the weights of run {} are damaged"),
    "of another run": (lambda text: text.replace('"run":"', '"run":"x'), "the weights of run {} are damaged"),
    "no checkpoints": (lambda text: re.sub(r'"checkpoints":\[.*\]', '"checkpoints":[]', text), "run {} are damaged"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_still_stays_and_tells_what_is_wrong_with_the_weights(browser, damaged, damage):
    change, words = DAMAGES[damage]
    with opening(browser, address(damaged(RUN, change)), is_clean=False) as opened:
        still = opened.page.locator(".explorer-still")
        still.get_by_text(re.compile("The explorer cannot run here: ")).wait_for()
        assert words.format(RUN).lower() in still.inner_text().lower()
        assert still.get_by_role("cell", name=">0.999").first.is_visible()


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_last_good_state_stays_when_another_runs_weights_are_damaged(browser, damaged, damage):
    change, words = DAMAGES[damage]
    with opening(browser, address(damaged(SECOND, change)), is_clean=False) as opened:
        explorer = live(opened)
        seed = explorer.get_by_label("Seed").first
        before = seed.input_value()
        seed.select_option(SEED)
        explorer.get_by_role("alert").get_by_text(re.compile("weights")).wait_for()
        assert words.format(SECOND).lower() in problems(explorer)[0].lower()
        assert seed.input_value() == before
        assert_reads(panes(explorer).first)
        ask(explorer, PROMPT.replace("Q K7", "Q K1"))
        assert problems(explorer) == []
        assert_reads(panes(explorer).first, prompt=PROMPT.replace("Q K7", "Q K1"))


@pytest.mark.parametrize("change", [first_gone, lambda text: text.replace('"data":"', '"data":"!', 1)])
def test_one_damaged_checkpoint_is_told_when_the_slider_comes_to_it(browser, damaged, change):
    with opening(browser, address(damaged(RUN, change)), is_clean=False) as opened:
        explorer = live(opened)
        slider = explorer.get_by_role("slider")
        slider.press("Home")
        assert "weights" in problems(explorer)[0] and "step 0" in problems(explorer)[0]
        assert not problems(explorer)[0].endswith("..")
        assert int(slider.input_value()) == published(RUN).steps[-1]
        assert_reads(panes(explorer).first)
        slider.press("ArrowLeft")
        assert problems(explorer) == []
        assert_reads(panes(explorer).first, step=published(RUN).steps[-2])


# ---- without JavaScript, on paper, on a phone ----


def test_without_javascript_the_still_shows_the_same_numbers(browser, site):
    with opening(browser, address(site)) as opened:
        found = {word: p for word, (p, _) in numbers(panes(live(opened)).first).items()}
    context = browser.new_context(viewport={"width": 400, "height": 900}, java_script_enabled=False)
    page = context.new_page()
    page.goto(address(site))
    rows = page.locator(".explorer-still table").first.locator("tbody tr").all()
    cells = [row.locator("th, td").all_inner_texts() for row in rows]
    still = {word.removesuffix(" answer"): float(p.lstrip("<>")) for word, _, p in cells}
    assert still == pytest.approx(found, abs=1.1e-3)
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
    explorer.locator("summary").click()
    press(explorer, "Copy as Python")
    ask(explorer, "<bos> K99")
    assert len(problems(explorer)) == 1


@pytest.mark.parametrize("name", ["small", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_nothing_serious(browser, site, name, width):
    with opening(browser, address(site, name), viewport={"width": width, "height": 900}) as opened:
        explorer = live(opened)
        opened.page.evaluate(AXE)
        for act in (lambda explorer: None, used):
            act(explorer)
            found = opened.page.evaluate(AXE_RUN)["violations"]
            serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
            assert [f"{rule['id']}: {node['html'][:300]}" for rule in serious for node in rule["nodes"]] == []


def test_a_phone_never_scrolls_sideways(browser, site):
    with opening(browser, address(site), viewport={"width": 400, "height": 900}) as opened:
        explorer = live(opened)
        used(explorer)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400
        right = "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"
        assert explorer.locator("*:visible").evaluate_all(right) <= 400
