"""A stack of runs is those runs: losses, gradients, weights and state against one ``TorchEngine`` each."""

import itertools

import pytest
import torch
from torch.nn import functional

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.training import Engine, Optimizer, TorchEngine
from circuitcore.training.engines.stacked import StackedTorch, run_losses, stacked_engine

N_RUNS, N_STEPS = 3, 30
SIZES = {"d_vocab": 9, "n_ctx": 6, "d_model": 16, "d_mlp": 24}
MODELS = {
    "pre, rope, tied": ModelConfig(**SIZES),
    "post, learned, bias, gelu": ModelConfig(
        **SIZES, norm="layer", norm_position="post", positions="learned", bias="all", tied=False, mlp="gelu"
    ),
    "attention only, small init": ModelConfig(**SIZES, mlp="none", norm="layer", init="small", n_layers=3),
    "vectors": ModelConfig(**SIZES, d_in=5, tied=False, bias="all", mlp="relu", d_head=10),
}
OPTIMIZERS = {
    "adam": Optimizer(lr=1e-3, weight_decay=0.01),
    "adamw, clipped": Optimizer(name="adamw", lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, clip_norm=0.5),
}


def batches(model, seed, sizes=((8, 6),), targets="tokens"):
    """Endless batches for one run, of the sizes (rows, positions) in turn; the last two positions are scored."""
    generator = torch.Generator().manual_seed(seed)
    for rows, positions in itertools.cycle(sizes):
        shape = (rows, positions)
        if model.d_in:
            tokens = torch.randn(*shape, model.d_in, generator=generator)
        else:
            tokens = torch.randint(model.d_vocab, shape, generator=generator)
        mask = (torch.arange(positions) >= positions - 2).expand(shape).clone()
        mask[: 1 + seed, 0] = True  # runs score different numbers of positions
        wanted = torch.randint(model.d_vocab, shape, generator=generator)
        yield tokens, functional.one_hot(wanted, model.d_vocab).float() if targets == "vectors" else wanted, mask


def trained_alone(model, optimizer, n_steps, sizes=((8, 6),)):
    """The ``TorchEngine`` of each run and its losses and norms."""
    engines = [TorchEngine(model, optimizer, seed) for seed in range(N_RUNS)]
    stats = [
        [engine.step(*batch) for batch in itertools.islice(batches(model, seed, sizes), n_steps)]
        for seed, engine in enumerate(engines)
    ]
    return engines, stats


def trained_together(stack, n_steps, sizes=((8, 6),)):
    model, stats = stack._model, [[] for _ in stack.runs]
    streams = [batches(model, seed, sizes) for seed in range(len(stack.runs))]
    for _ in range(n_steps):
        for place, found in stack.step({place: next(stream) for place, stream in enumerate(streams)}).items():
            stats[place].append(found)
    return stats


def assert_close(model, ours, theirs, tolerance=1e-5):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if name.endswith("b_K") and model.positions != "rope":
            continue  # it shifts all scores of a query alike: its gradient is only rounding, which Adam scales up
        torch.testing.assert_close(value, theirs[name], rtol=tolerance, atol=tolerance, msg=f"{name} differs")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_thirty_steps_are_those_of_each_run_alone(model, optimizer):
    model, optimizer = MODELS[model], OPTIMIZERS[optimizer]
    stack = StackedTorch(model, optimizer, range(N_RUNS))
    stats = trained_together(stack, N_STEPS)
    engines, expected = trained_alone(model, optimizer, N_STEPS)
    for view, engine, ours, theirs in zip(stack.runs, engines, stats, expected, strict=True):
        assert [found.loss for found in ours] == pytest.approx([found.loss for found in theirs], abs=1e-5)
        assert [found.grad_norm for found in ours] == pytest.approx([found.grad_norm for found in theirs], rel=1e-4)
        assert_close(model, view.weights(), engine.weights())
    if optimizer.clip_norm:
        assert max(found.grad_norm for found in stats[0]) > optimizer.clip_norm, "nothing was clipped"


def test_batches_of_unequal_size_and_length_are_padded_exactly():
    model, optimizer, sizes = MODELS["pre, rope, tied"], OPTIMIZERS["adam"], ((8, 6), (3, 4), (5, 5), (8, 3))
    stack = StackedTorch(model, optimizer, range(N_RUNS), least_rows=(9, 6))
    streams = [batches(model, seed, sizes[seed:] + sizes[:seed]) for seed in range(N_RUNS)]
    engines = [TorchEngine(model, optimizer, seed) for seed in range(N_RUNS)]
    for _ in range(N_STEPS):
        step = {place: next(stream) for place, stream in enumerate(streams)}
        assert len({batch[0].shape for batch in step.values()}) == N_RUNS
        stats = stack.step(step)
        for place, batch in step.items():
            assert stats[place].loss == pytest.approx(engines[place].step(*batch).loss, abs=1e-5)
    for view, engine in zip(stack.runs, engines, strict=True):
        assert_close(model, view.weights(), engine.weights())


@pytest.mark.parametrize("kind", ["tokens", "vectors"])
@pytest.mark.parametrize("model", MODELS)
def test_one_backward_pass_gives_each_run_its_own_gradient(model, kind):
    model = MODELS[model]
    data = [next(batches(model, seed, targets=kind)) for seed in range(N_RUNS)]
    data = [[part.double() if part.is_floating_point() else part for part in batch] for batch in data]
    runs = [{name: w.double() for name, w in init_weights(model, seed).items()} for seed in range(N_RUNS)]
    stacked = {name: torch.stack([run[name] for run in runs]).requires_grad_() for name in runs[0]}
    tokens, targets, mask = (torch.stack(parts) for parts in zip(*data, strict=True))
    losses = run_losses(forward(model, stacked, tokens).logits, targets, mask)
    losses.sum().backward()
    for place, (run, (tokens, targets, mask)) in enumerate(zip(runs, data, strict=True)):
        run = {name: value.requires_grad_() for name, value in run.items()}
        logits = forward(model, run, tokens).logits
        rule = functional.mse_loss if kind == "vectors" else functional.cross_entropy
        loss = rule(logits[mask], targets[mask])
        loss.backward()
        assert losses[place].item() == pytest.approx(loss.item(), rel=1e-12)
        largest = max(value.grad.abs().max() for value in run.values())
        for name, value in run.items():
            error = (stacked[name].grad[place] - value.grad).abs().max() / largest
            assert error < 1e-10, name


def test_clipping_is_each_runs_own():
    """A run with a huge gradient does not make its neighbour's smaller."""
    model, (tokens, targets, mask) = MODELS["pre, rope, tied"], next(batches(MODELS["pre, rope, tied"], 0))
    stack = StackedTorch(model, Optimizer(lr=1e-3, clip_norm=1.0), [0, 1])
    state = stack.runs[0].state()
    stack.runs[0].load({name: 30 * value if name.startswith("weights.") else value for name, value in state.items()})
    stats = stack.step({0: (tokens, targets, mask), 1: (tokens, targets, mask)})
    alone = TorchEngine(model, Optimizer(lr=1e-3, clip_norm=1.0), 1)
    assert stats[1].grad_norm == pytest.approx(alone.step(tokens, targets, mask).grad_norm, rel=1e-5)
    assert stats[0].grad_norm > 5 * stats[1].grad_norm > 5
    for place, view in enumerate(stack.runs):
        moments = [value for name, value in view.state().items() if name.startswith("exp_avg.")]
        norm = sum(value.square().sum() for value in moments).sqrt() / 0.1
        assert norm == pytest.approx(1.0, rel=1e-4), place


def test_a_run_without_a_batch_stands_still_and_disturbs_nobody():
    model, optimizer = MODELS["pre, rope, tied"], OPTIMIZERS["adamw, clipped"]
    together = [StackedTorch(model, optimizer, range(N_RUNS)) for _ in range(2)]
    streams = [batches(model, seed) for seed in range(N_RUNS)]
    for number in range(6):
        step = {place: next(stream) for place, stream in enumerate(streams)}
        together[0].step(step)
        if number == 3:
            before = together[1].runs[1].state()
        together[1].step(step if number < 3 else {place: step[place] for place in (0, 2)})
    whole, parted = ([view.state() for view in stack.runs] for stack in together)
    for place in (0, 2):
        assert all(torch.equal(value, parted[place][name]) for name, value in whole[place].items())
    assert all(torch.equal(value, parted[1][name]) for name, value in before.items())
    assert not torch.equal(whole[1]["weights.embed.W_E"], before["weights.embed.W_E"])


def test_a_run_that_is_no_number_any_more_disturbs_nobody():
    model, optimizer = MODELS["post, learned, bias, gelu"], OPTIMIZERS["adam"]
    healthy, sick = (StackedTorch(model, optimizer, range(N_RUNS)) for _ in range(2))
    state = sick.runs[1].state()
    sick.runs[1].load(state | {"weights.embed.W_E": state["weights.embed.W_E"] * torch.nan})
    trained_together(healthy, 5)
    stats = trained_together(sick, 5)
    assert all(found.loss != found.loss for found in stats[1])
    for place in (0, 2):
        ours, theirs = healthy.runs[place].state(), sick.runs[place].state()
        assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


def test_a_view_and_a_torch_engine_go_on_from_each_others_state():
    model, optimizer = MODELS["vectors"], OPTIMIZERS["adamw, clipped"]
    stack, alone = StackedTorch(model, optimizer, [5, 6]), TorchEngine(model, optimizer, 6)
    view, stream = stack.runs[1], batches(model, 0)
    assert isinstance(view, Engine)
    first = list(itertools.islice(stream, 10))
    for batch in first:
        view.step(*batch)
    assert all(torch.equal(value, view.state()[name]) for name, value in stack.runs[1].state().items())
    alone.load(view.state())
    assert view.state().keys() == alone.state().keys() and alone.state()["step"] == 10
    assert all(torch.equal(value, view.state()[name]) for name, value in alone.state().items())
    for batch in itertools.islice(stream, 10):
        assert view.step(*batch).loss == pytest.approx(alone.step(*batch).loss, abs=1e-5)
    other = StackedTorch(model, optimizer, [7, 8])
    other.runs[0].load(alone.state())
    assert all(torch.equal(value, other.runs[0].state()[name]) for name, value in alone.state().items())
    assert other.runs[1].state()["step"] == 0
    for batch in itertools.islice(stream, 10):
        assert other.runs[0].step(*batch).loss == pytest.approx(alone.step(*batch).loss, abs=1e-5)
    assert_close(model, other.runs[0].weights(), alone.weights())


def test_a_view_refuses_the_state_of_another_model():
    optimizer = OPTIMIZERS["adam"]
    view = stacked_engine(MODELS["pre, rope, tied"], optimizer, 0)
    wide = ModelConfig(**SIZES | {"d_model": 32})
    with pytest.raises(ValueError, match="shape"):
        view.load(TorchEngine(wide, optimizer, 0).state())
    with pytest.raises(ValueError, match="tensors differ"):
        view.load({"step": torch.tensor(3)})


def test_runs_step_together_from_one_number_of_updates():
    model = MODELS["pre, rope, tied"]
    stack, batch = StackedTorch(model, OPTIMIZERS["adam"], [0, 1]), next(batches(model, 0))
    stack.runs[1].step(*batch)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        stack.step({0: batch, 1: batch})
    with pytest.raises(ValueError, match=r"\[\]"):
        stack.step({})


@pytest.mark.parametrize("model", MODELS)
def test_a_step_computes_where_its_weights_are(model):
    """On torch's device without data, where meeting a tensor from the CPU is an error, as it is on a GPU."""
    model = MODELS[model]
    weights = {name: torch.stack([value] * 2).to("meta") for name, value in init_weights(model, 0).items()}
    weights = {name: value.requires_grad_() for name, value in weights.items()}
    tokens, targets, mask = (torch.stack([part] * 2).to("meta") for part in next(batches(model, 0)))
    run_losses(forward(model, weights, tokens).logits, targets, mask).sum().backward()
    assert all(value.grad.device.type == "meta" for value in weights.values())
