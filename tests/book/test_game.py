"""The page's decoder beside Python's, and a form in which the reader is asked first, by mouse or keyboard alone."""

import itertools
import json
import re
import shutil
import warnings
from types import SimpleNamespace

import nbformat
import pytest
import torch
from axe_checks import seriously_wrong
from conftest import ROOT, page_with
from explorer_page import PAGE, ask, opening, problems
from explorer_page import press as press_once
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from test_pages import LUMINANCE

from circuitcore.models import Ablate, CutEdge, Head, Mlp, ModelConfig, compile_edits, forward, init_weights
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.training.store.run import Run
from livingpaper.book.single_page import build_page
from livingpaper.explorer.block import weights_script
from livingpaper.explorer.exhibit import Example, Exhibit
from livingpaper.explorer.probe import probe
from livingpaper.explorer.reveal import Reveal
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.explorer.weights import packed
from livingpaper.explorer.widget import FORM, STATIC, block_of, panels, panels_of

TASK = ModelConfig(
    d_vocab=6, n_ctx=9, n_layers=1, n_heads=2, d_model=32, d_mlp=64, norm="layer", norm_position="post",
    positions="learned", mlp="relu", tied=False, bias="all", norm_eps=1e-5,
)  # fmt: skip
DEEP = ModelConfig(d_vocab=6, n_ctx=9, n_layers=2, n_heads=2, d_model=16, mlp="none")
PERMUTATION, ORDER = (4, 1, 3, 5, 2), (1, 3, 5, 2, 1)

SIZES = {"d_vocab": 11, "n_ctx": 12, "n_layers": 2, "n_heads": 2, "d_model": 16, "d_mlp": 24}
VARIANTS = (
    {},
    {"norm": "layer", "positions": "learned", "mlp": "relu", "tied": False, "bias": "all", "norm_position": "post"},
    {"norm": "layer", "mlp": "gelu", "tied": False, "bias": "all"},
    {"norm": "none", "mlp": "none", "positions": "none"},
    {"norm": "none", "mlp": "relu", "positions": "learned", "bias": "all"},
    {"norm": "rms", "norm_position": "post", "mlp": "gelu"},
    {"norm": "rms", "norm_position": "post", "mlp": "swiglu", "positions": "learned", "tied": False, "bias": "all"},
    {"norm": "layer", "norm_position": "post", "mlp": "none", "tied": False},
    {"norm": "layer", "mlp": "swiglu", "positions": "none", "bias": "all"},
    {"norm": "rms", "mlp": "relu", "n_layers": 1, "n_heads": 4, "norm_eps": 1e-3},
    {"norm": "none", "norm_position": "post", "mlp": "gelu", "tied": False, "d_head": 6},
    {"norm": "rms", "mlp": "none", "n_layers": 3, "n_heads": 1, "positions": "learned", "tied": False},
    {"norm": "layer", "mlp": "gelu", "d_in": 3, "tied": False, "bias": "all"},
    {"norm": "layer", "mlp": "gelu", "positions": "learned", "bias": "inside", "norm_eps": 1e-5},
    {"norm": "rms", "norm_position": "post", "mlp": "swiglu", "tied": False, "bias": "inside"},
)
WORDS = {
    "norm": ("rms", "layer", "none"), "norm_position": ("pre", "post"), "positions": ("rope", "learned", "none"),
    "mlp": ("swiglu", "gelu", "relu", "none"), "tied": (True, False), "bias": ("none", "inside", "all"),
}  # fmt: skip
FORWARD = """([packed, inputs, edits]) => {
    const { heads = [], mlps = [], cuts = [] } = edits;
    const off = (site, layer, head = null) => ({ site, layer, head, positions: null, value: 0 });
    const puts = [...heads.map(([layer, head]) => off('z', layer, head)), ...mlps.map(layer => off('mlp_out', layer))];
    const model = circuitDecoder.unpack(packed, 0);
    const { logits, cache } = circuitEdits.forward(model, inputs, { cuts, puts });
    const layers = Array.from({ length: model.config.n_layers }, (_, layer) => layer);
    return { logits: [...logits], patterns: layers.map(layer => [...cache[`pattern.${layer}`]]) };
}"""


@pytest.fixture(scope="module")
def blank(browser):
    """An empty page with the forward pass and the rules in it."""
    yield from page_with(browser, *(STATIC / script for script in ("parts.js", "decoder.js", "edits.js", FORM[0])))


def a_network(variant):
    """A decoder of that kind and one prompt ``[1 pos]`` for it; biases and shifts are not left at zero."""
    config = ModelConfig(**{**SIZES, **variant})
    generator = torch.Generator().manual_seed(len(str(variant)))
    weights = init_weights(config, 3)
    lively = {name: w + 0.1 * torch.randn(w.shape, generator=generator) for name, w in weights.items()}
    if config.d_in:
        return config, lively, torch.randn((1, 9, config.d_in), generator=generator)
    return config, lively, torch.randint(config.d_vocab, (1, 9), generator=generator)


def edits_of(config):
    """The same edits for Python and for the page, several at once among them."""
    last = config.n_layers - 1, config.n_heads - 1
    cuts = [(0, 0, 8, 2), (0, 0, 8, 8), (*last, 5, 1), (*last, 8, 3)]
    several = {"cuts": cuts, "heads": [(0, 0)], "mlps": [] if config.mlp == "none" else [config.n_layers - 1]}
    alone = [{kind: found} for kind, found in several.items() if found]
    return [{}, *alone, several]


def in_python(config, weights, inputs, edits):
    """Logits ``[pos d_vocab]`` and patterns ``[layer][head query key]`` under the page's edits."""
    roles = {f"p{place}": torch.tensor([place]) for place in range(9)}
    made = [CutEdge(Head(layer, head), f"p{q}", f"p{k}") for layer, head, q, k in edits.get("cuts", [])]
    made += [Ablate(Head(*head), "zero") for head in edits.get("heads", [])]
    made += [Ablate(Mlp(layer), "zero") for layer in edits.get("mlps", [])]
    layers = range(config.n_layers)
    sites = [f"{site}.{layer}" for layer in layers for site in ("scores", "z", "mlp_out")]
    sites = [site for site in sites if config.mlp != "none" or not site.startswith("mlp")]
    like = forward(config, weights, inputs, record=sites).cache
    plan = compile_edits([made], roles, {}, like)
    output = forward(config, weights, inputs, plan, record=[f"pattern.{layer}" for layer in layers])
    patterns = [output.cache[f"pattern.{layer}"] for layer in layers]
    return output.logits.flatten(0, -3)[0], [pattern.flatten(0, -4)[0] for pattern in patterns]


def largest_gap(found, expected):
    """The largest difference of logits or patterns between the page and Python."""
    logits, patterns = expected
    gaps = [(torch.tensor(found["logits"]).reshape(logits.shape) - logits).abs().max()]
    for heads, pattern in zip(found["patterns"], patterns, strict=True):
        gaps.append((torch.tensor(heads).reshape(pattern.shape) - pattern).abs().max())
    return max(gap.item() for gap in gaps)


def test_every_word_of_the_config_is_among_the_variants():
    configs = [ModelConfig(**{**SIZES, **variant}) for variant in VARIANTS]
    assert len(configs) >= 12
    for field, words in WORDS.items():
        assert {getattr(config, field) for config in configs} == set(words)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_page_computes_what_python_computes(blank, variant):
    config, weights, inputs = a_network(variant)
    rows = inputs[0].tolist()
    for edits in edits_of(config):
        page = blank.evaluate(FORWARD, [packed(config, {0: weights}), rows, edits])
        assert largest_gap(page, in_python(config, weights, inputs, edits)) < 1e-5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"inputs": [1, 11]}, "no token 11"),
        ({"inputs": [1.5]}, "no token 1.5"),
        ({"inputs": []}, "no input"),
        ({"inputs": [1] * 13}, "13 positions, but the model was built for at most 12"),
        ({"edits": {"heads": [[0, 2]]}}, "no such part to edit: L0H2.z"),
        ({"edits": {"mlps": [2]}}, "no such part to edit: L2.mlp_out"),
        ({"edits": {"cuts": [[0, 0, 1, 2]]}}, "no such part to edit: L0H0:1->2"),
        ({"edits": {"cuts": [[0, 0, 1, 0], [0, 0, 1, 1]]}}, "these cuts leave a query with no key"),
    ],
)
def test_the_forward_pass_refuses_what_python_refuses(blank, wrong, message):
    config, weights, _ = a_network({})
    asked = {"inputs": [1, 2, 3], "edits": {}, **wrong}
    with pytest.raises(Exception, match=re.escape(message)):
        blank.evaluate(FORWARD, [packed(config, {0: weights}), asked["inputs"], asked["edits"]])


@pytest.mark.parametrize("data", ["AAAA", "AAAAAA==", "AAA", "!"])
def test_damaged_weights_are_an_error(blank, data):
    model = packed(TASK, {0: init_weights(TASK, 0)})
    model["checkpoints"][0]["data"] = data
    with pytest.raises(Exception, match="Float32Array|damaged weights|atob"):
        blank.evaluate(FORWARD, [model, [1, 2], {}])


def test_the_posterior_and_the_answer_are_pythons(blank):
    weights = init_weights(TASK, 5)
    script = """([packed, cases]) => cases.map(([permutation, order]) => {
        const { Game, among } = circuitRevealRules, game = new Game({ permutation, order });
        const { logits } = circuitDecoder.forward(circuitDecoder.unpack(packed, 0), game.tokens);
        return [game.posterior, among(logits.slice(-6), [1, 2, 3, 4, 5]), game.tokens];
    })"""
    cases = [(PERMUTATION, order) for n in range(1, 6) for order in itertools.permutations(range(1, 6), n)]
    cases += [(PERMUTATION, (*order[:4], again)) for _, order in cases[-120:] for again in order[:4]]
    found = blank.evaluate(script, [packed(TASK, {0: weights}), cases])
    for n_pos in range(1, 10, 2):
        rows = [(order, *row) for (_, order), row in zip(cases, found, strict=True) if len(row[2]) == n_pos]
        read = torch.tensor([[t for x in order for t in (x, PERMUTATION[x - 1])][:-1] for order, *_ in rows])
        logits = forward(TASK, weights, read).logits[:, -1, 1:]
        orders, exact, network, tokens = zip(*rows, strict=True)
        assert list(tokens) == read.tolist()
        forms = [Reveal(permutation=PERMUTATION, order=order, repeats=0.0) for order in orders]
        expected = torch.tensor([form.posterior for form in forms], dtype=torch.float64)
        assert torch.allclose(torch.tensor(exact, dtype=torch.float64), expected)
        assert [form.prompt for form in forms] == [" ".join(map(str, row)) for row in tokens]
        assert torch.allclose(torch.tensor(network), logits.softmax(-1), atol=1e-5)


def a_run(run_id, config, epochs, seed=0):
    """A run that was never trained, at the ends of some epochs of ten steps; weights are drawn by epoch and seed."""
    recipe = SimpleNamespace(
        model=config,
        schedule=SimpleNamespace(epoch_ends=tuple(range(0, 10 * max(epochs) + 1, 10)), stages=()),
        init_seed=0,
        make_task=PermutationRecall,
    )
    steps = [10 * epoch for epoch in epochs]
    made = {"run_id": run_id, "steps": steps, "final_step": steps[-1], "recipe": recipe}
    weights = {"weights": lambda self, step: init_weights(config, step // 10 + seed)}
    return object.__new__(type("MadeRun", (Run,), {**made, **weights}))


def an_exhibit(runs, permutation=PERMUTATION, order=ORDER):
    """Label -> run, as a game."""
    form = Reveal(permutation=permutation, order=order, repeats=0.3)
    return Exhibit(
        name="game-recall", task=PermutationRecall(), form=form,
        shown=tuple(ShownRun(run=run, condition=label) for label, run in runs.items()),
        examples=(Example(label="the opening", prompt=form.prompt),),
    )  # fmt: skip


def whole(exhibit):
    """The explorer with its weights inside it."""
    inside = "".join(
        f'<script type="text/plain" class="explorer-weights" data-run="{shown.run.run_id}">'
        f"{weights_script(shown)}</script>"
        for shown in exhibit.shown
    )
    return block_of(exhibit).page_html.replace(
        '<script type="application/json"', inside + '<script type="application/json"', 1
    )


PROMPTS = [(PERMUTATION, (1, 3)), (PERMUTATION, (1, 3, 5)), (PERMUTATION, (1, 3, 5, 2, 1))]
# Scripts of an output are made anew before it joins the page, as JupyterLab does it.
MOUNTED = """async ([html, n]) => {
    const output = document.createElement('div');
    output.innerHTML = html;
    for (const old of output.querySelectorAll('script')) {
        const script = document.createElement('script');
        for (const { name, value } of old.attributes) script.setAttribute(name, value);
        script.textContent = old.textContent;
        old.replaceWith(script);
    }
    document.body.append(output);
    output.scrollIntoView();
    const live = () => document.querySelectorAll('#game-recall.is-live .explorer-form').length;
    for (let i = 0; live() < n && i < 500; i++) await new Promise(done => setTimeout(done, 20));
    return live();
}"""
UNTOLD = """more => {
    const live = document.querySelector('.explorer-live'), pages = [live.outerHTML];
    for (const words of more) {
        [...live.querySelectorAll('button')].find(found => found.textContent === words).click();
        pages.push(live.outerHTML);
    }
    return pages;
}"""


def with_another_end(permutation, order):
    """A permutation with the same pairs before the last x, and another y for that if it is new."""
    told = [permutation[x - 1] for x in order[:-1]]
    rest = [y for y in permutation if y not in told]
    turned = dict(zip(rest, rest[1:] + rest[:1], strict=True))
    return tuple(turned.get(y, y) for y in permutation)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A page without an explorer, with an address that a state can be written to."""
    file = tmp_path_factory.mktemp("empty") / "empty.html"
    file.write_text(PAGE.format(theme="light", explorers=""), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize(("permutation", "order"), PROMPTS)
def test_before_a_guess_the_page_is_the_same_whatever_is_right(browser, empty, permutation, order):
    """No text and no attribute may depend on the answer, the posterior of a repeat, or what the network would say."""

    def page(permutation, seed):
        html = whole(an_exhibit({"a": a_run("a", TASK, (1, 50), seed)}, permutation, order))
        with opening(browser, empty) as opened:
            opened.page.evaluate("Math.random = () => 0.25")  # of an id
            assert opened.page.evaluate(MOUNTED, [html, 1]) == 1
            return opened.page.evaluate(UNTOLD, ["Show the answer"])

    (before, after), (as_before, another) = page(permutation, 0), page(with_another_end(permutation, order), 7)
    assert before == as_before
    assert after != another
    assert "style=" not in re.sub(r'style="--positions: 9;?"', "", before)  # no bar, however short
    assert not re.search(r"\d\.\d|explorer-(share|number|cell|fill|note|before-edits|pane)\b|<path|<rect", before)


PLAYED = """([permutation, order, acts]) => {
    const game = new circuitRevealRules.Game({ permutation, order, repeats: 0.3 });
    const right = () => game.answer, wrong = () => game.answer % game.size + 1;
    acts.forEach(act => new Function('game', 'right', 'wrong', act)(game, right, wrong));
    return [game.scored.length, circuitRevealRules.scoreLine(game)];
}"""
RIGHT, WRONG = "game.reveal(right(), wrong())", "game.reveal(wrong(), right())"


@pytest.mark.parametrize(
    ("acts", "score"),
    [
        ([RIGHT], "Right so far: you 1 of 1, the network 0 of 1, the exact posterior 1 of 1."),
        ([WRONG], "Right so far: you 0 of 1, the network 1 of 1, the exact posterior 1 of 1."),
        ([RIGHT, RIGHT, WRONG], "you 1 of 1"),  # a round has one guess
        (["game.reveal()"], "You have not guessed yet."),
        (["game.reveal()", "game.open()", RIGHT], "You have not guessed yet."),  # its answer had been shown
        ([RIGHT, "game.open()", RIGHT], "you 1 of 1"),
        ([RIGHT, "game.back()", RIGHT], "you 1 of 1"),
        (["game.back()", RIGHT], "You have not guessed yet."),
        ([RIGHT, "game.fresh()", RIGHT, "game.back()", "game.ask(2)", RIGHT], "you 2 of 2"),
        (["game.fresh()", "game.reveal()", "game.next()", RIGHT], "you 1 of 1"),  # a pair that was shown is no cheating
        ([RIGHT, *["game.next()", RIGHT] * 4], "Five rounds are over. You beat the network. Right: you 5 of 5,"),
        ([WRONG, *["game.next()", WRONG] * 4], "Five rounds are over. The network beat you. Right: you 0 of 5,"),
        ([RIGHT, *["game.next()", RIGHT] * 4, "game.fresh()", RIGHT], "you 5 of 5"),
        ([RIGHT, *["game.next()", RIGHT] * 5], "you 1 of 1"),  # played again
    ],
)
def test_a_round_scores_once(blank, acts, score):
    n, line = blank.evaluate(PLAYED, [PERMUTATION, ORDER, acts])
    assert score in line and n <= 5


def test_ties_of_the_posterior_are_said_and_count_as_their_smallest(blank):
    script = """([permutation, order]) => {
        const game = new circuitRevealRules.Game({ permutation, order, repeats: 0 });
        game.reveal(1, 1);
        for (let round = 0; round < 4; round++) { game.next(); game.reveal(1, 1); }
        return [game.scored, circuitRevealRules.outcome(game), circuitRevealRules.scoreLine(game)];
    }"""
    scored, outcome, line = blank.evaluate(script, [PERMUTATION, ORDER])
    assert [round(1 / one["chance"]) for one in scored] == [1, 5, 4, 3, 2]
    assert ", the smallest of 2 that tie. " in outcome + " "
    exact = sum(one["exact"] == one["answer"] for one in scored)
    assert f"the exact posterior {exact} of 5 (2.3 on average, ties drawn by lot)." in line


def test_rows_are_drawn_as_the_task_draws_them(blank):
    """Five steps of one row, all new x's but for the last, which comes again in the share of rows asked for."""
    script = """([permutation, order, repeats]) => Array.from({ length: 400 }, () => {
        const game = new circuitRevealRules.Game({ permutation, order, repeats });
        game.reveal();
        for (let step = 0; step < 5; step++) { game.next(); game.reveal(); }
        return [game.asked, [...game.permutation].sort().join('') === '12345'];
    })"""
    for repeats in (0, 0.3, 1):
        rows = blank.evaluate(script, [PERMUTATION, ORDER, repeats])
        assert all(len(set(asked[:4])) == 4 and len(asked) == 5 and fair for asked, fair in rows)
        again = sum(asked[4] in asked[:4] for asked, _ in rows) / len(rows)
        assert again == pytest.approx(repeats, abs=0.12)


# ---- in a page of the book ----


FIRST, DEEPER = "d 32, <repeats>", "two layers"
GAME = "game-recall"


def a_game():
    """Two networks of different make, the first at two checkpoints."""
    return an_exhibit({FIRST: a_run("first", TASK, (1, 50)), DEEPER: a_run("deeper", DEEP, (7,))})


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The game among prose, built by the book's own tools into one page."""
    root = tmp_path_factory.mktemp("game")
    (root / "executed").mkdir()
    shutil.copy(ROOT / "_config.yml", root)
    shutil.copytree(ROOT / "book/_static", root / "book/_static")
    cells = [new_markdown_cell("# A game\n\nProse.", id="title"), new_code_cell("game", id="game")]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, root / "book/game.ipynb")
    with pytest.MonkeyPatch.context() as patch:  # weights go where the book takes them from
        patch.setenv("PAPER_RESULTS", str(root / "book/_static/results"))
        cells[1].outputs = [new_output("display_data", data={"text/html": block_of(a_game()).book_html})]
    nbformat.write(notebook, root / "executed/game.ipynb")
    (root / "executed/game.stamp.json").write_text("{}")
    page = root / "game.html"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Sphinx's extensions use what docutils gives up
        page.write_text(build_page(root, "game", root / "executed"), encoding="utf-8")
    return page.as_uri()


@pytest.fixture
def opened(browser, address):
    """The page, opened anew; whatever a test did, nothing was asked of the network and the console stayed silent."""
    with opening(browser, address, color_scheme="light") as opened:
        yield opened


@pytest.fixture
def game(opened):
    """The live game."""
    game = opened.page.locator(f"#{GAME}.is-live")
    game.wait_for()
    return game


def numbers(game, name="network"):
    return game.locator(f".explorer-number.explorer-of-{name}").all_inner_texts()


def said(game):
    return game.locator(".explorer-status").inner_text().replace("\u00a0", " ")


def press(game, name):
    press_once(game.locator(".explorer-form"), name)


def use(game, part):
    """Take a part away, or put it back."""
    game.locator(f'.explorer-switch[value="{part}"]').click()


def is_off(game, part):
    return game.locator(f'.explorer-switch[value="{part}"]').get_attribute("aria-pressed") == "true"


def condition(game):
    return game.get_by_role("combobox", name="Condition").first


def slide(game, at):
    """To a checkpoint, by its number."""
    game.get_by_role("slider").press("Home")
    for _ in range(at):
        game.get_by_role("slider").press("ArrowRight")


def guess(game, y):
    press(game, f"y = {y}")


def shown(game):
    """The game with the answer of its opening shown."""
    press(game, "Show the answer")
    return game


def test_it_opens_on_the_position_of_the_still(game):
    assert said(game).startswith("x = 1 again: which y? Round 1 of 5.")
    assert numbers(game, "exact") == numbers(game) == [] and game.locator(".explorer-cell").count() == 0
    shown(game)
    still = game.locator(".explorer-still table").first.locator("td").all_text_contents()
    assert [still[::2], still[1::2]] == [numbers(game, "exact"), numbers(game)]
    attention = game.locator(".explorer-still table").last.locator("td").all_text_contents()
    cells = game.locator(".explorer-cell").evaluate_all("all => all.map(cell => cell.ariaLabel)")
    assert [cell.rpartition(" ")[2] for cell in cells] == attention[::2] + attention[1::2]
    assert numbers(game, "exact") == ["0.000", "0.000", "0.000", "1.000", "0.000"]
    assert "x = 1 was shown before, with y = 4. The network puts" in said(game)
    assert not game.locator(".explorer-still").is_visible()


def test_a_repeat_recalls_and_a_new_x_eliminates(game):
    game.get_by_role("button", name="x = 4, its y is hidden").click()
    shown(game)
    assert numbers(game, "exact") == ["0.000", "0.000", "0.000", "0.000", "1.000"]
    assert "x = 4 is new: its y is the value left, 5." in said(game)
    press(game, "Opening position")
    game.get_by_role("button", name="x = 5, goes with y = 2").click()
    guess(game, 2)
    assert "x = 5 goes with y = 2. You said 2 (right)." in said(game)
    assert "You have not guessed yet." in said(game)  # the answer of this row had been shown


def test_a_guess_at_a_repeat_scores(game):
    game.get_by_role("button", name="x = 5, goes with y = 2").click()
    guess(game, 2)
    assert numbers(game, "exact") == ["0.000", "1.000", "0.000", "0.000", "0.000"]
    assert game.get_by_role("button", name=re.compile("^y = 2: exact 1.000.*; answer, your guess$")).count() == 1
    assert "x = 5 goes with y = 2. You said 2 (right)." in said(game)
    assert re.search(
        r"The network’s first choice was \d \((right|wrong)\), the exact posterior’s 2 \(right\)\.", said(game)
    )
    assert "This was the last step." in said(game)
    assert re.search(r"you 1 of 1, the network [01] of 1", game.inner_text())


def focused(opened):
    return opened.page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent")


def tab_to(opened, pattern, key="Tab"):
    """Press Tab until what has the focus is called like that."""
    for _ in range(30):
        opened.page.keyboard.press(key)
        if re.search(pattern, focused(opened)):
            return
    pytest.fail(f"Tab does not lead to {pattern}")


def test_a_keyboard_alone_plays_a_round_and_takes_the_network_apart(opened, game):
    keys = opened.page.keyboard
    condition(game).focus()
    tab_to(opened, "^New permutation$")
    keys.press("Enter")
    assert "Step 1 of 5. Pick any x" in game.inner_text()
    tab_to(opened, "^x = 1, ", "Shift+Tab")
    for step in range(1, 6):
        assert focused(opened).startswith("x = 1, ")
        keys.press("End")
        for _ in range(step - 1):
            keys.press("ArrowLeft")
        keys.press("Enter")
        tab_to(opened, "^y = ")
        keys.press("ArrowDown")
        outline = opened.page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert focused(opened).startswith("y = 2") and outline == "3px"
        assert focused(opened) == "y = 2"  # and nothing of what it is worth
        keys.press(" ")
        assert f"x = {6 - step} goes with y = " in said(game)
        assert focused(opened).startswith("y = 2")  # the place is kept
        tab_to(opened, f"^x = {6 - step}, ", "Shift+Tab")
        keys.press("Home")
    assert re.search(r"you 1 of 5, the network \d of 5", game.inner_text())
    assert said(game).count("Five rounds are over.") == 1
    before = numbers(game)
    tab_to(opened, "^L0H0 on$")
    keys.press("ArrowRight")
    keys.press(" ")
    assert focused(opened) == "L0H1 off"
    tab_to(opened, "^L0H1 to x = ", "Shift+Tab")
    keys.press("ArrowRight")
    assert game.locator(".explorer-form .explorer-readout").inner_text() == focused(opened)
    keys.press("Enter")
    assert re.fullmatch(r"L0H1 to y = \d: cut, head off", focused(opened))
    assert numbers(game) != before
    tab_to(opened, "^Undo all edits$")
    keys.press("Enter")
    assert numbers(game) == before
    tab_to(opened, "^Opening position$", "Shift+Tab")
    keys.press("Enter")
    assert "x = 1 again: which y? Play again to guess." in said(game)
    tab_to(opened, "^Show the answer$", "Shift+Tab")
    keys.press("Enter")
    assert "x = 1 was shown before, with y = 4" in said(game)
    tab_to(opened, "^Play again$", "Shift+Tab")
    keys.press("Enter")
    assert "Round 1 of 5." in said(game) and "You have not guessed yet." in said(game)


def test_edits_change_the_bars_as_python_says(game):
    """Head off, MLP off, edge cut: each alone and together, against Python's probabilities."""
    shown(game)
    tokens = torch.tensor([[1, 4, 3, 3, 5, 2, 2, 1, 1]])
    weights = init_weights(TASK, 50)

    def expected(**edits):
        logits, _ = in_python(TASK, weights, tokens, edits)
        return pytest.approx(logits[-1, 1:].softmax(-1).tolist(), abs=1.1e-3)

    def bars():
        return [float(number.lstrip("<>")) for number in numbers(game)]

    use(game, "L0H0")
    assert bars() == expected(heads=[(0, 0)])
    game.get_by_role("button", name=re.compile("^L0H1 to y = 4: attention")).click()
    assert bars() == expected(heads=[(0, 0)], cuts=[(0, 1, 8, 1)])
    use(game, "L0MLP")
    assert bars() == expected(heads=[(0, 0)], cuts=[(0, 1, 8, 1)], mlps=[0])
    assert "With your edits the network" in said(game)
    assert game.locator(".explorer-guesses .explorer-before:visible").count() == 5
    game.get_by_role("button", name="L0H1 to y = 4: cut", exact=True).click()
    use(game, "L0H0")
    assert bars() == expected(mlps=[0])
    press(game, "Undo all edits")
    assert bars() == expected()
    slide(game, 0)
    weights = init_weights(TASK, 1)
    assert bars() == expected()


def test_five_rounds_are_scored_against_the_network_as_trained(opened, game):
    """No edit and no other checkpoint, chosen before or after, scores twice or makes the network lose."""
    weights = init_weights(TASK, 50)
    logits = forward(TASK, weights, torch.tensor([[1, 4, 3, 3, 5, 2, 2, 1, 1]])).logits[0, -1, 1:]
    choice = int(logits.argmax()) + 1
    guess(game, 4)
    line = f"Right so far: you 1 of 1, the network {int(choice == 4)} of 1, the exact posterior 1 of 1."
    assert f"The network’s first choice was {choice} " in said(game) and line in said(game)
    game.get_by_role("button", name=re.compile("^y = 2")).click(force=True)
    slide(game, 0)
    assert line in said(game) and f"The network’s first choice was {choice} " in said(game)
    use(game, "L0H0")
    assert f"{line} Your edits do not enter the score." in said(game)
    slide(game, 1)
    for n in range(2, 6):
        press(game, "Next round")
        assert f"which y? Round {n} of 5." in said(game)
        guess(game, 1)
    assert re.search(r"Five rounds are over\. .*Right: you \d of 5, the network \d of 5, the exact", said(game))
    game.get_by_role("button", name="x = ").and_(game.locator("[aria-disabled=false]")).first.click()
    assert "Play again to guess." in said(game)
    assert game.get_by_role("button", name="y = 1", exact=True).get_attribute("aria-disabled") == "true"
    press(game, "Play again")
    assert "Round 1 of 5." in said(game) and "You have not guessed yet." in said(game)


def test_choosing_a_network_before_a_guess_tells_nothing(opened, game):
    live = game.locator(".explorer-live")
    inside = ".explorer-form, .explorer-stage, .explorer-beside, details"
    before = live.locator(inside).evaluate_all("all => all.map(one => one.outerHTML)")
    slide(game, 0)
    assert live.locator(inside).evaluate_all("all => all.map(one => one.outerHTML)") == before
    assert game.get_by_role("status").count() == 1


def test_cuts_end_with_the_step_and_switches_stay(game):
    shown(game)
    cut = game.get_by_role("button", name="L0H0 to y = 4: cut", exact=True)
    game.get_by_role("button", name=re.compile("^L0H0 to y = 4")).click()
    use(game, "L0MLP")
    press(game, "Opening position")
    assert not cut.is_visible()  # what it did would tell the answer
    game.get_by_role("button", name=re.compile("^x = 4")).click()
    shown(game)
    assert cut.is_visible()  # another x, the same position
    press(game, "Opening position")
    press(game, "Back one step")
    assert "Step 4 of 5" in game.inner_text()
    shown(game)
    assert game.get_by_role("button", name=re.compile("^L0H0 to y = 4: attention")).is_visible()
    assert not cut.is_visible()
    assert is_off(game, "L0MLP") and problems(game) == []


def test_the_last_edge_of_a_head_stays(game):
    shown(game)
    for cell in game.locator("[aria-label='Edges of L0H0'] button").all():
        cell.click()
    assert problems(game) == [
        "These cuts leave a query with no key to attend to; leave at least one, or ablate the head."
    ]
    assert game.get_by_role("button", name="L0H0 to x = 1: attention 1.000", exact=True).count() == 1


def test_another_network_has_its_own_parts(game):
    shown(game)
    use(game, "L0H0")
    condition(game).select_option(DEEPER)
    game.locator('.explorer-switch[value="L1H1"]').wait_for()
    parts = game.locator(".explorer-switch").evaluate_all("all => all.map(one => one.value)")
    assert parts == ["L0H0", "L0H1", "L1H0", "L1H1"]
    assert game.locator(".explorer-cells").count() == 4
    assert not game.get_by_role("slider").is_visible()
    assert not any(is_off(game, part) for part in parts)
    condition(game).select_option(FIRST)
    assert game.locator(".explorer-time").first.inner_text() == "step 500 of 500, epoch 50"


def test_only_the_last_step_may_repeat(game):
    press(game, "New permutation")
    press(game, "Show the answer")
    first = game.get_by_role("button", name=re.compile("^x = 1, goes with y = "))
    assert first.get_attribute("aria-disabled") == "true"
    first.click(force=True)  # it says that it is out of use, and is
    assert "Step 1 of 5" in game.inner_text()
    for x in (2, 3, 4):
        game.get_by_role("button", name=re.compile(f"^x = {x}, ")).click()
        press(game, "Show the answer")
    assert "Step 4 of 5. At the last step you may repeat an x." in game.inner_text()
    first.click()
    press(game, "Show the answer")
    assert "x = 1 was shown before" in said(game)
    assert "You have not guessed yet." in game.inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_never_scrolls_sideways(opened, game, theme):
    guess(game, 4)
    use(game, "L0H0")
    page = opened.look(width=400, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert (
        game.locator("*:visible").evaluate_all("all => Math.max(...all.map(one => one.getBoundingClientRect().right))")
        <= 385
    )
    words = game.locator(":is(p, span, strong):visible").evaluate_all(
        "all => all.map(one => getComputedStyle(one).color)"
    )
    ink = [page.evaluate(LUMINANCE, colour) for colour in set(words)]
    assert max(ink) < 0.5 if theme == "light" else min(ink) > 0.5


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")])
def test_axe_finds_nothing_serious(opened, game, width, theme):
    page = opened.look(width=width, theme=theme)
    for act in (lambda: None, lambda: press(game, "Show the answer"), lambda: use(game, "L0H1")):
        act()
        assert seriously_wrong(page) == []


def test_paper_gets_the_still(opened, game):
    opened.look(theme="dark", medium="print")
    assert game.locator(".explorer-still").is_visible()
    assert not game.locator(".explorer-live").is_visible()


def test_without_javascript_the_still_is_there(browser, address):
    context = browser.new_context(viewport={"width": 400, "height": 900}, java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert "x = 1 again: which y?" in page.locator(".explorer").inner_text().replace("\u00a0", " ")
    assert page.get_by_role("cell", name="1.000").is_visible()
    assert "d 32, <repeats>, epoch 50" in page.get_by_role("table").first.inner_text()
    assert page.locator(".explorer").bounding_box()["width"] <= 400
    context.close()


def test_a_page_mounts_it_and_mounts_it_again(browser, empty):
    with opening(browser, empty) as opened:
        html = whole(a_game())
        assert [opened.page.evaluate(MOUNTED, [html, n]) for n in (1, 2)] == [1, 2]


def test_damaged_weights_leave_the_still_and_say_why(browser, empty):
    html = whole(a_game())
    damaged = re.sub(r'data\\":\\"....', r'data\\":\\"', html)
    assert damaged != html
    with opening(browser, empty, is_clean=False) as opened:
        opened.page.evaluate(MOUNTED.replace("i < 500", "i < 20"), [damaged, 1])
        box = opened.page.locator(f"#{GAME}")
        assert box.locator(".explorer-still").is_visible() and box.locator(".explorer-tells").first.is_visible()
        assert "The explorer cannot run here: " in box.inner_text()
        assert opened.page.locator(".explorer-live").count() == 0


# ---- as what it is: the explorer, whose prompt is asked step by step ----


def test_while_a_step_is_open_only_what_does_not_tell_is_there(game):
    closed = (".explorer-stage", ".explorer-beside", ".explorer-end", ".explorer-panel")
    assert not any(game.locator(part).first.is_visible() for part in closed)
    assert game.locator(".explorer-live svg path").count() == 0
    guess(game, 4)
    assert all(game.locator(part).first.is_visible() for part in closed)
    assert game.locator(".explorer-stage [data-key]").count() > 0
    press(game, "Opening position")
    assert not any(game.locator(part).first.is_visible() for part in closed)


def test_panels_and_python_tell_the_same_position(game):
    shown(game)
    run, prompt = a_game().shown[0].run, "1 4 3 3 5 2 2 1 1"
    use(game, "L0H0")
    press_once(game, "Copy as Python")
    copied = game.get_by_label("Copied text")
    copied.wait_for()
    assert f'"{run.run_id}",' in copied.input_value() and json.dumps(prompt) in copied.input_value()
    game.locator("summary", has_text="Every number").click()
    game.locator(".explorer-pane:visible canvas").first.wait_for()
    reading = probe(run, prompt=prompt, edits=["zero(L0H0)@all"])
    margin = game.locator(".explorer-pane:visible .explorer-margin").inner_text()
    assert f"margin {reading.margin:+.2f}".replace("-", "\u2212") in margin


def test_the_address_holds_the_position_and_asks_anew(browser, opened, game, address):
    press(game, "New permutation")
    guess(game, 2)
    game.get_by_role("button", name="x = 3, its y is hidden").click()
    opened.page.wait_for_function("location.hash.includes('prompt=1+')")
    prompt = game.get_by_label("Prompt", exact=True).input_value()
    assert re.fullmatch(r"1 \d 3", prompt)
    url = opened.page.url
    with opening(browser, url) as again:
        box = again.page.locator(f"#{GAME}.is-live")
        box.wait_for()
        assert box.get_by_label("Prompt", exact=True).input_value() == prompt
        assert "x = 3: which y? Round 1 of 5." in said(box)
        assert box.get_by_role("button", name=f"x = 1, goes with y = {prompt[2]}").count() == 1
        assert not box.locator(".explorer-stage").first.is_visible()


def test_the_old_address_of_the_game_leads_to_it(browser, address):
    with opening(browser, f"{address}#game-recall", viewport={"width": 1280, "height": 500}) as opened:
        opened.page.locator(f"#{GAME}.is-live").wait_for()
        top = opened.page.evaluate("document.querySelector('#game-recall').getBoundingClientRect().top")
        assert abs(top) < 120


def test_a_typed_prompt_is_a_row_and_one_that_is_none_gets_its_sentence(game):
    ask(game, "2 5 4 1 3")
    assert "Step 3 of 5." in game.inner_text() and "x = 3: which y? Round 1 of 5." in said(game)
    assert game.get_by_role("button", name="x = 4, goes with y = 1").count() == 1
    ask(game, "2 5 4 5 3")
    assert problems(game) == ["Tokens 1 and 3 are both '5'; the ys of a prompt differ."]
    assert "Step 3 of 5." in game.inner_text()
    guess(game, 3)
    assert "you 1 of 1" in said(game) or "you 0 of 1" in said(game)


def test_undo_leads_back_to_a_row_of_which_the_reader_has_seen_more(opened, game):
    press(game, "New permutation")
    shown(game)
    press(game, "Next round")
    game.get_by_role("button", name=re.compile("^x = 1, ")).focus()
    opened.page.keyboard.press("Control+z")
    assert "x = 1: which y? Not scored: you have seen more of this row." in said(game)
    guess(game, 1)
    assert "You have not guessed yet." in said(game)


def test_switching_a_head_off_is_the_edit_of_the_stage(game):
    shown(game)
    game.get_by_role("button", name=re.compile("^L0H0 to y = 4: attention")).click()
    game.locator("summary", has_text="More edits").click()
    chip = game.locator(".explorer-chip").first
    chip.wait_for()
    assert chip.inner_text().startswith("cut(L0H0:8->1)")
    chip.click()
    assert game.get_by_role("button", name=re.compile("^L0H0 to y = 4: attention")).count() == 1


def test_the_scripts_are_small_and_write_only_text():
    sources = [(STATIC / script).read_text() for script in FORM]
    assert sum(map(len, sources)) < 25_000
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?:", "".join(sources))
    assert not re.search(r"url\(|@import|https?:", (STATIC / "reveal.css").read_text())
    assert len(panels_of(a_game())) - len(panels()) < 16_500
