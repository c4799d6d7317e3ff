"""What each arm and experiment costs from nothing, said from remembered times of steps, checkpoints and tables."""

import dataclasses
import json

import pytest
from toy.recall import toy_recipe

from circuitcore.ground.durations import PROBE, Durations
from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.models import init_weights
from circuitcore.training import RunStore
from circuitcore.training.experiment import Experiment
from circuitcore.training.sweeps.status import sweep_status
from livingpaper.commands.forecast import forecasts, multiplications


def score(run, settings, progress):
    raise AssertionError("a forecast measures nothing")


def table_of(params, seed):
    raise AssertionError("a forecast computes nothing")


MEASURED = Instrument(name="score", version=1, measures=score)
COMPUTED = Experiment(name="counts", version=1, function=table_of, params=None, seeds=(1, 2, 3, 4))


@pytest.fixture(params=[1, 4])
def workers(request, monkeypatch):
    monkeypatch.setenv("CIRCUITCORE_WORKERS", str(request.param))
    return request.param


@pytest.fixture
def durations(tmp_path):
    return Durations(tmp_path / "here.json", tmp_path / "shipped.json")


def said(tmp_path, durations, arms, instruments, experiments=()):
    status = sweep_status(RunStore(tmp_path / "runs", None), arms, experiments)
    return forecasts("toy", status, instruments, experiments, durations)


def deeper(recipe, n_layers):
    return dataclasses.replace(recipe, model=dataclasses.replace(recipe.model, n_layers=n_layers))


def minutes(seconds):
    return f"about {seconds / 60:.0f} min"


def test_an_arm_takes_its_steps_its_checkpoints_and_has_its_share_by_size(tmp_path, durations, workers):
    small, large = ([deeper(toy_recipe(seed), n_layers) for seed in range(2)] for n_layers in (1, 7))
    durations.remember(f"a step of toy ({small[0].engine}, batches of {small[0].batch_size})", 10.0)
    durations.remember("a checkpoint of toy (score-v1)", 100.0)
    arms = {"small": small, "large": large, "both": [*small, *large]}
    found = said(tmp_path, durations, arms, dict.fromkeys(arms, (MEASURED,)))
    costs = [multiplications(recipe) for recipe in (small[0], large[0])]
    steps, kept = small[0].n_steps, small[0].n_checkpoints
    for arm, cost in zip(("small", "large"), costs, strict=True):
        alone = (steps * 10 * 2 * cost / sum(costs) + kept * 100) * 2 / min(workers, 2)
        assert found.each[arm] == minutes(alone), "the mean of both costs what was remembered"
    together = (steps * 10 + kept * 100) * 4 / workers
    assert found.each["both"] == found.runs == found.whole == minutes(together), "each run once, side by side"


def test_a_run_of_two_arms_is_trained_once_and_measured_by_the_instruments_of_both(tmp_path, durations):
    recipe, other = toy_recipe(), Instrument(name="other", version=1, measures=score)
    durations.remember(f"a step of toy ({recipe.engine}, batches of {recipe.batch_size})", 60.0)
    for name, seconds in {"score": 120.0, "other": 600.0}.items():
        durations.remember(f"a checkpoint of toy ({name}-v1)", seconds)
    arms = {"first": [recipe], "second": [recipe]}
    found = said(tmp_path, durations, arms, {"first": (MEASURED,), "second": (other,)})
    assert found.whole == minutes(recipe.n_steps * 60 + recipe.n_checkpoints * 720)
    assert found.each["second"] == minutes(recipe.n_steps * 60 + recipe.n_checkpoints * 600)


def test_what_is_not_known_is_said(tmp_path, durations, workers):
    arms = {"all": [toy_recipe()], "none": []}
    asked = arms, dict.fromkeys(arms, (MEASURED,)), (COMPUTED,)
    nothing = said(tmp_path, durations, *asked)
    assert nothing.each == {"all": "not known yet", "none": "-", "counts": "not known yet"}
    assert nothing.whole == nothing.runs == "not known yet"
    durations.remember(f"a table of {COMPUTED.key}", 20.0)
    some = said(tmp_path, durations, *asked)
    tables = f"about {20 * 4 / workers:.0f} s"
    assert some.each == {"all": "not known yet", "none": "-", "counts": tables} and some.whole == f"more than {tables}"
    assert some.runs == "not known yet"


def test_the_machine_is_not_probed_while_it_may_be_at_work(durations, monkeypatch):
    monkeypatch.setattr("circuitcore.ground.durations.speed", lambda: pytest.fail("it was probed"))
    durations.shipped.write_text(json.dumps({PROBE: 100.0, "some work": 7.0}))
    assert durations.expected(["some work"], probe=False) == {"some work": 7.0}
    durations.remember(PROBE, 50.0)
    assert durations.expected(["some work"], probe=False) == {"some work": 14.0}


@pytest.mark.parametrize("mlp", ["none", "gelu", "swiglu"])
def test_multiplications_are_those_of_matrices_and_of_attention_and_half_in_the_last_layer(mlp):
    """Each number of a matrix is used once a position; scores and mixed values take a product a channel each."""
    recipe = deeper(toy_recipe(), 3)
    model = dataclasses.replace(recipe.model, mlp=mlp, tied=False, bias="none")
    recipe = dataclasses.replace(recipe, model=model)
    weights = {name: weight.numel() for name, weight in init_weights(model, 0).items() if ".W_" in name}
    layers = [
        sum(count for name, count in weights.items() if name.startswith(f"blocks.{layer}.")) for layer in range(3)
    ]
    attention = 2 * model.n_ctx * model.n_heads * model.d_head
    each = [model.n_ctx * (layer + attention) for layer in layers]
    assert multiplications(recipe) == each[0] + each[1] + each[2] / 2
