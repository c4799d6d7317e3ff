"""Leak counts against brute force, and against what independent draws must give."""

import dataclasses
from typing import ClassVar

import pytest
from kv_reader import parse

from circuitcore.tasks import Batch, TaskError
from circuitcore.tasks.leakage import expected_leakage, leakage
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
