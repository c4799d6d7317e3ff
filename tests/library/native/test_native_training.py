"""Training in C++: torch's losses and weights, and bits that depend on nothing but the recipe."""

import hashlib
import itertools
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from native_cases import CHUNK_ROWS, N_POS, config_of, pairwise, rows_of
from torch.nn import functional

from benchmarks.workloads import SYMBOLIC, SYMBOLIC_ADAM, WORKLOADS, batches, shrunk
from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.native import NativeDecoder, Training, UpdateRule, build, why_not
from circuitcore.training import Optimizer, TorchEngine
from circuitcore.training.engines.native_engine import NativeEngine

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no native engine here: {why_not()}")

LOSSES = 1e-5  # relative to a loss, or to 1 where that is larger; the largest seen is 3e-6
WEIGHTS = 1e-5  # relative to the norm of all weights
EACH_TENSOR = 1e-4  # relative to its own norm: Adam divides small gradients by themselves, rounding and all
RULES = (
    Optimizer(name="adam", lr=1e-3),
    Optimizer(name="adamw", lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, clip_norm=1.0),
    Optimizer(name="adam", lr=1e-3, betas=(0.8, 0.99), weight_decay=0.01, clip_norm=0.1, eps=1e-6),
    Optimizer(name="adamw", lr=3e-3, weight_decay=0.01),
    Optimizer(name="adam", lr=1e-3, clip_norm=1e6),
)
SMALL = ModelConfig(d_vocab=11, n_ctx=11, d_model=20, n_heads=2, d_head=10, d_mlp=21, norm="layer", bias="all")


def of_many_shapes(config, n_steps, **words):
    """Batches whose lengths and sizes change from step to step, every fifth a short last one."""
    for step in range(n_steps):
        yield rows_of(config, (3 if step % 5 == 4 else 7, N_POS - step % 4), seed=step, **words)


def assert_alike(torch_engine, native_engine, batches, each=EACH_TENSOR):
    """The same losses all along, the same weights at the end."""
    for number, rows in enumerate(batches):
        ours, theirs = native_engine.step(*rows), torch_engine.step(*rows)
        assert abs(ours.loss - theirs.loss) <= LOSSES * max(1, theirs.loss), number
        assert ours.grad_norm == pytest.approx(theirs.grad_norm, rel=1e-4, abs=1e-6)
    ours, theirs = native_engine.weights(), torch_engine.weights()
    config = torch_engine._model
    # Without rotary positions a key bias changes nothing: its gradient is rounding alone, which Adam makes large.
    meant = [name for name in theirs if config.positions == "rope" or not name.endswith("b_K")]
    apart = {name: (ours[name] - theirs[name]).norm() for name in meant}
    whole = torch.stack([theirs[name].norm() for name in meant]).norm()
    assert torch.stack(list(apart.values())).norm() <= WEIGHTS * whole
    for name in meant:
        assert apart[name] <= each * theirs[name].norm().clamp(min=1e-3), name


def engines(config, rule, seed=0):
    return TorchEngine(config, rule, seed), NativeEngine(config, rule, seed)


@pytest.mark.parametrize(("number", "rule"), tuple(enumerate(RULES * 2)))
def test_a_hundred_steps_are_those_of_torch(number, rule):
    case = pairwise(seed=7)[2 * number]
    config = config_of(case)
    mask = "last" if case["mask"] == "one row" else case["mask"]
    assert_alike(*engines(config, rule), of_many_shapes(config, 100, mask=mask, targets=case["targets"]))


@pytest.mark.parametrize("name", sorted({name for name in WORKLOADS if name not in ("W4", "W5")}))
def test_a_hundred_steps_of_the_workloads_are_those_of_torch(name):
    """W5 is W1's model; W4, of 24 layers, has a test of its own. Wide ones take ten steps: rounding adds up."""
    workload = shrunk(WORKLOADS[name])
    steps = itertools.islice(itertools.cycle(batches(workload)), 10 if workload.model.d_model >= 128 else 100)
    assert_alike(*engines(workload.model, workload.optimizer), steps)


def test_steps_of_the_deep_workload_are_those_of_torch():
    workload = shrunk(WORKLOADS["W4"])
    # In the first of 24 layers gradients are all but rounding; torch itself is 3e-4 from its own float64 there.
    assert_alike(*engines(workload.model, workload.optimizer), batches(workload)[:6], each=3e-3)


def hash_of(engine):
    """One name for all bits of an engine's state."""
    digest = hashlib.sha256()
    for name, value in sorted(engine.state().items()):
        digest.update(name.encode() + value.numpy().tobytes())
    return digest.hexdigest()


def trained(n_steps=40, config=SMALL, rule=RULES[1]):
    """A run, the same whenever and wherever it is made."""
    engine = NativeEngine(config, rule, 5)
    losses = [engine.step(*rows) for rows in of_many_shapes(config, n_steps, mask="random")]
    return hash_of(engine), losses


def test_the_same_run_has_the_same_bits():
    assert trained() == trained()
    assert trained()[0] != trained(config=ModelConfig.from_dict(SMALL.to_dict() | {"tied": False}))[0]


def test_a_run_goes_on_from_its_state_bit_for_bit():
    whole, halved = NativeEngine(SMALL, RULES[1], 0), NativeEngine(SMALL, RULES[1], 0)
    for number, rows in enumerate(of_many_shapes(SMALL, 30, mask="random")):
        if number in (0, 7, 8, 21):
            state, halved = halved.state(), NativeEngine(SMALL, RULES[1], 99)
            halved.load(state)
        assert whole.step(*rows) == halved.step(*rows), number
    assert hash_of(whole) == hash_of(halved)


def test_a_state_is_a_copy():
    engine = NativeEngine(SMALL, RULES[0], 0)
    rows = rows_of(SMALL)
    engine.step(*rows)
    state, weights, before = engine.state(), engine.weights(), hash_of(engine)
    for value in (*state.values(), *weights.values()):
        value.zero_()
    assert hash_of(engine) == before
    kept = engine.state()
    engine.step(*rows)
    other = NativeEngine(SMALL, RULES[0], 1)
    other.load(kept)
    assert hash_of(other) == before, "a state must not change with the engine it was taken from"


def test_runs_in_turn_and_in_threads_do_not_meet():
    """Several engines in one process: step by step in turn, and each on a thread of its own."""
    rules, n_steps = RULES[:3], 25
    alone = [trained(n_steps, rule=rule) for rule in rules]
    in_turn = [NativeEngine(SMALL, rule, 5) for rule in rules]
    losses = [[engine.step(*rows) for engine in in_turn] for rows in of_many_shapes(SMALL, n_steps, mask="random")]
    assert [hash_of(engine) for engine in in_turn] == [name for name, _ in alone]
    assert [list(of_run) for of_run in zip(*losses, strict=True)] == [of_run for _, of_run in alone]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda rule: trained(n_steps, rule=rule), rules)) == alone


def test_runs_on_one_decoder_do_not_meet():
    """One decoder's memory, several runs' weights: what one leaves there is nothing to the next."""
    rule = UpdateRule("adam", 1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, clip_norm=0.0)
    shared = NativeDecoder(SMALL)

    def run(seed, decoder):
        state = Training(decoder.flat.join(init_weights(SMALL, seed)))
        for number, rows in enumerate(of_many_shapes(SMALL, 12, mask=("random", "last", "per row")[seed % 3])):
            yield decoder.step(state, rule, *rows), state.parameters.clone(), number

    alone = [list(run(seed, NativeDecoder(SMALL))) for seed in range(3)]
    together = zip(*(run(seed, shared) for seed in range(3)), strict=True)
    for of_step, wanted in zip(together, zip(*alone, strict=True), strict=True):
        for (stats, weights, _), (true_stats, true_weights, number) in zip(of_step, wanted, strict=True):
            assert stats == true_stats and torch.equal(weights, true_weights), number


def test_processes_beside_each_other_have_the_same_bits():
    """Another process, of several torch threads, beside this one of one."""
    folder = Path(__file__).parent
    program = f"import sys; sys.path[:0] = {[str(folder), str(folder.parents[1] / 'support')]!r}\n"
    program += "from test_native_training import trained\nprint('ready', flush=True)\nprint(trained(300)[0])"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=folder.parents[2],
        env=os.environ | {"OMP_NUM_THREADS": "3"},
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "ready\n"  # from now on both train
        here = trained(300)[0]
        assert other.communicate(timeout=120)[0].strip() == here


def test_states_go_from_one_engine_to_the_other_and_back():
    steps = list(of_many_shapes(SMALL, 30, mask="random"))
    whole, first = TorchEngine(SMALL, RULES[1], 0), TorchEngine(SMALL, RULES[1], 0)
    native, last = NativeEngine(SMALL, RULES[1], 1), TorchEngine(SMALL, RULES[1], 2)
    losses = [whole.step(*rows).loss for rows in steps]
    found = [first.step(*rows).loss for rows in steps[:10]]
    native.load(first.state())
    assert_same_tensors(native.state(), first.state())
    found += [native.step(*rows).loss for rows in steps[10:20]]
    last.load(native.state())
    assert_same_tensors(last.state(), native.state())
    found += [last.step(*rows).loss for rows in steps[20:]]
    assert found == pytest.approx(losses, rel=LOSSES, abs=LOSSES)


def assert_same_tensors(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value.dtype == theirs[name].dtype and torch.equal(value, theirs[name]), name


@pytest.mark.parametrize("case", pairwise(seed=3)[::6], ids=lambda case: f"{case['mlp']}-{case['inputs']}")
def test_untrained_engines_have_one_state(case):
    config = config_of(case)
    assert_same_tensors(*(engine.state() for engine in engines(config, RULES[0], 4)))
    assert_same_tensors(*(engine.weights() for engine in engines(config, RULES[0], 4)))


def test_the_state_of_another_model_is_refused():
    engine = NativeEngine(SMALL, RULES[0], 0)
    before = hash_of(engine)
    wide = ModelConfig.from_dict(SMALL.to_dict() | {"d_mlp": 22})
    with pytest.raises(ValueError, match=r"mlp\.W_gate has shape"):
        engine.load(NativeEngine(wide, RULES[0], 0).state())
    with pytest.raises(ValueError, match="tensors differ"):
        engine.load({"step": torch.tensor(3)})
    assert hash_of(engine) == before


def test_the_first_chapters_rule_is_fixed_by_its_losses():
    """The seam between Optimizer and C++: nothing else of the rule is read (here betas, eps, no clipping)."""
    rows = rows_of(SYMBOLIC, (8, 13), mask="last")
    of_torch, of_native = engines(SYMBOLIC, SYMBOLIC_ADAM)
    assert_alike(of_torch, of_native, [rows] * 5)
    assert of_native.state()["step"] == of_torch.state()["step"] == 5


@pytest.fixture(scope="module")
def in_small_chunks(tmp_path_factory):
    """The library as it would be where a processor's cache holds no more than two sequences."""
    folder = tmp_path_factory.mktemp("chunks") / "source"
    shutil.copytree(build.SOURCE, folder)
    text = (folder / "decoder.hpp").read_text()
    assert text.count(f"CHUNK_ROWS = {CHUNK_ROWS}") == 1
    (folder / "decoder.hpp").write_text(text.replace(f"CHUNK_ROWS = {CHUNK_ROWS}", f"CHUNK_ROWS = {2 * N_POS}"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "SOURCE", folder)
        patch.setenv("XDG_CACHE_HOME", str(folder.parent))
        return build._open("")


@pytest.mark.parametrize("case", pairwise(seed=4), ids=lambda case: "-".join(map(str, case.values())))
def test_the_size_of_a_chunk_changes_no_bit(in_small_chunks, case):
    """So that processors with other caches train the same network."""
    config, rows = config_of(case), (2 * CHUNK_ROWS // N_POS + 3, N_POS)
    batch = rows_of(config, rows, mask=case["mask"], targets=case["targets"])
    decoders = NativeDecoder(config), NativeDecoder(config, in_small_chunks)
    weights = decoders[0].flat.join(init_weights(config, 5))
    (loss, gradient), (other_loss, other_gradient) = (decoder.gradient(weights, *batch) for decoder in decoders)
    assert loss == other_loss
    assert torch.equal(gradient, other_gradient)


@pytest.mark.parametrize("scored", ["each", "some"])
def test_padding_on_the_right_changes_no_bit(in_small_chunks, scored):
    """Rows of unequal length: neither more padding nor the size of a chunk, which rows of one length share, matters."""
    draw = torch.Generator().manual_seed(2)
    tokens, targets = torch.randint(SMALL.d_vocab, (2, 40, SMALL.n_ctx), generator=draw)
    mask = torch.arange(SMALL.n_ctx) < torch.randint(1, N_POS + 1, (40, 1), generator=draw)
    mask[3, :N_POS] = True
    mask &= (torch.rand(mask.shape, generator=draw) < 0.5) | torch.tensor(scored == "each")
    decoders = NativeDecoder(SMALL), NativeDecoder(SMALL, in_small_chunks)
    weights = decoders[0].flat.join(init_weights(SMALL, 5))
    found = [
        decoder.gradient(weights, tokens[:, :width], targets[:, :width], mask[:, :width])
        for decoder in decoders
        for width in (N_POS, SMALL.n_ctx)
    ]
    named = {name: value.double().requires_grad_() for name, value in init_weights(SMALL, 5).items()}
    functional.cross_entropy(forward(SMALL, named, tokens).logits[mask], targets[mask]).backward()
    whole = torch.stack([value.grad.norm() for value in named.values()]).norm()
    for name, value in decoders[0].flat.views(found[0][1]).items():
        assert (value - named[name].grad).norm() <= 1e-6 * whole, name
    for loss, gradient in found[1:]:
        assert loss == found[0][0] and torch.equal(gradient, found[0][1])
