"""The stage of vector rows draws what its still draws: the same circuit at the same places, before any weights come."""

import re

import pytest
from conftest import page_with
from explorer_page import opening
from laid_out import FORMS, LAID_OUT, SHARES, assert_same_places, for_page
from test_hops import AHEAD, HOPPING, NAME, exhibit, write_page

from livingpaper.explorer.hops_still import still_html
from livingpaper.explorer.weights import packed
from livingpaper.explorer.widget import STATIC

SCRIPTS = (
    *("parts.js", "svg.js", "decoder.js", "lookup.js", "edit_text.js", "edits.js", "moves.js", "stage_layout.js"),
    *("stage_names.js", "vector_rows.js", "hops_circuit.js"),
)
ATTENTION = 2e-5
"""Between the page, which adds up in float64, and Python in float32."""
CIRCUITS = """([data, packed, index, run, step]) => {
    const rows = new vectorRows.Rows(data.form), model = circuitDecoder.unpack(packed, index), words = rows.drawn(0);
    const result = circuitDecoder.forward(model, rows.inputs(words, 0));
    const { tests } = data.runs.find(one => one.id === run);
    return rows.queries.map(follow => hopsCircuit.circuitOn({
        rows, moves: data.moves, words, follow, tests: tests[step] ?? [], result, config: model.config,
        answers: rows.answers(words, 0, follow, result.logits),
    }));
}"""


@pytest.fixture(scope="module")
def blank(browser):
    """An empty page with all that makes a circuit of a row."""
    yield from page_with(browser, *(STATIC / script for script in SCRIPTS))


def of_page(blank, run_id, step):
    """The page's circuits, one for each query, and Python's of the same chains."""
    shown = exhibit()
    run = shown.find(run_id).shown.run
    weights = packed(run.recipe.model, {step: run.weights(step)})
    found = blank.evaluate(CIRCUITS, [shown.payload(), weights, 0, run_id, step])
    chains = [shown.form.chains.index(shown.row.words[circuit["follow"]][0]) for circuit in found]
    return list(zip(found, [shown.circuit(run_id, step, chain) for chain in chains], strict=True))


CASES = pytest.mark.parametrize(("run_id", "step"), [(AHEAD, 800), (AHEAD, 3000), (HOPPING, 3000)])


@CASES
def test_the_page_finds_the_links_and_looks_that_python_draws(blank, run_id, step):
    for page, circuit in of_page(blank, run_id, step):
        own = for_page(circuit)
        assert page["tokens"] == own["tokens"] and page["layers"] == own["layers"]
        assert page["follow"] == circuit.read_at and page["broken"] == ""
        for drawn, link in zip(page["links"], own["links"], strict=True):
            arrows = [drawn.pop("arrows"), link.pop("arrows")]
            assert {name: drawn[name] for name in ("number", "head", "isSupported")} | {
                "move": {"name": drawn["move"]["name"]}
            } == link
            assert_same_arrows(*arrows)
        assert_same_arrows(*(sorted(looks, key=place_of) for looks in (page["looks"], own["looks"])))
        said = page["answer"]
        assert (said["word"], said["tone"], said["wanted"]) == tuple(
            own["answer"][k] for k in ("word", "tone", "wanted")
        )
        assert said["probability"] == pytest.approx(circuit.answer.error, abs=1e-4)
    assert len({circuit.read_at for _, circuit in of_page(blank, run_id, step)}) == 4


def place_of(arrow):
    return arrow["layer"], arrow["target"], arrow["source"]


def assert_same_arrows(page, own):
    assert [place_of(arrow) for arrow in page] == [place_of(arrow) for arrow in own]
    assert [arrow["brings"] for arrow in page] == [arrow["brings"] for arrow in own]
    assert [arrow["weight"] for arrow in page] == pytest.approx([arrow["weight"] for arrow in own], abs=ATTENTION)


@CASES
def test_everything_stands_where_python_puts_it(blank, run_id, step):
    every = [circuit for _, circuit in of_page(blank, run_id, step)]
    asked = [{**for_page(circuit), "follow": circuit.read_at} for circuit in every]
    script = LAID_OUT.replace("circuitLayout.Layout", "hopsCircuit.RowLayout")
    for circuit, pages in zip(every, blank.evaluate(script, [asked, FORMS, SHARES]), strict=True):
        for page, form in zip(pages, FORMS, strict=True):
            assert_same_places(page, circuit, form)


def test_the_still_draws_the_opening_and_the_networks_beside_it():
    shown = exhibit()
    html = still_html(shown)
    assert re.findall(r'<svg class="circuit-(\w+)"', html) == ["wide", "tall", "small", "small"]
    label = re.search(r'<svg class="circuit-wide" role="img" aria-label="([^"]*)"', html)[1]
    state = shown.first_frame
    tests = shown.find(state["run"]).tests[state["step"]]
    assert f"{sum(one.supported for one in tests)} of {len(tests)} links are supported" in label
    assert all(f"the squared error rises by {one.rise:z.2f}" in label for one in tests)
    assert "probability" not in label and "with error 0.0" in label


def test_networks_beside_each_other_are_drawn_before_their_weights_come(browser, tmp_path):
    folder = write_page(tmp_path)
    (folder / f"_static/explorer/{HOPPING}.js").unlink()
    with opening(browser, (folder / "book/hops.html").as_uri(), is_clean=False, timeout=60_000) as opened:
        stage = opened.page.locator(f"#{NAME}.is-live")
        others = stage.get_by_label("The same row in other networks")
        others.scroll_into_view_if_needed()
        for one in exhibit().beside(AHEAD, 3000):
            box = others.get_by_role("button", name=one.name)
            box.get_by_text(one.score, exact=True).wait_for()
            assert box.locator(".link").count() == len(one.links)
        stage.get_by_role("button", name="Draw another").click()
        others.get_by_text("not here").wait_for()
