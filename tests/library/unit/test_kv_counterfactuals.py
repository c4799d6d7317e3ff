"""Counterfactual key-value prompts against brute force over the words of base and source."""

import dataclasses
import itertools
import time
from collections import Counter

import pytest
import torch
from kv_reader import answer, assert_even, parse

from circuitcore.tasks.kv_prompts import prompts_of
from circuitcore.tasks.symbolic_kv import SymbolicKV

TASK = SymbolicKV()
FOUR = SymbolicKV(n_pairs=4, n_pairs_ood=5, n_train=200, n_val=20, n_test=50, n_ood=50)
TWO = SymbolicKV(n_pairs=2, n_pairs_ood=3, n_train=200, n_val=20, n_test=50, n_ood=50)


def family_by_brute_force(task, name, pairs, query):
    """The multiset of (pairs in order, query) that a family must hold for one base."""
    p, m = len(pairs), [key for key, _ in pairs].index(query)
    keys, values = [key for key, _ in pairs], [value for _, value in pairs]
    orders = list(itertools.permutations(range(p)))
    if p > 3:
        orders = [tuple((i + r) % p for i in range(p)) for r in range(p)]
    if name == "query_key_sweep":
        return Counter((tuple(pairs), key) for key in keys)
    if name == "slot_permutation":
        return Counter((tuple(pairs[i] for i in order), query) for order in orders)
    if name == "value_permutation":
        return Counter((tuple(zip(keys, (values[i] for i in order), strict=True)), query) for order in orders)
    rows = Counter()
    for other in set(range(p)) - {m}:
        swapped = list(pairs)
        swapped[m], swapped[other] = swapped[other], swapped[m]
        asked = query if name == "same_answer_different_slot" else swapped[m][0]
        rows[tuple(swapped), asked] += 1
    return rows


@pytest.mark.parametrize("task", [TASK, TWO, FOUR], ids=["three", "two", "four"])
def test_families_hold_exactly_the_rows_of_brute_force(task):
    made = task.families(50)
    longer = made.pop("longer_context")
    assert torch.equal(longer.tokens, task.split("ood").tokens[:50])
    assert longer.base.tolist() == list(range(50))
    assert len(made) == 5
    for name, batch in made.items():
        found = [Counter() for _ in range(50)]
        for row, base in zip(batch.tokens, batch.base.tolist(), strict=True):
            pairs, query = parse(task, row)
            found[base][tuple(pairs), query] += 1
        for base, row in enumerate(task.split("test").tokens[:50]):
            assert found[base] == family_by_brute_force(task, name, *parse(task, row)), (name, base)
        assert [task.vocab[a] for a in batch.answers] == [answer(task, row) for row in batch.tokens], name
        assert batch.base.tolist() == sorted(batch.base.tolist())


def test_family_sizes_are_the_published_ones():
    sizes = {name: len(batch) for name, batch in TASK.families(128).items()}
    assert list(sizes.values()) == [384, 768, 768, 256, 256, 128] and sum(sizes.values()) == 2560


def test_families_change_what_their_names_say():
    test = TASK.split("test")
    for name, keeps_slot in (("same_answer_different_slot", False), ("same_slot_different_answer", True)):
        batch = TASK.families(50)[name]
        base = test.rows(batch.base)
        same_slot = batch.variables["matching_slot"] == base.variables["matching_slot"]
        same_answer = batch.answers == base.answers
        assert same_slot.all() if keeps_slot else not same_slot.any()
        assert same_answer.all() if not keeps_slot else not same_answer.any()


def by_name(made):
    return {pairs.name: pairs for pairs in made}


@pytest.mark.parametrize(
    ("task", "rows"),
    [
        (TASK, {"query_key": 6, "same_slot": 2, "same_key": 2, "separating": 2}),
        (TWO, {"query_key": 2, "same_slot": 1, "same_key": 1}),
        (FOUR, {"query_key": 12, "same_slot": 3, "same_key": 3, "separating": 6}),
        (dataclasses.replace(TASK, n_values=5), {"query_key": 6}),
    ],
    ids=["three", "two", "four", "few values"],
)
def test_which_interchanges_are_made(task, rows):
    assert {name: len(x) / 10 for name, x in by_name(task.interchanges(10)).items()} == rows


@pytest.mark.parametrize("task", [TASK, FOUR], ids=["three", "four"])
def test_query_interchange_holds_all_ordered_pairs_of_queries(task):
    pairs = by_name(task.interchanges(20))["query_key"]
    found = Counter()
    for base, source, wanted in zip(
        pairs.base.tokens, pairs.source.tokens, pairs.expected["source_answer"], strict=True
    ):
        (context, query), (same, other) = parse(task, base), parse(task, source)
        assert context == same and query != other
        assert task.vocab[wanted] == dict(context)[other]
        found[tuple(context), query, other] += 1
    assert set(found.values()) == {1} and set(pairs.expected) == {"source_answer"}
    assert len(found) == 20 * task.n_pairs * (task.n_pairs - 1)


def slots_and_keys(context, query, source_context, source_query):
    """m, the base slot that holds the source's query key, and the source's matching slot."""
    keys, source_keys = [key for key, _ in context], [key for key, _ in source_context]
    return keys.index(query), keys.index(source_query), source_keys.index(source_query)


@pytest.mark.parametrize("task", [TASK, FOUR, TWO], ids=["three", "four", "two"])
def test_separating_interchanges_predict_what_brute_force_finds(task):
    made = by_name(task.interchanges(50))
    made.pop("query_key")
    for name, pairs in made.items():
        chosen = Counter()
        for i in range(len(pairs)):
            context, query = parse(task, pairs.base.tokens[i])
            source_context, source_query = parse(task, pairs.source.tokens[i])
            m, held, asked = slots_and_keys(context, query, source_context, source_query)
            assert torch.equal(pairs.base.tokens[i], task.split("test").tokens[pairs.base.base[i]])
            if name == "same_slot":
                assert asked == m and held != m
            elif name == "same_key":
                assert held == m and asked != m
            else:
                assert len({m, held, asked}) == 3
            values = [value for _, value in context]
            assert not set(values) & {value for _, value in source_context}
            predicted = {key: task.vocab[token[i]] for key, token in pairs.expected.items()}
            assert predicted == {
                "query_key": values[held],
                "matching_slot": values[asked],
                "selected_value": dict(source_context)[source_query],
            }
            assert len(set(predicted.values())) == 3
            if name == "separating":
                assert values[m] not in predicted.values()
            chosen[pairs.base.base[i].item(), held, asked] += 1
        assert set(chosen.values()) == {1}, name


def test_sources_of_interchanges_are_filled_at_random():
    source = by_name(TASK.interchanges(500))["separating"].source
    prompts = prompts_of(source, TASK.alphabet)
    assert_even(prompts.keys.flatten(), 8)
    assert_even(prompts.values.flatten(), 8)
    assert len({tuple(row) for row in source.tokens.tolist()}) > 980


def rotations(row):
    return [row[shift:] + row[:shift] for shift in range(len(row))]


@pytest.mark.parametrize("task", [TASK, FOUR, TWO], ids=["three", "four", "two"])
def test_edge_tests_change_one_ingredient_and_the_answer(task):
    made = by_name(task.edge_tests(50))
    assert list(made) == ["query", "keys", "values"]
    for name, pairs in made.items():
        assert len(pairs) == 50 * (task.n_pairs - 1)
        sources = set()
        for i in range(len(pairs)):
            context, query = parse(task, pairs.base.tokens[i])
            source_context, source_query = parse(task, pairs.source.tokens[i])
            keys, values = zip(*context, strict=True)
            source_keys, source_values = zip(*source_context, strict=True)
            differs = {"query": query != source_query, "keys": keys != source_keys, "values": values != source_values}
            assert differs == {key: key == name for key in differs}
            assert source_keys in rotations(keys) and source_values in rotations(values)
            assert task.vocab[pairs.expected["source_answer"][i]] == dict(source_context)[source_query]
            assert dict(source_context)[source_query] != dict(context)[query]
            assert pairs.base.answers[i] != pairs.source.answers[i]
            sources.add((tuple(context), tuple(source_context), source_query))
        assert len(sources) == len(pairs)


def test_counterfactuals_are_fast():
    start = time.perf_counter()
    TASK.families(128), TASK.interchanges(128), TASK.edge_tests(128)
    assert time.perf_counter() - start < 0.3
