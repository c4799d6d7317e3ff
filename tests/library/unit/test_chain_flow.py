"""The flow of information along a chain: simulation, closed form and search agree, and the published bound holds."""

import re
from itertools import pairwise

import pytest
from flow_search import MAX_SEARCHED, searched

from circuitcore.tasks.chain_flow import (
    MAX_DEPTH,
    VARIANTS,
    fewest,
    flow_table,
    held,
    khop_depth,
    published_bound,
    simulated,
)
from circuitcore.tasks.errors import TaskError

DEPTHS = range(1, 129)


@pytest.fixture(scope="module")
def table():
    return flow_table(DEPTHS)


def by_bits(depth, variant):
    """Written without looking at the module: sets of bits, all heads, positions in the order of the sequence."""
    order = [s for k in range(depth, 0, -1) for s in (2 * k - 1, 2 * k)] + [0]
    bits = {s: 0b11 << s for s in order}
    layers = 0
    while not bits[0] >> (2 * depth + 1) & 1:
        seen = {s: order[: order.index(s) + 1] if variant == "causal" else order for s in order}
        # Bits do not overlap where the sum is taken, so that "or" is all that is needed.
        new = {}
        for s in order:
            new[s] = 0
            for j in seen[s]:
                new[s] |= bits[j] if bits[j] & bits[s] else 0
        bits, layers = new, layers + 1
    return layers


def test_closed_form_and_simulation_agree_at_every_depth(table):
    assert len(table) == len(DEPTHS) * len(VARIANTS)
    assert (table.layers == table.closed_form).all()


@pytest.mark.parametrize("variant", ["open", "causal"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 6, 7, 8, 13, 20, 21, 31, 32])
def test_a_second_simulation_says_the_same(variant, depth):
    assert by_bits(depth, variant) == simulated(depth, variant)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("depth", range(1, MAX_SEARCHED + 1))
def test_no_choice_of_one_head_takes_fewer_layers(depth, causal):
    assert searched(depth, causal=causal) == fewest(depth, "causal_one_head" if causal else "one_head")


def test_where_steps_of_the_closed_forms_lie():
    """The largest depth of each number of layers, as the proofs have it."""
    for layers in range(2, 9):
        assert [fewest(d, "open") for d in ((3**layers - 1) // 4, (3**layers - 1) // 4 + 1)] == [layers, layers + 1]
        assert [fewest(d, "causal") for d in (2 ** (layers - 1) - 1, 2 ** (layers - 1))] == [layers, layers + 1]


def test_no_variant_beats_the_bound_and_only_one_ever_meets_it(table):
    assert (table.layers >= table.bound_layers).all() and (table.bound_layers >= table.bound).all()
    assert set(table[table.tight].variant) == {"open"}
    met = table[table.tight].depth.tolist()
    powers = [3**n for n in range(7)]
    assert met == [d for d in DEPTHS if not any(2 * d <= power <= 4 * d for power in powers)] and 1 not in met


def test_a_causal_network_needs_what_is_known_to_suffice_for_k_hops(table):
    causal = table[table.variant == "causal_one_head"]
    assert len(causal) == 128 and (causal.layers == causal.khop_layers).all()
    assert [khop_depth(k) for k in (1, 2, 3, 4, 8, 16)] == [2, 3, 3, 4, 5, 6]


def test_a_limit_never_saves_a_layer_and_one_more_look_up_neither(table):
    wide = table.pivot(index="depth", columns="variant", values="layers")
    assert (wide.causal >= wide.open).all() and (wide.one_head >= wide.open).all()
    assert (wide.causal_one_head >= wide[["causal", "one_head"]].max(axis=1)).all()
    assert (wide.one_hop >= wide.causal_one_head).all() and (wide.one_hop == wide.index + 1).all()
    assert all((wide[variant].diff().dropna() >= 0).all() for variant in VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_held_is_one_run_and_only_grows(variant):
    """Lemma 2 of the source; and nobody forgets."""
    for blocks in ("far_first", "near_first"):
        states = list(held(6, variant, blocks))
        for state in states:
            starts = (state[:, 1:] & ~state[:, :-1]).sum(1) + state[:, 0]
            assert (starts == 1).all()
        assert all((after >= before).all() and (after != before).any() for before, after in pairwise(states))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_order_of_the_blocks_does_not_matter(variant):
    assert [simulated(d, variant, "near_first") for d in range(1, 40)] == [fewest(d, variant) for d in range(1, 40)]


def test_no_run_is_longer_than_the_source_says():
    """Lemma 3, and that it is met: in the middle of a line that is long enough."""
    for layer, state in enumerate(held(121, "open")):
        assert state.sum(1).max() == min(3**layer + 1, state.shape[1])


def test_under_a_causal_mask_keys_learn_nothing():
    *_, last = held(9, "causal")
    assert (last[1::2].sum(1) == 2).all()


def test_few_layers_are_counted_by_hand():
    """An induction head has two layers; three serve for two look-ups or three, in one head each."""
    assert [fewest(d, "causal_one_head") for d in (1, 2, 3, 4)] == [2, 3, 3, 4]
    assert [fewest(d, "open") for d in (1, 2, 3, 6, 7)] == [2, 2, 3, 3, 4]
    assert [published_bound(d) for d in (1, 2, 4, 5, 13, 14)] == [1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize(
    ("ask", "seen"),
    [
        (lambda: simulated(0, "open"), "depth = 0; allowed: a whole number of look-ups 1 to 512"),
        (lambda: simulated(MAX_DEPTH + 1, "open"), "depth = 513; allowed"),
        (lambda: simulated(True, "open"), "depth = True; allowed"),
        (lambda: fewest(-3, "open"), "depth = -3; allowed: a whole number of look-ups >= 1"),
        (lambda: published_bound(0), "depth = 0; allowed"),
        (lambda: flow_table([2, 0]), "depth = 0; allowed"),
    ],
)
def test_a_depth_out_of_range_is_refused_by_name(ask, seen):
    with pytest.raises(TaskError, match=re.escape(seen)):
        ask()
