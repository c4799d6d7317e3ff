"""A network under measurement makes its clean passes in C++ where that can be done, and in torch elsewhere."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from circuitcore.metrics.native_passes import covers_record
from circuitcore.metrics.network import Network, positions_of
from circuitcore.models import ModelConfig, init_weights
from circuitcore.tasks.base import Batch


def network_and_rows():
    config = ModelConfig(d_vocab=13, n_ctx=20, d_model=24)
    tokens = torch.randint(0, 13, (25, 11), generator=torch.Generator().manual_seed(0))
    read_out = torch.arange(len(tokens)) % tokens.shape[1]
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    batch = Batch(tokens=tokens, targets=tokens, loss_mask=mask, roles={"read_out": read_out})
    stack = [init_weights(config, seed) for seed in (1, 2)]
    return Network(config, {name: torch.stack([weights[name] for weights in stack]) for name in stack[0]}), batch


def test_a_network_runs_natively_and_says_the_same_as_torch(monkeypatch):
    network, batch = network_and_rows()
    keys = ["pattern.1", "z.0"]
    assert covers_record(network.config, network.weights, keys)
    native = network.run(batch, keys), network.answers(batch), network.record(batch, keys)
    monkeypatch.setattr("circuitcore.metrics.network.covers", lambda *_: False)
    monkeypatch.setattr("circuitcore.metrics.network.covers_record", lambda *_: False)
    torch_run = network.run(batch, keys)
    assert not torch.equal(native[0].logits, torch_run.logits)  # or torch had run both times
    torch.testing.assert_close(native[0].logits, torch_run.logits, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(native[1], network.answers(batch), rtol=1e-5, atol=1e-5)
    for key in keys:
        torch.testing.assert_close(native[2][key], torch_run.cache[key], rtol=1e-5, atol=1e-5)


def test_a_network_asked_for_some_positions_gives_those_and_patterns_whole(monkeypatch):
    network, batch = network_and_rows()
    batch = dataclasses.replace(batch, roles=batch.roles | {"pair": torch.tensor([[2, 5]]).repeat(len(batch), 1)})
    at, whole = positions_of(batch, ["pair"]), network.record(batch, ["z.1"])["z.1"]
    assert at.nonzero().flatten().tolist() == [2, 5]
    some = network.record(batch, ["z.1"], at)["z.1"]
    torch.testing.assert_close(some[:, :, at], whole[:, :, at])
    assert some[:, :, ~at].isnan().all()
    assert not network.record(batch, ["z.1", "pattern.1"], at)["pattern.1"].isnan().any()
    monkeypatch.setattr("circuitcore.metrics.network.covers_record", lambda *_: False)
    torch.testing.assert_close(network.record(batch, ["z.1"], at)["z.1"][:, :, at], whole[:, :, at])


def test_a_network_of_weights_that_are_no_stack_of_its_model_is_refused():
    """It would read past their end: the C++ takes the places of the model, not those of the weights."""
    network, _ = network_and_rows()
    one = {name: value[0] for name, value in network.weights.items()}
    with pytest.raises(ValueError, match=r"embed.W_E has shape \(13, 24\); this model's is \(ckpt, 13, 24\)"):
        Network(network.config, one)
    with pytest.raises(ValueError, match=r"embed.W_E has shape \(2, 13, 24\); this model's is \(ckpt, 40, 24\)"):
        Network(dataclasses.replace(network.config, d_vocab=40), network.weights)
    with pytest.raises(ValueError, match=r"ln_final.w has shape \(1, 24\)"):
        Network(network.config, network.weights | {"ln_final.w": network.weights["ln_final.w"][:1]})
    with pytest.raises(ValueError, match="not the weights of this model. missing: blocks.2"):
        Network(dataclasses.replace(network.config, n_layers=3), network.weights)
    with pytest.raises(ValueError, match="left over: blocks.0.ln1.w, .* and 1 more"):
        Network(dataclasses.replace(network.config, norm="none"), {**one} | {"x": one["ln_final.w"]})


@pytest.mark.parametrize("keys", [["result.0"], ["scores.0"], ["z.7"], ["resid_final.0"], ["nonsense.0"]], ids=str)
def test_what_it_does_not_record_is_left_to_torch(keys):
    network, _ = network_and_rows()
    assert not covers_record(network.config, network.weights, keys)


def test_float64_is_left_to_torch():
    network, _ = network_and_rows()
    assert not covers_record(network.config, {name: w.double() for name, w in network.weights.items()}, ["z.0"])


def test_threads_do_not_write_into_each_others_passes():
    """Python lets another thread run while the C++ works in its own memory."""
    network, batch = network_and_rows()
    batch = batch.rows(torch.arange(2000) % len(batch))
    other = Network(network.config, {name: 2 * value for name, value in network.weights.items()})
    alone = {one: one.answers(batch) for one in (network, other)}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: (one, one.answers(batch)), [network, other] * 8))
    assert all(torch.equal(answers, alone[one]) for one, answers in found)
