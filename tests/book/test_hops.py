"""The stage of vector rows in a page: the library's numbers, and a reader who draws, drags, follows and cuts."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from conftest import page_with
from explorer_page import opening, press, problems, published, story, switch, tab_to, write_pages

from circuitcore.models import forward
from livingpaper.explorer.block import weights_script
from livingpaper.explorer.exhibit import ExhibitError
from livingpaper.explorer.hops import HopExhibit, HopRun
from livingpaper.explorer.hops_widget import HopStage, block_of
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.explorer.vector_form import said
from livingpaper.explorer.weights import packed
from livingpaper.explorer.widget import STATIC
from retrieval_circuits.stacked_heads import circuit, explorer

AHEAD, HOPPING = "chain_retrieval-1336770ad182", "chain_retrieval-b95f70171568"
"""Published networks: one looks ahead, in the other the query hops."""
NAME = "explorer-stacked-heads"
CLOSE = 2e-5
"""Gap to the library's float32, relative to the largest output (at least 1), and of attention."""
LOST = 0.1
"""Error of the second answer on the opening row with the look ahead taken away; its symbol is a small vector."""
N_TRIED = 4
"""Rows on which a test of a link is made again by the page."""
READ = """([packed, index, form, draws]) => {
    const rows = new vectorRows.Rows(form), model = circuitDecoder.unpack(packed, index);
    return draws.map(draw => {
        const words = rows.drawn(draw), inputs = rows.inputs(words, draw), { n_layers: length } = model.config;
        const result = circuitDecoder.forward(model, inputs);
        const layers = Array.from({ length }, (_, layer) => [...result.cache[`pattern.${layer}`]]);
        return {
            words, inputs: inputs.map(vector => [...vector]), logits: [...result.logits], patterns: layers,
            answers: rows.queries.map(query => rows.answers(words, draw, query, result.logits)),
        };
    });
}"""
DRAWN = """([form, draws]) => {
    const rows = new vectorRows.Rows(form);
    return draws.map(draw => {
        const words = rows.drawn(draw), inputs = rows.inputs(words, draw).map(vector => [...vector]);
        return { words, inputs, chains: rows.queries.map(query => rows.chain(words, query)) };
    });
}"""
ERRORS = """([packed, index, rows, cuts]) => {
    const model = circuitDecoder.unpack(packed, index);
    return rows.map((inputs, i) => [...circuitEdits.forward(model, inputs, { cuts: cuts[i] }).logits]);
}"""


@cache
def exhibit():
    """Both networks at the checkpoints that are shipped."""
    runs = [published(run_id) for run_id in (AHEAD, HOPPING)]
    shown = tuple(
        HopRun(
            shown=ShownRun(run=run, condition="four layers"),
            tests={step: circuit.link_tests(run, step) for step in run.steps},
        )
        for run in runs
    )
    task = runs[0].recipe.make_task()
    form, hops = explorer.form(task), circuit.hops(task.n_steps)
    bare = HopExhibit(name=NAME, task=task, form=form, hops=hops, runs=shown)
    return replace(bare, path=explorer._path(bare))


@pytest.fixture(scope="module")
def blank(browser):
    """An empty page with the forward pass and the rows in it."""
    yield from page_with(browser, *(STATIC / script for script in ("decoder.js", "edits.js", "vector_rows.js")))


@pytest.mark.parametrize(("run_id", "step"), [(AHEAD, 800), (AHEAD, 3000), (HOPPING, 3000)])
def test_the_page_computes_what_the_library_computes(blank, run_id, step):
    run, shown = published(run_id), exhibit()
    weights = run.weights(step)
    form = shown.payload()["form"]
    found = blank.evaluate(READ, [packed(run.recipe.model, {step: weights}), 0, form, [0, 1, 2, 77]])
    inputs = torch.tensor([one["inputs"] for one in found])
    assert torch.equal(inputs[0], shown.task.split("test").tokens[0])
    assert torch.equal(inputs[1:, :, form["width"] :], inputs[:1, :, form["width"] :].expand(3, -1, -1))
    sites = [f"pattern.{layer}" for layer in range(run.recipe.model.n_layers)]
    output = forward(run.recipe.model, weights, inputs, record=sites)
    outputs = torch.tensor([one["logits"] for one in found]).reshape(output.logits.shape)
    assert (outputs - output.logits).abs().max() <= CLOSE * max(1.0, output.logits.abs().max().item())
    for layer, site in enumerate(sites):
        patterns = torch.tensor([one["patterns"][layer] for one in found]).reshape(output.cache[site].shape)
        assert (patterns - output.cache[site]).abs().max() <= CLOSE
    row, batch = shown.row, shown.task.split("test")
    for chain, query in enumerate(batch.roles["queries"][0].tolist()):
        told = found[0]["answers"][query - (len(row.words) - len(form["chains"]))]
        for one, other in zip(told, said(shown.form, row, chain, output.logits[0, query]), strict=True):
            assert (one["wanted"], one["nearest"]) == (other.wanted, other.nearest)
            assert one["error"] == pytest.approx(other.error, abs=1e-4)


def test_drawn_rows_are_rows_of_the_task(blank):
    form = exhibit().payload()["form"]
    found = blank.evaluate(DRAWN, [form, list(range(1, 60))])
    assert len({tuple(one["words"]) for one in found}) == len(found)
    for one in found:
        pairs = [tuple(one["words"][at : at + 2]) for at in range(0, 16, 2)]
        assert sorted(pairs[:4]) == [(f"{c}1", f"{c}2") for c in "abcd"]
        assert sorted(pairs[4:]) == [(f"{c}0", f"{c}1") for c in "abcd"]
        assert sorted(one["words"][16:]) == ["a0", "b0", "c0", "d0"]
        follows = dict(pairs)
        for query, chain in enumerate(one["chains"]):
            x = one["words"][16 + query]
            assert chain["symbols"] == [x, follows[x], follows[follows[x]]] and chain["broken"] == ""
            assert [one["words"][at] for at in chain["at"].values()] == [
                x,
                x,
                follows[x],
                *[follows[x], follows[follows[x]]],
            ]
    numbers = torch.tensor([one["inputs"] for one in found])[:, :, : form["width"]]
    assert abs(numbers.mean()) < 0.1 and numbers.var() == pytest.approx(1, abs=0.1)


def test_tests_of_links_are_what_the_page_finds_when_it_cuts_them(blank, monkeypatch):
    """An implementation of its own: four edges cut in each row, error by hand."""
    monkeypatch.setattr(circuit, "N_ROWS", N_TRIED)
    run, task = published(AHEAD), exhibit().task
    batch, weights = task.split("test").rows(slice(0, N_TRIED)), {3000: run.weights(3000)}
    circuit.link_tests.cache_clear()
    tests = circuit.link_tests(run, 3000)
    circuit.link_tests.cache_clear()

    def error(cuts):
        asked = [packed(run.recipe.model, weights), 0, batch.tokens.tolist(), cuts]
        outputs = torch.tensor(blank.evaluate(ERRORS, asked)).reshape(batch.targets.shape)
        return (outputs - batch.targets)[batch.loss_mask].square().mean().item()

    whole = error([[]] * N_TRIED)
    assert len(tests) == 6 and sum(one.supported for one in tests) == 5
    for one in tests[::2]:
        places = [(int(head[1]), int(head[3])) for head in one.heads]
        query, key = (batch.roles[role].tolist() for role in one.link)
        cuts = [
            [[*place, q, k] for place in places for q, k in zip(query[row], key[row], strict=True)]
            for row in range(N_TRIED)
        ]
        assert error(cuts) - whole == pytest.approx(one.rise, abs=1e-4)


def write_page(folder):
    shown = exhibit()
    (folder / "_static/explorer").mkdir(parents=True)
    for one in shown.runs:
        (folder / f"_static/explorer/{one.shown.run.run_id}.js").write_text(weights_script(one.shown), encoding="utf-8")
    html = block_of(shown).page_html
    return write_pages(folder, {"hops": ("light", html), "hops-dark": ("dark", html)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("hops"))


@pytest.fixture(scope="module")
def opened(browser, folder):
    with opening(browser, (folder / "book/hops.html").as_uri(), timeout=60_000) as opened:
        opened.page.locator(f"#{NAME}.is-live").wait_for()
        yield opened


@pytest.fixture
def stage(opened):
    """The live stage as it opens."""
    box = opened.page.locator(f"#{NAME}.is-live")
    box.get_by_role("button", name="Start again").click()
    return box


def said_of(stage):
    """Look-up -> (wanted, nearest, error)."""
    rows = stage.locator(".explorer-beside table tbody tr")
    cells = [row.locator("th, td").all_inner_texts() for row in rows.all()]
    return {int(k): (wanted, nearest.removesuffix(" right"), float(error)) for k, wanted, nearest, _, error in cells}


def links(stage):
    """Names of links, whether solid."""
    return {
        node.get_attribute("aria-label"): "is-supported" in node.get_attribute("class")
        for node in stage.locator(".explorer-stage .name").all()
    }


def words(stage):
    return stage.get_by_label("Row", exact=True).input_value().split()


def test_it_opens_on_the_tests_of_its_network(stage):
    assert said_of(stage)[2][:2] == ("a2", "a2") and said_of(stage)[2][2] < 0.05
    assert links(stage) == {
        "1, joins: L0H1": True, "2, fetches: L1H2": True, "2, fetches: L2H2+H3": True, "4, doubles: L1H2": True,
        "4, doubles: L2H2+H3": False,
    }  # fmt: skip
    assert "looks ahead" in stage.locator(".explorer-story").inner_text()


def test_the_scrubber_goes_to_the_step_at_which_one_look_up_is_there(stage):
    stage.get_by_role("slider").press("Home")
    stage.get_by_text("step 800 of 3,000").wait_for()
    assert links(stage) == {"1, joins: L0H1": True, "2, fetches: L1H2": True}
    stage.get_by_role("combobox", name="Seed").select_option("1")
    stage.get_by_text("step 3,000 of 3,000").wait_for()
    assert "3, hops: L3H0+H2" in links(stage)


def test_the_sentence_is_of_what_is_shown_as_soon_as_it_is_not_the_stops(stage):
    first = story(stage)
    assert "looks ahead" in first
    lit = stage.locator(".explorer-stage .link.is-lit")
    assert lit.count() == 0  # its stop names none
    stage.get_by_role("slider").press("Home")
    told = " and ".join(f"{one.nearest} (error {one.error:.2f})" for one in exhibit().says(AHEAD, 800))
    tested = "1 joins (L0H1: a1 reads a0), 2 fetches (L1H2: a0 reads a1); not: 1 joins (L0H1: a2 reads a1)."
    assert story(stage) == f"Asked by a0 for a1 and a2, it says {told}. Supported at this step: {tested}"
    assert lit.count() == 2
    assert stage.locator(".explorer-room").first.get_attribute("aria-label") == story(stage)
    switch(stage, "L1H2", "on").click()
    assert story(stage).startswith("Asked by a0 for a1 and a2, with L1H2 off, it says ")
    press(stage, "Next")
    assert story(stage) != first and "with L1H2 off" not in story(stage)
    press(stage, "Back")
    assert story(stage) == first
    assert stage.locator(".explorer-path, .explorer-shown").locator("[aria-live]").count() == 1


def test_another_row_is_drawn_a_query_followed_and_a_symbol_dragged(opened, stage):
    first = words(stage)
    stage.get_by_role("button", name="Draw another").click()
    assert words(stage) != first and sorted(words(stage)) == sorted(first)
    stage.get_by_role("button", name="Follow c0").click()
    assert said_of(stage)[1][:2] == ("c1", "c1") and said_of(stage)[2][:2] == ("c2", "c2")
    row = words(stage)
    value, other = row.index("c0") + 1, next(at for at in range(9, 16, 2) if row[at] != "c1")
    wanted = row[other].replace("1", "2")
    token = stage.locator(f"[data-position='{other}']"), stage.locator(f"[data-position='{value}']")
    token[0].drag_to(token[1])
    assert words(stage)[value] == row[other] and said_of(stage)[2][:2] == (wanted, wanted)
    stage.get_by_role("button", name="Undo").click()
    assert words(stage) == row and problems(stage) == []


def test_without_the_head_that_looks_ahead_the_second_answer_is_lost(stage):
    switch(stage, "L1H2", "on").click()
    assert said_of(stage)[2][2] > LOST
    switch(stage, "L1H2", "off").click()
    assert said_of(stage)[2][2] < 0.05


def test_a_keyboard_cuts_an_arrow_and_puts_it_back(opened, stage):
    stage.get_by_label("Step of training, Network").focus()
    tab_to(opened, "reads|joins|Follow", "Shift+Tab")
    opened.page.keyboard.press("Home")
    for _ in range(200):
        if opened.page.evaluate("document.activeElement.ariaLabel").startswith("4, doubles: L1H2"):
            break
        opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("Enter")
    assert said_of(stage)[2][2] > LOST
    assert "cut" in opened.page.evaluate("document.activeElement.ariaLabel")
    opened.page.keyboard.press("Enter")
    assert said_of(stage)[2][2] < 0.05


@pytest.mark.parametrize("kind", ["look", "4"], ids=["attention alone", "a link"])
def test_an_arrow_that_is_cut_stays_to_be_put_back(opened, stage, kind):
    stage_of = stage.locator(".explorer-stage")
    key = stage_of.locator(f'[data-key^="{kind} "]').first.get_attribute("data-key")
    arrow = stage_of.locator(f'[data-key="{key}"]')
    n_before = stage_of.locator(".arrow, .look").count()
    arrow.first.focus()
    opened.page.keyboard.press("Enter")
    cut = stage_of.locator(f'.is-cut[data-key="{key}"]')
    cut.first.wait_for()
    dashes, line = cut.first.locator(".line").evaluate(
        "line => [getComputedStyle(line).strokeDasharray, line.getTotalLength()]"
    )
    assert dashes != "none" and line > 10
    assert cut.first.get_attribute("aria-pressed") == "true" and cut.count() == 1
    cut.first.dispatch_event("click")
    cut.first.wait_for(state="detached")
    assert stage_of.locator(".arrow, .look").count() == n_before and arrow.count()


def test_the_readout_is_of_what_is_shown_when_an_edit_is_undone(opened, stage):
    arrow = stage.locator('.explorer-stage [aria-label^="4, doubles: L1H2"]').first
    arrow.focus()
    opened.page.keyboard.press("Enter")
    assert stage.locator(".explorer-readout").inner_text().endswith("Press to put it back.")
    press(stage, "Undo")
    assert stage.locator(".explorer-readout").inner_text().endswith("Press to cut it.")


def test_networks_beside_each_other_read_the_same_row_and_one_is_put_on_the_stage(opened, stage):
    """What stands under a small circuit is counted on the stage, on this row and on another."""
    others = stage.get_by_label("The same row in other networks")
    others.scroll_into_view_if_needed()
    small = {seed: others.get_by_role("button", name=f"seed {seed}") for seed in (1, 4)}
    drawn = {seed: set() for seed in small}
    for asked in (None, "Draw another", "Follow c0"):
        if asked:
            stage.get_by_role("button", name=asked).click()
        for seed, box in small.items():
            box.click()
            others.locator(f'[aria-current="true"]:has-text("seed {seed}")').wait_for()
            assert stage.get_by_role("combobox", name="Seed").input_value() == str(seed)
            told = stage.locator(".explorer-stage .link").evaluate_all("all => all.map(one => one.classList.value)")
            count = f"{sum('is-supported' in names for names in told)} of {len(told)}"
            box.get_by_text(count, exact=True).wait_for()
            assert box.locator(".link").count() == len(told)
            opened.page.wait_for_function(
                "([box, before]) => !before.includes(box.innerHTML)",
                arg=[box.locator("svg").element_handle(), sorted(drawn[seed])],
            )
            drawn[seed].add(box.locator("svg").inner_html())
    assert {seed: len(pictures) for seed, pictures in drawn.items()} == {1: 3, 4: 3}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a0 a1", "A row has 20 symbols; here are 2."),
        ("x9 " * 20, "No symbol x9; there are a0 to d2."),
    ],
)
def test_a_row_that_cannot_be_is_told_and_nothing_changes(stage, row, message):
    before = stage.locator(".explorer-stage").inner_html()
    field = stage.get_by_label("Row", exact=True)
    field.fill(row)
    field.press("Enter")
    assert problems(stage) == [message]
    assert stage.locator(".explorer-stage").inner_html() == before


def test_a_pair_that_is_not_there_breaks_the_chain_in_words(stage):
    field, row = stage.get_by_label("Row", exact=True), words(stage)
    row[row.index("a0")] = "b0"
    field.fill(" ".join(row))
    field.press("Enter")
    assert "No pair begins with a0." in stage.locator(".explorer-readout").inner_text()
    others = stage.get_by_label("The same row in other networks")
    others.scroll_into_view_if_needed()
    others.get_by_text("no chain").nth(1).wait_for()
    assert others.get_by_text("not tested").count() == 0


def test_a_phone_scrolls_one_way_and_the_dark_page_is_silent(browser, folder):
    with opening(
        browser, (folder / "book/hops-dark.html").as_uri(), timeout=60_000, viewport={"width": 400, "height": 900}
    ) as opened:
        opened.page.locator(f"#{NAME}.is-live").wait_for()
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400
        assert opened.page.locator(".explorer-stage .circuit-tall").count() == 1


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (400, 860)])
def test_path_stage_and_slider_are_one_screen(browser, folder, width, height):
    url, viewport = (folder / "book/hops.html").as_uri(), {"width": width, "height": height}
    with opening(browser, url, timeout=60_000, viewport=viewport) as opened:
        box = opened.page.locator(f"#{NAME}.is-live")
        box.wait_for()
        place = box.locator(".explorer-place").bounding_box()
        assert place["y"] + place["height"] - box.bounding_box()["y"] <= height


def test_a_misspelt_part_of_the_state_is_refused():
    with pytest.raises(ExhibitError, match="unknown field of the state 'stp'; did you mean 'step'"):
        HopStage(exhibit(), stp=800)
    assert HopStage(exhibit(), step=800).step == 800
