"""The page's two margins beside ``probe``'s, on every published network, with and without edits."""

import pytest
from conftest import page_with
from shipped import few_with_weights

from circuitcore.ground.environment import Folders
from circuitcore.tasks.token_task import TokenTask
from circuitcore.training.store.run_store import RunStore
from livingpaper.explorer.exhibit import Exhibit, spread_examples
from livingpaper.explorer.probe import probe
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.explorer.widget import STATIC

PUBLISHED = Folders.from_environment().published
N_PROMPTS = 3
SCRIPTS = ("decoder.js", "lookup.js", "edit_text.js", "edits.js", "marks.js", "prompt.js", "lab.js", "edited.js")
READ = """([data, packed, states]) => {
    const lab = new circuitLab.Lab(data), run = data.runs[0].id;
    Object.assign(lab, { edits: circuitEdited.editedIn(lab), prompts: circuitPrompt });
    lab.add(run, packed);
    const told = ({ margin, rival }) => [margin, lab.word(rival)];
    return states.map(state => {
        const { now } = lab.read({ run, step: state.step }, state);
        return [lab.word(now.target), ...told(now), ...told(now.overAnswers), lab.word(now.top)];
    });
}"""
NEAR = 2e-5
"""Of the largest logit, 1e-5 for each of the two of a margin: Python's float32 sums are that far from the page's, which
adds up in float64. Words whose logits are closer may swap places."""


@pytest.fixture(scope="module")
def blank(browser):
    """An empty page with all that computes in it."""
    yield from page_with(browser, *(STATIC / script for script in SCRIPTS))


def states(run, examples):
    """Every example at the last step, as it is and without the first head."""
    common = {"step": run.steps[-1], "source": "", "resample": 0}
    return [{**common, "prompt": one.prompt, "edits": edits} for one in examples for edits in ([], ["zero(L0H0)@all"])]


def by_probe(run, state, answer):
    reading = probe(run, **{**state, "source": None}, answer=answer)
    margins = (reading.margin, reading.runner_up, reading.margin_over_answer_words, reading.runner_up_answer)
    return reading, [reading.favoured, *margins, reading.likeliest]


def test_the_page_tells_both_margins_as_probe_does(blank):
    n_apart, store = 0, RunStore(PUBLISHED, None)
    for run in map(store.get, few_with_weights(PUBLISHED)):
        task, shown = run.recipe.make_task(), ShownRun(run=run, condition="trained")
        if not isinstance(task, TokenTask):  # of rows of vectors there are no words, and so no margins over them
            continue
        examples = spread_examples(task, task.splits[-1], N_PROMPTS)
        exhibit = Exhibit(name="explorer-one", task=task, shown=(shown,), examples=examples)
        asked = states(run, examples)
        found = blank.evaluate(READ, [exhibit.payload(), shown.weights(), asked])
        for state, page in zip(asked, found, strict=True):
            reading, expected = by_probe(run, state, exhibit.answer(state["prompt"]))
            near = NEAR * reading.logits[-1].abs().max().clamp(min=1).item()
            assert [page[1], page[3]] == pytest.approx([expected[1], expected[3]], abs=near), (run.run_id, state)
            for word, own in zip(page[::2] + page[-1:], expected[::2] + expected[-1:], strict=True):
                logits = [reading.logits[-1, reading.vocab.index(each)].item() for each in (word, own)]
                assert logits[0] == pytest.approx(logits[1], abs=near), (run.run_id, state)
            n_apart += expected[3] - expected[1] > 0.1
    assert n_apart >= 10, "prompts on which the two are different numbers"
