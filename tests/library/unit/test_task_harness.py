"""One harness for every task in the registry.

A new task is covered once it has a solver here: a few lines that find the answer from the words of
a prompt, written without looking at the task's own code.
"""

import dataclasses
import json
import re
from importlib.resources import files

import pytest
import torch

from circuitcore.ground.hashed import may_lack
from circuitcore.tasks import TASKS, Batch, Task, TaskError, TokenTask, make_task

# Splits that are made of others, and tasks that give all their rows to whoever asks for more.
UNIONS = {"permutation_recall": {"all"}, "k_fold_composition": {"train"}}
AT_MOST = {"permutation_recall"}
# Tasks whose rows go on behind the last answer, every next word of which is scored.
GO_ON = {"stream_kv", "balanced_stream"}
HIDDEN_HOPS = ("dacb", "adcb", "dbca", "acdb")  # of the task by default: what a, b, c, d are taken to
STORY = re.findall(r"\w+|[^\w\s]", (files("circuitcore") / "tasks/story.txt").read_text(encoding="utf-8"))


def solve_key_value(words):
    """`<bos> k v ; k v ; Q k ->`: the value that follows the queried key."""
    pairs = [pair.split() for pair in " ".join(words[1 : words.index("Q")]).split(" ;") if pair.split()]
    return dict(pairs)[words[words.index("Q") + 1]]


def solve_story(words):
    """The word that the story has after these."""
    context = words[1:]
    places = [at for at in range(len(STORY) - len(context)) if STORY[at : at + len(context)] == context]
    (at,) = places
    return STORY[at + len(context)]


def solve_planted_repeats(words):
    """The word that came after the last one when it came before."""
    return words[words.index(words[-1]) + 1]


def solve_permutation_recall(words):
    """`x y x y ... x`: the y of that x if it stood before, else the one symbol of 1..V that has not been a y."""
    shown = dict(zip(words[:-1:2], words[1::2], strict=True))
    (left,) = {str(y) for y in range(1, (len(words) + 1) // 2 + 1)} - set(words[1::2])
    return shown.get(words[-1], left)


def solve_stream(words):
    """`... W k v ... R k v ...`: what was last written to the key that is read last."""
    at = max(place for place, word in enumerate(words) if word == "R")
    return next(words[w + 2] for w in range(at, 0, -1) if words[w] == "W" and words[w + 1] == words[at + 1])


def solve_k_fold(words):
    """`1a>c 1b>a ... 2:b`: from b, two hops, each first by a hidden permutation and then by the row's."""
    hidden = HIDDEN_HOPS
    hops, x = words[-1].split(":")
    for hop in range(1, int(hops) + 1):
        x = hidden[hop - 1]["abcd".index(x)]
        (x,) = (word[-1] for word in words[:-1] if word.startswith(f"{hop}{x}>"))
    return x


def solve_in_context_recall(words):
    """`K3 V7 K0 V2 ... K5 K3`: the word behind the first of those that equal the last word."""
    return words[words.index(words[-1]) + 1]


def solve_chains(inputs):
    """Pairs of vectors, then four queries: from each query the vectors that follow, link by link, until none does.

    The first half of a vector is the symbol.
    """
    symbols = [tuple(vector[: len(vector) // 2]) for vector in inputs.tolist()]
    pairs, queries, wanted = symbols[:-4], symbols[-4:], []
    follows = dict(zip(pairs[::2], pairs[1::2], strict=True))
    for symbol in queries:
        wanted.append([])
        while symbol in follows:
            symbol = follows[symbol]
            wanted[-1] += symbol
    return torch.tensor(wanted)


def solve_chain_lengths(inputs):
    """The same where what is left behind the queries is zero, and of each chain the last symbol alone."""
    return solve_chains(inputs[inputs.abs().sum(-1) > 0])[:, -(inputs.shape[1] // 2) :]


def solve_conditional(inputs):
    """Four triples, four right pairs, four left pairs, the next hop's before them; then four queries.

    From each query by brute force: of the triples those that hold what is told on the left and on the right.
    """
    symbols = [tuple(vector[: len(vector) // 2]) for vector in inputs.tolist()]
    hops, wanted = [symbols[at : at + 28] for at in range(len(symbols) - 32, -1, -28)], []
    for symbol in symbols[-4:]:
        wanted.append([])
        for told in hops:
            right, left = (dict(zip(part[::2], part[1::2], strict=True)) for part in (told[12:20], told[20:]))
            ways = [tuple(told[at : at + 3]) for at in range(0, 12, 3)]
            (way,) = (way for way in ways if way[:2] == (left[symbol], right[symbol]))
            wanted[-1] += [number for one in way for number in one]
            symbol = way[2]
    return torch.tensor(wanted)


def solve_chain_words(words):
    """`g b b 1 ... ? h ? g`, then padding: what the last word asked for comes to, link by link."""
    while words[-1] == "?":
        words = words[:-1]
    told, found = words[: words.index("?")], words[-1]
    follows = dict(zip(told[::2], told[1::2], strict=True))
    while found in follows:
        found = follows[found]
    return found


SOLVERS = {
    "chain_lengths": solve_chain_lengths,
    "k_fold_composition": solve_k_fold,
    "in_context_recall": solve_in_context_recall,
    "balanced_stream": solve_stream,
    "stream_kv": solve_stream,
    "chain_retrieval": solve_chains,
    "conditional_retrieval": solve_conditional,
    "chain_words": solve_chain_words,
    "permutation_recall": solve_permutation_recall,
    "symbolic_kv": solve_key_value,
    "textual_kv": solve_key_value,
    "story": solve_story,
    "planted_repeats": solve_planted_repeats,
}


@pytest.fixture(params=sorted(TASKS))
def task(request):
    return make_task(request.param, {})


@pytest.fixture(params=sorted(name for name, kind in TASKS.items() if issubclass(kind, TokenTask)))
def token_task(request):
    return make_task(request.param, {})


def every_batch(task, n_bases=5):
    """All rows a task can produce, with a name for messages."""
    yield from ((f"split {name}", task.split(name)) for name in task.splits)
    yield from ((f"family {name}", batch) for name, batch in task.families(n_bases).items())
    for pairs in (*task.interchanges(n_bases), *task.edge_tests(n_bases)):
        yield f"{pairs.name} base", pairs.base
        yield f"{pairs.name} source", pairs.source


def words_of(task, row):
    return [task.vocab[token] for token in row.tolist()]


def test_every_task_has_a_solver():
    assert set(SOLVERS) == set(TASKS)


def test_answers_agree_with_the_solver(token_task):
    solve = SOLVERS[token_task.name]
    for where, batch in every_batch(token_task):
        for row, answer in zip(batch.tokens[:600], batch.answers[:600].tolist(), strict=True):
            assert solve(words_of(token_task, row)) == token_task.vocab[answer], (where, token_task.decode(row))


@pytest.mark.parametrize("name", ["chain_retrieval", "chain_lengths", "conditional_retrieval"])
@pytest.mark.parametrize("n_steps", [1, 2, 3, 5])
def test_wanted_vectors_agree_with_the_solver(n_steps, name):
    task = make_task(name, {"n_steps": n_steps, "n_train": 64, "n_test": 64})
    for where, batch in every_batch(task):
        for row, mask, targets in zip(batch.tokens, batch.loss_mask, batch.targets, strict=True):
            assert torch.equal(SOLVERS[task.name](row), targets[mask]), where


def test_tokens_roles_and_variables_are_in_range(task):
    for where, batch in every_batch(task):
        assert isinstance(batch, Batch) and len(batch) > 0, where
        if isinstance(task, TokenTask):
            assert 0 <= batch.tokens.min() and batch.tokens.max() < len(task.vocab), where
        else:
            assert batch.tokens.shape[2:] == (task.d_in,) and batch.targets.shape[2:] == (task.d_out,), where
        assert batch.tokens.shape[1] <= task.max_length, where
        for role, positions in batch.roles.items():
            assert 0 <= positions.min() and positions.max() < batch.tokens.shape[1], (where, role)
        assert set(batch.variables) == set(task.variables), where
        for variable, classes in batch.variables.items():
            assert 0 <= classes.min() and classes.max() < task.variables[variable], (where, variable)


def test_read_out_is_the_last_scored_position(task):
    for where, batch in every_batch(task):
        positions = torch.arange(batch.tokens.shape[1])
        last = torch.where(batch.loss_mask, positions, -1).max(1).values
        assert torch.equal(last, batch.roles["read_out"]) != (task.name in GO_ON), where
        assert (last >= batch.roles["read_out"]).all(), where


def test_scored_targets_are_possible_answers(token_task):
    answers = torch.tensor(token_task.answers)
    for where, batch in every_batch(token_task):
        assert torch.isin(batch.answers, answers).all(), where


def test_chance_is_given_for_every_split(token_task):
    assert set(token_task.chance) == set(token_task.splits)
    assert all(0 < chance < 1 for chance in token_task.chance.values())


def test_no_row_is_in_two_splits(task):
    seen, unions = {}, UNIONS.get(task.name, set())
    for split in (name for name in task.splits if name not in unions):
        for row in {tuple(row) for row in task.split(split).tokens.flatten(1).tolist()}:
            assert row not in seen, (split, seen[row], row)
            seen[row] = split


def test_splits_are_a_function_of_the_parameters(task):
    again = type(task)(**task.params)
    assert again == task and hash(again) == hash(task)
    fresh = task.make_splits()
    for name in task.splits:
        assert task.shape(name) == fresh[name].tokens.shape[:2]
        assert torch.equal(fresh[name].tokens, task.split(name).tokens)
        assert torch.equal(fresh[name].targets, task.split(name).targets)


def test_parameters_survive_json(task):
    params = json.loads(json.dumps(task.params))
    fields = {item.name for item in dataclasses.fields(task)}
    assert fields - set(may_lack(type(task))) <= set(params) <= fields
    assert make_task(task.name, params) == task


def test_base_ids_name_rows_and_counterfactuals_are_repeatable(task):
    for name in task.splits:
        assert torch.equal(task.split(name).base, torch.arange(len(task.split(name))))
    for family, batch in task.families(4).items():
        assert set(batch.base.tolist()) == set(range(4)), family
        assert torch.equal(batch.tokens, task.families(4)[family].tokens), family
    for pairs in (*task.interchanges(4), *task.edge_tests(4)):
        assert torch.equal(pairs.base.base, pairs.source.base), pairs.name
        assert set(pairs.base.base.tolist()) == set(range(4)), pairs.name


def test_interchanges_have_one_name_each_and_predict_answers(token_task):
    made = [*token_task.interchanges(4), *token_task.edge_tests(4)]
    answers = torch.tensor(token_task.answers)
    for group in (token_task.interchanges(4), token_task.edge_tests(4)):
        assert len({pairs.name for pairs in group}) == len(group)
    for pairs in made:
        assert set(pairs.expected) <= {*token_task.variables, "source_answer"}, pairs.name
        for hypothesis, predicted in pairs.expected.items():
            assert torch.isin(predicted, answers).all(), (pairs.name, hypothesis)


@pytest.mark.parametrize("n_bases", [0, -1, 10**6])
def test_impossible_number_of_bases_is_refused(task, n_bases):
    parts = ("families", "interchanges", "edge_tests")
    has = [part for part in parts if getattr(type(task), part) is not getattr(Task, part)]
    makes = [task.bases, *(getattr(task, part) for part in has)]
    if n_bases > 0 and task.name in AT_MOST:
        makes = [task.bases]
    for make in makes:
        with pytest.raises(TaskError, match=rf"n_bases = {n_bases}.*1\.\."):
            make(n_bases)


def test_text_round_trip(token_task):
    for where, batch in every_batch(token_task):
        text = token_task.decode(batch.tokens[0])
        assert torch.equal(token_task.encode(text), batch.tokens[0]), where


def test_rows_are_drawn_of_splits_that_there_are(task):
    """Else a misspelt split is one more stream of rows."""
    if type(task).make_rows is Task.make_rows:
        with pytest.raises(TaskError, match="draws no fresh rows"):
            task.draw(task.splits[0], 2, 0)
        return
    assert len(task.draw(task.splits[0], 2, 0)) == 2
    with pytest.raises(TaskError, match="unknown split 'trian'; .*train"):
        task.draw("trian", 2, 0)
    for n_rows in (0, -1):
        with pytest.raises(TaskError, match=f"n_rows = {n_rows}; allowed: 1 or more"):
            task.draw(task.splits[0], n_rows, 0)


def test_a_few_rows_are_one_at_least(task):
    assert len(task.few(task.splits[0], 2)) == 2
    for n_rows in (0, -5):
        with pytest.raises(TaskError, match=f"n_rows = {n_rows}; allowed: 1 or more"):
            task.few(task.splits[0], n_rows)


def test_unknown_splits_are_named(task):
    with pytest.raises(TaskError, match=f"unknown split '{task.splits[0]}x'; did you mean '{task.splits[0]}'"):
        task.split(f"{task.splits[0]}x")


def test_unknown_words_and_ids_are_named(token_task):
    task, word = token_task, token_task.vocab[-1]
    with pytest.raises(TaskError, match=f"token 1: unknown token '{word}x'.*did you mean '{word}'"):
        task.encode(f"{task.vocab[0]} {word}x")
    with pytest.raises(TaskError, match="no tokens"):
        task.encode("  ")
    with pytest.raises(TaskError, match=f"token id {len(task.vocab)} .*0..{len(task.vocab) - 1}"):
        task.decode(torch.tensor([len(task.vocab)]))


def test_vocabulary_has_no_word_twice(token_task):
    assert len(set(token_task.vocab)) == len(token_task.vocab)
    assert all(word and not any(letter.isspace() for letter in word) for word in token_task.vocab)
