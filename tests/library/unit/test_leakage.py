"""Leak counts against brute force, and against what independent draws must give."""

import dataclasses
from math import comb, perm
from typing import ClassVar

import numpy as np
import pytest
from kv_reader import parse

from circuitcore.tasks import Batch, TaskError
from circuitcore.tasks.leakage import leakage
from circuitcore.tasks.symbolic_kv import SymbolicKV

TASK = SymbolicKV()
PUBLISHED = SymbolicKV(sampling="published")
CROWDED = SymbolicKV(
    n_keys=5, n_values=5, n_train=900, n_val=150, n_test=150, n_ood=100, sampling="published", generator_seed=3
)


def leak_by_brute_force(task, split, against, degree):
    def code(row):
        pairs, query = parse(task, row)
        return {"prompt": (*pairs, query), "question": (frozenset(pairs), query), "mapping": frozenset(pairs)}[degree]

    ours = [code(row) for row in task.split(split).tokens]
    if split == against:
        return len(ours) - len(set(ours))
    theirs = {code(row) for row in task.split(against).tokens}
    return sum(row in theirs for row in ours)


def expected_leakage(task):
    """What ``leakage`` gives on average if rows are drawn independently and uniformly.

    Of ``a`` rows, each equal to one of ``N`` equally likely things, ``a (1 - (1 - 1/N)^b)`` are
    expected among ``b`` others, and ``a - N (1 - (1 - 1/N)^a)`` to repeat one of their own.

    Returns:
        The table of ``leakage``, with ``n`` the expectation.
    """
    table = leakage(task)
    n_keys, n_values = task.alphabet.n_keys, task.alphabet.n_values
    pairs = {name: task.split(name).roles["slot_key"].shape[1] for name in task.splits}
    rows = {name: len(task.split(name)) for name in task.splits}
    expected = []
    for split, against, degree in zip(table["split"], table["against"], table["degree"], strict=True):
        p = pairs[split]
        n_things = {
            "prompt": perm(n_keys, p) * perm(n_values, p) * p,
            "question": comb(n_keys, p) * perm(n_values, p) * p,
            "mapping": comb(n_keys, p) * perm(n_values, p),
        }[degree]
        missed = -np.expm1(rows[against] * np.log1p(-1 / n_things))
        own = rows[split] - n_things * missed
        expected.append(own if split == against else rows[split] * missed)
    return table.assign(n=expected)


def test_leakage_counts_what_brute_force_counts():
    table = leakage(CROWDED)
    assert len(table) == 3 * (6 + 1)
    assert (table["n"] > 0).sum() >= 20 and (table["n"] < table["rows"]).all()
    for row in table.itertuples():
        assert row.n == leak_by_brute_force(CROWDED, row.split, row.against, row.degree), row
        assert row.rows == len(CROWDED.split(row.split))


def test_disjoint_sampling_leaks_no_question_and_independent_sampling_does():
    clean = leakage(TASK).query("degree != 'mapping'")
    assert (clean["n"] == 0).all()
    # Mappings may recur: the same pairs asked another question.
    assert leakage(TASK).query("degree == 'mapping' and split == 'test' and against == 'train'")["n"].item() > 0
    assert (leakage(PUBLISHED).query("against == 'train' and degree == 'question'")["n"] > 20).all()


def test_leak_of_independent_sampling_is_as_large_as_expected():
    seeds = [leakage(dataclasses.replace(PUBLISHED, generator_seed=seed))["n"] for seed in range(12)]
    mean, expected = sum(seeds) / len(seeds), expected_leakage(PUBLISHED)["n"]
    # Counts of rare coincidences: variance about equal to the mean.
    assert ((mean - expected).abs() < 4.5 * (expected / 12 + 0.02) ** 0.5).all()
    assert expected.round(1).tolist()[:6] == [36.7, 215.0, 609.1, 7.3, 42.4, 116.7]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pairless(SymbolicKV):
    name: ClassVar[str] = "pairless"

    def split(self, name):
        kept = super().split(name)
        roles = {"read_out": kept.roles["read_out"]}
        return Batch(tokens=kept.tokens, targets=kept.targets, loss_mask=kept.loss_mask, roles=roles)


def test_leakage_needs_pairs():
    with pytest.raises(TaskError, match="unknown role 'query_key'; known: read_out"):
        leakage(Pairless())
