"""Runs that go on from another one's state, or with something done to them: nothing done is nothing changed."""

import dataclasses
import json

import pytest
import torch
from killing import Killed, files, killed_at
from toy.recall import ALLOWED, toy_recipe

from circuitcore.models import forward
from circuitcore.models.edits import Ablate
from circuitcore.models.plan import compile_edits
from circuitcore.models.sites import Head, Mlp
from circuitcore.native import why_not
from circuitcore.training import (
    ENGINES,
    ExecutorError,
    Freeze,
    Graft,
    Hold,
    Optimizer,
    Recipe,
    RecipeError,
    RunStore,
    Scale,
    Stage,
    StoreError,
    loop,
)
from circuitcore.training.during import factors, masks_of
from circuitcore.training.engines.engine import masked_loss
from circuitcore.training.replay import of_part, replay, state_at, states_in
from circuitcore.training.store.checkpoint import weights_sha256
from circuitcore.training.store.verify import verify
from circuitcore.training.sweeps.status import sweep_status
from circuitcore.training.sweeps.sweep import generations, train_all
from circuitcore.training.sweeps.together import train_together

ENGINE_NAMES = [
    name if name != "native" else pytest.param(name, marks=pytest.mark.skipif(bool(why_not()), reason="no C++ here"))
    for name in ENGINES
]
KEPT = (0, 8, 9, 15, 32)
RULE = Optimizer(name="adamw", lr=1e-2, weight_decay=0.1, clip_norm=0.3, warmup=12)
"""Rising still where the forks begin: a fork that counted its own steps would have another rate."""


def parent(**changes):
    """Five epochs: two of nine steps, over rows of two lengths, and three of six; the last is cut."""
    plan = {"checkpoint_epochs": (), "checkpoint_at": KEPT, "optimizer": RULE}
    stages = (Stage(("train", "long"), 2), Stage(("train",), 3))
    return toy_recipe(seed=3, stages=stages, **plan | changes)


def fork(of, step=8, at=(0, 1, 7, 20), **changes):
    """A recipe that goes on from ``of`` after ``step`` updates."""
    params = dict(of.task_params)
    return dataclasses.replace(of, task_params=params, parent=(of.sha256, step), checkpoint_at=at, **changes)


def store_in(folder):
    return RunStore(folder, None, allow_tasks=ALLOWED)


def alike(ours, theirs):
    return weights_sha256(ours) == weights_sha256(theirs)


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("during", [(), (Scale(parts=("all",), factor=1.0),)], ids=["nothing", "a factor of 1"])
def test_a_fork_that_changes_nothing_ends_bit_identical(tmp_path, engine, during):
    store = store_in(tmp_path)
    whole = store.get_or_train(parent(engine=engine))
    asked = fork(whole.recipe, during=during, at=(0, 1, 7, 24))
    same = store.get_or_train(asked)
    assert same.run_id != whole.run_id and same.steps == (0, 1, 7, 24)
    for at in (8, 9, 15, 32):
        assert alike(same.weights(at - 8), whole.weights(at)), at
    for column in ("loss", "grad_norm", "epoch"):
        assert same.history[column].tolist() == whole.history[column].tolist()[8:]
    assert not verify(same.path, allow_tasks=ALLOWED)
    ours, theirs = state_at(same, 24, store), state_at(whole, 32, store)
    assert ours.keys() == theirs.keys() and all(torch.equal(value, theirs[name]) for name, value in ours.items())


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_a_fork_that_was_killed_ends_bit_identical(tmp_path, engine, monkeypatch):
    monkeypatch.setattr(loop, "RESUME_SECONDS", 0.0)
    during = (Freeze(parts=("L0H1",)), Hold(parts=("L0H0",)), Scale(parts=("L0MLP",), factor=0.5))
    store, disturbed = store_in(tmp_path / "whole"), store_in(tmp_path / "killed")
    asked = fork(parent(engine=engine), during=during)
    for one in (store, disturbed):
        one.get_or_train(parent(engine=engine))
    undisturbed = store.get_or_train(asked)
    for step in (1, 5, 16):
        with pytest.raises(Killed):
            disturbed.get_or_train(asked, killed_at(step))
        assert disturbed.steps_done(asked) == step - 1
        (status,) = sweep_status(disturbed, {"all": [asked]}).runs
        assert (status.steps, status.n_steps) == (step - 1, 20)
    assert files(disturbed.get_or_train(asked)) == files(undisturbed)


def test_a_fork_of_a_fork_goes_on_where_its_parent_is(tmp_path):
    store = store_in(tmp_path)
    whole = store.get_or_train(parent())
    middle = store.get_or_train(fork(whole.recipe, step=4, at=(5,)))
    last = store.get_or_train(fork(middle.recipe, step=9, at=(0, 6, 23)))
    assert [state_at(last, at, store)["step"] for at in (0, 6)] == [9, 15]
    for at in (9, 15, 32):
        assert alike(last.weights(at - 9), whole.weights(at))


def test_another_data_seed_is_another_order_from_there_on(tmp_path):
    store = store_in(tmp_path)
    whole = store.get_or_train(parent())
    other = store.get_or_train(fork(whole.recipe, data_seed=77))
    assert alike(other.weights(0), whole.weights(8)) and not alike(other.weights(1), whole.weights(9))
    wanted = list(dataclasses.replace(whole.recipe.schedule, data_seed=77, end=None).batches(8))
    for one, rows in zip(replay(other, 0, 5, store), wanted, strict=False):
        assert torch.equal(one.rows.tokens, rows.tokens)


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_scaled_and_frozen_updates_against_plain_torch(tmp_path, engine):
    """``torch.optim.AdamW`` in a loop of a few lines: after each step what it added is multiplied by hand."""
    during = (Freeze(parts=("L0H1.QK", "embed.W_E")), Scale(parts=("L0N3", "L0H0.OV"), factor=2.5))
    asked = toy_recipe(
        seed=3, engine=engine, during=during, checkpoint_epochs=(0, 6),
        optimizer=Optimizer(name="adamw", lr=1e-2, weight_decay=0.1, clip_norm=0.3),
    )  # fmt: skip
    run = store_in(tmp_path).get_or_train(asked)
    weights = {name: value.clone().requires_grad_() for name, value in run.weights(0).items()}
    optimizer = torch.optim.AdamW(weights.values(), lr=1e-2, weight_decay=0.1)
    by_hand = {name: torch.ones_like(value) for name, value in weights.items()}
    by_hand["embed.W_E"][:] = 0
    attn, mlp = "blocks.0.attn", "blocks.0.mlp"
    by_hand[f"{attn}.W_Q"][1], by_hand[f"{attn}.W_K"][1] = 0, 0
    by_hand[f"{attn}.W_V"][0], by_hand[f"{attn}.W_O"][0] = 2.5, 2.5
    by_hand[f"{mlp}.W_in"][:, 3], by_hand[f"{mlp}.W_gate"][:, 3], by_hand[f"{mlp}.W_out"][3] = 2.5, 2.5, 2.5
    for rows in asked.schedule.batches():
        optimizer.zero_grad()
        masked_loss(forward(asked.model, weights, rows.tokens).logits, rows.targets, rows.loss_mask).backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 0.3)
        before = {name: value.detach().clone() for name, value in weights.items()}
        optimizer.step()
        with torch.no_grad():
            for name, value in weights.items():
                value.copy_(before[name] + by_hand[name] * (value - before[name]))
    ours, start = run.weights(36), run.weights(0)
    for name, value in weights.items():
        assert (ours[name] - value).norm() <= 1e-4 * value.norm(), name
        frozen = by_hand[name] == 0
        assert torch.equal(ours[name][frozen], start[name][frozen])
        assert frozen.all() or (ours[name] != start[name])[~frozen].float().mean() > 0.9, name


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_what_is_held_writes_nothing_all_along(tmp_path, engine):
    store = store_in(tmp_path)
    whole = store.get_or_train(parent(engine=engine))
    held = store.get_or_train(fork(whole.recipe, during=(Hold(parts=("L0H1", "L0MLP")),)))
    rows = whole.recipe.make_task().split("test")
    model, weights, both = whole.recipe.model, whole.weights(8), (Ablate(Head(0, 1), "zero"), Ablate(Mlp(0), "zero"))
    clean = forward(model, weights, rows.tokens, record=("z.0", "mlp_out.0")).cache
    ablated = forward(model, weights, rows.tokens, compile_edits([both], rows.roles, {}, clean)).logits[0]
    logits = forward(model, held.weights(0), rows.tokens).logits
    torch.testing.assert_close(logits, ablated, rtol=1e-5, atol=1e-5)
    for at in held.steps:
        weights = held.weights(at)
        assert not weights["blocks.0.attn.W_O"][1].any() and not weights["blocks.0.mlp.W_out"].any()
        assert weights["blocks.0.attn.W_O"][0].any()
    assert not alike(held.weights(20), held.weights(0))


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_a_graft_takes_a_part_with_its_moments(tmp_path, engine):
    store = store_in(tmp_path)
    whole = store.get_or_train(parent(engine=engine))
    other = store.get_or_train(parent(engine=engine, init_seed=11, checkpoint_at=(0, 15, 32)))
    mine = store.get_or_train(fork(whole.recipe, during=(Graft(parts=("L0H1",), source=(whole.recipe.sha256, 8)),)))
    assert alike(mine.weights(7), whole.weights(15)), "one's own part at the same step is no other part"
    asked = fork(whole.recipe, during=(Graft(parts=("L0H1", "L0MLP"), source=(other.recipe.sha256, 15)),))
    grafted = state_at(store.get_or_train(asked), 0, store)
    masks = masks_of(whole.recipe.model, ("L0H1", "L0MLP"))
    base, donor = state_at(whole, 8, store), state_at(other, 15, store)
    for part in ("weights", "exp_avg", "exp_avg_sq"):
        for name, value in of_part(grafted, part).items():
            mask = masks.get(name, torch.zeros(value.shape, dtype=torch.bool))
            assert torch.equal(value, torch.where(mask, of_part(donor, part)[name], of_part(base, part)[name]))
    assert set(masks) == {f"blocks.0.attn.W_{c}" for c in "QKVO"} | {
        f"blocks.0.mlp.W_{c}" for c in ("in", "gate", "out")
    }
    assert grafted["step"] == 8


def test_a_fork_is_published_without_its_parent(tmp_path, monkeypatch):
    """With a history of one row an epoch, of the epochs that it has steps of."""
    monkeypatch.setattr("circuitcore.training.store.history.LONGEST_WHOLE", 10)
    store = store_in(tmp_path / "runs")
    whole = store.get_or_train(parent())
    run = store.get_or_train(fork(whole.recipe, during=(Freeze(parts=("L0H1",)),)))
    copy = store.publish(run, tmp_path / "published", [0, 20])
    assert copy.history["epoch"].tolist() == [1, 2, 3, 4] and run.recipe.schedule.n_epochs_begun == 4
    assert copy.recipe == run.recipe and copy.steps == (0, 20) and not verify(copy.path, allow_tasks=ALLOWED)
    # What the parent's state is needed for tells whose it is.
    with pytest.raises(StoreError, match=f"no finished run of recipe {whole.recipe.sha256}"):
        state_at(copy, 3, store_in(tmp_path / "elsewhere"))


def test_a_sweep_trains_parents_first(tmp_path):
    whole, other = parent(), parent(init_seed=11)
    first = fork(whole, at=(0, 3))
    second = fork(first, step=10, at=(0, 3), during=(Graft(parts=("L0",), source=(other.sha256, 15)),))
    assert generations([second, first, whole, other]) == [[whole, other], [first], [second]]
    runs = train_all(store_in(tmp_path), [second, first, whole, other], "serial")
    assert [run.recipe for run in runs] == [second, first, whole, other]


def test_runs_that_go_on_from_a_failed_one_are_not_begun_and_all_others_are_trained(tmp_path):
    whole, bad = parent(), parent(init_seed=11, optimizer=dataclasses.replace(RULE, lr=1e30))
    good, lost = fork(whole, at=(0, 3)), fork(bad, at=(0, 3))
    store = store_in(tmp_path)
    with pytest.raises(ExecutorError, match="2 of 4 runs failed, the others are done") as caught:
        train_all(store, [lost, good, bad, whole], "serial")
    assert set(caught.value.failures) == {bad.run_id, lost.run_id}
    assert "goes on from a run that failed" in str(caught.value.failures[lost.run_id])
    assert store.find(whole) and store.find(good) and not store.find(lost)


def test_forks_train_in_stacks(tmp_path):
    """Two forks of one step, of which one is held: each as it is when it is trained alone."""
    store = store_in(tmp_path / "alone")
    whole = store.get_or_train(parent(engine="stacked"))
    forks = [fork(whole.recipe), fork(whole.recipe, data_seed=9, during=(Freeze(parts=("L0H0", "embed.W_E")),))]
    folders = {one: tmp_path / "together" / one.run_id for one in forks}
    assert not train_together(forks, folders, state_of=states_in(store, forks))
    together = store_in(tmp_path / "together")
    for one in forks:
        ours, alone = together.find(one), store.get_or_train(one)
        for step in (0, 20):
            for name, value in ours.weights(step).items():
                torch.testing.assert_close(value, alone.weights(step)[name], rtol=1e-4, atol=1e-5)
    assert alike(together.find(forks[0]).weights(0), whole.weights(8))
    frozen, start = together.find(forks[1]).weights(20), whole.weights(8)
    assert torch.equal(frozen["embed.W_E"], start["embed.W_E"])
    assert torch.equal(frozen["blocks.0.attn.W_Q"][0], start["blocks.0.attn.W_Q"][0])


def test_text_and_back_is_the_same_fork():
    each = (
        Freeze(parts=("L0H1.QK", "L0")), Scale(parts=("L0N3",), factor=2.0), Hold(parts=("L0MLP",)),
        Graft(parts=("all",), source=("ab" * 32, 7)),
    )  # fmt: skip
    asked = fork(parent(), during=each)
    back = Recipe.from_json(asked.to_json(), ALLOWED)
    assert back == asked and back.during == each and back.parent == asked.parent and back.n_steps == 20
    hashes = {fork(parent()).sha256, parent().sha256, fork(parent(), step=9).sha256}
    assert len(hashes | {fork(parent(), during=(one,)).sha256 for one in each}) == 7
    assert "parent" not in parent().to_json() and "during" not in fork(parent()).to_json()


def test_factors_of_the_same_number_multiply():
    model = parent().model
    found = factors(model, (Scale(parts=("L0H0",), factor=2.0), Scale(parts=("L0H0.Q",), factor=0.25)))
    assert found["blocks.0.attn.W_Q"][0].unique().tolist() == [0.5] and found["blocks.0.attn.W_Q"][1].unique() == 1
    assert found["blocks.0.attn.W_V"][0].unique().tolist() == [2.0] and "embed.W_E" not in found


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parent": ("ab", 3)}, ["parent = ('ab', 3)", "64 hex digits"]),
        ({"parent": ("ab" * 32, -1)}, ["parent", ">= 0"]),
        ({"parent": ("ab" * 32, 3), "checkpoint_at": (), "checkpoint_epochs": (5,)}, ["give checkpoint_at"]),
        ({"during": (Freeze(parts=("L0H2",)),)}, ["during.parts = 'L0H2'", "head in 0..1"]),
        ({"during": (Freeze(parts=("L1",)),)}, ["during.parts = 'L1'", "layer in 0..0"]),
        ({"during": (Freeze(parts=("L0N16",)),)}, ["during.parts = 'L0N16'", "hidden unit in 0..15"]),
        ({"during": (Freeze(parts=("embed.W_F",)),)}, ["embed.W_F", "did you mean 'embed.W_E'", "L1H0.QK"]),
        ({"during": (Freeze(parts=()),)}, ["during.parts = ()", "at least one part"]),
        ({"during": (Hold(parts=("L0H1.QK",)),)}, ["during.parts = 'L0H1.QK'", "such as L1H0, to hold"]),
        ({"during": (Hold(parts=("L0",)),)}, ["during.parts = 'L0'", "to hold"]),
    ],
)
def test_a_fork_that_cannot_be_is_refused_by_name(changes, words):
    with pytest.raises(RecipeError) as caught:
        parent(**changes)
    for word in words:
        assert word in str(caught.value)


def test_values_that_cannot_be_are_refused_by_name():
    for made, words in (
        (lambda: Scale(parts=("L0",), factor=-1.0), "during.factor = -1.0"),
        (lambda: Graft(parts=("L0",), source=("x", 1)), "during.source"),
    ):
        with pytest.raises(RecipeError, match=words):
            made()
    text = json.loads(fork(parent(), during=(Freeze(parts=("L0",)),)).to_json())
    for during, words in (
        ([{"kind": "melt", "parts": ["L0"]}], "during.kind = 'melt'.*freeze, scale, hold, graft"),
        ([{"kind": "freeze"}], "recipe.during lacks parts"),
        ([{"kind": "freeze", "parts": "L0"}], "during.parts"),
        ("L0", "during = 'L0'.*a list"),
    ):
        with pytest.raises(RecipeError, match=words):
            Recipe.from_json(json.dumps(text | {"during": during}), ALLOWED)


def test_a_parent_that_is_not_there_or_does_not_fit_is_named(tmp_path):
    store = store_in(tmp_path)
    with pytest.raises(StoreError, match=f"no finished run of recipe {parent().sha256}.*train it before"):
        store.get_or_train(fork(parent()))
    whole = store.get_or_train(parent())
    with pytest.raises(StoreError, match=r"no state at step 33; allowed: 0\.\.32"):
        store.get_or_train(fork(whole.recipe, step=33, at=(0, 1)))
    with pytest.raises(RecipeError, match="checkpoint_at ends training at step 29 from .* step 8 on.*1 to 28"):
        store.get_or_train(fork(whole.recipe, at=(0, 29)))
    sgd = fork(whole.recipe, optimizer=Optimizer(name="sgd", lr=0.1, momentum=0.9))
    with pytest.raises(RecipeError, match=f"parent {whole.recipe.sha256[:12]}: of another model or .*: exp_avg"):
        store.get_or_train(sgd)
    wide = dataclasses.replace(whole.recipe.model, d_mlp=17)
    with pytest.raises(RecipeError, match=r"parent .*mlp.* is \(16.*there, .*17.* here"):
        store.get_or_train(fork(whole.recipe, model=wide))
