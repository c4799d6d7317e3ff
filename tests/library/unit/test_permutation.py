"""Permutation recall against the source's rules, in plain Python: its division, its rows, its probes, its pairs."""

import hashlib
import itertools
import math
import random
from collections import Counter

import pytest
import torch

from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.permutation import PermutationRecall

TASK = PermutationRecall()
SYMBOLS = (1, 2, 3, 4, 5)
SHOWN_UNSEEN = ((4, 1, 3, 5, 2), (1, 4, 2, 5, 3), (5, 3, 2, 4, 1))  # the page shows them as held out
DIGESTS = {
    "train": "80b3782d19cea9648af5a86d164012f20e80626b91029c66ea89bf8a8cfccd4b",
    "test": "b81b9c5c1c8b02576486d92a9a1922ac05f4f36d2398c64b53537a39d282ff84",
    "all": "72a71e1db8fe429ac5efca2844b230c1eddeca55b212ae3ffd0ff01e20f734d9",
    "fresh": "412dcc65b47ee25272e09aa1e29b81ed1f1e11c228d4788da5b5eb75c7a4c51f",
}
N_DRAWN = 20_000


def permutations(task, split):
    return {tuple(one) for one in task.permutations(split).tolist()}


def digest(*tensors):
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(tensor.numpy().astype("<i8").tobytes())
    return found.hexdigest()


def pairs_of(batch):
    """Each row as its list of pairs (x, y), the last y as wanted."""
    rows = zip(batch.tokens.tolist(), batch.answers.tolist(), strict=True)
    return [list(zip(row[::2], [*row[1::2], answer], strict=True)) for row, answer in rows]


class TestDivision:
    def test_it_is_the_source_s(self):
        """Python's ``random.seed(42)``, a shuffle of the lexicographic list, the first 96."""
        every = list(itertools.permutations(SYMBOLS))
        random.Random(42).shuffle(every)
        assert permutations(TASK, "train") == set(every[:96])
        assert permutations(TASK, "test") == set(every[96:])
        assert set(SHOWN_UNSEEN) <= permutations(TASK, "test")

    def test_it_divides(self):
        train, test = TASK.permutations("train"), TASK.permutations("test")
        assert (len(train), len(test), len(TASK.permutations("all"))) == (96, 24, 120)
        assert permutations(TASK, "train") | permutations(TASK, "test") == permutations(TASK, "all")
        assert permutations(TASK, "all") == set(itertools.permutations(SYMBOLS))

    def test_what_is_frequent_in_one_part_is_rare_in_the_other(self):
        counts = {split: cells(TASK, split) for split in ("train", "test")}
        for x, y in itertools.product(SYMBOLS, SYMBOLS):
            assert counts["train"][x, y] + counts["test"][x, y] == 24
        assert max(counts["test"].values()) > 5, "the source's division is not balanced; the chapter is about that"

    @pytest.mark.parametrize("seed", [1, 42, 100])
    def test_balanced_means_every_cell_19_or_20(self, seed):
        task = PermutationRecall(division="balanced", split_seed=seed)
        assert (len(permutations(task, "train")), len(permutations(task, "test"))) == (96, 24)
        counts = cells(task, "train")
        assert set(counts.values()) == {19, 20} and len(counts) == 25

    @pytest.mark.parametrize(("v", "n_train"), [(3, 1), (3, 4), (4, 7), (4, 19), (5, 50), (5, 119), (6, 576), (6, 719)])
    def test_balanced_is_within_one_for_every_size(self, v, n_train):
        task = PermutationRecall(n_symbols=v, n_train=n_train, division="balanced")
        assert len(permutations(task, "train")) == n_train
        assert len(permutations(task, "test")) == math.factorial(v) - n_train
        for split in ("train", "test"):
            counts = [cells(task, split)[x, y] for x in range(1, v + 1) for y in range(1, v + 1)]
            assert max(counts) - min(counts) <= 1

    def test_other_seeds_divide_otherwise(self):
        for division in ("shuffled", "balanced"):
            one, other = (PermutationRecall(division=division, split_seed=seed) for seed in (1, 2))
            assert permutations(one, "test") != permutations(other, "test")

    def test_where_none_is_held_out_tests_use_all(self):
        task = PermutationRecall(n_train=120)
        assert permutations(task, "train") == permutations(task, "test") == permutations(task, "all")
        assert len(task.permutations("all")) == 120 and len(task.probes("test")) == 120 * 120 * 4


def cells(task, split):
    """How many permutations of a split send x to y."""
    return Counter((x, y) for one in permutations(task, split) for x, y in enumerate(one, 1))


def test_published_rows_stay():
    """Runs and tables stand on these; whoever moves one must say so."""
    drawn = TASK.draw("train", 1000, 7)
    found = {split: digest(TASK.permutations(split), TASK.split(split).tokens) for split in TASK.splits}
    found["fresh"] = digest(drawn.tokens, drawn.targets, drawn.loss_mask)
    assert found == DIGESTS


class TestRows:
    @pytest.mark.parametrize("split", TASK.splits)
    def test_a_row_is_five_pairs_of_one_permutation_without_the_last_y(self, split):
        batch, allowed = TASK.split(split), permutations(TASK, split)
        assert len(batch) == 5000 and batch.tokens.shape[1] == TASK.max_length == 9
        for pairs, slot, y_source in zip(pairs_of(batch), *two(batch), strict=True):
            x, said = [x for x, _ in pairs], dict(pairs)
            if slot == 5:
                assert sorted(x) == list(SYMBOLS) and tuple(said[x] for x in SYMBOLS) in allowed
            else:
                assert x[4] == x[slot] and len(set(x[:4])) == 4 and pairs[4] == pairs[slot]
                (missing,), (left,) = set(SYMBOLS) - set(x), set(SYMBOLS) - set(said.values())
                assert tuple((said | {missing: left})[x] for x in SYMBOLS) in allowed
            assert y_source == pairs[0 if slot == 5 else slot][1] - 1

    def test_every_y_is_wanted_at_its_x_and_nothing_else_is(self):
        batch = TASK.split("train")
        assert batch.loss_mask.all(0).tolist() == [True, False] * 4 + [True]
        assert batch.loss_mask.any(0).tolist() == [True, False] * 4 + [True]
        assert torch.equal(batch.targets[:, :-1], batch.tokens[:, 1:])
        assert torch.equal(batch.targets[:, -1], batch.answers)

    def test_roles_name_the_places(self):
        batch = TASK.probes("test", 500)
        assert (batch.roles["x"] == torch.tensor([0, 2, 4, 6, 8])).all()
        assert (batch.roles["y"] == torch.tensor([1, 3, 5, 7])).all() and (batch.roles["read_out"] == 8).all()
        source = batch.variables["source"]
        assert torch.equal(batch.roles["x_source"], 2 * source)
        assert torch.equal(batch.roles["y_source"], 2 * source + 1)
        shown = batch.tokens.gather(1, batch.roles["y_source"][:, None])[:, 0]
        assert torch.equal(shown, batch.answers) and torch.equal(shown - 1, batch.variables["y_source"])
        assert torch.equal(batch.tokens[torch.arange(500), batch.roles["x_source"]], batch.tokens[:, 8])
        assert TASK.variables == {"source": 6, "y_source": 5}

    def test_where_nothing_is_repeated_the_source_is_nobody_s(self):
        batch = TASK.every_row("test", 100)
        assert (batch.variables["source"] == 5).all() and (batch.roles["x_source"] == 0).all()

    def test_repeats_are_as_frequent_as_wanted_and_from_everywhere(self):
        assert_shares(TASK.draw("train", N_DRAWN, 3), {slot: 0.3 / 4 for slot in range(4)})
        task = PermutationRecall(repeat_ratio=0.5, repeat_sources=(0, 2))
        assert_shares(task.draw("train", N_DRAWN, 3), {0: 0.25, 2: 0.25})
        assert_shares(task.split("test"), {0: 0.25, 2: 0.25})

    @pytest.mark.parametrize(("ratio", "repeats"), [(0.0, False), (1.0, True)])
    def test_never_and_always(self, ratio, repeats):
        drawn = PermutationRecall(repeat_ratio=ratio).draw("train", 2000, 0)
        assert ((drawn.variables["source"] < 5) == repeats).all()

    def test_permutations_and_orders_are_drawn_evenly(self):
        rows = pairs_of(PermutationRecall(repeat_ratio=0.0).draw("train", N_DRAWN, 11))
        of_permutations = Counter(tuple(dict(pairs)[x] for x in SYMBOLS) for pairs in rows)
        of_orders = Counter(tuple(x for x, _ in pairs) for pairs in rows)
        assert set(of_permutations) == permutations(TASK, "train") and len(of_orders) == 120
        for counts, n in ((of_permutations, 96), (of_orders, 120)):
            chi_squared = sum((count - N_DRAWN / n) ** 2 for count in counts.values()) / (N_DRAWN / n)
            assert abs(chi_squared - (n - 1)) < 4 * math.sqrt(2 * (n - 1))

    def test_an_earlier_slot_may_be_the_repeated_one(self):
        batch = PermutationRecall(repeat_slot=2, repeat_ratio=1.0).draw("train", 500, 0)
        for pairs, slot, _ in zip(pairs_of(batch), *two(batch), strict=True):
            assert slot in (0, 1) and pairs[2] == pairs[slot] and len({x for x, _ in pairs}) == 4

    def test_the_last_slot_has_two_names(self):
        named, counted = PermutationRecall(repeat_slot=4), PermutationRecall()
        assert torch.equal(named.draw("train", 100, 0).tokens, counted.draw("train", 100, 0).tokens)

    def test_a_draw_is_a_function_of_split_seed_and_parameters(self):
        first = TASK.draw("train", 300, 5)
        assert torch.equal(first.tokens, PermutationRecall().draw("train", 300, 5).tokens)
        for other in (TASK.draw("train", 300, 6), TASK.draw("all", 300, 5), TASK.split("train").rows(slice(0, 300))):
            assert (other.tokens != first.tokens).any(1).float().mean() > 0.9

    def test_draws_of_a_split_hold_its_permutations_alone(self):
        rows = pairs_of(PermutationRecall(repeat_ratio=0.0).draw("test", 2000, 0))
        assert {tuple(dict(pairs)[x] for x in SYMBOLS) for pairs in rows} == permutations(TASK, "test")


def two(batch):
    return batch.variables["source"].tolist(), batch.variables["y_source"].tolist()


def assert_shares(batch, wanted):
    """Slot -> share of rows that repeat it, to four standard errors; the other slots are never repeated."""
    found = Counter(batch.variables["source"].tolist())
    assert set(found) == {*wanted, 5}
    for slot, share in {**wanted, 5: 1 - sum(wanted.values())}.items():
        assert abs(found[slot] / len(batch) - share) < 4 * math.sqrt(share * (1 - share) / len(batch))


class TestProbes:
    @pytest.mark.parametrize(("split", "n"), [("test", 24), ("train", 96)])
    def test_every_permutation_order_and_source_once(self, split, n):
        probes, rows = TASK.probes(split), TASK.every_row(split)
        assert (len(probes), len(rows)) == (n * 120 * 4, n * 120)
        wanted = [
            [*((x, one[x - 1]) for x in order[:4]), (order[slot], one[order[slot] - 1])]
            for one in permutations(TASK, split)
            for order in itertools.permutations(SYMBOLS)
            for slot in range(4)
        ]
        assert sorted(pairs_of(probes)) == sorted(wanted)
        assert len({tuple(map(tuple, pairs)) for pairs in pairs_of(rows)}) == n * 120
        assert (rows.variables["source"] == 5).all()

    def test_all_of_them(self):
        assert len(TASK.every_row("all")) == 14_400 and len(TASK.probes("all")) == 57_600

    def test_fewer_are_different_ones_and_the_same_every_time(self):
        few = TASK.probes("test", 700)
        assert len({tuple(row) for row in few.tokens.tolist()}) == len(few) == 700
        assert torch.equal(few.tokens, TASK.probes("test", 700).tokens)
        assert set(few.variables["source"].tolist()) == {0, 1, 2, 3}
        assert len(TASK.probes("test", 10**6)) == 11_520
        with pytest.raises(TaskError, match=r"n_rows = 0; allowed: 1\.\..*11520"):
            TASK.probes("test", 0)

    def test_only_the_sources_that_are_trained(self):
        assert set(PermutationRecall(repeat_sources=(1, 3)).probes("test").variables["source"].tolist()) == {1, 3}

    def test_families_are_rows_to_eliminate_on_and_probes(self):
        families = TASK.families(300)
        assert list(families) == ["normal", "repeat"]
        assert torch.equal(families["normal"].tokens, TASK.every_row("test", 300).tokens)
        assert torch.equal(families["repeat"].tokens, TASK.probes("test", 300).tokens)


class TestInterchanges:
    def pair(self, name, task=TASK):
        (found,) = [pairs for pairs in task.interchanges(400) if pairs.name == name]
        changed = [
            [place for place in range(9) if a[place] != b[place]]
            for a, b in zip(found.base.tokens.tolist(), found.source.tokens.tolist(), strict=True)
        ]
        return found, changed

    def test_value_changes_the_y_to_be_remembered_into_the_one_left_out(self):
        pairs, changed = self.pair("value")
        for base, source, places, slot, wanted in zip(
            pairs_of(pairs.base), pairs_of(pairs.source), changed, two(pairs.base)[0],
            pairs.expected["source_answer"].tolist(), strict=True,
        ):  # fmt: skip
            assert places == [2 * slot + 1]
            assert {wanted} == set(SYMBOLS) - {y for _, y in base}
            assert source[slot][1] == source[4][1] == wanted

    @pytest.mark.parametrize("task", [TASK, PermutationRecall(repeat_sources=(0, 3))])
    def test_trade_exchanges_it_with_another_y_that_is_shown(self, task):
        """So that eliminating keeps the base row's answer, and only recall gives the source row's."""
        pairs, changed = self.pair("trade", task)
        following = {slot: task.sources[(place + 1) % len(task.sources)] for place, slot in enumerate(task.sources)}
        for base, source, places, slot, wanted in zip(
            pairs_of(pairs.base), pairs_of(pairs.source), changed, two(pairs.base)[0],
            pairs.expected["source_answer"].tolist(), strict=True,
        ):  # fmt: skip
            other = following[slot]
            assert places == sorted([2 * slot + 1, 2 * other + 1])
            assert {y for _, y in base} == {y for _, y in source}
            assert wanted == base[other][1] == source[slot][1] == source[4][1] != base[4][1]

    @pytest.mark.parametrize("task", [TASK, PermutationRecall(repeat_sources=(0, 3))])
    def test_match_puts_the_repeated_x_elsewhere(self, task):
        pairs, changed = self.pair("match", task)
        following = {slot: task.sources[(place + 1) % len(task.sources)] for place, slot in enumerate(task.sources)}
        for base, source, places, slot, wanted in zip(
            pairs_of(pairs.base), pairs_of(pairs.source), changed, two(pairs.base)[0],
            pairs.expected["source_answer"].tolist(), strict=True,
        ):  # fmt: skip
            other = following[slot]
            assert places == sorted([2 * slot, 2 * other])
            assert source[4][0] == base[4][0] == source[other][0] and wanted == base[other][1] == source[4][1]
        assert torch.equal(pairs.source.variables["source"], torch.tensor([following[s] for s in two(pairs.base)[0]]))

    def test_sources_follow_a_permutation_each(self):
        for pairs in TASK.interchanges(200):
            for row in pairs_of(pairs.source):
                assert len({x for x, _ in row}) == len({y for _, y in row}) == len(set(row)) == 4

    @pytest.mark.parametrize("sources", [(2, 0), (3, 0, 1), (1, 1)])
    def test_sources_out_of_order_or_twice_are_refused(self, sources):
        """A row would be exchanged with itself."""
        with pytest.raises(TaskError, match="different slots, in their order"):
            PermutationRecall(repeat_sources=sources)

    def test_of_one_source_or_another_repeated_slot_there_are_none(self):
        assert PermutationRecall(repeat_sources=(2,)).interchanges(10) == ()
        assert PermutationRecall(repeat_slot=2).interchanges(10) == ()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_symbols": 2}, ["n_symbols = 2", "3..8"]),
        ({"n_symbols": 9}, ["n_symbols = 9", "3..8"]),
        ({"n_train": 0}, ["n_train = 0", "1..120"]),
        ({"n_train": 121}, ["n_train = 121", "5 symbols", "1..120"]),
        ({"n_symbols": 4}, ["n_train = 96", "4 symbols", "1..24"]),
        ({"repeat_ratio": 1.5}, ["repeat_ratio = 1.5", "0..1"]),
        ({"repeat_ratio": -0.1}, ["repeat_ratio = -0.1", "0..1"]),
        ({"repeat_slot": 0}, ["repeat_slot = 0", "-1", "1..4"]),
        ({"repeat_slot": 5}, ["repeat_slot = 5", "1..4"]),
        ({"repeat_sources": [4]}, ["repeat_sources = (4,)", "slot 4", "earlier"]),
        ({"repeat_slot": 2, "repeat_sources": [0, 2]}, ["repeat_sources = (0, 2)", "slot 2", "earlier"]),
        ({"repeat_sources": [-1]}, ["repeat_sources = (-1,)"]),
        ({"n_rows": 0}, ["n_rows = 0"]),
        ({"division": "latin"}, ["division", "latin", "shuffled", "balanced"]),
    ],
)
def test_parameters_that_no_rows_can_meet_are_named(params, words):
    with pytest.raises(TaskError) as caught:
        make_task("permutation_recall", params)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("ask", [TASK.permutations, lambda split: TASK.draw(split, 5, 0), TASK.probes, TASK.every_row])
def test_an_unknown_split_is_named(ask):
    with pytest.raises(TaskError, match="unknown split 'tset'; did you mean 'test'"):
        ask("tset")


@pytest.mark.parametrize("v", range(3, 9))
def test_every_size(v):
    task = PermutationRecall(n_symbols=v, n_train=round(0.8 * math.factorial(v)), n_rows=200)
    assert len(task.vocab) == v + 1 and task.max_length == 2 * v - 1 and task.answers == tuple(range(1, v + 1))
    assert task.variables == {"source": v + 1, "y_source": v} and set(task.chance.values()) == {1 / v}
    for batch in (task.split("test"), task.probes("test", 50), *(pairs.source for pairs in task.interchanges(20))):
        for pairs in pairs_of(batch):
            said = dict(pairs)
            assert len(pairs) == v and len(set(said.values())) == len(said) >= v - 1
    assert len(task.permutations("test")) == math.factorial(v) - round(0.8 * math.factorial(v))
