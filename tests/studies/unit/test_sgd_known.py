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
from retrieval_circuits.sgd_formation.figures.known import ways
from retrieval_circuits.sgd_formation.measures import known
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.sizes import SIZES
from retrieval_circuits.sgd_formation.readings import known as readings

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


def test_a_value_that_is_held_out_of_no_key_counts_as_an_answer():
    """With sizes at which some is: a network that always gives it gives a value that was not written to the key."""
    task = BalancedStream(n_train=1500, n_eval=1500)
    free = int((~task.held_out.any(0)).nonzero()[0]) + task.words.first_value
    found = asked(task, "test", 20)
    added = {}
    known._add_of_other_keys(
        task, found, torch.full((1, len(found.reads)), free), lambda name, values, n: added.setdefault(name, values)
    )
    own = (found.batch.tokens[found.reads.row] == free) & (found.kinds["support"] | found.kinds["stale"])
    assert added["not_of_key"].item() == pytest.approx(1 - own.any(1).double().mean().item()) and own.any()
    assert added["gives_held_out"].item() == added["gives_held_out_of_others"].item() == 0


CURVES = {
    1: (0.1, 0.2, 0.26, 0.2, 0.9), 2: (0.1, 0.2, 0.2, 0.24, 0.2), 3: (0.1, 0.2, 0.3, 0.9, 0.9),
    4: (0.1, 0.1, 0.2, 0.3, 0.9),
}  # fmt: skip
"""Accuracy at five checkpoints: of a network that falls back below a quarter, of one that never gets there, of one that
answers nothing of the kind by then, and of one that is late."""
LATE, SHOWN, EARLY = (0, 0.4, 0.6, 0.9, 0.9), (0, 0.5, 0.7, 0.9, 1.0), (0, 0, 0, 0.4, 0.6)


def planted(step, seed, metric, split, value, **more):
    return {
        "arm": FRESH, "init_seed": seed, "run_id": str(seed), "step": step, "metric": metric, "split": split,
        "site": "", "variable": "", "edit": "", "layer": -1, "head": -1, "value": value, "n": 1, "epoch": 0, **more,
    }  # fmt: skip


@pytest.fixture
def results():
    steps = range(0, 250, 50)
    by_step = [(seed, number, step) for seed in CURVES for number, step in enumerate(steps)]
    curves = [planted(step, seed, "accuracy", "test", CURVES[seed][number]) for seed, number, step in by_step]
    rows = []
    for seed, number, step in by_step:
        held_out = float("nan") if seed == 3 else step / 1000
        rows += [planted(step, seed, "gives_held_out", "test", held_out)]
        rows += [planted(step, seed, "pairs_right", split, values[number])
                 for split, values in {"heldout_pairs": EARLY, "heldout_twins": LATE}.items()]  # fmt: skip
        rows += [planted(step, seed, "right_by_place", "test", values[number], variable=place, n=n)
                 for place, values, n in (("late", LATE, 50), ("shown", SHOWN, 40), ("early", EARLY, 30))]  # fmt: skip
    return Results(pd.DataFrame(curves), pd.DataFrame(), "paper", {"known": pd.DataFrame(rows)})


def test_before_is_the_last_checkpoint_before_the_first_with_a_quarter(results):
    found = readings.before_look_up("gives_held_out")(results).to_dict()
    assert found == {1: 0.05, 2: 0.2, 4: 0.1}, "the third gives no such answer then, and has no number"


HALF_LATE, HALF_EARLY = 75, 175


def test_half_of_either_kind_of_reads_is_interpolated(results):
    for time, half in (
        (readings.pair_time("heldout_twins"), HALF_LATE), (readings.pair_time("heldout_pairs"), HALF_EARLY),
        (readings.place_time("late"), HALF_LATE), (readings.place_time("early"), HALF_EARLY),
    ):  # fmt: skip
        assert time(results).to_dict() == dict.fromkeys(CURVES, pytest.approx(half))


def test_late_reads_that_no_read_has_shown_are_what_is_left_of_the_late_ones(results):
    found = readings.place_curve(results, readings.UNREAD)
    left = [(50 * late - 40 * shown) / 10 for late, shown in zip(LATE, SHOWN, strict=True)]
    assert len(found) == 5 * len(CURVES)
    for _, of_one in found.groupby("init_seed"):
        assert of_one.sort_values("step")["value"].to_list() == pytest.approx(left)


def test_ways_are_shown_of_networks_that_read_each_from_its_own_half_on(results):
    shown = ways(results).table
    assert set(shown["init_seed"]) == {1, 3, 4}
    table = shown.pivot(index=["init_seed", "step"], columns=["panel", "series"], values="value")
    panels = {
        "by where the value stands": {"read before in the stream": SHOWN, "early, before training has reads": EARLY},
        "where only the pair differs": {"pairs trained on": LATE, "pairs never trained on": EARLY},
    }
    for seed, half in {1: 150, 3: 100, 4: 150}.items():  # the checkpoint nearest to the crossing of a half
        for panel, series in panels.items():
            for name, values in series.items():
                of_one = table.loc[seed][panel, name]
                assert of_one.to_list() == [values[(step + half) // 50] for step in of_one.index], seed
