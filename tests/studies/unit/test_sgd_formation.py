"""SGD formation: what is measured on streams, what is read off the tables, and that each number can come out wrong."""

import hashlib

import numpy as np
import pandas as pd
import pytest
import torch

from circuitcore.metrics.network import Network
from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.stream_kv import StreamKV
from livingpaper.book import studies
from livingpaper.claims.view import View
from retrieval_circuits.sgd_formation.design import (
    DRAWN,
    FIRST_TO_READ,
    FIXED,
    FIXED_STEPS,
    FRESH,
    FULL,
    OTHERS,
    SOURCE,
)
from retrieval_circuits.sgd_formation.figures import source_network
from retrieval_circuits.sgd_formation.measures import SIZES, attribution, removals
from retrieval_circuits.sgd_formation.measures import asked as asking
from retrieval_circuits.sgd_formation.measures.probe_set import PROBED, Probed, _followed, probe_rows
from retrieval_circuits.sgd_formation.measures.scores import token_losses
from retrieval_circuits.sgd_formation.published import (
    HELD_OUT_CURVE,
    PROBE_ACCURACY,
    PROBE_CURVE,
    PROBE_STEPS,
    SUPPORT_CURVE,
)
from retrieval_circuits.sgd_formation.readings import networks as readings

STUDY = studies.load("sgd_formation")
PUBLISHED = studies.load_params("sgd_formation")
TASKS = (StreamKV(n_train=8, n_eval=12), BalancedStream(**SIZES, n_train=1500, n_eval=1500))
CASES = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def _loop(task, words, at, answer, support):
    """What stands where before a read, word by word."""
    key, seen = words[at], {}
    for place in range(3, at - 1, 3):
        if task.vocab[words[place - 2]] == "W":
            seen[words[place - 1]] = place
    found = {kind: set() for kind in asking.KINDS}
    found["itself"].add(at)
    for place in range(3, at - 1, 3):
        if words[place - 1] == key:
            same = words[place] == answer
            found["support" if place == support else "answered" if same else "stale"].add(place)
        elif seen.get(words[place - 1]) == place:
            found["current"].add(place)
    return found


@CASES
def test_what_stands_before_a_read_is_what_a_loop_finds(task):
    found = asking.asked(task, task.reported, 12)
    words = found.batch.tokens.tolist()
    for number in range(len(found.reads)):
        row, at, answer, support = (
            getattr(found.reads, name)[number].item() for name in ("row", "at", "answer", "support")
        )
        wanted = _loop(task, words[row], at, answer, support)
        for kind, mask in found.kinds.items():
            assert set(mask[number].nonzero()[:, 0].tolist()) == wanted[kind], kind


@CASES
def test_another_key_is_one_that_could_have_been_asked_and_has_another_value(task):
    found, base = asking.swapped(task, task.reported, 12), asking.asked(task, task.reported, 12)
    assert len(found.batch) >= 4
    lags = set(base.reads.lag.tolist())
    for row, at in enumerate(found.at.tolist()):
        words, before = found.batch.tokens[row].tolist(), base.batch.tokens[found.batch.base[row]].tolist()
        assert [place for place in range(len(words)) if words[place] != before[place]] == [at]
        written = [
            (words[place - 1], words[place]) for place in range(3, at - 1, 3) if task.vocab[words[place - 2]] == "W"
        ]
        last = max(number for number, (key, _) in enumerate(written) if key == words[at])
        assert written[last][1] == found.now[row].item() != found.before[row].item()
        assert len(written) - 1 - last in lags


@CASES
def test_the_loss_of_all_words_is_what_is_trained_on(task):
    config = ModelConfig(d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=1, n_heads=2, d_model=8, d_mlp=8)
    net = Network(config, {name: value[None] for name, value in init_weights(config, 0).items()})
    found = asking.asked(task, task.reported, 12)
    logits = net.run(found.batch).logits
    kept = found.batch.loss_mask
    wanted = torch.nn.functional.cross_entropy(
        forward(config, init_weights(config, 0), found.batch.tokens).logits[kept], found.batch.targets[kept]
    )
    assert torch.allclose(token_losses(logits, found).mean(), wanted, atol=1e-5)


def test_a_part_taken_away_is_a_pass_whose_part_writes_nothing():
    task = TASKS[1]
    config = ModelConfig(
        d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=2, n_heads=2, d_model=8, d_mlp=16, norm="layer",
        positions="learned", mlp="gelu",
    )  # fmt: skip
    weights = init_weights(config, 0)
    found = asking.asked(task, task.reported, 12)
    each = asking.one_read_a_row(found)
    net = Network(config, {name: value[None] for name, value in weights.items()})
    silent = dict(weights) | {"blocks.1.mlp.W_out": torch.zeros_like(weights["blocks.1.mlp.W_out"])}
    edited = net.answers_under(each, [(removals.Ablate(removals.Mlp(1), "zero"),)], {}).logits[0, 0]
    wanted = forward(config, silent, found.batch.tokens).logits[found.reads.row, found.reads.at]
    assert torch.allclose(edited, wanted, atol=1e-5)


def test_what_parts_write_sums_to_the_margin():
    task = TASKS[1]
    config = ModelConfig(
        d_vocab=len(task.vocab), n_ctx=task.max_length, n_layers=2, n_heads=2, d_model=8, d_mlp=16, norm="layer",
        positions="learned", mlp="gelu", bias="inside",
    )  # fmt: skip
    generator = torch.Generator().manual_seed(1)
    weights = {
        name: value + 0.3 * torch.randn(value.shape, generator=generator)
        for name, value in init_weights(config, 0).items()
    }
    net = Network(config, {name: value[None].double() for name, value in weights.items()})
    batch = asking.one_read_a_row(asking.asked(task, task.reported, 12))
    names, parts, margin = attribution.parts_of_margin(net, batch, task.words.first_value)
    assert names == ["embed", "L0H0", "L0H1", "L0MLP", "L1H0", "L1H1", "L1MLP", "biases"]
    assert torch.allclose(parts.sum(1), margin, atol=1e-9)
    logits = forward(config, {n: v.double() for n, v in weights.items()}, batch.tokens).logits
    for row, at in enumerate(batch.roles["read_out"].tolist()):
        values = logits[row, at, task.words.first_value :]
        right = values[batch.answers[row] - task.words.first_value].item()
        others = [value for value in values.tolist() if value != right]
        assert margin[0, row].item() == pytest.approx(right - max(others))


def test_a_mean_is_that_of_words_of_one_kind():
    value = torch.randn(1, 2, 7, 3, generator=torch.Generator().manual_seed(0))
    kind = torch.tensor([3, 1, 2, 0, 1, 2, 0])
    alive = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    found = removals._mean_by_kind(value, kind, alive)
    assert found.shape == (1, 1, 7, 3)
    for place in range(7):
        same = [(row, at) for row in range(2) for at in range(7) if kind[at] == kind[place] and alive[row, at]]
        wanted = torch.stack([value[0, row, at] for row, at in same]).mean(0)
        assert torch.allclose(found[0, 0, place], wanted, atol=1e-6)


def test_a_seed_that_never_gets_there_has_its_last_step():
    curve = pd.DataFrame(
        {"step": [0, 100, 300] * 2, "value": [0.0, 0.2, 0.4, 0.0, 0.2, 0.8], "init_seed": [1] * 3 + [2] * 3, "layer": 0}
    )
    assert readings.crossing(curve, 0.5).to_dict() == {1: 300.0, 2: pytest.approx(200.0)}


def test_the_full_network_is_the_sources():
    recipe = STUDY.recipes(PUBLISHED)[FULL][0]
    weights = init_weights(recipe.model, 0)
    assert sum(value.numel() for value in weights.values()) == 626_048
    task = recipe.make_task()
    assert (task.seed, task.n_train, task.n_eval, recipe.batch_size) == (7, 8000, 1024, 128)
    assert (recipe.init_seed, recipe.n_steps, recipe.schedule.n_epochs, recipe.model.init) == (7, 16_000, 254, "torch")
    assert np.diff(recipe.checkpoint_steps).tolist() == [250] * 64
    assert set(PROBE_STEPS) == set(recipe.checkpoint_steps) - {0}
    assert {len(curve) for curve in (PROBE_CURVE, HELD_OUT_CURVE, SUPPORT_CURVE)} == {len(PROBE_STEPS)}
    assert PROBE_CURVE[-1] == PROBE_ACCURACY


def test_the_probe_set_is_the_sources():
    rows = probe_rows(StreamKV(), Probed())
    assert {split: len(chosen) for split, chosen in rows.items()} == dict.fromkeys(PROBED, 24)
    assert rows["validation_iid"][:6] == (184, 638, 165, 997, 996, 41)
    assert rows["structural_ood"][:2] == (706, 275)
    named = ",".join(f"{split}_{number:06}" for split in PROBED for number in rows[split])
    assert (
        hashlib.sha256(named.encode()).hexdigest() == "60d710c2e22cf0bee3c73364d6f6a9121e4257a58a0c67d010c8c5d17cb2428c"
    )
    reads = {
        split: len(StreamKV().reads_of(StreamKV().split(split).rows(torch.tensor(rows[split])))) for split in PROBED
    }
    assert list(reads.values()) == [153, 153, 217, 154]


def test_what_the_source_follows_is_what_a_loop_over_reads_finds():
    task = TASKS[0]
    config = ModelConfig(d_vocab=len(task.vocab), n_ctx=96, n_layers=2, n_heads=2, d_model=16, positions="learned")
    weights = {name: 4 * value.double() for name, value in init_weights(config, 3).items()}
    batch = task.split("structural_ood").rows(slice(0, 5))
    reads = task.reads_of(batch)
    stacked = {name: value[None] for name, value in weights.items()}
    found = _followed(Network(config, stacked), batch, reads, task.words.first_value)
    output = forward(config, weights, batch.tokens, record=("pattern.0", "pattern.1"))
    logits, cache = output.logits, output.cache
    for number in range(len(reads)):
        row, at, support, answer = (getattr(reads, name)[number].item() for name in ("row", "at", "support", "answer"))
        own = logits[row, at]
        others = [own[word].item() for word in range(task.words.first_value, len(task.vocab)) if word != answer]
        looks = [cache[f"pattern.{layer}"][row, head, at] for layer in range(2) for head in range(2)]
        assert found["accuracy"][0, number].item() == (own.argmax().item() == answer)
        assert found["margin"][0, number].item() == pytest.approx(own[answer].item() - max(others))
        for name, place in {"query": at, "support": support}.items():
            assert found[name][0, number].item() == pytest.approx(max(look[place].item() for look in looks))


def test_every_arm_has_its_seeds_and_every_run_its_own_id():
    arms = STUDY.recipes(PUBLISHED)
    assert [len(arms[arm]) for arm in (FRESH, FIXED, SOURCE)] == [
        len(PUBLISHED.seeds), len(PUBLISHED.other_seeds), len(PUBLISHED.other_seeds),
    ]  # fmt: skip
    (drawn,) = arms.pop(DRAWN)
    assert drawn == arms[FRESH][PUBLISHED.seeds.index(FIRST_TO_READ)]
    assert {drawn, *arms.pop(OTHERS)} == {*arms[FRESH][:10]}
    ids = [recipe.run_id for recipes in arms.values() for recipe in recipes]
    assert len(set(ids)) == len(ids)
    assert all(recipe.n_steps == PUBLISHED.steps for recipe in arms[FRESH])
    assert all(recipe.n_steps == min(PUBLISHED.steps, FIXED_STEPS) for recipe in arms[FIXED])
    assert all(recipe.n_steps == PUBLISHED.source_steps for recipe in arms[SOURCE])
    assert np.diff(arms[FRESH][0].checkpoint_steps).tolist() == [50] * (PUBLISHED.steps // 50)


def test_sentences_take_their_numbers_from_published_runs_alone():
    """A reader's start, beside two published ones, would change every number."""
    origin = {"origin": ["paper", "paper", "rerun"], "init_seed": [1, 2, 9]}
    costs = {source_network.WITHOUT_LEADER: [0.5, 0.2, 0.1], source_network.WITHOUT_FIRST: [0.1, 0.4, 0.9]}
    lost = {
        source_network.LEAST: [1.0, 2.0, 9.0], "at step": [1000, 2000, 9000], source_network.AT_END: [3.0, 4.0, 9.0],
        source_network.OWN: [0.5, 0.7, 9.0], source_network.FLOOR: [1.0, 1.0, 9.0],
    }  # fmt: skip
    order = {"series": [source_network.LEARNT_THROUGHOUT] * 3, "value": [0.1, 0.2, 0.3]}
    views = [View(pd.DataFrame({**origin, **columns}), "share", "test") for columns in (costs, lost, order)]
    assert source_network.numbers(*views) == {
        "n_dearer": "1", "n_orders": "2", "fewest": "10", "step_least": "1,500", "loss_least": "1.50",
        "loss_end": "3.5", "loss_own": "0.60", "loss_floor": "1.00",
    }  # fmt: skip
