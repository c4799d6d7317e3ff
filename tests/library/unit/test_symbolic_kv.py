"""Symbolic key-value retrieval against brute force over the words of its prompts."""

import dataclasses
import hashlib
import itertools
import time
from collections import Counter
from math import comb, perm

import pytest
import torch
from kv_reader import assert_even, parse

from circuitcore.tasks import TaskError
from circuitcore.tasks.kv_prompts import KVAlphabet, prompts_of, render
from circuitcore.tasks.kv_sampling import _arrangement, _distinct_integers, _subset, random_bits
from circuitcore.tasks.symbolic_kv import SymbolicKV

TASK = SymbolicKV()
PUBLISHED = SymbolicKV(sampling="published")
SHUFFLED = SymbolicKV(targets="shuffled")
FOUR = SymbolicKV(n_pairs=4, n_pairs_ood=5, n_train=200, n_val=20, n_test=50, n_ood=50)
TWO = SymbolicKV(n_pairs=2, n_pairs_ood=3, n_train=200, n_val=20, n_test=50, n_ood=50)


def questions(task, split):
    parsed = [parse(task, row) for row in task.split(split).tokens]
    return [(frozenset(pairs), query) for pairs, query in parsed]


# --- the prompts -----------------------------------------------------------------------------------


def test_worked_example():
    row = TASK.encode("<bos> K3 V4 ; K1 V7 ; K5 V0 ; Q K5 ->")
    assert row.tolist() == [0, 7, 16, 1, 5, 19, 1, 9, 12, 1, 2, 9, 3]
    assert len(TASK.vocab) == 20 and TASK.vocab[:5] == ("<bos>", ";", "Q", "->", "K0")
    assert TASK.answers == tuple(range(12, 20))
    assert TASK.variables == {"query_key": 8, "matching_slot": 4, "selected_value": 8}
    assert TASK.chance == {"train": 1 / 3, "val": 1 / 3, "test": 1 / 3, "ood": 1 / 4}


@pytest.mark.parametrize("task", [TASK, PUBLISHED, TWO, FOUR], ids=["disjoint", "published", "two", "four"])
def test_rows_are_well_formed_and_roles_and_variables_true(task):
    sizes = {"train": task.n_train, "val": task.n_val, "test": task.n_test, "ood": task.n_ood}
    for split, n_rows in sizes.items():
        batch = task.split(split)
        n_pairs = task.n_pairs_ood if split == "ood" else task.n_pairs
        assert batch.tokens.shape == (n_rows, 3 * n_pairs + 4)
        for i in range(min(n_rows, 300)):
            pairs, query = parse(task, batch.tokens[i])
            keys, values = zip(*pairs, strict=True)
            assert len(set(keys)) == len(set(values)) == n_pairs
            slot = keys.index(query)
            assert task.vocab[batch.answers[i]] == values[slot]
            assert batch.variables["matching_slot"][i] == slot
            assert f"K{batch.variables['query_key'][i]}" == query
            assert f"V{batch.variables['selected_value'][i]}" == values[slot]
            for s in range(n_pairs):
                assert task.vocab[batch.tokens[i, batch.roles["slot_key"][i, s]]] == keys[s]
                assert task.vocab[batch.tokens[i, batch.roles["slot_value"][i, s]]] == values[s]
            assert task.vocab[batch.tokens[i, batch.roles["query_key"][i]]] == query
            assert batch.roles["read_out"][i] == batch.tokens.shape[1] - 1


def test_reading_prompts_undoes_rendering():
    batch = TASK.split("ood")
    again = render(prompts_of(batch, TASK.alphabet), TASK.alphabet)
    assert torch.equal(again.tokens, batch.tokens) and torch.equal(again.targets, batch.targets)


# --- sampling --------------------------------------------------------------------------------------


def test_no_question_is_asked_twice_anywhere():
    asked = [question for split in TASK.splits for question in questions(TASK, split)]
    assert len(asked) == len(set(asked)) == 6500


@pytest.mark.parametrize("task", [TASK, TWO, FOUR], ids=["three", "two", "four"])
def test_slots_are_balanced(task):
    for split in task.splits:
        slot = task.split(split).variables["matching_slot"]
        n_pairs = task.split(split).roles["slot_key"].shape[1]
        assert torch.equal(slot, torch.arange(len(slot)) % n_pairs)


def test_every_question_is_used_when_all_are_asked_for():
    n = KVAlphabet(n_keys=4, n_values=4).n_questions(2)
    full = SymbolicKV(n_keys=4, n_values=4, n_pairs=2, n_pairs_ood=3, n_train=n - 20, n_val=10, n_test=10, n_ood=9)
    asked = [question for split in ("train", "val", "test") for question in questions(full, split)]
    assert len(set(asked)) == len(asked) == n == comb(4, 2) * perm(4, 2) * 2 == 144


def test_number_of_questions_by_enumeration():
    alphabet = KVAlphabet(n_keys=4, n_values=5)
    found = set()
    for keys in itertools.permutations(range(4), 3):
        for values in itertools.permutations(range(5), 3):
            pairs = frozenset(zip(keys, values, strict=True))
            found |= {(pairs, query) for query in keys}
    assert alphabet.n_questions(3) == len(found)
    assert KVAlphabet(n_keys=8, n_values=8).n_questions(3) == 56_448
    assert KVAlphabet(n_keys=2, n_values=5).n_questions(3) == 0


def test_unranking_reaches_everything_once():
    subsets = _subset(torch.arange(comb(7, 3)).numpy(), 7, 3)
    assert set(map(tuple, subsets.tolist())) == set(itertools.combinations(range(7), 3))
    arranged = _arrangement(torch.arange(perm(6, 4)).numpy(), 6, 4)
    assert set(map(tuple, arranged.tolist())) == set(itertools.permutations(range(6), 4))


@pytest.mark.parametrize(("below", "n"), [(10, 10), (10, 4), (1000, 3), (2**60, 5)])
def test_distinct_integers(below, n):
    drawn = _distinct_integers(random_bits(1, "test"), below, n)
    assert len(set(drawn.tolist())) == n and drawn.min() >= 0 and drawn.max() < below


@pytest.mark.parametrize("task", [TASK, PUBLISHED], ids=["disjoint", "published"])
def test_sampling_is_uniform(task):
    """Each margin within 4.5 standard deviations of its mean; some 60 counts are looked at."""
    train = task.split("train")
    prompts = prompts_of(train, task.alphabet)
    for column in (prompts.query, prompts.selected, prompts.keys[:, 0], prompts.values[:, 2]):
        assert_even(column, 8)
    assert_even(prompts.slot, 3)
    # The pairs that are not asked for stand in either order equally often.
    others = [tuple(k for k in row if k != q) for row, q in zip(prompts.keys.tolist(), prompts.query, strict=True)]
    assert_even(torch.tensor([int(a < b) for a, b in others]), 2)


def test_different_seeds_give_different_rows():
    other = dataclasses.replace(TASK, generator_seed=8)
    assert not torch.equal(other.split("train").tokens, TASK.split("train").tokens)
    assert len(set(questions(TASK, "train")) & set(questions(other, "train"))) < 600


def digest(*tensors):
    return hashlib.sha256(b"".join(t.numpy().astype("<i8").tobytes() for t in tensors)).hexdigest()[:16]


def test_rows_never_move_under_the_published_runs():
    """If this fails, published runs no longer match their data: do not just update the digests."""
    found = {}
    for name, task in {"disjoint": TASK, "published": PUBLISHED, "shuffled": SHUFFLED}.items():
        batches = [task.split(split) for split in task.splits]
        found[name] = digest(*(part for batch in batches for part in (batch.tokens, batch.targets)))
    found["interchanges"] = digest(*(pairs.source.tokens for pairs in TASK.interchanges(128)))
    assert found == {
        "disjoint": "a9d53ba0f2b482b2",
        "published": "06114b0c639fbfa9",
        "shuffled": "bf5dd37e0079c7e2",
        "interchanges": "ab696fc1d19d7c27",
    }


def test_generation_is_fast():
    start = time.perf_counter()
    TASK.make_splits()
    assert time.perf_counter() - start < 0.3


# --- shuffled targets ------------------------------------------------------------------------------


def test_shuffled_targets_keep_prompts_and_margins_and_lose_the_answer():
    assert SHUFFLED.chance == dict.fromkeys(SHUFFLED.splits, 1 / 8)
    for split in TASK.splits:
        plain, control = TASK.split(split), SHUFFLED.split(split)
        assert torch.equal(plain.tokens, control.tokens)
        assert Counter(plain.answers.tolist()) == Counter(control.answers.tolist())
        for variable, classes in plain.variables.items():
            assert torch.equal(classes, control.variables[variable])
        elsewhere = ~plain.loss_mask
        assert torch.equal(plain.targets[elsewhere], control.targets[elsewhere])
    same = (SHUFFLED.split("train").answers == TASK.split("train").answers).float().mean()
    assert abs(same - 1 / 8) < 0.02  # 4 standard deviations of a share of 5000 at 1/8
    values = TASK.split("train").tokens.gather(1, TASK.split("train").roles["slot_value"])
    in_context = (SHUFFLED.split("train").answers[:, None] == values).any(1).float().mean()
    assert abs(in_context - 3 / 8) < 0.03


def test_counterfactuals_of_the_control_keep_true_answers():
    for family, batch in TASK.families(7).items():
        assert torch.equal(batch.targets, SHUFFLED.families(7)[family].targets), family
    for plain, control in zip(TASK.interchanges(7), SHUFFLED.interchanges(7), strict=True):
        assert torch.equal(plain.source.tokens, control.source.tokens)
        assert all(torch.equal(plain.expected[key], control.expected[key]) for key in plain.expected)


# --- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_pairs": 1}, "n_pairs = 1; must be at least 2"),
        ({"n_pairs_ood": 2}, "n_pairs_ood = 2; must be at least 4: .*n_pairs = 3"),
        ({"n_pairs_ood": 3}, "n_pairs_ood = 3; must be at least 4"),
        ({"n_keys": 3}, "n_keys = 3; must be at least 4: a prompt of 4 pairs"),
        ({"n_values": 3}, "n_values = 3; must be at least 4"),
        ({"n_pairs_ood": 9}, "n_keys = 8; must be at least 9"),
        ({"n_val": 0}, "n_val = 0; must be at least 1"),
        ({"n_train": -5}, "n_train = -5"),
        ({"generator_seed": -1}, "generator_seed = -1; must be at least 0"),
        ({"n_train": 55_449}, r"n_train \+ n_val \+ n_test = 56449 rows.*only 56448 different"),
        ({"n_keys": 4, "n_values": 4, "n_train": 10, "n_val": 9, "n_test": 9}, "n_ood = 500 .*only 96 different"),
        ({"n_keys": 4, "n_values": 4, "n_ood": 9}, "= 6000 rows; with 4 keys, 4 values and 3 pairs .*only 288"),
    ],
)
def test_impossible_parameters_are_refused_with_numbers(params, message):
    with pytest.raises(TaskError, match=message):
        SymbolicKV(**params)


@pytest.mark.parametrize(
    ("key", "word", "message"),
    [
        ("sampling", "disjont", "unknown sampling 'disjont'; did you mean 'disjoint'"),
        ("targets", "random", "unknown targets 'random'; known: matched, shuffled"),
    ],
)
def test_unknown_words_are_refused(key, word, message):
    # Built past __init__: in tests the shape hook sits there and would speak first; users have no hook.
    task = object.__new__(SymbolicKV)
    for name, value in {**TASK.params, key: word}.items():
        object.__setattr__(task, name, value)
    with pytest.raises(TaskError, match=message):
        task.__post_init__()


def test_the_largest_possible_parameters_are_accepted():
    SymbolicKV(n_train=55_448)
    SymbolicKV(n_keys=4, n_values=4, n_ood=96, n_train=286, n_val=1, n_test=1)
    SymbolicKV(n_train=10**6, sampling="published")


def test_more_bases_than_either_split_has_are_refused():
    small = SymbolicKV(n_train=20, n_val=5, n_test=30, n_ood=10)
    with pytest.raises(TaskError, match=r"n_bases = 11; the ood split allows 1\.\.10"):
        small.families(11)
    with pytest.raises(TaskError, match=r"n_bases = 31; the test split allows 1\.\.30"):
        small.interchanges(31)
