"""Neurons set aside: the same reads as with weights changed, or finished by hand; which are ranked first."""

import pytest
import torch
from torch.nn import functional

from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.behavior import correct, margin
from circuitcore.models import Site, forward
from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import init_weights
from circuitcore.tasks.balanced_stream import BalancedStream
from retrieval_circuits.sgd_formation.measures import neurons
from retrieval_circuits.sgd_formation.measures.asked import asked
from retrieval_circuits.sgd_formation.measures.sizes import SIZES

TASK = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
LAST, W_OUT = 1, "blocks.{}.mlp.W_out"
CONFIG = ModelConfig(
    d_vocab=len(TASK.vocab), n_ctx=TASK.max_length, n_layers=2, n_heads=2, d_model=8, d_mlp=16, norm="layer",
    positions="learned", mlp="gelu", bias="inside",
)  # fmt: skip


@pytest.fixture(scope="module")
def weights():
    generator = torch.Generator().manual_seed(1)
    return {
        name: value + 0.3 * torch.randn(value.shape, generator=generator)
        for name, value in init_weights(CONFIG, 0).items()
    }


@pytest.fixture(scope="module")
def found():
    return asked(TASK, TASK.reported, 12)


def aside(weights, layer):
    return neurons._Aside(TASK, Network(CONFIG, {name: value[None] for name, value in weights.items()}),
                          Site("mlp_post", layer))  # fmt: skip


def scored(logits, found):
    at_reads, first = logits[found.reads.row, found.reads.at], TASK.words.first_value
    return {
        "neurons_accuracy": correct(at_reads, found.reads.answer).double().mean().item(),
        "neurons_margin": margin(at_reads[:, first:], found.reads.answer - first).double().mean().item(),
    }


SETS = torch.zeros(3, CONFIG.d_mlp, dtype=torch.bool)
SETS[1, [2, 5]], SETS[2] = True, True


@pytest.mark.parametrize("layer", [0, LAST])
def test_neurons_at_zero_are_rows_of_weights_at_zero(weights, found, layer):
    scores = aside(weights, layer).scores(found, SETS, "zero")
    for number, members in enumerate(SETS):
        name = W_OUT.format(layer)
        changed = weights | {name: weights[name] * ~members[:, None]}
        wanted = scored(forward(CONFIG, changed, found.batch.tokens).logits, found)
        assert {metric: values[number].item() for metric, values in scores.items()} == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("how", list(neurons.STANDS_IN))
def test_what_stands_in_for_neurons_is_finished_by_hand(weights, found, how):
    scores = aside(weights, LAST).scores(found, SETS, how)
    tokens, keys = found.batch.tokens, [f"mlp_post.{LAST}", f"resid_mid.{LAST}"]
    hidden, stream = (forward(CONFIG, weights, tokens, record=keys).cache[key] for key in keys)
    kind = [3] + [(place - 1) % 3 for place in range(1, tokens.shape[1])]
    same = {one: [place for place, other in enumerate(kind) if other == one] for one in set(kind)}
    instead = {
        "zero": torch.zeros_like(hidden),
        "mean": torch.stack([hidden[:, same[one]].mean((0, 1)) for one in kind]).expand_as(hidden),
        "resample": torch.stack([hidden[row - 1] for row in range(len(hidden))]),
    }[how]
    for number, members in enumerate(SETS):
        written = torch.where(members, instead, hidden) @ weights[W_OUT.format(LAST)]
        after = functional.layer_norm(
            stream + written + weights.get(f"blocks.{LAST}.mlp.b_out", 0), (CONFIG.d_model,),
            weights["ln_final.w"], weights["ln_final.b"], CONFIG.norm_eps,
        )  # fmt: skip
        wanted = scored(after @ weights["embed.W_E"].T, found)
        assert {metric: values[number].item() for metric, values in scores.items()} == pytest.approx(wanted, abs=1e-4)


def test_sets_are_those_ranked_first_and_twenty_by_lot_of_each_size_that_there_is():
    order = torch.tensor([3, 1, 0, 2])
    mask, names = neurons._sets(order, (1, 3, 8))
    assert names == ["top 1", *["drawn 1"] * 20, "top 3", *["drawn 3"] * 20]
    assert mask[0].nonzero().flatten().tolist() == [3] and mask[21].nonzero().flatten().tolist() == [0, 1, 3]
    assert mask.sum(1).tolist() == [1] * 21 + [3] * 21 and len(mask[22:].unique(dim=0)) > 1
    assert neurons._by_name(torch.arange(42.0), names).tolist() == [0.0, 10.5, 21.0, 31.5]
