"""Stages on the pages of the book, as built: each lives there, steps, is edited, and goes on along its path."""

import json
import re

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
LONGEST_MS, ROUNDS, N_STEPS = 100, 3, 6
"""What a task of a page's main thread may compute; the best of some rounds counts, as a busy core is never faster."""
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


def longest_task(browser, address, name):
    """Milliseconds of computing in the longest task of a page, from load through some steps; and what ran in it."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    browser.start_tracing(page=page, categories=TASKS)
    page.goto(address)
    page.locator(f"#{name}").scroll_into_view_if_needed()
    explorer = page.locator(f"#{name}.is-live")
    explorer.wait_for()
    page.wait_for_timeout(PAUSE)
    slider = explorer.get_by_role("slider").first
    slider.press("Home")
    for _ in range(N_STEPS):
        slider.press("ArrowRight")
        page.wait_for_timeout(PAUSE)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    page.close()
    mains = {event["pid"]: event["tid"] for event in events if event.get("args") == {"name": "CrRendererMain"}}
    own = [event for event in events if mains.get(event["pid"]) == event["tid"] and "tdur" in event]
    tasks = [event for event in own if event["name"] == "RunTask"]
    assert len(tasks) > N_STEPS
    longest = max(tasks, key=lambda event: event["tdur"])
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
def test_no_task_of_a_page_keeps_its_reader_waiting(browser, site, name):
    """From load to a live stage and through its checkpoints, in computing; of all that the page runs."""
    found = []
    while len(found) < ROUNDS and all(ms >= LONGEST_MS for ms, _ in found):
        found.append(longest_task(browser, (site / f"book/{name}.html").as_uri(), (STAGES | LARGER)[name]))
    print(f"\n{name}: longest task {', '.join(f'{ms:.0f} ms ({what})' for ms, what in found)}")
    assert min(ms for ms, _ in found) < LONGEST_MS
