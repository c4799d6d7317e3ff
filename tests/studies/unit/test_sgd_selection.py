"""SGD selection: forks differ from their parent in one thing, pushes are derivatives, and each reading can fail."""

import dataclasses

import pandas as pd
import pytest
import torch

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.training import RunStore
from circuitcore.training.during import Freeze, Hold, Scale
from livingpaper.book import studies
from livingpaper.book.parameters import ParameterError, parse
from livingpaper.claims.results import Results
from livingpaper.claims.rules import Share
from livingpaper.claims.view import View
from retrieval_circuits.sgd_formation.design import small_network
from retrieval_circuits.sgd_formation.measures import SIZES
from retrieval_circuits.sgd_formation.measures import asked as asking
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import (
    ACT,
    BOOSTED,
    DRAWN_FORK,
    DRAWN_WIDE,
    DRAWN_WIDE_FORKS,
    ELSEWHERE,
    FROZEN,
    HELD,
    N_LAGS,
    NETWORKS,
    ORDERS,
    OTHERS_HEADS,
    OWN_HEADS,
    PARENT,
    REPLAY,
    TRACED,
    forked,
)
from retrieval_circuits.sgd_selection.figures import numbers
from retrieval_circuits.sgd_selection.measures import fingerprints
from retrieval_circuits.sgd_selection.measures.pushes import _dot, joins_gradients, loss_gradient
from tests.support import planted_forks as planted
from tests.support.planted_forks import EVEN, of_forks, won

STUDY = studies.load("sgd_selection")
PUBLISHED = studies.load_params("sgd_selection")
ARMS = STUDY.recipes(PUBLISHED)


def test_forks_that_another_head_wins_are_counted_and_those_that_none_wins_are_not():
    """Of four forks one keeps the parent's winner, one has none; a reader's runs beside change nothing."""
    kinds = {"the parent's winner": [1, 0, 0, 0], "any winner": [1, 1, 1, 0]}
    table = pd.DataFrame(
        [
            {"arm": arm, "init_seed": order, "series": series, "value": value}
            for arm in ORDERS[:2]
            for series, values in kinds.items()
            for order, value in enumerate(values, 1)
        ]
    )
    both = pd.concat([table.assign(origin="paper"), table.assign(origin="rerun", value=1)])
    for rows in (table, both):
        steps = pd.DataFrame({"init_seed": range(10, 25), "value": [0.0] * 7 + [400, 800] * 4})
        steps["earliest"] = [0.0] * 7 + [0, 400] * 4
        found = numbers(PUBLISHED, View(rows, "share of forks", "test"), View(steps, "training step", "test"))
        assert found["added_alone"] == "600 steps [421, 779]", "0 of others is not counted"
        assert (found["settled_from"], found["settled_to"]) == ("107", "320")
        few = View(steps[steps["init_seed"] < 20], "training step", "test")
        assert numbers(PUBLISHED, View(rows, "share of forks", "test"), few)["added_alone"] == "they are not here"
        assert (found["n_moved_first"], found["n_moved_second"]) == ("2 of 4", "2 of 4")
    assert found["n_orders"] == str(len(PUBLISHED.order_seeds))


def test_a_fork_differs_from_its_parent_in_one_thing():
    (parent,), (replayed,) = ARMS[PARENT], ARMS[REPLAY]
    act = PUBLISHED.fork_at[ACT]
    assert (replayed.parent, replayed.data_seed, replayed.during) == ((parent.sha256, act), parent.data_seed, ())
    for arm, at in zip(ORDERS, PUBLISHED.fork_at, strict=True):
        for order, fork in zip(PUBLISHED.order_seeds, ARMS[arm], strict=True):
            assert (fork.parent, fork.during, fork.init_seed) == ((parent.sha256, at), (), order)
            assert fork.data_seed != parent.data_seed
    plain = {fork.init_seed: fork for fork in ARMS[ORDERS[ACT]]}
    for arm, kind in {BOOSTED[1]: Scale, HELD[1]: Hold, FROZEN: Freeze}.items():
        for fork in ARMS[arm]:
            (done,) = fork.during
            assert isinstance(done, kind)
            assert dataclasses.replace(fork, during=()) == plain[fork.init_seed]
    assert len(ARMS[FROZEN][0].during[0].parts) == 12


BRIEF = {
    **PUBLISHED.model_dump(), "fork_at": (50, 55, 60, 65, 70, 79, 80, 85), "parent_steps": 150, "steps": 100,
    "elsewhere_at": (0, 100),
}  # fmt: skip
REFUSED = {
    "too few updates to trace": (
        {"fork_at": (50, 55, 60, 65, 70, 80, 81, 85)},
        "steps: .*more than 100, 20 after the sixth",
    ),
    "a fork without a step": (
        {"fork_at": (0, 5, 10, 20, 25, 26, 27, 150)},
        "(?s)parent_steps: .*more than 150, the last of fork_at.*steps: .*more than 150, the last",
    ),
    "points out of order": ({"fork_at": (50, 50, 60, 65, 70, 79, 80, 85)}, "fork_at: .*each later than the one before"),
    "no parent to compare with": ({"steps": 200}, "steps: .*at most parent_steps, 150"),
    "between the parent's checkpoints": ({"steps": 120}, "  steps: .*a multiple of 50"),
    "a network that is left when it ends": ({"elsewhere_at": (0, 150)}, "parent_steps: .*more than 150, the last"),
    "an order with another's number": ({"elsewhere_orders": (100,)}, "elsewhere_orders.*< 100"),
    "no other network": ({"seeds": (6,)}, "parent: .*another than the only one of seeds"),
    "an order twice": ({"elsewhere_orders": (1, 1)}, "elsewhere_orders.*each seed once"),
}


def test_forks_of_few_steps_have_updates_to_trace():
    parsed = parse(STUDY.Params, "sgd_selection", BRIEF)
    assert {recipe.n_steps for recipe in STUDY.recipes(parsed)[TRACED]} == {N_LAGS + 1}


def test_forks_of_each_other_network_read_rows_of_their_own():
    networks = {network.init_seed: network for network in ARMS[NETWORKS] if network.init_seed != PUBLISHED.parent}
    for arm, at in zip(ELSEWHERE, PUBLISHED.elsewhere_at, strict=True):
        left = [(forked(fork.init_seed), fork) for fork in ARMS[arm]]
        assert [seed for seed, _ in left] == [seed for seed in networks for _ in PUBLISHED.elsewhere_orders]
        assert all((fork.parent, fork.during) == ((networks[seed].sha256, at), ()) for seed, fork in left)
    rows = [[fork.data_seed for fork in ARMS[arm]] for arm in ELSEWHERE]
    assert rows[0] == rows[1] and len({*rows[0]}) == len(rows[0])
    alike = (*ELSEWHERE, DRAWN_WIDE_FORKS)
    others = {recipe.data_seed for arm, recipes in ARMS.items() if arm not in alike for recipe in recipes}
    assert not others & {*rows[0]}
    far = parse(STUDY.Params, "sgd_selection", {**PUBLISHED.model_dump(), "seeds": (9999,)})
    assert {forked(fork.init_seed) for arm in ELSEWHERE for fork in STUDY.recipes(far)[arm]} == {9999}


def test_networks_drawn_wide_differ_from_small_ones_in_their_weights_and_in_when_they_are_kept():
    small = {network.init_seed: network for network in ARMS[NETWORKS]}
    for network in ARMS[DRAWN_WIDE]:
        plain = small[network.init_seed]
        assert network.model == dataclasses.replace(plain.model, init="torch")
        assert dataclasses.replace(network, model=plain.model, checkpoint_at=plain.checkpoint_at) == plain
        assert network.checkpoint_at[-1] == plain.checkpoint_at[-1]
    wide = {network.init_seed: network.sha256 for network in ARMS[DRAWN_WIDE]}
    rows = {fork.init_seed: fork.data_seed for fork in ARMS[ELSEWHERE[0]]}
    assert len(ARMS[DRAWN_WIDE_FORKS]) == 2 * len(wide)
    for fork in ARMS[DRAWN_WIDE_FORKS]:
        assert fork.data_seed == rows[fork.init_seed], "they read the same rows"
        assert fork.parent == (wide[forked(fork.init_seed)], 0) and fork.checkpoint_at[-1] == PUBLISHED.parent_steps


def test_what_a_networks_own_winner_joins_in_its_forks():
    rows = [planted.fork(DRAWN_WIDE, seed, [0, 9], [EVEN, won(head)], [0, 1]) for seed, head in {1: 2, 2: 0}.items()]
    forks = {101: won(2, 0.8), 102: won(1, 0.7), 201: won(0, 0.6), 202: won(0, 0.4)}
    rows += [planted.fork(DRAWN_WIDE_FORKS, label, [0, 9], [EVEN, joins], [0, 1]) for label, joins in forks.items()]
    rows[0].append(rows[0][0] | {"layer": 1, "site": "L1H0", "step": 9, "value": 0.3})
    rows[-1] += [rows[-1][0] | {"layer": 1, "site": "L1H3", "head": 3, "step": 9, "value": 0.9}]
    own = readings.kept_by_own_winner(DRAWN_WIDE, DRAWN_WIDE_FORKS)(of_forks(rows))
    assert own.to_dict() == pytest.approx({1: (0.8 + 0.05) / 2, 2: (0.6 + 0.4) / 2}), "of any layer, here of the first"
    other = readings.kept_by_own_winner(DRAWN_WIDE, DRAWN_WIDE_FORKS, best_other=True)(of_forks(rows))
    assert other.to_dict() == pytest.approx({1: (0.05 + 0.7) / 2, 2: (0.05 + 0.9) / 2})
    rows += [planted.fork(ELSEWHERE[0], 101, [0, 9], [EVEN, won(2)], [0, 1])]
    shared = readings.kept_by_own_winner(DRAWN_WIDE, DRAWN_WIDE_FORKS, as_in=ELSEWHERE[0])(of_forks(rows))
    assert shared.to_dict() == pytest.approx({1: 0.8}), "of forks that the other arm has, too"
    assert readings.read_by_network(DRAWN_WIDE_FORKS)(of_forks(rows)).to_dict() == {1: 1.0, 2: 1.0}


@pytest.mark.parametrize("changed", REFUSED)
def test_forks_that_could_not_be_measured_are_refused_by_name(changed):
    given, message = REFUSED[changed]
    with pytest.raises(ParameterError, match=message):
        parse(STUDY.Params, "sgd_selection", BRIEF | given)


def test_every_fork_has_a_run_of_its_own():
    forks = [recipe for arm, recipes in ARMS.items() if arm not in (NETWORKS, PARENT, DRAWN_FORK) for recipe in recipes]
    assert len({recipe.run_id for recipe in forks}) == len(forks)
    assert ARMS[DRAWN_FORK] == ARMS[ORDERS[0]][:1]


@pytest.fixture(scope="module")
def small():
    """A network in float64, far from its start, and rows to ask it about."""
    task = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
    config = ModelConfig(
        d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=2, n_heads=2, d_model=8, d_mlp=16, norm="layer",
        positions="learned", mlp="gelu", tied=True, bias="inside",
    )  # fmt: skip
    generator = torch.Generator().manual_seed(3)
    one = {
        name: (value + 0.3 * torch.randn(value.shape, generator=generator)).double()
        for name, value in init_weights(config, 0).items()
    }
    other = {name: value * 0.5 for name, value in one.items()}
    stack = {name: torch.stack((one[name], other[name])).requires_grad_() for name in one}
    return config, stack, asking.asked(task, task.reported, 6)


def _joined(config, weights, found):
    """What heads of the first layer join, place by place."""
    pattern = forward(config, weights, found.batch.tokens, record=["pattern.0"]).cache["pattern.0"]
    each = [pattern[row, :, at, at - 1] for row, at in found.values.tolist()]
    return torch.stack(each).mean(0)


def test_a_push_is_what_a_small_step_down_the_loss_does(small):
    config, stack, found = small
    _, downhill = loss_gradient(config, stack, found)
    joins, uphill = joins_gradients(config, stack, found)
    for place in range(2):
        weights = {name: value[place].detach() for name, value in stack.items()}
        tiny = 1e-6
        steps = [
            {name: value - side * tiny * downhill[name][place] for name, value in weights.items()} for side in (1, -1)
        ]
        change = (_joined(config, steps[0], found) - _joined(config, steps[1], found)) / (2 * tiny)
        for head in range(2):
            push = -_dot(downhill, uphill[head])[place].item()
            assert push == pytest.approx(change[head].item(), rel=1e-4)
        assert torch.allclose(joins[place], _joined(config, weights, found))


def test_the_gradient_is_that_of_the_loss_trained_on_with_tied_weights_once(small):
    config, stack, found = small
    loss, downhill = loss_gradient(config, stack, found)
    weights = {name: value[0].detach().clone().requires_grad_() for name, value in stack.items()}
    kept = found.batch.loss_mask
    logits = forward(config, weights, found.batch.tokens).logits[kept]
    wanted = torch.nn.functional.cross_entropy(logits, found.batch.targets[kept])
    wanted.backward()
    assert loss[0].item() == pytest.approx(wanted.item())
    assert downhill.keys() == weights.keys()
    for name, value in weights.items():
        assert torch.allclose(downhill[name][0], value.grad, atol=1e-12), name


def test_a_linearised_loss_counts_tied_weights_once(small):
    """The source lists embedding and unembedding apart, each with the whole gradient of both: its sums count twice."""
    config, stack, found = small
    loss, downhill = loss_gradient(config, stack, found)
    generator = torch.Generator().manual_seed(5)
    moved = {
        name: 1e-5 * torch.randn(value.shape, generator=generator, dtype=value.dtype) for name, value in stack.items()
    }
    after, _ = loss_gradient(config, {name: value + moved[name] for name, value in stack.items()}, found)
    actual, once = (after - loss).double(), _dot(downhill, moved)
    twice = once + (downhill["embed.W_E"] * moved["embed.W_E"]).flatten(1).sum(1)
    assert actual.tolist() == pytest.approx(once.tolist(), rel=1e-2)
    assert ((actual - twice).abs() > 0.1 * actual.abs()).all()


def _forked(kept_from):
    """A parent whose head 3 wins at 1,600 on average, and forks of two orders that keep it from a point on."""
    parent = planted.fork(PARENT, 6, [0, 1500, 1700, 2000], [EVEN, EVEN, won(3, 0.95), won(3)], [0, 0, 1, 1])
    forks = [parent]
    for number, arm in enumerate(ORDERS):
        for order, first in kept_from.items():
            head = 3 if number >= first else 1
            at = 100 * number
            forks.append(planted.fork(arm, order, [at, 2400], [EVEN, won(head)], [0, 1]))
    return of_forks(forks)


def test_the_winner_is_settled_at_the_first_point_from_which_on_it_stays():
    results = _forked({1: 2, 2: 8, 3: 0})
    joined = readings.joined(results, PARENT).iloc[0]
    assert joined == pytest.approx(1600)
    assert readings.settling_step()(results).to_dict() == {1: 200, 2: joined, 3: 0}
    assert readings.settling_step(earliest=True)(results).to_dict() == {1: 100, 2: 700, 3: 0}, "the point before"
    assert readings.settled_ahead(results).to_dict() == {1: joined - 200, 2: 0, 3: joined}


def test_what_happened_or_not_in_each_draw_is_counted_and_never_averaged():
    """A t interval of draws that all agree is a point; so few of them do not decide against a bound near all."""
    ours = {arm for arm in ARMS if arm in (*ORDERS, *BOOSTED, *HELD, *OTHERS_HEADS, *OWN_HEADS)}
    asked = {claim.id: claim for claim in STUDY.CLAIMS}
    for name in ("SS2", "SS3", "SS7", "SS8", "SS18", "SS21", "SS22", "SS23", "SS24"):
        assert isinstance(asked[name].rule, Share), name
    for claim in STUDY.CLAIMS:
        for question in (claim, *claim.controls):
            if question.reading.unit.of in ("forks", "heads", "networks"):
                assert isinstance(question.rule, Share), (claim.id, question.reading.words)
        if ours & set(claim.reading.arms) and not {*ELSEWHERE, NETWORKS} & set(claim.reading.arms):
            assert claim.reading.draws.startswith("orders of one network"), claim.id


def test_nobody_wins_where_reads_are_not_answered_or_nothing_is_joined():
    forks = [
        planted.fork(ORDERS[0], 1, [0, 9], [EVEN, won(2)], [0, 0.9]),
        planted.fork(ORDERS[0], 2, [0, 9], [EVEN, won(2)], [0, 0.2]),
        planted.fork(ORDERS[0], 3, [0, 9], [EVEN, won(2, 0.4)], [0, 0.9]),
    ]
    assert readings.winners(of_forks(forks), ORDERS[0]).to_dict() == {1: 2, 2: readings.NOBODY, 3: readings.NOBODY}


def test_what_never_comes_has_no_time_and_stands_at_the_last_step_where_a_number_is_asked_for():
    forks = [
        planted.fork(ORDERS[0], 1, [0, 9], [EVEN, won(2)], [0, 1.0]),
        planted.fork(ORDERS[0], 2, [0, 9], [EVEN, won(2, 0.4)], [0, 0.2]),
    ]
    results = of_forks(forks)
    for timed, by_step in ((readings.half_joined, readings.joined), (readings.half_read, readings.half_right)):
        times = timed(ORDERS[0]).reached(results)
        assert 0 < times[1] < 9 and times[2] == float("inf")
        assert by_step(results, ORDERS[0]).to_dict() == {1: times[1], 2: 9}


def _elsewhere(own, forks):
    """Networks whose own winners are given, which win at 1,600, and forks of them: arm -> label -> who won."""
    rows = [planted.fork(NETWORKS, seed, [0, 1500, 1700, 9000], [EVEN, EVEN, won(head, 0.95), won(head)], [0, 0, 1, 1])
            for seed, head in own.items()]  # fmt: skip
    for arm, labels in forks.items():
        at = 2000 * ELSEWHERE.index(arm)
        rows += [
            planted.fork(arm, label, [at, 9000], [EVEN, EVEN if head is None else won(head)], [0, 1])
            for label, head in labels.items()
        ]
    return of_forks(rows)


def test_forks_that_keep_their_own_networks_winner_are_counted_by_network():
    first, last = ELSEWHERE
    results = _elsewhere(
        {1: 2, 2: 0, 3: 2},
        {first: {101: 2, 102: 0, 201: 2, 202: 2, 301: None, 302: 2}, last: {101: 2, 102: 2, 201: 1, 202: 0}},
    )
    assert readings.keeping(first)(results).to_dict() == {1: 0.5, 2: 0.0, 3: 0.5}, "one without a winner kept none"
    assert readings.keeping_anothers(first)(results).to_dict() == {1: 0.5, 2: 1.0, 3: 0.25}
    assert readings.keeping(last)(results).to_dict() == {1: 1.0, 2: 0.5}
    assert readings.keeping(last, ahead=400)(results).empty, "they win at 1,600, and forks leave at 2,000"
    assert readings.keeping(first, ahead=400)(results).to_dict() == {1: 0.5, 2: 0.0, 3: 0.5}


def test_forks_of_a_network_without_a_winner_count_nowhere_and_one_network_has_no_other():
    results = _elsewhere({1: 2}, {ELSEWHERE[0]: {101: 2, 201: 0, 301: 0}})
    lost = planted.fork(NETWORKS, 3, [0, 9000], [EVEN, EVEN], [0, 1])
    results = Results(pd.concat([results.measurements, pd.DataFrame(lost)]), pd.DataFrame(), "paper")
    assert readings.keeping(ELSEWHERE[0])(results).to_dict() == {1: 1.0}
    assert readings.keeping_anothers(ELSEWHERE[0])(results).empty


def test_a_head_that_is_overtaken_after_it_has_joined_is_not_the_winner():
    rows = [
        planted.fork(NETWORKS, 1, [0, 900, 1100, 2000], [EVEN, EVEN, won(2), won(2)], [0, 0, 1, 1]),
        planted.fork(NETWORKS, 2, [0, 900, 1100, 2000], [EVEN, EVEN, [0.05, 0.9, 0.6, 0.05], won(2)], [0, 0, 1, 1]),
    ]
    assert readings.leader_stays(of_forks(rows)).to_dict() == {1: 1.0, 2: 0.0}


def _prints(arm, steps, numbers):
    run = {"arm": arm, "init_seed": 6, "run_id": arm, "metric": "fingerprint"}
    return [{**run, "step": step, "value": float(number)} for step, number in zip(steps, numbers, strict=True)]


@pytest.mark.parametrize(("last", "share"), [(9, 1.0), (8, 0.5)])
def test_a_fork_that_differs_at_any_step_is_not_its_parent(last, share):
    runs = [planted.fork(arm, 6, [0, 200], [EVEN, won(1)], [0, 1]) for arm in (PARENT, REPLAY)]
    rows = _prints(PARENT, [0, 100, 150, 200], [7, 3, 5, 9]) + _prints(REPLAY, [100, 200], [3, last])
    measured = pd.DataFrame([row for run in runs for row in run])
    results = Results(measured, pd.DataFrame(), "paper", {"fingerprints": pd.DataFrame(rows)})
    assert readings.same_weights(results).to_dict() == {6: share}


def test_fingerprints_are_alike_only_where_weights_are(tmp_path):
    task = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
    recipe = dataclasses.replace(small_network(task, 1, 50, 8, fresh=True), engine="torch", checkpoint_at=(0, 5, 10))
    store = RunStore(tmp_path, None)
    run = store.get_or_train(recipe)
    fork = dataclasses.replace(recipe, parent=(recipe.sha256, 5), checkpoint_at=(0, 5))
    found = [
        fingerprints(one, None, lambda done: None).set_index("step")["value"].to_dict()
        for one in (run, store.get_or_train(fork))
    ]
    assert found[0].keys() == {0, 5, 10} and len({*found[0].values()}) == 3
    assert found[1] == {step: found[0][step] for step in (5, 10)}


def _pushed(first, steps):
    """Pushes that put one head first at each step, and joins that do so later."""
    rows = []
    for step, head in zip(steps, first, strict=True):
        for place in range(4):
            run = {"arm": NETWORKS, "init_seed": 1, "run_id": "n", "step": step, "layer": 0, "head": place}
            rows.append({**run, "metric": "push", "value": float(place == head)})
            rows.append({**run, "metric": "joins", "value": 0.001 * step * (place == 2) + 0.02 * (place == 0)})
    return rows


def test_predictions_are_scored_before_the_winner_wins_only():
    steps = [0, 400, 600, 800, 1000, 1200]
    network = planted.fork(NETWORKS, 1, [0, 900, 1100, 2000], [EVEN, EVEN, won(2, 0.95), won(2)], [0, 0, 1, 1])
    results = of_forks([network], _pushed([1, 2, 1, 2, 3, 3], steps))
    assert readings.joined(results, NETWORKS)[1] == pytest.approx(1000)
    assert readings.ranked_first("push")(results)[1] == pytest.approx(2 / 4)  # steps 0 to 800 are within the window
    assert readings.ranked_first("joins")(results)[1] == pytest.approx(3 / 4)
    assert readings.ranked_first_at("push", 300)(results)[1] == 0  # step 600
    assert readings.ranked_first_at("push", 150)(results)[1] == 1  # step 800
    assert readings.ranked_first_at("push", None)(results)[1] == 0  # step 0
    assert readings.selection_law(NETWORKS)(results)[1] == pytest.approx(
        2 / 3
    )  # steps 400, 600, 800: head 2 gains at each


def test_rows_a_step_are_a_parameter_of_every_network():
    """Steps, checkpoints and rows a step; nothing else of them differs."""
    few = STUDY.recipes(PUBLISHED.model_copy(update={"batch_size": 16}))
    for arm, many in STUDY.recipes(PUBLISHED).items():
        for one, other in zip(few[arm], many, strict=True):
            assert (one.batch_size, other.batch_size) == (16, 64), arm
            assert 4 * one.stages[0].fresh == other.stages[0].fresh and one.checkpoint_at == other.checkpoint_at
            assert one.n_steps == other.n_steps
