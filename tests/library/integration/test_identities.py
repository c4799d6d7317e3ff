"""What must hold for any weights: the decoder against a second one, and the algebra of edits. In float64."""

import dataclasses
import itertools

import pytest
import reference
import torch
from given_run import untrained

from circuitcore.metrics.network import Network
from circuitcore.metrics.scores import paths
from circuitcore.metrics.scores.attribution import direct_logit_attribution, recorded_sites
from circuitcore.models import Ablate, CutEdge, Head, Mlp, ModelConfig, Patch, Site, compile_edits, forward
from circuitcore.models.plan import Plan
from circuitcore.models.sites import HEAD_SITES, STREAM_SITES, all_heads
from circuitcore.tasks import make_task
from circuitcore.tasks.base import Batch

# Sums of a few dozen products of order one: rounding stays orders of magnitude below, a wrong formula above.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}

WORDS = {
    "norm": ("rms", "layer", "none"),
    "norm_position": ("pre", "post"),
    "positions": ("rope", "learned", "none"),
    "mlp": ("swiglu", "gelu", "relu", "none"),
    "tied": (True, False),
    "bias": ("none", "inside", "all"),
}
VARIANTS = [dict(zip(WORDS, words, strict=True)) for words in itertools.product(*WORDS.values())]
SOME_VARIANTS = [
    {},
    {"norm": "layer", "positions": "learned", "mlp": "gelu", "tied": False, "bias": "all"},
    {"norm_position": "post", "mlp": "relu"},
    {"norm": "none", "positions": "none", "mlp": "none", "tied": False},
]


def named(variant):
    return "-".join(f"{word}" if isinstance(word, str) else f"{key}={word}" for key, word in variant.items()) or "as is"


def small(**words):
    """Two layers in which no two sizes are equal, so that a transposed tensor cannot pass."""
    return ModelConfig(d_vocab=11, n_ctx=8, n_heads=3, d_model=10, d_head=4, d_mlp=7, **words)


def rows(config, n_rows=5, seed=0):
    """Random prompts of 6 positions, read out at position 4: the last position is never seen by the answer."""
    tokens = torch.randint(config.d_vocab, (n_rows, 6), generator=torch.Generator().manual_seed(seed))
    where = {"read_out": 4, "early": 1, "late": 5}
    roles = {name: torch.full((n_rows,), position) for name, position in where.items()}
    roles["several"] = torch.tensor([[0, 2]]).repeat(n_rows, 1)
    return Batch(tokens=tokens, targets=tokens, loss_mask=tokens >= 0, roles=roles)


def patchable(config):
    """Every site that an edit may replace, without heads."""
    absent = ("mlp_out", "mlp_post") if config.mlp == "none" else ()
    last = config.n_layers - 1
    names = [name for name in STREAM_SITES + HEAD_SITES if name not in absent]
    return [
        Site(name, layer)
        for name in names
        for layer in range(config.n_layers)
        if name != "resid_final" or layer == last
    ]


def everything(config):
    record_only = [f"{name}.{layer}" for name in ("scores", "pattern", "result") for layer in range(config.n_layers)]
    return [site.key for site in patchable(config)] + record_only


@pytest.fixture(params=SOME_VARIANTS, ids=named)
def config(request):
    return small(**request.param)


@pytest.fixture
def weights(config):
    return untrained(config, seed=0)


def edited(config, weights, batch, interventions, sources=None):
    like = forward(config, weights, batch.tokens, record=everything(config)).cache
    return forward(config, weights, batch.tokens, compile_edits(interventions, batch.roles, sources or {}, like))


@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_decoder_is_the_reference(variant):
    config = small(**variant)
    weights = untrained(config, seed=1)
    tokens = rows(config, n_rows=2).tokens
    logits = forward(config, weights, tokens).logits
    for row, prompt in enumerate(tokens[:, :4].tolist()):
        torch.testing.assert_close(logits[row, :4], reference.run(config, weights, prompt)[0], **CLOSE)


def test_decoder_of_vectors_is_the_reference():
    config = small(d_in=3, tied=False)
    weights = untrained(config, seed=1)
    vectors = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    logits = forward(config, weights, vectors).logits
    for row in range(2):
        torch.testing.assert_close(logits[row], reference.run(config, weights, vectors[row])[0], **CLOSE)


def test_recorded_sites_are_the_reference_s(config, weights):
    batch = rows(config, n_rows=1)
    cache = forward(config, weights, batch.tokens, record=everything(config)).cache
    inside = reference.run(config, weights, batch.tokens[0].tolist())[1]
    for (site, layer, head, position), value in inside.items():
        if site in ("edge", "pattern"):
            query, key = position
            found = cache[f"{'scores' if site == 'edge' else site}.{layer}"][0, head, query, key]
        else:
            found = (
                cache[f"{site}.{layer}"][0, position] if head is None else cache[f"{site}.{layer}"][0, position, head]
            )
        torch.testing.assert_close(found, value, **CLOSE)
        if site == "z":
            result = cache[f"result.{layer}"][0, position, head]
            torch.testing.assert_close(result, reference.written(weights, layer, head, value), **CLOSE)
    assert set(cache) == {f"{'scores' if site == 'edge' else site}.{layer}" for site, layer, *_ in inside} | {
        "result.0",
        "result.1",
    }


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_recording_and_editing_nothing_change_no_bit(config, dtype):
    weights, tokens = untrained(config, seed=0, dtype=dtype), rows(config).tokens
    plain = forward(config, weights, tokens).logits
    assert torch.equal(forward(config, weights, tokens, record=everything(config)).logits, plain)
    for site in everything(config):
        assert torch.equal(forward(config, weights, tokens, record=[site]).logits, plain)
    assert torch.equal(forward(config, weights, tokens, Plan(1, {})).logits, plain[None])
    assert torch.equal(edited(config, weights, rows(config), [(), ()]).logits, plain.expand(2, *plain.shape))


def test_stacked_checkpoints_are_each_one_alone(config):
    batch, alone = rows(config), [untrained(config, seed) for seed in range(3)]
    stack = {name: torch.stack([weights[name] for weights in alone]) for name in alone[0]}
    interventions = [(Ablate(Head(0, 1), "zero"),), (), (CutEdge(Head(1, 2), "read_out", "early"),)]
    together = forward(config, stack, batch.tokens, record=everything(config))
    together_edited = edited(config, stack, batch, interventions)
    for index, weights in enumerate(alone):
        one = forward(config, weights, batch.tokens, record=everything(config))
        torch.testing.assert_close(together.logits[index], one.logits, **CLOSE)
        for key, value in one.cache.items():
            torch.testing.assert_close(together.cache[key][index], value, **CLOSE)
        one_edited = edited(config, weights, batch, interventions).logits
        torch.testing.assert_close(together_edited.logits[:, index], one_edited, **CLOSE)


def test_interventions_in_one_pass_are_each_one_alone(config, weights):
    batch = rows(config)
    source = {"s": forward(config, weights, rows(config, seed=1).tokens, record=everything(config)).cache}
    interventions = [(Patch(site, role, "s"),) for site in patchable(config) for role in ("all", "read_out", "several")]
    interventions += [
        (Patch(Site("z", 0, head), "early", "s"), Patch(Site("q", 1, 0), "read_out", "s")) for head in (0, 2)
    ]
    interventions += [(), (CutEdge(Head(0, 1), "late", "several"), Ablate(Head(0, 1), "zero", "early"))]
    together = edited(config, weights, batch, interventions, source).logits
    for index, intervention in enumerate(interventions):
        alone = edited(config, weights, batch, [intervention], source).logits[0]
        torch.testing.assert_close(together[index], alone, **CLOSE)


def test_patching_everything_gives_the_source(config, weights):
    other = rows(config, seed=1)
    clean = forward(config, weights, other.tokens, record=everything(config))
    stream = [site for site in patchable(config) if site.name.startswith("resid")]
    interventions = [(Patch(site, "all", "s"),) for site in stream]
    interventions.append(tuple(Patch(site, "all", "s") for site in patchable(config)))
    heads = [Patch(Site(name, layer, head), "all", "s") for name in HEAD_SITES for layer, head in all_heads(2, 3)]
    interventions.append((Patch(Site("resid_pre", 0), "all", "s"), *heads))
    logits = edited(config, weights, rows(config), interventions, {"s": clean.cache}).logits
    for found in logits:
        torch.testing.assert_close(found, clean.logits, **CLOSE)


def test_later_edits_of_an_intervention_win(config, weights):
    caches = {
        name: forward(config, weights, rows(config, seed=s).tokens, record=["resid_mid.0"]).cache
        for s, name in enumerate("abc")
    }
    one, other = (Patch(Site("resid_mid", 0), "all", name) for name in "bc")
    logits = edited(config, weights, rows(config), [(one, other), (other,)], caches).logits
    torch.testing.assert_close(logits[0], logits[1], **CLOSE)


def test_edits_that_cannot_reach_the_read_out_change_nothing(config, weights):
    batch, last = rows(config), config.n_layers - 1
    source = {"s": forward(config, weights, rows(config, seed=1).tokens, record=everything(config)).cache}
    behind = [(Patch(site, "late", "s"),) for site in patchable(config)]  # causal attention never looks ahead
    done = [(Patch(Site(name, last), "early", "s"),) for name in ("q", "z", "resid_mid", "resid_post", "resid_final")]
    done += [(Ablate(Head(last, 0), "zero", "several"),), (CutEdge(Head(last, 0), "early", "several"),)]
    behind.append((CutEdge(Head(0, 0), "late", "early"),))
    ahead = [(CutEdge(Head(0, 0), "early", "late"),)]  # forbids what causal attention forbids anyway
    plain = forward(config, weights, batch.tokens).logits[:, 4]
    for found in edited(config, weights, batch, behind + done + ahead, source).logits[:, :, 4]:
        torch.testing.assert_close(found, plain, **CLOSE)


def test_cut_edges_are_scores_masked_by_hand(config, weights):
    batch = rows(config)
    edit = CutEdge(Head(0, 2), "read_out", "several"), CutEdge(Head(1, 0), "late", "early")
    logits = edited(config, weights, batch, [edit]).logits[0]
    gone = torch.tensor(-torch.inf, dtype=torch.float64)
    by_hand = {("edge", 0, 2, (4, 0)): gone, ("edge", 0, 2, (4, 2)): gone, ("edge", 1, 0, (5, 1)): gone}
    for row, prompt in enumerate(batch.tokens.tolist()):
        torch.testing.assert_close(logits[row], reference.run(config, weights, prompt, by_hand)[0], **CLOSE)


def test_removing_a_part_is_zeroing_its_output_weights(config, weights):
    batch = rows(config)
    parts = {Head(layer, head): (f"blocks.{layer}.attn.W_O", head) for layer, head in all_heads(2, 3)}
    if config.mlp != "none":
        parts |= {Mlp(layer): (f"blocks.{layer}.mlp.W_out", ...) for layer in range(2)}
    logits = edited(config, weights, batch, [(Ablate(part, "zero"),) for part in parts]).logits
    for found, (part, (name, index)) in zip(logits, parts.items(), strict=True):
        changed = {key: value.clone() for key, value in weights.items()}
        changed[name][index] = 0
        if isinstance(part, Mlp) and config.bias != "none":
            changed[name.replace("W_out", "b_out")][:] = 0
        torch.testing.assert_close(found, forward(config, changed, batch.tokens).logits, **CLOSE)


def test_gradients_are_finite_differences(config):
    tiny = dataclasses.replace(config, d_vocab=4, n_ctx=3, n_heads=2, d_model=4, d_head=2, d_mlp=3)
    weights = untrained(tiny, seed=3)
    tokens = torch.tensor([[0, 3, 1], [2, 2, 0]])

    def loss(*values):
        logits = forward(tiny, dict(zip(weights, values, strict=True)), tokens).logits[:, -1]
        return torch.nn.functional.cross_entropy(logits, torch.tensor([1, 3]))

    assert torch.autograd.gradcheck(loss, [value.requires_grad_() for value in weights.values()])


DLA = [
    {"norm": norm, "tied": tied, "mlp": mlp, "bias": bias}
    for norm, tied, mlp, bias in itertools.product(
        ("rms", "layer", "none"), (True, False), ("swiglu", "none"), ("none", "inside", "all")
    )
]


@pytest.mark.parametrize("variant", DLA, ids=named)
def test_direct_logit_attribution_sums_to_the_logits(variant):
    config = small(positions="learned", **variant)
    net = Network(config, {name: value[None] for name, value in untrained(config, seed=2).items()})
    batch = rows(config)
    output = net.run(batch, recorded_sites(net))
    names, shares = direct_logit_attribution(net, batch, output.cache)
    logits = output.logits[0, :, 4]
    torch.testing.assert_close(shares.sum(1)[0] + unwritten(net, output.cache), logits, **CLOSE)
    assert len(names) == shares.shape[1] == 1 + 2 * (3 + (config.mlp != "none"))


def unwritten(net, cache):
    """What no part wrote, through the final norm: attention biases, the norm's shift, the unembedding's bias."""
    config, w = net.config, {name: value[0] for name, value in net.weights.items()}
    unembed = w["embed.W_E"].T if config.tied else w["unembed.W_U"]
    final = cache["resid_post.1"][0, :, 4]
    extra = sum(w.get(f"blocks.{layer}.attn.b_O", torch.zeros(config.d_model)) for layer in range(2)).expand_as(final)
    shift = torch.zeros(config.d_model, dtype=final.dtype)
    if config.norm == "layer":
        final, extra = final - final.mean(-1, keepdim=True), extra - extra.mean(-1, keepdim=True)
        shift = w["ln_final.b"]
    if config.norm != "none":
        extra = extra / (final.square().mean(-1, keepdim=True) + 1e-6).sqrt() * w["ln_final.w"]
    return (extra + shift) @ unembed + w.get("unembed.b_U", 0)


@pytest.fixture(scope="module", params=[{}, {"mlp": "none"}, {"norm": "layer", "bias": "all"}], ids=named)
def path_net(request):
    config = ModelConfig(d_vocab=20, n_ctx=16, d_model=12, d_head=4, d_mlp=10, n_layers=3, **request.param)
    return Network(config, {name: value[None] for name, value in untrained(config, seed=4).items()})


@pytest.mark.parametrize("receiver", [1, 2])
def test_the_senders_changes_add_up_to_the_source_s_stream(path_net, receiver):
    """What embed, each head and each MLP before a layer move alone is, summed, all that differs in its stream."""
    test, after = make_task("symbolic_kv", {}).edge_tests(2)[0], f"resid_pre.{receiver}"
    writes = ("z",) if path_net.config.mlp == "none" else ("z", "mlp_out")
    sites = ["resid_pre.0", *(f"{name}.{layer}" for layer in range(receiver) for name in (*writes, "resid_pre"))]
    base, source = (path_net.run(batch, [*sites, after]).cache for batch in (test.base, test.source))
    senders = {
        name: edits
        for layer in range(receiver)
        for name, edits in paths.sender_edits(path_net, layer, receiver).items()
        if ">" not in name and "*" not in name
    }
    passes = path_net.passes(test.base, list(senders.values()), {"source": source, "base": base}, base, [after])
    caches = [output.cache for output in passes]
    moved = torch.cat([cache[after] for cache in caches]) - base[after]
    torch.testing.assert_close(moved.sum(0), source[after] - base[after], **CLOSE)
    names = [f"L{layer}{part}" for layer in range(receiver) for part in ("H0", "H1", "MLP")]
    assert list(senders) == ["embed", *(name for name in names if "MLP" not in name or "mlp_out" in writes)]


def test_the_edge_from_everything_gives_the_receiver_the_source_s_input(path_net):
    test = make_task("symbolic_kv", {}).edge_tests(2)[1]
    edges, logits = paths.edge_logits(path_net, 1, 2, test)
    sites = [f"{name}.2" for name in "qkv"]
    source = path_net.run(test.source, sites).cache
    read_out, everywhere = (Patch(Site("q", 2), "read_out", "s"),), (Patch(Site("k", 2), "all", "s"),)
    by_hand = path_net.answers_under(test.base, [read_out, everywhere], {"s": source}).logits
    found = dict(zip(map(str, edges), logits, strict=True))
    torch.testing.assert_close(found["all->L2H*.q"], by_hand[0], **CLOSE)
    torch.testing.assert_close(found["all->L2H*.k"], by_hand[1], **CLOSE)
