"""Stages on the pages of the book, as built: each lives there, steps, is edited, and goes on along its path."""

import json
import re
import statistics
from functools import partial

import pytest
from conftest import ROOT
from explorer_page import closed, opening, press, problems, story, switch

from circuitcore.training.store.run_store import RunStore
from livingpaper.explorer.probe import probe

STAGES = {
    "index": "explorer-front",
    "sgd_formation": "explorer-sgd-formation",
    "sgd_selection": "explorer-sgd-selection",
    "stacked_heads": "explorer-stacked-heads",
    "composition": "explorer-composition",
    "emergence_laws": "explorer-laws",
}
"""Pages whose stages ``test_explorer_alone`` leaves out."""
LARGER = {
    "symbolic_kv": "explorer-symbolic-kv",
    "six_run_matrix": "explorer-six-run-matrix",
    "story_control": "explorer-story",
    "permutation_recall": "explorer-permutation-recall",
}
PATIENCE = 60_000
LONGEST, ROUNDS, N_STEPS = 1.25, 3, 6
"""How long a task of a page's main thread may compute, in loads of the formulas' renderer alone on this machine.

Machines differ, so the bound is no time: that load is the longest task of most pages, 0.16 s on an AMD EPYC of family
25. The best of some rounds counts, as a busy core is never faster.
"""
FORMULAS = "_static/vendor/mathjax-tex-svg.js"
N_LOADS = 5
TASKS = ["devtools.timeline", "disabled-by-default-devtools.timeline"]
KINDS = ("EvaluateScript", "FunctionCall", "ParseHTML", "UpdateLayoutTree", "Layout", "Paint")
"""What a task may be told to consist of."""
PAUSE = 300
"""Milliseconds in which a page does what it does by itself."""


@pytest.fixture(params=STAGES)
def stage(request, browser, site):
    """The stage of a page, live, and what its data say that there is to see."""
    page, name = (site / f"book/{request.param}.html").as_uri(), STAGES[request.param]
    with opening(browser, page, timeout=PATIENCE, offline=True) as opened:
        box = opened.page.locator(f"#{name}")
        box.scroll_into_view_if_needed()
        yield closed(opened, name), json.loads(box.locator("script.explorer-data").text_content())


@pytest.fixture(scope="module")
def a_load(browser, site, tmp_path_factory):
    """Milliseconds of computing in the longest task of a page that loads the formulas' renderer, and nothing else."""
    page = tmp_path_factory.mktemp("alone") / "formulas.html"
    page.write_text(f'<!doctype html><title>Formulas</title><script src="{(site / FORMULAS).as_uri()}"></script>')
    return statistics.median(longest_task(browser, page.as_uri())[0] for _ in range(N_LOADS))


def stepped(page, name):
    """A page's stage, once it is live, taken through some checkpoints."""
    page.locator(f"#{name}").scroll_into_view_if_needed()
    explorer = page.locator(f"#{name}.is-live")
    explorer.wait_for()
    page.wait_for_timeout(PAUSE)
    slider = explorer.get_by_role("slider").first
    slider.press("Home")
    for _ in range(N_STEPS):
        slider.press("ArrowRight")
        page.wait_for_timeout(PAUSE)


def longest_task(browser, address, used=lambda page: page.wait_for_timeout(PAUSE)):
    """Milliseconds of computing in the longest task of a page, from its load through its use; and what ran in it."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    browser.start_tracing(page=page, categories=TASKS)
    page.goto(address)
    used(page)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    page.close()
    mains = {event["pid"]: event["tid"] for event in events if event.get("args") == {"name": "CrRendererMain"}}
    own = [event for event in events if mains.get(event["pid"]) == event["tid"] and "tdur" in event]
    longest = max((event for event in own if event["name"] == "RunTask"), key=lambda event: event["tdur"])
    end = longest["ts"] + longest["dur"]
    inside = [event for event in own if longest["ts"] <= event["ts"] < end and event["name"] in KINDS]
    most = max(inside, key=lambda event: event["tdur"], default=longest)
    return longest["tdur"] / 1000, f"{most['name']} {most['args'].get('data', {}).get('url', '')}".rsplit("/")[-1]


def says(store, exhibit, **state):
    """What the sentence of a state says that its network says; of rows of vectors only that it says something."""
    if "form" in exhibit:
        return "it says "
    asked = {**exhibit["opening"], **exhibit["path"][0]["state"], **state}
    answers = {one["prompt"]: one["answer"] for one in exhibit["task"]["examples"]}
    reading = probe(
        store.get(asked["run"]), step=asked["step"], prompt=asked["prompt"], edits=asked["edits"],
        answer=answers.get(asked["prompt"]),
    )  # fmt: skip
    return f"it says {reading.likeliest}, "


def test_it_steps_and_is_edited_and_goes_on_and_back(stage, site):
    explorer, exhibit = stage
    store = RunStore(site.parents[1] / "runs", ROOT / "published")
    first, n_stops = story(explorer), len(exhibit["path"])
    assert first.startswith(exhibit["path"][0]["title"])
    state = {**exhibit["opening"], **exhibit["path"][0]["state"]}
    (run,) = (one for one in exhibit["runs"] if one["id"] == state["run"])
    slider = explorer.get_by_role("slider").first
    slider.press("Home" if state["step"] != run["steps"][0] else "End")
    there = run["steps"][0 if state["step"] != run["steps"][0] else -1]
    assert says(store, exhibit, step=there) in story(explorer) != first
    press(explorer, "Undo")
    assert story(explorer) == first
    switch(explorer, "L0H0", "on").click()
    explorer.get_by_text(re.compile("with L0H0 off")).first.wait_for()
    assert says(store, exhibit, edits=["zero(L0H0)@all"]) in story(explorer)
    switch(explorer, "L0H0", "off").click()
    for number in range(2, n_stops + 1):
        press(explorer, "Next")
        path = explorer.get_by_role("group", name="Suggested path")
        path.get_by_text(f"{number} of {n_stops}", exact=True).wait_for()
        assert story(explorer).startswith(exhibit["path"][number - 1]["title"])
    press(explorer, "Start again")
    assert story(explorer) == first and problems(explorer) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [*STAGES, *LARGER])
def test_no_task_of_a_page_keeps_its_reader_waiting(browser, site, a_load, name):
    """From load to a live stage and through its checkpoints, in computing; of all that the page runs."""
    found, used = [], partial(stepped, name=(STAGES | LARGER)[name])
    while len(found) < ROUNDS and all(ms >= LONGEST * a_load for ms, _ in found):
        found.append(longest_task(browser, (site / f"book/{name}.html").as_uri(), used))
    print(f"\n{name}: longest task {', '.join(f'{ms:.0f} ms ({what})' for ms, what in found)}; a load {a_load:.0f} ms")
    assert min(ms for ms, _ in found) < LONGEST * a_load


@pytest.mark.slow
def test_a_task_that_is_too_long_is_found(browser, a_load, tmp_path):
    busy = f"const end = performance.now() + {4 * a_load}; while (performance.now() < end);"  # on a shared core, less
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><title>Too long</title><script>{busy}</script>")
    assert longest_task(browser, page.as_uri())[0] > LONGEST * a_load
