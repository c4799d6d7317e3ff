"""Posteriors and loss levels against plain enumeration: all permutations that fit what was shown, counted in loops."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest
import torch

from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.tasks.permutation_posterior import (
    loss_levels,
    marginal_posterior,
    train_posterior,
    uniform_posterior,
)

TASKS = {
    "5, source's split": PermutationRecall(),
    "5, balanced": PermutationRecall(division="balanced", split_seed=3),
    "5, few trained on": PermutationRecall(n_train=7),
    "5, an earlier slot": PermutationRecall(repeat_slot=2, repeat_ratio=0.5),
    "4": PermutationRecall(n_symbols=4, n_train=19),
    "4, all": PermutationRecall(n_symbols=4, n_train=24),
    "3": PermutationRecall(n_symbols=3, n_train=4),
}
LEVELS = (
    "uniform guess",
    "elimination, blind to repeats",
    "elimination, repeats detected",
    "elimination and recall",
    "train posterior",
)


def some_rows(task):
    """Rows with and without a repeat, of permutations trained on and of others; and their pairs."""
    batch = task.draw("all", 150, 4)
    rows = zip(batch.tokens.tolist(), batch.answers.tolist(), strict=True)
    return batch, [list(zip(row[::2], [*row[1::2], answer], strict=True)) for row, answer in rows]


def as_lists(task, split):
    return [tuple(one) for one in task.permutations(split).tolist()]


def fitting(permutations, shown):
    """Those that send each x that was shown to the y beside it."""
    return [one for one in permutations if all(one[x - 1] == y for x, y in shown)]


def shares(weights, v):
    total = sum(weights.values())
    return [Fraction(weights.get(y, 0), total) for y in range(1, v + 1)]


@pytest.fixture(params=TASKS)
def task(request):
    return TASKS[request.param]


def test_uniform_is_what_all_permutations_that_fit_say(task):
    batch, rows = some_rows(task)
    found, every = uniform_posterior(task, batch), as_lists(task, "all")
    for row, pairs in enumerate(rows):
        for slot, (x, _) in enumerate(pairs):
            said = Counter(one[x - 1] for one in fitting(every, pairs[:slot]))
            assert found[row, slot].tolist() == pytest.approx(list(map(float, shares(said, task.n_symbols))), abs=1e-12)


def test_train_is_what_those_trained_on_say_and_uniform_where_none_fits(task):
    batch, rows = some_rows(task)
    (found, fits), uniform = train_posterior(task, batch), uniform_posterior(task, batch)
    trained, n_without = as_lists(task, "train"), 0
    for row, pairs in enumerate(rows):
        for slot, (x, _) in enumerate(pairs):
            said = Counter(one[x - 1] for one in fitting(trained, pairs[:slot]))
            assert bool(fits[row, slot]) == bool(said)
            wanted = list(map(float, shares(said, task.n_symbols))) if said else uniform[row, slot].tolist()
            assert found[row, slot].tolist() == pytest.approx(wanted, abs=1e-12)
            n_without += not said
    assert bool(n_without) == (task.n_train < math.factorial(task.n_symbols))


def test_marginal_weighs_what_is_left_by_how_often_it_is_trained_on(task):
    batch, rows = some_rows(task)
    found, trained = marginal_posterior(task, batch), as_lists(task, "train")
    for row, pairs in enumerate(rows):
        for slot, (x, _) in enumerate(pairs):
            known, used = dict(pairs[:slot]), {y for _, y in pairs[:slot]}
            left = [known[x]] if x in known else [y for y in range(1, task.n_symbols + 1) if y not in used]
            counts = {y: sum(one[x - 1] == y for one in trained) for y in left}
            wanted = shares(counts if any(counts.values()) else dict.fromkeys(left, 1), task.n_symbols)
            assert found[row, slot].tolist() == pytest.approx(list(map(float, wanted)), abs=1e-12)


def test_one_row_by_hand():
    """3 2 5 1 1 4 2 3, then 5 again: nothing is known, then ever less is left, then the y of 5 is remembered."""
    task = PermutationRecall()
    batch = task.rows(torch.tensor([[4, 3, 2, 5, 1]]), torch.tensor([[3, 5, 1, 2, 4]]), torch.tensor([1]))
    assert batch.tokens.tolist() == [[3, 2, 5, 1, 1, 4, 2, 3, 5]]
    wanted = [
        [1 / 5, 1 / 5, 1 / 5, 1 / 5, 1 / 5],
        [1 / 4, 0, 1 / 4, 1 / 4, 1 / 4],
        [0, 0, 1 / 3, 1 / 3, 1 / 3],
        [0, 0, 1 / 2, 0, 1 / 2],
        [1, 0, 0, 0, 0],
    ]
    torch.testing.assert_close(uniform_posterior(task, batch)[0], torch.tensor(wanted, dtype=torch.float64))


def test_a_held_out_permutation_is_impossible_in_the_end():
    """Whoever knows the split exactly never says the y that is right; where nothing fits they cannot know it."""
    task = PermutationRecall()
    rows = task.every_row("test")
    found, fits = train_posterior(task, rows)
    wanted = rows.targets.gather(1, rows.roles["x"]) - 1
    of_truth = found.gather(2, wanted[..., None])[..., 0]
    assert fits[:, :3].all() and not fits[:, 4].any()
    assert 1 - fits[:, 3].double().mean() == pytest.approx(0.19, abs=0.005)  # the facts' 19 % of cases
    assert of_truth[:, 3][fits[:, 3]].max() == 0


def predicted_accuracy(permutations, scored, score):
    """Share of steps 1..V at which the best-scored y among those left is right, ties shared; by enumeration."""
    v, right = len(scored[0]), Counter()
    for one in scored:
        for n_shown in range(v):
            for shown in itertools.permutations(range(1, v + 1), n_shown):
                for x in set(range(1, v + 1)) - set(shown):
                    pairs = [(seen, one[seen - 1]) for seen in shown]
                    scores = score(permutations, pairs, x)
                    best = [y for y, s in scores.items() if s == max(scores.values())]
                    right[n_shown] += Fraction(one[x - 1] in best, len(best))
    return [float(right[k] / (len(scored) * math.perm(v, k) * (v - k))) for k in range(v)]


def by_marginal(trained, pairs, x):
    used = {y for _, y in pairs}
    return {y: sum(one[x - 1] == y for one in trained) for y in range(1, 6) if y not in used}


def by_posterior(trained, pairs, x):
    used, fit = {y for _, y in pairs}, fitting(trained, pairs)
    left = [y for y in range(1, 6) if y not in used]
    return {y: sum(one[x - 1] == y for one in fit) if fit else 1 for y in left}


@pytest.mark.parametrize("which", ["marginal", "train"])
def test_accuracy_on_held_out_rows_is_below_the_ceiling(which):
    """The argmax of what was trained on most is, on the complement, what is right least."""
    task = PermutationRecall()
    rows, score = task.every_row("test"), {"marginal": by_marginal, "train": by_posterior}[which]
    found = {"marginal": marginal_posterior(task, rows), "train": train_posterior(task, rows)[0]}[which]
    best = found >= found.amax(-1, keepdim=True) - 1e-12
    wanted = rows.targets.gather(1, rows.roles["x"]) - 1
    accuracy = (best.gather(2, wanted[..., None])[..., 0].double() / best.sum(-1)).mean(0).tolist()
    expected = predicted_accuracy(as_lists(task, "train"), as_lists(task, "test"), score)
    assert accuracy == pytest.approx(expected, abs=1e-9)
    ceilings = [1 / 5, 1 / 4, 1 / 3, 1 / 2]
    if which == "marginal":  # the facts' section 5; the page published 9.56, 16.40, 24.56 and 42.26 %
        assert accuracy[:4] == pytest.approx([0.1, 0.1458, 0.2264, 0.4021], abs=5e-5)
    assert all(a < ceiling for a, ceiling in zip(accuracy[:4], ceilings, strict=True)) and accuracy[4] == 1


def test_where_every_cell_is_trained_on_alike_the_marginals_say_nothing():
    task = PermutationRecall(n_train=100, division="balanced")
    rows = task.every_row("test")
    torch.testing.assert_close(marginal_posterior(task, rows), uniform_posterior(task, rows))


# Section 3 of the facts: mean over the five scored positions, nats, by share of repeats.
PUBLISHED_LEVELS = {
    0.0: (1.6094, 0.9575, 0.9575, 0.9575, 0.9129),
    0.3: (1.6094, 1.1629, 1.0407, 0.9575, 0.9129),
    0.5: (1.6094, 1.2348, 1.0961, 0.9575, 0.9129),
}


@pytest.mark.parametrize("ratio", PUBLISHED_LEVELS)
def test_levels_are_those_of_the_facts(ratio):
    levels = loss_levels(PermutationRecall(repeat_ratio=ratio))
    assert tuple(levels) == LEVELS
    assert tuple(levels.values()) == pytest.approx(PUBLISHED_LEVELS[ratio], abs=6e-5)


LEVEL_TASKS = {
    "4": PermutationRecall(n_symbols=4, n_train=19, repeat_ratio=0.3),
    "4, balanced, half": PermutationRecall(n_symbols=4, n_train=10, division="balanced", repeat_ratio=0.5),
    "4, never": PermutationRecall(n_symbols=4, n_train=24, repeat_ratio=0.0),
    "4, always": PermutationRecall(n_symbols=4, n_train=19, repeat_ratio=1.0),
    "4, of the first alone": PermutationRecall(n_symbols=4, n_train=19, repeat_ratio=0.5, repeat_sources=(0,)),
    "4, of two": PermutationRecall(n_symbols=4, n_train=19, repeat_ratio=0.4, repeat_sources=(0, 2)),
    "4, an earlier slot": PermutationRecall(n_symbols=4, n_train=19, repeat_slot=2),
    "3": PermutationRecall(n_symbols=3, n_train=5),
}


@pytest.mark.parametrize("name", LEVEL_TASKS)
def test_levels_are_those_of_every_row_in_turn(name):
    """Each level from its predictor's probabilities, over all rows with their shares; no closed form."""
    task = LEVEL_TASKS[name]
    totals, trained, v = dict.fromkeys(LEVELS, 0.0), as_lists(task, "train"), task.n_symbols
    for one in trained:
        for order in itertools.permutations(range(1, v + 1)):
            for source, share in sources(task):
                said = probabilities_of_truth(task, trained, one, order, source)
                for level, of_slots in said.items():
                    loss = -sum(math.log(p) for p in of_slots) / v
                    totals[level] += share * loss / (len(trained) * math.factorial(v))
    assert loss_levels(task) == pytest.approx(totals, abs=1e-9)


def sources(task):
    """(slot or None, share of rows) of what may be repeated."""
    found = [(None, 1 - task.repeat_ratio), *((slot, task.repeat_ratio / len(task.sources)) for slot in task.sources)]
    return [(slot, share) for slot, share in found if share]


def probabilities_of_truth(task, trained, one, order, source):
    """Level -> probability given to the right y at each slot, by somebody who answers as its name says."""
    v, ratio, may, at = task.n_symbols, task.repeat_ratio, task.sources, task.repeated
    x = [order[source] if slot == at and source is not None else order[slot] for slot in range(v)]
    y = [one[x - 1] for x in x]
    said = {level: [] for level in LEVELS}
    for slot in range(v):
        again, is_new = x[slot] in x[:slot], 1 / (v - len(set(y[:slot])))
        fit = fitting(trained, list(zip(x[:slot], y[:slot], strict=True)))
        blind = (ratio / len(may) if again else (1 - ratio) * is_new) if slot == at else is_new
        said["uniform guess"].append(1 / v)
        said["elimination, blind to repeats"].append(blind)
        said["elimination, repeats detected"].append(1 / len(may) if again else is_new)
        said["elimination and recall"].append(1.0 if again else is_new)
        said["train posterior"].append(sum(one[x[slot] - 1] == y[slot] for one in fit) / len(fit))
    return said


def test_posteriors_reach_their_levels_on_rows_trained_on():
    """Over all 46,080 probes and 11,520 rows of the source's split, weighed by how often they are drawn."""
    task = PermutationRecall()
    levels = loss_levels(task)
    for level, posterior in (
        ("elimination and recall", uniform_posterior),
        ("train posterior", lambda *rows: train_posterior(*rows)[0]),
    ):
        loss = 0.0
        for rows, share in (
            (task.every_row("train"), 1 - task.repeat_ratio),
            (task.probes("train"), task.repeat_ratio),
        ):
            wanted = rows.targets.gather(1, rows.roles["x"]) - 1
            of_truth = posterior(task, rows).gather(2, wanted[..., None])
            loss -= share * float(of_truth.log().mean())
        assert loss == pytest.approx(levels[level], abs=1e-9)
