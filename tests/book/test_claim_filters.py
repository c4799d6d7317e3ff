"""The list of all claims in a browser: its filters need no script, and no picture reaches beyond its line."""

import pytest
from judged import control, judged

from livingpaper.figures.chart_html import STATIC
from livingpaper.figures.claim_ledger import ledger_html
from livingpaper.figures.verdict_text import claim_html

HIGH, MIDDLE, LOW = [0.9, 0.91, 0.92, 0.93, 0.94], [0.1, 0.3, 0.5, 0.7, 0.9], [0.09, 0.1, 0.11, 0.12, 0.1]
CHAPTERS = {
    "kv": [
        judged(LOW, "K1.published", source="source", source_verdict="Seen once"),
        judged(HIGH, "K1"),
        judged(MIDDLE, "K2"),
    ],
    "story": [judged(LOW, "S1"), judged(None, "S2"), judged(HIGH, "S3", void="nothing could show it.")],
}


@pytest.fixture(params=[1280, 360])
def page(browser, request):
    """The list with its style sheet, without a script, on a desk and on a phone."""
    context = browser.new_context(viewport={"width": request.param, "height": 900}, java_script_enabled=False)
    page = context.new_page()
    css = (STATIC / "figures.css").read_text()
    page.set_content(f"<style>{css}</style><main>{ledger_html(CHAPTERS, dict.fromkeys(CHAPTERS, 'A chapter'))}</main>")
    yield page
    context.close()


def seen(page):
    """The claims whose rows are to be seen."""
    rows = page.locator(".ledger-row")
    return [row.locator("a").inner_text() for row in rows.all() if row.is_visible()]


def untick(page, *kinds):
    for kind in kinds:
        page.locator(f'[data-shows="{kind}"]').uncheck()


def test_everything_is_seen_at_first(page):
    assert seen(page) == ["K1", "K2", "S1", "S2", "S3"]


def test_a_row_shows_while_either_of_its_verdicts_is_ticked(page):
    untick(page, "status-supported")
    assert seen(page) == ["K1", "K2", "S1", "S2", "S3"], "K1 is refuted under the source's definition"
    untick(page, "status-refuted")
    assert seen(page) == ["K2", "S2", "S3"]
    page.locator('[data-shows="status-supported"]').check()
    assert seen(page) == ["K1", "K2", "S2", "S3"]


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        ("status-undecided", ["K1", "S1", "S2", "S3"]),
        ("status-not-checked", ["K1", "K2", "S1", "S3"]),
        ("status-void", ["K1", "K2", "S1", "S2"]),
        ("source-source", ["K2", "S1", "S2", "S3"]),
        ("source-ours", ["K1"]),
    ],
)
def test_each_filter_hides_its_rows_and_gives_them_back(page, kind, left):
    untick(page, kind)
    assert seen(page) == left
    page.locator(f'[data-shows="{kind}"]').check()
    assert seen(page) == ["K1", "K2", "S1", "S2", "S3"]


def test_both_kinds_of_filters_have_to_let_a_row_through(page):
    untick(page, "status-supported", "source-source")
    assert seen(page) == ["K2", "S1", "S2", "S3"]
    untick(page, "source-ours")
    assert seen(page) == []


def test_nothing_is_wider_than_the_page(page):
    width = page.viewport_size["width"]
    for part in page.locator(".ledger-row, .ledger-filter, .interval-mark, .ledger-totals").all():
        box = part.bounding_box()
        assert box is None or (box["x"] >= 0 and box["x"] + box["width"] <= width + 0.5)


def test_a_card_folds_what_is_not_its_one_line(browser):
    page = browser.new_page()
    css = (STATIC / "figures.css").read_text()
    page.set_content(f"<style>{css}</style>{claim_html([judged(HIGH, controls=(control(LOW),))])}")
    asked = page.get_by_text("Fixed beforehand:")
    assert page.locator(".status-badge").is_visible() and page.locator("svg").is_visible() and not asked.is_visible()
    page.locator("summary").click()
    assert asked.is_visible() and page.get_by_text("Control, needed for a yes").is_visible()
    page.close()
