"""Looks: one instrument for all tasks, and that it says what each task's own section said."""

from functools import cache

import numpy as np
import pytest
import torch

from circuitcore.ground.environment import Folders
from circuitcore.metrics.instruments.looks import Looked, add_looks, looks, right_mass, routes, slot_attention
from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models import ModelConfig, init_weights
from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.looks import Look
from circuitcore.training.store.run_store import RunStore

KV, CHAINS = "symbolic_kv-184c3e21d23e", "chain_retrieval-1336770ad182"
MEASURED = "measurements"
FAMILY, N_BASES = "slot_permutation", 64
"""Rows on which the battery measured the published network."""


@cache
def published(run_id):
    return RunStore(Folders.from_environment().published, None).get(run_id)


def of_published(run_id, step):
    run = published(run_id)
    key = next(key for key in run.tables if key.startswith(("battery", MEASURED)))
    table = run.table(key)
    return run, table[table["step"] == step]


def measured(task, net, batch, step=0):
    rows = Rows("run", (step,), (0,))
    add_looks(task, net, batch, rows)
    return rows.frame()


def by_head(table, metric, **where):
    for name, value in {"metric": metric, **where}.items():
        table = table[table[name].astype(str) == value]
    return table.set_index(["layer", "head"])["value"].sort_index()


@cache
def some_rows(name):
    """A task and a few rows of its last split."""
    if name == "balanced_stream":  # its splits are tried against rules, which takes long
        task = make_task(name, {})
        return task, task.draw(task.splits[0], 20, 1)
    task = make_task(name, {"n_train": 64, "n_eval": 64} if name == "stream_kv" else {})
    return task, task.split(task.splits[-1]).rows(slice(0, 20))


@pytest.mark.parametrize(
    "name",
    [
        "symbolic_kv",
        "textual_kv",
        "chain_retrieval",
        "conditional_retrieval",
        "stream_kv",
        "balanced_stream",
        "permutation_recall",
    ],
)
def test_chance_is_what_a_head_gets_that_looks_evenly_or_by_lot(name):
    task, batch = some_rows(name)
    n_pos, generator = batch.tokens.shape[1], torch.Generator().manual_seed(0)
    even = torch.ones(n_pos, n_pos, dtype=torch.float64).tril()
    even = (even / even.sum(-1, keepdim=True)).expand(1, len(batch), 1, -1, -1)
    lots = torch.rand(50, len(batch), 1, n_pos, n_pos, generator=generator)
    for look in task.looks(batch).values():
        mass = right_mass(slot_attention(even, look), look)[0, :, 0]
        assert torch.allclose(mass, look.chance_of_mass.double(), atol=1e-12)
        if look.places.sum(-1).max() == 1:  # slots of one position each are equally likely to have most
            share = routes(slot_attention(lots, look), look).double().mean()
            assert share == pytest.approx(look.chance_of_routing.mean().item(), abs=0.06)


@pytest.mark.parametrize(
    "name",
    ["chain_retrieval", "conditional_retrieval", "stream_kv", "balanced_stream", "symbolic_kv", "permutation_recall"],
)
def test_who_looks_at_the_right_place_alone_scores_one(name):
    task, batch = some_rows(name)
    for look in task.looks(batch).values():
        pattern = torch.zeros(1, len(batch), 1, *2 * batch.tokens.shape[1:2])
        right = look.seen[torch.arange(len(look)), look.right].double()
        pattern[0, look.row, 0, look.at] = (right / right.sum(-1, keepdim=True)).float()
        slots = slot_attention(pattern, look)
        assert torch.allclose(right_mass(slots, look), torch.ones(()))
        assert routes(slots, look).all()


def test_looks_of_permutation_recall_go_to_the_repeated_x_and_its_y_where_there_is_one():
    task = make_task("permutation_recall", {"n_rows": 60})
    batch = task.split("test")
    again = [row for row, tokens in enumerate(batch.tokens.tolist()) if tokens[-1] in tokens[:-1:2]]
    looks = task.looks(batch)
    for name, behind in (("read_out>x", 0), ("read_out>y", 1)):
        look = looks[name]
        assert look.row.tolist() == again and 10 < len(again) < 30 and (look.at == 8).all()
        for place, row in enumerate(again):
            tokens = batch.tokens[row].tolist()
            right = look.places[place, look.right[place]].nonzero().flatten().tolist()
            assert right == [tokens[:-1:2].index(tokens[-1]) * 2 + behind]
    assert not task.looks(task.every_row("test", 20))
    assert not make_task("permutation_recall", {"repeat_slot": 2}).looks(batch)


def test_right_values_of_a_stream_are_those_that_reads_ask_for():
    for name in ("stream_kv", "balanced_stream"):
        task, batch = some_rows(name)
        look = task.looks(batch)["current values"]
        at = torch.arange(len(look))
        assert torch.equal(look.places[at, look.right].int().argmax(-1), look.copied)
        assert torch.equal(batch.tokens[look.row, look.copied], look.answer)
        for row, read, places in list(zip(look.row.tolist(), look.at.tolist(), look.places, strict=True))[:60]:
            words, has = [task.vocab[token] for token in batch.tokens[row].tolist()], {}
            for place in range(1, read):
                if words[place] == "W":
                    has[words[place + 1]] = place + 2
            assert sorted(places.any(0).nonzero().flatten().tolist()) == sorted(has.values())


def test_it_says_of_a_published_network_what_the_battery_said():
    run, table = of_published(KV, published(KV).steps[-1])
    task = run.recipe.make_task()
    table = table[table["family"].astype(str) == FAMILY]
    batch = task.families(N_BASES)[FAMILY]
    assert len(batch) == table[table["metric"] == "routing"]["n"].iloc[0]
    net = Network(run.recipe.model, run.stack(run.steps[-1:]))
    found = measured(task, net, batch)
    pairs = {
        "routing": by_head(found, "routing", variable="routing"),
        "routing_value": by_head(found, "routing", variable="routing_value"),
        "value_mass": by_head(found, "mass", variable="routing_value"),
        "copying": by_head(found, "copying", variable="routing"),
    }
    for metric, own in pairs.items():
        assert np.allclose(own, by_head(table, metric), atol=1e-6), metric


def test_it_says_of_a_published_network_what_the_chapter_on_chains_said():
    run, table = of_published(CHAINS, 3000)
    task = run.recipe.make_task()
    batch = task.split("test").rows(slice(0, 32))
    found = measured(task, Network(run.recipe.model, run.stack((3000,))), batch)
    attention = table[table["metric"].astype(str) == "attention"]
    for link in task.looks(batch):
        rows = attention[attention["site"].astype(str) == link].set_index(["layer", "head"])["value"].sort_index()
        assert len(rows) == 16
        assert np.allclose(by_head(found, "mass", variable=link), rows, atol=1e-6)


def test_a_task_without_looks_and_a_look_that_cannot_be_are_refused():
    task = make_task("chain_words", {})
    config = ModelConfig(d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=1, d_model=8, d_mlp=8)
    weights = {name: one[None] for name, one in init_weights(config, 0).items()}
    with pytest.raises(ValueError, match="'chain_words' declares no look"):
        measured(task, Network(config, weights), task.split("test").rows(slice(0, 4)))
    one = torch.tensor([0])
    with pytest.raises(TaskError, match="1 of 1 entries the right alternative cannot be looked at"):
        Look(row=one, at=one, places=torch.tensor([[[False, True]]]), right=one)
    with pytest.raises(TaskError, match="names the position that is copied and its token, or neither"):
        Look(row=one, at=one, places=torch.tensor([[[True, True]]]), right=one, copied=one)


def test_the_instrument_has_a_key_of_its_own():
    assert looks(Looked(split="test", n_rows=32)).key.startswith("looks-v1-")
    with pytest.raises(ValueError, match=r"n_rows = -490; allowed: an integer >= 1"):
        Looked(split="test", n_rows=-490)
    assert looks(Looked(split="test", n_rows=32)).key != looks(Looked(split="test", n_rows=64)).key


def test_behind_a_value_stands_the_separator_that_counts_as_its_pair():
    task = make_task("textual_kv", {"read_out": "query"})
    batch = task.split("test").rows(slice(0, 8))
    look = task.looks(batch)["routing_behind"]
    for row, (at, places, right) in enumerate(zip(look.at, look.places, look.right, strict=True)):
        words = [task.vocab[token] for token in batch.tokens[row].tolist()]
        seen = places[right].nonzero().flatten().tolist()
        assert words[at - 1] == "Q" and len(seen) == 2 and words[seen[1]] == ";"
        assert words[seen[0]] == task.vocab[int(batch.answers[row])] and words[seen[0] - 1] == words[at]
