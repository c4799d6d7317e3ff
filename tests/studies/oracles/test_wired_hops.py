"""What layers hold, of networks wired by hand to make one hop a layer, to double, or both, and of random ones."""

from dataclasses import replace

import pytest
import torch
from wired_hops import wired_gates, wired_hops, wired_meeting

from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models.transformer import init_weights
from circuitcore.tasks.k_fold_composition import KFoldComposition
from retrieval_circuits.composition.measures import add_exchanges, add_removals, head_costs, scores

TASK = KFoldComposition(n_rows=50, n_queries=2)
N_PAIRS = 200
WRONG = 0.36
"""More than three standard deviations above one in four, of so many pairs."""


def network(config, weights):
    return Network(config, {name: value[None] for name, value in weights.items()})


def table(config, weights):
    net = network(config, weights)
    rows = Rows("wired", (0,), [0])
    for pairs in TASK.interchanges(N_PAIRS):
        add_exchanges(TASK, net, pairs, rows)
    return rows.frame()


def accuracies(config, weights):
    batch = TASK.split("test")
    hops = TASK.read(batch)[2].flatten()
    net = network(config, weights)
    right, _ = scores(net.run(batch).logits[:, batch.loss_mask], batch.targets[batch.loss_mask])
    return [right[0, hops == asked].mean().item() for asked in range(1, 5)]


def held(rows, hops, metric, variable):
    """Of each stream what it holds: the number of hops whose prediction comes true, by the column of the metric."""
    rows = rows[(rows["metric"] == metric) & (rows["family"] == f"hops_{hops}")]
    if metric == "maps_hold":
        rows = rows[rows["variable"] == variable].assign(held=lambda part: part["edit"])
    else:
        rows = rows.assign(held=rows["variable"])
    wide = rows.pivot(index="site", columns="held", values="value")
    true, rest = wide.max(axis=1), wide.apply(lambda row: row.nlargest(2).iloc[1], axis=1)
    assert (true == 1).all() and (rest < WRONG).all()
    return wide.idxmax(axis=1).str[-1].astype(int).sort_index()[_order(wide.index)].tolist()


def _order(sites):
    return sorted(sites, key=lambda site: (site[1], site.endswith("post")))


@pytest.fixture(scope="module")
def linear():
    config, weights = wired_hops(TASK, 4, doubling=False)
    return accuracies(config, weights), table(config, weights)


@pytest.fixture(scope="module")
def doubling():
    config, weights = wired_hops(TASK, 3, doubling=True)
    return accuracies(config, weights), table(config, weights)


def test_one_hop_a_layer_answers_as_many_hops_as_layers():
    assert accuracies(*wired_hops(TASK, 4, doubling=False)) == [1, 1, 1, 1]
    *first, last = accuracies(*wired_hops(TASK, 3, doubling=False))
    assert first == [1, 1, 1] and last < 0.5


def test_doubling_answers_four_hops_with_three_layers(doubling):
    assert doubling[0] == [1, 1, 1, 1]


def test_one_hop_a_layer_is_read_off(linear):
    _, rows = linear
    # before the first layer, after layers 1 to 4; 0 where it no longer matters
    assert held(rows, 4, "maps_hold", "maps_2") == [1, 2, 0, 0, 0]
    assert held(rows, 4, "maps_hold", "maps_3") == [1, 1, 3, 0, 0]
    assert held(rows, 4, "maps_hold", "maps_4") == [1, 1, 1, 4, 0]
    assert held(rows, 4, "query_holds", None) == [0, 0, 0, 0, 4]


def test_doubling_is_read_off(doubling):
    _, rows = doubling
    assert held(rows, 4, "maps_hold", "maps_2") == [1, 2, 0, 0]
    assert held(rows, 4, "maps_hold", "maps_4") == [1, 2, 4, 0]
    assert held(rows, 4, "query_holds", None) == [0, 0, 0, 4]


def test_three_hops_in_two_layers_are_read_off_where_words_double_and_the_query_hops():
    config, weights = wired_meeting(TASK)
    *first, last = accuracies(config, weights)
    assert first == [1, 1, 1] and last < 0.5
    rows = table(config, weights)
    assert held(rows, 3, "maps_hold", "maps_1") == [1, 0, 0]
    assert held(rows, 3, "maps_hold", "maps_2") == [1, 0, 0]
    assert held(rows, 3, "maps_hold", "maps_3") == [1, 2, 0]
    assert held(rows, 3, "query_holds", None) == [0, 1, 3]


def test_four_hops_in_two_layers_of_a_head_for_each_symbol_are_read_off():
    """Words double, and the last table is no longer read where it stands."""
    config, weights = wired_gates(TASK)
    assert (config.n_layers, config.n_heads, accuracies(config, weights)[3]) == (2, 4, 1)
    rows = table(config, weights)
    assert held(rows, 4, "maps_hold", "maps_2") == [1, 0, 0]
    assert held(rows, 4, "maps_hold", "maps_3") == [1, 2, 0]
    assert held(rows, 4, "maps_hold", "maps_4") == [1, 0, 0]


def test_random_networks_hold_nothing():
    config, _ = wired_hops(TASK, 3, doubling=False)
    weights = init_weights(config, seed=0)
    rows = table(config, weights)
    predicted = rows[(rows["edit"] != "hops_0") & (rows["family"] == "hops_4")]
    assert predicted["value"].max() < WRONG


def shared_out(config, weights):
    """Of four hops, by kind: what the head costs that a kind needs most, and that of the one that all need most."""
    rows, net = Rows("wired", (0,), [0]), network(config, weights)
    add_removals(TASK, net, replace(TASK, n_rows=800).split("test"), rows)
    table = rows.frame()
    table = table[(table["family"] == "hops_4") & (table["metric"] != "costs")]
    wide = table.pivot(index="variable", columns="metric", values="value")
    return wide["own_head"], wide["one_head"]


def test_a_head_for_each_answer_costs_the_queries_that_have_it_and_no_others():
    config, weights = wired_gates(TASK)
    asks_four = weights["embed.W_E"][-TASK.n_symbols :].bool().all(0)
    weights["unembed.W_U"][asks_four, 0] = 0.5  # without its head every answer is the first symbol
    batch = TASK.split("test")
    chosen = TASK.read(batch)[2] == 4
    answers = batch.targets[batch.loss_mask].reshape(chosen.shape)[chosen]
    net = network(config, weights)
    costs = head_costs(net, batch, TASK.read(batch)[2])[:, chosen]
    assert costs.tolist() == [((answers == head) & (answers > 0)).double().tolist() for head in range(4)]
    own, one = shared_out(config, weights)
    for kind in ("hop_4", "x_4"):
        assert own[kind] == pytest.approx(0.75) and one[kind] == pytest.approx(0.25), "the first symbol needs none"
    assert (own - one)[["hop_1", "hop_2", "hop_3", "x_0", "x_1", "x_2", "x_3"]].max() < 0.1


def test_one_head_beside_idle_ones_is_shared_out_by_nothing():
    config, weights = wired_hops(TASK, 4, doubling=False)
    wide = {
        name: torch.cat([value, *[0 * value] * 3]) if ".attn.W_" in name else value for name, value in weights.items()
    }
    own, one = shared_out(replace(config, n_heads=4, d_head=config.d_head), wide)
    assert (own > 0.5).all() and (own - one).abs().max() < 0.02
