"""Whole circuits on chains, planted in attention alone: one that hops, one that looks ahead, one that does both.

Each layer's head looks, at every position, for where a symbol that it holds stands as the first of a pair. So values
look as the query does, also where nobody reads what they fetch: a reading has to tell these looks from those used.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch

from circuitcore.models import Head, ModelConfig
from circuitcore.models.transformer import init_weights
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.tasks.symbol_chains import position_code
from retrieval_circuits.stacked_heads.measures.circuit import Path, Reading, at_the_end, circuit_of
from retrieval_circuits.stacked_heads.measures.needed import needed_looks

WIDTH = 128  # wide symbols, so that the product of one with itself is far above that with any other
CODE = slice(WIDTH, 2 * WIDTH)
SLOTS = {"own": 0, "joined": 2, "c": 3, "d": 4, "e": 5}  # where in the residual stream, in symbols; the code is at 1
HOW = Reading(n_rows=12)
SHARP, PER_POSITION, ITSELF = 12.0, 5.0, 40.0
"""Nats for each unit of two symbols' product, against each position away from the start, and against the first."""


@dataclass(frozen=True)
class Look:
    """What the head of one layer looks for, and what it fetches from there to where."""

    by: str
    moves: tuple[tuple[str, str], ...]


def by_position(task):
    """How much less a position is looked at than others, read off its code.

    A symbol is also the one before the pair that follows its own in the row: of two, the earlier is meant. And the
    first position has nothing before it and joins itself.
    """
    at = torch.arange(task.max_length, dtype=torch.float64)
    code, less = position_code(task.max_length, WIDTH).double(), -PER_POSITION * at - ITSELF * (at == 0)
    return torch.linalg.lstsq(code, less[:, None], rcond=1e-3, driver="gelsd").solution[:, 0].float()


def slot(name):
    return slice(SLOTS[name] * WIDTH, (SLOTS[name] + 1) * WIDTH)


def planted(task, looks, said):
    """A network whose first layer joins pairs and whose next ones look; ``said`` are the slots of x_1, x_2, ..."""
    d_head = 2 * WIDTH
    config = ModelConfig(
        d_vocab=task.d_out, n_ctx=task.max_length, d_in=task.d_in, n_layers=1 + len(looks), n_heads=1,
        d_model=WIDTH * (1 + max(SLOTS.values())), d_head=d_head, norm="none", mlp="none", positions="none", tied=False,
    )  # fmt: skip
    weights = {name: torch.zeros_like(value) for name, value in init_weights(config, 0).items()}
    eye, root = torch.eye(WIDTH), d_head**0.5
    weights["embed.W_in"][:, : 2 * WIDTH] = torch.eye(2 * WIDTH)
    query, key, value, out = (weights[f"blocks.0.attn.W_{part}"][0] for part in "QKVO")
    rates = 10_000 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    back = torch.block_diag(*(torch.tensor([[r.cos(), -r.sin()], [r.sin(), r.cos()]]) for r in rates))
    query[CODE, :WIDTH], key[CODE, :WIDTH] = SHARP * root * back, eye
    value[slot("own"), :WIDTH], out[:WIDTH, slot("joined")] = eye, eye
    for layer, look in enumerate(looks, 1):
        query, key, value, out = (weights[f"blocks.{layer}.attn.W_{part}"][0] for part in "QKVO")
        query[slot(look.by), :WIDTH], key[slot("joined"), :WIDTH] = SHARP * root * eye, eye
        query[CODE.start + WIDTH - 2, WIDTH], key[CODE, WIDTH] = root, by_position(task)
        for number, (taken, put) in enumerate(look.moves):
            part = slice(number * WIDTH, (number + 1) * WIDTH)
            value[slot(taken), part], out[part, slot(put)] = eye, eye
    for number, name in enumerate(said):
        weights["unembed.W_U"][slot(name), number * WIDTH : (number + 1) * WIDTH] = eye
    return SimpleNamespace(
        run_id="planted", recipe=SimpleNamespace(make_task=lambda: task, model=config), steps=(0,),
        tokens_seen=lambda step: step, stack=lambda steps: {name: value[None] for name, value in weights.items()},
    )  # fmt: skip


def chains(n_steps):
    return ChainRetrieval(n_steps=n_steps, d_symbol=WIDTH, n_test=HOW.n_rows)


FETCH = Look("own", (("own", "c"),))
RUNS = {
    "hops": planted(chains(3), (FETCH, Look("c", (("own", "d"),)), Look("d", (("own", "e"),))), "cde"),
    "looks ahead": planted(chains(2), (FETCH, Look("own", (("c", "d"),))), "cd"),
    "doubles": planted(chains(3), (FETCH, Look("c", (("own", "d"), ("c", "e")))), "cde"),
}
USED = {
    "hops": [(1, "queries", "value_0"), (2, "queries", "value_1"), (3, "queries", "value_2")],
    "looks ahead": [(1, "queries", "value_0"), (1, "value_0", "value_1"), (2, "queries", "value_0")],
    "doubles": [(1, "queries", "value_0"), (1, "value_1", "value_2"), (2, "queries", "value_1")],
}
IDLE = {
    "hops": [(1, "value_0", "value_1"), (1, "value_1", "value_2"), (2, "value_0", "value_2")],
    "looks ahead": [(2, "value_0", "value_1")],
    "doubles": [(1, "value_0", "value_1"), (2, "value_0", "value_2")],
}
"""What values fetch that nobody reads."""


def paths(looks):
    return {Path(Head(layer, 0), query, key) for layer, query, key in looks}


def joins(task):
    return [(0, f"value_{k}", f"key_{k}") for k in range(task.n_steps)]


@pytest.mark.parametrize("name", RUNS)
def test_all_that_is_planted_is_tried_and_exactly_what_is_used_is_left(name):
    """The pairs that end chains find nothing that they look for, and may look at themselves."""
    task, net, batch = at_the_end(RUNS[name], HOW)
    tried, left, (own, uniform, whole, left_loss) = circuit_of(task, net, batch, HOW)
    ends = (f"key_{task.n_steps - 1}", f"value_{task.n_steps - 1}")
    by_chance = {path for path in tried if path.query == path.key in ends}
    assert set(tried) - by_chance == paths([*joins(task), *USED[name], *IDLE[name]])
    assert set(left) == paths(USED[name])
    assert max(own, whole, left_loss) < 1e-3 < 0.7 < uniform


@pytest.mark.parametrize("name", RUNS)
def test_forbidden_alone_what_is_used_is_missed_joins_too_and_nothing_else(name):
    """Maps once set, no head has to find its way by what was joined; with attention free, all do."""
    table = needed_looks(RUNS[name], HOW, lambda done: None)
    table = table[table["metric"] == "error_without"].astype({"site": str})
    worst = table.groupby(["layer", "site"])["value"].max()
    missed = {(layer, *site.split(">")) for (layer, site), error in worst.items() if error > 0.5}
    at_peace = worst[worst <= 0.5]
    assert missed == {*joins(RUNS[name].recipe.make_task()), *USED[name]} and at_peace.max() < 1e-3
    assert {(layer, *site.split(">")) for layer, site in at_peace.index} == set(IDLE[name])
