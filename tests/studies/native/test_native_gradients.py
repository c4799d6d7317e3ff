"""Losses and gradients of the C++ against autograd in float64."""

import dataclasses
import itertools

import pytest
import torch
from native_cases import (
    AXES,
    CHUNK_ROWS,
    N_POS,
    autograd,
    config_of,
    errors,
    lively_weights,
    pairs_in,
    pairwise,
    rows_of,
)

from benchmarks.workloads import WORKLOADS, batches, shrunk
from circuitcore.models import ModelConfig, init_weights
from circuitcore.native import NativeDecoder, why_not
from livingpaper.book.studies import load, load_params, names

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no native engine here: {why_not()}")

BOUND = 1e-5  # relative to the norm of each tensor's true gradient; the largest seen is 7e-6
LOSS_BOUND = 2e-6
LARGE_LOGITS_BOUND = 2e-5
"""The same where embeddings begin at N(0, 1), as torch's: logits are large at first, and what each probability is off
by adds up over positions in the gradient of the last norm's bias (1.3e-5; 2e-7 by torch in float32)."""
PLAIN = ModelConfig(d_vocab=11, n_ctx=11, d_model=24, n_heads=2, d_head=10, d_mlp=21, tied=False, bias="all")


def assert_agrees(config, weights, rows, decoder=None, bound=BOUND):
    of_loss, of_gradient, where = errors(config, weights, rows, decoder)
    assert of_loss <= LOSS_BOUND, f"loss off by {of_loss:.1e}"
    assert of_gradient <= bound, f"gradient of {where} off by {of_gradient:.1e}"


def test_the_cases_cover_every_pair():
    wanted = sum(len(a) * len(b) for a, b in itertools.combinations(AXES.values(), 2))
    cases = pairwise()
    assert len(set().union(*map(pairs_in, cases))) == wanted
    assert len(cases) < 60


@pytest.mark.parametrize("seed", range(3))
def test_any_decoder_on_any_batch(seed):
    off = []
    for case in pairwise(seed=seed):
        config = config_of(case)
        rows = rows_of(config, (case["size"], N_POS), mask=case["mask"], targets=case["targets"], seed=seed)
        of_loss, of_gradient, where = errors(config, lively_weights(config, seed), rows)
        if not (of_loss <= LOSS_BOUND and of_gradient <= BOUND):
            off.append(f"{case}: loss {of_loss:.1e}, {where} {of_gradient:.1e}")
    assert not off, "\n".join(off)


@pytest.mark.parametrize("position", ["pre", "post"])
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("eps", [1e-5, 1e-2])
def test_the_epsilon_of_a_norm_is_the_model_s(eps, norm, position):
    """The gradient is that of the network with this epsilon, and not that of the one with the usual 1e-6."""
    config = ModelConfig.from_dict(PLAIN.to_dict() | {"norm": norm, "norm_position": position, "norm_eps": eps})
    weights, rows = lively_weights(config), rows_of(config)
    small = ("embed.W_E", "attn.W_O", "attn.b_O")  # a first stream so small that an epsilon shows
    weights = {name: value * (3e-3 if name.endswith(small) else 1) for name, value in weights.items()}
    assert_agrees(config, weights, rows)
    usual = dataclasses.replace(config, norm_eps=1e-6)
    of_loss, of_gradient, _ = errors(config, weights, rows, NativeDecoder(usual))
    assert of_loss > 10 * LOSS_BOUND and of_gradient > 10 * BOUND


def test_the_encoder_layer_of_the_permutation_chapter():
    """Both of the source's models, from their own initial weights."""
    for d, heads in ((16, 1), (32, 2)):
        config = ModelConfig(
            d_vocab=6, n_ctx=9, n_layers=1, n_heads=heads, d_model=d, d_mlp=2 * d, norm="layer", norm_eps=1e-5,
            norm_position="post", positions="learned", mlp="relu", init="encoder", tied=False, bias="all",
        )  # fmt: skip
        assert_agrees(config, init_weights(config, 1), rows_of(config, (64, 9)))


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_the_workloads_of_the_bench(name):
    workload = shrunk(WORKLOADS[name])
    rows = batches(workload)[0]
    assert_agrees(workload.model, init_weights(workload.model, 11), rows)


TRAINED = [name for name in names() if load(name).recipes(load_params(name, "smoke"))]  # others have experiments alone


@pytest.mark.parametrize("name", TRAINED)
def test_the_models_of_every_chapter(name):
    recipes = load(name).recipes(load_params(name, "smoke"))
    one_of_each = {recipe.model: recipe for arm in recipes.values() for recipe in arm}
    assert one_of_each
    for model, recipe in one_of_each.items():
        rows = next(recipe.schedule.epoch(0))
        bound = LARGE_LOGITS_BOUND if model.init == "torch" and model.tied else BOUND
        weights = init_weights(model, recipe.init_seed)
        assert_agrees(model, weights, (rows.tokens, rows.targets, rows.loss_mask), bound=bound)


EDGES = [  # widths at, below and above whole vectors, and the stride that skips a multiple of 1 KiB
    *({"d_vocab": width} for width in (1, 2, 8, 15, 16, 17, 33)),
    *({"d_mlp": width} for width in (1, 8, 16, 17, 130)),
    *({"d_head": width, "positions": "none"} for width in (1, 7, 16, 17, 33)),
    {"d_head": 2},
    *({"d_model": width} for width in (15, 16, 17, 33, 256)),
    {"d_model": 1, "norm": "none"},  # with a norm only the sign would be left
    {"d_mlp": 256, "mlp": "gelu", "n_layers": 1},
    {"d_in": 1},
    {"d_in": 16},
    {"d_in": 17},
    {"n_heads": 5, "d_head": 6},
    {"d_model": 300, "n_layers": 1, "n_heads": 1},  # sums longer than one part of the product
    {"d_mlp": 1100, "n_layers": 1},
]


@pytest.mark.parametrize("sizes", EDGES, ids=str)
def test_widths_at_the_edges_of_vectors(sizes):
    config = ModelConfig.from_dict(PLAIN.to_dict() | sizes)
    weights = lively_weights(config)
    targets = "vectors" if config.d_vocab == 1 else "ids"  # one word to choose from is chosen for sure
    assert_agrees(config, weights, rows_of(config, mask="random", targets=targets))


@pytest.mark.parametrize("n_pos", [1, 2, 7, 8, 15, 16, 17, 31, 33])
@pytest.mark.parametrize("mask", ["last", "all", "per row"])
def test_rows_of_any_length(n_pos, mask):
    config = ModelConfig.from_dict(PLAIN.to_dict() | {"n_ctx": 40})
    assert_agrees(config, lively_weights(config), rows_of(config, (7, n_pos), mask=mask))


@pytest.mark.parametrize(("extra", "mask"), [(-1, "all"), (0, "last"), (1, "random"), (20, "all"), (20, "middle")])
def test_rows_as_long_as_a_chunk_and_longer(extra, mask):
    n_pos = CHUNK_ROWS + extra
    config = ModelConfig.from_dict(PLAIN.to_dict() | {"n_ctx": n_pos})
    assert_agrees(config, lively_weights(config), rows_of(config, (3, n_pos), mask=mask))


@pytest.mark.parametrize("over", [-1, 0, 1, CHUNK_ROWS // N_POS])
@pytest.mark.parametrize("mask", ["all", "per row", "one row"])
def test_as_many_rows_as_a_chunk_holds_and_more(over, mask):
    assert_agrees(PLAIN, lively_weights(PLAIN), rows_of(PLAIN, (CHUNK_ROWS // N_POS + over, N_POS), mask=mask))


def test_one_decoder_takes_every_batch():
    """What a batch leaves behind in its memory must not show in the next one."""
    decoder, weights = NativeDecoder(PLAIN), lively_weights(PLAIN)
    sizes = [(40, 9, "all"), (3, 2, "last"), (1, 1, "all"), (40, 9, "last"), (7, 5, "per row"), (2, 9, "one row")]
    for size, n_pos, mask in sizes * 2:
        rows = rows_of(PLAIN, (size, n_pos), mask=mask)
        alone = NativeDecoder(PLAIN).gradient(decoder.flat.join(weights), *rows)
        beside = decoder.gradient(decoder.flat.join(weights), *rows)
        assert alone[0] == beside[0] and torch.equal(alone[1], beside[1]), (size, n_pos, mask)
        assert_agrees(PLAIN, weights, rows, decoder)


def test_a_row_without_loss_adds_nothing():
    """The rows with a loss decide alone, wherever they stand in the batch."""
    tokens, targets, mask = rows_of(PLAIN, (20, N_POS), mask="one row")
    weights = lively_weights(PLAIN)
    row = int(mask.any(1).nonzero())
    of_all = autograd(PLAIN, weights, (tokens, targets, mask))
    decoder = NativeDecoder(PLAIN)
    alone = decoder.gradient(decoder.flat.join(weights), tokens[[row]], targets[[row]], mask[[row]])
    assert alone[0] == pytest.approx(of_all[0], rel=LOSS_BOUND)
    found = decoder.flat.views(alone[1])
    assert all(torch.allclose(found[name].double(), value, atol=1e-6) for name, value in of_all[1].items())


def test_gradients_too_small_for_a_float_are_zero_and_python_keeps_its_own():
    """Those of a network that is sure of its answers: processors are slow with them (see ``NoDenormals``)."""
    weights, smallest = lively_weights(PLAIN), torch.finfo(torch.float32).tiny
    weights["unembed.b_U"] = torch.tensor([0.0, *[-86.0] * (PLAIN.d_vocab - 1)])
    tokens, targets, mask = rows_of(PLAIN, (40, N_POS))
    decoder, rows = NativeDecoder(PLAIN), (tokens, torch.zeros_like(targets), mask)
    true = torch.cat([value.flatten().abs() for value in autograd(PLAIN, weights, rows)[1].values()])
    assert ((true > 0) & (true < smallest)).any(), "nothing here is as small as this is about"
    _, found = decoder.gradient(decoder.flat.join(weights), *rows)
    assert not ((found != 0) & (found.abs() < smallest)).any()
    assert (torch.tensor(1e-30) * 1e-10 != 0).item()
