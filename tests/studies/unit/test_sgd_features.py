"""Sparse features of the source's network: births, what is known before them, and pulls, each by a planted case."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.tasks.stream_kv import StreamKV
from livingpaper.claims.results import Results
from retrieval_circuits.sgd_formation import forecasts
from retrieval_circuits.sgd_formation.design import FULL
from retrieval_circuits.sgd_formation.measures import features
from retrieval_circuits.sgd_formation.measures.bases import N_FEATURES, learnt
from retrieval_circuits.sgd_formation.measures.features import Featured, births, courses, factors, feature_births
from retrieval_circuits.sgd_formation.measures.probe_set import PROBED, Probed, probe_reads, probe_rows
from retrieval_circuits.sgd_formation.measures.pulls import Pulls, followed, pulls

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
    states = torch.randn(500, 4, generator=torch.Generator().manual_seed(0)) @ torch.randn(4, 16)
    brief, long = learnt(states, 1), learnt(states, 400)
    assert long.explained(states) > max(0.5, brief.explained(states) + 0.3)
    assert long.models.centre.abs().max() == 0
    assert torch.allclose(long.models.decoder.norm(dim=1), torch.ones(1, N_FEATURES))


def test_a_birth_is_a_rise_over_the_threshold_that_two_checkpoints_show():
    rises = torch.tensor([0, 0, 0, 0.2, 0.2, 0.2])
    flash = torch.tensor([0, 0, 0, 0.09, 0, 0])
    always = torch.full((6,), 0.2)
    found = births(torch.stack((rises, flash, always), 1), 0.05)
    assert found.tolist() == [2, -1, -1]  # the mean of checkpoints 2 and 3 is 0.1
    assert births(rises[:3, None], 0.05).tolist() == [-1]


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


def test_pulls_are_what_small_changes_of_weights_do(basis):
    run, reads = _Run(), probe_reads(TASK, Probed(n_rows=3))
    taken = pulls(run, reads, {"made up": basis}, run.steps)["made up"]
    first, last = run.weights(0), run.weights(250)
    for number in range(0, N_FEATURES, 7):
        small = 1e-5
        moved = {name: value + small * (last[name] - value) for name, value in first.items()}
        means = [
            basis.features(forward(CONFIG, weights, reads.tokens, record=("resid_post.1",)).cache["resid_post.1"][
                reads.row, reads.at
            ]).mean(0)[number]
            for weights in (first, moved)
        ]  # fmt: skip
        assert taken.drive[0, number].item() == pytest.approx((means[1] - means[0]).item() / small, rel=1e-3, abs=1e-7)
    assert taken.of_neurons.shape == (3, N_FEATURES, 2 * CONFIG.d_mlp)
    assert (taken.cosine.abs() <= 1).all()
    assert torch.allclose(taken.alike.diagonal(dim1=1, dim2=2).round(), taken.alike.diagonal(dim1=1, dim2=2))


def _taken(directions, generator):
    """Pulls on features whose gradients are drawn, neuron by neuron, at given cosines with the first one."""
    common = torch.randn(4000, generator=generator)
    parts = [c * common + math.sqrt(1 - c * c) * torch.randn(4000, generator=generator) for c in directions]
    cosines = torch.nn.functional.normalize(torch.stack(parts), dim=1)
    return Pulls(torch.zeros(1, 1), torch.zeros(1, 1), torch.stack(parts)[None].double(), (cosines @ cosines.T)[None])


def test_directions_drawn_at_an_angle_agree_in_as_many_signs_as_it_gives():
    found = followed(_taken((1, 0.9, 0.7), torch.Generator().manual_seed(0)), 0)
    assert found["off_angle"] < 0.02 < 0.2 < found["off_half"]
    planted = _taken((1, 0.9, 0.7), torch.Generator().manual_seed(0))
    planted.of_neurons.abs_()  # all neurons pull alike, whatever the angle
    assert followed(planted, 0)["off_angle"] > 0.15
    assert followed(_taken((1,), torch.Generator().manual_seed(0)), 0) == {}


def test_what_is_known_stops_at_the_cutoff():
    generator = torch.Generator().manual_seed(0)
    found = features.Courses(*(torch.rand(6, 4, dtype=torch.double, generator=generator) for _ in range(4)))
    drive = torch.randn(5, 4, dtype=torch.double, generator=generator)
    taken = Pulls(drive, drive / 10, torch.zeros(5, 4, 2), torch.zeros(5, 4, 4))
    known = factors(found, taken, 2)
    later = features.Courses(*(torch.cat((part[:3], 9 * part[3:])) for part in found))
    assert all(torch.equal(known[name], value) for name, value in factors(later, taken, 2).items())
    assert torch.allclose(known["drive"], drive[0] + drive[1])
    down = [min(0, drive[i, 0]) + min(0, found.useful[i + 1, 0] - found.useful[i, 0]) for i in range(2)]
    assert known["interference"][0].item() == pytest.approx(-sum(map(float, down)))


def test_a_run_that_never_reads_has_no_forecast():
    table = feature_births(_Run(torch.float32), Featured(steps=(500,), n_pulled=2), lambda n: None)
    assert set(table["metric"]) == {"explained"}


def test_a_run_that_reads_has_a_row_for_each_feature(monkeypatch):
    monkeypatch.setattr(features, "STARTS_TO_READ", 0.001)
    right = torch.zeros(4, 1000, dtype=torch.bool)
    right[2:, ::3] = True
    states, number = features._states, len(probe_reads(TASK, Probed()))
    monkeypatch.setattr(features, "_states", lambda *given: (states(*given)[0], right[:, :number]))
    table = feature_births(_Run(torch.float32), Featured(steps=(500,), n_pulled=2), lambda n: None)
    assert table[table["metric"] == "cutoff"]["value"].tolist() == [250]
    assert (table.groupby(["metric", "variable"]).size()[["drive", "later", "support"]] == N_FEATURES).all()


def _results(rows):
    table = pd.DataFrame(rows).assign(arm=FULL)
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    return Results(empty, pd.DataFrame(), "paper", {"features": table})


def test_a_forecast_is_a_rank_correlation_with_being_early():
    rows = [{"init_seed": 1, "metric": "cutoff", "site": "", "variable": "", "value": 100.0}]
    for number in range(6):
        of = {"init_seed": 1, "site": f"f{number}", "variable": "late checkpoints"}
        numbers = dict.fromkeys(("alignment", "support", "amplification", "interference"), 1.0)
        numbers |= {"useful_birth": 100.0 * number, "drive": 10.0 - number**3, "later": float(number)}
        rows += [{**of, "metric": metric, "value": value} for metric, value in numbers.items()]
    results = _results(rows)
    assert len(forecasts.candidates(results, "late checkpoints")) == 4  # born after the cutoff
    assert forecasts.foretold("late checkpoints")(results).to_dict() == {1: pytest.approx(1)}
    assert forecasts.foretold("late checkpoints", "later")(results).to_dict() == {1: pytest.approx(-1)}
    assert forecasts.candidates(results, "all checkpoints").empty
    assert forecasts.foretold("all checkpoints")(results).empty
