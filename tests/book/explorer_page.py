"""Bare pages with explorers in them, as a book has them, and what a reader can see there beside ``probe``."""

import contextlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Opened
from test_pages import OFFLINE

from circuitcore.ground.environment import Folders
from circuitcore.training.store.run_store import RunStore
from livingpaper.explorer import moves
from livingpaper.explorer.block import weights_script
from livingpaper.explorer.exhibit import Example, Exhibit
from livingpaper.explorer.probe import probe
from livingpaper.explorer.retrieval_path import retrieval_path
from livingpaper.explorer.shown_run import Birth, Curve, ShownRun
from livingpaper.explorer.widget import block_of
from retrieval_circuits.lookup_circuit import PLAN as LOOKUP

RUN, SECOND, LARGE = "symbolic_kv-184c3e21d23e", "symbolic_kv-3ce50adb7c4e", "textual_kv-4f47b903cbfb"
PROMPT = "<bos> K1 V1 ; K6 V6 ; K7 V0 ; Q K7 ->"
SOURCE = PROMPT.replace("Q K7", "Q K1")
"""The same pairs, asked for another key."""
LAST = len(PROMPT.split()) - 1
PANELS = ("Every number", "More edits", "Every set of heads", "Scores through training")
"""How the lines begin under which panels open."""
SIZE = {"most": 420, "margin": 8, "letter": 6.6}
"""How ``static/head_map.js`` lays out a map."""
EDGE = re.compile(r"L(\d)H(\d): \S+ \(.*?position (\d+)\) reads \S+ \(.*?position (\d+)\): (\S+)$")
"""How a map tells one attention."""
PAGE = """<!doctype html><html lang="en" data-theme="{theme}" data-content_root="../"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><title>Explorer</title><style>
body {{ font: 16px system-ui; max-width: 46rem; margin: 1rem auto; padding: 0 .5rem }}
html[data-theme=dark] {{ background: #14181e; color: #e6e9ed }}
</style></head><body><main><h1>Explorer</h1>{explorers}</main></body></html>"""


def published(run_id):
    return RunStore(Folders.from_environment().published, None).get(run_id)


def small():
    """Two seeds of one condition, with a strip, a path and an example."""
    first, second = published(RUN), published(SECOND)
    curve = Curve(label="accuracy", steps=(0, first.steps[-1]), values=(0.1, 1.0), chance=0.125)
    births = (Birth(label="routes", after=0, by=first.steps[3]), Birth(label="copies", after=None, by=None))
    strip = {"curves": (curve,), "births": births}
    shown = (ShownRun(run=first, condition="trained", **strip), ShownRun(run=second, condition="trained"))
    examples = (
        Example(label="three pairs", prompt=PROMPT),
        Example(label="asks K1", prompt=SOURCE),
    )
    path = retrieval_path([first, second], PROMPT)
    return Exhibit(name="explorer-small", task=first.recipe.make_task(), shown=shown, examples=examples, path=path)


def staged():
    """The same two networks with a circuit that is looked for; no test was made before the first step of training.

    What tests say of it here is made up: two moves of single heads, two of both heads of a layer, one not supported.
    So are its births, by two rules.
    """
    bare = small()
    steps = bare.shown[0].run.steps
    born = {("ours", "routes"): 2, ("ours", "copies"): 1, ("strict", "routes"): 3, ("strict", "copies"): None}
    births = tuple(
        Birth(label=label, after=steps[at - 1] if at else steps[-1], by=steps[at] if at else None, rule=rule)
        for (rule, label), at in born.items()
    )
    both = ("L1H0", "L1H1")
    found = {
        "tags": moves.Tested(heads=("L0H0",), effect=1.0, supported=True),
        "carries": moves.Tested(heads=("L0H1",), effect=0.7, supported=True),
        "matches": moves.Tested(heads=both, effect=0.9, supported=True),
        "copies": moves.Tested(heads=both, effect=0.0, supported=False),
    }
    shown = tuple(
        replace(one, tests={step: found for step in one.steps if step}, note="Both are published.", births=births)
        for one in bare.shown
    )
    path = (replace(bare.path[0], lit=("matches", "copies")), *bare.path[1:])
    return replace(bare, name="explorer-staged", shown=shown, path=path, plan=LOOKUP)


def large():
    """The network of 84,000 numbers."""
    run = published(LARGE)
    task = run.recipe.make_task()
    prompt = task.decode(task.split("val").tokens[0])
    shown = (ShownRun(run=run, condition="trained"),)
    return Exhibit(name="explorer-large", task=task, shown=shown, examples=(Example(label="one", prompt=prompt),))


def write_site(folder: Path) -> Path:
    """Pages small, dark, large and both below ``folder/book``, and the weights that they load."""
    exhibits = small(), large()
    write_weights(folder, exhibits)
    of_small, of_large = (block_of(exhibit).page_html for exhibit in exhibits)
    pages = {"small": ("light", of_small), "dark": ("dark", of_small), "large": ("light", of_large)}
    return write_pages(folder, {**pages, "both": ("light", of_small + of_large)})


def write_stage(folder: Path) -> Path:
    """Pages stage and stage-dark of the explorer that has a circuit."""
    exhibit = staged()
    write_weights(folder, [exhibit])
    html = block_of(exhibit).page_html
    return write_pages(folder, {"stage": ("light", html), "stage-dark": ("dark", html)})


def write_weights(folder, exhibits):
    (folder / "_static/explorer").mkdir(parents=True)
    for shown in (shown for exhibit in exhibits for shown in exhibit.shown):
        (folder / f"_static/explorer/{shown.run.run_id}.js").write_text(weights_script(shown), encoding="utf-8")


def write_pages(folder, pages):
    (folder / "book").mkdir()
    for name, (theme, explorers) in pages.items():
        page = PAGE.format(theme=theme, explorers=explorers)
        (folder / f"book/{name}.html").write_text(page, encoding="utf-8")
    return folder


@contextlib.contextmanager
def opening(browser, url, *, is_clean=True, timeout=20_000, **context):
    """A page in a context of its own; unless it is to be damaged, nothing failed and the console stayed silent."""
    made = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
    made.set_default_timeout(timeout)
    opened = Opened(made.new_page())
    opened.open(url)
    yield opened
    if is_clean:
        assert [url for url in opened.requests if not url.startswith(OFFLINE)] == []
        assert opened.failures == opened.complaints == []
    made.close()


def stopwatch(page):
    """Tells the milliseconds for which the page's main thread has computed; waiting for others is not in them."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def computed():
        found = session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(one["value"] for one in found if one["name"] == "ThreadTime")

    return computed


def closed(opened, name="explorer-small"):
    """The explorer of that name, once it is live, its panels closed as a reader finds them."""
    found = opened.page.locator(f"#{name}.is-live")
    found.wait_for()
    return found


def live(opened, name="explorer-small"):
    """The same with all its panels open."""
    found = closed(opened, name)
    for words in PANELS:
        panel(found, words).evaluate("panel => { panel.open = true; }")
    for inside in ("canvas", ".explorer-composer", "table", "svg"):
        found.locator(f".explorer-panel {inside}").first.wait_for()
    return found


def panel(explorer, words):
    """What opens under a line that begins with these words."""
    return explorer.locator("details", has=explorer.page.locator("summary", has_text=words))


def switch(explorer, part, state):
    """The switch of a part of the network, by what it says now: on or off."""
    return explorer.locator(".explorer-switch", has_text=re.compile(rf"\b{part} {state}$")).first


def press(explorer, name):
    explorer.get_by_role("button", name=name, exact=True).click()


def ask(explorer, text, label="Prompt"):
    """Type a prompt and leave the field."""
    field = explorer.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Enter")


def compare_seeds(explorer):
    """Show the second run beside the first, at its last checkpoint."""
    press(explorer, "Compare with another")
    seed = published(SECOND).recipe.init_seed
    explorer.get_by_role("combobox", name="Seed", exact=True).last.select_option(str(seed))
    panes(explorer).last.get_by_text(re.compile(f"seed {seed}, step")).wait_for()  # its weights are loaded
    explorer.get_by_role("slider").last.press("End")


def compose(explorer, kind, part, where):
    explorer.get_by_label("What to do").select_option(kind)
    explorer.get_by_label("Which part").select_option(part)
    explorer.get_by_label("At which position").select_option(where)
    press(explorer, "Add edit")


def problems(explorer):
    """The sentences that say what is wrong."""
    return [text for text in explorer.get_by_role("alert").all_inner_texts() if text]


def story(explorer):
    return explorer.locator(".explorer-story").inner_text()


def panes(explorer):
    return explorer.locator(".explorer-pane:visible")


def numbers(pane):
    """Word -> (probability, logit) of the table of answers."""
    rows = pane.locator("table").first.locator("tbody tr")
    cells = [row.locator("th, td").all_inner_texts() for row in rows.all()]
    return {word.removesuffix(" answer"): (float(p.lstrip("<>")), float(logit)) for word, _, p, logit in cells}


def margin(pane, name=": margin"):
    """The margin that the pane tells, or the one of another name."""
    text = pane.locator(".explorer-margin").inner_text()
    return float(re.search(rf"{name} ([+\u2212][\d.]+) over", text)[1].replace("\u2212", "-"))


def margin_over_answer_words(pane):
    """The other margin that the pane tells."""
    return margin(pane, r"\.\s+Margin over answer words")


def assert_reads(pane, run=RUN, prompt=PROMPT, **asked):
    """The pane shows what ``probe`` reads: answers, logits, margins, attention, and the shares of the margin."""
    reading = probe(run, prompt=prompt, **asked)
    found = numbers(pane)
    assert found.keys() >= {reading.likeliest, reading.favoured}
    for word, (p, logit) in found.items():
        assert p == pytest.approx(reading.probability_of(word), abs=1.1e-3)
        assert logit == pytest.approx(reading.logits[-1, reading.vocab.index(word)].item(), abs=0.011)
    assert margin(pane) == pytest.approx(reading.margin, abs=0.011)
    assert margin_over_answer_words(pane) == pytest.approx(reading.margin_over_answer_words, abs=0.011)
    for canvas in pane.locator("canvas").all():
        told = EDGE.search(canvas.get_attribute("aria-label"))
        layer, head, query, key = (int(number) for number in told.groups()[:4])
        attention = reading.patterns[layer][head][query, key].item()
        assert (
            0 == attention if told[5] == "cut" else float(told[5].lstrip("<>")) == pytest.approx(attention, abs=1.1e-3)
        )
    if reading.attribution is None:
        assert "No direct logit attribution here" in pane.inner_text()
        return
    shares = dict(
        row.locator("th, td").all_inner_texts()[::2] for row in pane.locator("table").last.locator("tbody tr").all()
    )
    target, rival = (reading.vocab.index(word) for word in (reading.favoured, reading.runner_up))
    for part, logits in reading.attribution.items():
        shown = float(shares.pop(part).replace("\u2212", "-"))
        assert shown == pytest.approx((logits[target] - logits[rival]).item(), abs=0.011)
    assert shares == {}


def square(canvas, query, key):
    """Where an edge lies on the canvas of a head."""
    words, width = PROMPT.split(), canvas.evaluate("node => node.parentElement.clientWidth")
    left = SIZE["margin"] + SIZE["letter"] * max(len(word) for word in words)
    cell = (min(width, SIZE["most"]) - left - 2) / len(words)
    return {"x": left + (key + 0.5) * cell, "y": (query + 0.5) * cell}


def tab_to(opened, pattern, key="Tab"):
    """Press Tab until what has the focus is called like that."""
    name = """() => {
        const node = document.activeElement;
        return node.ariaLabel ?? node.labels?.[0]?.innerText ?? node.innerText ?? '';
    }"""
    for _ in range(60):
        opened.page.keyboard.press(key)
        if re.search(pattern, opened.page.evaluate(name)):
            return
    pytest.fail(f"Tab does not lead to {pattern}")
