"""What each arm and experiment costs from nothing, said from remembered times of steps, checkpoints and tables."""

import dataclasses

import pytest
from toy.recall import toy_recipe

from circuitcore.ground.durations import Durations
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.models import init_weights
from circuitcore.training import RunStore
from circuitcore.training.experiment import Experiment
from circuitcore.training.sweeps.executor import width
from circuitcore.training.sweeps.status import sweep_status
from livingpaper.commands.forecast import forecasts, multiplications


def score(run, settings, progress):
    raise AssertionError("a forecast measures nothing")


def table_of(params, seed):
    raise AssertionError("a forecast computes nothing")


MEASURED = Instrument(name="score", version=1, measures=score)
COMPUTED = Experiment(name="counts", version=1, function=table_of, params=None, seeds=(1, 2, 3, 4))


@pytest.fixture
def durations(tmp_path):
    return Durations(tmp_path / "here.json", tmp_path / "shipped.json")


def said(tmp_path, durations, arms, instruments=(), experiments=()):
    status = sweep_status(RunStore(tmp_path / "runs", None), arms, experiments)
    return forecasts("toy", status, dict.fromkeys(arms, instruments), experiments, durations)


def deeper(recipe, n_layers):
    return dataclasses.replace(recipe, model=dataclasses.replace(recipe.model, n_layers=n_layers))


def test_an_arm_takes_its_steps_its_checkpoints_and_has_its_share_by_size(tmp_path, durations):
    small, large = ([deeper(toy_recipe(seed), n_layers) for seed in range(2)] for n_layers in (1, 7))
    batch = small[0].batch_size
    durations.remember(f"a step of toy ({small[0].engine}, batches of {batch})", 10.0)
    durations.remember("a checkpoint of toy (score-v1)", 100.0)
    found = said(tmp_path, durations, {"small": small, "large": large, "both": [*small, *large]}, (MEASURED,))
    costs = [multiplications(recipe) for recipe in (small[0], large[0])]
    side, steps, kept = min(width("processes"), 2), small[0].n_steps, small[0].n_checkpoints
    for arm, cost in zip(("small", "large"), costs, strict=True):
        minutes = (steps * 10 * 2 * cost / sum(costs) + kept * 100) * 2 / side / 60
        assert found.each[arm] == f"about {minutes:.0f} min", "the mean of both costs what was remembered"
    together = (steps * 10 + kept * 100) * 4 / min(width("processes"), 4)
    assert found.each["both"] == f"about {together / 60:.0f} min"
    assert found.whole == found.each["both"], "each run once"


def test_what_is_not_known_is_said(tmp_path, durations):
    arms = {"all": [toy_recipe()], "none": []}
    nothing = said(tmp_path, durations, arms, (MEASURED,), (COMPUTED,))
    assert nothing.each == {"all": "not known yet", "none": "-", "counts": "not known yet"}
    assert nothing.whole == "not known yet"
    durations.remember(f"a table of {COMPUTED.key}", 30.0)
    some = said(tmp_path, durations, arms, (MEASURED,), (COMPUTED,))
    tables = f"about {30 * 4 / min(width('processes'), 4):.0f} s"
    assert some.each == {"all": "not known yet", "none": "-", "counts": tables} and some.whole == f"more than {tables}"


@pytest.mark.parametrize("mlp", ["none", "gelu", "swiglu"])
def test_multiplications_are_those_of_every_matrix_and_of_attention(mlp):
    """Each number of a matrix is used once a position; scores and mixed values take a product a channel each."""
    recipe = toy_recipe()
    model = dataclasses.replace(recipe.model, mlp=mlp, tied=False, bias="none")
    recipe = dataclasses.replace(recipe, model=model)
    weights = init_weights(model, 0)
    numbers = sum(weight.numel() for name, weight in weights.items() if ".W_" in name and name != "embed.W_E")
    attention = 2 * model.n_layers * model.n_ctx * model.n_heads * model.d_head
    assert multiplications(recipe) == model.n_ctx * (numbers + attention)
