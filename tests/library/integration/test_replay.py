"""A finished run step by step once more: to the bits of its checkpoints, with the gradients and moments it had."""

import math

import pandas as pd
import pytest
import torch
from killing import files
from toy.recall import ALLOWED, toy_recipe

from circuitcore.metrics.instruments.instrument import Instrument
from circuitcore.models import forward
from circuitcore.native import why_not
from circuitcore.training import Optimizer, RunStore, Stage, StoreError
from circuitcore.training.engines.engine import TorchEngine, masked_loss
from circuitcore.training.optimizer import rate
from circuitcore.training.replay import STATES_FOLDER, of_part, replay, state_at
from circuitcore.training.store.checkpoint import weights_sha256

ENGINE_NAMES = ["torch", pytest.param("native", marks=pytest.mark.skipif(bool(why_not()), reason="no C++ here"))]
RULES = {
    "adamw": Optimizer(name="adamw", lr=1e-2, weight_decay=0.1, clip_norm=0.3, warmup=8),
    "sgd": Optimizer(name="sgd", lr=0.1, momentum=0.9, weight_decay=0.01, clip_norm=0.3),
}


def recipe(rule="adamw", **changes):
    """Five epochs of six steps, over two lengths in the first two; the last is cut."""
    plan = {"checkpoint_epochs": (), "checkpoint_at": (0, 1, 9, 20, 34)}
    stages = (Stage(("train", "long"), 2), Stage(("train",), 3))
    return toy_recipe(seed=3, optimizer=RULES[rule], stages=stages, **plan | changes)


def store_in(folder):
    return RunStore(folder, None, allow_tasks=ALLOWED)


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("rule", RULES)
def test_every_step_is_the_runs_own(tmp_path, engine, rule):
    store = store_in(tmp_path)
    run = store.get_or_train(recipe(rule, engine=engine))
    steps = list(replay(run, 0, run.final_step, store))
    assert [one.step for one in steps] == list(range(1, run.final_step + 1))
    history = run.history
    assert [torch.tensor(one.stats.loss).item() for one in steps] == history["loss"].tolist()
    assert [torch.tensor(one.stats.grad_norm).item() for one in steps] == history["grad_norm"].tolist()
    assert sum(one.rows.loss_mask.numel() for one in steps) == history["tokens_seen"].iloc[-1]
    for at in run.steps:
        kept = of_part(steps[at].before, "weights") if at < run.final_step else of_part(steps[-1].after, "weights")
        assert weights_sha256(kept) == weights_sha256(run.weights(at))
    for one, following in zip(steps, steps[1:], strict=False):
        assert all(torch.equal(value, following.before[name]) for name, value in one.after.items())


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_gradients_moments_and_updates_are_those_of_the_rule(tmp_path, engine):
    """The gradient by autograd in float64; then Adam's update from what the step says it was, by hand."""
    store = store_in(tmp_path)
    run, rule = store.get_or_train(recipe(engine=engine)), RULES["adamw"]
    for one in replay(run, 7, 16, store):
        weights = {name: value.double().requires_grad_() for name, value in of_part(one.before, "weights").items()}
        logits = forward(run.recipe.model, weights, one.rows.tokens).logits
        masked_loss(logits, one.rows.targets, one.rows.loss_mask).backward()
        norm = math.sqrt(sum(value.grad.square().sum().item() for value in weights.values()))
        assert one.stats.grad_norm == pytest.approx(norm, rel=1e-4)
        first, second = (of_part(one.after, name) for name in ("exp_avg", "exp_avg_sq"))
        before, n = of_part(one.before, "exp_avg"), one.step
        for name, value in weights.items():
            assert (one.gradient[name] - value.grad).norm() <= 1e-5 * norm, name
            clipped = one.gradient[name] * min(1.0, rule.clip_norm / norm)
            torch.testing.assert_close(first[name], 0.9 * before[name] + 0.1 * clipped, rtol=1e-3, atol=1e-7)
            shrunk = rate(rule, n) * rule.weight_decay * value.detach()
            root = second[name].double().sqrt() / math.sqrt(1 - 0.999**n) + rule.eps
            moved = rate(rule, n) / (1 - 0.9**n) * first[name].double() / root
            torch.testing.assert_close(one.update[name].double(), -shrunk - moved, rtol=1e-3, atol=1e-6)
        assert one.before["step"] == one.step - 1 and one.after["step"] == one.step


def test_a_state_is_computed_once_and_from_the_nearest_one(tmp_path, monkeypatch):
    store, taken, step = store_in(tmp_path), [], TorchEngine.step
    run = store.get_or_train(recipe())
    before = files(run)
    whole = {one.step: one.after for one in replay(run, 0, 34, store)}
    monkeypatch.setattr(TorchEngine, "step", lambda *given: taken.append(1) or step(*given))
    for at, cost in ((10, 10), (10, 0), (13, 3), (12, 2), (34, 21), (0, 0)):
        state = state_at(run, at, store)
        assert len(taken) == cost, at
        taken.clear()
        assert at == 0 or all(torch.equal(value, whole[at][name]) for name, value in state.items())
    assert [one.step for one in replay(run, 12, 15, store)] == [13, 14, 15] and len(taken) == 3
    assert files(run) == before, "states lie beside the runs, not in them"
    assert run.run_id in {path.name for path in (tmp_path / STATES_FOLDER).iterdir()}
    assert [one.run_id for one in store.runs()] == [run.run_id]


def test_states_are_kept_where_the_run_is_or_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("CIRCUITCORE_RUNS", str(tmp_path / "runs"))
    store = store_in(tmp_path / "mine")
    run = store.get_or_train(recipe())
    shipped = store.publish(run, tmp_path / "published", [0, 34])
    for one, root in ((run, "mine"), (shipped, "runs")):
        assert next(replay(one, 3, 4)).step == 4
        assert (tmp_path / root / STATES_FOLDER / run.run_id / "step-0000003.safetensors").exists()


def norms(run, settings, progress):
    """Norm of the gradient of each of the first three steps."""
    steps = replay(run, 0, 3)
    return pd.DataFrame([{"run_id": run.run_id, "step": one.step, "value": one.stats.grad_norm} for one in steps])


def test_an_instrument_of_steps_needs_no_weights(tmp_path, monkeypatch):
    monkeypatch.setenv("CIRCUITCORE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("CIRCUITCORE_PUBLISHED", str(tmp_path / "published"))
    store, made = store_in(tmp_path / "mine"), Instrument(name="norms", version=1, measures=norms, when="steps")
    run = store.get_or_train(recipe())
    shipped = store.publish(run, tmp_path / "published", [])
    assert shipped.steps == () and made.lacking(shipped) == ()
    assert made.measure(shipped)["value"].astype("float32").tolist() == run.history["grad_norm"].tolist()[:3]


def test_steps_that_the_run_has_not_are_refused(tmp_path):
    store = store_in(tmp_path)
    run = store.get_or_train(recipe())
    for start, stop in ((-1, 3), (4, 3), (0, 35)):
        with pytest.raises(StoreError, match=rf"steps {start} to {stop}; allowed: an interval of 0\.\.34"):
            next(replay(run, start, stop, store))
    with pytest.raises(StoreError, match=r"no state at step 35; allowed: 0\.\.34"):
        state_at(run, 35, store)


def test_a_checkpoint_that_comes_out_otherwise_stops_the_replay(tmp_path, monkeypatch):
    """As on another processor; here by an engine that moves one weight by its last bit."""
    store, step = store_in(tmp_path), TorchEngine.step
    run = store.get_or_train(recipe())

    def otherwise(engine, *batch):
        stats = step(engine, *batch)
        with torch.no_grad():
            engine._weights["embed.W_E"][0, 0].nextafter_(torch.tensor(9.0))
        return stats

    monkeypatch.setattr(TorchEngine, "step", otherwise)
    with pytest.raises(StoreError, match=r"weights of step 1 have the hash \w{12}, in the ledger \w{12}.*made with"):
        list(replay(run, 0, 5, store))


def test_a_kept_state_that_is_damaged_or_anothers_is_refused_by_name(tmp_path):
    store = store_in(tmp_path)
    run, other = store.get_or_train(recipe()), store.get_or_train(recipe("sgd"))
    state_at(run, 9, store), state_at(other, 9, store)
    ours, theirs = (tmp_path / STATES_FOLDER / one.run_id / "step-0000009.safetensors" for one in (run, other))
    ours.write_bytes(theirs.read_bytes())
    with pytest.raises(StoreError, match=f"{ours}: of another run or step.*Delete {ours}: it is computed again"):
        state_at(run, 9, store)
    ours.write_bytes(theirs.read_bytes()[:-1] + b"x")
    with pytest.raises(StoreError, match=f"{ours}: damaged.*Delete"):
        next(replay(run, 9, 10, store))
