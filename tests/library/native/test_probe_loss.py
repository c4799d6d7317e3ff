"""The loss that a ledger records: natively what torch gives, of ids and of vectors; by torch where torch trains."""

import dataclasses

import pytest
import torch

from circuitcore.models import forward
from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import init_weights
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.chains import ChainRetrieval
from circuitcore.training import probe
from circuitcore.training.engines.engine import masked_loss
from circuitcore.training.recipe import Optimizer, Recipe, Stage

STREAM = BalancedStream(n_train=300, n_eval=1500)
CHAINS = ChainRetrieval(n_steps=2, n_train=300, n_test=32)
WORDS = {"n_layers": 2, "n_heads": 2, "d_model": 16, "d_mlp": 32, "norm": "layer", "mlp": "gelu"}
MODELS = {
    STREAM: ModelConfig(
        d_vocab=len(STREAM.vocab), n_ctx=STREAM.max_length, positions="learned", bias="inside", **WORDS
    ),
    CHAINS: ModelConfig(
        d_vocab=CHAINS.d_out,
        n_ctx=CHAINS.max_length,
        d_in=CHAINS.d_in,
        positions="none",
        tied=False,
        bias="all",
        **WORDS,
    ),
}


def recipe(task, engine="native"):
    return Recipe(
        task=task.name, task_params=task.params, model=MODELS[task], optimizer=Optimizer(name="adamw", lr=1e-3),
        batch_size=32, stages=(Stage(("train",), 1),), init_seed=0, data_seed=1, engine=engine,
        checkpoint_epochs=(0, 1),
    )  # fmt: skip


def weights(task):
    generator = torch.Generator().manual_seed(0)
    return {
        name: value + 0.2 * torch.randn(value.shape, generator=generator)
        for name, value in init_weights(MODELS[task], 0).items()
    }


def by_torch(task, given):
    rows = probe.probe_rows(recipe(task))
    logits = forward(MODELS[task], given, rows.tokens).logits
    return masked_loss(logits, rows.targets, rows.loss_mask).item()


@pytest.mark.parametrize("task", MODELS, ids=lambda task: task.name)
def test_natively_it_is_what_torch_gives(task, monkeypatch):
    given = weights(task)
    wanted = by_torch(task, given)
    monkeypatch.setattr(probe, "forward", None)
    assert probe.probe_loss(recipe(task), given) == pytest.approx(wanted, rel=1e-5)


def test_the_rows_are_the_first_that_are_trained_on():
    rows = probe.probe_rows(recipe(STREAM))
    assert torch.equal(rows.tokens, STREAM.split("train").tokens[:256])


@pytest.mark.parametrize("why", ["torch trains", "weights in double"])
def test_where_torch_trains_or_weights_are_no_float32_it_is_torch_that_gives_it(why, monkeypatch):
    given = weights(STREAM)
    if why == "weights in double":
        given = {name: value.double() for name, value in given.items()}
    wanted = by_torch(STREAM, given)
    monkeypatch.setattr(probe, "decoder_of", None)
    asked = recipe(STREAM, "torch" if why == "torch trains" else "native")
    assert probe.probe_loss(asked, given) == wanted
    assert dataclasses.replace(asked, engine="native") == recipe(STREAM)
