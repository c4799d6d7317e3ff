"""Layers that keep facts: against prompts taken one by one, gradients in closed form, and a selector wired by hand."""

import dataclasses
import math

import pandas as pd
import pytest
import torch

from livingpaper.claims.results import Results
from retrieval_circuits.associative_memory.measures import layer as layers
from retrieval_circuits.associative_memory.measures import places, transfers
from retrieval_circuits.associative_memory.measures.layer import ANSWERS, RELATIONS, SUBJECTS, Layer
from retrieval_circuits.associative_memory.readings import layers as readings

SMALL = Layer(n_subjects=5, n_relations=3, n_answers=4, width=6, heads=2, d_head=3, hidden=7)
SELECTED = Layer(n_subjects=40, n_relations=3, n_answers=4, width=19, hidden=12)
"""Of the hand-wired selector: 12 channels of subjects, 3 of relations, 4 of answers."""


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def everywhere(n_networks=1):
    return torch.ones(n_networks, dtype=torch.bool)


def added(weights, s, r):
    """What one prompt gets, from two tokens as softmax attention reads them."""
    tokens = torch.stack([weights[SUBJECTS][0, s], weights[RELATIONS][0, r]])
    if "scores" in weights:
        heads = zip(*(weights[name][0] for name in layers.ATTENTION), strict=True)
        attended = sum((tokens @ score).softmax(0) @ tokens @ value.T @ output for score, value, output in heads)
    else:
        attended = tokens.sum(0)
    units = (weights["read"][0] @ attended + weights["bias"][0]).relu()
    return attended, units @ weights["write"][0]


@pytest.mark.parametrize("heads", [0, 2])
def test_a_layer_does_with_all_prompts_what_it_does_with_each(heads):
    layer = dataclasses.replace(SMALL, heads=heads)
    weights = layer.initial(drawn())
    weights["bias"] = torch.randn(1, 7, generator=drawn(1))
    found = layers.parts_of_answer(weights)
    for s in range(5):
        for r in range(3):
            for part, wanted in zip(found, added(weights, s, r), strict=True):
                assert torch.allclose(part[0, s, r], wanted, atol=1e-6)


def test_parameters_are_those_of_attention_and_mlp():
    weights = SMALL.initial(drawn())
    assert SMALL.n_parameters == sum(weights[name].numel() for name in SMALL.parts)
    assert set(weights) - set(SMALL.parts) == {SUBJECTS, RELATIONS, ANSWERS}
    assert torch.allclose(weights[SUBJECTS].norm(dim=-1), torch.ones(1, 5))


def test_the_first_step_goes_down_the_gradient_in_closed_form():
    """Without attention and MLP: d loss / d e_s = mean over facts of (p_hat - p) u; Adam's first step is its sign."""
    bare = dataclasses.replace(SMALL, heads=0, hidden=0)
    weights, facts = bare.initial(drawn()), bare.facts(drawn(1))
    found = layers.learn(weights, facts, {SUBJECTS: everywhere()}, 1)
    answers, sums = weights[ANSWERS][0], weights[SUBJECTS][0][:, None] + weights[RELATIONS][0]
    wrong = (sums @ answers.T).softmax(-1) - torch.eye(4)[facts[0]]
    wanted = weights[SUBJECTS][0] - layers.RATE * (wrong @ answers).sum(1).sign()
    assert torch.allclose(found[SUBJECTS][0], wanted, atol=1e-5)
    assert torch.equal(found[RELATIONS], weights[RELATIONS])


def test_networks_beside_each_other_learn_as_if_alone_and_what_is_frozen_stays():
    weights, facts = SMALL.initial(drawn()), SMALL.facts(drawn(1))
    pair = {name: layers.copies(weight, 2) for name, weight in weights.items()}
    masks = {SUBJECTS: torch.tensor([True, False]), "write": everywhere(2)}
    both = layers.learn(pair, layers.copies(facts, 2), masks, 20)
    alone = layers.learn(weights, facts, {"write": everywhere()}, 20)
    assert torch.equal(both[SUBJECTS][1], weights[SUBJECTS][0])
    assert not torch.equal(both[SUBJECTS][0], weights[SUBJECTS][0])
    assert torch.allclose(both["write"][1], alone["write"][0], atol=1e-6)
    assert all(torch.equal(both[name], pair[name]) for name in set(pair) - set(masks))


def test_a_guess_costs_the_logarithm_of_the_answers_and_is_right_by_chance():
    layer = dataclasses.replace(SMALL, n_subjects=400, hidden=0)
    weights, facts = layer.initial(drawn()), layer.facts(drawn(1))
    assert layers.recall_of(weights, facts).item() == pytest.approx(1 / 4, abs=0.06)
    silent = weights | {"outputs": torch.zeros_like(weights["outputs"])}
    assert layers.cross_entropy(silent, facts).item() == pytest.approx(math.log(4))


def wired():
    """A selector of facts: unit (r, a) is on if the relation is r and the subject has a there, and writes a."""
    n_answers, n_relations = SELECTED.n_answers, SELECTED.n_relations
    eye = torch.eye(SELECTED.width)
    subject, relation, answer = eye[:12], eye[12:15], eye[15:]
    facts = SELECTED.facts(drawn())
    block = facts[0] + n_answers * torch.arange(n_relations)
    weights = {
        SUBJECTS: subject[block].sum(1)[None],
        RELATIONS: relation[None],
        ANSWERS: answer[None],
        "read": (subject + relation.repeat_interleave(n_answers, 0))[None],
        "bias": -torch.ones(1, 12),
        "write": answer.repeat(n_relations, 1)[None],
    }
    return weights, facts


def test_a_selector_recalls_new_facts_by_sums_and_by_training():
    weights, old = wired()
    new = SELECTED.facts(drawn(1))
    assert layers.recall_of(weights, old).item() == 1
    assert layers.recall_of(weights, new).item() == pytest.approx(1 / 4, abs=0.15)
    before, after = (transfers.codes(SELECTED, weights[ANSWERS], facts) for facts in (old, new))
    composed = transfers.compose(transfers.summands(weights[SUBJECTS], before), after)
    wanted = torch.nn.functional.one_hot(new[0], 4).flatten(1).float()
    assert torch.allclose(composed[0, :, :12], wanted, atol=1e-5)
    assert layers.recall_of(weights | {SUBJECTS: composed}, new).item() == 1
    fresh = SELECTED.embeddings(SELECTED.n_subjects, drawn(2))
    found = transfers.replaced(weights, fresh, (old, new), 300)
    again, later = (
        layers.recall_of(weights | {SUBJECTS: subjects}, facts)
        for subjects, facts in zip(found, (old, new), strict=True)
    )
    assert min(again.item(), later.item()) > 0.7, "some units start where no gradient reaches them"
    assert again.item() == pytest.approx(later.item(), abs=0.15)


def test_sums_of_too_few_subjects_fit_anything():
    """Three subjects, each with answers of its own: any embeddings are such sums, and new facts say nothing."""
    facts = torch.arange(3)[None, :, None].expand(1, 3, 2)
    subjects = torch.randn(1, 3, 5, generator=drawn())
    coded = torch.nn.functional.one_hot(facts, 3).float()
    sums = transfers.summands(subjects, coded)
    assert torch.allclose(transfers.compose(sums, coded), subjects, atol=1e-5)


def test_bijections_have_as_many_answers_as_subjects():
    with pytest.raises(ValueError, match="bijections of 5 subjects have as many answers; got 4"):
        dataclasses.replace(SMALL, bijective=True)


def test_new_bijections_are_read_by_directions_where_embeddings_are_linear_in_them():
    """Embeddings that are a linear map of each answer's direction are found again, and made of any other bijections."""
    layer = dataclasses.replace(SMALL, n_subjects=30, n_answers=30, bijective=True)
    old, new = (layer.facts(drawn(seed)) for seed in (0, 1))
    assert all(sorted(answers) == list(range(30)) for answers in old[0].T.tolist())
    assert not torch.equal(old, new) and not torch.equal(old[..., 0], old[..., 1])
    answers, maps = layer.embeddings(30, drawn(2)), torch.randn(3, 6, 6, generator=drawn(3))
    made = [sum(answers[0][facts[0, :, r]] @ maps[r] for r in range(3))[None] for facts in (old, new)]
    before, after = (transfers.codes(layer, answers, facts) for facts in (old, new))
    sums = transfers.summands(made[0], before)
    assert torch.allclose(sums[0], maps, atol=1e-4)
    assert torch.allclose(transfers.compose(sums, after), made[1], atol=1e-4)


def test_removal_takes_subjects_out_of_the_part_that_writes_them():
    weights, facts = wired()
    found = {name: value.item() for name, value in places.removals(weights, facts).items()}
    assert (found["accuracy"], found["without_attention"]) == (1, 1)
    counts = torch.stack([facts[0, :, r].bincount(minlength=4).max() for r in range(3)])
    assert found["without_mlp"] == pytest.approx((counts / 40).mean().item()), "the commonest answer of each relation"


def test_what_is_taught_in_each_way_differs_in_what_moves():
    start = SMALL.initial(drawn())
    taught = transfers._taught(SMALL, start, layers.copies(SMALL.facts(drawn(1)), 4), 3)
    moved = {
        name: [not torch.equal(taught[name][place], start[name][0]) for place in range(4)]
        for name in (SUBJECTS, RELATIONS, "read", ANSWERS)
    }
    assert moved == {
        SUBJECTS: [True, False, True, True],
        RELATIONS: [True, True, False, False],
        "read": [True, True, False, False],
        ANSWERS: [False] * 4,
    }
    assert torch.equal(taught["write"][3], transfers.GAIN * start["write"][0])
    assert torch.equal(taught["write"][2], start["write"][0])


def test_tables_have_a_row_for_every_layer_and_way():
    asked = places.Places(heads=(1, 2), hidden=(3,), both=(2, 3), width=4, steps=2)
    table = pd.DataFrame(places.places(asked, 0))
    assert len(table) == 3 * 2 + 3 * 2
    assert not table.duplicated(["part", "trained", "embeddings", "n_parameters"]).any()
    frozen = table[table["part"] == "attention"]
    assert (frozen["without_mlp"] == frozen["accuracy"]).all(), "there is no MLP to take away"
    table = pd.DataFrame(transfers.transfers(transfers.Transfers(sizes=((6, 2, 4),), hidden=3, steps=2), 0))
    assert list(table["rest"]) == list(transfers.RESTS)
    assert table[["first", "new", "again", "composed", "refitted", "recomposed"]].stack().between(0, 1).all()


def results(**tables):
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    return Results(empty, pd.DataFrame(), "paper", tables, tuple(tables))


@pytest.mark.parametrize(
    ("recalled", "wanted"), [([0.5, 1.0, 1.0], 20.0), ([0.8, 0.9, 1.0], 10.0), ([0.3, 0.4, 0.5], 160.0)]
)
def test_the_size_that_facts_take(recalled, wanted):
    rows = pd.DataFrame({"n_parameters": [10, 40, 160], "accuracy": recalled})
    assert readings.size_for(rows.iloc[::-1]) == pytest.approx(wanted)


def test_parts_are_compared_by_the_size_that_they_take():
    rows = pd.DataFrame({"n_parameters": [10, 40, 160] * 2, "accuracy": [0.5, 1, 1, 0.2, 0.5, 1.0]})
    rows = rows.assign(part=["mlp"] * 3 + ["attention"] * 3, embeddings="frozen", init_seed=1)
    given = results(places=rows)
    assert readings.factor_between(given)[1] == pytest.approx(4)
    assert readings.smallest("frozen", "least")(given)[1] == 0.2
    assert readings.smallest("frozen", "largest")(given)[1] == 0.5


def test_composed_embeddings_are_held_against_the_best_other_layer():
    rows = pd.DataFrame({"rest": transfers.RESTS, "composed": [0.9, 0.3, 0.5, 0.6], "init_seed": 1})
    rows = rows.assign(n_subjects=64, n_relations=4, d=16)
    assert readings.composed_beyond("composed", (64, 4, 16))(results(transfers=rows))[1] == pytest.approx(0.3)
