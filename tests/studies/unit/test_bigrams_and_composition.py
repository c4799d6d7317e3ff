"""Bigrams: sequences, networks and closed forms against slow ones made another way, and readings of known answers."""

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch

from livingpaper.book import studies
from livingpaper.claims.results import Results
from retrieval_circuits.bigrams_and_composition import design, readings
from retrieval_circuits.bigrams_and_composition.measures import network, noise, plateau, source, steps, training
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2

STUDY = studies.load("bigrams_and_composition")
PUBLISHED = studies.load_params("bigrams_and_composition")
TASK = training.Task(n_tokens=8, n_triggers=2, length=10, width=24, n_test=16, every=5)


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def chain(n=8, k=2, seed=0):
    return source.draw_source(n, k, np.random.default_rng(seed))


def rows_of(given, n_rows=64, length=11, seed=0):
    return source.draw(given, n_rows, length, drawn(seed))


def test_the_stationary_law_is_the_one_that_many_steps_reach():
    given = chain()
    law = torch.full((8,), 1 / 8, dtype=torch.float64) @ torch.linalg.matrix_power(given.chain, 4096)
    assert torch.allclose(given.frequency, law, atol=1e-8)
    assert given.triggers.tolist() == sorted(range(8), key=lambda z: -law[z])[:2]
    with pytest.raises(ValueError, match="7 triggers among 8 tokens; allowed: 1 to 6"):
        chain(k=7)


def test_entropies_are_those_of_the_sums():
    given = chain(4, 1)
    law, rows = given.frequency.numpy(), given.chain.numpy()
    one = -sum(p * math.log(p) for p in law)
    pair = -sum(law[i] * q * math.log(q) for i in range(4) for q in rows[i] if q > 0)
    assert source.entropies(given) == pytest.approx((one, pair))


def test_triggers_are_followed_by_their_outputs_and_others_by_the_chain():
    given = chain()
    drawn_rows = rows_of(given, 4000, 30)
    tokens, triggers = drawn_rows.tokens, given.triggers.tolist()
    assert not set(drawn_rows.outputs.unique().tolist()) & set(triggers)
    before, after = tokens[:, :-1], tokens[:, 1:]
    for place, trigger in enumerate(triggers):
        here = before == trigger
        wanted = drawn_rows.outputs[:, place, None].expand(here.shape)
        assert torch.equal(after[here], wanted[here])
    for token in set(range(8)) - set(triggers):
        found = torch.bincount(after[before == token], minlength=8).double()
        spread = 5 * (given.chain[token] * (1 - given.chain[token]) / found.sum()).sqrt() + 1e-9
        assert ((found / found.sum() - given.chain[token]).abs() <= spread).all(), token


def test_noise_takes_its_share_of_the_places_after_a_trigger():
    given = dataclasses.replace(chain(8, 1), noise=int(chain(8, 1).frequency.argmin()), share=0.3)
    tokens = rows_of(given, 4000, 20).tokens
    after = tokens[:, 1:][tokens[:, :-1] == given.triggers[0]]
    assert (after == given.noise).double().mean().item() == pytest.approx(0.3, abs=0.02)
    assert given.noise not in given.others.tolist()


def test_scored_positions_are_triggers_that_stood_before():
    given = chain()
    tokens = rows_of(given, 20).tokens
    wanted = [
        [int(z) in given.triggers.tolist() and int(z) in map(int, row[:at]) for at, z in enumerate(row)]
        for row in tokens
    ]
    where = source.scored(given, tokens)
    assert where.tolist() == wanted
    places, real = source.some_scored(where, 3, drawn())
    assert torch.equal(where.gather(1, places), real)
    assert torch.equal(real.sum(1), where.sum(1).clamp(max=3))
    assert all(len(set(row.tolist())) == 3 for row in places)


def asked_of(given, rows, queries=30):
    return training.asked_of(given, rows, queries, drawn())


def random_network(layers, width=24, seed=1):
    frozen = network.draw_frozen(8, 10, width, drawn(seed))
    frozen = network.Frozen(**{name: matrix.double() for name, matrix in vars(frozen).items()})
    names = (K1, K2, O2)[2 - layers :]
    return frozen, {name: network.uniform(width, width, drawn(place)).double() for place, name in enumerate(names)}


@pytest.mark.parametrize("layers", [1, 2])
def test_the_network_is_attention_position_by_position(layers):
    frozen, weights = random_network(layers)
    tokens, queries = torch.randint(8, (3, 10), generator=drawn(2)), torch.tensor([[0, 9], [4, 5], [9, 2]])
    found = network.read(frozen, weights, tokens, queries)
    for row in range(3):
        x = [frozen.tokens[z] + frozen.positions[at] for at, z in enumerate(tokens[row])]
        if layers == 2:
            x = [x[t] + frozen.remap @ attended(x, t, weights[K1]) for t in range(10)]
        for place, t in enumerate(queries[row].tolist()):
            out = x[t] + weights[O2] @ frozen.values @ attended(x, t, weights[K2])
            assert torch.allclose(found.logits[row, place], frozen.outputs @ out, atol=1e-10)
            assert torch.allclose(found.stream[row, place], out, atol=1e-10)


def attended(x, t, keys):
    """Softmax of x_t^T W x_s / sqrt(d), over s up to t, of the x_s themselves."""
    weights = torch.stack([x[t] @ keys @ x[s] for s in range(t + 1)]) / len(x[0]) ** 0.5
    return sum(a * x[s] for s, a in enumerate(weights.softmax(0)))


def wired(n_tokens, length, given, strength=2000.0):
    """The three target memories, at right angles. Triggers are never answers: else a row that opens with one errs."""
    triggers, answers = given.triggers, given.others
    frozen = steps.orthogonal(n_tokens, length)
    tokens, positions = frozen.tokens, frozen.positions
    remapped = tokens @ frozen.remap.T
    return frozen, {
        K1: strength * positions[1:].T @ positions[:-1],
        K2: strength * tokens[triggers].T @ remapped[triggers],
        O2: 10 * frozen.outputs[answers].T @ (tokens[answers] @ frozen.values.T),
    }


def test_target_memories_are_recalled_and_answer_everything_and_random_ones_are_not():
    given = chain(12, 3)
    test = asked_of(given, rows_of(given, 200, 21), 20)
    frozen, weights = wired(12, 20, given)
    assert network.probes(frozen, weights, given.triggers, given.others) == {K1: 1.0, K2: 1.0, O2: 1.0}
    assert steps.accuracy(frozen, weights, test) == 1.0
    for broken in ({K1: weights[K1].T}, {K2: -weights[K2]}, {O2: -weights[O2]}):
        assert steps.accuracy(frozen, weights | broken, test) < 0.8, broken.keys()
    untrained = (
        network.draw_frozen(200, 200, 32, drawn()),
        {name: network.uniform(32, 32, drawn(3)) for name in (K1, K2, O2)},
    )
    everything = torch.arange(200)
    assert max(network.probes(*untrained, everything, everything).values()) < 0.05
    nothing = {name: torch.zeros_like(matrix) for name, matrix in weights.items()}
    assert set(network.probes(frozen, nothing, torch.arange(2), torch.arange(2)).values()) == {0.0}, "ties"


def test_the_closed_form_is_what_draws_of_its_own_assumptions_give():
    given = chain(10, 2, seed=3)
    own, free = plateau.rates(given)
    chance, length, n_draws = np.random.default_rng(0), 12, 4000
    right = total = 0.0
    for k, seen in itertools.product(range(2), range(1, length)):
        rate, other = own[k], own[1 - k]
        weights = np.log1p(rate / (free + other / len(free)))
        counts = chance.poisson(free * seen, (n_draws, len(free)))
        # a rival is the other trigger's output or not, each for itself
        lucky = chance.random(counts.shape) < 1 / len(free)
        counts = counts + lucky * chance.poisson(other * seen, counts.shape)
        output = chance.integers(len(free), size=n_draws)
        came = chance.poisson(rate * seen, 40 * n_draws)
        counts[np.arange(n_draws), output] += np.resize(came[came > 0], n_draws)
        asked = rate * -np.expm1(-rate * seen)
        right += asked * ((counts * weights).argmax(1) == output).mean()
        total += asked
    assert plateau.predicted_plateau(given, length) == pytest.approx(right / total, abs=0.01)
    with pytest.raises(ValueError, match="noise token 1; allowed: none"):
        plateau.predicted_plateau(dataclasses.replace(given, noise=1), length)


def test_the_closed_form_is_nearly_what_its_rule_does_on_sequences():
    given = chain(32, 5, seed=900)
    own, free = plateau.rates(given)
    data = rows_of(given, 1500, 49)
    inputs = data.tokens[:, :-1]
    counts = torch.nn.functional.one_hot(inputs, 32).cumsum(1)[..., given.others].double()
    weights = torch.stack([torch.from_numpy(np.log1p(r / (free + (own.sum() - r) / len(free)))) for r in own])
    which = torch.zeros(32, dtype=torch.long)
    which[given.triggers] = torch.arange(5)
    guess = given.others[(counts * weights[which[inputs]]).argmax(-1)]
    right = (guess == data.tokens[:, 1:])[source.scored(given, inputs)].double().mean().item()
    assert plateau.predicted_plateau(given, 48) == pytest.approx(right, abs=0.06)
    assert right > 10 / 27, "a guess is right in one of 27"


def test_the_gradient_is_that_of_the_mean_loss_and_of_a_sum_over_contexts():
    """At zero weights attention is uniform, so the gradient of W_O2 is a sum of outer products of averages."""
    given, frozen = chain(), steps.orthogonal(8, 10)
    zero = {name: torch.zeros(44, 44) for name in (K1, K2, O2)}
    data = rows_of(given, 40)
    found = steps.gradient(frozen, zero, O2, [asked_of(given, data, 10)])
    wanted, count = torch.zeros(44, 44), 0
    inputs = data.tokens[:, :-1]
    for row, at in source.scored(given, inputs).nonzero().tolist():
        x = frozen.tokens[inputs[row]] + frozen.positions
        x = x + torch.stack([frozen.remap @ x[: t + 1].mean(0) for t in range(10)])
        wrong = (frozen.outputs @ x[at]).softmax(0)
        wrong[data.tokens[row, at + 1]] -= 1
        wanted += torch.outer(wrong @ frozen.outputs, x[: at + 1].mean(0))
        count += 1
    assert torch.allclose(found, wanted / count, atol=1e-6)


def test_rows_taken_in_parts_give_the_same_gradient(monkeypatch):
    given, frozen = chain(), steps.orthogonal(8, 10)
    weights = {name: torch.randn(44, 44, generator=drawn(place)) for place, name in enumerate((K1, K2, O2))}
    data = rows_of(given, 40)
    whole = [steps.gradient(frozen, weights, name, [asked_of(given, data, 10)]) for name in weights]
    monkeypatch.setattr(steps, "CHUNK", 7)
    parts = [steps.gradient(frozen, weights, name, steps.in_parts(given, data, 10, drawn())) for name in weights]
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(whole, parts, strict=True))


def test_without_answers_keys_have_no_gradient_and_a_step_sets_the_largest_score():
    asked = steps.Steps(n_tokens=8, n_triggers=2, length=10, samples=(256,), queries=4, n_test=32)
    found = pd.DataFrame(steps.three_steps(asked, 0)).set_index("order")
    assert len(found) == 7
    first = found["gradient"].groupby(lambda order: order[:4]).first()
    assert first[K2] == first[K1] == 0 < first[O2]
    given, frozen = chain(), steps.orthogonal(8, 10)
    walk = steps.Walk(asked, given, frozen, 256, drawn())
    for order in ((O2,), (O2, K2), (O2, K2, K1)):
        after = walk.after(order)[order[-1]]
        assert steps.largest_score(frozen, order[-1], after) == pytest.approx(steps.LARGEST[order[-1]], rel=1e-4)


def test_stages_train_their_own_matrices_and_no_others():
    given = chain()
    way = training.Way(name="a", trained=((K1,), (O2,)), steps=10)
    rows = pd.DataFrame(training.learn(TASK, way, given, drawn()))
    assert rows["step"].tolist() == [0, 5, 10]
    assert rows[O2].iloc[0] == rows[O2].iloc[1], "not trained in the first stage"
    assert rows[K2].nunique() == 1, "never trained"
    again = pd.DataFrame(training.learn(TASK, way, given, drawn()))
    pd.testing.assert_frame_equal(rows, again)


def test_one_step_of_training_is_one_of_the_rule_on_the_gradient():
    given = chain()
    way = training.Way(name="a", trained=((O2, K2, K1),), steps=1, batch=16, queries=4)
    generator, twin = drawn(4), drawn(4)
    ends = list(training.learn(dataclasses.replace(TASK, every=1), way, given, generator))
    frozen = network.draw_frozen(8, 10, 24, twin)
    weights = {name: network.uniform(24, 24, twin) for name in (K1, K2, O2)}
    test = training.asked_of(given, source.draw(given, 16, 11, twin), 10, twin)
    rows = source.draw(given, 16, 11, twin)
    where, real = source.some_scored(source.scored(given, rows.tokens[:, :-1]), 4, twin)
    held = {name: matrix.clone().requires_grad_() for name, matrix in weights.items()}
    logits = network.read(frozen, held, rows.tokens[:, :-1], where).logits
    loss = torch.nn.functional.cross_entropy(logits[real], rows.tokens.gather(1, where + 1)[real])
    slopes = torch.autograd.grad(loss, list(held.values()))
    moved = {
        name: matrix - way.rate * (slope + training.DECAY * matrix)
        for (name, matrix), slope in zip(weights.items(), slopes, strict=True)
    }
    after = network.read(frozen, moved, test.inputs, test.where).logits
    assert ends[1]["loss"] == pytest.approx(training.loss_of(after, test).item(), abs=1e-5)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_layers": 3}, "allowed: 1 or 2"),
        ({"n_layers": 1}, "allowed: 1 or 2"),
        ({"optimizer": "rms"}, "allowed: sgd, adam"),
        ({"steps": 7, "trained": ((O2,), (K2,))}, "7 steps in 2 stages"),
    ],
)
def test_ways_that_mean_nothing_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        training.Way(**{"name": "a", "trained": ((O2, K2, K1),), **wrong})


def test_a_truncated_matrix_is_the_nearest_of_its_rank():
    matrix = torch.randn(40, 10, generator=drawn()).double()
    found = noise.truncated(matrix, 0.3)
    assert torch.linalg.matrix_rank(found) == 3
    rest = torch.linalg.svdvals(matrix)[3:]
    assert (matrix - found).norm().item() == pytest.approx(rest.norm().item())
    assert noise.truncated(matrix, 0.0).abs().max() == 0


def test_attention_between_outputs_and_noise_is_that_of_a_loop():
    given = dataclasses.replace(chain(8, 1), noise=int(chain(8, 1).frequency.argmin()), share=0.5)
    rows = rows_of(given, 12)
    test = asked_of(given, rows, 10)
    frozen, weights = network.draw_frozen(8, 10, 24, drawn()), {}
    weights = {name: network.uniform(24, 24, drawn(place)) for place, name in enumerate((K1, K2, O2))}
    found = network.read(frozen, weights, test.inputs, test.where)
    mass = {True: 0.0, False: 0.0}
    for row, query in test.real.nonzero().tolist():
        for at in range(1, 10):
            if test.inputs[row, at - 1] == given.triggers[0]:
                mass[bool(test.inputs[row, at] == given.noise)] += found.second[row, query, at].item()
    wanted = (mass[False] - mass[True]) / (mass[False] + mass[True])
    assert noise._avoids(given, found, test) == pytest.approx(wanted, abs=1e-5)


def test_cuts_of_the_noisy_network_are_what_they_say():
    asked = noise.Noisy(
        **dataclasses.asdict(dataclasses.replace(TASK, n_triggers=1)), share=0.5, optimizer="sgd", rate=0.03, batch=16,
        queries=4, steps=10, kept=(0.0, 1.0),
    )  # fmt: skip
    rows = pd.DataFrame(noise.noisy(asked, 0)).set_index(["step", "cut"])
    assert rows.loc[10, ["noise", "context", "accuracy"]].loc["1"].tolist() == pytest.approx(
        rows.loc[10, ["noise", "context", "accuracy"]].loc["none"].tolist(), abs=1e-5
    )
    assert (rows.loc[10].loc["0", "noise"] - rows.loc[10].loc["none", "noise"]) != 0
    assert rows["noise"].between(0, 1).all()


def results(**tables):
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    return Results(empty, pd.DataFrame(), "paper", tables, tuple(tables))


def test_a_memory_forms_at_half_of_its_own_end():
    rows = pd.DataFrame({"init_seed": 1, "step": [0, 10, 20, 30], O2: [0, 0.4, 1, 0.8], K2: [0, 0, 0.5, 1.0]})
    rows = rows.assign(way=design.JOINT)
    assert readings.formed(rows, O2).to_dict() == {1: 10}
    assert readings.later_than(O2, K2)(results(learning=rows)).to_dict() == {1: 10}


def test_the_context_comes_after_the_pair_by_the_steps_between_halves():
    rows = pd.DataFrame({"init_seed": [1] * 3 + [2] * 3, "step": [0, 20, 40] * 2, "cut": "none"})
    rows = rows.assign(noise=[0, 0.3, 0.5] * 2, context=[0, 0.1, 0.3, 0, 0.1, 0.2])
    assert readings.context_after_pair(results(noisy=rows)).to_dict() == {1: 20, 2: 20}


def test_the_worst_memory_of_each_order():
    rows = pd.DataFrame({"order": [readings.IN_ORDER, *readings.OTHERS], "samples": 64, "init_seed": 1})
    rows = rows.assign(**{O2: 1.0, K2: 0.5, K1: np.linspace(0.7, 0.1, len(rows))})
    older = rows.assign(samples=8, **{K2: 0.0})
    given = results(three_steps=pd.concat([rows, older]))
    assert readings.worst_memory(given).to_dict() == {1: 0.5}
    assert readings.best_other_order(given)[1] == pytest.approx(0.5)
    assert len(readings.OTHERS) == 6


def test_every_experiment_has_ten_seeds_and_none_of_the_pilots():
    found = STUDY.experiments(PUBLISHED)
    assert STUDY.recipes(PUBLISHED) == {}
    judged = [one for one in found if one.name != design.SNAPSHOTS]
    assert len(judged) == 8 and all(len(one.seeds) >= 10 for one in judged)
    assert not {900, 901, 902} & {seed for one in found for seed in one.seeds}
    assert len({one.name for one in found}) == len(found) == 9
