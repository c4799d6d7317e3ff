"""What prompts look like: every row has a form, forms know answers, and faults are said in one sentence."""

import json
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from circuitcore.tasks import TASKS, Batch, TaskError, TokenTask, make_task
from circuitcore.tasks.forms import PromptError, PromptForm, Slot, as_json, matching
from livingpaper.explorer.references import N_REFERENCES, reference_tables, references

N_ROWS = 300
FEW = {"n_val": 40, "n_test": 40, "n_ood": 40}
TASK_PARAMS = [
    *((name, {}) for name, kind in TASKS.items() if issubclass(kind, TokenTask)),
    ("symbolic_kv", {**FEW, "n_train": 40, "n_pairs": 2, "n_pairs_ood": 5, "sampling": "published"}),
    ("symbolic_kv", {**FEW, "n_train": 40, "targets": "shuffled"}),
    ("textual_kv", {**FEW, "n_train_2": 40, "n_train_3": 40, "read_out": "query"}),
    ("in_context_recall", {"told": "sequence"}),
    ("permutation_recall", {"n_symbols": 8, "n_train": 30_000, "n_rows": 400}),
    ("permutation_recall", {"repeat_sources": (0, 2), "repeat_ratio": 0.9, "n_rows": 400}),
    ("permutation_recall", {"repeat_ratio": 0, "n_rows": 400}),
    ("permutation_recall", {"repeat_slot": 2, "repeat_ratio": 0.9, "n_rows": 400}),
    ("permutation_recall", {"repeat_slot": 3, "repeat_sources": (1,), "repeat_ratio": 0.9, "n_rows": 400}),
]


@pytest.fixture(params=TASK_PARAMS, ids=lambda name_and_params: name_and_params[0])
def task(request):
    return make_task(*request.param)


@dataclass(frozen=True, kw_only=True)
class OfOnesOwn(TokenTask):
    """Three words, rows of 5, 3 and 5 tokens; it says nothing of forms."""

    name: ClassVar[str] = "of_ones_own"
    vocab = ("a", "b", "c")
    max_length = 5
    splits = ("train", "val", "test")
    answers = (0, 1, 2)
    chance: ClassVar = dict.fromkeys(splits, 1 / 3)

    def make_splits(self):
        lengths = {"train": 5, "val": 3, "test": 5}
        return {split: _batch(torch.full((40, n), place)) for place, (split, n) in enumerate(lengths.items())}


def _batch(tokens):
    roles = {"read_out": torch.full((len(tokens),), tokens.shape[1] - 1)}
    return Batch(tokens=tokens, targets=tokens, loss_mask=torch.ones_like(tokens).bool(), roles=roles)


# ---- forms of tasks ----


def knows_answers(task):
    """Whether full prompts tell the answer always (True), never (False) or sometimes (None)."""
    if task.name == "permutation_recall":
        return True if task.repeated == task.n_symbols - 1 else None
    if task.name == "in_context_recall":
        return True
    return task.name in ("symbolic_kv", "textual_kv") and task.targets == "matched"


def prompt_of(task, row):
    """The words of a row; of a stream without its end."""
    words = task.decode(row).split()
    return words[: words.index("<eos>")] if "<eos>" in words else words


def test_every_row_has_a_form_and_forms_know_its_answer_where_the_prompt_tells_it(task):
    forms, vocab = task.forms, task.vocab
    for split in task.splits:
        batch, known = task.split(split).rows(slice(0, N_ROWS)), set()
        for row, answer in zip(batch.tokens, batch.answers.tolist(), strict=True):
            words = prompt_of(task, row)
            found = matching(forms, words).answer(words)
            assert found in (None, vocab[answer])
            known.add(found is not None)
        assert known == ({True, False} if knows_answers(task) is None else {knows_answers(task)})


@pytest.mark.parametrize("params", [params for name, params in TASK_PARAMS if name == "permutation_recall"])
def test_every_step_of_permutation_recall_has_a_form(params):
    task = make_task("permutation_recall", params)
    batch, v, forms = task.split("all").rows(slice(0, N_ROWS)), task.n_symbols, task.forms
    for row, targets in zip(batch.tokens, batch.targets, strict=True):
        for step in range(1, v + 1):
            words = [str(token) for token in row[: 2 * step - 1].tolist()]
            form = matching(forms, words)
            assert form.name == f"step {step}"
            x, shown, used = words[-1], words[:-1:2], words[1::2]
            told = x in shown or len(set(used)) == v - 1
            assert form.answer(words) == (task.vocab[targets[2 * step - 2]] if told else None)


def test_words_of_forms_are_words_of_the_task_and_names_differ(task):
    for form in task.forms:
        assert all(set(words) <= set(task.vocab) for words in form.word_sets)
        assert form.longest <= task.max_length
    assert len({form.name for form in task.forms}) == len(task.forms)


def test_forms_of_a_key_value_task():
    task = make_task("textual_kv", {"read_out": "query"})
    assert [form.name for form in task.forms] == ["2 pairs", "3 pairs", "4 pairs"]
    names = [slot.name for slot in task.forms[0].slots]
    assert names == ["start", "key 1", "value 1", "separator", "key 2", "value 2", "separator", "question", "query"]
    form = make_task("symbolic_kv", {}).forms[0]
    assert [slot.name for slot in form.slots][-3:] == ["question", "query", "arrow"]
    assert form.slots[1].words == tuple(f"K{key}" for key in range(8))
    assert (form.distinct, form.member) == (((1, 4, 7), (2, 5, 8)), (11, (1, 4, 7)))
    assert form.lookup == (11, ((1, 2), (4, 5), (7, 8)))


def test_streams_know_the_answer_of_every_read():
    """Against the writes and reads that the task itself finds in its rows."""
    task = make_task("balanced_stream", {})
    for split in ("test", "structural_ood"):
        batch = task.draw(split, 30, 0)
        reads = task.reads_of(batch)
        for row, at, answer, support in zip(reads.row, reads.at, reads.answer, reads.support, strict=True):
            words = task.decode(batch.tokens[row, : at + 1]).split()
            form = matching(task.forms, words)
            assert form.answer(words) == task.vocab[answer]
            assert int(support) in [value for _, value in form.asked(words)]
            assert form.slots[-1].name == "query"
            assert form.member[1] == tuple(range(2, int(at), 3))


STREAM = "<bos> W K01 V05 W K02 V07 R K01 V05 W K01 V09"


@pytest.mark.parametrize(
    ("text", "answer", "places"),
    [
        (f"{STREAM} R K01", "V09", [11 + 1]),
        (f"{STREAM} R K02", "V07", [6]),
        (f"{STREAM} R K02 V07 R K02", "V07", [6, 15]),
        (f"{STREAM} W K02", None, []),
        (f"{STREAM} R", None, []),
        (STREAM, None, []),
        ("<bos>", None, []),
        ("<bos> R K01", None, []),
    ],
)
def test_a_stream_may_end_anywhere(text, answer, places):
    forms, words = make_task("balanced_stream", {}).forms, text.split()
    form = matching(forms, words)
    assert form.answer(words) == answer == forms[0].answer(words)
    assert [value for _, value in form.asked(words)] == places


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{STREAM} R K03", "token 14 ('K03') must be one of 'K01', 'K02'"),
        (f"{STREAM} R K01 V05", "token 15 ('V05') must be 'V09', the last value of K01"),
        ("<bos> R K01 V05 W K01", "token 2 ('K01') is read before anything is written to it"),
        ("<bos> W V05", "token 2 ('V05') must be a key: K00, K01, K02, K03, K04, K05, K06, K07, ..."),
        ("<bos> K01", "token 1 ('K01') must be an event: W, R"),
        ("W K01 V05", "token 0 ('W') must be a start: <bos>"),
        ("<bos> W K01 V05 <eos>", "token 4: '<eos>' is no word of this task"),
        (" ".join(["<bos>"] + ["W K01 V05"] * 22), "67 tokens; prompts of this task have at most 58"),
    ],
)
def test_what_is_no_stream_is_refused_in_a_sentence(text, sentence):
    with pytest.raises(PromptError) as caught:
        matching(make_task("balanced_stream", {}).forms, text.split())
    assert str(caught.value) == sentence


def test_only_the_repeated_slot_repeats_and_only_its_sources():
    def says(text, **params):
        try:
            return matching(make_task("permutation_recall", params).forms, text.split()).name
        except PromptError as error:
            return str(error)

    assert says("1 2 3 4 2 1 4 3 3") == "step 5"
    assert says("1 2 3 4 3") == "tokens 2 and 4 are both '3'; the xs of a prompt differ"
    assert says("1 2 3 2 4") == "tokens 1 and 3 are both '2'; the ys of a prompt differ"
    assert says("1 2 3 4 2 1 4 3 3", repeat_ratio=0) == "step 5"  # how recall is tested where it is never needed
    assert says("1 2 3 4 2 1 4 3 1", repeat_sources=(0,)) == "step 5"
    assert says("1 2 3 4 2 1 4 3 3", repeat_sources=(0,)) == "tokens 2 and 8 are both '3'; the xs of a prompt differ"
    assert says("1 2 3 4 1 2 4", repeat_slot=2) == "step 4"
    assert says("1 2 3 4 1 2 1", repeat_slot=2) == "tokens 0 and 6 are both '1'; the xs of a prompt differ"


def test_a_task_of_ones_own_takes_any_of_its_words():
    task = OfOnesOwn()
    assert matching(task.forms, ["a", "c"]).answer(["a", "c"]) is None
    with pytest.raises(PromptError, match="^6 tokens; prompts of this task have at most 5$"):
        matching(task.forms, ["a"] * 6)


# ---- sentences ----


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the prompt has no tokens; separate tokens by spaces"),
        ("K1", "1 token; prompts of this task have 13 or 16"),
        ("K9 zz", "token 0: 'K9' is no word of this task"),
        ("<bos> k3 K9", "token 1: 'k3' is no word of this task (did you mean 'K3'?)"),
        (
            "<bos> K3 K4 ; K1 V7 ; K5 V0 ; Q K5 ->",
            "token 2 ('K4') must be a value: V0, V1, V2, V3, V4, V5, V6, V7",
        ),
        ("<bos> K3 V4 ; K1 V7 ; K5 V0 ; Q K5 Q", "token 12 ('Q') must be an arrow: ->"),
        ("<bos> K3 V4 ; K3 V7 ; K5 V0 ; Q K5 ->", "tokens 1 and 4 are both 'K3'; the keys of a prompt differ"),
        ("<bos> K3 V4 ; K1 V7 ; K5 V4 ; Q K5 ->", "tokens 2 and 8 are both 'V4'; the values of a prompt differ"),
        ("<bos> K3 V4 ; K1 V7 ; K5 V0 ; Q K7 ->", "token 11 ('K7') must be one of 'K3', 'K1', 'K5'"),
    ],
)
def test_faults_of_key_value_prompts(text, sentence):
    with pytest.raises(PromptError) as caught:
        matching(make_task("symbolic_kv", {}).forms, text.split())
    assert str(caught.value) == sentence
    assert isinstance(caught.value, TaskError)


def test_faults_of_free_prompts():
    forms = make_task("story", {}).forms
    with pytest.raises(PromptError, match="^42 tokens; prompts of this task have at most 41$"):
        matching(forms, ["<bos>"] * 42)
    with pytest.raises(PromptError, match=r"^token 1 \('<bos>'\) must be a word: (\S+, ){8}\.\.\.$"):
        matching(forms, ["<bos>"] * 3)
    with pytest.raises(PromptError, match=r"^token 0 \('She'\) must be a start: <bos>$"):
        matching(forms, ["She"])


def test_lengths_of_many_forms():
    one, two = Slot("word", ("a",)), Slot("word 2", ("a", "b"))
    forms = [PromptForm(str(n), (one,) * n) for n in (13, 10, 16)]
    with pytest.raises(PromptError, match="^2 tokens; prompts of this task have 10, 13 or 16$"):
        matching(forms, ["a"] * 2)
    free = PromptForm("free", (one, two), open_words=("a",), most=9)
    with pytest.raises(PromptError, match="^1 token; prompts of this task have 10, 13, 16 or 2 to 9$"):
        matching([*forms, free], ["a"])
    assert matching([*forms, free], ["a", "b", "a"]) is free


def test_of_two_forms_of_one_length_the_one_that_fits():
    forms = [PromptForm(letter, (Slot("letter", (letter,)),) * 2) for letter in "ab"]
    assert matching(forms, ["b", "b"]) is forms[1]
    with pytest.raises(PromptError, match=r"^token 1 \('b'\) must be a letter: a$"):
        matching(forms, ["a", "b"])


# ---- for the page ----


def test_as_json_shares_word_sets_and_loses_nothing(task):
    made = json.loads(json.dumps(as_json(task.forms)))
    sets, forms = made["sets"], made["forms"]
    assert len({tuple(words) for words in sets}) == len(sets)
    for form, twin in zip(task.forms, forms, strict=True):
        assert [(name, tuple(sets[words])) for name, words in twin["slots"]] == [(s.name, s.words) for s in form.slots]
        assert (sets[twin["open"]] if form.open_words else twin["open"]) == (list(form.open_words) or None)
        assert twin["most"] == form.longest
        assert [(name, tuple(sets[words])) for name, words in twin["unit"]] == [(s.name, s.words) for s in form.unit]
        for key in ("distinct", "member", "lookup", "leftover", "reads"):
            assert twin[key] == json.loads(json.dumps(getattr(form, key)))
    assert len(json.dumps(made)) < 6000


def test_references_are_rows_not_trained_on_if_there_are_any():
    task = make_task("symbolic_kv", {})
    assert torch.equal(references(task, 13), task.split("val").tokens[:N_REFERENCES])
    assert torch.equal(references(task, 16), task.split("ood").tokens[:N_REFERENCES])
    assert torch.equal(references(task, 7), task.split("val").tokens[:N_REFERENCES, :7])
    textual = make_task("textual_kv", {})
    assert torch.equal(references(textual, 10), textual.split("train_2_pairs").tokens[:N_REFERENCES])
    with pytest.raises(TaskError, match="^no row of this task has 17 tokens; the longest have 16$"):
        references(task, 17)


def test_references_of_a_task_of_ones_own():
    task = OfOnesOwn()
    assert {n: set(sum(rows, [])) for n, rows in reference_tables(task).items()} == {3: {1}, 5: {2}}
    assert references(task, 2).tolist() == [[1, 1]] * N_REFERENCES
    assert references(task, 4).tolist() == [[2] * 4] * N_REFERENCES
