import itertools

import numpy as np
import pandas as pd
import pytest

from circuitcore.emergence import matching
from circuitcore.emergence.matching import match_heads, match_pairs
from circuitcore.emergence.roles import (
    RolesError,
    SubsetScores,
    circuits,
    completeness,
    faithfulness,
    minimality,
    smallest_sufficient_set,
    subset_scores,
)

HEADS = ("L0H0", "L0H1", "L1H0", "L1H1")


def every_subset(score, heads=HEADS):
    """Score of each kept set, for all subsets of the heads."""
    sets = (frozenset(kept) for size in range(len(heads) + 1) for kept in itertools.combinations(heads, size))
    return SubsetScores({kept: float(score(kept)) for kept in sets})


def needs(*wanted):
    """A run that answers (1.0) exactly when all wanted heads are on, and guesses (0.2) otherwise."""
    return every_subset(lambda kept: 1.0 if set(wanted) <= kept else 0.2)


def test_a_two_head_circuit_is_found_faithful_complete_and_minimal():
    scores = needs("L0H1", "L1H0")
    found = smallest_sufficient_set(scores)
    assert found.heads == ("L0H1", "L1H0")
    assert (found.faithfulness, found.alternatives, found.decided_by) == (pytest.approx(1.0), (), "size")
    assert faithfulness(scores, found.heads) == pytest.approx(1.0)
    assert completeness(scores, found.heads) == pytest.approx(0.0)
    assert minimality(scores, found.heads) == {"L0H1": pytest.approx(1.0), "L1H0": pytest.approx(1.0)}


def test_the_three_scores_by_hand():
    value = {"": 0.1, "L0H0": 0.3, "L1H0": 0.5, "L0H0+L1H0": 0.9}
    scores = SubsetScores({frozenset(filter(None, name.split("+"))): score for name, score in value.items()})
    assert faithfulness(scores, ["L1H0"]) == pytest.approx(0.4 / 0.8)
    assert completeness(scores, ["L1H0"]) == pytest.approx(0.2 / 0.8)
    assert minimality(scores, ["L0H0", "L1H0"]) == {"L0H0": pytest.approx(0.5), "L1H0": pytest.approx(0.75)}
    assert faithfulness(scores, []) == 0.0
    assert completeness(scores, []) == 1.0


def test_a_needless_member_and_a_backup_head():
    scores = every_subset(lambda kept: 1.0 if kept & {"L1H0", "L1H1"} else 0.0)
    assert minimality(scores, ["L0H0", "L1H0"]) == {"L0H0": 0.0, "L1H0": 1.0}
    assert completeness(scores, ["L1H0"]) == 1.0  # the other head does it alone: nothing is shown by one circuit
    found = smallest_sufficient_set(scores)
    assert (found.heads, found.alternatives, found.decided_by) == (("L1H0",), (("L1H1",),), "order")


def test_ties_are_resolved_by_score_then_order_and_always_shown():
    weight = {"L0H0": 0.0, "L0H1": 0.92, "L1H0": 0.95, "L1H1": 0.0}
    scores = every_subset(lambda kept: 1.0 if len(kept) == 4 else max((weight[head] for head in kept), default=0.0))
    found = smallest_sufficient_set(scores, share=0.9)
    assert (found.heads, found.alternatives, found.decided_by) == (("L1H0",), (("L0H1",),), "score")
    strict = smallest_sufficient_set(scores, share=1.0)
    assert (strict.heads, strict.decided_by) == (HEADS, "size")


def test_a_redundant_subset_may_beat_the_full_set():
    scores = every_subset(lambda kept: {0: 0.0, 4: 0.8}.get(len(kept), 1.0))
    assert smallest_sufficient_set(scores).faithfulness == pytest.approx(1.25)


@pytest.mark.parametrize("listed", ["ablated", "kept"])
def test_rows_of_the_battery(listed):
    rows = []
    for size in range(5):
        for subset in itertools.combinations(HEADS, size):
            kept = set(subset) if listed == "kept" else set(HEADS) - set(subset)
            rows.append({"site": "+".join(subset) or "none", "value": 1.0 if {"L0H1", "L1H0"} <= kept else 0.2})
    rows += [{"site": "mlp.0", "value": 0.3}, {"site": "mlp.0+mlp.1", "value": 0.25}]
    table = pd.DataFrame(rows).astype({"site": "category"})
    assert smallest_sufficient_set(subset_scores(table, listed)).heads == ("L0H1", "L1H0")


def test_circuits_of_several_runs_and_the_run_that_refuses():
    runs = {0: {"L0H0", "L1H1"}, 1: {"L0H1", "L1H1"}, 2: None}
    rows = []
    for seed, wanted in runs.items():
        for size in range(5):
            for ablated in itertools.combinations(HEADS, size):
                value = 0.3 if wanted is None or wanted & set(ablated) else 0.98
                rows.append({"arm": "m", "init_seed": seed, "site": "+".join(ablated) or "none", "value": value})
    found = circuits(pd.DataFrame(rows).astype({"arm": "category"})).set_index("init_seed")
    assert found["circuit"].tolist()[:2] == ["L0H0+L1H1", "L0H1+L1H1"]
    assert found.loc[0, ["n_heads", "faithfulness", "completeness", "minimality", "decided_by"]].tolist() == [
        2, 1.0, 0.0, 1.0, "size",
    ]  # fmt: skip
    assert "full - empty = 0.3 - 0.3 = 0" in found.loc[2, "refused"]
    assert found.loc[2].isna()["circuit"]
    assert found["refused"].tolist()[:2] == ["", ""]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: every_subset(lambda kept: 0.3), r"0\.3 - 0\.3 = 0, below 0\.05"),
        (lambda: every_subset(lambda kept: -len(kept)), "= -4, below"),
        (lambda: SubsetScores({frozenset(): 0.0}), "below"),
        (lambda: SubsetScores({frozenset(["L0H0"]): 1.0}), "no score for the empty set; sets scored: L0H0"),
        (lambda: SubsetScores({frozenset(): 0.0, frozenset(["L0H0"]): 1.0, frozenset(["L1H0"]): 1.0}), "the full set"),
        (lambda: SubsetScores({frozenset(): 0.0, frozenset(["0.1"]): 1.0}), "'0.1' is no head"),
        (lambda: faithfulness(needs("L0H0"), ["L2H0"]), "no score for L2H0"),
        (lambda: smallest_sufficient_set(needs("L0H0"), share=0.0), "share must lie"),
        (lambda: subset_scores(pd.DataFrame({"site": ["none", "none"], "value": [1.0, 0.5]})), "several scores"),
        (lambda: subset_scores(pd.DataFrame({"site": ["none", "L0H0"], "value": [1.0, np.nan]})), "NaN"),
    ],
)
def test_refusals_carry_the_numbers(call, words):
    with pytest.raises(RolesError, match=words):
        call()


LAYERS = (0, 0, 1, 1)
PROFILES = np.array([[0.9, 0.1, 0.2], [0.1, 0.8, 0.3], [0.3, 0.2, 0.9], [0.6, 0.5, 0.1]])


@pytest.mark.parametrize("measure", ["cosine", "correlation"])
def test_swapped_heads_are_found_again(measure):
    found = match_heads(PROFILES, PROFILES[[1, 0, 2, 3]], LAYERS, measure)
    assert found.relabel == (1, 0, 2, 3)
    assert found.per_head == tuple(pytest.approx(1.0) for _ in range(4))
    assert found.similarity == pytest.approx(1.0)
    assert found.chance < found.similarity
    assert found.chance_best < found.similarity
    # of 24 shuffles, the 4 that keep every head in its layer match perfectly
    assert (found.p_value, found.method, found.n_shuffles) == (pytest.approx(4 / 24), "exact", 24)


def test_matching_never_crosses_layers():
    found = match_heads(PROFILES, PROFILES[[2, 3, 0, 1]], LAYERS)
    assert {found.relabel[0], found.relabel[1]} == {0, 1}
    assert found.similarity < 1
    assert found.p_value == 1.0  # every shuffle matches at least as well as swapped layers


def test_chance_levels_by_hand():
    # one layer, orthogonal profiles: relabelled at random, one pair in three matches; the best always matches fully
    found = match_heads(np.eye(3), np.eye(3), (0, 0, 0), "cosine")
    assert found.chance == pytest.approx(1 / 3)
    assert (found.chance_best, found.p_value) == (pytest.approx(1.0), 1.0)


def test_equal_profiles_are_matched_at_chance():
    same = np.tile([0.2, 0.5, 0.9], (4, 1))
    found = match_heads(same, same, LAYERS)
    assert (found.similarity, found.chance, found.p_value) == (pytest.approx(1), pytest.approx(1), 1.0)


@pytest.mark.slow
def test_many_heads_are_resampled_and_say_so():
    profiles = np.random.default_rng(2).random((8, 5))
    found = match_heads(profiles, profiles, [0] * 4 + [1] * 4)
    assert (found.method, found.n_shuffles) == ("resampled", 10_000)
    assert found.relabel == tuple(range(8))
    assert found.p_value < 0.1
    assert found == match_heads(profiles, profiles, [0] * 4 + [1] * 4)


@pytest.mark.parametrize(
    ("a", "b", "layers", "words"),
    [
        (PROFILES, PROFILES[:3], LAYERS, r"\(4, 3\) and \(3, 3\)"),
        (PROFILES, PROFILES, (0, 0, 1), "got 3 layers"),
        (PROFILES, PROFILES * np.nan, LAYERS, "must be finite"),
        (PROFILES, np.ones((4, 3)), LAYERS, r"heads \[0, 1, 2, 3\] is undefined"),
    ],
)
def test_matching_refuses(a, b, layers, words):
    with pytest.raises(RolesError, match=words):
        match_heads(a, b, layers)


def test_a_table_of_circuits_has_its_columns_even_where_every_run_refuses():
    rows = pd.DataFrame({"arm": "m", "init_seed": 0, "site": ["none", "L0H0"], "value": 0.5})
    found = circuits(rows)
    assert list(found)[:3] == ["arm", "init_seed", "circuit"] and list(found)[-1] == "refused"
    assert found["circuit"].isna().all() and found["refused"].str.contains("0.5 - 0.5").all()
    assert list(circuits(rows.iloc[:0])) == list(found)


@pytest.mark.parametrize("layers", [(0, 0, 1, 1), (0, 0, 0, 1, 1), (0, 1, 2), (0, 0, 0, 0)])
def test_all_relabellings_at_once_are_those_found_one_by_one(layers, monkeypatch):
    one, other = np.random.default_rng(3).normal(size=(2, len(layers), 5))
    at_once = match_heads(one, other, layers)
    monkeypatch.setattr(matching, "MOST_AT_ONCE", 0)
    assert match_heads(one, other, layers) == at_once


@pytest.mark.parametrize("measure", ["cosine", "correlation"])
@pytest.mark.parametrize("layers", [(0, 0, 1, 1), (1, 0, 1, 0, 0), (0, 0, 0, 0)])
@pytest.mark.parametrize("most_at_once", [0, 200, 250_000])
def test_pairs_matched_at_once_are_those_matched_alone(layers, measure, most_at_once, monkeypatch):
    profiles = np.random.default_rng(5).normal(size=(5, len(layers), 6))
    pairs = np.array([0, 0, 1, 3, 2]), np.array([1, 4, 2, 3, 0])
    alone = [match_heads(profiles[a], profiles[b], layers, measure) for a, b in zip(*pairs, strict=True)]
    monkeypatch.setattr(matching, "MOST_AT_ONCE", most_at_once)
    assert match_pairs(profiles, pairs, layers, measure) == alone


def test_a_run_without_directions_is_refused_among_others():
    profiles = np.stack([PROFILES, PROFILES, np.ones((4, 3))])
    with pytest.raises(RolesError, match=r"heads \[0, 1, 2, 3\] is undefined"):
        match_pairs(profiles, (np.array([0]), np.array([1])), LAYERS)
