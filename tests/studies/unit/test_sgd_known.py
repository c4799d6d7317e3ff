"""Which pairs a network knows: each number by a loop over reads; times and the checkpoint before, on planted curves."""

from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from circuitcore.models import forward
from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import init_weights
from circuitcore.tasks.balanced_stream import BalancedStream
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import FRESH
from retrieval_circuits.sgd_formation.measures import known
from retrieval_circuits.sgd_formation.measures.sizes import SIZES
from retrieval_circuits.sgd_formation.readings import networks as readings

TASK = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
CONFIG = ModelConfig(
    d_vocab=len(TASK.vocab), n_ctx=TASK.max_length, n_layers=1, n_heads=2, d_model=8, d_mlp=16, norm="layer",
    positions="learned", mlp="gelu", bias="inside",
)  # fmt: skip
STEPS, N_ROWS = (0, 50), 6


@pytest.fixture(scope="module")
def weights():
    generator = torch.Generator().manual_seed(3)
    return {
        name: value + torch.randn((len(STEPS), *value.shape), generator=generator)
        for name, value in init_weights(CONFIG, 0).items()
    }


@pytest.fixture(scope="module")
def table(weights):
    run = SimpleNamespace(
        run_id="planted", recipe=SimpleNamespace(make_task=lambda: TASK, model=CONFIG), steps=STEPS,
        tokens_seen=lambda step: step, stack=lambda steps: {
            name: value[[STEPS.index(step) for step in steps]] for name, value in weights.items()
        },
    )  # fmt: skip
    return known.known_scores(run, known.Known(n_rows=N_ROWS), lambda n: None)


def reads_by_hand(split, number, weights):
    """Of each read the key and the value, the answer of one checkpoint, and where the key last had which value."""
    tokens = TASK.split(split).rows(slice(0, N_ROWS)).tokens
    logits = forward(CONFIG, {name: value[number] for name, value in weights.items()}, tokens).logits
    for row in range(N_ROWS):
        had = {}  # key -> value -> mark and number of the event at which it last stands
        for at in range(1, tokens.shape[1] - 2, 3):
            kind, key, value = (TASK.vocab[word] for word in tokens[row, at : at + 3])
            if kind == "R":
                yield key, value, TASK.vocab[logits[row, at + 1].argmax()], dict(had.get(key, {}))
            had.setdefault(key, {})[value] = kind, at // 3


def never(key, value):
    """Whether training holds no such pair; a word that is no value is none."""
    return value.startswith("V") and bool(TASK.held_out[int(key[1:]), int(value[1:])])


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_every_number_is_counted_read_by_read(table, weights, number):
    rows = table[table["step"] == STEPS[number]].astype({"metric": str, "split": str}).set_index(["metric", "split"])
    places = rows.xs("right_by_place").set_index("variable")
    rows = rows.drop("right_by_place")
    for split in ("heldout_pairs", "heldout_twins"):
        found = list(reads_by_hand(split, number, weights))
        assert all(never(key, value) == (split == "heldout_pairs") for key, value, *_ in found)
        right = sum(value == given for _, value, given, _ in found) / len(found)
        assert rows.loc[("pairs_right", split), "value"] == pytest.approx(right)
    found = list(reads_by_hand("test", number, weights))
    foreign = [(key, given) for key, _, given, had in found if given.startswith("V") and given not in had]
    assert 0 < len(foreign) < len(found)
    own = sum(never(key, given) for key, given in foreign) / len(foreign)
    others = sum(never(key, given) for key, *_ in found for _, given in foreign) / len(foreign) / len(found)
    right = [(value == given, *had[value]) for _, value, given, had in found]
    by_place = {
        "late": [hit for hit, _, event in right if event >= 10],
        "early": [hit for hit, _, event in right if event < 10],
        "shown": [hit for hit, kind, _ in right if kind == "R"],
    }
    for place, hits in by_place.items():
        assert places.loc[place, "value"] == pytest.approx(sum(hits) / len(hits))
    told = {"not_of_key": len(foreign) / len(found), "gives_held_out": own, "gives_held_out_of_others": others}
    assert {name: rows.loc[(name, "test"), "value"] for name in told} == pytest.approx(told)


def test_a_value_by_lot_is_held_out_of_one_key_in_eight():
    held = known.held_out_words(TASK)
    assert held.shape == (len(TASK.vocab),) * 2
    first = TASK.words.first_value
    assert held[:, :first].sum() == 0 and (held[:, first:].sum(0) == 1).all()
    assert held[TASK.words.first_key : first, first:].float().mean() == 10 / 80


CURVES = {1: (0.1, 0.2, 0.3, 0.2, 0.9), 2: (0.1, 0.2, 0.2, 0.24, 0.2)}
"""Accuracy at five checkpoints: of a network that falls back below a quarter, and of one that never gets there."""


def planted(step, seed, metric, split, value):
    return {
        "arm": FRESH, "init_seed": seed, "run_id": str(seed), "step": step, "metric": metric, "split": split,
        "site": "", "variable": "", "edit": "", "layer": -1, "head": -1, "value": value, "n": 1, "epoch": 0,
    }  # fmt: skip


@pytest.fixture
def results():
    steps = range(0, 250, 50)
    curves = [planted(step, seed, "accuracy", "test", value) for seed, values in CURVES.items()
              for step, value in zip(steps, values, strict=True)]  # fmt: skip
    of_pairs = [planted(step, seed, "gives_held_out", "test", step / 1000) for seed in CURVES for step in steps]
    of_pairs += [planted(step, seed, "pairs_right", split, value) for seed in CURVES for split, values in
                 {"heldout_pairs": (0, 0, 0, 0.4, 0.6), "heldout_twins": (0, 0.4, 0.6, 0.9, 0.9)}.items()
                 for step, value in zip(steps, values, strict=True)]  # fmt: skip
    return Results(pd.DataFrame(curves), pd.DataFrame(), "paper", {"known": pd.DataFrame(of_pairs)})


def test_before_is_the_last_checkpoint_before_the_first_with_a_quarter(results):
    assert readings.before_look_up("gives_held_out")(results).to_dict() == {1: 0.05, 2: 0.2}


def test_half_of_either_kind_of_reads_is_interpolated(results):
    assert readings.pair_time("heldout_pairs")(results).to_dict() == {1: pytest.approx(175), 2: pytest.approx(175)}
    assert readings.pair_time("heldout_twins")(results).to_dict() == {1: pytest.approx(75), 2: pytest.approx(75)}
