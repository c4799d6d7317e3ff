"""What the bench counts, compares and refuses; its timings are no test's business."""

import dataclasses
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import battery, environments, report
from benchmarks.designs import EngineStep, make_battery, make_step
from benchmarks.eager import Decoder, load
from benchmarks.flops import step_flops
from benchmarks.measuring import LOGIT_TOLERANCE, LOSS_TOLERANCE, Plan, Row, Timings, row_of
from benchmarks.workloads import ADAMW, WORKLOADS, Workload, batches, shrunk
from circuitcore.models import ModelConfig, forward, init_weights

STEPS = [name for name, workload in WORKLOADS.items() if workload.kind == "step"]


def small(name):
    return shrunk(WORKLOADS[name])


@pytest.mark.parametrize("name", STEPS)
def test_the_torch_step_does_the_arithmetic_of_all_positions(name):
    workload = small(name)
    trainer = EngineStep("torch", workload)
    with FlopCounterMode(display=False) as counter:
        trainer.step(*batches(workload)[0])
    assert counter.get_total_flops() == step_flops(workload)


def economical_step(workload):
    """Products of a step whose last layer computes only the loss positions; random numbers, no nonlinearities."""
    model, at = workload.model, list(workload.loss_positions)
    a = model.n_heads * model.d_head

    def weight(*shape):
        return torch.randn(*shape, requires_grad=True)

    x = weight(workload.batch, workload.n_pos, model.d_model)
    if model.d_in:
        x = torch.randn(workload.batch, workload.n_pos, model.d_in) @ weight(model.d_in, model.d_model)
    for layer in range(model.n_layers):
        k, v = (x @ weight(model.d_model, a) for _ in "kv")
        if layer == model.n_layers - 1:
            x = x[:, at]
        q = x @ weight(model.d_model, a)
        q, k, v = (part.unflatten(-1, (model.n_heads, model.d_head)).transpose(1, 2) for part in (q, k, v))
        z = (q @ k.transpose(-1, -2)).softmax(-1) @ v
        x = x + z.transpose(1, 2).flatten(2) @ weight(a, model.d_model)
        if model.mlp != "none":
            up = x @ weight(model.d_model, model.d_mlp)
            up = up * (x @ weight(model.d_model, model.d_mlp)) if model.mlp == "swiglu" else up
            x = x + up @ weight(model.d_mlp, model.d_model)
    (x @ weight(model.d_model, model.d_vocab)).sum().backward()


@pytest.mark.parametrize("name", STEPS)
def test_the_economical_count_is_that_of_its_products(name):
    workload = small(name)
    with FlopCounterMode(display=False) as counter:
        economical_step(workload)
    assert counter.get_total_flops() == step_flops(workload, rows="needed")


def test_a_triangle_counts_the_keys_a_query_may_see():
    workload = small("W2")
    model, pairs = workload.model, sum(key <= query for query in range(96) for key in range(96))
    per_pair = 2 * 3 * 2 * model.n_heads * model.d_head * model.n_layers * workload.batch
    saved = step_flops(workload) - step_flops(workload, attention="triangle")
    assert saved == per_pair * (96 * 96 - pairs)


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="'some'; allowed: all, needed"):
        step_flops(small("W1"), rows="some")


def test_the_workloads_are_those_of_the_issue():
    sizes = {name: sum(value.numel() for value in init_weights(w.model, 0).values()) for name, w in WORKLOADS.items()}
    assert sizes["W2"] == pytest.approx(626_000, rel=1e-3)
    w4 = WORKLOADS["W4"]
    per_token = step_flops(w4, rows="needed") / w4.batch / w4.n_pos
    assert per_token == pytest.approx(4.98e6, rel=0.02)
    assert WORKLOADS["W1"].batch == 128 and WORKLOADS["W3"].batch == 256


@pytest.mark.parametrize("norm", ["layer", "rms", "none"])
@pytest.mark.parametrize("mlp", ["gelu", "relu", "swiglu", "none"])
@pytest.mark.parametrize(("positions", "tied", "d_in"), [("rope", True, 0), ("learned", False, 3), ("none", False, 0)])
def test_the_eager_peer_is_the_same_decoder(norm, mlp, positions, tied, d_in):
    config = ModelConfig(
        d_vocab=7, n_ctx=6, d_model=8, d_mlp=12, norm=norm, mlp=mlp, positions=positions, tied=tied, d_in=d_in,
        bias="none" if tied else "all",
    )  # fmt: skip
    weights = init_weights(config, 3)
    inputs = torch.randn(2, 5, d_in) if d_in else torch.randint(7, (2, 5))
    peer = Decoder(config)
    load(peer, weights)
    assert torch.allclose(peer(inputs), forward(config, weights, inputs).logits, atol=1e-5)


def test_weights_of_another_decoder_are_refused():
    config = ModelConfig(d_vocab=7, n_ctx=6, d_model=8, d_mlp=12, positions="learned")
    weights = init_weights(dataclasses.replace(config, positions="none"), 0)
    with pytest.raises(ValueError, match=r"places\.weight"):
        load(Decoder(config), weights)


def test_eager_and_torch_train_alike():
    workload = small("B1")
    steps = [make_step(design, workload) for design in ("eager", "torch")]
    losses = [[step.step(*rows) for rows in batches(workload)] for step in steps]
    assert losses[0] == pytest.approx(losses[1], rel=LOSS_TOLERANCE)
    assert losses[0][0] != losses[0][-1]


def test_the_battery_has_the_19_conditions_and_two_cannot_reach_the_answer():
    workload = small("W5")
    wanted = battery.conditions(workload.model, workload.n_pos)
    assert len(set(wanted)) == len(wanted) == 19
    clean, corrupted = battery.prompts(workload)
    eager, ours = (make_battery(design, workload).measure(clean, corrupted, wanted) for design in ("eager", "torch"))
    assert (eager - ours).abs().max() <= LOGIT_TOLERANCE
    moved = [bool((logits != eager[0]).any()) for logits in eager[1:]]
    still = [condition for condition, moves in zip(wanted[1:], moved, strict=True) if not moves]
    assert [(c.layer, c.part, c.position) for c in still] == [(1, "attn_out", 5), (1, "mlp_out", 5)]


WORKLOAD = Workload(name="W1", title="a step", model=WORKLOADS["W1"].model, optimizer=ADAMW, batch=2, n_pos=16)
FLOPS = step_flops(WORKLOAD, rows="needed", attention="triangle")


def timings(**differences):
    seconds = {"eager": [0.2, 0.6, 0.4], "native": [0.1, 0.1, 0.1]}
    return Timings(seconds, [{"fma": 1e-8 * FLOPS}] * 3, {"eager": 0.0, "native": 0.0} | differences)


def test_ratio_share_and_spread_are_medians_over_rounds():
    row = row_of(WORKLOAD, "native", timings(), {"lens": "absent"})
    assert row.cpu_ms_per_step == pytest.approx(100) and row.spread == pytest.approx((100, 100))
    assert row.ratio_to_eager == pytest.approx(4) and row.ratio_spread == pytest.approx((2, 6))
    assert row.share_of_peak == pytest.approx(1.0), "its operations take 0.1 s at 10 times them a second"
    assert row.ratio_to_lens is None


@pytest.mark.parametrize("difference", [2 * LOSS_TOLERANCE, float("nan")])
def test_no_ratio_between_different_computations(difference):
    row = row_of(WORKLOAD, "native", timings(native=difference), {})
    assert row.status.startswith("not the same computation")
    assert row.ratio_to_eager is None and row.share_of_peak is None and row.cpu_ms_per_step is not None


def test_a_design_that_failed_says_why_and_has_no_numbers():
    row = row_of(WORKLOAD, "lens", timings(), {"lens": "it is not installed"})
    assert row.status == "not measured: it is not installed"
    assert row.cpu_ms_per_step is None and row.spread is None


def test_goals_are_judged_on_the_native_rows():
    rows = [
        Row(workload="W1", title="", design="native", per="step", ratio_to_eager=4.49, share_of_peak=0.7),
        Row(workload="W1", title="", design="torch", per="step", ratio_to_eager=99.0),
        Row(workload="W6", title="", design="native", per="epoch", extra={"minutes": 4.0}),
    ]
    met = {(goal["workload"], goal["quantity"]): goal["met"] for goal in report.goals(rows)}
    assert met["W1", "ratio_to_eager"] is False and met["W1", "share_of_peak"] is True
    assert met["W6", "minutes"] is True and met["W7", "throughput_ratio"] is None
    assert len(met) == len(report.GOALS)


def test_the_whole_matrix_is_run_with_the_native_design_only():
    whole = Plan(epochs=150)
    assert (whole.epochs_of("native"), whole.epochs_of("torch")) == (150, 2)


def test_the_record_is_plain_json(tmp_path):
    row = row_of(WORKLOAD, "native", timings(), {})
    peaks = [{"fma": 3.0, "torch_matmul": 1.0}, {"fma": 5.0, "torch_matmul": 2.0}, {"fma": 4.0, "torch_matmul": 9.0}]
    made = report.record(Plan(), [row], peaks, {"torch": "2"})
    report.write(tmp_path / "deep" / "results.json", made)
    assert made["peak_gflops"]["fma"] == {"median": 4.0, "least": 3.0, "most": 5.0}
    assert "4.00" in report.table(made["rows"]) and "NOT met" in report.goal_lines(made)
    assert np.isclose(made["rows"][0]["ratio_to_eager"], 4)


@pytest.fixture
def pip(monkeypatch):
    """Stands in for pip; what it was asked to install, and what it answers."""
    asked, answers = [], [subprocess.CompletedProcess([], 0, "", "")]
    run = subprocess.run

    def answer(command, **options):
        if command[1:3] != ["-m", "pip"]:
            return run(command, **options)
        asked.append(command[-1])
        return answers[0]

    monkeypatch.setattr(environments.subprocess, "run", answer)
    return asked, answers


def test_where_transformer_lens_cannot_be_installed_the_reason_is_said(tmp_path, pip):
    pip[1][0] = subprocess.CompletedProcess([], 1, "", "a warning\nERROR: No matching distribution")
    found = environments.lens(tmp_path / "venv")
    assert found.python is None
    assert found.reason == "transformer-lens<4 could not be installed: ERROR: No matching distribution"
    assert not environments.is_made(tmp_path / "venv")
    assert environments.lens_version(found) == "not installed"


def test_the_peers_environment_is_made_once_and_sees_this_ones_packages(tmp_path, pip):
    """Both must measure the same torch."""
    found = environments.lens(tmp_path / "venv")
    assert environments.is_made(tmp_path / "venv") and environments.lens(tmp_path / "venv") == found
    assert pip[0] == [environments.WANTED]
    words = "import importlib.util; print(*(importlib.util.find_spec(name).origin for name in ('torch', 'pip')))"
    seen = subprocess.run([str(found.python), "-c", words], capture_output=True, text=True, check=True)
    torch_at, pip_at = seen.stdout.split()
    assert torch_at == torch.__file__ and Path(pip_at).parents[1] == Path(torch_at).parents[1]
