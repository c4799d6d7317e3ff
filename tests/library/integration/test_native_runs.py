"""Whole runs by the native engine: killed and gone on with, and their twins where it cannot be used."""

import logging

import pytest
import torch
from killing import Killed, files, killed_at
from toy.recall import ALLOWED, toy_recipe

from circuitcore.native import build, why_not
from circuitcore.training import Optimizer, RecipeError, RunStore, Stage
from circuitcore.training.engines import _say_once, make_engine, trainable
from circuitcore.training.store.verify import verify

RULE = Optimizer(name="adamw", lr=1e-2, weight_decay=0.01, clip_norm=0.5)
STAGES = (Stage(("train", "long"), 2), Stage(("train",), 3))
RECIPE = toy_recipe(engine="native", epochs=5, stages=STAGES, optimizer=RULE)
needs_native = pytest.mark.skipif(bool(why_not()), reason=f"no native engine here: {why_not()}")


@needs_native
@pytest.mark.parametrize("moments", [[1], [13], [11, 12, 13, 30], [35]])
def test_a_killed_run_ends_bit_identical(tmp_path, moments):
    undisturbed = RunStore(tmp_path / "whole", None).get_or_train(RECIPE)
    store = RunStore(tmp_path / "killed", None)
    for step in moments:
        with pytest.raises(Killed):
            store.get_or_train(RECIPE, killed_at(step))
    resumed = store.get_or_train(RECIPE)
    assert files(resumed) == files(undisturbed) and not verify(resumed.path, allow_tasks=ALLOWED)


@needs_native
def test_a_run_is_its_torch_twin_but_for_the_last_digits(tmp_path):
    store = RunStore(tmp_path, None)
    twin = toy_recipe(engine="torch", epochs=5, stages=STAGES, optimizer=RULE)
    native, of_torch = store.get_or_train(RECIPE), store.get_or_train(twin)
    assert native.path != of_torch.path and native.steps == of_torch.steps
    assert native.history["loss"].tolist() == pytest.approx(of_torch.history["loss"].tolist(), rel=1e-5, abs=1e-5)
    for name, value in of_torch.weights(of_torch.final_step).items():
        assert torch.allclose(native.weights(native.final_step)[name], value, rtol=1e-3, atol=1e-5), name


@needs_native
def test_where_it_works_a_recipe_is_left_as_it_is():
    assert trainable(RECIPE) is RECIPE
    assert trainable(toy_recipe()).engine == "torch"


def test_where_it_does_not_a_recipe_gives_way_to_its_twin(monkeypatch, caplog):
    monkeypatch.setenv(build.SWITCH, "0")
    _say_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        twins = [trainable(RECIPE), trainable(RECIPE), trainable(toy_recipe(1, engine="native"))]
    assert [twin.engine for twin in twins] == ["torch"] * 3
    assert twins[0] == twins[1] == toy_recipe(epochs=5, stages=STAGES, optimizer=RULE)
    assert twins[0].run_id != RECIPE.run_id
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1 and "switched off (CIRCUITCORE_NATIVE=0)" in said[0] and "torch instead" in said[0]
    with pytest.raises(RecipeError, match="switched off"):
        make_engine(RECIPE)
