"""A stream in the page: asked for by a press, mended by a drag, refused in a sentence; by mouse and by keyboard."""

import pytest
from explorer_page import ask, closed, opening, press, problems, published, write_pages, write_weights

from circuitcore.tasks.forms import matching
from livingpaper.explorer import moves
from livingpaper.explorer.exhibit import Exhibit
from livingpaper.explorer.probe import probe
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.explorer.widget import block_of
from retrieval_circuits.sgd_formation.circuit import PLAN
from retrieval_circuits.sgd_formation.explorer import first_reads
from retrieval_circuits.sgd_formation.measures.links import COPIES, FINDS, JOINS

NAME, PATIENCE = "explorer-stream", 60_000
RUN = published("balanced_stream-949aa3df1f58")
EXAMPLES = first_reads(RUN.recipe.make_task())
PROMPT = EXAMPLES[0].prompt
FAR = 1e-3


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where a page with one network stands; its tests are made up."""
    both = tuple(f"L1H{head}" for head in range(4))
    found = {
        JOINS: moves.Tested(heads=("L0H3",), effect=0.9, supported=True),
        FINDS: moves.Tested(heads=both, effect=0.7, supported=True),
        COPIES: moves.Tested(heads=both, effect=0.4, supported=False),
    }
    shown = (ShownRun(run=RUN, condition="fresh rows", tests={RUN.steps[-1]: found}),)
    exhibit = Exhibit(name=NAME, task=RUN.recipe.make_task(), shown=shown, examples=EXAMPLES, plan=PLAN)
    folder = tmp_path_factory.mktemp("stream")
    write_weights(folder, [exhibit])
    write_pages(folder, {"stream": ("light", block_of(exhibit).page_html)})
    return f"{folder.as_uri()}/book/stream.html"


@pytest.fixture(scope="module")
def explorer(browser, address):
    """The explorer, once it is live; whatever is done there, the console stays silent."""
    with opening(browser, address, timeout=PATIENCE) as opened:
        yield closed(opened, NAME).locator(".explorer-live")


def prompt_of(explorer):
    return explorer.get_by_label("Prompt", exact=True).input_value()


def answer_of(explorer):
    return explorer.locator("g.answer text").first.text_content()


def token(explorer, position):
    return explorer.locator(f"[data-position='{position}']").first


def assert_reads(explorer, prompt):
    """The page shows this stream, and what ``probe`` has the network say."""
    assert prompt_of(explorer) == prompt
    reading = probe(RUN, prompt=prompt)
    assert answer_of(explorer) == reading.likeliest
    top = reading.probabilities.topk(2).values
    assert top[0] - top[1] > FAR


def test_the_place_in_training_is_a_step_alone_where_rows_never_come_back(explorer):
    last = f"{RUN.final_step:,}"
    assert explorer.locator(".explorer-time").first.inner_text().startswith(f"step {last} of {last}")
    assert "epoch" not in explorer.locator(".explorer-place").first.inner_text()


def test_a_stream_opens_with_its_moves(explorer):
    words = PROMPT.split()
    assert_reads(explorer, PROMPT)
    n_writes = words.count("W")
    assert explorer.locator("g.link.move-1 g.arrow").count() == n_writes  # each value joined to its key
    assert explorer.locator("g.link.is-unsupported").count() == 1
    (value,) = [at for _, at in matching(RUN.recipe.make_task().forms, words).asked(words)]
    label = f"{words[-1]} reads {words[value]}"
    assert label in explorer.locator("g.link.move-2 g.arrow").get_attribute("aria-label")


def test_a_key_is_asked_for_by_mouse_and_by_keyboard(explorer):
    words = PROMPT.split()
    for at, act in ((2, "click"), (8, "Enter"), (5, " ")):
        if act == "click":
            token(explorer, at).click()
        else:
            token(explorer, at).focus()
            explorer.page.keyboard.press(act)
        explorer.page.wait_for_function("([node, word]) => node.value.endsWith(` ${word}`)", arg=[
            explorer.get_by_label("Prompt", exact=True).element_handle(), words[at],
        ])  # fmt: skip
        assert_reads(explorer, " ".join([*words[:-1], words[at]]))
    press(explorer, "Start again")
    assert_reads(explorer, PROMPT)


def test_a_dragged_word_leaves_reads_that_hold(explorer):
    """The value that was read changes, and the read that shows it follows."""
    base = f"{PROMPT} V19 R K05"
    ask(explorer, base)
    value = PROMPT.split().index("V19")
    source, target = (token(explorer, at).bounding_box() for at in (3, value))
    mouse = explorer.page.mouse
    mouse.move(source["x"] + source["width"] / 2, source["y"] + source["height"] / 2)
    mouse.down()
    mouse.move(target["x"] + target["width"] / 2, target["y"] + target["height"] / 2, steps=4)
    mouse.up()
    assert_reads(explorer, base.replace("V19", PROMPT.split()[3]))
    press(explorer, "Start again")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (PROMPT.replace("W K05 V78", "R K05 V78"), "must be 'V41', the last value of K05"),
        ("<bos> R K05 V10 R K05", "Token 2 ('K05') is read before anything is written to it."),
        ("<bos> W K05 V10 R K06", "Token 5 ('K06') must be one of 'K05'."),
        ("<bos> W K05 <img src=x onerror=alert(1)>", "is no word of this task"),
        ("W K05 V10", "must be a start: <bos>"),
        ("", "The prompt has no tokens"),
        (" ".join(["<bos>", *["W K05 V10"] * 30]), "91 tokens; prompts of this task have at most 67"),
    ],
)
def test_what_is_no_stream_gets_a_sentence_and_the_last_one_stays(explorer, text, sentence):
    ask(explorer, PROMPT)
    assert_reads(explorer, PROMPT)
    ask(explorer, text)
    (said,) = problems(explorer)
    assert sentence in said
    assert answer_of(explorer) == probe(RUN, prompt=PROMPT).likeliest
    assert explorer.locator("img").count() == 0
    ask(explorer, PROMPT)
    assert problems(explorer) == []


def test_a_stream_that_asks_for_nothing_has_no_right_answer(explorer):
    ask(explorer, PROMPT.rsplit(" ", 2)[0])
    assert prompt_of(explorer) == PROMPT.rsplit(" ", 2)[0]
    assert explorer.locator(".explorer-right").count() == 0
    assert explorer.locator("g.link").count() == 0
    press(explorer, "Start again")


def test_on_a_phone_nothing_scrolls_sideways(browser, address):
    size = {"width": 400, "height": 860}
    with opening(browser, address, timeout=PATIENCE, viewport=size, color_scheme="dark") as opened:
        explorer = closed(opened, NAME).locator(".explorer-live")
        explorer.locator("svg.circuit-tall").wait_for()
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
