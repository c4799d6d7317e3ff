"""The film of matrices in Chromium: Python's counts at every step, an address, a keyboard, and a still."""

import json
import re

import numpy as np
import pytest
from axe_checks import seriously_wrong
from conftest import opened_alone, page_with
from test_pages import LUMINANCE

from livingpaper.explorer.heat import SHADES
from livingpaper.explorer.matrix_film import SCRIPTS, STATIC, Filmed, MatrixFilm

STEPS = (0, 10, 40)
PAGE = (
    "<!doctype html><html lang='en' data-theme='light'><meta charset='utf-8'>"
    "<title>film</title><main><h1>A page</h1>{}</main></html>"
)


def matrix(label, rows, columns, seed):
    """Random scores, of which the right ones rise with the steps; two that tie are not recalled."""
    dice = np.random.default_rng(seed)
    scores, right = dice.normal(size=(len(STEPS), rows, columns)), dice.integers(columns, size=rows)
    scores += 2 * np.arange(len(STEPS))[:, None, None] * (np.arange(columns) == right[:, None])
    scores[-1, 0] = 1.0
    return Filmed(label=label, does=f"does <{label}>.", scores=scores, right=right)


def a_film(**changed):
    matrices = (matrix("A", 6, 7, 0), matrix("B", 2, 5, 1), matrix("C", 9, 9, 2))
    given = {"name": "film-test", "title": "B <first>.", "note": "A note.", "steps": STEPS, "matrices": matrices}
    return MatrixFilm(**{**given, **changed})


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "film.html"
    path.write_text(PAGE.format(a_film().html), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    yield from opened_alone(browser, address)


@pytest.fixture
def live(opened):
    return opened.page.locator(".matrix-film-live")


def said(live):
    return live.get_by_role("status").inner_text()


def test_the_page_counts_and_paints_what_python_does(browser):
    film, script = a_film(), "data => data.steps.map((_, at) => matrixFilm.said(data, at))"
    unpacked = "data => data.matrices.map(one => matrixFilm.unpack(one, data.steps.length).map(step => [...step]))"
    for page in page_with(browser, *(STATIC / script for script in SCRIPTS)):
        data = json.loads(json.dumps(film.payload()))
        assert page.evaluate(script, data) == [film.said(at) for at in range(len(STEPS))]
        for one, found in zip(film.matrices, page.evaluate(unpacked, data), strict=True):
            assert np.array_equal(np.array(found).reshape(one.scores.shape), one.shades)


def test_what_is_recalled_is_counted_row_by_row():
    for one in a_film().matrices:
        for at, scores in enumerate(one.scores):
            for row, own in enumerate(one.right):
                rivals = np.delete(scores[row], own)
                assert one.recalled[at, row] == (scores[row, own] > rivals.max())
        assert not one.recalled[-1, 0] and 0 < one.recalled.mean() < 1
        assert np.abs(one.shades).max() == SHADES and (np.sign(one.shades) * np.sign(one.scores) >= 0).all()


def test_a_reader_scrubs_by_keyboard_and_an_address_keeps_the_place(opened, live):
    film = a_film()
    assert said(live) == film.said(2)
    before = live.locator(".matrix-film-heat").first.inner_html()
    slider = live.get_by_role("slider")
    slider.focus()
    opened.page.keyboard.press("Home")
    assert said(live) == film.said(0) and slider.get_attribute("aria-valuetext") == "step 0"
    assert live.locator(".matrix-film-heat").first.inner_html() != before
    opened.page.keyboard.press("ArrowRight")
    assert said(live) == film.said(1) and opened.page.url.endswith("#film-test?step=10")
    opened.page.reload()
    assert said(live) == film.said(1)
    opened.page.evaluate("location.hash = '#film-test?step=11'")
    live.get_by_role("alert").filter(has_text="The address has step = “11”; it can be 0, 10, 40.").wait_for()
    assert said(live) == film.said(1)


def test_it_plays_to_the_end(opened, live):
    live.get_by_role("button", name="Play").click()
    assert live.get_by_role("button", name="Pause").is_visible()
    live.get_by_role("button", name="Play").wait_for(timeout=20_000)
    assert said(live) == a_film().said(2)


def test_paper_and_readers_without_scripts_get_the_still(browser, opened, live, address):
    opened.page.emulate_media(media="print")
    assert opened.page.locator(".matrix-film-still").is_visible() and not live.is_visible()
    context = browser.new_context(viewport={"width": 400, "height": 900}, java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.get_by_role("img").count() == 6 and page.get_by_text(a_film().said(-1)).is_visible()
    assert page.locator("tbody tr").count() == len(STEPS)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    context.close()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (400, "dark")])
def test_every_width_and_theme_is_read(opened, live, width, theme):
    page = opened.page
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    ground, text = ("#14181e", "#fff") if theme == "dark" else ("#fff", "#14181e")
    page.add_style_tag(content=f"html, h1 {{ background: {ground}; color: {text} }}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = live.locator("p, figcaption").evaluate_all("all => all.map(one => getComputedStyle(one).color)")
    ink = [page.evaluate(LUMINANCE, colour) for colour in set(colours)]
    assert max(ink) < 0.5 if theme == "light" else min(ink) > 0.5
    assert seriously_wrong(page) == []


def test_damage_leaves_the_still_and_says_why(browser):
    page = browser.new_page()
    page.set_content(PAGE.format(re.sub(r'"shades":"....', '"shades":"', a_film().html)))
    assert page.locator(".matrix-film-still").is_visible() and page.locator(".matrix-film-live").count() == 0
    assert "The film cannot run here: A has " in page.locator(".matrix-film-without").inner_text()
    page.close()


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"name": "Film"}, "lower-case"), ({"steps": (0, 10)}, "other than 2"), ({"steps": (0, 40, 10)}, "rising steps"),
     ({"matrices": ()}, "0 matrices")],
)  # fmt: skip
def test_a_film_that_cannot_be_is_refused(changed, words):
    with pytest.raises(ValueError, match=words):
        a_film(**changed)
