"""What computes a decoder beside torch refuses, by name, what it does not know."""

import dataclasses
from dataclasses import dataclass

import pytest
import torch
from toy.recall import toy_recipe
from younger import SMALL, Younger, assert_knows_all

from circuitcore import native
from circuitcore.ground.hashed import later
from circuitcore.metrics.native_passes import covers
from circuitcore.models import ModelConfig, init_weights
from circuitcore.models.capabilities import UnsupportedError, unsupported
from circuitcore.native.known import KNOWN
from circuitcore.training import Optimizer, RecipeError
from circuitcore.training.engines import RULES, make_engine, trainable


@dataclass(frozen=True, kw_only=True)
class Nesterov(Optimizer):
    """An update rule with a number more."""

    nesterov: float = later(0.0)


def test_the_sentence_names_each_word_that_is_not_known():
    known = {"d_vocab": (), "norm": ("rms",), **dict.fromkeys(("n_ctx", "n_layers", "n_heads"), ())}
    config = ModelConfig(**SMALL, norm="layer", mlp="relu")
    assert unsupported("it", known, config) == (
        "it does not know d_model = 8 (it knows no d_model) nor d_head = 8 (it knows no d_head) nor d_mlp = 8 "
        "(it knows no d_mlp) nor norm = 'layer' (it knows 'rms') nor mlp = 'relu' (it knows no mlp)"
    )
    assert unsupported("it", KNOWN, config) == ""


def test_every_field_and_word_there_is_today_is_known():
    assert_knows_all(KNOWN)


def test_a_younger_word_is_refused_everywhere_but_in_torch_and_its_default_nowhere():
    plain, gated = Younger(**SMALL), Younger(**SMALL, gate="output")
    weights = {name: value[None] for name, value in init_weights(plain, 0).items()}
    said = "does not know gate = 'output' .it knows no gate."
    assert native.unsupported(plain) == "" and covers(plain, weights) == (not native.why_not())
    assert not covers(gated, weights), "passes are torch's then"
    if not native.why_not():
        with pytest.raises(UnsupportedError, match=f"the native decoder {said}"):
            native.NativeDecoder(gated)


def test_an_engine_that_does_not_know_a_model_or_a_rule_says_so(caplog):
    recipe = toy_recipe(engine="native")
    gated = Younger(**dataclasses.asdict(recipe.model), gate="output")
    asked = dataclasses.replace(recipe, model=gated, task_params=dict(recipe.task_params))
    if not native.why_not():
        with pytest.raises(RecipeError, match="engine = 'native' cannot be used here: .*gate = 'output'.*'torch' can"):
            make_engine(asked)
        assert trainable(asked).engine == "torch" and "gate = 'output'" in caplog.text
    for engine in ("torch", "stacked"):
        assert make_engine(dataclasses.replace(asked, engine=engine, task_params=dict(recipe.task_params)))
    rule = Nesterov(**dataclasses.asdict(recipe.optimizer), nesterov=0.9)
    for engine in ("torch", "stacked", "native"):
        other = dataclasses.replace(recipe, engine=engine, optimizer=rule, task_params=dict(recipe.task_params))
        with pytest.raises(RecipeError, match=f"engine '{engine}' does not know nesterov = 0.9"):
            make_engine(other)
    assert set(RULES) == {field.name for field in dataclasses.fields(Optimizer)}
    assert torch.equal(*(make_engine(toy_recipe()).weights()["embed.W_E"] for _ in range(2)))
