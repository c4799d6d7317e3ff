"""A task of vectors through training, store and verification: as any other."""

import dataclasses

import pytest
import torch

from circuitcore.metrics.instruments.battery import BatterySpec, open_session
from circuitcore.models import ModelConfig, forward
from circuitcore.tasks import TaskError, make_task
from circuitcore.training.engines import make_engine
from circuitcore.training.engines.engine import masked_loss
from circuitcore.training.loop import train
from circuitcore.training.recipe import Optimizer, Recipe
from circuitcore.training.schedule import Stage
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.store.verify import verify

TASK = make_task("chain_retrieval", {"n_steps": 2, "n_train": 64, "n_test": 32})
CONFIG = ModelConfig(
    d_vocab=TASK.d_out, n_ctx=TASK.max_length, d_in=TASK.d_in, n_layers=2, n_heads=2, d_model=16, d_mlp=32,
    norm="layer", positions="none", mlp="gelu", tied=False, bias="all",
)  # fmt: skip
RECIPE = Recipe(
    task=TASK.name, task_params=TASK.params, model=CONFIG, optimizer=Optimizer(name="adamw", lr=1e-3, weight_decay=0.1),
    batch_size=16, stages=(Stage(("train",), 2), Stage(("train",), 2, 48)), init_seed=3, data_seed=4,
    checkpoint_epochs=(0, 2, 4),
)  # fmt: skip
ENGINES = ("torch", "native", "stacked")


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_is_trained_found_and_verified(tmp_path, engine):
    recipe, store = dataclasses.replace(RECIPE, engine=engine), RunStore(tmp_path, None)
    run = store.get_or_train(recipe)
    assert run.run_id.startswith("chain_retrieval-") and run.final_step == 14
    assert verify(run.path) == []
    weights, test = run.weights(run.final_step), TASK.split("test")
    loss = masked_loss(forward(CONFIG, weights, test.tokens).logits, test.targets, test.loss_mask)
    assert 0.5 < loss < 1.2


def test_engines_agree_step_by_step():
    batches = [rows for epoch in range(4) for rows in RECIPE.schedule.epoch(epoch)]
    losses = {}
    for name in ENGINES:
        engine = make_engine(dataclasses.replace(RECIPE, engine=name))
        losses[name] = torch.tensor([engine.step(rows.tokens, rows.targets, rows.loss_mask).loss for rows in batches])
    assert torch.allclose(losses["torch"], losses["native"], atol=1e-5)
    assert torch.allclose(losses["torch"], losses["stacked"], atol=1e-5)


@pytest.mark.parametrize("stop", [5, 12])  # among the fixed rows, and among those drawn anew
def test_a_killed_run_ends_as_an_undisturbed_one(tmp_path, stop):
    def kill(step):
        if step == stop:
            raise Interrupted

    killed, whole = (tmp_path / name / RECIPE.run_id for name in ("killed", "whole"))
    with pytest.raises(Interrupted):
        train(RECIPE, killed, kill)
    train(RECIPE, killed)
    train(RECIPE, whole)
    for path in whole.iterdir():
        assert path.read_bytes() == (killed / path.name).read_bytes(), path.name


def test_the_battery_refuses_vectors_by_name():
    with pytest.raises(TaskError, match="rows of task 'chain_retrieval' are vectors; allowed: instruments of its"):
        open_session(TASK, BatterySpec())
