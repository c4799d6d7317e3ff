"""Every engine does what ``torch.optim`` does, step by step, at the rate that a schedule written by hand has."""

import math
import subprocess
import sys

import pytest
import torch
from torch.nn import functional

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.native import why_not
from circuitcore.training import ENGINES, Optimizer
from circuitcore.training.optimizer import rate

MODEL = ModelConfig(
    d_vocab=9, n_ctx=6, d_model=16, d_mlp=24, norm="layer", positions="rope", mlp="gelu", bias="inside", norm_eps=1e-5
)
RULES = {
    "sgd": Optimizer(name="sgd", lr=0.1),
    "sgd, momentum": Optimizer(name="sgd", lr=0.03, momentum=0.9),
    "sgd, momentum, decay of weights, clipped": Optimizer(
        name="sgd", lr=0.05, momentum=0.8, weight_decay=0.01, clip_norm=0.5
    ),
    "sgd, warm-up": Optimizer(name="sgd", lr=0.1, weight_decay=0.02, warmup=7),
    "adamw, warm-up, clipped": Optimizer(
        name="adamw", lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, clip_norm=0.5, warmup=10
    ),
    "adam, warm-up, cosine": Optimizer(
        lr=2e-3, warmup=5, decay="cosine", decay_from=10, decay_until=30, final_lr=2e-4
    ),
    "adamw, steps": Optimizer(
        name="adamw", lr=1e-3, weight_decay=0.1, decay="step", decay_at=(12, 25), decay_factor=0.3
    ),
}  # fmt: skip
ENGINE_NAMES = [
    name if name != "native" else pytest.param(name, marks=pytest.mark.skipif(bool(why_not()), reason="no C++ here"))
    for name in ENGINES
]
N_STEPS = 40


def batches(n_steps=N_STEPS):
    generator = torch.Generator().manual_seed(5)
    for _ in range(n_steps):
        tokens, targets = torch.randint(MODEL.d_vocab, (2, 8, 6), generator=generator)
        yield tokens, targets, torch.rand(8, 6, generator=generator) < 0.5


def by_hand(rule, step):
    """The rate of update ``step``, from 1, as torch's schedulers have it after ``step - 1`` of theirs."""
    value = rule.lr * (min(step, rule.warmup) / rule.warmup if rule.warmup else 1)
    if rule.decay == "cosine" and step > rule.decay_from:
        turn = min(step - rule.decay_from, rule.decay_until - rule.decay_from) / (rule.decay_until - rule.decay_from)
        value = rule.final_lr + (rule.lr - rule.final_lr) * (0.5 + 0.5 * math.cos(math.pi * turn))
    for at in rule.decay_at:
        value *= rule.decay_factor if step - 1 >= at else 1
    return value


def oracle(rule):
    """Losses, norms, and weights after training with ``torch.optim`` itself, in its plainest form."""
    weights = {name: value.requires_grad_() for name, value in init_weights(MODEL, 3).items()}
    words = {"lr": rule.lr, "weight_decay": rule.weight_decay, "foreach": False, "fused": False}
    if rule.name == "sgd":
        optimizer = torch.optim.SGD(weights.values(), momentum=rule.momentum, **words)
    else:
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[rule.name]
        optimizer = kind(weights.values(), betas=rule.betas, eps=rule.eps, **words)
    losses, norms = [], []
    for step, (tokens, targets, mask) in enumerate(batches(), 1):
        optimizer.param_groups[0]["lr"] = by_hand(rule, step)
        optimizer.zero_grad()
        loss = functional.cross_entropy(forward(MODEL, weights, tokens).logits[mask], targets[mask])
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(weights.values(), rule.clip_norm or math.inf).item())
        optimizer.step()
        losses.append(loss.item())
    return losses, norms, weights


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("rule", RULES)
def test_steps_are_those_of_torch_optim(rule, engine):
    rule = RULES[rule]
    losses, norms, weights = oracle(rule)
    engine = ENGINES[engine](MODEL, rule, 3)
    stats = [engine.step(*batch) for batch in batches()]
    assert [one.loss for one in stats] == pytest.approx(losses, rel=2e-6)
    assert [one.grad_norm for one in stats] == pytest.approx(norms, rel=1e-5)
    start = init_weights(MODEL, 3)
    for name, value in engine.weights().items():
        assert (value - weights[name]).norm() <= 2e-4 * (weights[name] - start[name]).norm(), name
    if rule.clip_norm:
        assert max(norms) > rule.clip_norm, "nothing was clipped"


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("rule", RULES)
def test_states_hold_the_rules_moments_and_go_on_bit_for_bit(rule, engine):
    rule, make = RULES[rule], ENGINES[engine]
    whole, halved = make(MODEL, rule, 3), make(MODEL, rule, 3)
    for number, batch in enumerate(batches()):
        if number in (3, 17):
            state, halved = halved.state(), make(MODEL, rule, 99)
            halved.load(state)
        assert whole.step(*batch) == halved.step(*batch), number
    ours, theirs = whole.state(), halved.state()
    kinds = {"sgd": {"momentum_buffer"} if rule.momentum else set()}.get(rule.name, {"exp_avg", "exp_avg_sq"})
    assert {name.split(".")[0] for name in ours} == {"weights", "step"} | kinds
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items()) and ours["step"] == N_STEPS


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_a_gradient_is_that_of_autograd_and_moves_nothing(engine):
    engine, disturbed = (ENGINES[engine](MODEL, RULES["sgd, momentum, decay of weights, clipped"], 3) for _ in range(2))
    for batch in batches(5):
        weights = {name: value.double().requires_grad_() for name, value in disturbed.weights().items()}
        tokens, targets, mask = batch
        functional.cross_entropy(forward(MODEL, weights, tokens).logits[mask], targets[mask]).backward()
        found = disturbed.gradient(*batch)
        whole = torch.stack([value.grad.norm() for value in weights.values()]).norm()
        assert whole > 0.5, "a clipped gradient would be another one"
        assert found.keys() == weights.keys()
        for name, value in weights.items():
            assert (found[name] - value.grad).norm() <= 1e-6 * whole, name
        assert engine.step(*batch) == disturbed.step(*batch)
    assert all(torch.equal(value, disturbed.state()[name]) for name, value in engine.state().items())


@pytest.mark.parametrize("rule", RULES)
def test_rates_are_those_written_by_hand(rule):
    for step in (1, 2, 5, 7, 10, 11, 12, 13, 20, 25, 26, 29, 30, 31, 10_000):
        assert rate(RULES[rule], step) == pytest.approx(by_hand(RULES[rule], step), rel=1e-14)


def test_rates_of_torchs_schedulers():
    """Steps against MultiStepLR, the cosine against CosineAnnealingLR from the last step at the whole rate on."""
    steps = Optimizer(lr=0.4, decay="step", decay_at=(3, 5), decay_factor=0.5)
    cosine = Optimizer(lr=0.4, decay="cosine", decay_from=1, decay_until=9, final_lr=0.1)
    for rule, make in (
        (steps, lambda optimizer: torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5], 0.5)),
        (cosine, lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8, 0.1)),
    ):
        theirs = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4)
        scheduler = make(theirs)
        for step in range(1, 10):
            assert rate(rule, step) == pytest.approx(theirs.param_groups[0]["lr"], rel=1e-12), step
            theirs.step()
            scheduler.step()


def test_the_sources_warm_up():
    """lr 4e-4, 200 steps: step 1 has 4e-4 / 200, step 200 is the first at the whole rate."""
    source = Optimizer(name="adamw", lr=4e-4, warmup=200)
    assert [rate(source, step) for step in (1, 100, 199, 200, 201)] == pytest.approx(
        [2e-6, 2e-4, 3.98e-4, 4e-4, 4e-4], rel=1e-12
    )
    assert rate(Optimizer(lr=1e-3), 1) == 1e-3


def test_a_process_that_trains_does_without_torchs_compiler():
    """It is imported with the first optimizer of torch's own, which takes two seconds."""
    program = """if True:
        import sys, torch
        from circuitcore.training import Optimizer
        from circuitcore.training.engines.update import Update
        for name in ("adam", "adamw", "sgd"):
            weight = torch.ones(3, requires_grad=True)
            update = Update(Optimizer(name=name, lr=0.1), [weight])
            weight.sum().backward()
            update.apply(0)
            update.forget_gradients()
            assert weight.grad is None and weight.max() < 1
        print(*sorted(sys.modules))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "torch.optim" in done.stdout.split() and "torch._dynamo" not in done.stdout.split()
