"""Prompts in the page: Python and JavaScript read the same, refuse in the same words, and take the same references."""

import random

import pytest
from conftest import Opened

from circuitcore.tasks import TASKS, TaskError, TokenTask, make_task
from circuitcore.tasks.forms import PromptError, PromptForm, Slot, as_json, matching
from livingpaper.explorer.references import reference_tables, references
from livingpaper.explorer.widget import STATIC

N_MUTATED, N_SHUFFLED = 300, 200
TASK_PARAMS = [
    *((name, {}) for name, kind in TASKS.items() if issubclass(kind, TokenTask)),
    ("textual_kv", {"n_train_2": 40, "n_train_3": 40, "n_val": 40, "n_test": 40, "n_ood": 40, "read_out": "query"}),
    ("permutation_recall", {"repeat_sources": (0, 2), "n_rows": 400}),
    ("permutation_recall", {"repeat_ratio": 0, "n_rows": 400}),
    ("permutation_recall", {"repeat_slot": 2, "n_rows": 400}),
]
READ = """([task, texts]) => texts.map(text => {
    try {
        const { words, ids, form, answer } = circuitPrompt.read(task, text);
        return [words, ids, form.name, answer, circuitPrompt.roles(form, words.length)];
    } catch (error) {
        return error.message;
    }
})"""
SHUFFLED = """([task, n]) => task.forms.map(form =>
    Array.from({ length: n }, () => circuitShuffle.shuffled(task, form)))"""


@pytest.fixture(params=TASK_PARAMS, ids=lambda name_and_params: name_and_params[0])
def task(request):
    return make_task(*request.param)


@pytest.fixture(scope="module")
def blank(browser):
    """An empty page with the script in it; whatever is done there, nothing is asked of the network."""
    opened = Opened(browser.new_page())
    opened.page.on("request", lambda request: opened.requests.append(request.url))
    for script in ("lookup.js", "prompt.js", "shuffle.js"):
        opened.page.add_script_tag(path=STATIC / script)
    yield opened.page
    assert opened.requests == []
    opened.page.close()


def prompt_of(task, row):
    """A row as a prompt; of a stream without its end."""
    return task.decode(row).partition(" <eos>")[0]


def for_page(task):
    """What the page knows of a task; its examples are the first rows of its second split."""
    batch = task.split(task.splits[1]).rows(slice(0, 3))
    examples = [
        {"prompt": prompt_of(task, row), "answer": task.vocab[answer], "label": "a row"}
        for row, answer in zip(batch.tokens, batch.answers.tolist(), strict=True)
    ]
    tables = {str(length): rows for length, rows in reference_tables(task).items()}
    return {"vocab": task.vocab, **as_json(task.forms), "references": tables, "examples": examples}


def mutated(task, rng):
    """A row with up to three changes: two words swapped, one dropped, doubled, replaced or unknown, the end cut off."""
    words = prompt_of(task, rng.choice(task.split(rng.choice(task.splits)).tokens)).split()
    for _ in range(rng.randrange(4)):
        at, other = rng.randrange(len(words)), rng.randrange(len(words))
        how = rng.choice(("swap", "drop", "double", "replace", "copy", "unknown", "case", "cut"))
        if how == "swap":
            words[at], words[other] = words[other], words[at]
        elif how == "drop" and len(words) > 1:
            del words[at]
        elif how == "double":
            words.insert(other, words[at])
        elif how == "cut":
            del words[at + 1 :]
        else:
            new = {"copy": words[other], "unknown": rng.choice(("K9", "é", "<b>", "'")), "case": words[at].swapcase()}
            words[at] = new.get(how, rng.choice(task.vocab))
    return rng.choice((" ", "  ", "\n\t")).join(words)


def in_python(task, text, examples=()):
    """What ``circuitPrompt.read`` must give, or its sentence."""
    words = text.split()
    try:
        form = matching(task.forms, words)
    except PromptError as error:
        return str(error)
    shown = {tuple(example["prompt"].split()): example["answer"] for example in examples}
    answer = form.answer(words) or shown.get(tuple(words))
    names = [slot.name for slot in form.slots]
    return [words, task.encode(text).tolist(), form.name, answer, names + [""] * (len(words) - len(names))]


def test_python_and_page_read_alike(blank, task):
    rng, page = random.Random(task.name), for_page(task)
    texts = [mutated(task, rng) for _ in range(N_MUTATED)]
    texts += ["", "  ", *(example["prompt"] for example in page["examples"]), " ".join(task.vocab)]
    found = blank.evaluate(READ, [page, texts])
    assert found == [in_python(task, text, page["examples"]) for text in texts]
    refused = [sentence for sentence in found if isinstance(sentence, str)]
    assert 50 < len(refused) < N_MUTATED  # neither all nor none
    assert all(isinstance(read, list) and read[3] for read in found[-4:-1])  # the examples, with their answers


def test_forms_of_ones_own_are_refused_alike(blank):
    """Forms that no task here has: free words after several slots, two forms of one length, members before."""
    few, more = ("a", "b"), tuple("abcdefghij")
    forms = (
        PromptForm("free", (Slot("x 1", few), Slot("x 2", few)), open_words=more[2:], most=4, distinct=((0, 1),)),
        PromptForm("two", (Slot("item", more),) * 2),
        PromptForm("seven", (Slot("one 1", more),) * 7, member=(0, (3, 4, 5)), leftover=(1, 2)),
        PromptForm("also seven", (Slot("one 1", few),) * 7, lookup=(6, ((0, 1),)), leftover=(0,)),
    )
    rng = random.Random(0)
    letters = {n: "abcdj" for n in (1, 2, 3, 4, 5)} | {7: "ab" * 9 + "C"}
    texts = [" ".join(rng.choices(some, k=n)) for n, some in letters.items() for _ in range(80)]

    def expected(text):
        try:
            form = matching(forms, text.split())
        except PromptError as error:
            return str(error)
        return [form.name, form.answer(text.split())]

    page = {"vocab": list(more), **as_json(forms), "references": {}, "examples": []}
    found = blank.evaluate(READ, [page, texts])
    assert [one if isinstance(one, str) else [one[2], one[3]] for one in found] == [expected(text) for text in texts]
    assert "1 token; prompts of this task have 2, 7 or 2 to 4" in found
    assert "also seven" in {one[2] for one in found if isinstance(one, list)}


def test_shuffled_prompts_are_prompts_of_their_form(blank, task):
    found = blank.evaluate(SHUFFLED, [for_page(task), N_SHUFFLED])
    for form, texts in zip(task.forms, found, strict=True):
        assert {matching(task.forms, text.split()).name for text in texts} == {form.name}
        assert len(set(texts)) > (N_SHUFFLED // 4 if len(form.slots) > 8 else 4)


def test_a_stream_is_shuffled_to_one_of_its_length_that_asks(blank):
    task = make_task("balanced_stream", {})
    words = task.decode(task.split("test").tokens[0]).split()
    reads = [at + 2 for at in range(1, len(words), 3) if words[at] == "R"]
    said = """([task, text, n]) => {
        const { form } = circuitPrompt.read(task, text);
        return Array.from({ length: n }, () => circuitShuffle.shuffled(task, form));
    }"""
    for n in (*reads, 8, 9, 10):
        for text in blank.evaluate(said, [for_page(task), " ".join(words[:n]), 20]):
            form = matching(task.forms, text.split())
            assert len(form.slots) == n
            assert (form.answer(text.split()) is None) == (n not in reads)


def test_what_reads_say_is_put_right(blank):
    """A word that is dragged elsewhere leaves a stream that can be asked for."""
    task = make_task("balanced_stream", {})
    words = "<bos> W K01 V05 W K02 V07 R K01 V05 W K01 V09 R K01 V09 R K02".split()
    said = "([task, text, words]) => circuitPrompt.settled(circuitPrompt.read(task, text).form, words).join(' ')"
    for at, word, then in [(3, "V33", {9: "V33"}), (12, "V44", {15: "V44"}), (11, "K02", {15: "V05"}), (2, "K05", {})]:
        changed = [*words[:at], word, *words[at + 1 :]]
        expected = [then.get(place, one) for place, one in enumerate(changed)]
        assert blank.evaluate(said, [for_page(task), " ".join(words), changed]) == " ".join(expected)


def test_a_form_without_prompts_ends_the_search(blank):
    form = PromptForm("none", (Slot("a", ("a",)),) * 2, distinct=((0, 1),))
    page = {"vocab": ["a"], **as_json([form]), "references": {}, "examples": []}
    said = "task => { try { circuitShuffle.shuffled(task, task.forms[0]) } catch (error) { return error.message } }"
    assert blank.evaluate(said, page) == "no prompt of the form 'none' was found"


def test_references_are_the_same(blank, task):
    page = for_page(task)
    lengths = range(1, max(reference_tables(task)) + 1)
    found = blank.evaluate("([task, all]) => all.map(n => circuitPrompt.references(task, n))", [page, [*lengths]])
    assert found == [references(task, n).tolist() for n in lengths]
    said = "([task, n]) => { try { circuitPrompt.references(task, n) } catch (error) { return error.message } }"
    with pytest.raises(TaskError) as caught:
        references(task, lengths.stop)
    assert blank.evaluate(said, [page, lengths.stop]) == str(caught.value)


def test_the_script_is_small():
    source = (STATIC / "prompt.js").read_text()
    assert len(source) < 6500
    assert max(map(len, source.splitlines())) <= 120
