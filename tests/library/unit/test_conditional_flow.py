"""Hops by two symbols: the reduced simulation against real rows with all chains in them, and against chains."""

import re

import pytest
import torch

from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.chain_flow import MAX_DEPTH, fewest
from circuitcore.tasks.conditional_flow import VARIANTS, at_first, conditional_table, simulated, visible_to

ENTRIES = (("left_key", "left"), ("right_key", "right"), ("by_left", "by_right", "answer"))


def by_rows(n_hops, causal):
    """Layers until the query of the first chain holds its way, simulated on a row of the task with all its chains.

    Written without the module: sets of pieces, which are symbols as they stand in the row and entries by their place.
    """
    batch = make_task("conditional_retrieval", {"n_steps": n_hops, "n_test": 1}).split("test")
    at = {role: places[0].tolist() for role, places in batch.roles.items() if role != "read_out"}
    symbol = [tuple(vector) for vector in batch.tokens[0, :, :4].tolist()]
    holds = [{one} for one in symbol]
    for k in range(n_hops):
        for parts in ENTRIES:
            for chain in range(4):
                places = [at[f"{part}_{k}"][chain] for part in parts]
                for place in places:
                    holds[place].add(("entry", min(places)))
    way = {symbol[at["queries"][0]]} | {("entry", at[f"{key}_{k}"][0]) for k in range(n_hops) for key, *_ in ENTRIES}
    way |= {symbol[at[f"{role}_{k}"][0]] for k in range(n_hops) for role in ("left", "right", "answer")}
    layers, query = 0, at["queries"][0]
    while not way <= holds[query]:
        seen = [holds[: i + 1] if causal else holds for i in range(len(holds))]
        holds = [set().union(*(other for other in seen[i] if other & own)) for i, own in enumerate(holds)]
        layers += 1
    return layers


@pytest.mark.parametrize("n_hops", [1, 2, 3])
@pytest.mark.parametrize("variant", ["open", "causal"])
def test_other_chains_of_a_row_change_nothing(n_hops, variant):
    assert simulated(n_hops, variant) == by_rows(n_hops, variant == "causal")


def test_one_hop_is_counted_by_hand():
    """Join entries, fetch both symbols, fetch the answer; without a mask values fetch ahead and answers fetch back."""
    assert {variant: simulated(1, variant) for variant in VARIANTS} == {
        "open": 2,
        "causal": 3,
        "one_hop": 3,
    }


def test_positions_hold_their_symbol_and_their_entry():
    holds = at_first(3)
    assert holds.shape == (22, 19) and holds[0].sum() == 1 and (holds[1:].sum(1) == 2).all()
    shared = torch.from_numpy(holds.astype(int))
    assert (shared.T @ shared).diagonal()[6:13].tolist() == [3, 2, 2, 2, 2, 3, 3]  # of the middle hop, and its next x
    assert visible_to(3, causal=True)[0].all() and visible_to(3, causal=True).sum() == 22 * 23 / 2


def test_the_table_has_chains_beside_and_says_whether_they_agree():
    table = conditional_table((1, 4))
    assert table["variant"].tolist() == [*VARIANTS, *VARIANTS]
    assert table["agrees"].all() and table["layers"].tolist() == [2, 3, 3, 4, 5, 9]
    assert table["chain"].tolist() == [fewest(2 * hops, variant) for hops in (1, 4) for variant in VARIANTS]
    assert (table["bound_layers"] <= table["layers"]).all()


@pytest.mark.parametrize(
    ("ask", "seen"),
    [
        (lambda: simulated(0, "open"), "n_hops = 0; allowed: a whole number of hops 1 to 512"),
        (lambda: simulated(True, "open"), "n_hops = True; allowed"),
        (lambda: simulated(MAX_DEPTH + 1, "open"), "n_hops = 513; allowed"),
        (lambda: simulated(1, "one_head"), "unknown variant of the flow 'one_head'"),
    ],
)
def test_what_is_not_allowed_is_refused_by_name(ask, seen):
    with pytest.raises(TaskError, match=re.escape(seen)):
        ask()
