"""Sparse features of the source's network: births, what is known before them, and pulls, each by a planted case."""

from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.tasks.stream_kv import StreamKV
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation.design import FULL
from retrieval_circuits.sgd_formation.measures import features
from retrieval_circuits.sgd_formation.measures.bases import ALL, LATE, N_FEATURES, learnt
from retrieval_circuits.sgd_formation.measures.features import (
    Featured,
    births,
    courses,
    factors,
    feature_births,
    useful_births,
)
from retrieval_circuits.sgd_formation.measures.probe_set import PROBED, Probed, probe_reads, probe_rows
from retrieval_circuits.sgd_formation.measures.pulls import Pulls, neuron_shares, pulls
from retrieval_circuits.sgd_formation.readings import births as forecasts

TASK = StreamKV(n_train=8, n_eval=40)
CONFIG = ModelConfig(
    d_vocab=len(TASK.vocab), n_ctx=96, n_layers=2, n_heads=2, d_model=16, d_mlp=24, positions="learned", mlp="gelu",
    bias="inside", tied=True,
)  # fmt: skip


class _Run:
    """A training whose checkpoints are known: weights that move along a line."""

    run_id, recipe = "made-up", SimpleNamespace(model=CONFIG, make_task=lambda: TASK)

    def __init__(self, dtype=torch.float64):
        self.steps = self.all_steps = (0, 250, 500, 750)
        start, end = ({name: value.double() for name, value in init_weights(CONFIG, seed).items()} for seed in (0, 1))
        self._at = {
            step: {name: (value + step / 7500 * (end[name] - value)).to(dtype) for name, value in start.items()}
            for step in self.steps
        }

    final_step = property(lambda self: self.steps[-1])

    def weights(self, step):
        return self._at[step]

    def stack(self, steps):
        return {name: torch.stack([self._at[step][name] for step in steps]) for name in self._at[steps[0]]}

    @staticmethod
    def tokens_seen(step):
        return step


def _states(run, step, reads):
    cache = forward(CONFIG, run.weights(step), reads.tokens, record=("resid_post.1",)).cache
    return cache["resid_post.1"][reads.row, reads.at]


@pytest.fixture(scope="module")
def basis():
    reads, run = probe_reads(TASK, Probed()), _Run()
    states = torch.cat([_states(run, step, reads) for step in run.steps])
    found = learnt(states.float(), 50)
    models = type(found.models)(*(value.double() for value in found.models.tensors))
    return type(found)(models, found.mean.double(), found.scale.double())


def test_reads_of_all_splits_stand_in_one_table():
    reads, rows = probe_reads(TASK, Probed(n_rows=3)), probe_rows(TASK, Probed(n_rows=3))
    assert reads.tokens.shape == (12, TASK.split("structural_ood").tokens.shape[1])
    number = 0
    for place, split in enumerate(PROBED):
        for row in rows[split]:
            words = TASK.split(split).tokens[row]
            assert reads.tokens[number, : len(words)].tolist() == words.tolist()
            here = reads.row == number
            assert (words[reads.at[here] + 1] == reads.answer[here]).all()
            assert reads.held_out[here].all() == (place == 1)
            number += 1


def test_an_autoencoder_learns_and_its_decoder_has_no_bias():
    states = torch.randn(500, 4, generator=torch.Generator().manual_seed(0))
    states = states @ torch.randn(4, 16, generator=torch.Generator().manual_seed(1))
    brief, long = learnt(states, 1), learnt(states, 400)
    assert long.explained(states) > max(0.5, brief.explained(states) + 0.3)
    assert long.models.centre.abs().max() == 0
    assert torch.allclose(long.models.decoder.norm(dim=1), torch.ones(1, N_FEATURES))


def test_a_birth_is_a_rise_over_the_threshold_that_two_checkpoints_show():
    rises = torch.tensor([0, 0, 0, 0.2, 0.2, 0.2])
    flash = torch.tensor([0, 0, 0, 0.09, 0, 0])
    always = torch.full((6,), 0.2)
    values = torch.stack((rises, flash, always), 1)
    assert births(values, 0).tolist() == [2, -1, -1]  # the mean of checkpoints 2 and 3 is 0.1
    assert births(values, 3).tolist() == [3, -1, -1]
    assert births(values, 4).tolist() == [4, -1, -1]
    assert births(values[:3], 0).tolist() == births(values, 5).tolist() == [-1, -1, -1]


def test_a_useful_birth_is_the_later_one_of_two_gaps_that_stay():
    early = torch.tensor([0, 0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2])
    late = torch.tensor([0, 0, 0, 0, 0, 0.2, 0.2, 0.2])
    lost = torch.tensor([0, 0, 0.2, 0.2, 0.2, 0.2, 0, -0.1])
    right = torch.stack((early, late, early, early), 1).double()
    held_out = torch.stack((late, early, early, lost), 1).double()
    course = features.Courses(right, right, right, held_out)
    assert useful_births(course, 0).tolist() == [4, 4, 1 + 1, -1]
    assert useful_births(course, 4).tolist() == [-1, -1, -1, -1]  # one of the two was born before


def test_courses_are_means_and_differences_of_means():
    values = torch.rand(2, 5, 3, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    values[:, 0] = 0
    right = torch.tensor([[True, False, True, False, False], [False] * 5])
    held_out = torch.tensor([True, True, False, False, False])
    found = courses(values, right, held_out)
    assert torch.allclose(found.active, torch.full((2, 3), 0.8, dtype=torch.double))
    assert torch.allclose(found.right_gap[0], values[0, [0, 2]].mean(0) - values[0, [1, 3, 4]].mean(0))
    assert found.right_gap[1].abs().max() == 0
    assert torch.allclose(found.held_out_gap[1], values[1, :2].mean(0) - values[1, 2:].mean(0))


def _mean_activation(basis, weights, reads, number):
    states = forward(CONFIG, weights, reads.tokens, record=("resid_post.1",)).cache["resid_post.1"]
    return basis.features(states[reads.row, reads.at]).mean(0)[number].item()


def _only_neuron(moved, first, layer, neuron):
    """The first weights but for one neuron's row, bias and column."""
    weights = {name: value.clone() for name, value in first.items()}
    for name, place in {"W_in": (slice(None), neuron), "b_in": neuron, "W_out": neuron}.items():
        key = f"blocks.{layer}.mlp.{name}"
        weights[key][place] = moved[key][place]
    return weights


def test_pulls_are_what_small_changes_of_weights_do(basis):
    run, reads, small = _Run(), probe_reads(TASK, Probed(n_rows=3)), 1e-5
    taken = pulls(run, reads, {"made up": basis}, run.steps[:2], 0)["made up"]
    first, last = run.weights(0), run.weights(250)
    moved = {name: value + small * (last[name] - value) for name, value in first.items()}
    for number in range(0, N_FEATURES, 7):
        before = _mean_activation(basis, first, reads, number)
        change = (_mean_activation(basis, moved, reads, number) - before) / small
        assert taken.drive[0, number].item() == pytest.approx(change, rel=1e-3, abs=1e-7)
        for place, layer, neuron in ((3, 0, 3), (CONFIG.d_mlp + 5, 1, 5)):
            alone = _mean_activation(basis, _only_neuron(moved, first, layer, neuron), reads, number)
            part = taken.of_neurons[number, place].item()
            assert part == pytest.approx((alone - before) / small, rel=1e-2, abs=1e-7)
    assert (taken.cosine.abs() <= 1).all()
    assert taken.of_neurons.shape == taken.redrawn.shape == (N_FEATURES, 2 * CONFIG.d_mlp)
    assert not torch.equal(taken.redrawn, taken.of_neurons)


def test_only_the_window_is_summed(basis):
    run, reads = _Run(), probe_reads(TASK, Probed(n_rows=2))
    whole, first, second = (
        pulls(run, reads, {"made up": basis}, steps, start)["made up"]
        for steps, start in ((run.steps[:3], 0), (run.steps[:2], 0), (run.steps[:3], 1))
    )
    assert torch.allclose(whole.of_neurons, first.of_neurons + second.of_neurons)
    assert torch.allclose(whole.angles, first.angles + second.angles)
    assert len(second.drive) == len(whole.drive) == 2


def _taken(cosines, lengths, aligned=0.0):
    """Parts of features in updates, weight by weight, at planted cosines with a first one, neuron by neuron."""
    generator = torch.Generator().manual_seed(0)
    n_neurons, n_weights = len(cosines), 200
    common, *own = torch.randn(4, n_neurons, n_weights, generator=generator, dtype=torch.double)
    c = cosines[:, None]
    gradients = [common, *(c * common + (1 - c * c).sqrt() * one for one in own)]
    change = torch.randn(n_neurons, n_weights, generator=generator, dtype=torch.double) + aligned * common
    products = torch.stack(gradients) * change * lengths[:, None]
    signs = torch.randint(0, 2, change.shape, generator=generator) * 2 - 1
    angles = torch.einsum("fnw,gnw->nfg", products, products)
    drive = torch.zeros(1, len(products), dtype=torch.double)
    return Pulls(drive, drive, products.sum(2), (products * signs).sum(2), angles)


@pytest.mark.parametrize("spread", [0.0, 1.5])
def test_parts_by_lot_agree_in_as_many_signs_as_their_angles_give(spread):
    generator = torch.Generator().manual_seed(1)
    cosines = torch.cat((torch.full((2000,), 0.95), torch.full((2000,), 0.1))).double()
    lengths = (spread * torch.randn(4000, generator=generator)).exp().double() * torch.where(cosines > 0.5, 4, 1)
    chance, pulled = (neuron_shares(_taken(cosines, lengths, aligned)) for aligned in (0.0, 0.3))
    assert max(chance["off_angle"], chance["redrawn"]) < 0.02
    assert pulled["off_angle"] > 0.1 > 0.02 > pulled["redrawn"]  # updates that go along with what is common


def test_a_feature_at_which_nothing_pulls_is_in_no_pair():
    taken = _taken(torch.full((50,), 0.5).double(), torch.ones(50).double())
    taken.of_neurons[1:] = 0
    assert neuron_shares(taken) == {}


def test_what_is_known_stops_at_the_cutoff():
    generator = torch.Generator().manual_seed(0)
    course = features.Courses(*(torch.rand(6, 4, dtype=torch.double, generator=generator) for _ in range(4)))
    drive = torch.randn(5, 4, dtype=torch.double, generator=generator)
    none = torch.zeros(4, 2), torch.zeros(4, 2), torch.zeros(2, 4, 4)
    known = factors(course, Pulls(drive, drive / 10, *none), 2)
    later = features.Courses(*(torch.cat((part[:3], 9 * part[3:])) for part in course))
    more = torch.cat((drive[:2], 9 * drive[2:]))
    assert all(
        torch.equal(known[name], value) for name, value in factors(later, Pulls(more, more / 10, *none), 2).items()
    )
    support = (course.activation + course.active)[:, 0].tolist()
    useful = (course.right_gap + course.held_out_gap)[:, 0].tolist()
    steps, drives = [1, 2], drive[:2, 0].tolist()
    wanted = {
        "drive": sum(drives),
        "alignment": sum(drives) / 20,
        "support": support[2],
        "amplification": sum(max(0, support[i] - support[i - 1]) for i in steps),
        "interference": -sum(map(min, drives, (0, 0))) - sum(min(0, useful[i] - useful[i - 1]) for i in steps),
    }
    assert {name: values[0].item() for name, values in known.items()} == pytest.approx(wanted)


def test_a_run_that_never_reads_has_no_forecast():
    table = feature_births(_Run(torch.float32), Featured(steps=(500,), n_pulled=2), lambda n: None)
    assert set(table["metric"]) == {"explained"}


def test_a_run_that_reads_has_a_row_for_each_feature(monkeypatch):
    number, states = len(probe_reads(TASK, Probed())), features._states
    right = torch.zeros(3, number, dtype=torch.bool)
    right[1:, ::3] = True
    monkeypatch.setattr(features, "_states", lambda *given: (states(*given)[0], right))
    table = feature_births(_Run(torch.float32), Featured(steps=(500,), n_pulled=2), lambda n: None)
    assert table[table["metric"] == "cutoff"]["value"].tolist() == [750]
    counts = table.groupby(["metric", "variable"]).size()
    assert (counts[["drive", "later", "support", "scale"]] == N_FEATURES).all()
    assert (counts[["same_sign", "redrawn"]] == 1).all()


def _results(rows):
    table = pd.DataFrame(rows).assign(arm=FULL)
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    return Results(empty, pd.DataFrame(), "paper", {"features": table})


def test_the_order_of_births_is_a_rank_correlation_with_being_early():
    rows = []
    for seed, n_features in ((1, 12), (2, forecasts.FEWEST - 1)):
        for number in range(n_features):
            of = {"init_seed": seed, "site": f"f{number}", "variable": LATE}
            numbers = dict.fromkeys(("alignment", "support", "amplification", "interference", "scale"), 1.0)
            numbers |= {"useful_birth": 100.0 * number, "drive": 10.0 - number**3, "later": float(number)}
            rows += [{**of, "metric": metric, "value": value} for metric, value in numbers.items()]
    results = _results(rows)
    assert set(forecasts.candidates(results, LATE)["init_seed"]) == {1}  # the other has too few
    assert forecasts.birth_order(LATE)(results).to_dict() == {1: pytest.approx(1)}
    assert forecasts.birth_order(LATE, forecasts.LATER)(results).to_dict() == {1: pytest.approx(-1)}
    assert forecasts.birth_order(LATE, forecasts.SCALE)(results).empty  # all alike
    for basis, birth in ((ALL, forecasts.USEFUL), (LATE, forecasts.RIGHT)):
        assert forecasts.candidates(results, basis, birth).empty
        assert forecasts.birth_order(basis, birth=birth)(results).empty
