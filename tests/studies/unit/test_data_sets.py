"""Networks on many data sets: which seed has which, and that claims count the data sets, whatever the chapter."""

import numpy as np
import pandas as pd
import pytest
from judged import NO_RUNS, claim, control, seeds

from circuitcore.tasks import make_task
from livingpaper.book import studies
from livingpaper.claims.claim import Claim
from livingpaper.claims.reading import OnDataSets
from livingpaper.claims.results import Results
from livingpaper.claims.rules import Counted
from livingpaper.claims.units import COUNT, at_least
from retrieval_circuits.permutation_recall.design import LAST_IN_TURN, SOURCE_SPLIT, split_of
from retrieval_circuits.six_run_matrix import design as matrix
from retrieval_circuits.symbolic_kv import design as symbolic
from retrieval_circuits.symbolic_kv import readings
from retrieval_circuits.symbolic_kv.figures import behaviour as figures
from retrieval_circuits.symbolic_kv.readings import unrest, unrest_at_first

NOTHING = NO_RUNS["paper"]
"""Readings that are made up ask nothing of results."""


def recipes(study):
    return studies.load(study).recipes(studies.load_params(study))


def generator_seeds(made):
    return [dict(recipe.task_params)["generator_seed"] for recipe in made]


def test_sixty_networks_take_twelve_data_sets_in_turn_and_so_do_their_controls():
    arms = recipes("symbolic_kv")
    for arm in symbolic.ARMS:
        if arm == symbolic.TORCH:
            assert set(generator_seeds(arms[arm])) == {symbolic.FIRST_DATA_SET}
            assert {recipe.engine for recipe in arms[arm]} == {"torch"}
            continue
        drawn = pd.Series(generator_seeds(arms[arm])).value_counts()
        assert len(drawn) == symbolic.N_DATA_SETS and drawn.nunique() == 1, arm
    assert {len(arms[arm]) for arm in ("leaky data", "shuffled targets", "one layer")} == {12}


def test_two_data_sets_share_no_rows_by_design():
    first, second = (make_task("symbolic_kv", {"generator_seed": symbolic.data_set_of(seed)}) for seed in (0, 1))
    same = (first.split("train").tokens == second.split("train").tokens).all(dim=1)
    assert float(same.float().mean()) < 0.01


def test_room_is_what_the_networks_with_a_control_s_seeds_answer_wrongly():
    """Two have a control; the third, which answers nothing, does not count. Untrained networks do not count either."""
    ends = {"trained": {0: 0.75, 1: 1.0, 2: 0.0}, "leaky data": {0: 1.0, 1: 1.0}}
    rows = [
        {"arm": arm, "init_seed": seed, "run_id": f"{arm}{seed}", "step": step, "metric": "accuracy", "split": "test",
         "value": value * (step > 0)}
        for arm, of_arm in ends.items() for seed, value in of_arm.items() for step in (0, 10)
    ]  # fmt: skip
    found = readings.room("leaky data")(Results(pd.DataFrame(rows), pd.DataFrame(), "paper"))
    assert found.to_dict() == {0: 0.25, 1: 0.0}


def test_a_seed_says_its_data_set_in_the_matrix_and_among_the_permutations():
    assert {matrix.data_set_of(seed) for seed in range(10)} == {17}
    own = [matrix.data_set_of(seed) for seed in range(10, 200)]
    assert len(set(own)) == len(own) and 17 not in own
    splits = [split_of(seed) for seed in range(1, LAST_IN_TURN + 1)]
    assert sorted(set(splits)) == [SOURCE_SPLIT, SOURCE_SPLIT + 1, SOURCE_SPLIT + 2]
    later = [split_of(seed) for seed in range(LAST_IN_TURN + 1, 99)]
    assert len(set(later)) == len(later) and not set(later) & set(splits)


def test_ten_networks_share_hidden_permutations_and_all_others_have_their_own():
    for made in recipes("composition").values():
        ours = [recipe for recipe in made if recipe.task == "k_fold_composition"]
        hidden = [tuple(recipe.make_task().hidden.flatten().tolist()) for recipe in ours]
        shared = {one for recipe, one in zip(ours, hidden, strict=True) if recipe.init_seed <= 10}
        own = [one for recipe, one in zip(ours, hidden, strict=True) if recipe.init_seed > 10]
        assert len(shared) == any(recipe.init_seed <= 10 for recipe in ours)
        assert len({*own} - shared) == len(own)


@pytest.mark.parametrize("study", ["symbolic_kv", "six_run_matrix", "composition"])
def test_every_reading_of_seeds_is_one_of_data_sets(study):
    for one in studies.load(study).CLAIMS:
        for question in (one, *one.controls):
            assert isinstance(question.reading.values, OnDataSets), (one.id, question.reading.words)
            assert question.reading.arms, one.id


def test_a_claim_on_data_sets_counts_them_and_its_controls_do():
    guard = control([0.2] * 12)
    made = claim([0.7, 0.9] * 6, controls=(guard,)).on_data_sets(lambda seed: seed % 4)
    assert isinstance(made, Claim)
    finding = made.finding(NOTHING)
    estimate = finding.held.estimate
    assert (estimate.n, estimate.n_sets, estimate.n_draws) == (12, 4, 4)
    assert finding.guards[0].held.estimate.n_sets == 4
    plain = claim([0.7, 0.9] * 6).finding(NOTHING).held.estimate
    assert estimate.effect == pytest.approx(plain.effect) and estimate.high - estimate.low > plain.high - plain.low


def test_a_number_that_no_seed_has_stays_alone():
    counted = claim(3.0, unit=COUNT, rule=Counted(), bound=at_least(1, "any"), min_seeds=0)
    found = counted.on_data_sets(lambda seed: seed).finding(NOTHING).held.estimate
    assert (found.effect, found.n, found.n_sets) == (3.0, 0, 1)


def test_draws_are_told_by_their_data_set_first():
    found = OnDataSets(lambda results: seeds([0.1, 0.2, 0.3]), lambda seed: 10 * seed)(NOTHING)
    assert found.index.names == ["data_set", "init_seed"] and found.index.tolist() == [(0, 0), (10, 1), (20, 2)]
    assert OnDataSets(lambda results: None, lambda seed: seed)(NOTHING) is None


def accuracies(by_seed):
    """Results with test accuracy alone at steps 0, 10, 20, ..."""
    rows = [
        {"arm": "trained", "init_seed": seed, "run_id": f"r{seed}", "step": 10 * place, "metric": "accuracy",
         "split": "test", "value": value}
        for seed, values in by_seed.items() for place, value in enumerate(values)
    ]  # fmt: skip
    return Results(pd.DataFrame(rows), pd.DataFrame(), "paper")


def test_what_moves_at_the_end_has_not_come_to_rest():
    still, moving = [0.3, 0.3, 0.4, 0.9, 1.0, 1.0, 0.99, 1.0, 1.0], [0.3] * 7 + [0.5, 0.9]
    found = accuracies({0: still, 1: moving})
    np.testing.assert_allclose(unrest(found), [0.01, 0.6])
    np.testing.assert_allclose(unrest_at_first(found), [0.7, 0.0])


def test_births_that_never_happen_are_counted_as_such(monkeypatch):
    """Of four networks one is born by step 10, one by 20 and two never: a quarter, then half, and no more."""
    by = pd.array([10, 20, None, None] * len(readings.MOTIFS), dtype="Int64")
    motifs = [motif for motif in readings.MOTIFS for _ in range(4)]
    born = pd.DataFrame({"motif": motifs, "init_seed": [0, 1, 2, 3] * len(readings.MOTIFS), "by": by})
    monkeypatch.setattr(figures, "motif_births", lambda results: born)
    view = figures.births(accuracies({seed: [0.3, 0.4, 0.5, 0.6] for seed in range(4)}))
    for _, curve in view.table.groupby("series", observed=True):
        assert curve["value"].tolist() == [0.0, 0.25, 0.5, 0.5]
    assert "4 networks. Never born: answers held-out prompts, in 2;" in view.note
