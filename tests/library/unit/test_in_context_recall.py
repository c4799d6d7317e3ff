"""In-context recall against an independent reading of its words: rows, draws, chance and plateau, looks, refusals."""

import hashlib
import itertools
import math
from collections import Counter

import pytest
import torch

from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.forms import PromptError, matching
from circuitcore.tasks.in_context_recall import InContextRecall

SHAPES = ("pairs", "sequence")
DIGESTS = {
    ("pairs", "train"): "5a2f975f1e39fd88",
    ("pairs", "test"): "0c302c4ba7fb9b60",
    ("sequence", "train"): "b8c5a9f6124935b1",
    ("sequence", "test"): "5b28af03bab089a3",
}


@pytest.fixture(params=SHAPES)
def task(request):
    return InContextRecall(told=request.param, n_rows=300)


def digest(batch):
    found = hashlib.sha256()
    for tensor in (batch.tokens, batch.targets):
        found.update(tensor.numpy().astype("<i8").tobytes())
    return found.hexdigest()[:16]


def read(task, row):
    """The slots of a row as (key, value) and the words that are asked about, all read off its words."""
    words = task.decode(row).split()
    told, asked = words[: -task.n_queries], words[-task.n_queries :]
    if task.told == "pairs":
        return list(zip(told[::2], told[1::2], strict=True)), asked
    return list(itertools.pairwise(told)), asked


def read_all(task, batch):
    return (read(task, tokens) for tokens in batch.tokens)


@pytest.mark.parametrize(("told", "split"), DIGESTS)
def test_the_rows_do_not_move(told, split):
    assert digest(InContextRecall(told=told, n_rows=40).split(split)) == DIGESTS[told, split]


def test_every_query_is_answered_by_the_word_behind_it_and_the_variables_are_the_last_one_s(task):
    for split in task.splits:
        batch = task.split(split)
        for row, tokens in enumerate(batch.tokens):
            slots, asked = read(task, tokens)
            wanted = [task.vocab[token] for token in batch.targets[row, batch.loss_mask[row]]]
            assert wanted == [dict(slots)[word] for word in asked]
            assert slots[batch.variables["slot"][row]] == (asked[-1], wanted[-1])
            assert int(wanted[-1][1:]) == batch.variables["answer"][row]


def test_words_of_a_row_differ(task):
    for tokens in task.split("train").tokens:
        slots, asked = read(task, tokens)
        assert len(slots) == task.n_pairs and len(asked) == task.n_queries
        assert len({key for key, _ in slots}) == len({value for _, value in slots}) == task.n_pairs
        words = {word for slot in slots for word in slot}
        assert len(words) == task.context
        assert {word[0] for word in words} == ({"K", "V"} if task.told == "pairs" else {"S"})


def test_roles_are_where_the_words_stand(task):
    batch = task.split("test")
    for row, tokens in enumerate(batch.tokens):
        words = task.decode(tokens).split()
        at = {role: places[row].tolist() for role, places in batch.roles.items()}
        paired = [(words[key], words[value]) for key, value in zip(at["keys"], at["values"], strict=True)]
        assert paired == read(task, tokens)[0]
        assert at["queries"] == list(range(task.context, task.max_length)) and at["read_out"] == len(words) - 1
        assert batch.loss_mask[row].nonzero().flatten().tolist() == at["queries"]


@pytest.mark.parametrize("told", SHAPES)
def test_all_words_come_equally_often_everywhere_and_all_slots_are_asked_for(told):
    """Within five standard deviations of a count, over 6,000 rows of three of six words."""
    task = InContextRecall(told=told, n_pairs=3, n_words=6, n_queries=2, n_rows=6000)
    batch = task.split("train")
    for place in range(task.context):
        counts = torch.tensor(sorted(Counter(batch.tokens[:, place].tolist()).values()))
        assert len(counts) == 6 and ((counts - 1000).abs() < 5 * math.sqrt(6000 * 5 / 36)).all()
    asked = [[[key for key, _ in slots].index(word) for word in words] for slots, words in read_all(task, batch)]
    pairs = torch.tensor(list(Counter(map(tuple, asked)).values()))
    assert len(pairs) == 9 and ((pairs - 6000 / 9).abs() < 5 * math.sqrt(6000 * 8 / 81)).all()


def test_draws_are_reproducible_and_differ_by_split_and_seed(task):
    drawn = {(split, seed): task.draw(split, 50, seed).tokens for split in task.splits for seed in (0, 1)}
    for (split, seed), tokens in drawn.items():
        assert torch.equal(tokens, task.draw(split, 50, seed).tokens)
    rows = [tuple(row) for tokens in drawn.values() for row in tokens.tolist()]
    assert len(set(rows)) == len(rows)
    with pytest.raises(TaskError, match="unknown split 'tset'; did you mean 'test'"):
        task.draw("tset", 4, 0)


def test_chance_and_plateau_are_those_of_an_even_guess_among_the_candidates(task):
    """Measured: how often a candidate drawn evenly is right, and what it costs."""
    batch, right = task.split("test"), []
    for slots, asked in read_all(task, batch):
        candidates = [value for _, value in slots]
        right += [sum(word == dict(slots)[query] for word in candidates) / len(candidates) for query in asked]
    assert set(right) == {task.chance["test"]} and task.chance["train"] == task.chance["test"] == 1 / 8
    assert task.guess_loss == pytest.approx(-math.log(right[0]))


def test_leaving_out_the_word_asked_about_helps_as_much_as_the_docstrings_say():
    task = InContextRecall(told="sequence", n_rows=4000)
    n, right, losses = task.n_pairs, [], []
    for slots, asked in read_all(task, task.split("test")):
        for query in asked:
            left = [value for _, value in slots if value != query]
            right.append(1 / len(left))
            losses.append(math.log(len(left)))
    assert sum(right) / len(right) == pytest.approx((1 + 1 / n) / n, rel=0.005)
    assert sum(losses) / len(losses) == pytest.approx((math.log(n) + (n - 1) * math.log(n - 1)) / n, rel=0.005)


def test_looks_go_from_the_last_query_to_its_slot_and_from_values_to_their_keys(task):
    batch = task.split("test").rows(slice(0, 40))
    looks = task.looks(batch)
    assert set(looks) == {"read_out>values", "read_out>keys", "values>keys"}
    for row, (slots, asked) in enumerate(read_all(task, batch)):
        words = task.decode(batch.tokens[row]).split()
        right = {name: look.places[torch.arange(len(look)), look.right] for name, look in looks.items()}
        key = words.index(asked[-1])
        assert right["read_out>keys"][row].nonzero().flatten().tolist() == [key]
        assert right["read_out>values"][row].nonzero().flatten().tolist() == [key + 1]
        look = looks["read_out>values"]
        assert look.copied[row] == key + 1 and task.vocab[look.answer[row]] == words[key + 1] == dict(slots)[asked[-1]]
        before = right["values>keys"].reshape(len(batch), task.n_pairs, -1)[row].nonzero()[:, 1].tolist()
        at = looks["values>keys"].at.reshape(len(batch), -1)[row].tolist()
        assert [(words[key], words[value]) for key, value in zip(before, at, strict=True)] == slots
    assert (looks["read_out>values"].at == task.max_length - 1).all()


def test_pairs_told_again_are_those_told_first_each_time_in_an_order_of_its_own():
    task = InContextRecall(n_pairs=3, times=3, n_rows=2000)
    batch, orders, n_told = task.split("test"), Counter(), 2 * task.n_pairs
    for row, tokens in enumerate(batch.tokens):
        words = task.decode(tokens).split()
        tellings = [words[start : start + n_told] for start in range(0, task.context, n_told)]
        first, *again = [list(zip(told[::2], told[1::2], strict=True)) for told in tellings]
        assert len(again) == 2 and all(sorted(one) == sorted(first) for one in again)
        orders.update(tuple(first.index(pair) for pair in one) for one in again)
        for time in (1, 2, 3):
            roles = [batch.roles[f"{name}_{time}" if time > 1 else name][row].tolist() for name in ("keys", "values")]
            assert [(words[key], words[value]) for key, value in zip(*roles, strict=True)] == first, time
            assert {at // n_told for role in roles for at in role} == {time - 1}
        asked, right = words[task.context :], batch.targets[row, batch.loss_mask[row]].tolist()
        assert [dict(first)[key] for key in asked] == [task.vocab[token] for token in right]
    counts = torch.tensor(list(orders.values()))
    assert len(counts) == 6 and ((counts - 4000 / 6).abs() < 5 * math.sqrt(4000 * 5 / 36)).all()


def test_a_look_to_a_slot_is_to_every_place_where_it_is_told():
    task = InContextRecall(n_pairs=4, times=2, n_rows=20)
    batch = task.split("test")
    for name in ("keys", "values"):
        look = task.looks(batch)[f"read_out>{name}"]
        for row, tokens in enumerate(batch.tokens):
            words = task.decode(tokens).split()[: task.context]
            wanted = task.vocab[batch.answers[row]] if name == "values" else task.decode(tokens).split()[-1]
            right = look.places[row, look.right[row]].nonzero().flatten().tolist()
            assert right == [at for at, word in enumerate(words) if word == wanted] and len(right) == 2
    assert task.chance["test"] == 1 / 4 and task.guess_loss == math.log(4)


def test_to_tell_once_is_what_rows_did_before_and_names_nothing_anew():
    assert "times" not in InContextRecall().params and InContextRecall(times=2).params["times"] == 2
    assert make_task("in_context_recall", InContextRecall(times=2).params) == InContextRecall(times=2)
    once, twice = (InContextRecall(n_rows=5, times=times) for times in (1, 2))
    assert torch.equal(once.split("test").tokens[:, :16], twice.split("test").tokens[:, :16])
    with pytest.raises(TaskError, match="times = 0; must be at least 1: a row tells something"):
        InContextRecall(times=0)
    with pytest.raises(TaskError, match="times = 2; a sequence is told once"):
        InContextRecall(told="sequence", times=2)


def test_forms_of_pairs_told_again_answer_as_the_rows_do():
    task = InContextRecall(n_pairs=3, times=3, n_queries=2, n_rows=20)
    (form,) = (form for form in task.forms if form.name == "all queries")
    for tokens, answer in zip(task.split("test").tokens, task.split("test").answers, strict=True):
        words = task.decode(tokens).split()
        assert len(form.slots) == len(words)
        query, slots = form.lookup
        assert {words[value] for key, value in slots if words[key] == words[query]} == {task.vocab[answer]}


def test_a_telling_that_lacks_a_key_is_refused():
    task = InContextRecall(n_pairs=2, times=2, n_words=4, n_queries=1)
    with pytest.raises(TaskError, match="telling 2 of 2 lacks keys of the first; each tells all pairs again"):
        task.rows(torch.tensor([[0, 4, 1, 5, 0, 4, 2, 6]]), torch.tensor([[0]]))


def test_forms_answer_the_last_query_of_one_and_of_all(task):
    batch = task.split("test").rows(slice(0, 40))
    for slots, asked in read_all(task, batch):
        told = [word for slot in slots for word in slot] if task.told == "pairs" else [slots[0][0]]
        told += [] if task.told == "pairs" else [value for _, value in slots]
        for n_asked, name in ((1, "one query"), (task.n_queries, "all queries")):
            words = told + asked[:n_asked]
            form = matching(task.forms, words)
            assert form.name == name and form.answer(words) == dict(slots)[words[-1]]
    assert [form.name for form in InContextRecall(told=task.told, n_queries=1).forms] == ["one query"]


@pytest.mark.parametrize(
    ("told", "text", "sentence"),
    [
        ("pairs", "K0 V1 K0 V0 K0", "tokens 0 and 2 are both 'K0'; the keys of a prompt differ"),
        ("pairs", "K0 V1 K1 V1 K0", "tokens 1 and 3 are both 'V1'; the values of a prompt differ"),
        ("pairs", "K0 V1 K1 V0 K2", "token 4 ('K2') must be one of 'K0', 'K1'"),
        ("pairs", "K0 V1 K1 V0 V1", "token 4 ('V1') must be a query: K0, K1, K2"),
        ("sequence", "S0 S1 S0 S1", "tokens 0 and 2 are both 'S0'; the words of a prompt differ"),
        ("sequence", "S0 S1 S2 S2", "token 3 ('S2') must be one of 'S0', 'S1'"),
    ],
)
def test_prompts_that_no_row_is_are_refused(told, text, sentence):
    task = InContextRecall(told=told, n_pairs=2, n_words=3)
    with pytest.raises(PromptError) as caught:
        matching(task.forms, text.split())
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_pairs": 1}, "n_pairs = 1; must be at least 2: with one pair there is nothing to choose from"),
        ({"n_words": 7}, "n_words = 7; must be at least 8: 8 pairs told as pairs take as many different ones"),
        ({"n_words": 8, "told": "sequence"}, "n_words = 8; must be at least 9: 8 pairs told as sequence"),
        ({"n_queries": 0}, "n_queries = 0; must be at least 1"),
        ({"n_rows": 0}, "n_rows = 0; must be at least 1: no split is empty"),
        ({"n_queries": 985}, "n_pairs, n_queries, times = 1,001 tokens; allowed: at most 1,000"),
        ({"n_words": 10_001}, "n_words = 10,001 words; allowed: at most 10,000"),
        ({"n_rows": 10_001, "n_words": 10_000}, r"n_rows \* n_words = 10,001 \* 10,000; allowed: at most 100,000,000"),
        ({"told": "pair"}, "parameter 'told' = 'pair' .*allowed: .*'pairs', 'sequence'"),
        ({"n_pair": 4}, "unknown parameter 'n_pair'; did you mean 'n_pairs'"),
    ],
)
def test_what_no_rows_can_meet_is_refused_with_the_numbers(params, words):
    with pytest.raises(TaskError, match=words):
        make_task("in_context_recall", params)


def test_an_unknown_shape_is_named_and_the_smallest_tasks_are_made():
    task = InContextRecall()
    object.__setattr__(task, "told", "pair")  # not by the constructor, whose types are checked in tests
    with pytest.raises(TaskError, match="unknown told 'pair'; did you mean 'pairs'"):
        task.__post_init__()
    for told, n_words in (("pairs", 2), ("sequence", 3)):
        assert len(InContextRecall(told=told, n_pairs=2, n_words=n_words, n_queries=1, n_rows=1).split("test")) == 1
