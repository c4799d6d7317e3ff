"""Architectures as values: sizes, words that are refused, initial weights, names of heads and sites."""

import dataclasses
import json
import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from circuitcore.models import Head, Mlp, ModelConfig, Site, forward, init_weights
from circuitcore.models.sites import HEAD_SITES, SITES, all_heads, check_site
from circuitcore.models.transformer import apply_norm, rotate_to, weight_shapes

PUBLISHED = {
    "symbolic": (ModelConfig(d_vocab=20, n_ctx=16), 47_280),
    "textual": (ModelConfig(d_vocab=36, n_ctx=16, d_model=64, d_mlp=128), 84_544),
    "story": (ModelConfig(d_vocab=548, n_ctx=64, d_model=32, d_mlp=64), 38_176),
}


def n_parameters(config):
    return sum(value.numel() for value in init_weights(config, 0).values())


@pytest.mark.parametrize("model", PUBLISHED)
def test_published_parameter_counts(model):
    config, expected = PUBLISHED[model]
    assert n_parameters(config) == expected


def test_parameter_count_of_every_optional_part():
    """Each word adds or removes exactly the tensors it speaks of."""
    d, v, width, layers, context = 48, 20, 96, 2, 16
    plain = n_parameters(ModelConfig(d_vocab=v, n_ctx=context))
    changes = {
        ("tied", False): d * v,
        ("bias", "all"): layers * (3 * d + d + 2 * width + d) + v,
        ("bias", "inside"): layers * (3 * d + d + 2 * width + d),
        ("positions", "learned"): context * d,
        ("positions", "none"): 0,
        ("norm", "layer"): (2 * layers + 1) * d,
        ("norm", "none"): -(2 * layers + 1) * d,
        ("norm_position", "post"): -d,
        ("mlp", "gelu"): -layers * d * width,
        ("mlp", "relu"): -layers * d * width,
        ("mlp", "none"): -layers * (3 * d * width + d),
        ("d_head", 10): 4 * layers * d * (2 * 10 - d),
        ("init", "small"): 0,
        ("init", "encoder"): 0,
        ("norm_eps", 1e-5): 0,
    }
    for (field, value), more in changes.items():
        assert n_parameters(ModelConfig(d_vocab=v, n_ctx=context, **{field: value})) - plain == more, field


def checked(fields):
    """Make a config as users do, whose annotations nothing checks: under pytest those checks would come first."""
    config = object.__new__(ModelConfig)
    for field in dataclasses.fields(ModelConfig):
        object.__setattr__(config, field.name, fields.get(field.name, field.default))
    config.__post_init__()


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"norm": "rmss"}, ("norm", "'rmss'", "did you mean 'rms'", "layer, none, rms")),
        ({"norm_position": "middle"}, ("norm_position", "'middle'", "post, pre")),
        ({"positions": "rotary"}, ("positions", "'rotary'", "learned, none, rope")),
        ({"mlp": "swigloo"}, ("mlp", "'swigloo'", "did you mean 'swiglu'", "gelu, none, relu, swiglu")),
        ({"init": "xavier"}, ("init", "'xavier'", "encoder, small, torch")),
        ({"norm_eps": 0.0}, ("norm_eps", "0.0", "between 0 and 1")),
        ({"norm_eps": 1.0}, ("norm_eps", "1.0", "between 0 and 1")),
        ({"norm_eps": 0}, ("norm_eps", "float", "0")),
        ({"tied": "yes"}, ("tied", "'yes'", "bool")),
        ({"bias": "outside"}, ("bias", "'outside'", "did you mean 'inside'", "all, inside, none")),
        ({"bias": True}, ("bias", "'True'", "all, inside, none")),
        ({"n_layers": 0}, ("n_layers", "0", "at least 1")),
        ({"n_heads": 0}, ("n_heads", "0", "at least 1")),
        ({"n_heads": True}, ("n_heads", "True", "int")),
        ({"d_model": 48.0}, ("d_model", "48.0", "int")),
        ({"d_vocab": -3}, ("d_vocab", "-3", "at least 1")),
        ({"d_head": -4}, ("d_head", "-4", "at least 0")),
        ({"d_in": -1, "tied": False}, ("d_in", "-1", "at least 0")),
        ({"d_mlp": 0}, ("d_mlp", "0", "at least 1")),
        ({"n_heads": 5}, ("d_model 48", "n_heads 5", "d_head")),
        ({"d_head": 5}, ("RoPE", "even", "5")),
        ({"d_in": 3}, ("tied=False",)),
    ],
)
def test_impossible_configs_are_refused(fields, words):
    with pytest.raises(ValueError) as caught:
        checked({"d_vocab": 20, "n_ctx": 16} | fields)
    for word in words:
        assert word in str(caught.value)


def test_an_mlp_that_is_absent_needs_no_width():
    assert n_parameters(ModelConfig(d_vocab=20, n_ctx=16, mlp="none", d_mlp=0)) > 0


def test_config_as_literals_and_back():
    config = ModelConfig(d_vocab=20, n_ctx=16, norm="layer", tied=False, d_head=6)
    assert ModelConfig.from_dict(config.to_dict()) == config
    assert config.to_dict()["d_head"] == 6
    assert ModelConfig(d_vocab=20, n_ctx=16).d_head == 24
    with pytest.raises(ValueError, match="unknown model field 'n_head'; did you mean 'n_heads'.*d_vocab"):
        ModelConfig.from_dict({"d_vocab": 20, "n_ctx": 16, "n_head": 2})
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.n_layers = 3


def test_biases_are_hashed_as_the_truth_they_were_before_there_were_words():
    hashed = {"none": False, "inside": "inside", "all": True}
    for word, as_hashed in hashed.items():
        config = ModelConfig(d_vocab=20, n_ctx=16, bias=word)
        assert json.dumps(config.to_dict()["bias"]) == json.dumps(as_hashed)
        assert ModelConfig.from_dict(config.to_dict()) == config
        assert ModelConfig.from_dict(config.to_dict() | {"bias": word}) == config


def test_a_norm_epsilon_is_in_the_literals_unless_it_is_the_first_runs():
    assert "norm_eps" not in ModelConfig(d_vocab=20, n_ctx=16).to_dict()
    config = ModelConfig(d_vocab=20, n_ctx=16, norm_eps=1e-5)
    assert config.to_dict()["norm_eps"] == 1e-5
    assert ModelConfig.from_dict(config.to_dict()) == config != ModelConfig(d_vocab=20, n_ctx=16)


@pytest.mark.parametrize("eps", [1e-6, 1e-5, 1e-2])
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_a_norm_adds_its_epsilon_to_the_mean_square(norm, eps):
    """Against PyTorch's own, on vectors so small that 1e-6 and 1e-5 differ by half."""
    config = ModelConfig(d_vocab=20, n_ctx=16, d_model=8, d_mlp=8, norm=norm, norm_eps=eps)
    draw = torch.Generator().manual_seed(0)
    x = 2e-3 * torch.randn(2, 3, 8, generator=draw, dtype=torch.float64)
    weights = {f"ln_final.{part}": torch.randn(8, generator=draw, dtype=torch.float64) for part in "wb"}
    if norm == "layer":
        expected = functional.layer_norm(x, (8,), weights["ln_final.w"], weights["ln_final.b"], eps)
    else:
        expected = functional.rms_norm(x, (8,), weights["ln_final.w"], eps)
    torch.testing.assert_close(apply_norm(config, weights, "ln_final", x), expected, rtol=1e-12, atol=1e-12)


def test_initial_weights_depend_on_seed_and_config_alone():
    config = ModelConfig(d_vocab=20, n_ctx=16)
    torch.manual_seed(1)
    one = init_weights(config, 5)
    torch.manual_seed(2)
    again, other = init_weights(config, 5), init_weights(config, 6)
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["embed.W_E"], other["embed.W_E"])
    assert {name: tuple(value.shape) for name, value in one.items()} == {
        name: shape for name, (shape, _) in weight_shapes(config).items()
    }


def test_initial_weights_are_pytorch_s_defaults():
    config = ModelConfig(d_vocab=400, n_ctx=16, d_model=64, d_mlp=200, bias="all", norm="layer")
    weights = init_weights(config, 0)
    assert abs(weights["embed.W_E"].std() - 1) < 0.02
    for name, fan_in in (("attn.W_Q", 64), ("attn.W_O", 64), ("mlp.W_in", 64), ("mlp.W_out", 200), ("mlp.b_out", 200)):
        value = weights[f"blocks.1.{name}"]
        assert value.abs().max() <= 1 / math.sqrt(fan_in)
        assert abs(value.abs().mean() * math.sqrt(fan_in) - 0.5) < 0.1, name
    assert weights["blocks.0.ln1.w"].unique().tolist() == [1] and weights["blocks.0.ln1.b"].unique().tolist() == [0]


ENCODERS = {"d 16, 1 head": (16, 1), "d 32, 2 heads": (32, 2)}


def encoder_config(d, heads, **changes):
    """The decoder that is PyTorch's encoder layer with a causal mask; V = 5."""
    fields = {
        "d_vocab": 6, "n_ctx": 9, "n_layers": 1, "n_heads": heads, "d_model": d, "d_mlp": 2 * d, "norm": "layer",
        "norm_position": "post", "positions": "learned", "mlp": "relu", "init": "encoder", "tied": False,
        "bias": "all", "norm_eps": 1e-5,
    }  # fmt: skip
    return ModelConfig(**fields | changes)


def peer_of(d, heads):
    """PyTorch's layer, embeddings and output, as the source builds them."""
    return (
        nn.TransformerEncoderLayer(d, heads, 2 * d, dropout=0, batch_first=True),
        nn.Embedding(6, d),
        nn.Embedding(9, d),
        nn.Linear(d, 6),
    )


def as_ours(d, heads, peer):
    """The peer's parameters by our names; PyTorch's matrices stand on their side."""
    layer, tokens, places, out = peer
    found = {"embed.W_E": tokens.weight, "pos_embed.W_pos": places.weight}
    found |= {"unembed.W_U": out.weight.T, "unembed.b_U": out.bias}
    name, attention = "blocks.0", layer.self_attn
    for c, matrix, bias in zip("QKV", attention.in_proj_weight.chunk(3), attention.in_proj_bias.chunk(3), strict=True):
        found[f"{name}.attn.W_{c}"] = matrix.T.unflatten(1, (heads, d // heads)).transpose(0, 1)
        found[f"{name}.attn.b_{c}"] = bias.unflatten(0, (heads, d // heads))
    found[f"{name}.attn.W_O"] = attention.out_proj.weight.T.unflatten(0, (heads, d // heads))
    found[f"{name}.attn.b_O"] = attention.out_proj.bias
    found |= {f"{name}.mlp.W_in": layer.linear1.weight.T, f"{name}.mlp.b_in": layer.linear1.bias}
    found |= {f"{name}.mlp.W_out": layer.linear2.weight.T, f"{name}.mlp.b_out": layer.linear2.bias}
    for norm, theirs in (("ln1", layer.norm1), ("ln2", layer.norm2)):
        found |= {f"{name}.{norm}.w": theirs.weight, f"{name}.{norm}.b": theirs.bias}
    return {name: value.detach() for name, value in found.items()}


@pytest.mark.parametrize("size", ENCODERS)
def test_the_forward_pass_is_that_of_pytorch_s_encoder_layer(size):
    """The peer library's layer, its weights copied in and stirred; float64."""
    d, heads = ENCODERS[size]
    torch.manual_seed(3)
    parts = [part.double() for part in peer_of(d, heads)]
    layer, embed, place, out = parts
    with torch.no_grad():
        for part in parts:
            for value in part.parameters():
                value += 0.3 * torch.randn_like(value)  # biases of 0 and gains of 1 would hide mistakes
    tokens = torch.randint(6, (40, 9))
    mask = torch.full((9, 9), -torch.inf, dtype=torch.float64).triu(1)
    x = embed(tokens) + place(torch.arange(9))
    expected = out(layer(x, src_mask=mask))
    ours = forward(encoder_config(d, heads), as_ours(d, heads, parts), tokens).logits
    torch.testing.assert_close(ours, expected.detach(), rtol=0, atol=1e-10)
    other_eps = forward(encoder_config(d, heads, norm_eps=1e-3), as_ours(d, heads, parts), tokens).logits
    assert (other_eps - expected).abs().max() > 1e-5, "a forgotten epsilon would not be seen here"


@pytest.mark.parametrize("size", ENCODERS)
def test_encoder_weights_are_drawn_as_pytorch_s_encoder_layer_draws_them(size):
    """Tensor by tensor: the same bound and the same spread as many draws of the peer; what is 0 or 1 there is here."""
    d, heads = ENCODERS[size]
    config, n_draws = encoder_config(d, heads), 60
    torch.manual_seed(0)
    theirs = [as_ours(d, heads, peer_of(d, heads)) for _ in range(n_draws)]
    ours = [init_weights(config, seed) for seed in range(n_draws)]
    bounds = {"W_Q": math.sqrt(1.5 / d), "W_in": 1 / math.sqrt(d), "b_in": 1 / math.sqrt(d)}
    bounds |= {"W_O": 1 / math.sqrt(d), "W_out": 1 / math.sqrt(2 * d), "b_out": 1 / math.sqrt(2 * d)}
    bounds |= {"W_K": bounds["W_Q"], "W_V": bounds["W_Q"], "W_U": bounds["W_O"], "b_U": bounds["W_O"]}
    assert set(ours[0]) == set(theirs[0])
    for name in ours[0]:
        mine, peer = (torch.stack([weights[name] for weights in drawn]) for drawn in (ours, theirs))
        part = name.rpartition(".")[2]
        if peer.unique().numel() == 1:  # gains, shifts and attention's biases
            assert torch.equal(mine, peer), name
        elif part in ("W_E", "W_pos"):
            assert abs(mine.std() - 1) < 0.05 and abs(peer.std() - 1) < 0.05, name
        else:
            for values in (mine, peer):
                assert 0.98 * bounds[part] < values.abs().max() <= bounds[part] * (1 + 1e-6), name
            # A standard error of the spread of n uniform values is 0.45 of it over the root of n.
            assert abs(mine.std() / peer.std() - 1) < max(0.05, 2.6 / math.sqrt(mine.numel())), name
            assert abs(mine.mean()) < 4 * mine.std() / math.sqrt(mine.numel()), name
    zeros = {name for name, value in ours[0].items() if not value.any()}
    norms = {f"blocks.0.{norm}.b" for norm in ("ln1", "ln2")}
    assert zeros == {f"blocks.0.attn.b_{part}" for part in "QKVO"} | norms


def test_encoder_weights_number_what_the_source_s_models_do():
    """8 d d + 32 d + 6."""
    assert [n_parameters(encoder_config(*ENCODERS[size])) for size in ENCODERS] == [2566, 9222]


def test_small_initial_weights():
    weights = init_weights(ModelConfig(d_vocab=400, n_ctx=16, init="small", bias="all", positions="learned"), 0)
    for name, value in weights.items():
        if ".b_" in name:
            assert not value.any(), name
        elif ".ln" not in name and "ln_" not in name:
            assert abs(value.std() - 0.02) < 0.002, name


def test_longer_rows_than_the_model_was_built_for_are_refused():
    config = ModelConfig(d_vocab=20, n_ctx=4)
    with pytest.raises(ValueError, match="5 positions.*at most 4"):
        forward(config, init_weights(config, 0), torch.zeros(1, 5, dtype=torch.long))


@pytest.mark.parametrize("name", ["patern.0", "pattern.2", "pattern", "mlp_out.0"])
def test_recording_what_no_tensor_carries_is_refused(name):
    config = ModelConfig(d_vocab=20, n_ctx=4, mlp="none")
    with pytest.raises(ValueError, match=f"{name}.*pattern.1"):
        forward(config, init_weights(config, 0), torch.zeros(1, 3, dtype=torch.long), record=["pattern.1", name])


def test_shapes_of_all_sites():
    """The table at the top of sites.py."""
    config = ModelConfig(d_vocab=20, n_ctx=16, d_model=10, d_head=4, n_heads=3, d_mlp=7)
    keys = [f"{name}.1" for name in SITES]
    output = forward(config, init_weights(config, 0), torch.zeros(2, 5, dtype=torch.long), record=keys)
    shapes = {"mlp_post": (2, 5, 7), "scores": (2, 3, 5, 5), "pattern": (2, 3, 5, 5), "result": (2, 5, 3, 10)}
    shapes |= dict.fromkeys(HEAD_SITES, (2, 5, 3, 4))
    assert output.logits.shape == (2, 5, 20)
    for name in SITES:
        assert output.cache[f"{name}.1"].shape == shapes.get(name, (2, 5, 10)), name


def test_patterns_are_causal_and_sum_to_one():
    config = ModelConfig(d_vocab=20, n_ctx=16)
    tokens = torch.randint(20, (3, 9), generator=torch.Generator().manual_seed(0))
    pattern = forward(config, init_weights(config, 0), tokens, record=["pattern.1"]).cache["pattern.1"]
    assert (pattern.sum(-1) - 1).abs().max() < 1e-5
    assert not pattern.triu(1).any()


def test_rotary_scores_depend_on_distance_alone():
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    scores = [rotate_to(q, p + 3) @ rotate_to(k, p) for p in (0, 4, 11)]
    assert max(scores) - min(scores) < 1e-12
    assert torch.equal(rotate_to(q, 0), q)


def test_names_of_parts():
    assert [str(part) for part in (Head(1, 0), Mlp(0), Site("z", 1, 0), Site("resid_mid", 0))] == [
        *("L1H0", "L0MLP", "L1H0.z", "L0.resid_mid")
    ]
    assert Site("z", 1, 0).key == "z.1"
    assert all_heads(2, 2) == (Head(0, 0), Head(0, 1), Head(1, 0), Head(1, 1))


def test_sites_no_tensor_carries_are_refused():
    with pytest.raises(ValueError, match="unknown site 'attn_out'.*resid_pre"):
        check_site(Site("attn_out", 0))
    with pytest.raises(ValueError, match="mlp_out has no head axis.*head 1.*q, k, v, z"):
        check_site(Site("mlp_out", 0, 1))
    for name in SITES:
        check_site(Site(name, 0))
