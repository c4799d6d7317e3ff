"""Training under edits of every pass: against a network of one head that is written out in a few lines."""

import dataclasses
import math

import pytest
import torch
from toy.recall import ALLOWED, toy_recipe

from circuitcore.models import ModelConfig, forward
from circuitcore.training import Clamp, Hold, Optimizer, Recipe, RecipeError, RunStore, Scale
from circuitcore.training.during import clamped_roles, edits_of
from circuitcore.training.engines import intervene, make_engine
from circuitcore.training.engines.engine import masked_loss
from circuitcore.training.replay import replay
from circuitcore.training.store.checkpoint import weights_sha256

BARE = ModelConfig(
    d_vocab=6, n_ctx=4, n_layers=1, n_heads=1, d_model=8, norm="none", positions="none", mlp="none", tied=False
)
WORDS = {
    "the position before": Clamp(parts=("L0H0",), behind=1),
    "itself": Clamp(parts=("L0H0",), behind=0),
    "farther than there is": Clamp(parts=("L0H0",), behind=9),
    "evenly": Clamp(parts=("L0H0",), behind=None),
    "mean": Hold(parts=("L0H0",), how="mean"),
    "resample": Hold(parts=("L0H0",), how="resample"),
}


def mixed(word, q, k, v):
    """What the head's values come to, ``[batch pos d_head]``."""
    n = v.shape[1]
    if word == "the position before":
        return torch.cat((v[:, :1], v[:, :-1]), 1)
    if word == "itself":
        return v
    if word == "farther than there is":
        return v[:, :1].expand_as(v)
    if word == "evenly":
        return v.cumsum(1) / torch.arange(1, n + 1)[:, None]
    scores = (q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).masked_fill(torch.ones(n, n).triu(1) > 0, -torch.inf)
    z = (scores.softmax(-1) @ v).detach()
    return z.mean(0, keepdim=True).expand_as(z) if word == "mean" else torch.stack([z[i - 1] for i in range(len(z))])


def written_out(word, weights, tokens):
    x = weights["embed.W_E"][tokens]
    q, k, v = (x @ weights[f"blocks.0.attn.W_{c}"][0] for c in "QKV")
    return (x + mixed(word, q, k, v) @ weights["blocks.0.attn.W_O"][0]) @ weights["unembed.W_U"]


@pytest.mark.parametrize("word", WORDS)
def test_training_is_that_of_the_network_written_out(tmp_path, word):
    rule = Optimizer(name="sgd", lr=0.3, momentum=0.5)
    asked = toy_recipe(model=BARE, optimizer=rule, during=(WORDS[word],))
    store = RunStore(tmp_path, None, allow_tasks=ALLOWED)
    run = store.get_or_train(asked)
    weights = {name: value.clone().requires_grad_() for name, value in run.weights(0).items()}
    optimizer = torch.optim.SGD(weights.values(), lr=0.3, momentum=0.5)
    losses = []
    for rows in asked.schedule.batches():
        optimizer.zero_grad()
        loss = masked_loss(written_out(word, weights, rows.tokens), rows.targets, rows.loss_mask)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert run.history["loss"].tolist() == pytest.approx(losses, rel=1e-4, abs=1e-6)
    ours, start = run.weights(36), run.weights(0)
    for name, value in weights.items():
        torch.testing.assert_close(ours[name], value.detach(), rtol=1e-3, atol=1e-4)
    silent = ("W_Q", "W_K", "W_V") if isinstance(WORDS[word], Hold) else ("W_Q", "W_K")
    for name, value in ours.items():
        assert torch.equal(value, start[name]) == name.endswith(silent), name
    first = next(replay(run, 0, 1, store))
    assert first.stats.loss == pytest.approx(losses[0], rel=1e-6)
    plain = store.get_or_train(toy_recipe(model=BARE, optimizer=rule))
    assert plain.history["loss"].tolist()[5:] != run.history["loss"].tolist()[5:]
    other = dataclasses.replace(asked, task_params={}, during=(WORDS[word], Scale(parts=("all",), factor=1.0)))
    assert weights_sha256(store.get_or_train(other).weights(36)) == weights_sha256(ours)


def test_an_mlp_held_at_its_mean_writes_one_thing_in_all_rows():
    model = toy_recipe().model
    asked = toy_recipe(during=(Hold(parts=("L0MLP", "L0H1"), how="mean"),))
    engine, rows = make_engine(asked), next(asked.schedule.batches())
    weights = {name: value.double() for name, value in engine.weights().items()}
    clean = forward(model, weights, rows.tokens, record=("resid_pre.0", "z.0", "mlp_out.0")).cache
    z = clean["z.0"].clone()
    z[:, :, 1] = z[:, :, 1].mean(0)
    wrote = torch.einsum("bphd,hdm->bpm", z, weights["blocks.0.attn.W_O"])
    x = clean["resid_pre.0"] + wrote + clean["mlp_out.0"].mean(0)
    unit = x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weights["ln_final.w"]
    loss = masked_loss(unit @ weights["embed.W_E"].T, rows.targets, rows.loss_mask)
    intervene(asked, engine)
    assert engine.step(rows.tokens, rows.targets, rows.loss_mask).loss == pytest.approx(loss.item(), rel=1e-5)


@pytest.mark.parametrize("engine", ["native", "stacked"])
def test_other_engines_refuse_edits_by_name(engine):
    asked = toy_recipe(engine=engine, during=(Clamp(parts=("L0H1",), behind=1), Hold(parts=("L0MLP",), how="mean")))
    with pytest.raises(
        RecipeError, match=rf"'{engine}' makes no edits.*attend\(L0H1:here->behind 1\), mean\(L0MLP\)@all"
    ):
        make_engine(asked)


def test_text_and_back():
    asked = toy_recipe(during=(WORDS["evenly"], WORDS["mean"], WORDS["itself"]))
    assert Recipe.from_json(asked.to_json(), ALLOWED).during == asked.during


@pytest.mark.parametrize(
    ("during", "words"),
    [
        (lambda: Clamp(parts=("L0MLP",), behind=1), "during.parts = 'L0MLP'.*a head, such as L1H0, to clamp"),
        (lambda: Clamp(parts=("L0H0.QK",), behind=1), "during.parts = 'L0H0.QK'.*to clamp"),
        (lambda: Clamp(parts=("L0H2",), behind=1), "during.parts = 'L0H2'.*a head in 0..1"),
        (lambda: Clamp(parts=("L0H0",), behind=-1), "during.behind = -1"),
        (lambda: Hold(parts=("L0N1",), how="mean"), "during.parts = 'L0N1'.*a head or an MLP, to hold at its mean"),
    ],
)
def test_what_cannot_be_clamped_or_held_is_refused_by_name(during, words):
    with pytest.raises(RecipeError, match=words):
        toy_recipe(during=(during(),))


def test_positions_are_named_in_rows_of_words_and_of_vectors():
    edits = edits_of((Clamp(parts=("L0H0", "L1H1"), behind=2), Clamp(parts=("L0H1",), behind=None)))
    for rows in (torch.zeros(3, 4, dtype=torch.long), torch.zeros(3, 4, 8)):
        found = clamped_roles(edits, rows)
        assert found.keys() == {"here", "behind 2"}
        assert found["here"].tolist() == [[0, 1, 2, 3]] * 3 and found["behind 2"].tolist() == [[0, 0, 0, 1]] * 3
