"""Chains of look-ups: where things stand, what is wanted, and what somebody reaches who follows no chain."""

import dataclasses
import hashlib

import pytest
import torch

from circuitcore.models import ModelConfig
from circuitcore.tasks import TaskError, make_task
from circuitcore.tasks.symbol_chains import position_code
from circuitcore.training.errors import RecipeError
from circuitcore.training.recipe import Optimizer, Recipe
from circuitcore.training.schedule import Stage

D3 = make_task("chain_retrieval", {"n_steps": 3})


def symbols_at(batch, role):
    row = torch.arange(len(batch))[:, None]
    return batch.tokens[row, batch.roles[role], :4]


def digest(batch):
    parts = (batch.tokens, batch.targets, batch.roles["queries"])
    return hashlib.sha256(b"".join(part.contiguous().numpy().tobytes() for part in parts)).hexdigest()[:16]


def model(task, **changed):
    sizes = {"n_layers": 1, "n_heads": 2, "d_model": 8, "d_mlp": 8, "positions": "none", "tied": False}
    return ModelConfig(**{"d_vocab": task.d_out, "n_ctx": task.max_length, "d_in": task.d_in, **sizes, **changed})


def recipe(task, config):
    return Recipe(
        task=task.name, task_params=task.params, model=config, optimizer=Optimizer(lr=1e-3), batch_size=8,
        stages=(Stage(("train",), 2, 16),), init_seed=0, data_seed=1, checkpoint_epochs=(0, 2),
    )  # fmt: skip


def test_the_rows_are_the_ones_that_published_runs_were_trained_on():
    assert digest(D3.split("test")) == "4abc5bb6d4ea456d"
    assert digest(D3.draw("train", 64, 2**32 - 1)) == "16358c23b23a3f2c"


def test_a_row_is_as_long_as_the_source_says():
    lengths = {steps: make_task("chain_retrieval", {"n_steps": steps}).max_length for steps in (3, 4, 5)}
    assert lengths == {3: 28, 4: 36, 5: 44}
    assert D3.split("val").tokens.shape == (256, 28, 8)


def test_keys_values_and_queries_hold_the_symbols_of_one_chain():
    batch = D3.split("test")
    assert torch.equal(symbols_at(batch, "queries"), symbols_at(batch, "key_0"))
    assert torch.equal(symbols_at(batch, "value_0"), symbols_at(batch, "key_1"))
    assert torch.equal(symbols_at(batch, "value_1"), symbols_at(batch, "key_2"))
    for step in range(3):
        assert torch.equal(batch.roles[f"value_{step}"], batch.roles[f"key_{step}"] + 1)


def test_each_block_holds_one_step_the_farthest_first():
    batch = D3.split("test")
    for step, begin in ((2, 0), (1, 8), (0, 16)):
        assert torch.equal(batch.roles[f"key_{step}"].sort(1).values, torch.tensor([0, 2, 4, 6]).expand(256, 4) + begin)
    assert torch.equal(batch.roles["queries"].sort(1).values, torch.arange(24, 28).expand(256, 4))
    assert torch.equal(batch.loss_mask.nonzero()[:, 1].reshape(256, 4), torch.arange(24, 28).expand(256, 4))


def test_blocks_and_queries_have_orders_of_their_own():
    batch = D3.draw("train", 4_000, 3)
    where = torch.stack([batch.roles[name] % 8 // 2 for name in ("key_0", "key_1", "key_2")])
    where = torch.cat((where, batch.roles["queries"][None] - 24)).float()
    for first in range(4):
        assert torch.allclose(where[first].mean(0), torch.full((4,), 1.5), atol=0.1)
        for second in range(first):
            together = torch.corrcoef(torch.stack((where[first].flatten(), where[second].flatten())))[0, 1]
            assert abs(together) < 0.03, (first, second)


def test_symbols_are_normal_and_distinct():
    values = D3.draw("train", 20_000, 1).targets[:, -4:].flatten()
    assert abs(values.mean()) < 0.005 and abs(values.var() - 1) < 0.005 and abs((values**4).mean() - 3) < 0.05
    assert abs((values.abs() > 1.959964).double().mean() - 0.05) < 0.002
    one = D3.split("test").tokens[:, ::2, :4].flatten(0, 1)
    assert len(torch.unique(one, dim=0)) == 256 * 12  # keys of all rows; the queries repeat those of step 0


def test_who_knows_the_step_but_not_the_chain_reaches_the_plateau():
    task = make_task("chain_retrieval", {"n_steps": 2, "n_test": 20_000})
    batch = task.split("test")
    guess = torch.cat([symbols_at(batch, f"value_{step}").mean(1) for step in (0, 1)], -1)
    wanted = batch.targets[:, -4:]
    assert task.plateau == 0.75
    assert abs((wanted - guess[:, None]).square().mean() - task.plateau) < 0.01
    assert abs(wanted.square().mean() - 1) < 0.01
    fewer = dataclasses.replace(task, n_chains=2)
    assert fewer.plateau == 0.5


@pytest.mark.parametrize(("targets", "width"), [((), 12), ((3,), 4), ((2, 3), 8), ((1, 3), 8)])
def test_targets_are_the_symbols_that_are_asked_for(targets, width):
    task = dataclasses.replace(D3, targets=targets)
    every = D3.split("test").targets[:, -4:].unflatten(-1, (3, 4))
    asked = task.split("test").targets[:, -4:]
    assert task.d_out == width and asked.shape[-1] == width
    assert torch.equal(asked, every[:, :, [step - 1 for step in task.asked]].flatten(2))


def test_positions_are_coded_as_the_source_says():
    code = position_code(30, 4).double()
    t = torch.arange(30, dtype=torch.float64)
    wanted = torch.stack((t.cos(), t.sin(), (0.01 * t).cos(), (0.01 * t).sin()), 1)
    assert (code - wanted).abs().max() < 1e-6
    assert torch.equal(D3.split("test").tokens[:, :, 4:], position_code(28, 4).expand(256, 28, 4))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_steps": 0}, "n_steps = 0; allowed: an integer >= 1"),
        ({"d_symbol": 3}, "d_symbol = 3; allowed: an even integer"),
        ({"targets": [4]}, r"targets = \[4\]; allowed: steps of the chain, 1..3"),
        ({"targets": [2, 1]}, "increasing"),
        ({"n_steps": 400}, "n_steps = 400: 3,204 tokens; allowed: at most 1,000"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_what_makes_no_rows_is_refused(params, message):
    with pytest.raises(TaskError, match=message.replace("n_steps = 400: ", "n_steps = 400 = ")):
        make_task("chain_retrieval", params)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"d_in": 4}, "model.d_in = 4 .*; allowed: 8, the width of the vectors that are read"),
        ({"d_vocab": 13}, "model.d_vocab = 13 .*; allowed: 12, the width of the vectors that are wanted"),
        ({"n_ctx": 27}, "model.n_ctx = 27 .*; allowed: at least the task's longest row, 28"),
        ({"d_in": 0}, "model.d_in = 0"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(changed, message):
    assert recipe(D3, model(D3)).n_steps == 4
    with pytest.raises(RecipeError, match=message):
        recipe(D3, model(D3, **changed))


def test_a_model_of_vectors_does_not_fit_a_task_of_words():
    words = make_task("permutation_recall", {"n_rows": 300})
    config = ModelConfig(d_vocab=6, n_ctx=9, d_in=4, tied=False)
    with pytest.raises(RecipeError, match="model.d_in = 4 .*allowed: 0, since rows of task 'permutation_recall' are"):
        recipe(words, config)
