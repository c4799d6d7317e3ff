"""The birth lab's controls in a page and in a live notebook: a definition moves them all, and a move leaves it."""

import re

import pandas as pd
import pytest
from conftest import ROOT

from circuitcore.emergence.births import BirthRule
from circuitcore.emergence.definitions import Definition, Definitions
from livingpaper.claims.view import View
from livingpaper.figures import vega
from livingpaper.figures.births_lab import births_lab
from livingpaper.figures.chart_html import STATIC, paper_html

OURS, SOURCE = "This chapter's definition", "The source's definition"
SETTINGS = {
    OURS: ["ours", "0.85", "named", "0.75", "2"],
    SOURCE: ["source", "0.9", "published", "0.6", "1"],
}
CONTROLS = ("scores", "score at least", "gate", "gate at least", "checkpoints it must hold")


def lab():
    """Two motifs in six runs: 4 epochs apart by one set of scores, 20 by the other."""
    rows = [
        (scores, "on", seed, motif, epoch, float(epoch >= born), 1.0, 1.0)
        for scores, births in (("ours", {"copying": 1, "routing": 5}), ("source", {"copying": 1, "routing": 21}))
        for seed in range(6)
        for motif, born in births.items()
        for epoch in (0, 1, 5, 10, 21, 30)
    ]
    columns = ["scores", "arm", "init_seed", "motif", "epoch", "score", "gate_published", "gate_named"]
    rules = (BirthRule(0.85, "named_families", 0.75, 2), BirthRule(0.9, "published", 0.6, 1))
    among = tuple(
        Definition(name=name, scores=scores, whose=f"{scores}'s", rules=dict.fromkeys(("copying", "routing"), rule))
        for name, scores, rule in zip(SETTINGS, ("ours", "source"), rules, strict=True)
    )
    definitions = Definitions(among=among, apart=("copying", "routing"))
    return births_lab(
        View(pd.DataFrame(rows, columns=columns), "epoch of birth", "validation"), definitions=definitions
    )


@pytest.fixture(
    scope="module", params=[ROOT / "book/_static/mount.js", STATIC / "notebook.js"], ids=lambda path: path.stem
)
def script(request):
    """What draws charts: in the book, and in a live notebook."""
    return request.param


@pytest.fixture
def page(browser, script):
    """The lab, drawn."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_content(f"<main>{paper_html(lab(), 'A map of births with controls.')}</main>")
    page.add_script_tag(content=vega.javascript())
    page.add_script_tag(path=script)
    page.locator(".vl-live svg").wait_for(state="attached")
    yield page
    assert complaints == []
    page.close()


def control(page, label):
    name = re.compile(rf"^{label}\s*$")
    return (
        page.locator(".vega-bind").filter(has=page.locator(".vega-bind-name", has_text=name)).locator("input, select")
    )


def standing(page):
    return [control(page, label).input_value() for label in CONTROLS]


def words(page):
    return " ".join(page.locator(".vl-live svg text").all_text_contents())


def wait_for(page, text):
    page.wait_for_function("text => document.querySelector('.vl-live svg').textContent.includes(text)", arg=text)


def test_it_opens_on_the_first_definition(page):
    assert control(page, "born under").input_value() == OURS
    assert standing(page) == SETTINGS[OURS]
    assert f"{OURS}." in words(page) and "Born: ours's score at least 0.85" in words(page)
    assert "lie 4.0 epochs apart" in words(page)


def test_a_definition_moves_all_controls_and_a_move_leaves_it(page):
    menu = control(page, "born under")
    menu.focus()
    page.keyboard.press("ArrowDown")  # a keyboard is enough
    wait_for(page, "lie 20.0 epochs apart")
    assert standing(page) == SETTINGS[SOURCE] and menu.input_value() == SOURCE
    control(page, "gate at least").focus()
    page.keyboard.press("ArrowRight")
    wait_for(page, "A definition of your own.")
    assert menu.input_value() == "your own"
    assert standing(page) == [*SETTINGS[SOURCE][:3], "0.61", SETTINGS[SOURCE][4]]
    page.keyboard.press("ArrowLeft")  # back to where the definition has it, which then has its name again
    wait_for(page, f"{SOURCE}.")
    assert menu.input_value() == SOURCE
    menu.select_option(OURS)
    wait_for(page, "lie 4.0 epochs apart")
    assert standing(page) == SETTINGS[OURS]
    control(page, "scores").select_option("source")
    wait_for(page, "lie 20.0 epochs apart")
    assert menu.input_value() == "your own"
