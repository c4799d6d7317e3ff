"""Pages that are one file: opened from a disk without network, their explorers live, and one of them asks first."""

import json
import re
import warnings

import pytest
from conftest import ROOT
from explorer_page import assert_reads, live, opening, panes, press, problems, switch

from circuitcore.ground.environment import Folders
from circuitcore.training.store.run_store import RunStore
from livingpaper.book import studies
from livingpaper.book.single_page import build_page
from livingpaper.commands.rerun import rerun

RERUN = "rerun"
SMALL = {"seeds": [7], "story_epochs": 2, "epochs": 2, "planted_epochs": 2, "n_train": 300, "n_planted": 300}
"""Of the study on stories: the least that trains."""
EXPLORERS = {
    "symbolic_kv": ["explorer-symbolic-kv"],
    "six_run_matrix": ["explorer-six-run-matrix"],
    "story_control": ["explorer-story", "explorer-planted"],
    "permutation_recall": ["explorer-permutation-recall"],
    RERUN: ["explorer-story", "explorer-planted"],
}
CROWDED = ("six_run_matrix",)
"""Pages that have no room for the weights of all their runs."""
PATIENCE = 120_000
"""Milliseconds: pages of 18 MB with all their charts, on a busy machine."""


@pytest.fixture(scope="session")
def stores(site, tmp_path_factory) -> dict[str, RunStore]:
    """Where the runs of each page are."""
    runs = {name: site.parents[1] / "runs" for name in studies.names()} | {RERUN: tmp_path_factory.mktemp("rerun")}
    return {name: RunStore(folder, ROOT / "published") for name, folder in runs.items()}


def short_book(folder):
    """A book of one chapter without its figures, so that a rerun takes seconds; the rest is the real book's."""
    (folder / "book").mkdir(parents=True)
    packages = ("circuitcore", "livingpaper", "retrieval_circuits")
    for name in ("_config.yml", *packages, "book/_static", "book/references.bib"):
        (folder / name).symlink_to(ROOT / name)
    notebook = json.loads((ROOT / "book/story_control.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    kept = [
        cell
        for cell in code
        if re.search(r"# Parameters|chapter\.open|\.explorer\(|\.close\(", "".join(cell["source"]))
    ]
    title = {"cell_type": "markdown", "id": "title", "metadata": {}, "source": "# A rerun"}
    text = json.dumps({**notebook, "cells": [title, *kept]})
    (folder / "book/story_control.ipynb").write_text(text, encoding="utf-8")
    return folder


def rerun_of(book, runs, out):
    """The page that a rerun leaves where nothing is published, as a reproduction has it: judging that takes longest."""
    with pytest.MonkeyPatch.context() as patch:
        folders = Folders(short_book(book), runs, book / "nothing-is-published")
        patch.setattr(Folders, "from_environment", lambda *_: folders)
        return rerun("story_control", SMALL, "smoke", out).page


@pytest.fixture(scope="module", params=EXPLORERS)
def alone(request, browser, site, stores, tmp_path_factory):
    """The name of a page that is one file, and that page: a chapter as the smoke book executed it, or a rerun.

    Whatever is done with it, nothing is asked of the network, and the console stays silent.
    """
    folder, name = tmp_path_factory.mktemp("alone"), request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Sphinx's extensions use what docutils gives up
        if name == RERUN:
            page = rerun_of(folder / "root", stores[RERUN].root, folder / "out")
        else:
            page = folder / f"{name}.html"
            page.write_text(build_page(ROOT, name, site.parents[1] / "executed"), encoding="utf-8")
    with opening(browser, page.as_uri(), timeout=PATIENCE, offline=True) as opened:
        yield name, opened


def explorers(opened):
    """Every explorer of a page once it is live, and what its data say that there is to see."""
    for box in opened.page.locator("div.explorer:not(#game-recall)").all():
        box.scroll_into_view_if_needed()
        data = json.loads(box.locator("script.explorer-data").text_content())
        yield live(opened, data["name"]), data


def opening_of(exhibit, store):
    """The run an explorer opens on, and what it is asked there."""
    state = {**exhibit["opening"], **exhibit["path"][0]["state"]}
    answers = {one["prompt"]: one["answer"] for one in exhibit["task"]["examples"]}
    return store.get(state["run"]), {"prompt": state["prompt"], "answer": answers[state["prompt"]]}


def choose(explorer, run):
    """Another network."""
    condition = explorer.get_by_role("combobox", name="Condition", exact=True).first
    if condition.is_visible():  # a menu of one entry is not shown
        condition.select_option(run["condition"])
    seed = explorer.get_by_role("combobox", name="Seed", exact=True).first
    if seed.is_visible() and seed.input_value() != str(run["seed"]):
        seed.select_option(str(run["seed"]))


def test_every_explorer_steps_and_edits_and_undoes_and_shows_another_network_as_probe_reads_them(alone, stores):
    name, opened = alone
    seen = []
    for explorer, exhibit in explorers(opened):
        run, asked = opening_of(exhibit, stores[name])
        pane, slider = panes(explorer).first, explorer.get_by_role("slider").first
        assert_reads(pane, run=run, **asked)
        slider.press("Home")
        assert_reads(pane, run=run, step=run.steps[0], **asked)
        slider.press("End")
        head = f"L{min(1, run.recipe.model.n_layers - 1)}H0"
        switch(explorer, head, "on").click()
        assert_reads(pane, run=run, edits=[f"zero({head})@all"], **asked)
        switch(explorer, head, "off").click()
        assert_reads(pane, run=run, **asked)
        last = exhibit["runs"][-1]  # the reader's, where there are any
        choose(explorer, last)
        explorer.locator(".explorer-time").first.get_by_text(f"of {last['final']:,}").wait_for()
        assert_reads(pane, run=stores[name].get(last["id"]), **asked)
        assert problems(explorer) == []
        seen.append(exhibit["name"])
    assert seen == EXPLORERS[name]


def test_networks_that_found_no_room_are_told_and_the_rest_goes_on(alone, stores):
    name, opened = alone
    for explorer, exhibit in explorers(opened):
        runs, absent = exhibit["runs"], (explorer.get_attribute("data-left-out") or "").split()
        inside = opened.page.locator("script.explorer-weights").evaluate_all("all => all.map(one => one.dataset.run)")
        assert {run["id"] for run in runs} - set(inside) == set(absent)
        assert bool(absent) == (name in CROWDED)
        run, asked = opening_of(exhibit, stores[name])
        for missing in (run for run in runs if run["id"] in absent[:1]):
            press(explorer, "Start again")
            choose(explorer, missing)
            menus = " ".join(explorer.get_by_role("combobox").all_inner_texts())
            assert ", not in this file" in menus
            room = f"{len(runs) - len(absent)} of {len(runs)} networks"
            assert problems(explorer) == [
                f"The weights of run {missing['id']} are not in this file, which has room for {room}; "
                f'in Jupyter, Explorer("{missing["id"]}") shows it.'
            ]
            # It stays at the network that it had, and goes on.
            explorer.get_by_role("button", name=re.compile("^Shuffle")).first.click()
            assert problems(explorer) == []
            press(explorer, "Start again")
            assert_reads(panes(explorer).first, run=run, **asked)


def test_the_game_plays(alone):
    name, opened = alone
    games = opened.page.locator("div#game-recall")
    assert games.count() == (name == "permutation_recall")
    for game in games.all():
        game.scroll_into_view_if_needed()
        opened.page.locator("#game-recall.is-live").wait_for()
        status = game.locator(".explorer-status")
        card = game.get_by_role("button", name=re.compile("^x = .*hidden")).first
        x = re.match(r"x = \d+", card.get_attribute("aria-label"))[0]
        card.click()
        before = status.inner_text()
        game.get_by_role("button", name=re.compile(r"^y\s=\s1\b")).first.click()
        game.get_by_role("button", name=re.compile(rf"^{x}, goes with y = \d")).wait_for()
        assert status.inner_text() != before
