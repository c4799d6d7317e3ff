"""What axe is asked of a page with a live chart: its marks are left out, but none that a reader could come to."""

import pytest
from axe_checks import unsound
from conftest import page_with

CHART = (
    "<!doctype html><html lang='en'><title>A chart</title><main><h1>A chart</h1><div class='vl-live'>"
    "<svg aria-hidden='true' width='200' height='100'><defs><clipPath id='clip1'><rect width='9'/></clipPath></defs>"
    "<g class='mark-group'><path d='M0 0h9'/><text>words</text>{}</g></svg></div>{}</main></html>"
)
FAULTS = ("<path tabindex='0' d='M0 0h9'/>", "<a href='#'><path d='M0 0h9'/></a>")


@pytest.fixture(scope="module")
def page(browser):
    yield from page_with(browser)


def test_a_drawing_of_marks_is_sound_and_stands_there_afterwards_as_it_did(page):
    page.set_content(CHART.format("", ""))
    page.evaluate("window.before = [...document.querySelectorAll('svg *')]")
    drawn = page.locator("svg").evaluate("svg => svg.outerHTML")
    assert unsound(page) == []
    assert page.locator("svg").evaluate("svg => svg.outerHTML") == drawn
    assert page.evaluate("[...document.querySelectorAll('svg *')].every((mark, at) => mark === window.before[at])")


@pytest.mark.parametrize("fault", FAULTS)
def test_what_takes_the_focus_in_a_drawing_is_found(page, fault):
    page.set_content(CHART.format(fault, ""))
    assert "aria-hidden-focus" in [found.partition(":")[0] for found in unsound(page)]


def test_what_is_wrong_beside_a_drawing_is_found(page):
    page.set_content(CHART.format("", "<button></button>"))
    assert [found.partition(":")[0] for found in unsound(page)] == ["button-name"]
