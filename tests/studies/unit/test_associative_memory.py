"""Weights as memories: every count against one made another way, and readings on tables whose answer is known."""

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy
import torch

from livingpaper.book import studies
from livingpaper.claims.results import Results
from retrieval_circuits.associative_memory import design, explorer
from retrieval_circuits.associative_memory.measures import (
    closed_form,
    facts,
    frequencies,
    gradient,
    inequalities,
    sums,
    training,
)
from retrieval_circuits.associative_memory.readings import memories as readings

STUDY = studies.load("associative_memory")
PUBLISHED = studies.load_params("associative_memory")


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def vectors(n, width, seed=0):
    return sums.unit_vectors(1, n, width, drawn(seed))[0].double()


@pytest.mark.parametrize("load", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("width", [16, 100])
def test_pairs_at_a_load_have_that_load(load, width):
    n = sums.pairs_at(load, width)
    below, above = ((m - 0.51) * math.log(m - 0.51) for m in (n, n + 1.02))
    assert below <= load * width**2 <= above


def test_a_sum_of_outer_products_and_its_recall_are_those_of_a_loop():
    inputs, outputs, labels = vectors(5, 3), vectors(2, 3, 1), torch.tensor([0, 1, 0, 0, 1])
    weights = torch.tensor([1.0, 2.0, 0.5, 0.0, 1.0], dtype=torch.float64)
    wanted = sum(q * torch.outer(outputs[y], e) for q, y, e in zip(weights, labels, inputs, strict=True))
    memory = sums.hebbian(inputs[None], outputs[None], labels, weights)
    assert torch.allclose(memory[0], wanted)
    right = [float((outputs @ wanted @ e).argmax() == y) for e, y in zip(inputs, labels, strict=True)]
    assert sums.recalled(memory, inputs[None], outputs[None], labels)[0].tolist() == right


def test_orthogonal_pairs_are_all_recalled_and_those_of_a_memory_of_others_are_not():
    basis = torch.eye(4)[None]
    labels = torch.arange(4)
    memory = sums.hebbian(basis, basis, labels)
    assert sums.recalled(memory, basis, basis, labels).mean() == 1
    assert sums.recalled(memory, basis, basis, labels.roll(1)).mean() == 0


def test_one_step_is_minus_the_gradient_that_autograd_gives():
    inputs, outputs, labels = vectors(6, 4), vectors(3, 4, 1), torch.arange(6) % 3
    frequency = torch.rand(6, generator=drawn(2)).double()
    frequency /= frequency.sum()
    memory = torch.zeros(4, 4, dtype=torch.float64, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(inputs @ memory.T @ outputs.T, labels, reduction="none") @ frequency
    (wanted,) = torch.autograd.grad(loss, memory)
    assert torch.allclose(sums.one_step(inputs[None], outputs[None], labels, frequency)[0], -wanted)


def test_the_closed_form_is_what_draws_of_its_own_assumptions_give():
    width, n_pairs, n_draws = 12, 20, 40_000
    chance = np.random.default_rng(0)

    def inner(*shape):
        one = chance.normal(size=(*shape, width))
        return one[..., 0] / np.linalg.norm(one, axis=-1)

    a, b = (inner(n_draws, n_pairs - 1) for _ in range(2))
    spread = math.sqrt(n_pairs - 2) / width
    common = spread * chance.normal(size=(n_draws, 1))
    other = spread * chance.normal(size=(n_draws, n_pairs - 1))
    right = ((1 - a) * (1 - b + common) > np.sqrt(1 - a**2) * other).all(1)
    assert closed_form.predicted_accuracy(width, n_pairs) == pytest.approx(right.mean(), abs=4 * 0.5 / n_draws**0.5)


def test_the_closed_form_tends_to_the_edge_of_theory_from_above():
    def right(width, load):
        n_pairs = scipy.optimize.brentq(lambda n: n * math.log(n) - load * width**2, 3, width**2)
        return closed_form.predicted_accuracy(width, n_pairs)

    assert all(right(2.0**k, 0.6) < 0.5 < right(2.0**k, 0.5) for k in (12, 16, 20, 24))
    with pytest.raises(ValueError, match="allowed: from 4, from 3"):
        closed_form.predicted_accuracy(8, 2)


def test_training_follows_the_gradient_of_cross_entropy_step_by_step():
    asked = training.Trained(
        widths=(4,), loads=(0.5,), optimizers=("adam", "gd"), rates=(0.1, 0.5), looks=(1, 6), short=(99, 1), exact_to=0
    )
    inputs, outputs = vectors(6, 4).float(), vectors(6, 4, 1).float()
    stored = torch.arange(6) < torch.tensor([3, 6])[:, None]
    found = training.train(asked, inputs, outputs, stored)
    for place, n in enumerate((3, 6)):
        for way, (kind, rate) in enumerate((("adam", 0.1), ("gd", 0.5))):
            memory = torch.zeros(4, 4, requires_grad=True)
            make = torch.optim.Adam if kind == "adam" else torch.optim.SGD
            optimizer = make([memory], lr=rate)
            for _ in range(6):
                optimizer.zero_grad()
                scores = inputs[:n] @ memory.T @ outputs[:n].T
                torch.nn.functional.cross_entropy(scores, torch.arange(n), reduction="sum").backward()
                optimizer.step()
            right = ((inputs[:n] @ memory.T @ outputs[:n].T).argmax(1) == torch.arange(n)).float().mean()
            assert found[6][way, place].item() == pytest.approx(right.item())


def test_what_is_trained_on_some_pairs_does_not_depend_on_the_others():
    asked = training.Trained(
        widths=(8,), loads=(0.5, 1.0), optimizers=("gd",), rates=(1.0,), looks=(20,), short=(99, 1), exact_to=0
    )
    inputs, outputs = vectors(20, 8).float(), vectors(20, 8, 1).float()
    both = training.train(asked, inputs, outputs, torch.arange(20) < torch.tensor([13, 20])[:, None])[20]
    alone = training.train(asked, inputs[:13], outputs[:13], torch.ones(1, 13, dtype=torch.bool))[20]
    assert both[0, 0] == alone[0, 0]


def test_inequalities_find_what_a_matrix_can_and_what_none_can():
    basis = np.eye(3)
    assert inequalities.some_matrix(basis, basis)
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert inequalities.some_matrix(opposite, np.eye(2))
    same = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert not inequalities.some_matrix(same, np.eye(2)), "one input with two outputs"
    between = np.array([[1.0], [0.5], [-1.0]])
    assert not inequalities.some_matrix(between, np.array([[1.0], [-1.0], [0.0]])), (
        "scores on a line: the middle never wins"
    )


def test_the_search_finds_the_last_that_holds_wherever_it_begins():
    for wanted in (1, 5, 17, 40):
        found = {inequalities._most(lambda n, wanted=wanted: n <= wanted, 40, start) for start in (1, 3, 20, 40)}
        assert found == {wanted}


def test_few_outputs_need_no_more_numbers_than_they_have():
    """Two outputs ask for one plane: the same answer from d numbers."""
    inputs, outputs = vectors(14, 4).numpy(), vectors(2, 4, 1).numpy()
    found = []
    for n in (4, 8, 12, 14):
        sides = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)[:, None] * inputs[:n]
        plane = scipy.optimize.linprog(np.zeros(4), A_ub=-sides, b_ub=-np.ones(n), bounds=(None, None))
        found.append(exact_and(plane, inputs[:n], outputs))
    assert found[0] == (True, True)
    assert found[-1] == (False, False)
    assert all(ours == theirs for ours, theirs in found)


def exact_and(plane, inputs, outputs):
    return inequalities.some_matrix(inputs, outputs), plane.status == 0


def test_random_halves_are_told_apart_up_to_twice_the_width_as_cover_counted():
    """Of N random points in d dimensions, halves can be told apart with probability P(Bin(N - 1, 1/2) < d)."""
    asked = inequalities.Exact(widths=(8,), classes=(2,))
    found = [row["n_pairs"] for seed in range(40) for row in inequalities.exact(asked, seed) if row["rule"] == "any"]
    wanted = sum(scipy.stats.binom.cdf(7, n - 1, 0.5) for n in range(1, 80))
    assert np.mean(found) == pytest.approx(wanted, abs=4 * np.std(found) / 40**0.5)


def test_zipf_errors_are_those_of_a_loop():
    asked = frequencies.Zipf(widths=(8,), exponent=2.0, n_items=64, classes=(0,), n_draws=1)
    rows = pd.DataFrame(frequencies.zipf(asked, 3)).set_index("rule")
    generator = drawn(3)
    inputs, outputs = (sums.unit_vectors(1, 64, 8, generator)[0] for _ in range(2))
    p = np.arange(1, 65) ** -2.0
    p /= p.sum()

    def error(weights):
        memory = sum(q * torch.outer(u, e) for q, u, e in zip(weights, outputs, inputs, strict=True))
        wrong = [(outputs @ memory @ inputs[z]).argmax().item() != z for z in range(64)]
        return p[wrong].sum()

    kept = rows.loc["cut", "kept"]
    assert rows.loc["cut", "error"] == pytest.approx(error((np.arange(64) < kept).astype(float)), abs=1e-5)
    centred = outputs - outputs.mean(0)
    memory = sum(q * torch.outer(u, e) for q, u, e in zip(p, centred, inputs, strict=True))
    wrong = [(outputs @ memory @ inputs[z]).argmax().item() != z for z in range(64)]
    assert rows.loc["one step", "error"] == pytest.approx(p[wrong].sum(), abs=1e-5)


def test_the_lemma_holds_and_its_check_sees_a_wrong_one(monkeypatch):
    asked = gradient.Lemma(width=5, n_inputs=7, n_outputs=6)
    assert max(row["gap"] for row in gradient.lemma(asked, 0)) < 1e-12
    right = gradient.as_memory
    monkeypatch.setattr(gradient, "as_memory", lambda *given: right(*given) * 1.001)
    assert min(row["gap"] for row in gradient.lemma(asked, 0)) > 1e-4


def test_random_labels_of_the_population_move_nothing_and_alone_leave_chance():
    asked = gradient.Noise(width=32, n_pairs=40, shares=(0.0, 0.5, 1.0), samples=(0, 2), n_draws=8)
    found = pd.DataFrame(gradient.label_noise(asked, 0)).set_index(["noise", "samples"])["accuracy"]
    assert found[0.0, 0] == found[0.5, 0]
    assert found[0.0, 2] == found[0.0, 0], "samples without noise are the population"
    assert found[1.0, 2] < 0.1


SMALL = facts.Facts(name="small", n_subjects=4, n_relations=2, n_answers=2, n_noise=3, length=6, batch=512)


def test_prompts_have_one_subject_one_relation_the_last_token_and_noise():
    counts, subject, relation = facts.prompts(SMALL, drawn())
    assert counts.sum(1).unique().tolist() == [6.0]
    assert torch.equal(counts[:, :4].argmax(1), subject)
    assert torch.equal(counts[:, 4:6].argmax(1), relation)
    assert counts[:, :4].sum(1).unique().tolist() == counts[:, 4:6].sum(1).unique().tolist() == [1.0]
    assert counts[:, -1].unique().tolist() == [1.0]
    assert SMALL.answers.tolist() == [[0, 2], [0, 2], [1, 3], [1, 3]]


@pytest.mark.parametrize("attention", ["linear", "softmax"])
def test_logits_are_those_of_attention_position_by_position(attention):
    way = dataclasses.replace(SMALL, attention=attention, batch=3)
    counts, _, _ = facts.prompts(way, drawn())
    scores, values = (torch.randn(*shape, generator=drawn(1)) for shape in ((10,), (10, 4)))
    found = facts.logits(way, counts, scores, values)
    for row in range(3):
        tokens = [z for z in range(10) for _ in range(int(counts[row, z]))]
        weights = scores[tokens].softmax(0) if attention == "softmax" else scores[tokens]
        assert torch.allclose(found[row], weights @ values[tokens], atol=1e-6)


def test_rates_of_growth_are_those_of_the_gradient_at_the_start():
    """|G| of a subject's and a relation's values, by autograd over every fact."""
    way = dataclasses.replace(SMALL, n_subjects=8, n_relations=4, n_answers=4)
    size = way.n_relations * way.n_answers
    values = torch.zeros(way.n_tokens, size, dtype=torch.float64, requires_grad=True)
    facts = list(itertools.product(range(8), range(4)))
    loss = 0.0
    for s, r in facts:  # with all scores 1, each token adds its values
        loss = loss - torch.log_softmax(values[s] + values[8 + r], 0)[way.answers[s, r]] / len(facts)
    (gradient_,) = torch.autograd.grad(loss, values)
    assert gradient_[0].norm().item() == pytest.approx(way.growth["subject"])
    assert gradient_[8].norm().item() == pytest.approx(way.growth["relation"])


def test_measurements_of_a_model_that_knows_the_relation_alone():
    right, relation = torch.tensor([1, 2]), torch.tensor([0, 1])
    p = torch.tensor([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]).clamp(min=1e-9)
    found = facts._measured(SMALL, p.log(), right, relation)
    assert found["loss"] == pytest.approx(math.log(2))
    assert found["relation"] == pytest.approx(0, abs=1e-6)
    assert found["subject"] == pytest.approx(math.log(2))
    assert found["from_guess"] == pytest.approx(0, abs=1e-6)
    assert found["plausible"] == 1


def test_facts_are_learnt_and_guessed_first():
    way = facts.Facts(
        name="quick",
        n_subjects=16,
        n_relations=2,
        n_answers=4,
        n_noise=4,
        length=8,
        start=1e-3,
        rate=0.4,
        batch=128,
        steps=1408,
    )
    rows = pd.DataFrame(facts.learn(way, drawn()))
    assert rows["accuracy"].iloc[-1] == 1
    assert rows["loss"].iloc[0] == pytest.approx(math.log(8), abs=1e-3)
    assert (rows["from_guess"] < facts.NEAR).any()


def test_ways_come_back_from_what_is_hashed():
    assert facts.Recalls.of(design.FACTS).facts == design.FACTS
    with pytest.raises(ValueError, match="allowed: a multiple, linear or softmax"):
        dataclasses.replace(SMALL, n_subjects=5)
    with pytest.raises(ValueError, match="allowed: gd, adam"):
        dataclasses.replace(SMALL, optimizer="sgd")


def results(**tables):
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    return Results(empty, pd.DataFrame(), "paper", tables, tuple(tables))


@pytest.mark.parametrize(
    ("recalled", "wanted"),
    [
        ([1, 1, 0.98, 0.5], math.sqrt(2)),  # half way from 1 to 0.98, by logarithm
        ([1, 1, 1, 1], 4.0),
        ([0.9, 1, 1, 1], 0.5),
        ([1, 0.9, 1, 1], 0.5 * 2**0.1),
    ],
)
def test_the_load_at_which_recall_ends(recalled, wanted):
    rows = pd.DataFrame({"load": [0.5, 1.0, 2.0, 4.0], "accuracy": recalled})
    assert readings.load_of(rows.sample(frac=1, random_state=0)) == pytest.approx(wanted)


def test_slopes_are_powers():
    rows = pd.DataFrame({"d": [4, 8, 16] * 2, "init_seed": [1] * 3 + [2] * 3})
    rows["error"] = np.where(rows["init_seed"] == 1, rows["d"] ** -2.0, 3.0 * rows["d"])
    assert readings.slopes(rows, "error").round(6).to_dict() == {1: -2.0, 2: 1.0}


def test_the_time_of_guessing_is_counted_and_knowing_is_for_good():
    rows = pd.DataFrame({"way": "a", "init_seed": 1, "step": [0, 10, 20, 30, 40, 50]})
    rows["from_guess"] = [1.0, 0.05, 0.05, 0.3, 0.05, 2.0]
    rows["loss"] = [3.0, 2.0, 0.05, 0.2, 0.05, 0.01]
    found = readings.guessing(results(recall=rows)).iloc[0]
    assert (found["guesses"], found["known"]) == (30, 40)
    assert found["share"] == pytest.approx(0.75)


def test_what_training_reaches_is_held_against_what_is_possible():
    rows = pd.DataFrame({"load": [0.5, 0.7, 1.0, 1.4], "n_pairs": [5, 6, 8, 10], "accuracy": [1, 1, 0.9, 1.0]})
    rows = rows.assign(optimizer="adam", rate=1.0, d=8, steps=64, most=9, most_by_sum=3, init_seed=1)
    given = results(trained=rows)
    assert readings.reached(("adam", 1.0))(given)[1] == pytest.approx(0.7)
    assert readings.best_and_sum(given)[1] == 3
    assert readings.best_load(given)[1] == pytest.approx(9 * math.log(9) / 64)


def test_the_pad_shows_the_draw_that_is_nearest_to_the_mean_of_several():
    recalled = np.array([
        [explorer.recalled_by_sums(seed, width, pairs) for width in explorer.WIDTHS for pairs in range(10, 121, 10)]
        for seed in explorer.DRAWS
    ])  # fmt: skip
    off = ((recalled - recalled.mean(0)) ** 2).mean(1)
    assert explorer.SEED in {explorer.DRAWS[at] for at in off.argsort()[:3]}
    assert 0.02 < explorer.scatter() < 0.1 and not set(explorer.DRAWS) & set(PUBLISHED.more_zipf_seeds)


def test_every_experiment_has_ten_seeds_and_none_of_the_pilots():
    found = STUDY.experiments(PUBLISHED)
    assert STUDY.recipes(PUBLISHED) == {}
    assert all(len(one.seeds) >= 10 and not {900, 901} & set(one.seeds) for one in found)
    assert len({one.name for one in found}) == len(found) == 11
