"""SGD selection, parts changed in training: a fork has the one change it names, and each reading can come out wrong."""

import dataclasses

import pytest

from circuitcore.training.during import Freeze, Graft, Hold, Scale
from livingpaper.book import studies
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import (
    ACT,
    BOOSTED,
    BOOSTED_EARLY,
    DAMPED,
    DRAWN_FORK,
    EARLY,
    FROZEN,
    FROZEN_EARLY,
    HELD,
    HELD_EARLY,
    NETWORKS,
    NEVER_LOOSE,
    NEVER_LOOSE_WIDE,
    ORDERS,
    OTHERS_HEADS,
    OWN_HEADS,
    PARENT,
)
from tests.support.planted_forks import EVEN, fork, of_forks, won

PUBLISHED = studies.load_params("sgd_selection")
ARMS = studies.load("sgd_selection").recipes(PUBLISHED)
FIRST = [f"L0H{head}" for head in range(4)]


def plain(point, orders):
    """Forks from one point in which nothing is changed, of these orders."""
    of_order = {fork.init_seed: fork for fork in ARMS[ORDERS[point]]}
    return [of_order[order] for order in orders]


def unchanged(recipe):
    return dataclasses.replace(recipe, during=())


@pytest.mark.parametrize(
    ("arms", "point", "change"),
    [
        (BOOSTED, ACT, lambda part: Scale(parts=(part,), factor=3.0)),
        (BOOSTED_EARLY, EARLY, lambda part: Scale(parts=(part,), factor=3.0)),
        (HELD, ACT, lambda part: Hold(parts=(part,))),
        (HELD_EARLY, EARLY, lambda part: Hold(parts=(part,))),
    ],
)
def test_forks_with_a_head_changed_differ_from_plain_ones_in_that_alone(arms, point, change):
    for part, arm in zip(FIRST, arms, strict=True):
        assert [unchanged(one) for one in ARMS[arm]] == plain(point, [one.init_seed for one in ARMS[arm]])
        assert {one.during for one in ARMS[arm]} == {(change(part),)}


def test_damped_heads_move_by_a_third_under_the_orders_of_the_exchange():
    for part, arm in zip(FIRST, DAMPED, strict=True):
        (damped,) = {one.during for one in ARMS[arm]}
        assert damped == (Scale(parts=(part,), factor=1 / 3),)
        assert [(one.parent, one.data_seed) for one in ARMS[arm]] == [
            (one.parent, one.data_seed) for one in ARMS[OWN_HEADS[0]]
        ]
    assert {one.init_seed for one in ARMS[DAMPED[0]]}.isdisjoint(PUBLISHED.order_seeds)


def test_what_is_frozen_differs_from_what_is_not_in_that_alone():
    assert [unchanged(one) for one in ARMS[FROZEN_EARLY]] == plain(EARLY, PUBLISHED.act_seeds)
    assert [unchanged(one) for one in ARMS[FROZEN]] == plain(ACT, PUBLISHED.act_seeds)
    assert [unchanged(one) for one in ARMS[NEVER_LOOSE]] == list(ARMS[NETWORKS])[: len(PUBLISHED.frozen_seeds)]
    for small, wide in zip(ARMS[NEVER_LOOSE], ARMS[NEVER_LOOSE_WIDE], strict=True):
        assert (small.model.init, wide.model.init, wide.n_steps) == ("small", "torch", 7_500)
        assert dataclasses.replace(wide.model, init="small") == small.model and wide.data_seed == small.data_seed
    matrices = tuple(f"L{layer}H{head}.QK" for layer in range(3) for head in range(4))
    frozen = [one for arm in (FROZEN, FROZEN_EARLY, NEVER_LOOSE, NEVER_LOOSE_WIDE) for one in ARMS[arm]]
    assert {one.during for one in frozen} == {(Freeze(parts=matrices),)}


def test_heads_are_exchanged_between_the_parent_and_the_drawn_fork_at_one_step():
    (parent,), (drawn,), at = ARMS[PARENT], ARMS[DRAWN_FORK], PUBLISHED.fork_at[ACT]
    for stays, gives, own, others in zip((parent, drawn), (drawn, parent), OWN_HEADS, OTHERS_HEADS, strict=True):
        assert [unchanged(one) for one in ARMS[others]] == list(ARMS[own])
        assert {one.parent for one in ARMS[own]} == {(stays.sha256, at)}
        assert {one.during for one in ARMS[others]} == {(Graft(parts=tuple(FIRST), source=(gives.sha256, at)),)}
    rows = [[one.data_seed for one in ARMS[arm]] for arm in (*OWN_HEADS, *OTHERS_HEADS)]
    assert all(one == rows[0] for one in rows) and drawn.data_seed not in rows[0]


def test_boosted_heads_that_win_are_counted_by_order():
    forks = [fork(arm, 1, [0, 9], [EVEN, won(head)], [0, 1]) for head, arm in enumerate(BOOSTED)]
    forks += [fork(arm, 2, [0, 9], [EVEN, won(3)], [0, 1]) for arm in BOOSTED]
    assert readings.boosted_wins(BOOSTED)(of_forks(forks)).to_dict() == {1: 1.0, 2: 0.25}


def test_what_is_late_without_the_winner_is_told_from_what_is_late_without_another():
    forks = [fork(ORDERS[ACT], 1, [0, 100, 200, 900], [EVEN] * 3 + [won(2)], [0, 1, 1, 1])]
    for head, arm in enumerate(HELD):
        accuracy = [0, 0, 1, 1] if head == 2 else [0, 1, 1, 1]
        forks.append(fork(arm, 1, [0, 100, 200, 900], [EVEN] * 3 + [won(0)], accuracy))
    results = of_forks(forks)
    assert readings.delays(HELD, ORDERS[ACT], of_winner=True)(results).to_dict() == {1: 100.0}
    assert readings.delays(HELD, ORDERS[ACT], of_winner=False)(results).to_dict() == {1: 0.0}


def test_a_winner_that_loses_when_damped_is_told_from_one_that_stays_and_from_none():
    """Head 2 wins undamped; damped it loses to head 1 in order 1, stays in order 2, and nobody wins in order 3."""
    rows = [fork(OWN_HEADS[0], order, [0, 9], [EVEN, won(2)], [0, 1]) for order in (1, 2, 3)]
    rows.append(fork(OWN_HEADS[0], 4, [0, 9], [EVEN, EVEN], [0, 1]))
    for head, arm in enumerate(DAMPED):
        ends = (
            {1: won(1), 2: won(2), 3: EVEN, 4: won(0)} if head == 2 else {1: won(2), 2: won(2), 3: won(head), 4: EVEN}
        )
        rows += [fork(arm, order, [0, 9], [EVEN, end], [0, 1]) for order, end in ends.items()]
    results = of_forks(rows)
    assert readings.replaced_when_damped(results).to_dict() == {1: 1.0, 2: 0.0, 3: 0.0}
    assert readings.stays_when_another_is_damped(results).to_dict() == {1: 1.0, 2: 1.0, 3: 0.0}


def exchanged(parent, drawn, ends):
    """The winners of parent and drawn fork, and of forks of both: arm -> order -> who won."""
    rows = [
        fork(PARENT, 6, [0, 9], [EVEN, won(parent)], [0, 1]),
        fork(DRAWN_FORK, 1, [0, 9], [EVEN, won(drawn)], [0, 1]),
    ]
    rows += [
        fork(arm, order, [0, 9], [EVEN, EVEN if head is None else won(head)], [0, 1])
        for arm, of_arm in ends.items()
        for order, head in of_arm.items()
    ]
    return of_forks(rows)


def test_the_winner_goes_with_the_heads_or_with_the_rest_or_is_nobody():
    ends = {OTHERS_HEADS[0]: {1: 0, 2: 2, 3: None}, OTHERS_HEADS[1]: {1: 2, 2: 0, 3: 2}}
    goes = readings.whose_heads_win(OTHERS_HEADS, others=True)
    assert goes(exchanged(2, 0, ends)).to_dict() == {1: 1.0, 2: 0.0, 3: 0.5}
    assert goes(exchanged(2, 2, ends)).empty, "with one winner nothing tells heads from the rest"
    stays = readings.whose_heads_win(OWN_HEADS, others=False)
    ends = {OWN_HEADS[0]: {1: 2, 2: 0}, OWN_HEADS[1]: {1: 0, 2: 2}}
    assert stays(exchanged(2, 0, ends)).to_dict() == {1: 1.0, 2: 0.0}


def test_attention_that_is_gained_is_counted_from_the_first_step_to_the_last():
    rows = fork(NEVER_LOOSE, 1, [0, 5, 9], [EVEN] * 3, [0, 0, 0])
    looks = {0: 0.1, 5: 0.7, 9: 0.4}
    rows += [
        {"arm": NEVER_LOOSE, "init_seed": 1, "run_id": "a", "step": step, "metric": "attention", "layer": 1, "head": 0,
         "site": kind, "value": value / 2}
        for step, value in looks.items()
        for kind in ("support", "answered")
    ]  # fmt: skip
    assert readings.looks_gained(NEVER_LOOSE)(of_forks([rows])).to_dict() == {1: pytest.approx(0.3)}
