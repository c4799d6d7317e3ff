"""k-fold composition against its rules in plain Python: rows, what is held out, chance levels, pairs, refusals."""

import hashlib
import itertools
from collections import Counter

import pytest
import torch

from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.k_fold_composition import KFoldComposition, unable_to_stop

TASK = KFoldComposition(n_rows=40)
NUMBERS = {one: number for number, one in enumerate(itertools.permutations(range(4)))}
DIGESTS = {
    "train": "36cc754f0cc4dbd0",
    "hops_1": "1b7489a003412f22",
    "hops_2": "80e3522ca71f2a16",
    "hops_3": "9c3024915944a8d0",
    "hops_4": "b794c7b663c55e64",
    "up_to_2": "4cd431131ec53226",
    "up_to_3": "0a8d06d7587482c2",
    "test": "5f961603d640bfe8",
    "fresh": "f674e7be82021b3c",
}


def digest(batch):
    found = hashlib.sha256()
    for tensor in (batch.tokens, batch.targets):
        found.update(tensor.numpy().astype("<i8").tobytes())
    return found.hexdigest()[:16]


def walked(task, shown, x, hops):
    """Where a query of one row stands after each hop, one by one."""
    at = [x]
    for hop in range(hops):
        at.append(shown[hop][task.hidden[hop].tolist()[at[-1]]])
    return at


def rows_of(task, batch):
    """Each row as its permutations, and its queries (start, hops), all read off its words."""
    for row in batch.tokens:
        words = task.decode(row).split()
        shown = [[None] * task.n_symbols for _ in range(task.n_hops)]
        for word in words[: -task.n_queries]:
            shown[int(word[0]) - 1]["abcdef".index(word[1])] = "abcdef".index(word[3])
        yield shown, [("abcdef".index(word[2]), int(word[0])) for word in words[-task.n_queries :]]


def test_the_rows_do_not_move():
    found = {split: digest(TASK.split(split)) for split in TASK.splits} | {"fresh": digest(TASK.draw("train", 40, 7))}
    assert found == DIGESTS


@pytest.mark.parametrize("split", TASK.splits)
def test_every_query_is_answered_by_the_walk_and_the_last_one_s_variables_say_it(split):
    batch = TASK.split(split)
    for row, (shown, queries) in enumerate(rows_of(TASK, batch)):
        assert all(sorted(one) == [0, 1, 2, 3] for one in shown)
        wanted = [walked(TASK, shown, x, hops)[-1] for x, hops in queries]
        assert batch.targets[row, batch.roles["queries"][row]].tolist() == wanted
        start, hops = queries[-1]
        walk = walked(TASK, shown, start, 4)
        assert [batch.variables[f"x_{hop}"][row] for hop in range(5)] == walk
        assert batch.variables["hops"][row] == hops - 1


def test_no_row_that_can_be_trained_on_is_held_out():
    def sums(batch):
        return {sum(NUMBERS[tuple(one)] for one in shown) % 24 for shown, _ in rows_of(TASK, batch)}

    assert sums(TASK.split("test")) == {0}
    for split in TASK.splits[:-1]:
        assert 0 not in sums(TASK.draw(split, 300, 1))


def test_numbers_of_hops_are_those_asked_for():
    powers = KFoldComposition(mixed=(1, 2, 4), n_rows=40)
    counts = Counter(hops for _, queries in rows_of(powers, powers.draw("train", 600, 0)) for _, hops in queries)
    assert set(counts) == {1, 2, 4} and max(counts.values()) < 1.1 * min(counts.values())
    for hops in range(1, 5):
        asked = {hop for _, queries in rows_of(TASK, TASK.split(f"hops_{hops}")) for _, hop in queries}
        assert asked == {hops}
    for most in (2, 3):
        asked = Counter(hop for _, queries in rows_of(TASK, TASK.draw(f"up_to_{most}", 600, 0)) for _, hop in queries)
        assert {*asked} == {*range(1, most + 1)} and max(asked.values()) < 1.1 * min(asked.values())
    assert (TASK.split("test").variables["hops"] == torch.arange(160) % 4).all()


@pytest.mark.parametrize("split", ["nonsense_3", "up_to_4", "hops_9"])
def test_rows_of_no_split_are_refused(split):
    with pytest.raises(TaskError, match=split):
        TASK.draw(split, 4, 0)


def test_hidden_permutations_are_no_identities_and_depend_on_their_seed():
    for seed in range(20):
        hidden = KFoldComposition(hidden_seed=seed).hidden
        assert (hidden.sort(1).values == torch.arange(4)).all() and not (hidden == torch.arange(4)).all(1).any()
    assert not torch.equal(KFoldComposition(hidden_seed=1).hidden, TASK.hidden)


@pytest.mark.parametrize("missed", [0, 1])
def test_whoever_misses_a_hop_is_right_in_one_of_n(missed):
    """Over all contexts of two hops: the best guess from everything but one permutation."""
    every, right, total = list(itertools.permutations(range(4))), 0, 0
    for kept in every:
        for x in range(4):
            answers = Counter()
            for gone in every:
                shown = [kept, kept]
                shown[missed] = gone
                answers[walked(TASK, shown, x, 2)[-1]] += 1
            right, total = right + max(answers.values()), total + len(every)
    assert right / total == TASK.chance["test"] == 0.25


def test_whoever_cannot_stop_is_right_as_often_as_counted():
    """Over all contexts of two hops, a uniform guess among the symbols that are reached."""
    every, hits = list(itertools.permutations(range(4))), []
    for shown in itertools.product(every, every):
        for x in range(4):
            reached = walked(TASK, shown, x, 2)[1:]
            hits += [sum(other == reached[hops] for other in reached) / 2 for hops in (0, 1)]
    assert sum(hits) / len(hits) == pytest.approx(unable_to_stop(4, 2)) == pytest.approx(0.625)


def test_pairs_say_what_comes_of_each_intermediate_result():
    for hops, pairs in enumerate(TASK.interchanges(30), 1):
        assert pairs.name == f"hops_{hops}" and set(pairs.expected) == {f"x_{done}" for done in range(hops + 1)}
        rows = zip(rows_of(TASK, pairs.base), rows_of(TASK, pairs.source), strict=True)
        for row, ((shown, queries), (other, asked)) in enumerate(rows):
            assert queries[-1][1] == asked[-1][1] == hops
            walk = walked(TASK, other, asked[-1][0], hops)
            for done in range(hops + 1):
                at = walk[done]
                for hop in range(done, hops):
                    at = shown[hop][TASK.hidden[hop].tolist()[at]]
                assert pairs.expected[f"x_{done}"][row] == at
        assert torch.equal(pairs.expected[f"x_{hops}"], pairs.source.answers)
        assert torch.equal(pairs.source.variables["hops"], pairs.base.variables["hops"])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_symbols": 1}, r"n_symbols = 1; allowed: 2\.\.6"),
        ({"n_hops": 9}, r"n_hops = 9; allowed: 1\.\.8"),
        ({"mixed": []}, r"mixed = \(\); allowed: different numbers of hops, 1\.\.4"),
        ({"mixed": [1, 5]}, r"mixed = \(1, 5\); allowed"),
        ({"mixed": [2, 2]}, r"mixed = \(2, 2\); allowed"),
        ({"n_queries": 0}, "n_queries = 0; allowed: 1 or more"),
        ({"n_queries": 2000}, "n_hops, n_queries = 2,016 tokens; allowed: at most 1,000"),
        ({"hidden_seed": -1}, "hidden_seed = -1; must be at least 0"),
        ({"n_rows": 0}, "n_rows = 0; no split is empty"),
        ({"n_row": 1}, "unknown parameter 'n_row'; did you mean 'n_rows'"),
    ],
)
def test_what_no_rows_can_meet_is_refused_with_the_numbers(params, words):
    with pytest.raises(TaskError, match=words):
        make_task("k_fold_composition", params)
